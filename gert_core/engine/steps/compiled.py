"""The compiled runbook: everything about its steps and lists that does not change between executions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import PURE, Contract, Flow, Principal
from gert_core.contracts import Contracts, find_action
from gert_core.engine.steps.body import Body
from gert_core.kit.durations import duration_text
from gert_core.plugin.lazy import load_target
from gert_core.template import compile_condition, compile_value

ITEM: Final = "item"

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gert_core.api import Block, ToolUse
    from gert_core.api.steps import BlocksFn
    from gert_core.documents.retry import RetryPolicy
    from gert_core.documents.tree import BlockNode, Path, Runbook, StepNode


class Jump:
    """A jump: where the list continues after success, and how often at most."""

    __slots__ = ("backward", "index", "limit", "source", "target")

    def __init__(self, *, source: str, target: str, index: int, backward: bool, limit: object) -> None:
        self.source = source
        self.target = target
        self.index = index
        self.backward = backward
        self.limit = None if limit is None else compile_value(limit)


class CompiledStep:
    """One step of the document, ready to run any number of times."""

    __slots__ = (
        "_run",
        "action",
        "acts_for",
        "artifacts",
        "blocks",
        "body",
        "checkpoint",
        "contract",
        "contract_key",
        "contract_varies",
        "declares_outputs",
        "described",
        "description",
        "exact_fields",
        "exports",
        "external",
        "gated",
        "governed",
        "has_inputs",
        "hidden",
        "id",
        "item_acts",
        "keeps",
        "key_template",
        "lead",
        "leaf",
        "levels",
        "limit",
        "list_blocks",
        "named",
        "node",
        "nodes",
        "over",
        "parallel_limit",
        "principal",
        "pure",
        "retry",
        "scope",
        "single",
        "summary",
        "synced",
        "timeout",
        "type",
        "until",
        "use",
        "when",
    )

    def __init__(self, node: StepNode, runbook: Runbook, contracts: Contracts) -> None:
        step_type, fields = node.type, node.fields
        self.node = node
        self.id = node.id
        self.type = step_type
        self._run: Callable[..., Any] | None = None
        self.body = Body(node)
        self.leaf = step_type.flow in (Flow.LEAF, Flow.TERMINAL)
        self.governed = self.leaf
        self.levels: tuple[Contract, ...] = contracts.levels(node) if self.leaf else (PURE,)
        """What policies decide about; the last one is the contract."""
        self.contract = self.levels[-1]
        self.pure = self.contract.pure
        self.gated = self.leaf and step_type.gate is not None
        """Whether its type may demand an approval by itself, so that the decision is its own."""
        self.synced = self.leaf and must_sync(self.contract)
        """Whether the end of the step is on disk before the run continues."""
        self.contract_key = contracts.key(node)
        """The same for steps with the same contract."""
        self.lead = b'{"step_id":"%b",' % node.id.encode()
        """How the data of the step's events begins in the trace."""
        self.use: ToolUse | None = runbook.functions.tool_use(node)
        self.action = None if self.use is None else find_action(runbook.tools[self.use.tool], self.use.action)[0]
        self.external = self.use is not None or step_type.requires_contract
        self.hidden = tuple(name for name in step_type.fields if name in contracts.outputs(node))
        """The fields of its type that outputs of the same name hide at ``.id``; they are at ``.step.id`` still."""
        self.declares_outputs = (
            bool(self.contract.outputs)
            or (step_type.outputs is not None and not self.external)
            or (self.contract.deterministic and self.external)
        )
        """Whether outputs are missing when it has none, or have to be the same as before."""
        self.exact_fields = _exact(step_type.fields)
        """What its fields are when they can be written as they are; None where that is never certain."""
        self.has_inputs = hasattr(node.body, "inputs") and hasattr(node.body, "inputs_from")
        self.when = None if fields.when is None else compile_condition(fields.when)
        described = None if fields.description is None else compile_value(fields.description)
        self.described = None if described is None or described.static else described
        """The description as a template; ``description`` is that of a step whose description has none."""
        self.description = None if fields.description is None or self.described is not None else fields.description
        self.artifacts = compile_artifacts(fields.artifacts) if fields.artifacts else ()
        self.checkpoint = fields.checkpoint
        self.keeps = bool(fields.artifacts) or fields.checkpoint is not None
        """Whether something of it is kept after success."""
        self.exports = tuple((name, tuple(path.split("."))) for name, path in fields.exports.items())
        self.scope = None if fields.scope is None else compile_value(fields.scope)
        self.timeout = fields.timeout if fields.timeout is not None else step_type.timeout
        if "timeout" in step_type.owns:
            self.timeout = None
        self.limit = ""
        """What a step is told that is ended because all of this one, with blocks, takes too long."""
        if self.timeout is not None and not self.leaf:
            all_of_it = f"all of it may take {duration_text(self.timeout)} (`timeout`)"
            self.limit = f"the time of step {self.id} is up: {all_of_it}"
        self.retry = self._policy(runbook) if self.leaf else None
        """How often it is attempted; None: once."""
        each = fields.for_each
        self.over = None if each is None else compile_value(each.over)
        self.key_template = None if each is None or each.key is None else compile_value(each.key)
        self.until = None if each is None or each.until is None else compile_condition(each.until)
        self.parallel_limit = None if each is None else compile_value(each.max_parallel or 16)
        self.nodes = [*node.blocks, *node.includes] if node.includes else node.blocks
        """Its blocks in the document, then those of the runbooks it includes."""
        self.blocks: tuple[Block, ...] = tuple(one.block for one in self.nodes if one.block is not None)
        self.single = not self.leaf and not node.includes and all(block.quiet for block in self.blocks)
        """Whether it is shown in one line, although it has blocks."""
        self.list_blocks: BlocksFn | None = load_target(step_type.blocks) if step_type.blocks is not None else None
        given = None if fields.principal == ITEM else fields.principal
        named = None if given is None else compile_value(given.model_dump(exclude_none=True))
        self.named = None if named is None or named.static else named
        self.principal = None if given is None or self.named is not None else Principal(**given.model_dump())
        self.acts_for = self.external and given is None
        """Whether its events name the actor of the run, if one was given."""
        by_item = fields.principal == ITEM or (given is None and fields.visibility is not None)
        self.item_acts = self.key_template is not None and by_item
        """Whether each item of its loop may name an agent that acts in it."""
        self.summary = summary_of(self.contract)
        self.contract_varies = (
            self.leaf and self.use is None and not self.body.static and callable(load_target(step_type.contract))
        )
        """Whether the contract depends on fields with templates, so that the rendered step has to be asked about."""

    def _policy(self, runbook: Runbook) -> RetryPolicy | None:
        """Return the retry policy that holds, unless it allows one attempt only."""
        tool = None
        if self.use is not None and self.action is not None:
            document = runbook.tools[self.use.tool].tool
            tool = document.actions[self.action].retry or document.meta.retry
        own = self.node.fields.retry
        if own is None and tool is None:
            return None
        from gert_core.documents.retry import policy_of

        policy = policy_of(own, tool)
        return policy if policy is not None and policy.max > 1 else None

    @property
    def run(self) -> Callable[..., Any]:
        """The function of its type that executes it, imported when the step is first executed."""
        if self._run is None:
            self._run = load_target(self.type.run)
        return self._run


