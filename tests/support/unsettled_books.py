"""Random runbooks full of approvals and denials: documents as plain data, by file name.

Each step that acts is given its own name as ``value``, so that its effect is known whatever the step is called later.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

BOOK, POLICY = "runbook.yaml", "rules.policy.yaml"
YES = "yes-please"
"""The value of the secret input with which guarded steps run."""
ASK = {"effects": ["danger"], "action": "require-approval"}
BAN = {"effects": ["ruin"], "action": "deny"}
END = {"id": "done", "type": "end", "outcome": {"category": "resolved", "code": "ok"}}
LISTS = ("steps", "on_failure", "finally")
FREE, GATED, GENTLE, BANNED = "free", "gated", "gentle", "banned"

Step: TypeAlias = dict[str, Any]
Documents: TypeAlias = dict[str, dict[str, Any]]


T = TypeVar("T")


class Chance:
    """Random choices of one life. What is chosen depends on how the run stands, which branches that run at the same
    time make differ, so hypothesis draws the seed only."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def pick(self, items: Sequence[T]) -> T:
        """One of these."""
        return self._random.choice(items)

    def number(self, least: int, most: int) -> int:
        """A number."""
        return self._random.randint(least, most)

    def one_in(self, count: int) -> bool:
        """True now and then."""
        return self._random.randrange(count) == 0


def tool(name: str, effect: str, *, idempotent: bool) -> dict[str, Any]:
    """The file of a tool of the laboratory."""
    inputs = {"value": {"type": "any"}, "exit": {"type": "int"}}
    contract = {"effects": [effect], "writes": ["disk"], "idempotent": idempotent, "inputs": inputs}
    outputs = {"value": {"type": "any", "required": False}}
    return {
        "apiVersion": "tool/v0",
        "meta": {"name": name, "transport": "lab"},
        "contract": {**contract, "outputs": outputs},
        "actions": {"do": {"method": "do"}},
    }


