"""Random small runbooks: every way of nesting, looping, failing and asking that a run can be crashed in."""

from __future__ import annotations

import json
import random
from typing import Any

from lab import tool

TOOLS = {
    **tool("once", effects="pushes", writes="registry", idempotent="false"),
    **tool("idem", effects="tags", writes="tags", idempotent="true"),
    **tool("gated", effects="deploys", writes="deployment", idempotent="false"),
}
RULES = [{"writes": ["deployment"], "action": "require-approval"}, {"default": "allow"}]


class Shape:
    """Draws one runbook."""

    def __init__(self, seed: int, *, gates: bool) -> None:
        self._chance = random.Random(seed)
        self._gates = gates
        self._count = 0
        self._left = 14

    def runbook(self) -> str:
        """The document, as JSON, which is YAML too."""
        steps = self._steps(depth=0, seen=[], forked=False)
        steps.append({"id": "look", "type": "tool", "tool": "lab", "inputs": {"value": self._value(self._ids(steps))}})
        steps.append({"id": "done", "type": "end", "outcome": {"category": "resolved", "code": "ok"}})
        meta = {"name": "shape", "constants": {"items": [1, 2, 3]}, "governance": {"rules": RULES}}
        names = ["lab", "once", "idem", "gated"]
        return json.dumps({"apiVersion": "kernel/v0", "meta": meta, "tools": names, "steps": steps}, indent=1)

    def _steps(self, *, depth: int, seen: list[str], forked: bool) -> list[dict[str, Any]]:
        steps: list[dict[str, Any]] = []
        seen = list(seen)
        for _ in range(self._chance.randint(1, 3 if depth else 5)):
            if self._left <= 0 and steps:
                break
            self._left -= 1
            step = self._step(depth=depth, seen=seen, forked=forked)
            steps.append(step)
            seen.append(step["id"])
        return steps

    def _step(self, *, depth: int, seen: list[str], forked: bool) -> dict[str, Any]:
        self._count += 1
        step: dict[str, Any] = {"id": f"s{self._count}"}
        kinds = ["leaf"] * 5 + ["judge"] + (["pick", "fork", "loop"] if depth < 3 and self._left > 0 else [])
        kind = self._chance.choice(kinds)
        each = self._chance.random() < 0.2
        inner = {"depth": depth + 1, "seen": seen}
        if kind == "leaf":
            names = ["lab", "lab", "once", "idem", *(["gated"] if self._gates else [])]
            step |= {"type": "tool", "tool": self._chance.choice(names), "inputs": {"value": self._value(seen)}}
            if forked or each or self._chance.random() < 0.3:
                step["scope"] = f"sc/{step['id']}"
            if self._chance.random() < 0.12:
                step["inputs"]["exit"] = 3
                step["continue_on_fail"] = self._chance.random() < 0.8
            elif not each and self._chance.random() < 0.15:
                step["next"] = {"step": step["id"], "max": self._chance.randint(1, 2)}
        elif kind == "judge":
            check = {"type": "equals", "value": self._value(seen), "expected": "1"}
            step |= {"type": "assert", "assert": [check], "continue_on_fail": True}
        elif kind == "pick":
            arms = [{"condition": self._test(seen), "steps": self._steps(forked=forked, **inner)}]
            arms.append({"condition": "default", "steps": self._steps(forked=forked, **inner)})
            step |= {"type": "branch", "branches": arms}
        elif kind == "fork":
            count = self._chance.randint(2, 3)
            step |= {
                "type": "parallel",
                "branches": [{"steps": self._steps(forked=True, **inner)} for _ in range(count)],
            }
        else:
            until = f"{{{{ ge .repeat.index {self._chance.randint(0, 2)} }}}}"
            step |= {"type": "repeat", "repeat": {"max": self._chance.randint(1, 3), "until": until}}
            step["steps"] = self._steps(forked=forked, **inner)
        if each:
            step["for_each"] = {
                "as": f"i{self._count}",
                "over": "{{ .items }}",
                "parallel": self._chance.random() < 0.6,
            }
            if self._chance.random() < 0.5:
                step["for_each"]["key"] = (
                    f"k {{{{ .i{step['id'][1:]} }}}}" if kind == "leaf" else f"{{{{ .{step['for_each']['as']} }}}}/x"
                )
        if self._chance.random() < 0.12:
            step["when"] = self._test(seen)
        return step

    def _value(self, seen: list[str]) -> Any:
        if seen and self._chance.random() < 0.6:
            return f"{{{{ .{self._chance.choice(seen)}.value | default 0 }}}}"
        return self._chance.randint(0, 2)

    def _test(self, seen: list[str]) -> Any:
        if seen and self._chance.random() < 0.7:
            return f"{{{{ eq (.{self._chance.choice(seen)}.value | default 0) {self._chance.randint(0, 2)} }}}}"
        return self._chance.random() < 0.5

    def _ids(self, steps: list[dict[str, Any]]) -> list[str]:
        return [step["id"] for step in steps]


__all__ = ["TOOLS", "Shape"]
