"""Every hook of gert in one place; these docstrings are the reference.

A plugin is a module (or object) named by an entry point of the group ``gert.v0``; its functions marked with
``@gert_core.hookimpl`` and named after a hook are its implementations. Hooks return records; they do no work. A hook
may return a list or yield; ``None`` means nothing to add. No hook stops at a first result, none wraps another and
none depends on the order of plugins. A function may leave out arguments it does not need.
"""

# Longer than a module should be, on purpose: authors of plugins read one file from top to bottom, and the
# reference page is written from it in this order. It defines nothing but hooks; several files would move them apart.

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.api import (
        ApprovalProvider,
        Check,
        Command,
        Diagnostic,
        InputResolver,
        Notifier,
        PolicyPack,
        ProjectInfo,
        RunbookView,
        SignatureScheme,
        StepType,
        StoreType,
        ToolPack,
        TraceEvent,
        Transport,
    )

hookspec = pluggy.HookspecMarker("gert")


@hookspec
def gert_step_types() -> Iterable[StepType] | None:
    """Provide the step types this plugin adds.

    Called once per registry, when a record of any plugin is first needed. Names must be unique among all
    installed plugins: a name given twice is not used at all, and both plugins become CONFLICTING.

    - ``None``: this plugin adds no step type.
    - If it raises: the plugin becomes BROKEN; ``exec`` and ``resume`` refuse to run, reading commands warn.
    - Since 0.1.

    ```python
    from gert_core import hookimpl
    from gert_core.api import StepType


    @hookimpl
    def gert_step_types():
        yield StepType(
            name="sleep",
            model="acme_sleep.step:Sleep",
            run="acme_sleep.step:run",
            summary="Sleeps for a number of seconds.",
        )
    ```
    """


@hookspec
def gert_transports() -> Iterable[Transport] | None:
    """Provide the transports through which tools can be reached.

    Called once per registry, when a record of any plugin is first needed. A tool document chooses one by
    ``meta.transport``. Names must be unique among all installed plugins.

    - ``None``: this plugin adds no transport.
    - If it raises: the plugin becomes BROKEN; ``exec`` and ``resume`` refuse to run, reading commands warn.
    - Since 0.1.

    ```python
    from gert_core import hookimpl
    from gert_core.api import Transport


    @hookimpl
    def gert_transports():
        return [Transport(name="ssh", open="acme_ssh.session:open", summary="Runs a tool on another host.")]
    ```
    """


@hookspec
def gert_approval_providers() -> Iterable[ApprovalProvider] | None:
    """Provide approval providers, which ask people for approval.

    Called once per registry, when a record of any plugin is first needed. ``--approval`` or the project file
    chooses one by name. Names must be unique among all installed plugins.

    - ``None``: this plugin adds no provider.
    - If it raises: the plugin becomes BROKEN; ``exec`` and ``resume`` refuse to run, reading commands warn.
    - Since 0.1.

    ```python
    from gert_core import hookimpl
    from gert_core.api import ApprovalProvider


    @hookimpl
    def gert_approval_providers():
        return [ApprovalProvider(name="chat", open="acme_chat.approvals:open", summary="Asks in a channel.")]
    ```
    """


@hookspec
def gert_input_resolvers() -> Iterable[InputResolver] | None:
    """Provide input resolvers, the sources of inputs.

    Called once per registry, when a record of any plugin is first needed. The first word of an input's
    ``from:`` chooses the resolver. Prefixes must be unique among all installed plugins.

    - ``None``: this plugin adds no resolver.
    - If it raises: the plugin becomes BROKEN; ``exec`` and ``resume`` refuse to run, reading commands warn.
    - Since 0.1.

    ```python
    from gert_core import hookimpl
    from gert_core.api import InputResolver


    @hookimpl
    def gert_input_resolvers():
        return [InputResolver(name="vault", resolve="acme_vault.inputs:resolve", summary="Reads a vault.")]
    ```
    """


