"""Inputs that are given in files and words: no error shows what they are, and none that cannot be written is taken."""

from __future__ import annotations

import json

import pytest
from gertproc import Gert

BOOK = """\
apiVersion: kernel/v0
meta: {name: book, inputs: {pw: {type: TYPE, secret: true, FROMrequired: true}}}
steps:
  - {type: end, outcome: {category: resolved, meta: {v: "{{ .pw }}"}}}
"""
VALUES = [
    "*Hunter2Pass",
    "!Hunter2Pass",
    "!<Hunter2Pass>",
    "!!Hunter2Pass x",
    "%Hunter2Pass",
    "@Hunter2Pass",
    "`Hunter2Pass`",
    '"Hunter2Pass',
    '"\\Hunter2Pass"',
    "'Hunter2Pass'Hunter2Pass",
    "|Hunter2Pass",
    "x: Hunter2Pass",
    "- Hunter2Pass",
    "[Hunter2Pass",
    "{Hunter2Pass: 1, Hunter2Pass: 2}",
    "{{ .Hunter2Pass }}",
    "{12: x, Hunter2Pass: {[a]: b}}",
    "Hunter2Pass\nHunter2Pass",
    "Hunter2Pass\x07",
]


@pytest.fixture
def gert(tmp_path):
    found = Gert(tmp_path)
    found.write(book=BOOK.replace("TYPE", "any").replace("FROM", ""))
    return found


@pytest.mark.parametrize("value", VALUES)
def test_no_error_about_a_file_of_inputs_shows_what_is_in_it(gert, value):
    gert.write(given=f"pw: {value}\n")
    said = gert("exec", "book.yaml", "--input", "given.yaml")
    assert said.code == 2, said.all
    assert "Hunter2" not in said.all
    assert "error: given.yaml:" in said.err
    assert "hint: " in said.err
    assert gert.runs() == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--input", "given.yaml"], "{pw:Hunter2Pass}"),
        (["--input", "given.yaml"], '"Hunter2 Pass": 1'),
        (["--var", "pw:Hunter2Pass=="], ""),
    ],
)
def test_no_error_about_a_name_shows_the_value_that_became_part_of_it(gert, words, text):
    gert.write(given=text)
    said = gert("exec", "book.yaml", *words)
    assert said.code == 2
    assert "Hunter2" not in said.all
    assert "a name that no input can have, which is not shown here" in said.err
    assert "hint: declared inputs: pw" in said.err


@pytest.mark.parametrize("secret", ["true", "false"])
@pytest.mark.parametrize("value", VALUES)
def test_no_error_about_the_file_of_an_input_shows_what_is_in_it(gert, value, secret):
    book = BOOK.replace("TYPE", "object").replace("FROM", "from: file/own.yaml, ")
    gert.write(book=book.replace("secret: true", f"secret: {secret}"), own=f"a: {value}\n")
    said = gert("exec", "book.yaml")
    assert said.code == 2, said.all
    assert "Hunter2" not in said.all
    assert "own.yaml, which is not valid YAML" in said.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "the file is empty"),
        (b"a: 1\n---\nb: 2\n", "the file holds several YAML documents"),
        (b"\xff\xfea\0", "the file is not UTF-8"),
        (b"pw: a\xe9b\n", "the file is not UTF-8"),
        (b"pw: 1\npw: 2\n", "a key is given twice in one map"),
        (b"- 1\n", "is not a map of inputs"),
        (b"pw: *x\n", "quote texts that begin with *"),
    ],
)
def test_an_error_about_a_file_of_inputs_says_what_is_wrong(gert, tmp_path, text, says):
    (tmp_path / "given.yaml").write_bytes(text)
    said = gert("exec", "book.yaml", "--input", "given.yaml")
    assert said.code == 2
    assert says in said.err
    assert "byte" not in said.err


