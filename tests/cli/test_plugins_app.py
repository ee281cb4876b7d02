"""The command line itself: verbs, global options, plugin commands, errors and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import typer

from gert_core import __version__
from gert_core.api import Diagnostic, DocumentError, UsageError
from gert_core.cli import verbs
from gert_core.cli.errors import report_exception

COMMAND = """
from gert_core import hookimpl
from gert_core.api import Command

@hookimpl
def gert_commands():
    return [
        Command(name="zoo-feed", summary="Feeds the animals.", target="zoo_feed_cli:main"),
        Command(name="plugins", summary="Hides a verb.", target="zoo_feed_cli:main"),
    ]
"""


@pytest.fixture(autouse=True)
def outside_of_a_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GERT_DEBUG", raising=False)


@pytest.fixture
def verb(monkeypatch):
    """Hangs a function into the table as ``gert probe-verb``."""

    def hang(function):
        module = sys.modules[__name__]
        monkeypatch.setattr(module, "hung", function, raising=False)
        monkeypatch.setitem(sys.modules, "hung_verb", module)
        monkeypatch.setattr(module, "__spec__", module.__spec__ or object())
        monkeypatch.setitem(verbs.VERBS, "probe-verb", "A probe.")
        monkeypatch.setitem(verbs.COMMANDS, "probe-verb", "hung_verb:hung")
        from gert_core.plugin import lazy

        lazy._import.cache_clear()

    return hang


@pytest.mark.parametrize("args", [["--version"], ["-p", "no:nothing", "--version"]])
def test_version(gert, args):
    assert gert(*args) == (0, f"gert {__version__}\n", "")


def test_help_lists_verbs_and_plugin_commands_without_importing_them(gert, fake_dist):
    fake_dist.add("gert-command-zoo", COMMAND)
    code, out, err = gert("--help")
    assert code == 0
    assert "its command 'plugins' is left out because gert has one of that name" in err
    assert "  plugins" in out
    assert "Feeds the animals." in out
    assert "Hides a verb." not in out
    assert "zoo_feed_cli" not in sys.modules


def test_nothing_at_all_is_help_and_a_usage_error(gert):
    code, out, _ = gert()
    assert code == 2
    assert out.startswith("Usage: gert")


def test_a_plugin_command_gets_its_arguments_untouched(gert, fake_dist):
    source = "def main(args, host):\n    print(args)\n    return 7\n"
    fake_dist.add("gert-command-zoo", COMMAND, files={"zoo_feed_cli.py": source})
    code, out, _ = gert("zoo-feed", "-p", "x", "--json")
    assert code == 7
    assert out == "['-p', 'x', '--json']\n"


def test_a_mistyped_verb_suggests_the_right_one(gert, fake_dist):
    code, out, err = gert("plugnis", "list")
    assert (code, out) == (2, "")
    assert "there is no command 'plugnis'" in err
    assert "did you mean `gert plugins`?" in err
    fake_dist.add("gert-command-zoo", COMMAND)
    assert "did you mean `gert zoo-feed`?" in gert("zoo-fed")[2]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--nonsense"], "there is no option '--nonsense'"),
        (["plugins", "lst"], "No such command 'lst'"),
        (["plugins", "list", "--nonsense"], "No such option"),
        (["plugins", "show"], "Missing argument"),
        (["-p"], "-p needs the name of a plugin"),
        (["-p", "no:step-nothing", "plugins", "list"], "no installed plugin has the name 'step-nothing'"),
    ],
)
def test_usage_errors_exit_2_with_one_sentence(gert, args, said):
    code, out, err = gert(*args)
    assert (code, out) == (2, "")
    first, *rest = err.strip().splitlines()
    assert first.startswith("error: ")
    assert said in first
    assert all(line.startswith("  hint: ") for line in rest)


def test_a_group_without_a_command_shows_its_help(gert):
    code, out, err = gert("plugins")
    assert (code, out) == (2, "")
    assert "Usage: gert plugins" in err
    assert "list" in err


def test_usage_errors_as_json(gert):
    code, out, err = gert("plugins", "show", "--json")
    assert (code, err) == (2, "")
    error = json.loads(out)["error"]
    assert set(error) == {"kind", "message", "file", "line", "hint", "diagnostics"}
    assert error["kind"] == "usage"


def test_an_expected_error_is_shown_with_place_findings_and_hint(gert, verb):
    def hung():
        found = Diagnostic(rule="some-rule", message="is wrong", file="a.yaml", line=3, column=4)
        raise DocumentError("the document is wrong", file="a.yaml", line=3, hint="mend it", diagnostics=[found])

    verb(hung)
    code, out, err = gert("probe-verb")
    assert (code, out) == (1, "")
    assert err == (
        "error: a.yaml:3: the document is wrong\n  a.yaml:3:4: error [some-rule] is wrong\n  hint: mend it\n"
    )


def test_an_unexpected_error_is_one_sentence_and_the_traceback_only_on_demand(gert, verb, monkeypatch):
    def hung():
        raise ZeroDivisionError("division\nby zero")

    verb(hung)
    code, _, err = gert("probe-verb")
    assert code == 1
    assert "Traceback" not in err
    assert err.startswith("error: internal error: ZeroDivisionError: division by zero\n")
    assert "GERT_DEBUG=1" in err
    monkeypatch.setenv("GERT_DEBUG", "1")
    assert "Traceback" in gert("probe-verb")[2]


@pytest.mark.parametrize("raised", [KeyboardInterrupt, typer.Abort])
def test_an_interrupt_is_130(gert, verb, raised):
    def hung():
        raise raised

    verb(hung)
    assert gert("probe-verb")[0] == 130


@pytest.mark.parametrize(("result", "code"), [(None, 0), (0, 0), (5, 5), ("text", 0)])
def test_what_a_verb_returns_is_the_exit_code(gert, verb, result, code):
    verb(lambda: result)
    assert gert("probe-verb")[0] == code


def test_a_verb_may_raise_exit(gert, verb):
    def hung():
        raise typer.Exit(4)

    verb(hung)
    assert gert("probe-verb")[0] == 4


def test_a_verb_finds_the_global_options(gert, verb):
    def hung(ctx: typer.Context, name: str = ""):
        print(ctx.obj.allow, ctx.obj.block, name)

    hung.__annotations__["ctx"] = typer.Context
    hung.__annotations__["name"] = str
    verb(hung)
    assert gert("-p", "a", "probe-verb", "-p", "no:b", "--name", "x")[1] == "('a',) ('b',) x\n"


def test_system_exit_with_a_text_is_1():
    assert report_exception(SystemExit("no"), as_json=False) == 1
    assert report_exception(SystemExit(), as_json=False) == 0
    assert report_exception(UsageError("x"), as_json=True) == 2


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    command = f"{sys.executable} -m gert_core plugins list; echo code $? >&2"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        ["/bin/sh", "-c", command], stdout=write, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False
    )
    os.close(write)
    assert done.stderr == "code 141\n"


def test_output_survives_a_terminal_that_knows_only_ascii(tmp_path):
    code = "from gert_core.cli.render.terminal import out; out('✓ Outcome')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env={"PYTHONIOENCODING": "ascii"}, cwd=tmp_path, check=True
    )
    assert done.stdout == b"+ Outcome\n"


def test_colour_only_on_a_terminal(monkeypatch):
    from gert_core.cli.render.terminal import paint

    class Terminal:
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert paint("x", "red", stream=Terminal()) == "\x1b[31mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("x", "red", stream=Terminal()) == "x"
