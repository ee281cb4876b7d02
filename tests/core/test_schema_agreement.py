"""The exported schemas and phases 1-2 agree on generated valid and on mutated documents, for every kind."""

from __future__ import annotations

import json
from functools import cache
from random import Random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gert_core.api import Severity
from gert_core.documents import yaml
from gert_core.documents.kinds import VERSIONS, DocumentKind, model_of
from gert_core.documents.load import read_runbook, read_tool
from gert_core.documents.schema import json_schema
from gert_core.documents.standalone import validate_document
from gert_core.plugin.registry import Registry

BEYOND_SCHEMA = {"duplicate-step-id", "tool-not-found", "tool-invalid", "side-effects-and-effects", "runbook-not-found"}
"""Rules about more than one place, or about other files."""

PATTERNS = {
    "^[A-Za-z_][A-Za-z0-9_-]*$": ["a", "b_1", "_x", "some-name", "Z"],
    "^[A-Za-z_][A-Za-z0-9_-]*(\\.": ["a", "b_1.0", "some-name.x.y"],
    "^[A-Za-z_][A-Za-z0-9_]*$": ["a", "b_1", "_x", "TOKEN"],
    "^[a-z][a-z0-9+.-]*:": ["file:runs", "acme:x", "a+b://host/x"],
    "^[a-z0-9][a-z0-9_.:/-]*$": ["network", "db", "host:web-1", "0"],
    "\\{\\{": ["{{ .a }}", "x {{ eq .b 1 }} y"],
    "^(?=": ["30s", "5m", "1h30m", "500ms", "90", "1.5h"],
}
WORDS = ["", "x", "hello there", "{{ .a }}", "5", "true", "1a", "a b", "30s", "network", "low", "resolved"]
SCALARS = [None, True, False, -1, 0, 1, 200, 0.5, -1.5, *WORDS]


def anything(random, depth=2):
    kind = random.randrange(4) if depth else 0
    if kind < 2:
        return random.choice(SCALARS)
    if kind == 2:
        return [anything(random, depth - 1) for _ in range(random.randrange(3))]
    return {key: anything(random, depth - 1) for key in random.sample(["a", "b", "type", "1x"], random.randrange(3))}


class Documents:
    """Draws documents that follow a schema, as far as single places go."""

    def __init__(self, random, schema):
        self.random = random
        self.definitions = schema.get("$defs", {})
        self.budget = 40

    def value(self, schema):
        schema = self._resolved(schema)
        self.budget -= 1
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        if "anyOf" in schema and "properties" not in schema:
            return self.value(self.random.choice(schema["anyOf"]))
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            low = schema.get("minItems", 0)
            size = self.random.randint(low, max(low, 2 if self.budget > 0 else 0))
            return [self.value(schema.get("items", {})) for _ in range(size)]
        if kind == "string":
            return self._string(schema)
        if kind == "integer":
            return self.random.randint(schema.get("minimum", -2), 50)
        if kind == "number":
            return self.random.choice([1, 2.5, 90])
        if kind == "boolean":
            return self.random.random() < 0.5
        return None if kind == "null" else anything(self.random)

    def _resolved(self, schema):
        while "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            schema = self._step() if name == "step" else self.definitions[name]
        return schema

    def _step(self):
        """One type's fields on top of the common ones, as a plain object schema."""
        common = self.definitions["step"]
        kind = self.random.choice(common["properties"]["type"]["enum"])
        own = self.definitions[f"step-{kind}"]
        return {
            "type": "object",
            "properties": {**own["properties"], **common["properties"], "type": {"const": kind}},
            "required": ["type", *own.get("required", ())],
            "additionalProperties": False,
        }

    def _string(self, schema):
        pattern = schema.get("pattern")
        if pattern is not None:
            return self.random.choice(next(words for start, words in PATTERNS.items() if pattern.startswith(start)))
        return self.random.choice([word for word in WORDS if len(word) >= schema.get("minLength", 0)])

    def _object(self, schema):
        found = {}
        required = schema.get("required", ())
        for name, below in schema.get("properties", {}).items():
            if name in required or (self.budget > 0 and self.random.randrange(4) == 0):
                found[name] = self.value(below)
        open_to = schema.get("additionalProperties")
        for below in [*schema.get("patternProperties", {}).values(), *([open_to] if open_to else [])]:
            count = self.random.randint(schema.get("minProperties", 0), 2)
            names = schema.get("propertyNames", {}).get("enum", ["a", "b-1", "_c"])
            for name in names[:count]:
                found[name] = self.value(below if isinstance(below, dict) else {})
        return found


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield from places(below, (*path, key))


def mutated(random, document):
    """The document with one place replaced, removed, renamed or added to."""
    document = json.loads(json.dumps(document))
    path = random.choice([p for p in places(document) if p])
    holder = document
    for part in path[:-1]:
        holder = holder[part]
    last = path[-1]
    how = random.choice(["replace", "remove", "rename", "add"])
    if how == "replace":
        holder[last] = anything(random)
    elif how == "remove":
        del holder[last]
    elif how == "rename" and isinstance(holder, dict):
        holder[random.choice(["x", "typ", "1a", "steps", "loop", "text", "retry"])] = holder.pop(last)
    elif isinstance(holder[last], dict):
        holder[last][random.choice(["unknown", "id", "max", "contract"])] = anything(random)
    elif isinstance(holder[last], list):
        holder[last].append(anything(random))
    return document


@cache
def schema_of(kind, registry):
    schema = json_schema(kind, registry.step_types())
    Draft202012Validator.check_schema(schema)
    return schema, Draft202012Validator(schema)


def diagnostics(kind, document, registry):
    if kind is DocumentKind.RUNBOOK:
        return read_runbook(document, registry=registry).diagnostics
    if kind is DocumentKind.TOOL:
        return read_tool(document).diagnostics
    versions = {held: text for text, held in VERSIONS.items()}
    return validate_document(document, model_of(kind), what=str(kind), api_version=versions.get(kind))[1]


def check(kind, document, registry):
    _, validator = schema_of(str(kind), registry)
    read = yaml.loads(json.dumps(document).encode(), name="document.yaml")
    found = [d for d in diagnostics(kind, read, registry) if d.severity is Severity.ERROR]
    if any("the same name" in d.message or "it could never be approved" in d.message for d in found):
        return  # no schema can compare two places, and the model stops there
    errors = [d for d in found if d.rule not in BEYOND_SCHEMA]
    said = [f"{e.json_path}: {e.message}" for e in validator.iter_errors(document)]
    event("valid" if not said else "invalid")
    assert bool(errors) == bool(said), (document, errors, said)


SEEDS = given(st.integers(0, 2**64))
SETTINGS = settings(max_examples=60, deadline=None)


def agree(kind, registry, seed):
    random = Random(seed)
    schema, _ = schema_of(str(kind), registry)
    document = Documents(random, schema).value(schema)
    check(kind, document, registry)
    for _ in range(3):
        if document:
            check(kind, mutated(random, document), registry)


@pytest.mark.parametrize("kind", list(DocumentKind))
def test_sample_types_agree(kind, sample_registry):
    @SETTINGS
    @SEEDS
    def run(seed):
        agree(kind, sample_registry, seed)

    run()


def test_installed_types_agree():
    registry = Registry.build()

    @SETTINGS
    @SEEDS
    def run(seed):
        agree(DocumentKind.RUNBOOK, registry, seed)

    run()
