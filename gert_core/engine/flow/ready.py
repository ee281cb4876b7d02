"""Import what branches need before their threads start.

An import needs descriptors, and branches may use up all of them. One that fails for want of a descriptor is an
exception inside a plugin, or of the run itself, instead of a step that says that too many files are open.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from gert_core.api import GertError
from gert_core.engine.modes.peers import find_transport
from gert_core.governance.rules import Act
from gert_core.plugin.lazy import load_target

if TYPE_CHECKING:
    from gert_core.engine.run import Run


def make_ready(run: Run) -> None:
    """Import what calls of tools, loops and approvals need, where this run has them; once per run."""
    if run.ready:
        return
    run.ready = True
    facts = run.facts
    run.services.stop.fileno()
    importlib.import_module("gert_core.engine.flow.for_each")
    for name in {tool.tool.meta.transport for tool in facts.runbook.tools.values()}:
        transport = find_transport(facts.registry, name)
        if transport is not None:
            with suppress(GertError):  # the step that needs it reports it
                load_target(transport.open)
    if "gert_core.kit.processes.spawn" in sys.modules:
        importlib.import_module("subprocess")
    rules = (rule for source in facts.policies.sources for rule in source.rules)
    if facts.approval is not None and any(rule.action is Act.REQUIRE_APPROVAL for rule in rules):
        importlib.import_module("gert_core.engine.steps.approval")
        if facts.stored is not None and facts.stored.path is not None:  # a ticket in a directory has a hint beside it
            importlib.import_module("gert_core.stores.ticket_hints")
        with suppress(GertError):
            load_target(facts.approval.open)


__all__ = ["make_ready"]