@hookspec
def gert_signature_schemes() -> Iterable[SignatureScheme] | None:
    """Provide signature schemes, which sign and verify approvals and traces.

    Called once per registry, when a record of any plugin is first needed. Algorithms must be unique among all
    installed plugins.

    - ``None``: this plugin adds no scheme.
    - If it raises: the plugin becomes BROKEN; ``exec`` and ``resume`` refuse to run, reading commands warn. A
      signature whose algorithm no active plugin provides cannot be verified and is rejected.
    - Since 0.1.

    ```python
    from gert_core import hookimpl
    from gert_core.api import SignatureScheme


    @hookimpl
    def gert_signature_schemes():
        yield SignatureScheme(algorithm="acme-hsm", sign="acme_hsm.keys:sign", verify="acme_hsm.keys:verify")
    ```
    """


@hookspec
def gert_policies(project: ProjectInfo | None) -> Iterable[PolicyPack] | None:
    """Provide an organisation's policies.

    Called when a command loads policies: before ``exec`` and ``resume`` run anything, and by ``gert policy``.
    ``project`` is the project the command works in, with this plugin's own ``plugins.config``, or None outside of one.
    All sources are merged; the most restrictive applies, so a pack can tighten but never relax. A pack given as
    ``document`` may depend on the time: a resumed run applies today's pack, and what was decided before if
    that is stricter. A ``file`` that changed since the run started is drift.

    - ``None``: this plugin has no policy for this project.
    - If it raises, or returns something other than ``PolicyPack``: the command stops with exit code 3.
    - Since 0.1.

    ```python
    from gert_core import hookimpl
    from gert_core.api import PolicyPack


    @hookimpl
    def gert_policies(project):
        document = {
            "apiVersion": "policy/v0",
            "meta": {"name": "acme-floor"},
            "rules": [{"risk": "critical", "action": "deny"}],
        }
        return [PolicyPack(name="acme-floor", document=document)]
    ```
    """


@hookspec
def gert_tool_packs() -> Iterable[ToolPack] | None:
    """Provide directories of tool documents that runbooks may list by name.

    Called once per registry, when a record of any plugin is first needed. A tool is listed as ``pack/tool``, or
    by its bare name when only one pack has it. Names must be unique among all installed plugins.

    - ``None``: this plugin adds no pack.
    - If it raises: the plugin becomes BROKEN; ``exec`` and ``resume`` refuse to run, reading commands warn.
    - Since 0.1.

    ```python
    from pathlib import Path

    from gert_core import hookimpl
    from gert_core.api import ToolPack


    @hookimpl
    def gert_tool_packs():
        return [ToolPack(name="acme", directory=Path("tools"), summary="Tools of the Acme platform team.")]
    ```
    """


@hookspec
def gert_stores() -> Iterable[StoreType] | None:
    """Provide run stores, which keep the lines, blobs and leases of runs.

    Called once per registry, when a record of any plugin is first needed; not at all for ``file:``, which is part of
    the core. The scheme of an address chooses the store.
    Names and schemes must be unique among all installed plugins.

    - ``None``: this plugin adds no store.
    - If it raises: the plugin becomes BROKEN; ``exec`` and ``resume`` refuse to run, reading commands warn.
    - Since 0.2.

    ```python
    from gert_core import hookimpl
    from gert_core.api import StoreType


    @hookimpl
    def gert_stores():
        yield StoreType(name="acme", schemes=("acme",), open="acme_store.runs:open", summary="Keeps runs at Acme.")
    ```
    """


@hookspec
def gert_notifiers() -> Iterable[Notifier] | None:
    """Provide notifiers, which tell people how runs end and what they wait for.

    Called once per registry, when a record of any plugin is first needed. A field of a rule under ``notify`` of a
    project or ``on_outcome`` of a runbook chooses the notifier that has it among its ``keys``. Names and keys must be
    unique among all installed plugins.

    - ``None``: this plugin adds no notifier.
    - If it raises: its notifiers are left out with a warning; the plugin stays ACTIVE. No run fails by a notifier: what
      ``send`` raises is a try that failed, and is made again later.
    - Since 0.2.

    ```python
    from gert_core import hookimpl
    from gert_core.api import Notifier


    @hookimpl
    def gert_notifiers():
        yield Notifier(name="pager", keys=("pager",), send="acme_pager.sending:send", summary="Calls who is on duty.")
    ```
    """


