"""Random runbooks for property tests: every construct of the language, over tools that only echo.

Most of what comes out is valid; what is not is for the caller to notice (that is part of the test).
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

TOOL = """
apiVersion: tool/v0
meta: { name: mirror, transport: echo }
contract:
  effects: [network]
  deterministic: true
  idempotent: true
  inputs: { text: { type: string }, code: { type: int } }
  outputs: { out: { type: string }, size: { type: int, required: false } }
actions:
  say: { argv: [mirror, "{{ .text }}"], env: { EXIT: "{{ .code }}" }, extract: { out: { from: stdout } } }
"""
INPUTS: dict[str, Any] = {"n": 2, "flag": True, "word": "red", "items": ["a", "b", "c"], "table": {"x": 1, "y": 2}}
TYPES = {"n": "int", "flag": "bool", "word": "string", "items": "list", "table": "object"}
CONSTANTS = {"limit": 2, "label": "{{ .word }}-{{ .n }}"}

conditions = st.sampled_from(
    [
        True,
        False,
        "{{ .flag }}",
        "{{ not .flag }}",
        '{{ eq .word "red" }}',
        "{{ gt .n 5 }}",
        '{{ hasPrefix "red" .label }}',
        "{{ flag and n < limit }}",
        '{{ eq (.out | default "none") "red" }}',
        "{{ len .items | eq 3 }}",
    ]
)
texts = st.sampled_from(
    ["plain", "{{ .word }}", "{{ .label }}", "{{ word | upper }}", '{{ .out | default "none" }}!', "{{ .n }}{{ .n }}"]
)
CHECKS: list[tuple[str, Any, Any]] = [
    ("equals", "{{ .word }}", "red"),
    ("equals", "{{ .n }}", "2"),
    ("not_equals", "{{ .word }}", "red"),
    ("contains", "{{ .label }}", "red"),
    ("contains", "{{ .label }}", "blue"),
]


class _Maker:
    """One document; ids are given out in order, so that they never clash."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw
        self._count = 0
        self._exports = 0

    def document(self) -> dict[str, Any]:
        steps = self._steps(depth=3)
        steps.append(self._end())
        return {
            "apiVersion": "kernel/v0",
            "meta": {
                "name": "random",
                "inputs": {name: {"type": kind} for name, kind in TYPES.items()},
                "constants": CONSTANTS,
            },
            "tools": ["mirror"],
            "steps": steps,
        }

    def _id(self) -> str:
        self._count += 1
        return f"s{self._count}"

    def _steps(self, *, depth: int, scoped: bool = False) -> list[dict[str, Any]]:
        found = [self._step(depth, scoped=scoped) for _ in range(self._draw(st.integers(1, 3)))]
        for index, step in enumerate(found):
            if "for_each" not in step and self._draw(st.integers(0, 5)) == 0:
                target = self._draw(st.integers(0, len(found) - 1))
                name = found[target]["id"]
                step["next"] = name if target > index else {"step": name, "max": self._draw(st.integers(0, 2))}
        if depth < 3 and self._draw(st.integers(0, 5)) == 0:
            found.append(self._end())
        return found

    def _step(self, depth: int, *, scoped: bool) -> dict[str, Any]:
        leaf = depth == 0 or self._draw(st.booleans())
        kind = self._draw(st.sampled_from(["tool", "tool", "assert"] if leaf else ["branch", "parallel", "repeat"]))
        step: dict[str, Any] = {"id": self._id(), "type": kind}
        if self._draw(st.integers(0, 4)) == 0:
            step["when"] = self._draw(conditions)
        if self._draw(st.integers(0, 3)) == 0:
            step["continue_on_fail"] = True
        getattr(self, f"_{kind}")(step, depth, scoped)
        if kind != "repeat" and self._draw(st.integers(0, 4)) == 0:
            step["for_each"] = self._each()
        return step

    def _tool(self, step: dict[str, Any], depth: int, scoped: bool) -> None:
        step |= {"tool": "mirror", "action": "say", "inputs": {"text": self._draw(texts)}}
        code = self._draw(st.sampled_from([0, 0, 0, 0, 1, "{{ .n }}", "{{ .n | int }}"]))
        if code != 0:
            step["inputs"]["code"] = code
        if scoped or self._draw(st.integers(0, 4)) == 0:
            step["scope"] = self._draw(
                st.sampled_from([f"a/{step['id']}", f"b.{step['id']}", f"c/{{{{ .n }}}}{step['id']}"])
            )
            if self._draw(st.integers(0, 3)) == 0:
                step["export"] = ["out"]

    def _assert(self, step: dict[str, Any], depth: int, scoped: bool) -> None:
        del depth, scoped
        kind, value, expected = self._draw(st.sampled_from(CHECKS))
        step["assert"] = [{"type": kind, "value": value, "expected": expected}]

    def _branch(self, step: dict[str, Any], depth: int, scoped: bool) -> None:
        arms = self._draw(st.lists(conditions, min_size=1, max_size=2))
        if self._draw(st.integers(0, 3)):
            arms.append("default")
        step["branches"] = [{"condition": arm, "steps": self._steps(depth=depth - 1, scoped=scoped)} for arm in arms]

    def _parallel(self, step: dict[str, Any], depth: int, scoped: bool) -> None:
        del scoped
        count = self._draw(st.integers(1, 3))
        step["branches"] = [{"steps": self._steps(depth=depth - 1, scoped=True)} for _ in range(count)]
        if self._draw(st.booleans()):
            step["max_parallel"] = self._draw(st.sampled_from([1, 2, "{{ .n }}"]))

    def _repeat(self, step: dict[str, Any], depth: int, scoped: bool) -> None:
        step["repeat"] = {"max": self._draw(st.sampled_from([1, 2, 3, "{{ .limit }}"]))}
        if self._draw(st.booleans()):
            step["repeat"]["until"] = self._draw(st.sampled_from(["{{ ge .repeat.index 1 }}", "{{ .flag }}"]))
        step["steps"] = self._steps(depth=depth - 1, scoped=scoped)

    def _each(self) -> dict[str, Any]:
        over = self._draw(st.sampled_from(["{{ .items }}", "{{ .table }}", ["x", "y"], [], [1, 2, 3]]))
        each: dict[str, Any] = {"as": f"item{self._count}", "over": over}
        if self._draw(st.booleans()):
            each["parallel"] = True
        if over == "{{ .items }}" and self._draw(st.booleans()):
            each["key"] = f"{{{{ .item{self._count} }}}}"
        return each

    def _end(self) -> dict[str, Any]:
        code = self._draw(st.sampled_from(["fine", "{{ .label }}", '{{ .out | default "none" }}']))
        category = self._draw(st.sampled_from(["resolved", "escalated", "no_action", "needs_rca"]))
        return {"id": self._id(), "type": "end", "outcome": {"category": category, "code": code}}


@st.composite
def runbooks(draw: Any) -> dict[str, Any]:
    """A runbook document as plain data."""
    return _Maker(draw).document()


__all__ = ["INPUTS", "TOOL", "runbooks"]
