"""Checks that plugins add to ``gert doctor``, what they are given and what they return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api.context import Deadline
    from gert_core.api.data import Json
    from gert_core.api.stores import RunStore
    from gert_core.api.views import ProjectInfo

CHECK_SECONDS: Final = 10.0
"""How long a check may take; one that takes longer has failed."""


class CheckResult(Struct, frozen=True, kw_only=True):
    """What a check found: ``ok``, ``warn`` for something to look at, ``fail`` where runs fail or cannot be trusted.

    ``message`` is one sentence about what was found, ``hint`` says what to do about it.
    """

    status: Literal["ok", "warn", "fail"]
    message: str
    hint: str = ""


class CheckServices(Struct, frozen=True, kw_only=True):
    """What the core gives to a check.

    ``project`` is the project of the working directory, None outside of one, ``config`` the plugin's own part of
    ``plugins.config``, ``environ`` the environment as the user set it. ``store`` is the store of runs that commands
    use here, None when it cannot be opened, which ``gert doctor`` says itself. ``deadline`` ends after ten seconds.
    ``approvals`` is the approval provider that the project names; for the plugin that has it, ``config`` also includes
    ``approvals.config``.
    """

    deadline: Deadline
    project: ProjectInfo | None = None
    config: Mapping[str, Json] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    store: RunStore | None = None
    approvals: str = ""


class Check(Struct, frozen=True, kw_only=True):
    """A check of ``gert doctor``, shown as ``PLUGIN/NAME``; ``run(services)`` returns what it found.

    None means that there is nothing to check here, such as the server of a store that is not in use.
    """

    name: str
    run: str | Callable[[CheckServices], CheckResult | None]


__all__ = ["CHECK_SECONDS", "Check", "CheckResult", "CheckServices"]
