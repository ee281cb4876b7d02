"""Step types: their model, contract, flow and run."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import BaseModel

    from gert_core.api.context import StepContext
    from gert_core.api.contracts import Contract
    from gert_core.api.diagnostics import Finding
    from gert_core.api.results import Outcome, Result

    Model = str | type[BaseModel]
    RunFn = Callable[[Any, StepContext], Result]
    ContractFn = Callable[[Any, "Tools"], Contract]
    BlocksFn = Callable[[Any], Sequence["Block"]]
    IncludesFn = Callable[[Any], Sequence["Include"]]
    CheckFn = Callable[[Any], Sequence[Finding]]
    ToolUseFn = Callable[[Any], "ToolUse | None"]
    OutputsFn = Callable[[Any], Mapping[str, str]]
    OutcomeFn = Callable[[Any], Outcome]
    ProgramFn = Callable[[Any], "str | None"]
    GateFn = Callable[[Any], "Gate | None"]
    DetailFn = Callable[[Any], str]


CLEANUP_TIMEOUT: Final = 600.0
"""Seconds that the cleanup blocks of a step may take together, unless they say otherwise."""


class Flow(StrEnum):
    """How a step's blocks run; static analysis reads this and never a type's name."""

    LEAF = "leaf"
    ONE_OF = "one_of"
    ALL_OF = "all_of"
    IN_ORDER = "in_order"
    TERMINAL = "terminal"


class Block(Struct, frozen=True, kw_only=True):
    """A child list of a step.

    ``steps`` is the raw list of a ``Steps`` field of the model. ``runs`` is how often it runs, at least and at most
    (``None``: many). What the steps of a block that may run more than once set is discarded after each round, unless
    they export it. Of blocks that run in order, one that handles the failure of an earlier one runs only sometimes, so
    it has ``runs=(0, 1)``. ``binds`` are variables inside the block at ``.<type name>.<bind>`` with their types.
    ``condition`` is the expression that selects the block, for display and analysis. ``label`` says in graphs how often
    it runs and until when, such as ``max 5, until .ok``. ``jump`` is a step of the container's own list to continue at
    after this block. With ``keeps`` the steps of the last round of a block that may run more than once stay readable,
    as those of a block that runs once do. The steps of a ``quiet`` block are not shown one by one: the type shows what
    it does by ``ctx.show``. ``read_only`` is a rule that is reported as a warning where a step of the block writes.

    ``after`` names blocks of the same step, of a type with flow ``ALL_OF``, that must have succeeded before this one
    starts: it sees what they set, and neither clashes nor conflicts with them. If one of them fails, is denied or ends
    the run, it is not started: its ``BlockResult`` is ``skipped``. ``fork`` refuses unknown names and circles.

    ``cleanup`` makes it a cleanup block, of a type with flow ``IN_ORDER`` and behind all other blocks. Such a block may
    also run after a block that failed, was denied or reached an end, but not while the step is suspended or the run is
    cancelled. It runs at most once per execution, and its signals are added to those that are kept: no cleanup makes a
    denied run go on. With ``runs=(0, 1)`` it handles failures, with ``runs=(1, 1)`` it runs in any case and handles
    nothing. Its steps see the first failure at ``.failure`` (null when there is none). It does not count against the
    step's own timeout: all cleanup blocks of an execution together may take ``timeout`` seconds, from the first one on.

    ``boundary`` is set by the core, on the blocks it makes of the documents that a step includes (see ``Include``).

    Example:
        def blocks(step):
            return [Block(name="steps", steps=step.steps), Block(name="last", steps=step.last, cleanup=True)]

        def run(step, ctx):
            steps, last = ctx.blocks
            ctx.run_block(steps, key=0)  # whatever becomes of it
            ctx.run_block(last, key=1)  # unwinds here when the steps are suspended or the run is cancelled
            return Completed()  # ignored if the steps or the cleanup failed

    Example of ``after``, in a type with flow ``ALL_OF``, where ``ship`` starts when ``build`` and ``check`` succeeded:
        def blocks(step):
            ready = ("build", "check")
            return [
                Block(name="build", steps=step.build),
                Block(name="check", steps=step.check),
                Block(name="ship", steps=step.ship, after=ready),
            ]

        def run(step, ctx):
            results = ctx.fork([Branch(block=block, key=number) for number, block in enumerate(ctx.blocks)])
            return Completed(fields={"shipped": results[2].status == BlockStatus.SUCCESS})
    """

    name: str
    steps: Sequence[object]
    runs: tuple[int, int | None] = (1, 1)
    binds: Mapping[str, str] = field(default_factory=dict)
    condition: object = None
    label: str = ""
    jump: object = None
    cleanup: bool = False
    timeout: float = CLEANUP_TIMEOUT
    after: tuple[str, ...] = ()
    keeps: bool = False
    quiet: bool = False
    read_only: str = ""
    boundary: bool = False


class Include(Struct, frozen=True, kw_only=True):
    """Another runbook that a step includes; the core reads, validates and hashes it and makes a block of it.

    ``path`` is relative to the file of the step and known before the run: it has no template. ``inputs`` are the values
    of its inputs, which may have templates; inputs that are not given have their defaults, and no source is asked.
    ``at`` and ``inputs_at`` are the fields of the step that the two stand in, for findings. ``accepts`` are the
    categories of outcomes with which the step succeeds (empty: all), so that validation knows what it leaves behind.

    The block is a boundary (``Block.boundary``), behind the step's own blocks in ``ctx.blocks``. Inside it there is
    nothing but the included runbook: its inputs and constants, its tools, its secrets, and its governance on top of all
    that applies to the step. Its ``end`` ends the block, not the run: ``BlockResult.outcome`` says with which outcome.
    Nothing that it sets is seen outside. ``run_block`` takes no ``bind`` for it.

    Example:
        def includes(step):
            return [Include(path=step.playbook, at=("playbook",), inputs=step.values, inputs_at=("values",))]

        def run(step, ctx):
            outcome = ctx.run_block(ctx.blocks[0], key=0).outcome
            return Completed(fields={"category": outcome.category} if outcome is not None else {})
    """

    path: str
    at: tuple[str | int, ...] = ()
    inputs: Mapping[str, object] = field(default_factory=dict)
    inputs_at: tuple[str | int, ...] = ("inputs",)
    accepts: tuple[str, ...] = ()


class Branch(Struct, frozen=True, kw_only=True):
    """One branch of a ``fork``: a block with the integer that goes into its step keys."""

    block: Block
    key: int
    bind: Mapping[str, object] = field(default_factory=dict)


class ToolUse(Struct, frozen=True, kw_only=True):
    """The tool (and action) a step is going to call; ``action`` None means the tool's only one."""

    tool: str
    action: str | None = None


