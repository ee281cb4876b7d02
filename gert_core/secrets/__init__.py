"""Secrets: collect them, mask them in everything gert writes, restore them on resume, withhold them from tools."""

from __future__ import annotations

from gert_core.secrets.collect import Secrets, collect, joined, leaves, withheld
from gert_core.secrets.environ import child_environ, own_keys, own_secrets, provider_variables
from gert_core.secrets.forms import MINIMUM
from gert_core.secrets.masker import MARK, LostSecret, Masked, Masker

__all__ = [
    "MARK",
    "MINIMUM",
    "LostSecret",
    "Masked",
    "Masker",
    "Secrets",
    "child_environ",
    "collect",
    "joined",
    "leaves",
    "own_keys",
    "own_secrets",
    "provider_variables",
    "withheld",
]
