"""Inputs asked for at the terminal."""

from __future__ import annotations

from contextlib import nullcontext

import gert_input_prompt
import pytest

from gert_core.api import InputError, Services
from gert_core.documents.runbook import InputModel
from gert_core.engine.cancel import Deadline, Stop
from gert_core.inputs import resolve_inputs


class Typed:
    def __init__(self, *lines, interactive=True):
        self.lines = list(lines)
        self.interactive = interactive
        self.shown = []
        self.hidden = []

    def say(self, text):
        self.shown.append(text)

    def ask(self, prompt, *, deadline, hidden=False, question=None):
        self.shown.append(prompt)
        self.hidden.append(hidden)
        return self.lines.pop(0) if self.lines else None

    def exclusive(self):
        return nullcontext()


def resolve(console, **declared):
    models = {name: InputModel.model_validate({"from": "prompt", **raw}) for name, raw in declared.items()}
    resolvers = {record.name: record for record in gert_input_prompt.gert_input_resolvers()}
    return resolve_inputs(
        models,
        host_vars={},
        resolvers=resolvers,
        services=lambda _: Services(console=console),
        deadline=Deadline(Stop()),
    )


def test_description_type_and_default_are_shown():
    console = Typed("")
    done = resolve(console, zone={"type": "string", "default": "eu", "description": "Where to look."})
    assert console.shown == ["Where to look.", "zone (string) [eu]: "]
    assert (done.values, done.sources) == ({"zone": "eu"}, {"zone": "default"})


def test_choices_are_shown_and_other_values_are_asked_again():
    console = Typed("test", "prod")
    done = resolve(console, env={"enum": ["dev", "prod"], "default": "dev"})
    assert console.shown == [
        "env (dev, prod) [dev]: ",
        "env must be string: 'test' is not one of: dev, prod.",
        "env (dev, prod) [dev]: ",
    ]
    assert done.values == {"env": "prod"}


def test_the_value_typed_is_coerced():
    done = resolve(Typed("7", "a,b"), n={"type": "int"}, tags={"type": "list"})
    assert done.values == {"n": 7, "tags": ["a", "b"]}
    assert done.sources == {"n": "prompt", "tags": "prompt"}


def test_a_bad_value_is_asked_again():
    console = Typed("many", "3")
    assert resolve(console, n={"type": "int"}).values == {"n": 3}
    assert "n must be int: 'many' is not an integer." in console.shown


def test_a_required_input_is_asked_again_when_empty():
    console = Typed("", "  ", "x")
    assert resolve(console, a={"type": "string", "required": True}).values == {"a": "x"}
    assert console.shown.count("a is required.") == 2


def test_an_optional_input_may_stay_empty():
    assert resolve(Typed(""), a={"type": "string"}).sources == {"a": "none"}


def test_a_secret_is_read_hidden_and_never_repeated():
    console = Typed("hunter2x", '{"pin": "12345"}')
    done = resolve(console, login={"type": "object", "secret": True, "default": {"pin": "9999"}})
    assert console.hidden == [True, True]
    assert done.values == {"login": {"pin": "12345"}}
    assert not any("hunter" in text or "9999" in text for text in console.shown)


@pytest.mark.parametrize(
    ("declared", "typed", "given", "why"),
    [
        ({"pattern": "[0-9]{6}"}, "hunter2x", "482913", "the value does not match its pattern"),
        ({"enum": ["482913", "591034"]}, "hunter2x", "482913", "the value is not one of those that it may have"),
        ({"min": 12}, "hunter2x", "hunter2hunter2", "the value is outside of its limits"),
        ({"type": "int"}, "hunter2x", "482913", "the value is not of type int"),
    ],
)
def test_what_is_wrong_with_a_secret_is_said_without_it_and_its_limits(declared, typed, given, why):
    console = Typed(typed, given)
    done = resolve(console, pw={"secret": True, **declared})
    prompt = f"pw ({declared.get('type', 'string')}): "
    assert console.shown == [prompt, f"pw is not accepted: {why}.", prompt]
    assert str(done.values["pw"]) == given


def test_without_anybody_to_ask_the_input_is_unresolved():
    console = Typed("x", interactive=False)
    assert resolve(console, a={"type": "string", "default": "d"}).sources == {"a": "default"}
    with pytest.raises(InputError, match="'a'"):
        resolve(console, a={"type": "string", "required": True})
    assert console.shown == []


def test_the_end_of_input_leaves_the_rest_unresolved():
    done = resolve(Typed("x"), a={"type": "string"}, b={"type": "string"}, c={"type": "string", "default": "d"})
    assert done.values == {"a": "x", "b": None, "c": "d"}
