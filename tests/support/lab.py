"""A laboratory for engine tests: tools that answer in this process, and what they were called with."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from importlib import import_module
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any

from gert_core import hookimpl
from gert_core.api import Reply, StepProblem, Transport
from gert_core.plugin.registry import Registry
from gert_core.runs.fold import fold
from gert_core.runs.result import RunResult
from gert_core.testing import GertRunner
from gert_core.trace.reader import read

if TYPE_CHECKING:
    from pathlib import Path

    from gert_core.testing.running import Ran, ScriptedConsole

PLUGINS = (
    "gert_step_tool",
    "gert_step_manual",
    "gert_step_assert",
    "gert_step_block",
    "gert_step_branch",
    "gert_step_dag",
    "gert_step_parallel",
    "gert_step_end",
    "gert_step_extension",
    "gert_step_repeat",
    "gert_approval_stdin",
    "gert_approval_inbox",
    "gert_signature_hmac",
)
TOOL = """
apiVersion: tool/v0
meta: {{ name: {name}, transport: lab }}
contract:
  effects: [{effects}]
  writes: [{writes}]
  reads: [{reads}]
  idempotent: {idempotent}
  deterministic: {deterministic}
  inputs:
    value: {{ type: any }}
    outputs: {{ type: object }}
    script: {{ type: string }}
    exit: {{ type: int }}
    pause: {{ type: float }}
  outputs: {outputs}
actions:
  do: {{ method: do }}
"""


def tool(
    name: str,
    *,
    effects: str = "network",
    writes: str = "",
    reads: str = "",
    idempotent: str = "true",
    deterministic: str = "false",
    outputs: str = "{ value: { type: any, required: false } }",
) -> dict[str, str]:
    """The file of one tool of the laboratory."""
    text = TOOL.format(
        name=name,
        effects=effects,
        writes=writes,
        reads=reads,
        idempotent=idempotent,
        deterministic=deterministic,
        outputs=outputs,
    )
    return {f"tools/{name}.tool.yaml": text}


@dataclass(slots=True)
class Call:
    """One call of a tool: what it got, and when it began and ended."""

    tool: str
    inputs: dict[str, Any]
    key: str
    began: float
    ended: float = 0.0

    def overlaps(self, other: Call) -> bool:
        """Whether both were under way at the same time."""
        return self.began < other.ended and other.began < self.ended


class CheckedRunner(GertRunner):
    """A runner that holds every result against the one a later reader finds in the trace."""

    def _ran(self, result: RunResult, console: ScriptedConsole) -> Ran:
        read_later = RunResult(state=fold(read(result.trace)), trace=result.trace)
        told = result.to_json()
        told.pop("possible_outcomes", None)  # of a dry-run: no trace records them
        assert read_later.to_json() == told
        assert read_later.failures == result.failures
        return GertRunner._ran(self, result, console)


@dataclass(slots=True)
class Lab:
    """Runs steps with tools whose answers are in the inputs: ``outputs`` or ``value``, ``exit``, ``pause``.

    ``script`` names a list in ``scripts``; each call takes its next answer, the last one for ever.
    """

    directory: Path
    calls: list[Call] = field(default_factory=list)
    scripts: dict[str, list[Any]] = field(default_factory=dict)
    runner: GertRunner = field(init=False)
    on_call: Any = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.runner = CheckedRunner(directory=self.directory, registry=self.registry_with())
        self.runner.write(tool("lab"))

    def __call__(
        self, steps: str, *, meta: str = "", tools: dict[str, str] | None = None, end: bool = True, **options: Any
    ) -> Ran:
        """Run a list of steps, given as YAML; an ``end`` called ``done`` is added unless ``end`` is False."""
        return self.runner(self.book(steps, meta=meta, tools=tools, end=end), files=tools or {}, **options)

    def book(self, steps: str, *, meta: str = "", tools: dict[str, str] | None = None, end: bool = True) -> str:
        """The text of the runbook."""
        names = ["lab", *(name.removeprefix("tools/").removesuffix(".tool.yaml") for name in tools or {})]
        last = "\n- { id: done, type: end, outcome: { category: resolved, code: ok } }" if end else ""
        return (
            "apiVersion: kernel/v0\nmeta:\n  name: lab\n"
            + indent(dedent(meta).strip("\n"), "  ")
            + f"\ntools: [{', '.join(names)}]\nsteps:\n"
            + indent(dedent(steps).strip("\n") + last, "  ")
            + "\n"
        )

    def registry_with(self, *plugins: object) -> Registry:
        """The registry of the laboratory with more plugins."""
        known = [import_module(name) for name in PLUGINS]
        return Registry.build(scan=(), extra_plugins=[*known, _Plugin(self), *plugins])

    def values(self) -> list[Any]:
        """What the tools were given as ``value``, in the order of the calls."""
        return [call.inputs.get("value") for call in self.calls]

    def answer(self, name: str, action: Any, inputs: dict[str, Any], deadline: Any) -> Reply:
        """What the tool says."""
        call = Call(tool=name, inputs=inputs, key=action.idempotency_key, began=time.monotonic())
        with self._lock:
            self.calls.append(call)
            script = self.scripts.get(inputs.get("script", ""))
            answer = None if script is None else script.pop(0) if len(script) > 1 else script[0]
        if self.on_call is not None:
            self.on_call(call)
        stopped = deadline.wait(inputs["pause"]) if inputs.get("pause") else deadline.stopped
        call.ended = time.monotonic()
        if stopped:
            raise StepProblem("cancelled" if deadline.cancelled else "timeout", f"{name} was stopped")
        outputs = answer if isinstance(answer, dict) else inputs.get("outputs")
        if outputs is None:
            outputs = {"value": inputs.get("value") if answer is None else answer}
        code = inputs.get("exit") or 0
        return Reply(exit_code=code, outputs=outputs, command=(name, action.name), failed=code != 0)


class _Plugin:
    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    @hookimpl
    def gert_transports(self) -> list[Transport]:
        return [Transport(name="lab", open=lambda target, services: _Session(self._lab, target.tool))]


class _Session:
    def __init__(self, lab: Lab, name: str) -> None:
        self._lab = lab
        self._name = name

    def call(self, action: Any, inputs: Any, deadline: Any) -> Reply:
        return self._lab.answer(self._name, action, dict(inputs), deadline)

    def close(self) -> None:
        pass
