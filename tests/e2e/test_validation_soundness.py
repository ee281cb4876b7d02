"""What validation promises holds in runs: a valid runbook reaches an outcome, and unreachable steps are never reached."""

from __future__ import annotations

import json
import os
import random
import time

import pytest

from gert_core.api import Severity
from gert_core.host import run
from gert_core.plugin.registry import Registry
from gert_core.validation import validate_file
from gert_core.validation.domain.flow import FlowMap

LONG = bool(os.environ.get("GERT_FUZZ"))
SECONDS = 60.0 if LONG else 3.0
FLAGS = ("f0", "f1", "f2")
PROBE = '{{ .%s.passed | default "undefined" }}'


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


class Maker:
    """Random runbooks of steps that need nothing outside, with guards, arms, jumps and loops."""

    def __init__(self, rng: random.Random, *, back: bool = True, probes: bool = False) -> None:
        self.rng = rng
        self.count = 0
        self.back = back
        self.probes = probes

    def document(self) -> dict:
        inputs = {flag: {"type": "bool", "required": True} for flag in FLAGS} | {"items": {"type": "list"}}
        return {
            "apiVersion": "kernel/v0",
            "meta": {"name": "x", "inputs": inputs},
            "steps": self.steps(3, closed=self.rng.random() < 0.7),
        }

    def steps(self, depth: int, *, closed: bool) -> list[dict]:
        found = [self.step(depth) for _ in range(self.rng.randint(1, 4))]
        if closed:
            found.append(self.end())
        for index, step in enumerate(found):
            if "for_each" in step or self.rng.random() > 0.25:
                continue
            target = self.rng.randrange(0 if self.back else index + 1, len(found) + (not self.back))
            if target == len(found):
                continue
            step["next"] = found[target]["id"] if target > index else {"step": found[target]["id"], "max": 2}
        return found

    def named(self, kind: str) -> dict:
        self.count += 1
        return {"id": f"s{self.count}", "type": kind}

    def end(self) -> dict:
        return self.named("end") | {"outcome": {"category": "resolved", "code": f"c{self.count}"}}

    def flag(self) -> str:
        return "{{ ." + self.rng.choice(FLAGS) + " }}"

    def step(self, depth: int) -> dict:
        kinds = ["assert"] * 3 + ["end"] + ["branch", "branch", "parallel", "repeat"] * (depth > 0)
        kind = self.rng.choice(kinds)
        if kind == "end":
            step = self.end()
        elif kind == "assert":
            step = self.named(kind) | {"assert": [{"type": "equals", "value": self.flag(), "expected": True}]}
            step["continue_on_fail"] = True
            if self.probes:
                name = f"s{self.rng.randint(1, self.count + 3)}"
                step["assert"] = [{"type": "equals", "value": PROBE % name, "expected": "undefined"}]
        elif kind == "branch":
            arms = [self.arm(self.flag(), depth) for _ in range(self.rng.randint(0, 2))]
            step = self.named(kind) | {"branches": [*arms, self.arm("default", depth)]}
        elif kind == "parallel":
            blocks = [{"steps": self.steps(depth - 1, closed=self.rng.random() < 0.3)} for _ in range(2)]
            step = self.named(kind) | {"branches": blocks}
        else:
            step = self.named(kind) | {"repeat": {"max": 2}, "steps": self.steps(depth - 1, closed=False)}
        if self.rng.random() < 0.25:
            step["when"] = self.flag()
        if self.rng.random() < 0.1:
            step["for_each"] = {"as": "item", "over": self.rng.choice(["{{ .items }}", [1, 2]])}
        if depth and "branches" in step and self.rng.random() < 0.1:
            step["continue_on_fail"] = True
        return step

    def arm(self, condition: str, depth: int) -> dict:
        return {"condition": condition, "steps": self.steps(depth - 1, closed=self.rng.random() < 0.5)}


def unreachable(runbook) -> set[str]:
    """Ids of all steps that the analysis says no path leads to, with everything inside them."""
    flow = FlowMap(runbook)
    found: set[str] = set()

    def visit(block, *, dead: bool) -> None:
        reached = flow.of(block).reached
        for index, step in enumerate(block.steps):
            gone = dead or index not in reached
            if gone:
                found.add(step.id)
            for inner in step.blocks:
                visit(inner, dead=gone)

    visit(runbook.root, dead=False)
    return found


def test_valid_runbooks_end_and_stay_on_reachable_steps(registry, tmp_path):
    rng = random.Random(time.time_ns() if LONG else 5)
    deadline = time.monotonic() + SECONDS
    file = tmp_path / "x.yaml"
    ran = rejected = dead_steps = 0
    while ran < 10 or not (rejected and dead_steps) or time.monotonic() < deadline:
        document = Maker(rng).document()
        file.write_text(json.dumps(document, indent=1), encoding="utf-8")
        verdict = validate_file(file, registry=registry, environ={})
        rules = {d.rule for d in verdict.diagnostics if d.severity is Severity.ERROR}
        assert rules <= {"end-unreachable"}, verdict.diagnostics
        if rules:
            rejected += 1
            continue
        dead = unreachable(verdict.runbook)
        dead_steps += len(dead)
        for _ in range(3):
            inputs = {flag: rng.random() < 0.5 for flag in FLAGS} | {"items": [1] * rng.randint(0, 2)}
            result = run(file, registry=registry, inputs=inputs, keep=False)
            text = file.read_text(encoding="utf-8")
            assert "no_outcome" not in {failure.kind for failure in result.failures}, f"{inputs}\n{text}"
            executed = {step.step_id for step in result.steps}
            assert not executed & dead, f"{executed & dead} {inputs}\n{text}"
            ran += 1
    assert rejected
    assert dead_steps


def test_a_name_that_is_refused_is_never_there(registry, tmp_path):
    """Refused references, written with a default so that they run, find nothing in any run."""
    rng = random.Random(time.time_ns() if LONG else 8)
    deadline = time.monotonic() + SECONDS
    file, twin = tmp_path / "x.yaml", tmp_path / "twin.yaml"
    refused_ones = found_ones = ran = 0
    while ran < 10 or not (refused_ones and found_ones) or time.monotonic() < deadline:
        text = json.dumps(Maker(rng, back=False, probes=True).document(), indent=1)
        file.write_text(text, encoding="utf-8")
        if not validate_file(file, registry=registry, environ={}).valid:
            continue
        twin.write_text(text.replace(' | default \\"undefined\\"', ""), encoding="utf-8")
        verdict = validate_file(twin, registry=registry, environ={})
        assert verdict.runbook is not None
        places = {
            "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in s.path)[1:]: s for s in verdict.runbook.walk()
        }
        refused = {
            places[d.path.rpartition(".assert")[0]].id for d in verdict.diagnostics if d.rule == "unresolved-variable"
        }
        refused_ones += len(refused)
        for _ in range(4):
            inputs = {flag: rng.random() < 0.5 for flag in FLAGS} | {"items": [1] * rng.randint(0, 2)}
            result = run(file, registry=registry, inputs=inputs, keep=False)
            defined = {step.step_id for step in result.steps if (step.type, step.status) == ("assert", "failed")}
            assert not defined & refused, f"{defined & refused} {inputs}\n{text}"
            found_ones += len(defined)
            ran += 1
    assert refused_ones
    assert found_ones