@hookspec
def gert_diagnostics(runbook: RunbookView, project: ProjectInfo | None) -> Iterable[Diagnostic] | None:
    """Check a runbook by rules of your own.

    Called by validation, after the core's own rules, for every runbook that could be read; so also before ``exec``.
    ``runbook.walk()`` gives every step at any depth with its place, its fields as written and its contract;
    ``runbook.locate(path)`` gives line and column of anything else. ``project`` is the project with this plugin's own
    ``plugins.config``, or None outside of one. Findings of all plugins are sorted by place.

    - ``None``: no findings.
    - If it raises: one error of rule ``plugin-failed`` names the plugin; other plugins' findings are kept.
    - Since 0.1.

    ```python
    from gert_core import hookimpl
    from gert_core.api import Diagnostic


    @hookimpl
    def gert_diagnostics(runbook, project):
        for step in runbook.walk():
            if step.id.startswith("tmp"):
                yield Diagnostic(
                    rule="acme-step-name",
                    message=f"step {step.id!r} has a throw-away name",
                    line=step.line,
                    column=step.column,
                    hint="name the step after what it does",
                )
    ```
    """


@hookspec
def gert_trace_event(event: TraceEvent, mode: str) -> None:
    """Observe every trace event of a run, masked, as soon as it is written.

    Called by the trace writer on one thread of its own, in the order of the trace; without any implementation it
    costs nothing. What a step has to tell before it acts is written before it acts. An event that was observed may not
    be on disk yet: a power loss may take it away. An observer cannot change the run.

    - `mode` is how the run is executed: `real`, `dry-run`, `probe` or `replay`, as in the replays of `gert test`. An
      implementation that tells others about runs looks at it first; one that does not care leaves the argument out.
    - Its return value is ignored.
    - If it raises, or exits: it is dropped for the rest of the run, with a warning on the logger `gert.trace`; the
      other observers are told everything.
    - Since 0.1.

    ```python
    from collections import Counter

    from gert_core import hookimpl

    seen = Counter()


    @hookimpl
    def gert_trace_event(event, mode):
        if mode == "real":
            seen[event.type] += 1
    ```
    """


@hookspec
def gert_commands() -> Iterable[Command] | None:
    """Provide commands for the command line.

    Called when the command line shows its help or gets an unknown verb. The summary is static and the target a
    string, so that help imports nothing heavy; ``target(args, host)`` is called with the words after the verb and a
    ``CommandHost``. A name must be unique and not one of the core's own verbs.

    - ``None``: this plugin adds no verb.
    - If it raises: its commands are left out with a warning; the plugin stays ACTIVE.
    - Since 0.1.

    ```python
    from gert_core import hookimpl
    from gert_core.api import Command


    @hookimpl
    def gert_commands():
        return [Command(name="acme-report", summary="Mails last week's runs.", target="acme_report.cli:main")]
    ```
    """


@hookspec
def gert_checks(project: ProjectInfo | None) -> Iterable[Check] | None:
    """Provide checks of what this plugin relies on, for ``gert doctor``.

    Called by ``gert doctor`` alone. ``project`` has this plugin's own ``plugins.config``; None outside of a project.
    A check looks and changes nothing, in a thread of its own, for ten seconds at most; it is shown as ``PLUGIN/NAME``.

    - ``None``: this plugin has nothing to check.
    - If it raises, or a check raises, exits, hangs or gives something else: a failed check that names the plugin.
    - Since 0.2.

    ```python
    from gert_core import hookimpl
    from gert_core.api import Check, CheckResult


    def check_token(services):
        if services.environ.get("ACME_TOKEN"):
            return CheckResult(status="ok", message="ACME_TOKEN is set")
        return CheckResult(status="fail", message="ACME_TOKEN is not set", hint="ask the platform team for one")


    @hookimpl
    def gert_checks(project):
        return [Check(name="token", run=check_token)]
    ```
    """
