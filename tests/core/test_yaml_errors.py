"""Every way a document can be unreadable, with rule, position and hint."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from gert_core.documents import compose
from gert_core.documents.yaml import loads

DEEP = "[" * 101 + "]" * 101
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 9) + "]\n" for n in range(1, 12)
)
BIG_TEXT_BOMB = "a: &a " + "x" * 100_000 + "\nb: [" + ", ".join(["*a"] * 60) + "]\n"
DEEP_BEHIND_PAIR = '{"a": "\\ud83d\\ude00", "b": ' + "[" * 100_000 + "]" * 100_000 + "}"
DEEP_BY_ALIAS = f"a: &a {'[' * 60 + ']' * 60}\nb: {'[' * 60}*a{']' * 60}\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "says", "hint"),
    [
        ("", 1, 1, "empty", "write"),
        ("a: [x-{{ .y }}.txt, z]\n", 1, 7, "flow sequence", "quote a text that has a template in it"),
        ("# only a comment\n", 1, 1, "empty", "write"),
        ("a: 1\n---\nb: 2\n", 2, 1, "several YAML documents", "one document"),
        ("a: !!str x\n", 1, 4, "tag", "quote"),
        ("a: !custom {b: 1}\n", 1, 4, "`!custom`", "remove"),
        ("- !!python/object:os.system x\n", 1, 3, "tag", "remove"),
        ("a: *nope\n", 1, 4, "no anchor", "quote"),
        ("a: &a [1, *a]\n", 1, 11, "refers to itself", "write it out"),
        ("a: &a {b: {c: *a}}\n", 1, 15, "refers to itself", "write it out"),
        (f"a: {DEEP}\n", 1, 103, "deeper than 100", "flatten"),
        (BOMB, 7, None, "aliases expand", "fewer"),
        (BIG_TEXT_BOMB, 2, None, "aliases expand", "fewer"),
        (DEEP_BY_ALIAS, 2, None, "aliases nest", "flatten"),
        (DEEP_BEHIND_PAIR, 1, 127, "deeper than 100", "flatten"),
        (DEEP_BEHIND_PAIR + '"' + '\\"' * 500_000, 1, 127, "deeper than 100", "flatten"),
        ("1: x\n", 1, 1, "must be a string", 'quote it: "1"'),
        ("a: {true: x}\n", 1, 5, "must be a string", 'quote it: "true"'),
        ("null: x\n", 1, 1, "must be a string", "quote"),
        ("? \n: x\n", 1, None, "empty", "quote"),
        ("? [a, b]\n: x\n", 1, 3, "not a map or a list", "string"),
        ("a: {{ .x }}\n", 1, 5, "not a map or a list", 'write "{{ .x }}"'),
        ("a: {{ .x }}/b\n", 1, 5, "not a map or a list", 'write "{{ .x }}/b"'),
        ("a:\n\tb: 1\n", 2, 1, "invalid YAML", "tabs"),
        ("a: b: c\n", 1, 5, "invalid YAML", "contains `: `"),
        ("a: [1, 2\nb: 3\n", 2, None, "invalid YAML", "brackets"),
        ('a: "x\n', 2, 1, "invalid YAML", "quotes"),
        ("a: @x\n", 1, 4, "invalid YAML", "begins with @"),
        ("a:\n  b: 1\n c: 2\n", 3, None, "invalid YAML", "indentation"),
        ("a: b\x00c\n", 1, 5, "U+0000", "remove"),
        ("a: 1\nb: \x1b[31m\n", 2, 4, "U+001B", "escape"),
        ('a: "\\0"\n', 1, 4, "documents must not contain", "remove"),
        ('a: "\\ud800"\n', 1, 5, "half of a character: \\ud800", "the character itself"),
        ('a:\n - "x\\ude00\\ud83d"\n', 2, 6, "half of a character: \\ude00", "as one escape"),
        ('{"a": "\\ud83d\\ude00", "b": "\\ud83d\\u0041"}', 1, 29, "half of a character: \\ud83d", "itself"),
    ],
)
def test_problem(text: str, line: int, column: int | None, says: str, hint: str | None) -> None:
    document = loads(text.encode(), name="x.yaml")
    problem = document.diagnostics[0]
    assert problem.rule == "yaml-syntax"
    assert (problem.phase, problem.file, problem.line) == (1, "x.yaml", line)
    assert column is None or problem.column == column
    assert says in problem.message
    assert hint is None or (problem.hint and hint in problem.hint)


@pytest.mark.parametrize(
    ("data", "line", "column", "says"),
    [
        (b"a: 1\nb: \xff\n", 2, 4, "not UTF-8: byte 0xff"),
        ("a: ä\n".encode("latin-1"), 1, 4, "not UTF-8"),
        ("a: 1\n".encode("utf-16"), 1, 1, "UTF-16"),
        ("a: 1\n".encode("utf-16-be"), 1, 1, "U+0000"),
        (b"# " + b"x" * (4 * 1024 * 1024), 1, 1, "larger than 4 MiB"),
        (b"[" + b"{}," * 600_000 + b"]", 1, None, "500,000 values"),
        (b"".join(b"%%TAG !a%d! x\n" % n for n in range(200_000)) + b"---\na: 1\n", 1, 1, "directives"),
    ],
)
def test_unreadable_bytes(data: bytes, line: int, column: int | None, says: str) -> None:
    document = loads(data, name="x.yaml")
    assert document.value is None
    (problem,) = document.diagnostics
    assert problem.line == line
    assert column is None or problem.column == column
    assert says in problem.message
    assert problem.hint


def test_all_duplicate_keys_are_reported_and_the_first_value_stays() -> None:
    document = loads(b"a: 1\nb:\n  c: 1\n  c: 2\n  c: 3\na: 2\n", name="x.yaml")
    assert [(p.rule, p.line, p.column) for p in document.diagnostics] == [
        ("duplicate-key", 4, 3),
        ("duplicate-key", 5, 3),
        ("duplicate-key", 6, 1),
    ]
    assert "line 3" in document.diagnostics[0].message
    assert document.value == {"a": 1, "b": {"c": 1}}
    assert document.locate(("a",)) == (1, 4)


def test_problems_that_can_be_read_over_are_collected() -> None:
    document = loads(b"a: !t 1\n2: x\nb: 1\nb: 2\n", name="x.yaml")
    assert [p.rule for p in document.diagnostics] == ["yaml-syntax", "yaml-syntax", "duplicate-key"]
    assert document.value == {"a": 1, "2": "x", "b": 1}


def test_the_number_of_problems_is_bounded() -> None:
    assert len(loads(b"a: 1\n" * 5000, name="x").diagnostics) == compose.MAX_DIAGNOSTICS


def test_a_hundred_levels_are_allowed() -> None:
    document = loads(("[" * 100 + "]" * 100).encode(), name="x")
    assert document.diagnostics == ()


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 4_000_000,
        b"- " * 2_000_000,
        b"{a: " * 1_000_000,
        b"? " * 2_000_000,
        b"\n".join(b" " * n + b"a:" for n in range(2000)),
        BOMB.encode(),
        b"a: &a [*a]\n" * 100_000,
        b"&a " * 1_000_000,
        b"!a " * 1_000_000,
        b"a: '" + b"''" * 1_000_000,
        b'a: "' + b"\\" * 1_000_000,
        b"[" + b"," * 1_000_000,
        b"{" + b"a," * 1_900_000 + b"}",
    ],
    ids=lambda data: repr(data[:8]),
)
def test_hostile_documents_end_quickly(data: bytes) -> None:
    began = time.process_time()
    document = loads(data, name="x")
    took = time.process_time() - began
    assert document.diagnostics
    assert took < 5


def test_hostile_documents_stay_small() -> None:
    code = (
        "import resource; from gert_core.documents.yaml import loads\n"
        "loads(b'[' + b'{},' * 600_000, name='x')\n"
        "loads(b'{' + b''.join(b'%x,' % n for n in range(500_000)), name='x')\n"
        "import re; from pathlib import Path; status = Path('/proc/self/status')\n"
        # VmHWM is this program's own; ru_maxrss begins with what the test process had when it forked.
        "own = status.exists() and re.search(r'VmHWM:\\s+(\\d+)', status.read_text())\n"
        "print(own[1] if own else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 400 * 1024


@pytest.mark.parametrize("text", ["a: [1, 2\n", "a: *b\n", 'a: "\\ud800"\n', "a: 1\na: 2\n", "a: !t b\n", ""])
def test_the_pure_python_parser_refuses_the_same(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("gert_core.documents.yaml.parser", compose._pure_parser)
    assert loads(text.encode(), name="x").diagnostics
