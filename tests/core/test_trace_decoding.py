"""A line of a trace is decoded as ``json.loads`` decodes it, whichever library does it."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gert_core.trace.reader import decode

ODD = [
    b"1e400",
    b"-1e400",
    b"NaN",
    b"Infinity",
    b"123456789012345678901234567890",
    b"-9223372036854775809",
    b"-0",
    b"-0.0",
    b'"\\ud800"',
    b'"\xed\xa0\x80"',
    b'"\x7f\\u0000"',
    b'{"a": 1, "a": 2}',
    b"2.2250738585072011e-308",
]
WRONG = [b'"\x01"', b'"a\tb"', b"01", b"1.", b"[1,]", b'"\xff"', b"{}\x0c", b"", b"'a'", b"[" * 5000 + b"]" * 5000]


def line(value: bytes) -> bytes:
    head = b'{"type":"note","timestamp":"2026-11-17T12:00:00.000000Z","run_id":"r","seq":1,"prev_hash":"","data":{"x":'
    return head + value + b"}}\n"


def same(one: object, other: object) -> bool:
    return repr(one) == repr(other) or (one != one and other != other)


@pytest.mark.parametrize("value", ODD)
def test_what_is_odd_but_json_loads_takes_is_taken(value):
    assert same(decode(line(value)).data["x"], json.loads(value))


@pytest.mark.parametrize("value", WRONG)
def test_what_json_loads_refuses_is_refused(value):
    with pytest.raises((ValueError, RecursionError)):
        json.loads(line(value))
    with pytest.raises(ValueError, match="not a valid trace event"):
        decode(line(value))


NUMBERS = st.integers() | st.floats(allow_nan=False).filter(math.isfinite)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans())
def test_every_document_comes_back(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert repr(decode(line(text)).data["x"]) == repr(json.loads(text))