class Gate(Struct, frozen=True, kw_only=True):
    """The approval that a step demands by itself, whatever policies say about its contract; these can only add to it.

    ``message`` is shown to approvers as the author's. ``approvers`` are people and groups (``group:NAME``) as in a rule
    of a policy; empty: everybody counts. ``timeout`` is the number of seconds until the request expires; the shortest
    of this and of what policies set applies. With ``fails`` a rejection, an expiry and a missing answer fail the step
    (``approval_rejected``) instead of ending the run, unless a policy requires an approval of the step as well.

    Example:
        def gate(step):
            return Gate(message=f"Delete {step.bucket}?", min_approvers=2, timeout=3600.0)

        def run(step, ctx):
            return Completed(outputs={"deleted_by": ctx.approvers[-1]})
    """

    message: str | None = None
    min_approvers: int = 1
    approvers: tuple[str, ...] = ()
    timeout: float | None = None
    fails: bool = False


class Tools:
    """The declared tools, for a ``contract`` function."""

    def contract(self, tool: str, action: str | None) -> Contract:
        """Return the contract of one action; raise ``LookupError`` with a message if there is none."""
        raise LookupError(f"tool {tool!r} is not declared")


class StepType(Struct, frozen=True, kw_only=True):
    """A kind of step.

    - ``name``: the word in ``type:``.
    - ``model``: pydantic model of the type's own fields (subclass of ``gert_core.kit.models.StepModel``).
    - ``run``: ``run(step, ctx) -> Completed | Failed | Errored | Ended``.
    - ``contract``: ``contract(step, tools) -> Contract``, what ``run`` itself does; default: pure. Not used when
      ``tool_use`` names a tool: then the tool's own contract applies. A step with templates is asked about twice, as it
      is written and, before it is governed, rendered; both contracts hold, so each can only add to the other.
    - ``flow``, ``blocks``: the structure that all static analysis uses.
    - ``includes``: ``includes(step) -> [Include]``, other runbooks that the step runs, in types with flow ``IN_ORDER``
      or ``ALL_OF``. Which ones must not depend on templates, only their inputs may.
    - ``outputs``: ``outputs(step) -> {name: type}``, outputs known from the document beyond the contract's.
    - ``fields``: ``{name: type}`` available at ``.id.name``, never promoted. Those of type ``bool`` are false after a
      failure of the step's blocks that it did not catch.
      What ``run`` returns is held to both: an undeclared output or field is dropped, a missing one is a contract
      violation, one of another type an error of the step.
    - ``included_outcome``: the one of ``fields`` that has the outcome of the runbook that the step includes, as
      ``Outcome.to_json`` gives it: validation then knows what its ``meta`` can have.
    - ``outcome``: ``outcome(step) -> Outcome``, the outcome of a ``TERMINAL`` step, called before governance.
    - ``check``: ``check(step) -> [Finding]``, findings about the meaning of one step.
    - ``tool_use``: ``tool_use(step) -> ToolUse | None``.
    - ``relaxable``: a step's own ``contract`` replaces what the type states, key by key, instead of only tightening it.
    - ``requires_contract``: an inline ``contract`` is mandatory. Without a ``contract`` of the type, the step's own is
      all there is, and where it declares no ``inputs`` any input is taken.
    - ``program``: ``program(step) -> str | None``, the program that ``run`` starts by itself and hands the variables it
      sees. An approval is bound to its content and to the variables.
    - ``calls_tools``: false for a type whose ``run`` never uses ``ctx.call_tool``: approvers of its steps are then not
      told of tools that it may call, and a call is refused (``contract_exceeded``).
    - ``gate``: ``gate(step) -> Gate | None``, the approval that the step demands by itself, in types without blocks. It
      is asked for like one that a policy requires, and ``ctx.approvers`` are those who gave it. Such a step is not
      executed in dry-run and probe: its outputs are symbols.
    - ``detail``: ``detail(step) -> str``, one line that says what a step does in words of its own fields, such as ``for
      30s``. It stands behind the type's name in graphs, and beside what is known of the step in a dry-run and in ``gert
      explain``; nothing else asks for it. Without one, or where it is empty, the tool and action, the program or the
      outcome is shown. The core itself shows common fields, blocks with their ``label`` and the terms of a ``Gate``.
    - ``timeout``: seconds a step of this type may take without a timeout of its own; ``None``: no limit.
    - ``owns``: common fields that the type handles itself, so the core does not act on them: only ``timeout``. They are
      given to its model as well.
    - ``binds``: its blocks bind variables, so the type's name is reserved as a variable.
    - ``shares_scope``: the ``scope`` of a step is also that of the steps inside it that have none.
    - ``claims``: the path of a field, such as ``loop.steps``, that makes a step of any other type one of this type.
      Two types that claim the same field, or one inside the other's, conflict: neither gets it.
    - ``also_called``: words that people who know other tools use, for hints: ``""`` stands for the type itself, other
      values for one of its fields, ``{"sleep": "", "rescue": "on_failure"}``, or a field of a map or of the items of a
      list there, ``repeat.max``, ``nodes[].name``. Types may share a word.
    - ``events``: ``{name: {field: type}}``, the events that ``run`` emits and the fields that their data always has.
    - ``summary``: one line for people.

    Callables and models may be given as ``"package.module:attribute"`` and are imported on first use.

    ``tool_use``, ``outputs`` and ``check`` are given the step as it is written, so they see templates as text.
    ``contract``, ``gate``, ``outcome``, ``blocks``, ``includes`` and ``detail`` are given it as it is written for
    analysis, and rendered in a run, where a dry-run leaves what it does not know; ``run`` always has it rendered. A
    tool or action that depends on a template cannot be named by ``tool_use``.

    What they raise never ends a run without a result. ``run`` may raise ``StepProblem``: the step is an error (or
    ``failed``) of that kind. A ``GertError`` makes it an error of the error's kind, anything else, ``SystemExit`` too,
    an error ``plugin_failed``, and so does a result that is not well formed. All other functions may raise nothing:
    validation ends with an error that names the plugin (exit code 3); what ``detail`` raises is shown by a dry-run. The
    exception is the ``LookupError`` of ``Tools.contract``, which becomes a finding at the step.

    Example of ``detail``:
        def detail(step):
            return f"{step.bucket}, older than {step.days} days"
    """

    name: str
    model: Model
    run: str | RunFn
    contract: str | ContractFn | Contract | None = None
    flow: Flow = Flow.LEAF
    blocks: str | BlocksFn | None = None
    includes: str | IncludesFn | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    included_outcome: str = ""
    events: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    outputs: str | OutputsFn | None = None
    outcome: str | OutcomeFn | None = None
    check: str | CheckFn | None = None
    tool_use: str | ToolUseFn | None = None
    relaxable: bool = False
    requires_contract: bool = False
    program: str | ProgramFn | None = None
    calls_tools: bool = True
    gate: str | GateFn | None = None
    detail: str | DetailFn | None = None
    timeout: float | None = None
    owns: frozenset[str] = frozenset()
    binds: bool = False
    shares_scope: bool = False
    claims: str = ""
    also_called: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""


__all__ = ["CLEANUP_TIMEOUT", "Block", "Branch", "Flow", "Gate", "Include", "StepType", "ToolUse", "Tools"]
