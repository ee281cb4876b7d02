"""Find what a run is going to need and does not have, before anything of the run exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api import UNKNOWN, Diagnostic, ErrorKind, Flow, PluginError, UsageError
from gert_core.contracts import Contracts, find_action
from gert_core.engine.modes.peers import find_transport
from gert_core.kit.programs import find_program
from gert_core.plugin.kinds import TRANSPORT
from gert_core.plugin.lazy import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gert_core.api import ApprovalProvider, Contract
    from gert_core.documents.project import Project
    from gert_core.documents.tree import BlockNode, Runbook, StepNode, ToolNode
    from gert_core.engine.request import Request
    from gert_core.engine.steps.compiled import CompiledRunbook
    from gert_core.governance import Policies


class Use(Struct, frozen=True, kw_only=True):
    """A step that calls a tool; ``certain``: it runs unless a step before it fails, and its failure ends the run."""

    step: StepNode
    tool: ToolNode
    action: str
    certain: bool
    unchanged: bool
    """Whether no step before it may have changed anything outside the run, such as the programs that are installed."""
    prefix: str = ""
    """The beginning of its key, inside a runbook that is included."""


class Start(Struct, frozen=True, kw_only=True):
    """A step whose type starts a program by itself; otherwise as ``Use``."""

    step: StepNode
    program: str
    runbook: Runbook
    certain: bool
    unchanged: bool
    prefix: str = ""


def preflight(
    request: Request,
    compiled: CompiledRunbook,
    *,
    policies: Policies,
    actors: frozenset[str],
    provider: Callable[[], ApprovalProvider | None],
) -> ApprovalProvider | None:
    """Return the approval provider of a real run; refuse the run when it would certainly fail for want of something.

    Everything that is missing is named at once. What only some paths need is a warning.
    """
    findings: list[Diagnostic] = []
    approval = None
    try:
        approval = provider()
    except PluginError as error:
        findings.append(Diagnostic(rule=error.kind, message=error.message, hint=error.hint))
    warnings: dict[str, None] = {}
    known: dict[tuple[str, str, bool], Diagnostic | None] = {}
    for use in uses(compiled.runbook, compiled.contracts):
        if isinstance(use, Start):
            found = _missing_program(request, use.runbook, use)
        else:
            asked = (use.tool.document.file, use.action, use.unchanged)
            if asked not in known:  # most steps of a long runbook use the same few tools
                known[asked] = _missing(request, use)
            found = known[asked]
        if found is not None and use.certain:
            findings.append(replace(found, message=f"step {use.prefix}{use.step.id}: {found.message}"))
        elif found is not None:
            warnings[f"step {use.prefix}{use.step.id} may fail if it is reached: {found.message}"] = None
    if findings:
        raise UsageError(
            f"{request.runbook} cannot be run here, so nothing was run",
            kind=ErrorKind.PREFLIGHT,
            hint="provide what is missing; --no-preflight runs it as far as it goes",
            diagnostics=findings,
        )
    for sentence in (*warnings, *_unmapped(compiled, policies, actors, approval, request.project)):
        request.progress.warn(sentence)
    return approval


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


def uses(runbook: Runbook, contracts: Contracts) -> Iterator[Use | Start]:
    """Yield the steps that call tools or start programs, in the order of the document."""
    needing = runbook.tools or runbook.included
    if needing or any(step.type.program is not None for step in runbook.by_id.values()):
        yield from _Walk(runbook, contracts).lists()


class _Walk:
    def __init__(self, runbook: Runbook, contracts: Contracts, *, prefix: str = "", changed: bool = False) -> None:
        self._runbook = runbook
        self._contracts = contracts
        self._prefix = prefix
        self._changed = changed
        self._inert: set[str] = set()
        """The types of steps of which nothing is to be noted unless they declare or jump: most of a long runbook."""

    def lists(self, *, certain: bool = True) -> Iterator[Use | Start]:
        # Where failures of the runbook are handled, a step that fails for want of something is not the end of it.
        certain = certain and not any(block.handles for block in self._runbook.lists)
        for block in self._runbook.lists:
            yield from self.block(block, certain=certain and not block.cleanup)

    def _included(self, step: StepNode, *, certain: bool) -> Iterator[Use | Start]:
        for number, node in enumerate(step.includes, len(step.blocks)):
            assert node.included is not None  # noqa: S101 - only such nodes are there
            book, prefix = node.included.runbook, f"{self._prefix}{step.id}/{number}/"
            inner = _Walk(book, Contracts(book), prefix=prefix, changed=self._changed)
            yield from inner.lists(certain=certain)
            self._changed = inner._changed

    def block(self, block: BlockNode, *, certain: bool) -> Iterator[Use | Start]:
        for step in block.steps:
            fields = step.fields
            if step.type.name in self._inert and fields.contract is None and fields.next is None:
                continue
            own = certain and fields.when is None and fields.for_each is None and not fields.continue_on_fail
            use = self._runbook.functions.tool_use(step)
            contract = None
            if use is not None:
                tool = self._runbook.tools[use.tool]
                action = find_action(tool, use.action)[0]
                contract = tool.contracts[action] if fields.contract is None else None
                steady, prefix = not self._changed, self._prefix
                yield Use(step=step, tool=tool, action=action, certain=own, unchanged=steady, prefix=prefix)
            elif (program := self._runbook.functions.program(step)) is not None:
                steady, prefix, book = not self._changed, self._prefix, self._runbook
                yield Start(step=step, program=program, runbook=book, certain=own, unchanged=steady, prefix=prefix)
            if step.includes:
                yield from self._included(step, certain=own)
            if step.blocks:
                together = own and step.type.flow in (Flow.ALL_OF, Flow.IN_ORDER) and all(map(_once, step.blocks))
                for inner in step.blocks:
                    yield from self.block(inner, certain=together)
            if not self._changed:
                self._changed = _may_change(contract or self._contracts.of(step))
                if not self._changed and use is None and _is_inert(step):
                    self._inert.add(step.type.name)
            certain = certain and not _leaves(step)


def _is_inert(step: StepNode) -> bool:
    """Return whether all leaves of the type have the same contract as this one and call no tool."""
    kind = step.type
    return (
        kind.flow is Flow.LEAF
        and kind.tool_use is None
        and kind.program is None
        and step.fields.contract is None
        and not callable(resolve(kind.contract))
    )


def _may_change(contract: Contract) -> bool:
    return contract.writing or not set(UNKNOWN.effects).isdisjoint(contract.effects)


def _once(block: BlockNode) -> bool:
    """Return whether a block runs exactly once; beside one that does not, a failure may be handled."""
    return block.block is not None and block.block.runs == (1, 1)


def _leaves(step: StepNode) -> bool:
    """Return whether the steps behind it in its list may never run: it ends the run or jumps, at any depth."""
    if step.type.flow is Flow.TERMINAL or step.fields.next is not None:
        return True
    return bool(step.blocks) and any(
        (inner.block is not None and inner.block.jump is not None) or any(map(_leaves, inner.steps))
        for inner in step.blocks
    )


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
        return _found(use, ErrorKind.NOT_FOUND, message, path=("meta",), hint="install it, or set `meta.binary`")
    return None


def _missing_program(request: Request, runbook: Runbook, start: Start) -> Diagnostic | None:
    """Return that the program which a step starts is not there, unless a step before it may bring it."""
    program, document = start.program, runbook.document
    if not start.unchanged or "{{" in program or find_program(program, request.environ) is not None:
        return None
    line, column = document.locate(start.step.path)
    return Diagnostic(
        rule=ErrorKind.NOT_FOUND,
        message=f"it needs program {program!r}, which is not {'an executable file' if '/' in program else 'on PATH'}",
        path=".".join(map(str, start.step.path)),
        file=document.file,
        line=line,
        column=column,
        hint="install it, or correct the step",
    )


def _absent(request: Request, use: Use, program: str) -> bool:
    path = (use.tool.tool.actions[use.action].env or {}).get("PATH")
    if "{{" in f"{path}{program if use.tool.tool.meta.binary is None else ''}":
        return False  # known when the step is rendered
    return find_program(program, request.environ if path is None else {"PATH": str(path)}, use.tool.cwd) is None


def _found(use: Use, kind: str, message: str, *, path: tuple[str | int, ...], hint: str) -> Diagnostic:
    document = use.tool.document
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


__all__ = ["Start", "Use", "preflight", "uses"]
