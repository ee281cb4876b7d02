"""Contracts: merging tool, action and step, what relaxes, risk, conflicts and unions."""

from __future__ import annotations

from pathlib import Path

import pytest

from gert_core import contracts
from gert_core.api import PURE, UNKNOWN, Contract
from gert_core.contracts import conflict, risk, tighten, tool_contract
from gert_core.documents.contract import ContractModel
from gert_core.documents.load import load_runbook, load_tool
from gert_core.documents.tool import ToolModel

DATA = Path(__file__).parent.parent / "data"


def tool(contract, action=None, **more):
    raw = {"apiVersion": "tool/v0", "meta": {"name": "t"}, "actions": {"go": {**more}}}
    if contract is not None:
        raw["contract"] = contract
    if action is not None:
        raw["actions"]["go"]["contract"] = action
    return ToolModel.model_validate(raw)


def merged(contract, action=None):
    found, relaxed = tool_contract(tool(contract, action), "go")
    return found, [(r.name, r.before, r.after, r.path) for r in relaxed]


def step(base, *, floor=True, **declared):
    found, relaxed = tighten(base, ContractModel.model_validate(declared), floor=floor)
    return found, [r.name for r in relaxed]


def test_defaults_of_a_tool_that_says_nothing():
    found, relaxed = merged(None)
    assert not relaxed
    assert (found.effects, found.writes, found.deterministic, found.idempotent) == ((), (), False, False)
    assert found._assumed_writing
    assert found.writing
    assert risk(found) == "critical"


@pytest.mark.parametrize("declared", [{"effects": []}, {"writes": []}, {"effects": ["network"]}])
def test_declaring_effects_or_writes_ends_the_assumption(declared):
    found, _ = merged(declared)
    assert not found._assumed_writing
    assert risk(found) == "low"


def test_reads_alone_do_not_end_the_assumption():
    assert merged({"reads": ["x"], "idempotent": True})[0]._assumed_writing


@pytest.mark.parametrize(
    ("outer", "inner", "relaxed"),
    [
        ({"deterministic": False}, {"deterministic": True}, ("deterministic", False, True)),
        ({"idempotent": False}, {"idempotent": True}, ("idempotent", False, True)),
        ({"reads": ["a", "b"]}, {"reads": ["a"]}, ("reads", ["a", "b"], ["a"])),
        ({"writes": ["a"]}, {"writes": []}, ("writes", ["a"], [])),
        ({"effects": ["network"]}, {"effects": ["database"]}, ("effects", ["network"], ["database"])),
        ({"side_effects": True}, {"side_effects": False}, ("side_effects", True, False)),
        ({"side_effects": True}, {"effects": ["network"]}, ("effects", ["unknown"], ["network"])),
    ],
)
def test_action_cannot_relax_its_tool(outer, inner, relaxed):
    _, found = merged(outer, inner)
    assert found == [(*relaxed, ("actions", "go", "contract", relaxed[0]))]


def test_what_is_relaxed_keeps_the_floor():
    found, _ = merged({"writes": ["a"], "idempotent": False}, {"writes": ["b"], "idempotent": True})
    assert found.writes == ("a", "b")
    assert found.idempotent is False


@pytest.mark.parametrize(
    ("outer", "inner", "check"),
    [
        ({"deterministic": True}, {"deterministic": False}, lambda c: not c.deterministic),
        ({}, {"deterministic": True}, lambda c: c.deterministic),
        ({"idempotent": True}, {}, lambda c: c.idempotent),
        ({"writes": ["a"]}, {"writes": ["a", "b"]}, lambda c: c.writes == ("a", "b")),
        ({"effects": []}, {"effects": ["network"]}, lambda c: c.effects == ("network",)),
        ({"side_effects": False}, {"side_effects": True}, lambda c: c.effects == ("unknown",) and c.writing),
        ({"effects": ["network"]}, {"side_effects": True}, lambda c: c.effects == ("network",) and c.writing),
        ({"effects": ["network"]}, {"side_effects": False}, lambda c: c.effects == ("network",) and not c.writing),
        ({"side_effects": False}, {"writes": ["x"]}, lambda c: c.writing and c.effects == ()),
    ],
)
def test_action_may_tighten_and_fill_in(outer, inner, check):
    found, relaxed = merged(outer, inner)
    assert not relaxed
    assert check(found)


