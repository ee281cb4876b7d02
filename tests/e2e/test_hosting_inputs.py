"""Hosts: what is wrong with inputs is said in the words of the surface that was given them."""

from __future__ import annotations

import pytest
from hosting import Lab

from gert_core.api import GertError
from gert_core.hosting import COMMAND_LINE, Giving


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("inputs", "giving", "told", "hint"),
    [
        ({}, None, "the required input 'size' (int) has no value", None),
        ({}, Giving(hint="fill it in"), "the required input 'size' (int) has no value", "fill it in"),
        ({}, COMMAND_LINE, "has no value", "give it with --var NAME=VALUE or --input FILE"),
        ({"size": "big"}, None, "the input 'size' must be int: ", None),
        ({"size": "big"}, COMMAND_LINE, "the input 'size' from --var must be int: ", None),
        ({"size": 99}, None, "the input 'size' is not accepted: 99 is more than 9", None),
        ({"sise": 1}, None, "'sise' is given, which the runbook does not declare as an input", "did you mean 'size'?"),
        ({"sise": 1}, COMMAND_LINE, "--var gives 'sise', which the runbook", "did you mean 'size'?"),
    ],
)
def test_errors_about_inputs_have_the_words_of_the_surface(lab, inputs, giving, told, hint):
    lab.book("", meta="inputs: { size: { type: int, required: true, max: 9 } }")
    with pytest.raises(GertError) as error:
        lab.host().start("book.yaml", inputs=inputs, giving=giving)
    assert error.value.message.startswith(told) or (told == "has no value" and told in error.value.message)
    assert error.value.hint == hint
