"""No bytes make the reader fail in any way but a diagnostic."""

from __future__ import annotations

import json

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gert_core.documents.yaml import Map, Seq, loads

SEED = b"""apiVersion: kernel/v0
meta: {name: x, inputs: {h: {type: string}}}
steps:
  - id: a
    type: tool
    when: "{{ eq .a \\"b\\" }}"
    list: &l [1, 2.5, ~, yes]
  - *l
"""
FUZZ = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), database=None)


def check(data: bytes) -> None:
    document = loads(data, name="f")
    for problem in document.diagnostics:
        assert problem.message
        assert problem.line >= 1
        assert problem.column >= 1
        document.source_line(problem.line)
    if document.value is not None and not document.diagnostics:
        json.dumps(document.value, allow_nan=False).encode()
        placed(document, document.value, ())


def placed(document, value, path) -> None:
    line, column = document.locate(path)
    assert 1 <= column <= len(document.source_line(line)) + 1
    if isinstance(value, Map):
        assert list(value.marks) == list(value)
        for key in value:
            placed(document, value[key], (*path, key))
    elif isinstance(value, Seq):
        assert len(value.marks) == len(value)
        for number, item in enumerate(value):
            placed(document, item, (*path, number))


@FUZZ
@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    check(data)


@FUZZ
@given(st.text(alphabet="ab:-[]{},&*!|>'\"%@#? \n\t~0.1é\u2028\x85", max_size=80))
def test_random_punctuation(text: str) -> None:
    check(text.encode())


@FUZZ
@given(st.lists(st.tuples(st.integers(0, len(SEED)), st.integers(0, 6), st.binary(max_size=4)), max_size=5))
def test_mutated_documents(edits: list[tuple[int, int, bytes]]) -> None:
    data = SEED
    for at, cut, put in edits:
        data = data[:at] + put + data[at + cut :]
    check(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@FUZZ
@given(JSON)
def test_what_is_dumped_is_read_back(value: object) -> None:
    text = yaml.safe_dump(value, allow_unicode=True, default_style='"')
    if "!!" in text or "\\0" in text:
        return
    document = loads(text.encode("utf-8", "surrogatepass"), name="f")
    assert document.value == value or document.diagnostics