def test_parameters_merge_by_name():
    found, relaxed = merged(
        {"inputs": {"url": {"type": "string", "required": True}, "n": {"type": "int", "default": 3}}},
        {"inputs": {"payload": {"type": "string"}, "n": {"default": 5}}, "outputs": {"body": {}}},
    )
    assert not relaxed
    assert {name: (p.type, p.required, p.default, p.has_default) for name, p in found.inputs.items()} == {
        "url": ("string", True, None, False),
        "n": ("int", False, 5, True),
        "payload": ("string", False, None, False),
    }
    assert (found.outputs["body"].type, found.outputs["body"].required) == ("any", True)


def test_parameters_cannot_be_relaxed():
    found, relaxed = merged(
        {"inputs": {"url": {"type": "string", "required": True}}},
        {"inputs": {"url": {"type": "int", "required": False}}},
    )
    assert [path for *_, path in relaxed] == [
        ("actions", "go", "contract", "inputs", "url", "type"),
        ("actions", "go", "contract", "inputs", "url", "required"),
    ]
    assert (found.inputs["url"].type, found.inputs["url"].required) == ("string", True)


def test_step_is_compared_with_the_finished_contract():
    base = Contract(effects=("network",), writes=("a",))
    assert step(base, idempotent=True)[1] == ["idempotent"]
    assert step(base, writes=["b"])[1] == ["writes"]
    found, relaxed = step(base, writes=["a", "b"], reads=["r"])
    assert not relaxed
    assert (found.writes, found.reads) == (("a", "b"), ("r",))


def test_step_cannot_talk_a_writing_tool_out_of_writing():
    base = Contract(_assumed_writing=True)
    found, _ = step(base, effects=["network"], writes=[])
    assert found._assumed_writing
    assert step(base, side_effects=False)[1] == ["side_effects"]


def test_a_default_that_is_no_floor_is_replaced_by_key():
    base = UNKNOWN
    found, relaxed = step(base, floor=False, side_effects=False)
    assert not relaxed
    assert found.pure
    assert not found.deterministic
    found, relaxed = step(base, floor=False, effects=["network"], deterministic=True, inputs={"a": {}})
    assert not relaxed
    assert (found.effects, found._assumed_writing, found.deterministic) == (("network",), False, True)
    assert step(base, floor=False, reads=["x"])[0]._assumed_writing
    assert step(base, floor=False, side_effects=True)[0]._assumed_writing


@pytest.mark.parametrize(
    ("contract", "level"),
    [
        (PURE, "low"),
        (Contract(effects=("network",)), "low"),
        (Contract(effects=("network",), writes=("x",), idempotent=True), "medium"),
        (Contract(effects=("network",), writes=("x",), deterministic=True), "high"),
        (Contract(effects=("network",), writes=("x",)), "critical"),
        (Contract(writes=("x",)), "critical"),
        (Contract(_assumed_writing=True, idempotent=True), "medium"),
        (Contract(_assumed_writing=True), "critical"),
    ],
)
def test_risk(contract, level):
    assert risk(contract) == level


@pytest.mark.parametrize(
    ("a", "b", "tags"),
    [
        ({"reads": ("n",)}, {"reads": ("n",)}, ()),
        ({"writes": ("s",)}, {"reads": ("s",)}, ("s",)),
        ({"reads": ("s",)}, {"writes": ("s",)}, ("s",)),
        ({"writes": ("s", "t")}, {"writes": ("s",), "reads": ("t",)}, ("s", "t")),
        ({"writes": ("s",)}, {"writes": ("t",)}, ()),
        ({"_assumed_writing": True}, {"_assumed_writing": True}, ()),
    ],
)
def test_conflict(a, b, tags):
    assert conflict(Contract(**a), Contract(**b)) == frozenset(tags)


def test_union_is_as_safe_as_its_least_safe_member():
    joined = Contract.union(
        [PURE, Contract(effects=("a",), writes=("x",), idempotent=True), Contract(effects=("b", "a"))]
    )
    assert (joined.effects, joined.writes) == (("a", "b"), ("x",))
    assert not joined.deterministic
    assert not joined.idempotent
    assert Contract.union([]) == PURE


