"""Contracts against a small model written from the specification alone: tightening, risk and conflicts."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gert_core.api import Contract
from gert_core.contracts import conflict, risk, tighten, tool_contract
from gert_core.documents.contract import ContractModel
from gert_core.documents.tool import ToolModel

EXAMPLES = settings(
    max_examples=20_000 if os.environ.get("GERT_FUZZ") else 200,
    derandomize=not os.environ.get("GERT_FUZZ"),
    deadline=None,
    database=None,
)
TAGS, FLAGS = ("effects", "writes", "reads"), ("deterministic", "idempotent")
tags = st.lists(st.sampled_from(["network", "disk", "service", "queue"]), max_size=3, unique=True)
levels = st.fixed_dictionaries({}, optional={**dict.fromkeys(TAGS, tags), **dict.fromkeys(FLAGS, st.booleans())})


# -- the model: SPEC §6 and the table of E§3 ---------------------------------------------------------------------


def model(tool: dict, action: dict, step: dict) -> tuple[dict[str, Any], bool]:
    """What the three levels come to, and whether any of them relaxes the ones before it."""
    result: dict[str, Any] = {}
    relaxed = False
    for level in (tool, action, dict.fromkeys(FLAGS, False), step):
        defaults = level is not tool and level is not action and level is not step
        for name, value in level.items():
            if name in TAGS:
                relaxed = relaxed or not set(result.get(name, ())) <= set(value)
                result[name] = set(result.get(name, ())) | set(value)
            elif defaults:
                result.setdefault(name, False)
            else:
                relaxed = relaxed or (value and result.get(name) is False)
                result[name] = value and result.get(name) is not False
    declares = {*tool, *action} & {"effects", "writes"}
    unnamed = not tool.get("effects") and not action.get("effects")
    if unnamed and (tool.get("writes") or action.get("writes") or not declares) and step.get("effects"):
        result["effects"].add("unknown")  # effects nobody declared stay unknown
    return {**{name: set() for name in TAGS}, **result, "writing": bool(result.get("writes")) or not declares}, relaxed


def table(found: dict[str, Any]) -> str:
    if not found["writing"]:
        return "low"
    if found["idempotent"]:
        return "medium"
    return "high" if found["deterministic"] else "critical"


# -- the code agrees with it -------------------------------------------------------------------------------------


def real(tool: dict, action: dict, step: dict):
    raw = {"apiVersion": "tool/v0", "meta": {"name": "t"}, "contract": tool, "actions": {"go": {"contract": action}}}
    base, first = tool_contract(ToolModel.model_validate(raw), "go")
    contract, second = tighten(base, ContractModel.model_validate(step))
    return base, contract, bool(first or second)


@EXAMPLES
@given(tool=levels, action=levels, step=levels)
def test_tightening_and_risk_are_those_of_the_model(tool, action, step):
    """Guarantee: no level can make a contract look safer than the one it builds on, and relaxing is noticed."""
    base, contract, relaxed = real(tool, action, step)
    expected, wrong = model(tool, action, step)
    assert relaxed == wrong
    assert {name: set(getattr(contract, name)) for name in TAGS} == {name: expected[name] for name in TAGS}
    assert {name: getattr(contract, name) for name in FLAGS} == {name: expected[name] for name in FLAGS}
    assert (contract.writing, risk(contract)) == (expected["writing"], table(expected))
    order = ["low", "medium", "high", "critical"]
    assert order.index(risk(contract)) >= order.index(risk(base)), "a step never lowers the risk of its tool"
    assert base.within(contract)


@EXAMPLES
@given(first=levels, second=levels)
def test_conflicts_and_unions_are_those_of_the_model(first, second):
    """Guarantee: two blocks run at the same time only if neither writes what the other touches."""
    a, b = real(first, {}, {})[1], real(second, {}, {})[1]
    one, two = model(first, {}, {})[0], model(second, {}, {})[0]
    clash = (one["writes"] & (two["writes"] | two["reads"])) | (two["writes"] & one["reads"])
    assert conflict(a, b) == conflict(b, a) == clash
    both = Contract.union([a, b])
    assert {name: set(getattr(both, name)) for name in TAGS} == {name: one[name] | two[name] for name in TAGS}
    assert (both.writing, both.idempotent) == (a.writing or b.writing, a.idempotent and b.idempotent)
    assert a.within(both)
    assert b.within(both)