class Maker:
    """Makes the documents of one run; ids are given out in order."""

    def __init__(self, chance: Chance, *, safe: bool = False) -> None:
        self.chance = chance
        self.safe = safe
        """Whether nothing is denied, skipped or jumped over."""
        self.count = 0
        self.left = 9
        self.made: Documents = {}

    def documents(self) -> Documents:
        """The files: runbook, policy, tools and included runbooks."""
        rules = [dict(ASK), *([] if self.safe else [dict(BAN)])]
        inside = self.chance.one_in(2)
        book = self._book("gate", self.steps(2), rules if inside else [])
        if self.chance.one_in(4):
            book["finally"] = [self.acting()]
        policy = {"apiVersion": "policy/v0", "meta": {"name": "rules"}, "rules": [] if inside else rules}
        self.made[BOOK], self.made[POLICY] = book, policy
        for name, effect, again in ((FREE, "network", True), (GATED, "danger", False), (GENTLE, "danger", True)):
            self.made[f"tools/{name}.tool.yaml"] = tool(name, effect, idempotent=again)
        self.made[f"tools/{BANNED}.tool.yaml"] = tool(BANNED, "ruin", idempotent=True)
        return self.made

    def _book(self, name: str, steps: list[Step], rules: list[dict[str, Any]]) -> dict[str, Any]:
        meta: dict[str, Any] = {"name": name, "constants": {"on": True, "off": False, "lst": [1]}}
        if name == "gate":
            meta["inputs"] = {"pw": {"type": "string", "secret": True, "required": True}}
        if rules:
            meta["governance"] = {"rules": rules}
        tools = [FREE, GATED, GENTLE, BANNED]
        return {"apiVersion": "kernel/v0", "meta": meta, "tools": tools, "steps": [*steps, dict(END)]}

    def name(self) -> str:
        """A new id."""
        self.count += 1
        return f"s{self.count}"

    def steps(self, depth: int, *, inner: bool = False) -> list[Step]:
        """A list of steps."""
        found: list[Step] = []
        for _ in range(self.chance.number(1, 3)):
            self.left -= 1
            found.append(self.step(depth, inner=inner))
            if self.left <= 0:
                break
        for at, step in enumerate(found):
            if not self.safe and "for_each" not in step and self.chance.one_in(12):
                to = self.chance.number(0, len(found) - 1)
                step["next"] = found[to]["id"] if to > at else {"step": found[to]["id"], "max": 1}
        return found

    def step(self, depth: int, *, inner: bool = False) -> Step:
        """A step, with steps in it while there is depth."""
        leaves = ["tool", "approval", "tool"]
        around = ["block", "branch", "parallel", "dag", "repeat", *([] if inner else ["runbook"])]
        kind = self.chance.pick(leaves + (around if depth and self.left > 0 else []))
        made = getattr(self, f"_{kind}")(depth, inner)
        if not self.safe and not inner and self.chance.one_in(8):
            made["when"] = self.chance.pick(['{{ eq .pw "yes-please" }}', "{{ .on }}", "{{ .off }}"])
        if self.chance.one_in(6):
            made["continue_on_fail"] = True
        if kind != "runbook" and self.chance.one_in(8):
            parallel = self.chance.one_in(2)
            made["for_each"] = {"over": ["x", "y"], "as": f"i{self.count}", "parallel": parallel}
        return made

    def acting(self) -> Step:
        """A step that acts without being asked about."""
        name = self.name()
        return {"id": name, "type": "tool", "tool": FREE, "scope": f"at/{name}", "inputs": {"value": name}}

    def _tool(self, depth: int, inner: bool) -> Step:
        del depth, inner
        made = self.acting()
        made["tool"] = self.chance.pick([GATED, FREE, GENTLE])
        if not self.safe and self.chance.one_in(10):
            made["tool"] = BANNED
        return made

    def _approval(self, depth: int, inner: bool) -> Step:
        del depth, inner
        name = self.name()
        made: Step = {"id": name, "type": "approval", "message": name, "scope": f"at/{name}"}
        if self.chance.one_in(4):
            made["on_reject"] = "fail"
        return made

    def _block(self, depth: int, inner: bool) -> Step:
        made: Step = {"id": self.name(), "type": "block", "steps": self.steps(depth - 1, inner=inner)}
        for key in LISTS[1:]:
            if self.chance.one_in(3):
                made[key] = [self.step(0, inner=inner)]
        return made

    def _branch(self, depth: int, inner: bool) -> Step:
        first = "{{ .on }}" if self.safe else self.chance.pick(["{{ .on }}", "{{ .off }}"])
        arms = [{"condition": one, "steps": self.steps(depth - 1, inner=inner)} for one in (first, "default")]
        return {"id": self.name(), "type": "branch", "branches": arms}

    def _parallel(self, depth: int, inner: bool) -> Step:
        branches = [{"steps": self.steps(depth - 1, inner=inner)} for _ in range(2)]
        return {"id": self.name(), "type": "parallel", "branches": branches}

    def _dag(self, depth: int, inner: bool) -> Step:
        nodes: list[dict[str, Any]] = []
        for at in range(self.chance.number(2, 3)):
            after = [f"n{one}" for one in range(at) if self.chance.one_in(2)]
            nodes.append({"name": f"n{at}", "depends_on": after, "steps": self.steps(depth - 1, inner=inner)})
        return {"id": self.name(), "type": "dag", "nodes": nodes}

    def _repeat(self, depth: int, inner: bool) -> Step:
        return {
            "id": self.name(),
            "type": "repeat",
            "repeat": {"max": self.chance.number(1, 2)},
            "steps": self.steps(depth - 1, inner=inner),
        }

    def _runbook(self, depth: int, inner: bool) -> Step:
        del inner
        name = self.name()
        file = f"{name}.yaml"
        self.made[file] = self._book(name, self.steps(depth - 1, inner=True), [])
        return {"id": name, "type": "runbook", "runbook": file}


def lists_in(documents: Documents) -> list[list[Step]]:
    """Every list of steps of the runbooks, outer ones first."""
    found: list[list[Step]] = []
    for name, document in documents.items():
        if "steps" in document:
            found += _lists(document)
        del name
    return found


def _lists(holder: dict[str, Any]) -> list[list[Step]]:
    found: list[list[Step]] = []
    own = [holder[key] for key in LISTS if isinstance(holder.get(key), list)]
    own += [one["steps"] for key in ("branches", "nodes") for one in holder.get(key, ())]
    for steps in own:
        found.append(steps)
        for step in steps:
            found += _lists(step)
    return found


__all__ = [
    "ASK",
    "BAN",
    "BOOK",
    "FREE",
    "GATED",
    "GENTLE",
    "LISTS",
    "POLICY",
    "YES",
    "Chance",
    "Documents",
    "Maker",
    "Step",
    "lists_in",
]
