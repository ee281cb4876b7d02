"""Whatever is wrong with JSON that others wrote, its reader says with one exception."""

from __future__ import annotations

from typing import Any

import pytest

from gert_core.kit.json_reader import JsonDecoder, decode_as, loads

DEEP = 100_000
WRONG = {
    "lists": b"[" * DEEP + b"]" * DEEP,
    "maps": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "lists without an end": b"[" * DEEP,
    "no JSON": b"{",
    "not UTF-8": b'"\xff"',
    "nothing": b"",
    "a long number": b"[" + b"9" * 10_000 + b".5e,]",
}


@pytest.mark.parametrize("data", WRONG.values(), ids=list(WRONG))
def test_what_cannot_be_read_is_a_value_error(data):
    for read in (loads, JsonDecoder(Any).decode, lambda text: decode_as(text, dict)):
        with pytest.raises(ValueError):
            read(data)


def test_one_line_that_is_nested_too_deeply_is_a_value_error():
    with pytest.raises(ValueError, match="nested too deeply"):
        JsonDecoder(Any).decode_lines(b"{}\n" + WRONG["lists"] + b"\n{}\n")


def test_another_type_is_a_value_error():
    with pytest.raises(ValueError, match="Expected `int`"):
        decode_as(b'{"a":"x"}', dict[str, int])


def test_what_can_be_read_is_as_it_was_written():
    assert loads('{"a": [1, NaN]}', parse_constant=str) == {"a": [1, "NaN"]}
    assert loads(b'{"a": 1}', object_pairs_hook=list) == [("a", 1)]
    assert decode_as(memoryview(b'{"a":1}'), dict[str, int]) == {"a": 1}
    assert JsonDecoder(int).decode_lines(b"1\n2\n") == [1, 2]
