"""Words of other tools get the right command, and colour is decided by --color, NO_COLOR and FORCE_COLOR."""

from __future__ import annotations

import subprocess

import pytest
from gertproc import COMMAND, Gert

from gert_core.cli.neighbours import _NEIGHBOURS
from gert_core.cli.verbs import COMMANDS, VERBS

BOOK = "apiVersion: kernel/v0\nmeta: { name: done }\nsteps: [{ type: end, outcome: { category: resolved } }]\n"


@pytest.fixture
def made(tmp_path):
    one = Gert(tmp_path)
    one.write(book=BOOK)
    return one


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("run", "exec RUNBOOK"),
        ("apply", "exec RUNBOOK"),
        ("play", "exec RUNBOOK"),
        ("lint", "validate FILE"),
        ("check", "validate FILE"),
        ("plan", "exec RUNBOOK --mode dry-run"),
        ("ps", "runs list"),
        ("list", "runs list"),
        ("log", "runs logs ID"),
        ("logs", "runs logs ID"),
        ("status", "runs status ID"),
    ],
)
def test_a_verb_of_another_tool_gets_its_neighbour(gert, typed, command):
    code, out, err = gert(typed, "book.yaml")
    assert (code, out) == (2, "")
    assert f"there is no command '{typed}'" in err
    assert f"that is `gert {command}` here" in err


def test_a_misspelled_verb_gets_the_nearest_one(gert):
    assert "did you mean `gert validate`?" in gert("valdate", "x")[2]


def test_the_neighbours_exist_and_hide_no_command():
    for command, words in _NEIGHBOURS.items():
        first, _, rest = command.partition(" ")
        assert first.startswith("--") or first in COMMANDS or f"{first} {rest.partition(' ')[0]}" in COMMANDS, command
        assert not set(words) & set(VERBS), command
    every = [word for words in _NEIGHBOURS.values() for word in words]
    assert len(every) == len(set(every))


def test_color_decides_about_colour_and_nothing_else(made):
    plain = made("validate", "book.yaml").out
    assert "\x1b[" not in plain
    always = made("validate", "book.yaml", "--color", "always", NO_COLOR="1").out
    assert "\x1b[32m✓\x1b[0m" in always
    assert made("--color=always", "validate", "book.yaml").out == always
    assert made("validate", "book.yaml", FORCE_COLOR="1").out == always
    assert made("validate", "book.yaml", FORCE_COLOR="1", NO_COLOR="1").out == plain
    assert made("validate", "book.yaml", "--color", "never", FORCE_COLOR="1").out == plain
    assert "\x1b[" in made.on_terminal("validate", "book.yaml", TERM="xterm", NO_COLOR="")
    assert "\x1b[" not in made.on_terminal("validate", "book.yaml", "--color", "never", TERM="xterm", NO_COLOR="")


def test_a_wrong_color_is_refused(made):
    said = made("validate", "book.yaml", "--color", "sometimes")
    assert said.code == 2
    assert "--color takes auto, always, never, not 'sometimes'" in said.err


def test_without_utf8_the_marks_are_ascii(made):
    environ = made.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}

    def said(*words):
        done = subprocess.run(
            [*COMMAND, *words], cwd=made.root, env=environ, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert "`- (.) end resolved" in said("graph", "book.yaml")
    assert said("validate", "book.yaml").startswith("+ book.yaml")


def test_colour_in_a_pipe_draws_no_live_line(made):
    said = made("exec", "book.yaml", "--color", "always")
    assert said.code == 0
    assert "\x1b[32m" in said.all
    assert "\r" not in said.all
    assert "\x1b[K" not in said.all
