"""``api.wire``: JSON of strangers, read so that it can be written again."""

from __future__ import annotations

import json

import pytest

from gert_core.kit.wire import DEPTH, decode, encode


@pytest.mark.parametrize("text", ["null", "5", '"x"', "[]", '{"a": [1, 2.5, true, null, "\\u00e9\\ud83d\\ude00"]}'])
def test_what_is_json_is_read_as_json(text):
    assert decode(text) == json.loads(text)
    assert decode(encode(decode(text)).encode("utf-8").decode("utf-8")) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Expecting value at line 1 column 1"),
        ("{", "line 1 column 2"),
        ("[NaN]", "NaN is not a JSON value"),
        ("-Infinity", "-Infinity is not a JSON value"),
        ("1 2", "Extra data"),
        ("[" * 100_000, "nested deeper than 100 levels"),
        ("9" * 5000, "limit"),
    ],
)
def test_what_is_not_json_is_refused_with_a_phrase(text, words):
    with pytest.raises(ValueError, match=words):
        decode(text)


def test_depth_is_limited_exactly():
    def nested(levels: int) -> str:
        return '{"a":[' * (levels // 2) + "1" + "]}" * (levels // 2)

    assert decode(nested(DEPTH))
    with pytest.raises(ValueError, match="nested deeper"):
        decode(nested(DEPTH + 2))
    assert len(decode("[" + "[]," * 500 + "[]]")) == 501  # wide is not deep


def test_lone_surrogates_in_keys_and_values():
    assert decode('{"\\udc00k": ["\\ud800"]}') == {"\ufffdk": ["\ufffd"]}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_what_json_cannot_say_is_not_written(value):
    with pytest.raises(ValueError):
        encode({"x": value})