_EXACT: Final[Mapping[str, type]] = {"string": str, "int": int, "bool": bool}


def _exact(fields: Mapping[str, str]) -> dict[str, type] | None:
    found = {name: _EXACT[kind] for name, kind in fields.items() if kind in _EXACT}
    return found if len(found) == len(fields) else None


def must_sync(contract: Contract) -> bool:
    """Return whether the end of a step has to be on disk before the run continues: it must never be repeated."""
    return contract.writing and not contract.idempotent


def summary_of(contract: Contract) -> dict[str, object]:
    """Return what ``step_start`` tells of a contract."""
    return {
        "effects": list(contract.effects),
        "writes": list(contract.writes),
        "writing": contract.writing,
        "idempotent": contract.idempotent,
        "deterministic": contract.deterministic,
    }


def compile_artifacts(artifacts: object) -> tuple[Any, ...]:
    """Return what to keep after success; imported on use."""
    from gert_core.engine.steps.artifacts import compiled

    return compiled(artifacts)


class CompiledBlock:
    """One list of steps with its jumps resolved to positions."""

    __slots__ = ("_node", "ids", "index_of", "jumps", "targets")

    def __init__(self, block: BlockNode) -> None:
        self._node = block
        self.ids = [step.id for step in block.steps]
        self.index_of = {step_id: index for index, step_id in enumerate(self.ids)}
        self.jumps: dict[int, Jump] = {}
        for index, step in enumerate(block.steps):
            wanted = step.fields.next
            if wanted is None:
                continue
            target = wanted if isinstance(wanted, str) else wanted.step
            at = self.index_of[target]
            limit = None if isinstance(wanted, str) else wanted.max
            self.jumps[index] = Jump(source=step.id, target=target, index=at, backward=at <= index, limit=limit)
        self.targets = {jump.target for jump in self.jumps.values() if jump.backward}

    def inside(self) -> Iterator[str]:
        """Yield the ids of the steps in the list, at any depth."""
        stack = [self._node]
        while stack:
            for step in stack.pop().steps:
                yield step.id
                stack.extend(step.blocks)


class CompiledRunbook:
    """A runbook prepared for execution; any number of runs, one after another or at once, may share it.

    Steps and lists are compiled when a run first reaches them, and kept by their path in the document.
    """

    def __init__(self, runbook: Runbook) -> None:
        self.runbook = runbook
        self.contracts = Contracts(runbook)
        self._steps: dict[Path, CompiledStep] = {}
        self._blocks: dict[Path, CompiledBlock] = {}
        self.included: dict[str, CompiledRunbook] = {
            name: CompiledRunbook(one.runbook) for name, one in runbook.included.items()
        }
        """The runbooks that it includes, at any depth, by their paths."""

    def step(self, node: StepNode) -> CompiledStep:
        """Return a step of the runbook, compiled."""
        found = self._steps.get(node.path)
        if found is None:
            found = self._steps.setdefault(node.path, CompiledStep(node, self.runbook, self.contracts))
        return found

    def block(self, node: BlockNode) -> CompiledBlock:
        """Return a list of steps of the runbook, compiled."""
        found = self._blocks.get(node.path)
        if found is None:
            found = self._blocks.setdefault(node.path, CompiledBlock(node))
        return found


__all__ = ["CompiledBlock", "CompiledRunbook", "CompiledStep", "Jump", "must_sync", "summary_of"]
