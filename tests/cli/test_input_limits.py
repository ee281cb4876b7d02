"""Inputs with `enum`, `pattern`, `min` and `max`: every source is checked, and the declaration itself."""

from __future__ import annotations

import json

import pytest

from gert_core.hosting import Host
from gert_core.hosting.inputs import input_fields

BOOK = """\
apiVersion: kernel/v0
meta:
  name: book
  inputs:
    x: {DECLARED}
steps:
  - {type: end, outcome: {category: no_action, meta: {x: "{{ .x }}"}}}
"""


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(declared):
        (tmp_path / "book.yaml").write_text(BOOK.replace("DECLARED", declared), encoding="utf-8")
        return "book.yaml"

    return write


@pytest.mark.parametrize(
    ("declared", "good", "bad", "why"),
    [
        ("enum: [dev, prod]", "dev", "test", "'test' is not one of: dev, prod"),
        ("type: int, enum: [1, 2]", "2", "3", "'3' is not one of: 1, 2"),
        ("type: list, enum: [a, b]", "a,b", "a,c", "'c' is not one of: a, b"),
        ("pattern: 'web-[0-9]+'", "web-12", "web-12x", "'web-12x' does not match the whole of /web-[0-9]+/"),
        ("pattern: 'a|ab'", "ab", "abc", "'abc' does not match the whole of /a|ab/"),
        ("pattern: 'a$'", "a", "a\n", r"'a\n' does not match the whole of /a$/"),
        ("type: int, min: 1, max: 5", "5", "6", "6 is more than 5, the maximum"),
        ("type: float, min: 0.5", "0.5", "0.4", "0.4 is less than 0.5, the minimum"),
        ("min: 2", "ab", "a", "the length of 'a', 1, is less than 2, the minimum"),
        ("type: list, max: 2", "a,b", "a,b,c", "the number of items, 3, is more than 2, the maximum"),
    ],
)
def test_a_value_from_the_command_line_is_checked(gert, book, declared, good, bad, why):
    file = book(declared)
    assert gert("exec", file, "--var", f"x={good}")[0] == 0
    code, _, err = gert("exec", file, "--var", f"x={bad}")
    assert code == 2
    assert f"the input 'x' from --var is not accepted: {why} (declared at book.yaml:5)" in err


def test_values_from_files_the_environment_and_scenarios_are_checked(gert, book, tmp_path, monkeypatch):
    file = book("enum: [a, b], from: env/THE_X")
    monkeypatch.setenv("THE_X", "c")
    assert "from env is not accepted: 'c' is not one of: a, b (declared at book.yaml:5)" in gert("exec", file)[2]
    (tmp_path / "given.yaml").write_text("x: d", encoding="utf-8")
    assert "from file is not accepted: 'd' is not one of" in gert("exec", file, "--input", "given.yaml")[2]
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "scenario.yaml").write_text("inputs: {x: e}", encoding="utf-8")
    said = gert("exec", file, "--mode", "replay", "--scenario", "s")[2]
    assert "from scenario is not accepted: 'e' is not one of" in said


def test_files_of_json_may_have_characters_beyond_u_ffff(gert, book, tmp_path):
    value = {"k": "\U0001f600"}
    (tmp_path / "x.json").write_text(json.dumps({"x": value}), encoding="ascii")
    (tmp_path / "o.json").write_text(json.dumps(value), encoding="ascii")
    (tmp_path / "half.json").write_text('{"x": "SECRET\\ud83d"}', encoding="ascii")
    for words in (
        (book("type: object"), "--input", "x.json"),
        (book("type: object, from: file/o.json"),),
    ):
        code, out, err = gert("exec", *words, "--json")
        assert code == 0, err
        assert json.loads(out)["outcome"]["meta"] == {"x": value}
    code, out, err = gert("exec", book("type: object"), "--input", "half.json")
    assert (code, "SECRET" in out + err) == (2, False)
    assert "half.json:1:14: --input half.json: an escape is half of a character\n" in err


