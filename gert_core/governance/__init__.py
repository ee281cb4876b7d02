"""Governance: the policy sources of a run and their decisions about contracts."""

from __future__ import annotations

from gert_core.governance.decision import Decision, Opinion
from gert_core.governance.policies import Policies
from gert_core.governance.rules import Act, Rule, effective_effects
from gert_core.governance.sources import Source, load_policies

__all__ = ["Act", "Decision", "Opinion", "Policies", "Rule", "Source", "effective_effects", "load_policies"]
