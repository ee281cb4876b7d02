"""The two spellings of one expression language agree wherever both can say the same thing."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gert_core.template import MappingVariables, TemplateError, compile_condition, compile_value

EXAMPLES = settings(
    max_examples=20_000 if os.environ.get("GERT_FUZZ") else 250,
    derandomize=not os.environ.get("GERT_FUZZ"),
    deadline=None,
    database=None,
)
DATA: dict[str, Any] = {
    "n": 3,
    "zero": 0,
    "f": 2.5,
    "text": "Hello ",
    "digits": "12",
    "yes": True,
    "no": False,
    "word": "true",
    "nothing": None,
    "items": ["a", "b", 3],
    "table": {"k": "v", "deep": {"x": 1}},
    "empty": [],
}
VARIABLES = MappingVariables(DATA)
Pair = tuple[str, str]
"""An expression in kernel form and in Jinja form."""

leaves: st.SearchStrategy[Pair] = st.one_of(
    st.sampled_from([(f".{name}", name) for name in DATA]),
    st.sampled_from([(".table.k", "table.k"), (".table.deep.x", "table.deep.x"), ("(index .items 0)", "items[0]")]),
    st.integers(0, 20).map(lambda n: (str(n), str(n))),
    st.sampled_from(["a", "12", "true", "Hello "]).map(lambda s: (f'"{s}"', f'"{s}"')),
    st.sampled_from([("true", "true"), ("false", "false")]),
)
BINARY = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
FILTERS = {"len": "length", "upper": "upper", "lower": "lower", "trim": "trim", "string": "string", "toJson": "toJson"}


def grow(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    def binary(name: str, a: Pair, b: Pair) -> Pair:
        return f"({name} {a[0]} {b[0]})", f"({a[1]} {BINARY[name]} {b[1]})"

    return st.one_of(
        st.builds(binary, st.sampled_from(sorted(BINARY)), inner, inner),
        st.builds(lambda a, b: (f"(and {a[0]} {b[0]})", f"({a[1]} and {b[1]})"), inner, inner),
        st.builds(lambda a, b: (f"(or {a[0]} {b[0]})", f"({a[1]} or {b[1]})"), inner, inner),
        st.builds(lambda a: (f"(not {a[0]})", f"(not {a[1]})"), inner),
        st.builds(
            lambda name, a: (f"({name} {a[0]})", f"({a[1]} | {FILTERS[name]})"), st.sampled_from(sorted(FILTERS)), inner
        ),
        st.builds(lambda a, b: (f"(contains {a[0]} .{b})", f"({a[1]} in {b})"), inner, st.sampled_from(sorted(DATA))),
        inner.map(lambda a: (f"(.missing | default {a[0]})", f"(missing | default({a[1]}))")),
    )


expressions = st.recursive(leaves, grow, max_leaves=6)


def value_of(expression: str) -> Any:
    try:
        return compile_value(f"{{{{ {expression} }}}}").render(VARIABLES)
    except TemplateError:
        return TemplateError


def truth_of(expression: str) -> Any:
    try:
        return compile_condition(f"{{{{ {expression} }}}}").test(VARIABLES)
    except TemplateError:
        return TemplateError


@EXAMPLES
@given(pair=expressions)
def test_both_spellings_agree(pair):
    """Guarantee: value, type and truth are the same in either spelling, and an error is an error in both."""
    kernel, jinja = pair
    one, two = value_of(kernel), value_of(jinja)
    assert (one, type(one)) == (two, type(two)), pair
    assert truth_of(kernel) == truth_of(jinja), pair
