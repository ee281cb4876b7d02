"""Runbooks with scenarios on disk, and their verdicts, for tests about testing."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

from gert_core.host import SilentConsole
from gert_core.plugin.registry import Registry
from gert_core.scenarios import ScenarioResult, candidates_of
from gert_core.scenarios.run import ScenarioRunner

if TYPE_CHECKING:
    from pathlib import Path

BOX = """\
apiVersion: tool/v0
meta: {name: box, transport: stdio, binary: "true"}
contract:
  inputs: {item: {type: string}}
  outputs: {word: {type: string, required: false}, size: {type: int, required: false}}
actions:
  read:
    argv: ["true", "{{ .item }}"]
    contract: {effects: [], reads: [disk]}
    extract: {word: {from: stdout, pattern: "^word=(.*)$"}}
  write:
    argv: ["true", "{{ .item }}"]
    contract: {effects: [network], writes: [production]}
"""
END = "  - {type: end, outcome: {category: resolved, code: done}}\n"


def write_book(directory: Path, steps: str, *, name: str = "book", meta: str = "", tools: str = "[box]") -> Path:
    """A runbook ``name.yaml`` with these steps (and an end), beside a tool ``box``."""
    (directory / "tools").mkdir(parents=True, exist_ok=True)
    (directory / "tools" / "box.tool.yaml").write_text(BOX)
    body = textwrap.indent(textwrap.dedent(steps).strip("\n"), "  ")
    head = textwrap.indent(textwrap.dedent(meta).strip("\n"), "  ")
    text = f"apiVersion: kernel/v0\nmeta:\n  name: {name}\n{head}\ntools: {tools}\nsteps:\n{body}\n"
    file = directory / f"{name}.yaml"
    file.write_text(text + ("" if "type: end" in steps else END))
    return file


def write_scenario(runbook: Path, name: str, scenario: Any = None, test: Any = None) -> Path:
    """A scenario of a runbook; data becomes JSON, which is YAML. ``test`` None writes no ``test.yaml``."""
    directory = runbook.parent / "scenarios" / runbook.stem / name
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "scenario.yaml").write_text(_text(scenario or {}))
    if test is not None:
        (directory / "test.yaml").write_text(_text(test))
    return directory


def _text(value: Any) -> str:
    return textwrap.dedent(value) if isinstance(value, str) else json.dumps(value)


def trial_of(runbook: Path, *, registry: Registry | None = None, **environ: str) -> ScenarioRunner:
    """The runbook ready to be tried with the installed plugins."""
    return ScenarioRunner(
        runbook=runbook, registry=registry or Registry.build(), console=SilentConsole(), environ=environ
    )


def verdict_on(runbook: Path, scenario: Any = None, test: Any = None, **environ: str) -> ScenarioResult:
    """Write one scenario, replay it and judge it."""
    write_scenario(runbook, "one", scenario, test if test is not None else {})
    candidate = next(one for one in candidates_of(runbook) if one.name == "one")
    return trial_of(runbook, **environ).run(candidate)