def test_within():
    outer = Contract(effects=("a", "b"), writes=("x",), reads=("r",))
    assert Contract(effects=("a",)).within(outer)
    assert outer.within(outer)
    assert not Contract(effects=("c",)).within(outer)
    assert not Contract(writes=("y",)).within(outer)
    assert not Contract(_assumed_writing=True).within(outer)
    assert not Contract(idempotent=True).within(PURE), "less deterministic than declared"
    assert not Contract(deterministic=True).within(PURE), "less idempotent than declared"


def test_the_health_check_of_the_kernel_document():
    loaded = load_tool(DATA / "k16/tools/health-check.tool.yaml")
    check, relaxed = tool_contract(loaded.tool, "check")
    assert not relaxed
    assert (check.effects, check.writing, check.deterministic, check.idempotent) == ((), False, True, True)
    assert risk(check) == "low"
    post, relaxed = tool_contract(loaded.tool, "post")
    assert not relaxed
    assert (post.effects, post.writes, risk(post)) == (("unknown",), ("network",), "medium")
    assert post.inputs["payload"].required
    assert post.inputs["url"].required


@pytest.fixture
def book(tmp_path, sample_registry):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/web.tool.yaml").write_text(
        """
apiVersion: tool/v0
meta: {name: web}
contract: {effects: [network], reads: [site], outputs: {code: {type: int}, body: {}}}
actions:
  get: {argv: [a], extract: {code: {from: stdout}, extra: {from: stdout}}}
  put: {argv: [b], contract: {writes: [site]}}
"""
    )
    path = tmp_path / "runbook.yaml"
    path.write_text(
        """
apiVersion: kernel/v0
meta: {name: x}
tools: [web]
steps:
  - {id: get, type: call, tool: web, action: get}
  - {id: put, type: call, tool: web, action: put, contract: {reads: [site, more]}}
  - {id: note, type: note, text: a}
  - {id: lost, type: call, tool: gone}
  - {id: vague, type: call, tool: web}
  - {id: wrong, type: call, tool: web, action: gte}
  - {id: own, type: custom, program: p, contract: {effects: [x], outputs: {o: {type: list}}}}
  - id: pick
    type: choose
    arms:
      - {condition: true, steps: [{type: call, tool: web, action: put}]}
      - condition: true
        steps: [{type: choose, arms: [{condition: true, steps: [{type: call, tool: web, action: get}]}]}]
"""
    )
    loaded = load_runbook(path, registry=sample_registry)
    assert not loaded.diagnostics
    return loaded.runbook


def test_contract_of_a_step(book):
    def of(name):
        return contracts.Contracts(book).of(book.by_id[name])

    assert of("get").reads == ("site",)
    assert of("put").reads == ("site", "more")
    assert of("note") == PURE
    assert (of("own").effects, of("own").writing) == (("x",), False)
    assert contracts.accepts_any_input(book.by_id["own"])
    assert not contracts.accepts_any_input(book.by_id["get"])
    assert of("get") is of("get"), "computed once"
    for name, words in [("lost", "not listed"), ("vague", "several actions (get, put)"), ("wrong", "no action 'gte'")]:
        with pytest.raises(LookupError, match=r"web|gone") as caught:
            of(name)
        assert words in str(caught.value)


def test_outputs_of_a_step_are_those_extract_names(book):
    def names(name):
        return list(contracts.Contracts(book).outputs(book.by_id[name]))

    assert names("get") == ["code"]
    assert names("put") == ["code", "body"]
    assert names("note") == ["noted"]
    assert names("own") == ["o"]


def test_union_of_blocks_at_any_depth(book):
    pick = book.by_id["pick"]
    first, second = (contracts.Contracts(book).block(block) for block in pick.blocks)
    assert (first.writes, second.writes, second.reads) == (("site",), (), ("site",))
    assert conflict(first, second) == {"site"}
    assert contracts.Contracts(book).whole(pick).writes == ("site",)
    assert contracts.Contracts(book).of(pick) == PURE
