"""Acme's floor: rules that hold for every runbook wherever this distribution is installed."""

from __future__ import annotations

from pathlib import Path

from gert_core import hookimpl
from gert_core.api import PolicyPack


@hookimpl
def gert_policies() -> list[PolicyPack]:
    """Give the floor; the most restrictive source wins, so nothing below can relax it."""
    return [PolicyPack(name="floor", file=Path(__file__).with_name("floor.yaml"))]
