"""The reference of the records and protocols plugins are made of, from ``gert_core.api``."""

from __future__ import annotations

from typing import Final

from docs.generator import modules

INTRODUCTION: Final = """# Records

<!-- Written by docs/generate.py from gert_core/api: change it there. -->

Everything a plugin imports: `from gert_core.api import NAME`. Records are frozen and keyword-only. Which hook gives
which record: [hooks](hooks.md). Field types for step models, child processes and more: [the kit](kit.md). What tests of
plugins use: [testing](testing.md).
"""
TITLES: Final = {
    "steps": "Step types",
    "context": "What a step is given",
    "results": "What a step returns",
    "contracts": "Contracts",
    "transports": "Transports",
    "approvals": "Approvals",
    "tickets": "Tickets and callbacks",
    "inputs": "Inputs",
    "signatures": "Signatures",
    "stores": "Run stores",
    "ledgers": "Ledgers of run stores",
    "store_records": "Records of run stores",
    "notifiers": "Notifiers",
    "policies": "Policies",
    "packs": "Tool packs",
    "commands": "Commands",
    "checks": "Checks",
    "views": "Projects and runbooks",
    "data": "Data",
    "diagnostics": "Diagnostics",
    "events": "Trace events",
    "hosting": "Notices",
    "errors": "Errors",
    "error_kinds": "Error kinds",
}


def page() -> str:
    """Return the whole page, module by module."""
    parts = [INTRODUCTION.rstrip()]
    for name, title in TITLES.items():
        module = f"gert_core.api.{name}"
        parts.append(f"## {title}\n\n{modules.summary(module)}")
        # What a module only passes on has its entry where it is defined.
        parts += [
            modules.entry(module, one) for one in modules.public(module) if modules.find(module, one)[0] == module
        ]
    return "\n\n".join(parts) + "\n"


__all__ = ["page"]
