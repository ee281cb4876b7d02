"""The reference of what plugins may use besides the API: the kit, and the kit for their tests."""

from __future__ import annotations

from typing import Final

from docs.generator import modules

KIT: Final = """# Kit

<!-- Written by docs/generate.py from gert_core/kit: change it there. -->

What plugins may use besides [the records](records.md). Import these where the work is done, never in a plugin's entry
module: `gert_core.kit.models` imports pydantic, the others import more of the core than a start should cost.

"""
TESTING: Final = """# Testing

<!-- Written by docs/generate.py from gert_core/testing: change it there. -->

What tests of plugins use: `pip install gert-core[testing]`. `pytest_plugins = ["gert_core.testing"]` in a test module
or a `conftest.py` gives the fixtures. A conformance class is subclassed; pytest then runs what every plugin of that
kind must keep to. [Test a plugin](../how-to/test-a-plugin.md) shows how.

"""
HOSTING: Final = """# Hosting

<!-- Written by docs/generate.py from gert_core/hosting: change it there. -->

What programs use that start and follow runs; [use gert from Python](../how-to/use-from-python.md) shows how. `Host`,
`HostedRun`, `RunView`, `TicketView`, `next_steps`, `Notice`, `Stop`, `Deadline`, `RunFinished`, `Giving` and
`COMMAND_LINE` are names of `gert_core.hosting` itself; the [notice](records.md#notices) is a record.
`load`, `validate`, `run`, `resume`, `block`,
`unblock`, `status`, `progress`, `stream`, `stream_progress`, `active`, `resume_point`, `artifacts` and `RunFinished`
are names of `gert_core` itself.

"""
HOSTING_MODULES: Final = (
    "gert_core.hosting.host",
    "gert_core.hosting.looking",
    "gert_core.hosting.deciding",
    "gert_core.hosting.documents",
    "gert_core.hosting.catalogue",
    "gert_core.hosting.hosted",
    "gert_core.hosting.views",
    "gert_core.hosting.advice",
    "gert_core.hosting.closing",
    "gert_core.hosting.steps",
    "gert_core.hosting.past",
    "gert_core.hosting.options",
    "gert_core.hosting.inputs",
    "gert_core.api.giving",
    "gert_core.host",
    "gert_core.hosting.asking",
    "gert_core.engine.cancel",
    "gert_core.engine.progress",
    "gert_core.engine.resume.plan",
    "gert_core.runs.result",
    "gert_core.runs.lifecycle.status",
    "gert_core.runs.lifecycle.progress",
)
HOSTING_NAMES: Final = {
    "gert_core.api.giving": ("Giving", "COMMAND_LINE"),
    "gert_core.engine.cancel": ("Stop", "Deadline"),
    "gert_core.engine.progress": ("StepInfo", "Evaluation", "Progress"),
    "gert_core.engine.resume.plan": ("RunFinished",),
    "gert_core.runs.result": ("RunResult",),
    "gert_core.runs.lifecycle.status": ("Standing", "Waiting", "ResumePoint"),
    "gert_core.runs.lifecycle.progress": ("RunProgress",),
}
"""Of modules that are not for hosts as a whole, the names that are."""
KIT_MODULES: Final = (
    "models",
    "outcomes",
    "durations",
    "time_spans",
    "times",
    "processes",
    "programs",
    "arguments",
    "listening",
    "server_secrets",
    "unread",
    "children",
    "spooling",
    "answers",
    "compare",
    "approval_screen",
    "display",
    "nearest",
    "excerpts",
    "escaping",
    "wire",
    "json_reader",
    "tickets",
    "ticket_notes",
    "ticket_sessions",
    "ticket_facts",
    "provider_settings",
    "links",
    "files",
    "linkless",
    "local_paths",
    "user_files",
    "sharing",
    "owners",
    "durable",
    "run_rows",
    "blob_names",
    "store_urls",
    "claims",
    "tables.store",
    "tables.database",
    "tables.run",
    "tables.sink",
    "tables.blobs",
    "tables.imports",
    "tables.rows",
    "tables.ledger",
    "tables.schema",
    "log",
)
TESTING_MODULES: Final = ("", "conformance", "packs", "receivers", "notifiers", "echo", "finish", "helpers")


def kit() -> str:
    """Return the page of ``gert_core.kit``."""
    return _page(KIT, [f"gert_core.kit.{name}" for name in KIT_MODULES])


def testing() -> str:
    """Return the page of ``gert_core.testing``."""
    return _page(TESTING, [f"gert_core.testing.{name}".removesuffix(".") for name in TESTING_MODULES])


def hosting() -> str:
    """Return the page of ``gert_core.hosting``."""
    return _page(HOSTING, list(HOSTING_MODULES))


def _page(introduction: str, names: list[str]) -> str:
    parts = [introduction.rstrip()]
    for module in names:
        parts.append(f"## `{module}`\n\n{modules.summary(module)}")
        parts += [modules.entry(module, name) for name in HOSTING_NAMES.get(module) or modules.public(module)]
    return "\n\n".join(parts) + "\n"


__all__ = ["HOSTING_MODULES", "KIT_MODULES", "TESTING_MODULES", "hosting", "kit", "testing"]
