"""The documents and programs that are measured, written into a temporary directory."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

from gert_core.testing import FakeDist

HEAD = """\
apiVersion: kernel/v0
meta:
  name: {name}
  inputs:
    host: {{ type: string, default: web-1 }}
tools: [nothing, nap]
steps:
"""
END = "  - { id: done, type: end, outcome: { category: resolved, code: ok } }\n"
TOOL = """\
apiVersion: tool/v0
meta: {{ name: {name} }}
contract: {{ effects: [], reads: [host], writes: [], idempotent: true, deterministic: false }}
actions:
  run: {{ argv: {argv} }}
"""
PLUGIN = """
from gert_core import hookimpl
from gert_core.api import StepType

@hookimpl
def gert_step_types():
    yield StepType(name="bench{n}", model="bench:Model", run="bench:run")
"""


def tool_step(n: int, tool: str = "nothing") -> str:
    """A step that runs a program which does nothing, or sleeps 50 ms."""
    return f"  - {{ id: run_{n}, type: tool, tool: {tool} }}\n"


def assert_step(n: int) -> str:
    """A step that happens in this process."""
    check = '{ type: equals, value: "{{ .host }}", expected: web-1 }'
    return f"  - id: check_{n}\n    type: assert\n    assert:\n      - {check}\n"


def mixed_steps(groups: int) -> str:
    """Five steps per group as people write them: tools with inputs, a check, a guard, a branch."""
    group = """\
      - id: fetch_N
        type: tool
        tool: nothing
        when: '{{ ne .host "" }}'
        timeout: 30s
      - id: ok_N
        type: assert
        continue_on_fail: true
        assert:
          - { type: equals, value: "{{ .fetch_N.status }}", expected: success }
          - { type: matches, value: "{{ .host }}-N", pattern: "^web" }
      - id: choose_N
        type: branch
        branches:
          - condition: "{{ eq .ok_N.passed true }}"
            label: fine
            steps:
              - { id: again_N, type: tool, tool: nothing }
          - condition: default
            steps:
              - { id: rest_N, type: tool, tool: nap, action: run }
    """
    text = dedent(group).replace("\n", "\n  ")
    return "".join("  " + text.replace("N", str(n)).rstrip() + "\n" for n in range(groups))


class Workloads:
    """The directory with everything in it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        tools = place / "tools"
        tools.mkdir()
        (tools / "nothing.tool.yaml").write_text(TOOL.format(name="nothing", argv='["true"]'))
        (tools / "nap.tool.yaml").write_text(TOOL.format(name="nap", argv='["sleep", "0.05"]'))

    def book(self, name: str, steps: str) -> Path:
        """A runbook of some steps and an end."""
        file = self.place / f"{name}.yaml"
        file.write_text(HEAD.format(name=name) + steps + END)
        return file

    def parallel(self, branches: int) -> Path:
        """Steps of 50 ms, all at once."""
        lines = [f"  - id: all\n    type: parallel\n    max_parallel: {branches}\n    branches:\n"]
        lines += [f"      - steps: [{{ id: nap_{n}, type: tool, tool: nap }}]\n" for n in range(branches)]
        return self.book("parallel", "".join(lines))

    def scenarios(self, count: int) -> Path:
        """A runbook with many scenarios, in a directory of its own."""
        home = self.place / "tested"
        (home / "tools").mkdir(parents=True)
        (home / "tools" / "nothing.tool.yaml").write_text(TOOL.format(name="nothing", argv='["true"]'))
        book = home / "checked.yaml"
        head = HEAD.format(name="checked").replace("[nothing, nap]", "[nothing]")
        book.write_text(head + tool_step(1) + assert_step(1) + END)
        for n in range(count):
            folder = home / "scenarios" / "checked" / f"case_{n:03}"
            folder.mkdir(parents=True)
            (folder / "scenario.yaml").write_text(
                "inputs: { host: web-1 }\ntool_responses: { nothing: [{ exit_code: 0 }] }\n"
            )
            (folder / "test.yaml").write_text("expected_outcome: resolved\nmust_reach: [run_1, check_1]\n")
        return book

    def trivial_tests(self, count: int) -> Path:
        """A file of tests that pass, for pytest."""
        home = self.place / "trivial"
        home.mkdir()
        (home / "pytest.ini").write_text("[pytest]\n")
        file = home / "test_trivial.py"
        file.write_text("".join(f"def test_{n}():\n    assert {n} + 1 == {n + 1}\n\n" for n in range(count)))
        return file

    def nothing_script(self, gert: Path) -> tuple[Path, Path]:
        """A console script that does nothing, worded as the installer worded ``gert``; and its directory."""
        home = self.place / "nothing"
        home.mkdir()
        (home / "bench_nothing.py").write_text("def main():\n    return 0\n")
        (home / "do_nothing.py").write_text("")
        script = home / "nothing"
        script.write_text(gert.read_text().replace("gert_core.cli", "bench_nothing"))
        script.chmod(0o755)
        return script, home

    def hundred_plugins(self) -> Path:
        """A directory with a hundred installed plugins."""
        home = self.place / "hundred"
        fake = FakeDist(directory=home)
        for n in range(100):
            fake.add(f"gert-step-bench{n}", PLUGIN.format(n=n))
        return home


def gert_script() -> Path:
    """The installed command."""
    return Path(sys.executable).with_name("gert")