@pytest.mark.parametrize("number", ["1e999", "-1e999", "[{b: 1e999}]"])
@pytest.mark.parametrize("kind", ["object", "list"])
@pytest.mark.parametrize("source", ["--var", "env", "file"])
def test_a_number_that_is_not_finite_is_refused_before_anything_exists(gert, tmp_path, number, kind, source):
    text = json.dumps({"a": [7]} if kind == "object" else [{"a": 7}]).replace("7", number.replace("b", '"b"'))
    where = {"env": "from: env/GIVEN, ", "file": "from: file/given.txt, "}.get(source, "")
    gert.write(book=BOOK.replace("TYPE", kind).replace("FROM", where).replace("secret: true", "secret: false"))
    (tmp_path / "given.txt").write_text(text, encoding="utf-8")
    words = ["--var", f"pw={text}"] if source == "--var" else []
    said = gert("exec", "book.yaml", *words, GIVEN=text)
    assert said.code == 2, said.all
    assert f"must be {kind}: it has {'-' if '-' in number else ''}inf, which is not a finite number" in said.err
    assert gert.runs() == []


TOOL = """\
apiVersion: tool/v0
meta: {name: say, transport: stdio, binary: sh}
contract: {inputs: {text: {type: string}}, outputs: {v: {type: TYPE}}, effects: [host], writes: []}
actions: {run: {argv: [printf, "%s", "{{ .text }}"], extract: {v: {from: json, path: PATH}}}}
"""
STEP = "  - {id: say, type: tool, tool: say, inputs: {text: '{{ .pw }}'}}\n"


@pytest.mark.parametrize("type_", ["any", "float", "object", "string"])
def test_a_number_of_a_tool_that_is_not_finite_is_an_error_of_its_step(gert, type_):
    text = '{"a": {"b": 1e999}}' if type_ == "object" else '{"a": 1e999}'
    book = BOOK.replace("TYPE", "string").replace("FROM", "").replace("secret: true", "secret: false")
    gert.write(
        book=book.replace("steps:\n", f"tools: [say]\nsteps:\n{STEP}"),
        tool_say=TOOL.replace("TYPE", type_).replace("PATH", "$.a"),
    )
    said = gert("exec", "book.yaml", "--var", f"pw={text}", "--json")
    assert said.code == 1, said.all
    assert "internal" not in said.all
    assert said.document["status"] == "failed"
    assert said.document["failure"]["step_id"] == "say", said.all


TWO = """\
apiVersion: kernel/v0
meta: {name: book, inputs: {n: {type: int, LIMITrequired: true}, pw: {type: string, secret: true, FROMrequired: true}}}
steps:
  - {type: end, outcome: {category: resolved, code: done}}
"""
SECRET = "Hunter2\\Pass'word \u00a0x"


@pytest.mark.parametrize(
    ("limit", "source", "given"),
    [
        ("", "", ["--var", f"n={SECRET}", "--var", f"pw={SECRET}"]),
        ("", "", ["--var", f"pw={SECRET}", "--var", f"n=x{SECRET}y"]),
        ("type: string, pattern: '[a-z]+', ", "", ["--var", f"n={SECRET}", "--var", f"pw={SECRET}"]),
        ("type: string, enum: [a, b], ", "", ["--var", f"n={SECRET}", "--var", f"pw={SECRET}"]),
        ("type: list, ", "", ["--var", "n={" + SECRET, "--var", f"pw={SECRET}"]),
        ("", "", ["--input", "given.yaml"]),
        ("", "from: file/own.txt, ", ["--var", f"n={SECRET}"]),
        ("", "", ["--var", f"n={SECRET}", "--var", f"pw={SECRET}", "--json"]),
        ("", "", ["--var", "Hunter2Pass=1", "--var", "pw=Hunter2Pass"]),
    ],
)
def test_an_error_about_an_input_shows_no_secret_that_was_given_for_another(gert, tmp_path, limit, source, given):
    book = TWO.replace("LIMIT", limit).replace("FROM", source)
    gert.write(book=book.replace("type: int, type", "type"), given=json.dumps({"n": SECRET, "pw": SECRET}))
    (tmp_path / "own.txt").write_text(SECRET)
    said = gert("exec", "book.yaml", *given)
    assert said.code == 2, said.all
    assert not any(part in said.all for part in ("Hunter2", "word")), said.all
    assert "<REDACTED" in said.all
    assert gert.runs() == []
