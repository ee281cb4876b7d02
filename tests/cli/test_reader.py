"""The reader of command lines gives what Typer gives, or leaves the command line to Typer."""

from __future__ import annotations

import functools
import inspect
import os
import shlex

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gert_core.cli import build, reader
from gert_core.cli.examples import EXAMPLES
from gert_core.cli.parameters import PARAMETERS
from gert_core.cli.verbs import COMMANDS, VERBS
from gert_core.plugin.lazy import load_target

FUZZ = bool(os.environ.get("GERT_FUZZ"))
SETTINGS = settings(
    max_examples=3_000 if FUZZ else 150,
    derandomize=not FUZZ,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
OPTIONS = object()
"""What stands for the global options."""


@functools.cache
def by_typer(verb):
    """The verb as Typer builds it, with functions that only note how they are called."""
    called = []

    def noting(target):
        function = load_target(target)

        @functools.wraps(function)
        def note(**given):
            called.append(given)

        return note

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "load_target", noting)
        return build.build(verb), called


def typer_reads(command, words):
    """The arguments Typer calls a command with, or None when it calls nothing: help or an error."""
    verb, _, word = command.partition(" ")
    built, called = by_typer(verb)
    called.clear()
    try:
        built.main(args=[*([word] if word else []), *words], prog_name="gert", standalone_mode=False, obj=OPTIONS)
    except Exception as error:
        if not hasattr(error, "exit_code"):  # not one of Typer's own
            raise
        return None
    return called[0] if called else None


def complete(command, given):
    """The arguments with the defaults of those that were left out, and the context as what it holds."""
    parameters = inspect.signature(load_target(COMMANDS[command])).parameters
    defaults = {n: p.default for n, p in parameters.items() if p.default is not inspect.Parameter.empty}
    values = defaults | given
    if "ctx" in values:
        values["ctx"] = values["ctx"].obj
    return {name: (type(value), value) for name, value in values.items()}


VALUES = st.one_of(
    st.sampled_from(["0", "1", "7"]),
    st.sampled_from(["a", "b.yaml", "K=V", "x/../y", ".", "", "-", "--", "--help", "--json", "-p", "nonsense", "é ü"]),
    st.sampled_from(["-1", "-0", "007", "+7", " 7", "1_0", "7.0", "1e3", "٣", "9" * 17, "9" * 30]),
    st.text(st.characters(blacklist_characters="\0"), max_size=4),
)
"""NUL cannot stand on a command line."""


def pieces(command):
    """Parts of a command line: mostly as it is spelled, sometimes nearly so."""
    spellings = [spelling for parameter in PARAMETERS[command] for spelling in parameter[1]]
    parts = [st.tuples(VALUES)]
    if spellings:
        option = st.sampled_from(spellings)
        nearly = st.builds(
            lambda spelling, change: change(spelling),
            option,
            st.sampled_from([str.upper, lambda s: s[:-1], lambda s: s + "x", lambda s: s[1:], lambda s: "-" + s]),
        )
        parts += [
            st.tuples(option),
            st.tuples(option, VALUES),
            st.builds(lambda name, value: (f"{name}={value}",), option, VALUES),
            st.builds(lambda name, value: (f"{name}{value}",), option, VALUES),
            st.tuples(nearly),
        ]
    return st.lists(st.one_of(parts), max_size=4).map(lambda found: [word for part in found for word in part])


@pytest.mark.parametrize("command", COMMANDS)
def test_the_reader_reads_what_typer_reads_or_nothing(command, capsys):
    @SETTINGS
    @given(pieces(command))
    def check(words):
        given = reader.read(command, words, reader.CommandContext(OPTIONS))
        if given is not None:
            expected = typer_reads(command, words)
            assert expected is not None, f"Typer refuses {words}"
            assert complete(command, given) == complete(command, expected)

    check()


@pytest.mark.parametrize("typed", [typed for examples in EXAMPLES.values() for typed, _ in examples])
def test_the_reader_reads_every_example(typed):
    words = shlex.split(typed.partition(" > ")[0])[1:]
    command = words[0] if words[0] in COMMANDS else " ".join(words[:2])
    rest = words[len(command.split()) :]
    given = reader.read(command, rest, reader.CommandContext(OPTIONS))
    assert given is not None
    assert complete(command, given) == complete(command, typer_reads(command, rest))


@pytest.mark.parametrize(
    "words", [["--", "--odd"], ["-"], ["a", "--sarif=f"], ["--sarif", "--json", "a"], ["a", "--json", "--json"], [""]]
)
def test_the_reader_reads_lines_that_only_look_odd(words):
    given = reader.read("validate", words, reader.CommandContext(OPTIONS))
    assert given is not None
    assert complete("validate", given) == complete("validate", typer_reads("validate", words))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("validate", []),
        ("validate", ["--help"]),
        ("validate", ["a", "--sarif"]),
        ("validate", ["a", "--jso"]),
        ("validate", ["a", "--json=1"]),
        ("runs list", ["-n", "0"]),
        ("runs list", ["-n=1"]),
        ("runs list", ["-n1"]),
        ("runs show", ["a", "b"]),
        ("approve", []),
        ("nonsense", []),
        ("runs", []),
    ],
)
def test_the_reader_leaves_the_rest_to_typer(command, words):
    assert reader.read(command, words, reader.CommandContext(OPTIONS)) is None


def test_every_command_is_in_the_table_with_types_the_reader_knows():
    assert list(PARAMETERS) == list(COMMANDS)
    assert {path.split()[0] for path in COMMANDS} == set(VERBS)
    kinds = {kind for parameters in PARAMETERS.values() for _, _, kind, *_ in parameters}
    assert kinds == {"context", "count", "flag", "text", "int", "path"}
