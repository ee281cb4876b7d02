"""Hints follow from contracts, whatever the contracts are; names and schemas are what MCP allows."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from gert_mcp.arguments import Exec, checked, schema_of
from gert_mcp.forms import answers_of, form_of
from gert_mcp.hints import hints_of, undeclared
from gert_mcp.naming import names_of
from gert_mcp.replies import LIMIT, answer, cut_text
from gert_mcp.schemas import inputs_schema
from hypothesis import given
from hypothesis import strategies as st

from gert_core.api import UNKNOWN, Contract, UsageError

contracts = st.one_of(
    st.none(),
    st.just(UNKNOWN),
    st.just(Contract(_assumed_writing=True)),
    st.fixed_dictionaries(
        {
            "effects": st.lists(st.sampled_from(["filesystem", "process", "network", "unknown"]), max_size=3).map(
                tuple
            ),
            "writes": st.lists(st.sampled_from(["service", "dns"]), max_size=2).map(tuple),
            "idempotent": st.booleans(),
            "deterministic": st.booleans(),
        }
    ).map(lambda fields: Contract(**fields)),
)


@given(st.lists(contracts, max_size=6))
def test_hints_are_derived_from_every_leaf(leaves):
    found = hints_of(leaves)
    writing = [one for one in leaves if one is None or one.writing]
    assert found.read_only == (not writing)
    assert found.destructive == any(one is None or not one.idempotent for one in writing)
    assert found.idempotent == all(one is not None and one.idempotent for one in writing)
    unknown = [one for one in leaves if one is None or (one.writing and not one.writes and not one.effects)]
    assert [one for one in leaves if undeclared(one)] == unknown
    assert found.open_world == bool(
        unknown or any(set(one.effects) - {"filesystem", "process"} for one in leaves if one is not None)
    )


@given(st.lists(contracts, max_size=5), contracts)
def test_a_further_step_never_makes_a_runbook_look_safer(leaves, further):
    before, after = hints_of(leaves), hints_of([*leaves, further])
    assert before.read_only >= after.read_only
    assert before.idempotent >= after.idempotent
    assert before.destructive <= after.destructive
    assert before.open_world <= after.open_world


@given(
    st.lists(st.tuples(st.text(max_size=90), st.text(min_size=1, max_size=90)), max_size=8, unique_by=lambda b: b[1])
)
def test_names_are_allowed_and_no_two_runbooks_share_one(books):
    names = names_of(books)
    assert len(set(names)) == len(names) == len(books)
    assert all(re.fullmatch(r"runbook_[A-Za-z0-9_-]{1,56}", name) for name in names)


def test_words_of_the_path_tell_runbooks_of_one_name_apart():
    books = [("restart", "web/restart.yaml"), ("restart", "queue/restart.yaml"), ("look at", "look.yaml")]
    assert names_of(books) == ["runbook_web_restart_restart", "runbook_queue_restart_restart", "runbook_look_at"]


def model(**fields):
    given = {"type": "string", "required": False, "default": None, "description": None, "from_": None, "secret": False}
    given |= {"enum": None, "pattern": None, "min": None, "max": None, **fields}
    return SimpleNamespace(**given, model_fields_set=set(fields))


def test_the_schema_of_inputs_has_their_types_and_bounds_and_no_secrets():
    inputs = {
        "n": model(type="int", required=True, min=1, max=9),
        "who": model(pattern="[a-z]+", default="me", required=True),
        "tags": model(type="list", enum=["a", "b"], min=1),
        "key": model(secret=True, required=True),
        "mode": model(type="bool"),
        "host": model(required=True, from_="env/HOST"),
    }
    found = inputs_schema(inputs, modes=("real", "probe"))
    assert found["required"] == ["n"]
    assert found["properties"]["n"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert found["properties"]["who"] == {"type": "string", "default": "me", "pattern": "^(?:[a-z]+)$"}
    assert found["properties"]["tags"] == {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}
    assert found["properties"]["mode"] == {"type": "boolean"}, "the input wins over the option"
    assert "key" not in found["properties"]
    assert found["additionalProperties"] is False


def test_arguments_are_checked():
    assert checked(Exec, {"path": "a"}).vars == {}
    assert set(schema_of(Exec)["properties"]) == {"path", "vars", "mode", "request_key"}
    for wrong in ({}, {"path": 3}, {"path": ""}, {"path": "a", "approve": True}, {"path": "a", "actor": "alice"}):
        with pytest.raises(UsageError, match="the arguments are wrong"):
            checked(Exec, wrong)


def test_what_is_too_long_is_cut_and_that_is_said():
    found = answer({"status": "completed", "run_id": "x", "outputs": {"a": "b" * LIMIT}, "steps": [1]})
    assert found.structured_content["cut"].endswith("left out: steps, outputs")
    assert len(found.content[0].text.encode()) < LIMIT
    assert found.structured_content["run_id"] == "x"
    assert len(cut_text("ä" * LIMIT).encode()) <= LIMIT
    assert f"[cut: {2 * LIMIT} bytes" in cut_text("ä" * LIMIT)


def test_a_form_asks_what_a_step_asks_and_nothing_hidden():
    asked = [
        {"step_key": "look", "name": "notes", "kind": "text", "title": "Notes", "items": []},
        {"step_key": "look", "name": "checks", "kind": "checklist", "title": "Checks", "items": ["a", "b", "c"]},
        {"step_key": "look", "name": "sure", "kind": "confirm", "title": "Sure?", "items": []},
        {"step_key": "other", "name": "x", "kind": "text", "title": "X", "items": []},
    ]
    form = form_of(asked)
    assert list(form.schema["properties"]) == ["notes", "checks", "sure"]
    values = answers_of(form, {"notes": "fine", "checks": ["c", "a"], "sure": True, "approve": True})
    assert values == {"notes": "fine", "checks": "3,1", "sure": "yes"}
    assert form_of([{**asked[0], "hidden": True}]) is None
    assert form_of([{**asked[0], "kind": "attachment"}]) is None
    assert form_of([]) is None
