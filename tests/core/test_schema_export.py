"""The exported schemas: valid Draft 2020-12, described everywhere, exact about steps by type."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gert_core.documents import yaml
from gert_core.documents.schema import DIALECT, KINDS, json_schema
from gert_core.plugin.registry import Registry

DATA = Path(__file__).parent.parent / "data"


def errors(schema, document):
    validator = Draft202012Validator(schema)
    return sorted((error.json_path, error.message) for error in validator.iter_errors(document))


def runbook(*steps):
    return {"apiVersion": "kernel/v0", "meta": {"name": "x"}, "steps": list(steps)}


@pytest.mark.parametrize("kind", KINDS)
def test_schema_is_valid_and_closed(kind, sample_types):
    schema = json_schema(kind, sample_types)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == DIALECT
    assert kind in schema["title"]
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described(kind, sample_types):
    schema = json_schema(kind, sample_types)
    for name, definition in {"": schema, **schema.get("$defs", {})}.items():
        for field, below in definition.get("properties", {}).items():
            if below is not True:
                target = schema["$defs"][below["$ref"].rpartition("/")[2]] if "$ref" in below else {}
                assert below.get("description") or target.get("description"), f"{kind}: {name}.{field}"


def test_nothing_but_references_is_repeated_and_null_is_no_default(sample_types):
    text = str(json_schema("runbook", sample_types))
    assert "'default': None" not in text
    assert "'title'" not in text.replace("'title': 'gert runbook (kernel/v0)'", "")


def test_step_fields_depend_on_the_type(sample_types):
    schema = json_schema("runbook", sample_types)
    step = schema["$defs"]["step"]
    assert step["properties"]["type"]["enum"] == sorted(sample_types)
    assert not errors(schema, runbook({"type": "note", "text": "x", "when": True}))
    assert errors(schema, runbook({"type": "note", "text": "x", "arms": []}))
    assert errors(schema, runbook({"type": "stop", "text": "x"}))
    assert errors(schema, runbook({"type": "nope"}))
    assert errors(schema, runbook({"type": "custom", "program": "p"})), "its contract is mandatory"
    assert not errors(schema, runbook({"type": "custom", "program": "p", "contract": {}}))


def test_errors_have_exact_paths(sample_types):
    schema = json_schema("runbook", sample_types)
    inner = {"type": "choose", "arms": [{"condition": True, "steps": [{"type": "note", "text": 5}]}]}
    assert [path for path, _ in errors(schema, runbook(inner))] == ["$.steps[0].arms[0].steps[0].text"]


def test_claimed_steps_are_accepted(sample_types):
    schema = json_schema("runbook", sample_types)
    nested = {"max": 2, "steps": [{"type": "stop"}]}
    assert not errors(schema, runbook({"type": "note", "text": "x", "loop": nested}))
    assert errors(schema, runbook({"type": "note", "text": "x", "loop": {"max": 2}}))
    assert errors(schema, runbook({"type": "note", "text": "x", "loop": {"max": 2, "steps": [{"type": "nope"}]}}))
    assert errors(schema, runbook({"type": "loop", "text": "x", "loop": nested})), "its own type stays exact"


def test_no_step_types_at_all():
    schema = json_schema("runbook", {})
    Draft202012Validator.check_schema(schema)
    assert not errors(schema, runbook())
    assert errors(schema, runbook({"type": "note"}))


@pytest.mark.parametrize(
    ("line", "valid"),
    [
        ({}, True),
        ({"step_key": "a/0/b"}, True),
        ({"principal": {"kind": "human", "id": "x"}}, True),
        ({"principal": {"kind": "cat", "id": "x"}}, False),
        ({"prev_hash": "0"}, False),
        ({"extra": 1}, False),
        ({"type": "run_complete"}, False),
        ({"type": "run_complete", "data": {"chain_hash": "a" * 64}}, True),
        ({"type": "run_start", "data": {"runbook": "an early 0.1 run"}}, True),
        ({"type": "run_start", "data": {"runbook_path": None, "policy_files": ["/p"], "signer": None}}, True),
        ({"type": "run_start", "data": {"signer": {"algorithm": "ed25519", "key_id": "k"}}}, True),
        ({"type": "run_start", "data": {"signer": "k"}}, False),
        ({"type": "run_start", "data": {"trace_sync": "sometimes"}}, False),
    ],
)
def test_trace_schema(line, valid):
    event = {
        "type": "step_start",
        "timestamp": "2026-01-01T00:00:00Z",
        "run_id": "r",
        "seq": 0,
        "data": {},
        "prev_hash": "0" * 64,
    }
    assert (not errors(json_schema("trace", {}), {**event, **line})) is valid


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("runbook", "k16/runbook.yaml"),
        ("tool", "k16/tools/health-check.tool.yaml"),
        ("tool", "k16/tools/restart-service.tool.yaml"),
        ("runbook", "mad/runbook.yaml"),
        ("tool", "mad/tools/llm.tool.yaml"),
        ("runbook", "e11/runbook.yaml"),
        ("tool", "e11/tools/ai-search.tool.yaml"),
    ],
)
def test_design_documents_follow_the_schema(kind, file):
    schema = json_schema(kind, Registry.build().step_types())
    assert errors(schema, yaml.load(DATA / file).value) == []