def test_a_secret_value_is_not_shown(gert, book):
    code, out, err = gert("exec", book("secret: true, pattern: '[a-z]{12,}'"), "--var", "x=SECRETSECRET1")
    assert code == 2
    assert "is not accepted: its value is secret and not shown (declared at book.yaml:5)" in err
    assert "SECRETSECRET1" not in out + err


def test_the_limits_of_a_secret_input_are_not_shown(gert, book, tmp_path):
    file = book("secret: true, enum: [quartz lamp, silver moon], default: quartz lamp")
    outer = tmp_path / "outer.yaml"
    outer.write_text(
        "apiVersion: kernel/v0\nmeta: {name: outer}\nsteps:\n"
        f"  - {{id: inner, type: runbook, runbook: ./{file}}}\n"
        "  - {type: end, outcome: {category: resolved}}\n",
        encoding="utf-8",
    )
    for command in (("explain", file), ("explain", file, "--json"), ("explain", "outer.yaml"), ("graph", file)):
        code, out, err = gert(*command)
        assert (code, "quartz" in out + err, "silver" in out + err) == (0, False, False), out + err
    with Host(tmp_path) as host:
        (only,) = input_fields(host, tmp_path / file)
    assert (only.name, only.secret, only.options) == ("x", True, ())


def test_no_message_about_the_declaration_of_a_secret_input_shows_its_values(gert, book):
    for declared in (
        "secret: true, enum: [silver moon], default: quartz lamp",
        "secret: true, enum: [quartz lamp], max: 2",
        "type: int, secret: true, default: quartz lamp",
        "type: int, secret: true, enum: [quartz lamp]",
    ):
        code, out, _ = gert("validate", book(declared), "--json")
        (found,) = json.loads(out)["diagnostics"]
        assert (code, found["rule"]) == (1, "input-type")
        told = f"{found['message']} {found['hint']}"
        assert not [word for word in ("quartz", "silver") if word in told], told


@pytest.mark.parametrize(
    "declared", ["min: 777123, max: 777001", "min: 777123.5", "max: 777123.5", "min: 777001.5, max: 777001"]
)
def test_no_message_shows_the_bounds_of_a_secret_input(gert, book, declared):
    file = book(f"type: int, secret: true, {declared}")
    for command in (("validate", file, "--json"), ("exec", file), ("exec", file, "--json")):
        _, out, err = gert(*command)
        assert ("input `x`: `m" in out + err, "777" in out + err) == (True, False), out + err


@pytest.mark.parametrize(
    ("declared", "column", "message", "hint"),
    [
        (
            "enum: [a], default: b",
            29,
            "the default of input `x` is not accepted: 'b' is not one of: a",
            "write one of a",
        ),
        ("type: int, min: 3, max: 2", 25, "input `x`: `min` (3) is more than `max` (2)", "exchange the two"),
        (
            "type: int, pattern: a",
            29,
            "input `x`: `pattern` has no meaning for an input of type int",
            "it is for `string`",
        ),
        ("type: bool, enum: [true]", 27, "input `x`: `enum` has no meaning for an input of type bool", None),
        ("type: object, max: 3", 28, "input `x`: `max` has no meaning for an input of type object", None),
        ("type: int, enum: [1, a]", 30, "input `x`: 'a' is not an integer", None),
        ("enum: [abc], max: 2", 16, "input `x`: the value can never be given: the length of 'abc', 3,", None),
        ("type: int, max: 2.5", 25, "input `x`: `max` of an input of type int is an integer", "write `max: 2`"),
        ("min: -1", 14, "input `x`: `min` is a length, which is never negative", "write `min: 0`, or leave it out"),
        ("type: int, max: 3, default: 4", 37, "the default of input `x` is not accepted: 4 is more than 3", None),
        ("enum: [[a]]", 16, "input `x`: a value of `enum` is a text, a number or a boolean", None),
    ],
)
def test_a_declaration_that_contradicts_itself_is_an_error(gert, book, declared, column, message, hint):
    code, out, _ = gert("validate", book(declared), "--json")
    (found,) = json.loads(out)["diagnostics"]
    assert code == 1
    assert (found["rule"], found["line"], found["column"]) == ("input-type", 5, column)
    assert found["message"].startswith(message)
    assert hint is None or found["hint"] == hint


