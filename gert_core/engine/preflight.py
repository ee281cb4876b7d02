"""Find what a run is going to need and does not have, before anything of the run exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from gert_core.api import Diagnostic, ErrorKind, GertError, PluginError, UsageError
from gert_core.engine.approvers import lacking_approvers
from gert_core.engine.modes.peers import find_transport
from gert_core.engine.uses import Start, Use, uses
from gert_core.governance.rules import Act
from gert_core.kit.programs import find_program
from gert_core.plugin.kinds import APPROVAL, TRANSPORT
from gert_core.plugin.lazy import load_target
from gert_core.plugin.loader import saying

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import ApprovalProvider
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Runbook
    from gert_core.documents.yaml import Document
    from gert_core.engine.documents import IncludedDocuments
    from gert_core.engine.request import Request
    from gert_core.engine.resume.remaining import Remaining
    from gert_core.engine.steps.compiled import CompiledRunbook
    from gert_core.governance import Policies
    from gert_core.plugin.config import PluginServices
    from gert_core.secrets import Secrets


def preflight(
    request: Request,
    compiled: CompiledRunbook,
    *,
    policies: Policies,
    secrets: Mapping[str, Secrets],
    documents: IncludedDocuments | None,
    actors: frozenset[str],
    provider: Callable[[], ApprovalProvider | None],
    plugins: PluginServices,
    remaining: Remaining | None = None,
    warn_of_denials: bool = False,
) -> ApprovalProvider | None:
    """Return the approval provider of a real run; refuse the run when it would certainly fail for want of something.

    Everything that is missing is named at once. What only some paths need is a warning. ``secrets`` are those of each
    document by its path, of the runbook itself under the empty one. Of a resumed run, what is over needs nothing.
    """
    findings: list[Diagnostic] = []
    approval = None
    try:
        approval = provider()
    except PluginError as error:
        findings.append(Diagnostic(rule=error.kind, message=error.message, hint=error.hint))
    warnings: dict[str, None] = {}
    if not findings and _may_ask(compiled.runbook, policies):
        if cause := _no_way_to_ask(request, approval, plugins):
            unanswerable, possible = _unanswerable(request, compiled, policies, documents, remaining, *cause)
        else:
            unanswerable, possible = lacking_approvers(
                compiled, policies, documents, remaining, project=request.project, actors=actors
            )
        findings += unanswerable
        warnings |= dict.fromkeys(possible)
    if warn_of_denials:
        warnings |= dict.fromkeys(_possible_denials(request, compiled, policies, remaining))
    known: dict[tuple[str, str, bool], Diagnostic | None] = {}
    lacking = {name: one for name, one in secrets.items() if one.lacks_required}
    named: dict[bool, set[str]] = {True: set(), False: set()}
    for use in uses(compiled.runbook, compiled.contracts, remaining):
        needs = []
        if isinstance(use, Start):
            needs.append(_missing_program(request, use.runbook, use))
        else:
            asked = (use.tool.document.file, use.action, use.unchanged)
            if asked not in known:  # most steps of a long runbook use the same few tools
                known[asked] = _missing(request, use)
            needs.append(known[asked])
        if use.document in lacking:
            needs.append(_missing_secrets(use, lacking[use.document], named[use.certain]))
        for found in filter(None, needs):
            if use.certain:
                findings.append(replace(found, message=f"step {use.prefix}{use.step.id}: {found.message}"))
            else:
                warnings[f"step {use.prefix}{use.step.id} may fail if it is reached: {found.message}"] = None
    if findings:
        what = f"{request.runbook} cannot be run"
        if request.resume is not None:
            what = f"run {request.resume.run.run_id} cannot be resumed"
        raise UsageError(
            f"{what} here, so nothing was run",
            kind=ErrorKind.PREFLIGHT,
            hint="provide what is missing; --no-preflight runs it as far as it goes",
            diagnostics=findings,
        )
    for sentence in (*warnings, *_unmapped(compiled, policies, actors, approval, request.project)):
        request.progress.warn(sentence)
    return approval


def _no_way_to_ask(
    request: Request, approval: ApprovalProvider | None, plugins: PluginServices
) -> tuple[str, str] | None:
    """Return why the provider cannot ask for approvals, and what to do about it; None when it can."""
    if approval is None:
        hint = "name one with --approval; `gert plugins list` shows what is installed"
        return "there is no provider to ask for it here", hint
    if approval.console and not request.console.interactive:
        why = f"provider {approval.name!r} asks at the terminal, where it cannot be answered"
        return why, "leave out --no-input, or name a provider with --approval that lets people answer later"
    if approval.check is None:
        return None
    try:
        load_target(approval.check)(plugins.of(APPROVAL, approval.name))
    except GertError as error:
        return f"provider {approval.name!r} cannot ask for it: {error.message}", error.hint or "correct its settings"
    except Exception as error:
        return f"provider {approval.name!r} cannot ask for it: {saying(error)}", "ask the authors of the plugin"
    return None


def _may_ask(runbook: Runbook, policies: Policies) -> bool:
    rules = (rule for source in policies.sources for rule in source.rules)
    asking = any(rule.action is Act.REQUIRE_APPROVAL for rule in rules)
    return asking or bool(runbook.included) or _has_gates(runbook)


def _unanswerable(
    request: Request,
    compiled: CompiledRunbook,
    policies: Policies,
    documents: IncludedDocuments | None,
    remaining: Remaining | None,
    cause: str,
    hint: str,
) -> tuple[list[Diagnostic], list[str]]:
    """Return a finding for each step that certainly needs an approval, and a sentence for each that may need one.

    ``cause`` is why no person can be asked, ``hint`` what to do about it.
    """
    from gert_core.engine.denial import certain_approvals
    from gert_core.governance.explain import explain

    why = f"an approval is needed, and {cause}"
    certain = certain_approvals(compiled, policies, documents, remaining)
    findings = [
        Diagnostic(rule=ErrorKind.APPROVAL_PROVIDER, message=f"step {key}: {why}", hint=hint) for key in certain
    ]
    asked = [
        explained.step_id
        for explained in explain(compiled.runbook, policies, request.project)
        if explained.decision is not None
        and explained.decision.needs_approval
        and (remaining is None or not remaining.over(explained.step_id))
    ]
    return findings, [f"step {key} may fail if it is reached: {why}" for key in asked if key not in certain]


def _possible_denials(
    request: Request, compiled: CompiledRunbook, policies: Policies, remaining: Remaining | None
) -> list[str]:
    """Return a sentence for each step that is denied, where it is not certain that the run comes to one."""
    from gert_core.governance.explain import explain

    return [
        f"step {one.step_id} may be denied if it is reached: {one.decision.reason}"
        for one in explain(compiled.runbook, policies, request.project)
        if one.decision is not None and one.decision.denied and (remaining is None or not remaining.over(one.step_id))
    ]


def _unmapped(
    compiled: CompiledRunbook,
    policies: Policies,
    actors: frozenset[str],
    approval: ApprovalProvider | None,
    project: Project | None,
) -> list[str]:
    """Return whose answers will not count, where people do not answer at this terminal."""
    rules = (rule for source in policies.sources for rule in source.rules)
    if approval is None or approval.blocking:
        return []
    if not any(rule.exclude_actor or rule.approvers for rule in rules) and not _has_gates(compiled.runbook):
        return []
    from gert_core.governance.explain import explain
    from gert_core.governance.mapping import unmapped

    decisions = (explained.decision for explained in explain(compiled.runbook, policies, project))
    return unmapped(policies, decisions, actors)


def _has_gates(runbook: Runbook) -> bool:
    return any(step.type.gate is not None for step in runbook.by_id.values())


def _missing(request: Request, use: Use) -> Diagnostic | None:
    """Return what a call of the tool needs and does not have."""
    meta = use.tool.tool.meta
    transport = find_transport(request.registry, meta.transport)
    if transport is None and meta.transport is not None:
        message = f"tool {use.tool.name!r} needs transport {meta.transport!r}, which no active plugin provides"
        hint = request.registry.provider_hint(TRANSPORT, meta.transport)
        return _found(use, ErrorKind.TRANSPORT_MISSING, message, path=("meta", "transport"), hint=hint)
    if transport is None:
        message = f"tool {use.tool.name!r} needs a default transport, which no active plugin provides"
        hint = "`gert plugins list` shows what is installed"
        return _found(use, ErrorKind.TRANSPORT_MISSING, message, path=("meta",), hint=hint)
    if meta.connect is not None and "{{" in meta.connect:
        message = f"`connect` of tool {use.tool.name!r} is used as it is written, and it has a template"
        return _found(use, ErrorKind.TEMPLATE, message, path=("meta", "connect"), hint="write the address itself")
    program = meta.binary or next(iter(use.tool.tool.actions[use.action].argv or ()), None)
    if transport.starts_program and isinstance(program, str) and use.unchanged and _absent(request, use, program):
        message = f"tool {use.tool.name!r} needs program {program!r}, which is not on PATH"
        if "/" in program:
            message = f"tool {use.tool.name!r} needs program {program!r}, which is not an executable file"
        place = ("meta", "binary") if meta.binary else ("actions", use.action, "argv", 0)
        return _found(use, ErrorKind.NOT_FOUND, message, path=place, hint="install it, or set `meta.binary`")
    return None


def _missing_program(request: Request, runbook: Runbook, start: Start) -> Diagnostic | None:
    """Return that the program which a step starts is not there, unless a step before it may bring it."""
    program, document = start.program, runbook.document
    if not start.unchanged or "{{" in program or find_program(program, request.environ) is not None:
        return None
    message = f"it needs program {program!r}, which is not {'an executable file' if '/' in program else 'on PATH'}"
    hint = "install it, or correct the step"
    return _at(document, ErrorKind.NOT_FOUND, message, path=start.step.path, hint=hint)


def _missing_secrets(use: Use | Start, secrets: Secrets, named: set[str]) -> Diagnostic | None:
    """Return which required secrets of the tool, or of the runbook for all of its programs, are not set.

    Those that are ``named`` for a step before it are left out: setting them is enough for all.
    """
    tool = use.tool.name if isinstance(use, Use) else None
    missing = [name for name in secrets.missing(tool) if name not in named]
    if not missing:
        return None
    named.update(missing)
    message = secrets.refusal(missing, tool)
    hint = f"set {'it' if len(missing) == 1 else 'them'} in the environment of gert"
    if isinstance(use, Use) and not secrets.required.issuperset(missing):
        return _found(use, ErrorKind.SECRET_MISSING, message, path=("secrets",), hint=hint)
    return _at(use.runbook.document, ErrorKind.SECRET_MISSING, message, path=("meta", "secrets"), hint=hint)


def _absent(request: Request, use: Use, program: str) -> bool:
    path = (use.tool.tool.actions[use.action].env or {}).get("PATH")
    if "{{" in f"{path}{program if use.tool.tool.meta.binary is None else ''}":
        return False  # known when the step is rendered
    cwd = use.tool.cwd or (None if request.cwd is None else str(request.cwd))
    return find_program(program, request.environ if path is None else {"PATH": str(path)}, cwd) is None


def _found(use: Use, kind: str, message: str, *, path: tuple[str | int, ...], hint: str) -> Diagnostic:
    return _at(use.tool.document, kind, message, path=path, hint=hint)


def _at(document: Document, kind: str, message: str, *, path: tuple[str | int, ...], hint: str) -> Diagnostic:
    line, column = document.locate(path)
    return Diagnostic(
        rule=kind,
        message=message,
        path=".".join(map(str, path)),
        file=document.file,
        line=line,
        column=column,
        hint=hint,
    )


__all__ = ["preflight"]
