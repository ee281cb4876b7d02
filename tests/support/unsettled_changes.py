"""What somebody may do to the documents of a run between two of its processes to get past an approval."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from unsettled_books import BOOK, END, FREE, GATED, POLICY, Chance, Documents, Step, lists_in

if TYPE_CHECKING:
    from collections.abc import Callable

WRONG = "{{ index .lst 7 }}"
"""A template that cannot be rendered."""


class Changer:
    """Changes a copy of the documents of a run."""

    def __init__(self, chance: Chance, documents: Documents) -> None:
        self.chance = chance
        self.documents = copy.deepcopy(documents)
        self.count = 0

    def change(self) -> Documents:
        """Make one to three changes."""
        for _ in range(self.chance.number(1, 3)):
            self.chance.pick(_CHANGES)(self)
        return self.documents

    def new(self, prefix: str = "x") -> str:
        """An id that no step has."""
        text = json.dumps(self.documents)
        while f'"{prefix}{self.count}"' in text:
            self.count += 1
        return f"{prefix}{self.count}"

    def at(self) -> tuple[list[Step], int]:
        """A list of steps and a place in it, that of an `end` aside."""
        places = [
            (steps, at) for steps in lists_in(self.documents) for at, step in enumerate(steps) if step["type"] != "end"
        ]
        return self.chance.pick(places) if places else ([self._extra()], 0)

    def _extra(self) -> Step:
        name = self.new("e")
        return {"id": name, "type": "tool", "tool": FREE, "scope": f"at/{name}", "inputs": {"value": name}}

    def rename(self) -> None:
        """Give a step another id."""
        steps, at = self.at()
        steps[at]["id"] = self.new()

    def same_name(self) -> None:
        """Give a step that acts the place and id of another one."""
        steps, at = self.at()
        other, to = self.at()
        steps[at] = {**copy.deepcopy(other[to]), "id": steps[at]["id"]}

    def wrap(self) -> None:
        """Put a step, or two, into another one: with a new id, or with the id of the first."""
        steps, at = self.at()
        taken = [step for step in steps[at : at + self.chance.number(1, 2)] if step["type"] != "end"]
        name = self.chance.pick([self.new(), steps[at]["id"]])
        first, rest = taken[:1], taken[1:]
        kind = self.chance.pick(["block", "branch", "parallel", "dag", "loop", "repeat", "finally", "on_failure"])
        made: Step = {"id": name, "type": "block", "steps": taken}
        if kind == "branch":
            arms = [{"condition": self.chance.pick(["{{ .on }}", "{{ .off }}"]), "steps": taken}]
            made = {"id": name, "type": "branch", "branches": arms}
        elif kind == "parallel":
            made = {"id": name, "type": "parallel", "branches": [{"steps": [one]} for one in taken]}
        elif kind == "dag":
            nodes = [{"name": f"n{n}", "depends_on": [], "steps": [one]} for n, one in enumerate(taken)]
            made = {"id": name, "type": "dag", "nodes": nodes}
        elif kind == "loop":
            over = self.chance.pick([["x"], [], ["x", "y"]])
            made["for_each"] = {"over": over, "as": f"{name}i"}
        elif kind == "repeat":
            made = {"id": name, "type": "repeat", "repeat": {"max": 1}, "steps": taken}
        elif kind in ("finally", "on_failure"):
            made |= {"steps": first, kind: rest or [self._extra()]}
        steps[at : at + len(taken)] = [made]

    def unwrap(self) -> None:
        """Put the steps of a block in its place."""
        found = [(steps, at) for steps in lists_in(self.documents) for at, one in enumerate(steps) if "steps" in one]
        if found:
            steps, at = self.chance.pick(found)
            steps[at : at + 1] = steps[at]["steps"]

    def move(self) -> None:
        """Put a step somewhere else, also into the cleanup of the run."""
        steps, at = self.at()
        step = steps.pop(at)
        lists = [one for one in lists_in(self.documents) if one is not step]
        book = self.documents[BOOK]
        target = self.chance.pick([*lists, book.setdefault("finally", [])])
        target.insert(self.chance.number(0, len(target)), step)
        if not book["finally"]:
            del book["finally"]

    def delete(self) -> None:
        """Take a step away, or leave an empty step or a check in its place."""
        steps, at = self.at()
        name = steps[at]["id"]
        check = {"type": "equals", "value": 1, "expected": 1}
        options: list[list[Step]] = [
            [],
            [{"id": name, "type": "parallel", "branches": [{"steps": []}]}],
            [{"id": name, "type": "assert", "assert": [check]}],
        ]
        steps[at : at + 1] = self.chance.pick(options)

    def swap(self) -> None:
        """Exchange two steps, whole or their ids alone."""
        (one, at), (two, to) = self.at(), self.at()
        if self.chance.one_in(2):
            one[at]["id"], two[to]["id"] = two[to]["id"], one[at]["id"]
        elif one is two:
            one[at], two[to] = two[to], one[at]

    def condition(self) -> None:
        """Change the condition of a step, also to one that cannot be rendered."""
        steps, at = self.at()
        steps[at]["when"] = self.chance.pick(["{{ .off }}", "{{ .on }}", WRONG])
        if steps[at]["when"] == WRONG:
            steps[at]["continue_on_fail"] = True

    def inputs(self) -> None:
        """Have a step do something else."""
        steps, at = self.at()
        if "inputs" in steps[at]:
            steps[at]["inputs"] = {"value": self.new("v")}
        elif "message" in steps[at]:
            steps[at]["message"] = "other {{ .pw }}" if self.chance.one_in(2) else "other"

    def other_tool(self) -> None:
        """Have another tool do it, or make a tool of an approval."""
        steps, at = self.at()
        if steps[at]["type"] in ("tool", "approval"):
            name = steps[at]["id"]
            kept = {key: steps[at][key] for key in ("id", "scope", "when", "for_each", "next") if key in steps[at]}
            made = {**kept, "type": "tool", "tool": self.chance.pick([FREE, GATED]), "inputs": {"value": name}}
            steps[at] = made

    def tolerate(self) -> None:
        """Let the run go on after a failure or a rejection."""
        steps, at = self.at()
        steps[at]["continue_on_fail"] = True
        if steps[at]["type"] == "approval":
            steps[at]["on_reject"] = "fail"

    def contract(self) -> None:
        """Let a tool declare less, or call another method."""
        document = self.documents[f"tools/{self.chance.pick([GATED, 'gentle', 'banned'])}.tool.yaml"]
        if self.chance.one_in(2):
            document["actions"]["do"]["method"] = "other"
        else:
            document["contract"]["effects"] = ["network"]

    def soften(self) -> None:
        """Take rules away, or make them weaker."""
        action = self.chance.pick(["", "allow", "require-approval"])
        for holder in (self.documents[POLICY], self.documents[BOOK]["meta"].get("governance", {})):
            rules = holder.get("rules", [])
            if action:
                for rule in rules:
                    rule["action"] = action
            else:
                rules.clear()
        meta = self.documents[BOOK]["meta"]
        if not meta.get("governance", {}).get("rules"):
            meta.pop("governance", None)

    def add(self) -> None:
        """Put a new step that acts somewhere."""
        steps, at = self.at()
        steps.insert(at + self.chance.number(0, 1), self._extra())

    def cleanup(self) -> None:
        """Put a new step that acts into the cleanup of the run."""
        self.documents[BOOK].setdefault("finally", []).append(self._extra())

    def jump(self) -> None:
        """Go from one step to another one of its list, or past everything."""
        steps, at = self.at()
        to = self.chance.number(0, len(steps) - 1)
        steps[at]["next"] = steps[to]["id"] if to > at else {"step": steps[to]["id"], "max": 1}

    def early_end(self) -> None:
        """End the run somewhere, which leaves what comes behind out."""
        steps, at = self.at()
        steps.insert(at, {**END, "id": self.new("z")})


_CHANGES: list[Callable[[Changer], Any]] = [
    *(Changer.soften, Changer.rename, Changer.wrap, Changer.wrap, Changer.delete, Changer.move, Changer.swap),
    *(Changer.condition, Changer.inputs, Changer.other_tool, Changer.tolerate, Changer.contract, Changer.add),
    *(Changer.cleanup, Changer.jump, Changer.unwrap, Changer.same_name, Changer.early_end, Changer.soften),
]

__all__ = ["Changer"]