@pytest.mark.parametrize("declared", ["enum: []", "enum: a", "min: a", "max: true", "pattern: '('", "pattern: '(?=a)'"])
def test_a_malformed_limit_is_an_error(gert, book, declared):
    code, out, _ = gert("validate", book(declared), "--json")
    assert code == 1
    assert [d["line"] for d in json.loads(out)["diagnostics"]] == [5]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("x.yaml", "- a\n- {b: 1}\n", ["a", {"b": 1}]),
        ("x.yml", "[a, 2]", ["a", 2]),
        ("x.json", '["a", {"b": null}]', ["a", {"b": None}]),
        ("x.txt", "a, b\n", ["a", "b"]),
    ],
)
def test_a_list_is_read_from_yaml_and_json(gert, book, tmp_path, name, text, expected):
    (tmp_path / name).write_text(text, encoding="utf-8")
    code, out, _ = gert("exec", book(f"type: list, from: file/{name}"), "--json")
    assert (code, json.loads(out)["outcome"]["meta"]["x"]) == (0, expected)


def test_an_object_is_read_from_yaml_and_a_faulty_file_is_named(gert, book, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("a: {b: 1}\nc: [2]\n", encoding="utf-8")
    file = book("type: object, required: true, from: file/x.yaml")
    _, out, _ = gert("exec", file, "--json")
    assert json.loads(out)["outcome"]["meta"]["x"] == {"a": {"b": 1}, "c": [2]}
    path.write_text("a: 1\na: 2\n", encoding="utf-8")
    code, _, err = gert("exec", file)
    assert code == 2
    assert (
        "comes from the file x.yaml, which is not valid YAML: line 2, column 1: a key is given twice in one map" in err
    )
    path.write_text("- 1\n", encoding="utf-8")
    assert "must be object: a list is not a map" in gert("exec", file)[2]


def test_a_file_of_json_is_not_told_to_be_yaml(gert, book, tmp_path):
    (tmp_path / "x.json").write_text('{"a": 1,\n}}\n', encoding="utf-8")
    code, _, err = gert("exec", book("type: object, required: true, from: file/x.json"))
    assert code == 2
    assert "comes from the file x.json, which is not valid JSON: line 2, column 2\n" in err
    assert "YAML" not in err


def test_a_value_that_is_not_accepted_is_not_answered_with_how_to_give_one(gert, book):
    file = book("type: int, required: true, max: 5")
    code, _, err = gert("exec", file, "--var", "x=9")
    assert (code, "is not accepted: 9 is more than 5" in err, "hint:" in err) == (2, True, False)
    assert "hint: give it with --var NAME=VALUE or --input FILE" in gert("exec", file, "--no-input")[2]


@pytest.mark.parametrize("secret", ["", ", secret: true"])
@pytest.mark.parametrize(
    ("source", "told"),
    [("file/x.yaml", "from file/x.yaml"), ("env/THE_X", "from env/THE_X")],
)
def test_a_wrong_type_names_the_source_and_the_declaration(gert, book, tmp_path, monkeypatch, source, told, secret):
    (tmp_path / "x.yaml").write_text("word-of-it\n", encoding="utf-8")
    monkeypatch.setenv("THE_X", "word-of-it")
    code, out, err = gert("exec", book(f"type: int, from: {source}{secret}"))
    assert code == 2, out + err
    assert f"the input 'x' {told} must be int" in err
    assert "(declared at book.yaml:5)" in err
    assert ("word-of-it" in err) is not secret.startswith(",")


def test_a_wrong_type_that_is_given_names_the_declaration(gert, book):
    assert "(declared at book.yaml:5)" in gert("exec", book("type: int"), "--var", "x=many")[2]
