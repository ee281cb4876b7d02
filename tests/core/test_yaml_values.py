"""What a document's text means, and where everything in it stands."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from gert_core.api.errors import UsageError
from gert_core.documents import compose
from gert_core.documents.yaml import Map, Seq, load, loads

if TYPE_CHECKING:
    from pathlib import Path


def value_of(text: str):
    document = loads(text.encode(), name="doc.yaml")
    assert document.diagnostics == ()
    return document.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("True", True),
        ("TRUE", True),
        ("false", False),
        ("FALSE", False),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("tRue", "tRue"),
        ("null", None),
        ("~", None),
        ("NULL", None),
        ("", None),
        ("none", "none"),
        ("12", 12),
        ("-12", -12),
        ("+12", 12),
        ("0", 0),
        ("012", "012"),
        ("-012", "-012"),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("190:20:30", "190:20:30"),
        ("2024-01-02", "2024-01-02"),
        ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
        ("1.5", 1.5),
        ("-1.5e3", -1500.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("01.5", "01.5"),
        ("1e3", 1000.0),
        ("1.2.3", "1.2.3"),
        (".inf", ".inf"),
        ("-.INF", "-.INF"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("9" * 500, "9" * 500),
        ("'12'", "12"),
        ('"true"', "true"),
        ("=", "="),
        ("<<", "<<"),
        ("-", [None]),
        ("30s", "30s"),
    ],
)
def test_plain_scalars_are_yaml_1_2_core(text: str, expected: object) -> None:
    found = value_of(f"key: {text}" if text != "-" else "key:\n- ")["key"]
    assert found == expected
    assert type(found) is type(expected) or isinstance(found, list)


def test_block_scalars_quotes_and_unicode() -> None:
    text = "a: |\n  one\n  two\nb: >-\n  one\n  two\nc: \"\\u00e9\\t\"\nd: 'it''s'\ne: ünïcode ☃\n"
    assert value_of(text) == {"a": "one\ntwo\n", "b": "one two", "c": "é\t", "d": "it's", "e": "ünïcode ☃"}


def test_merge_keys_have_no_meaning() -> None:
    assert value_of("a: &a {x: 1}\nb:\n  <<: *a\n  y: 2\n") == {"a": {"x": 1}, "b": {"<<": {"x": 1}, "y": 2}}


def test_maps_and_lists_are_plain_data_to_everybody() -> None:
    value = value_of("a: [1, {b: c}]\n")
    assert isinstance(value, dict)
    assert isinstance(value, Map)
    assert isinstance(value["a"], Seq)
    assert json.dumps(value) == '{"a": [1, {"b": "c"}]}'


def test_every_key_and_value_has_its_place() -> None:
    document = loads(
        "# head\nmeta:\n  name: x\nsteps:\n  - id: a\n    list: [1, é, 3]\n  -   id: b\n".encode(), name="d"
    )
    assert document.locate(()) == (2, 1)
    assert document.locate(("meta",), key=True) == (2, 1)
    assert document.locate(("meta",)) == (3, 3)
    assert document.locate(("meta", "name")) == (3, 9)
    assert document.locate(("meta", "name"), key=True) == (3, 3)
    assert document.locate(("steps", 0)) == (5, 5)
    assert document.locate(("steps", 0, "list", 2)) == (6, 18)
    assert document.locate(("steps", 0, "list", 2), key=True) == (6, 18)
    assert document.locate(("steps", 1, "id")) == (7, 11)
    assert document.value.marks["meta"] == (2, 1, 3, 3)
    assert document.value["steps"].marks[1] == (7, 7, 7, 7)


def test_a_missing_path_is_placed_at_its_nearest_ancestor() -> None:
    document = loads(b"a:\n  b: 1\n", name="d")
    assert document.locate(("a", "zz")) == (2, 3)
    assert document.locate(("a", "zz"), key=True) == (1, 1)
    assert document.locate(("a", "b", "c", 0)) == (2, 6)
    assert document.locate(("zz",)) == (1, 1)
    assert document.locate(("a", 0)) == (2, 3)


def test_aliases_are_the_value_they_name() -> None:
    document = loads(b"a: &x {k: 1}\nb: *x\nc: &n 5\nd: *n\n", name="d")
    assert document.value == {"a": {"k": 1}, "b": {"k": 1}, "c": 5, "d": 5}
    assert document.locate(("b",)) == (2, 4)
    assert document.locate(("b", "k")) == (1, 11)


def test_digest_name_and_path(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"a: 1\n")
    document = load(file, name="shown.yaml")
    assert document.digest == "sha256:" + hashlib.sha256(b"a: 1\n").hexdigest()
    assert (document.file, document.path, document.value) == ("shown.yaml", file, {"a": 1})
    assert load(file).file == str(file)


@pytest.mark.parametrize("name", ["missing.yaml", ".", "nul\0.yaml"])
def test_a_file_that_cannot_be_read_is_a_usage_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot read") as raised:
        load(tmp_path / name)
    assert raised.value.hint


def test_source_lines_and_ignores() -> None:
    text = (
        b"a: 1  # gert: ignore[unreachable-step]\nb: 2 # gert: ignore[x, y-z]\nc: 3 # other\r\nd: x#gert: ignore[q]\n"
    )
    document = loads(text, name="d")
    assert document.source_line(3) == "c: 3 # other"
    assert document.source_line(0) == document.source_line(99) == ""
    assert document.ignores(1) == {"unreachable-step"}
    assert document.ignores(2) == {"x", "y-z"}
    assert document.ignores(3) == frozenset()
    assert document.ignores(4) == frozenset()
    assert document.ignores(99) == frozenset()


def test_a_byte_order_mark_is_read_over() -> None:
    document = loads(b"\xef\xbb\xbfa: 1\n", name="d")
    assert (document.value, document.diagnostics) == ({"a": 1}, ())
    assert document.locate(("a",), key=True) == (1, 1)
    assert document.source_line(1) == "a: 1"


def test_document_markers_and_comments() -> None:
    assert value_of("%YAML 1.2\n---\na: 1\n...\n") == {"a": 1}
    assert value_of("# c\n\n---\na: 1\n# end\n") == {"a": 1}


def test_json_may_have_characters_beyond_u_ffff_as_pairs_of_escapes() -> None:
    given = {"k\U0001f600": ["\\\U0001f600", "\\ud83d\\ude00", '"\U0010ffff', "é"], "z": 1}
    for text in (
        json.dumps(given),
        json.dumps(given, indent=2),
        json.dumps(given).replace('d83d\\ude00": [', 'D83D\\uDE00": ['),
    ):
        assert value_of(text) == given
        assert value_of("\ufeff" + text) == given
    text = json.dumps(given)
    document = loads(text.encode(), name="d.json")
    assert document.locate(("z",), key=True) == (1, text.index('"z"') + 1)
    assert document.locate(("z",)) == (1, len(text) - 1)
    assert document.span(("z",)) == (1, len(text) - 1, 1, len(text))
    assert document.source_line(1) == text
    twice = loads(b'{"a": "\\ud83d\\ude00", "a": 2}', name="d.json")
    assert [(one.rule, one.column) for one in twice.diagnostics] == [("duplicate-key", 23)]
    assert value_of("a: '\\ud83d\\ude00'\nb: \\ud83d\\ude00") == {"a": "\\ud83d\\ude00", "b": "\\ud83d\\ude00"}


def test_the_pure_python_parser_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b'a: [1, "x\\u00e9", {b: yes}]\nc: |\n  t\nd: &k v\ne: *k\nf:\n'
    fast = loads(text, name="d")
    monkeypatch.setattr(compose, "parser", compose._pure_parser)
    monkeypatch.setattr("gert_core.documents.yaml.parser", compose._pure_parser)
    slow = loads(text, name="d")
    assert slow.value == fast.value
    assert slow.value.marks == fast.value.marks
    assert slow.value["a"].marks == fast.value["a"].marks
