"""No text makes a template fail in any way but a TemplateError, quickly."""

from __future__ import annotations

import json
import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gert_core.template import MappingVariables, TemplateError, compile_condition, compile_value, infer
from gert_core.template.filters import FILTERS, TESTS
from gert_core.template.functions import FUNCTIONS, SPECIAL

DATA = {"a": "x", "n": 3, "l": [1, "b", None], "m": {"k": {"z": 1.5}}, "t": True, "big": "y" * 60_000, "o": None}
VARS = MappingVariables(DATA)
FUZZ = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), database=None)
SPELLINGS = """.a .n .l .m.k .o .zz .l.0 .scope.x/0 a n l m.k.z o big "s" 't' `r` 3 -1 1.5 true null none ( ) |
[ ] { } , : == != < >= + - * / // % ** ~ in not is if else and or . 10**9 \\"""
WORDS = st.sampled_from([*SPELLINGS.split(), *FUNCTIONS, *SPECIAL, *FILTERS, *TESTS])


def check(raw: str) -> None:
    began = time.process_time()
    refused: TemplateError | None = None
    try:
        template = compile_value(raw)
        infer(template, lambda _: "int")
        references = template.references()
        for reference in references:
            assert reference.path
        value = template.render(VARS)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        assert not isinstance(value, str) or len(value) <= 1024 * 1024
        compile_condition(raw).test(VARS)
    except TemplateError as error:
        refused = error
    assert refused is None or (refused.message and 0 <= refused.offset <= len(raw))
    assert time.process_time() - began < 5


@FUZZ
@given(st.text(max_size=60))
def test_random_text(text: str) -> None:
    check("{{" + text + "}}")
    check(text)


@FUZZ
@given(st.text(alphabet="{}%#.|()[]\"'`\\ a0-+*/~,:=<>", max_size=40))
def test_random_punctuation(text: str) -> None:
    check("{{ " + text + " }}")
    check(text)


@FUZZ
@given(st.lists(WORDS, max_size=14), st.booleans())
def test_random_words(words: list[str], spaced: bool) -> None:
    check("{{ " + (" " if spaced else "").join(words) + " }}")


CALLS = st.recursive(
    st.sampled_from([".a", ".n", ".l", ".m", ".t", ".big", ".o", '"x"', "2", ".l.1"]),
    lambda inner: st.tuples(st.sampled_from([*FUNCTIONS, *SPECIAL]), st.lists(inner, min_size=1, max_size=3)).map(
        lambda pair: f"({pair[0]} {' '.join(pair[1])})"
    ),
    max_leaves=10,
)


@FUZZ
@given(CALLS)
def test_random_kernel_calls(expression: str) -> None:
    check("{{ " + expression + " }}")


FILTERED = st.recursive(
    st.sampled_from(["a", "n", "l", "m", "t", "big", "o", "'x'", "2", "l[1]", "m.k", "zz"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([*FILTERS, "default"])).map(lambda p: f"({p[0]} | {p[1]})"),
        st.tuples(inner, st.sampled_from([*FILTERS, "default"]), inner).map(lambda p: f"({p[0]} | {p[1]}({p[2]}))"),
        st.tuples(inner, st.sampled_from(["+", "-", "*", "**", "%", "~", "==", "<", "in", "and"]), inner).map(
            lambda p: f"({p[0]} {p[1]} {p[2]})"
        ),
        st.tuples(inner, st.sampled_from([*TESTS, "defined"])).map(lambda p: f"({p[0]} is {p[1]})"),
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]"),
        st.tuples(inner, inner).map(lambda p: f"{p[0]}[{p[1]}]"),
    ),
    max_leaves=8,
)


@FUZZ
@given(FILTERED)
def test_random_jinja_expressions(expression: str) -> None:
    check("{{ " + expression + " }}")
