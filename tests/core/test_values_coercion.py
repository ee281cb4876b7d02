"""Values: coercion to declared types, durations, canonical JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gert_core.values import canonical, coerce, coerce_text, duration, format_duration


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        ("x", "string", "x"),
        (5, "string", "5"),
        (1.5, "string", "1.5"),
        (True, "string", "true"),
        ("200", "int", 200),
        (" -7\n", "int", -7),
        (3.0, "int", 3),
        ("1.5", "float", 1.5),
        ("1e3", "float", 1000.0),
        (2, "float", 2.0),
        ("true", "bool", True),
        ("false", "bool", False),
        (False, "bool", False),
        ('["a", 1]', "list", ["a", 1]),
        ([1], "list", [1]),
        ('{"a": 1}', "object", {"a": 1}),
        ({"a": 1}, "object", {"a": 1}),
        (None, "any", None),
        ("5", "any", "5"),
    ],
)
def test_coerce(value, type_, expected):
    found = coerce(value, type_)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ([1], "string"),
        ({}, "string"),
        (None, "string"),
        ("1_000", "int"),
        ("1.0", "int"),
        ("0x10", "int"),
        ("", "int"),
        (1.5, "int"),
        (True, "int"),
        ("9" * 5000, "int"),
        ("nan", "float"),
        ("inf", "float"),
        ("1e999", "float"),
        (float("inf"), "float"),
        (10**400, "float"),
        (True, "float"),
        ("1_0.5", "float"),
        ("yes", "bool"),
        ("True", "bool"),
        (1, "bool"),
        (None, "bool"),
        ("a,b", "list"),
        ("{}", "list"),
        ({}, "list"),
        ("[]", "object"),
        ("[" * 100_000, "list"),
        ("[NaN]", "list"),
        ('["a", 1e999]', "list"),
        ('{"a": {"b": [1e999]}}', "object"),
        ({"a": float("nan")}, "object"),
        ((1.0, float("inf")), "list"),
        (float("-inf"), "any"),
        ([{"a": float("inf")}], "any"),
        (float("inf"), "string"),
        (float("inf"), "int"),
        ("x", "text"),
    ],
)
def test_coerce_refuses_with_a_sentence(value, type_):
    with pytest.raises(ValueError) as caught:
        coerce(value, type_)
    assert " is not a" in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "type_", "expected"),
    [
        ("a, b,c", "list", ["a", "b", "c"]),
        ("one", "list", ["one"]),
        ("", "list", []),
        ('["a"]', "list", ["a"]),
        ("[a, 1, {b: true}]", "list", ["a", 1, {"b": True}]),
        ("{a: 1, b: [x]}", "object", {"a": 1, "b": ["x"]}),
        ('{"a": 1}', "object", {"a": 1}),
        ("5", "int", 5),
        ("yes", "string", "yes"),
        ("5", "any", "5"),
        ("a: 1", "list", ["a: 1"]),
    ],
)
def test_coerce_text(text, type_, expected):
    assert coerce_text(text, type_) == expected


@pytest.mark.parametrize(
    ("text", "type_"), [("a: 1", "object"), ("x", "object"), ("", "object"), ("[1", "list"), ("{a: 1}", "list")]
)
def test_coerce_text_refuses(text, type_):
    with pytest.raises(ValueError, match="is not a"):
        coerce_text(text, type_)


@given(st.text(max_size=40), st.sampled_from(["string", "int", "float", "bool", "list", "object", "any"]))
def test_coerce_text_gives_the_type_or_a_sentence(text, type_):
    wanted = {"string": str, "int": int, "float": float, "bool": bool, "list": list, "object": dict, "any": str}
    try:
        found = coerce_text(text, type_)
    except ValueError as error:
        found = str(error)
        assert "is not a" in found
        return
    assert type(found) is wanted[type_]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("5m", 300),
        ("1h30m", 5400),
        ("500ms", 0.5),
        ("1d", 86400),
        ("1h2m3s4ms", 3723.004),
        ("1.5h", 5400),
        ("90", 90),
        ("0.5", 0.5),
        (90, 90),
        (1.5, 1.5),
    ],
)
def test_duration(text, seconds):
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    ["", "s", "5 m", "5x", "-5s", "0", "0s", "0h0m", "1m1h", "1s2s", "\u0661s", "5m\n", 0, -1, float("inf"), True],
)
def test_no_duration(text):
    with pytest.raises(ValueError, match="duration"):
        duration(text)


def test_format_duration():
    assert format_duration(4.2041) == "4.204s"
    assert format_duration(0) == "0.000s"


def test_canonical_json():
    assert canonical({"b": [1, 2.5, None, True], "a": "ü\n"}) == '{"a":"ü\\n","b":[1,2.5,null,true]}'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {"a": {1, 2}}, "\ud800"])
def test_canonical_refuses_what_json_cannot_hold(value):
    with pytest.raises(ValueError):
        canonical(value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4),
    max_leaves=10,
)


@given(_JSON)
def test_canonical_json_round_trips_and_ignores_key_order(value):
    data = canonical(value)
    assert json.loads(data) == value
    turned = dict(reversed(value.items())) if isinstance(value, dict) else value
    assert canonical(turned) == data
