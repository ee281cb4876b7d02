"""The tools called ``gert_...``: validate, explain, test and run documents, look at runs, resume and cancel them."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from gert_core.api import ErrorKind, UsageError
from gert_core.kit.nearest import nearest
from gert_mcp import arguments as args
from gert_mcp.replies import answer
from gert_mcp.schemas import RESULT, mode_schema
from gert_mcp.wording import checked_opaque

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_types import CallToolResult, Tool

    from gert_mcp.agents import AgentCall, Served

    Handler = Callable[["Served", "AgentCall", Any], Awaitable[CallToolResult]]


class Verb(Struct, frozen=True, kw_only=True):
    """One tool of the server itself."""

    name: str
    description: str
    takes: type[Struct]
    call: Handler
    reads: bool = True
    runs: bool = False
    """Whether it runs a runbook, so that its result is that of a run."""

    def as_tool(self, modes: tuple[str, ...]) -> Tool:
        """Return it as clients see it."""
        from mcp_types import Tool, ToolAnnotations

        schema = args.schema_of(self.takes)
        if self.takes is args.Exec:
            schema["properties"]["mode"] = mode_schema(modes)
        hints = ToolAnnotations(
            read_only_hint=self.reads,
            destructive_hint=not self.reads,
            idempotent_hint=self.reads,
            open_world_hint=not self.reads,
        )
        output = RESULT if self.runs else None
        return Tool(
            name=self.name,
            description=self.description,
            input_schema=schema,
            output_schema=output,
            annotations=hints,
        )


async def _validate(served: Served, call: AgentCall, given: args.OfPath) -> CallToolResult:
    def work() -> Any:
        host, path = served.roots.locate(given.path)
        found = host.validate(path)
        if str(found.kind) in ("scenario", "test"):
            served.refuse_scenario(host, path, found.document.value)
        if str(found.kind) in _OTHERS and path not in served.books.look():
            return found.to_json()
        book = served.books.at(host, path)
        return checked_opaque(found.to_json(), book.label) if book.opaque else found.to_json()

    return answer(await served.runs.work(work))


async def _exec(served: Served, call: AgentCall, given: args.Exec) -> CallToolResult:
    host, path = await served.runs.work(served.roots.locate, given.path)
    book = await served.runs.work(served.books.at, host, path)
    return await served.start(call, book, inputs=given.vars, mode=given.mode, key=given.request_key)


async def _test(served: Served, call: AgentCall, given: args.Test) -> CallToolResult:
    def work() -> Any:
        host, path = served.roots.locate(given.path)
        paths = served.to_replay(host, path, given.scenario)
        chosen = () if given.scenario is None else (given.scenario,)
        return host.test(paths, scenario=chosen).to_json()

    return answer(await served.runs.work(work))


async def _list_tools(served: Served, call: AgentCall, given: args.InDirectory) -> CallToolResult:
    def work() -> list[dict[str, object]]:
        host, path = served.roots.locate(given.dir)
        if not path.is_dir():
            raise UsageError(f"{given.dir} is not a directory", hint="give the directory of a runbook")
        return [entry.to_json() for entry in host.tools(path)]

    return answer({"tools": await served.runs.work(work)})


async def _schema(served: Served, call: AgentCall, given: args.OfKind) -> CallToolResult:
    return answer(await served.runs.work(served.roots.hosts[0].schema, given.type))


async def _step_contract(served: Served, call: AgentCall, given: args.OfStep) -> CallToolResult:
    steps = await served.runs.work(served.explain, given.path, given.step_id)
    return answer({"steps": steps} if len(steps) > 1 else steps[0])


async def _explain(served: Served, call: AgentCall, given: args.Explain) -> CallToolResult:
    return answer({"steps": await served.runs.work(served.explain, given.path, given.step_id)})


async def _list_runbooks(served: Served, call: AgentCall, given: args.NoArguments) -> CallToolResult:
    found = await served.runs.work(served.books.look)
    return answer({"runbooks": [book.to_json() for book in found.values() if not book.hidden]})


async def _runs(served: Served, call: AgentCall, given: args.ListRuns) -> CallToolResult:
    found = await served.runs.work(served.list_runs, call.caller, given.limit, given.runbook, given.status)
    return answer({"runs": found})


async def _run(served: Served, call: AgentCall, given: args.OneRun) -> CallToolResult:
    found = await served.look_at(call, given.run_id, wait=given.wait, after=given.after)
    return cast("CallToolResult", await served.runs.work(answer, found))


async def _resume(served: Served, call: AgentCall, given: args.OfRun) -> CallToolResult:
    return await served.answer(await served.resume(call, given.run_id))


async def _cancel(served: Served, call: AgentCall, given: args.OfRun) -> CallToolResult:
    return answer(await served.cancel(call, given.run_id))


def opaque(name: str) -> UsageError:
    """Return the refusal to show the steps of a runbook."""
    return UsageError(
        f"the steps of {name} are not shown to MCP clients", kind=ErrorKind.NOT_SERVED, hint="a person can see them"
    )


_DECIDING: Final = {
    "approve": "gert approve TICKET",
    "reject": "gert reject TICKET",
    "answer": "gert answer RUN STEP",
    "reconcile": "gert resume",
    "unblock": "gert runs unblock RUN",
}
"""What only people do, and how."""
_OTHERS: Final = frozenset({"tool", "policy", "project", "scenario", "test"})
"""Kinds of other documents than runbooks; what is of no kind may be a runbook that is not finished."""
_WORD: Final = re.compile(r"[^a-z]+")
_NEAR: Final = 0.8
"""How alike a name must be to be suggested."""
_RUN: Final = "Returns when the run ends, waits for people (then with tickets), or after 25 s with status running."
VERBS: Final = {
    verb.name: verb
    for verb in (
        Verb(
            name="gert_validate",
            description="Check a runbook, tool, policy, project or scenario; nothing is run.",
            takes=args.OfPath,
            call=_validate,
        ),
        Verb(
            name="gert_exec",
            description=f"Run a runbook. {_RUN} People approve with gert; no tool here does.",
            takes=args.Exec,
            call=_exec,
            reads=False,
            runs=True,
        ),
        Verb(
            name="gert_test",
            description="Replay the scenarios of a runbook, or of all below a directory, and compare.",
            takes=args.Test,
            call=_test,
        ),
        Verb(
            name="gert_list_tools",
            description="List the tools that runbooks in a directory can use, with actions and contracts.",
            takes=args.InDirectory,
            call=_list_tools,
        ),
        Verb(
            name="gert_schema",
            description="Return the JSON Schema of a kind of document.",
            takes=args.OfKind,
            call=_schema,
        ),
        Verb(
            name="gert_step_contract",
            description="Show what a step touches: its contract, risk, and who would have to approve it.",
            takes=args.OfStep,
            call=_step_contract,
        ),
        Verb(
            name="gert_list_runbooks",
            description="List the runbooks that are served, and which of them are not valid.",
            takes=args.NoArguments,
            call=_list_runbooks,
        ),
        Verb(
            name="gert_explain",
            description="Explain the steps of a runbook before it runs: contracts, risks, rules, approvals.",
            takes=args.Explain,
            call=_explain,
        ),
        Verb(
            name="gert_runs",
            description="List runs, the newest first.",
            takes=args.ListRuns,
            call=_runs,
        ),
        Verb(
            name="gert_run",
            description="Show a run: status, steps, what it waits for, and what people can do about it.",
            takes=args.OneRun,
            call=_run,
        ),
        Verb(
            name="gert_resume",
            description=f"Resume a run that you started, when people have answered. {_RUN}",
            takes=args.OfRun,
            call=_resume,
            reads=False,
            runs=True,
        ),
        Verb(
            name="gert_cancel",
            description="Cancel a run that you started.",
            takes=args.OfRun,
            call=_cancel,
            reads=False,
        ),
    )
}


def verb_of(name: str) -> Verb | None:
    """Return a tool of the server by its name, also as the design spells it: ``gert/list-tools``."""
    if name.startswith("gert/"):
        name = name.replace("/", "_", 1).replace("-", "_")
    return VERBS.get(name)


def no_tool(name: str, known: Sequence[str]) -> UsageError:
    """Return the refusal of a name that has no tool; what only people do is said to be that."""
    words = set(_WORD.split(name.casefold()))
    if decides := [verb for verb in _DECIDING if verb in words]:
        hint = f"people do that, with {_DECIDING[decides[0]]}"
    else:
        near = nearest(name, known)
        close = near is not None and SequenceMatcher(None, name.casefold(), near.casefold()).ratio() >= _NEAR
        hint = f"the nearest is {near}" if close else "tools/list has all of them"
    return UsageError(f"there is no tool {name!a}", kind=ErrorKind.NOT_SERVED, hint=hint)


__all__ = ["VERBS", "Verb", "no_tool", "opaque", "verb_of"]
