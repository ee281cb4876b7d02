"""Bounded regular expressions: the same matches as ``re``, never its endless searches."""

from __future__ import annotations

import contextlib
import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gert_core.template import TemplateError, check_pattern, matches
from gert_core.template.regex import _compiled, _search


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"status: (\d+)", "x status: 200 y", ("status: 200", ("200",))),
        (r"^(\w+)-(?P<v>[0-9.]+)$", "gert-1.2", ("gert-1.2", ("gert", "1.2"))),
        (r"(?i)ERROR", "an error", ("error", ())),
        (r"(?m)^b", "a\nb", ("b", ())),
        (r"(?s)a.b", "a\nb", ("a\nb", ())),
        (r"a|b|", "c", ("", ())),
        (r"(a)|(b)", "b", ("b", (None, "b"))),
        (r"x{2,3}?", "xxxx", ("xx", ())),
        (r"[]a]+", "]a", ("]a", ())),
        (r"[^\]]", "]x", ("x", ())),
        (r"\bfoo\b", "a foo b", ("foo", ())),
        (r"a{,2}b", "aab", ("aab", ())),
        (r"a{x}", "a{x}", ("a{x}", ())),
        (r"(?i:A)b", "ab", ("ab", ())),
        (r"\x41\u0042\.", "AB.", ("AB.", ())),
        (r"\A\d+\Z", "12", ("12", ())),
        (r"nope", "x", None),
        ("é+", "caféé", ("éé", ())),
    ],
)
def test_both_engines_find_what_re_finds(pattern: str, text: str, expected: tuple[str, tuple[str, ...]] | None) -> None:
    program, _ = _compiled(pattern)
    reference = re.search(pattern, text)
    assert (reference and (reference[0], reference.groups())) == expected
    for found in (matches(pattern, text), _search(program, text)):
        assert (found and (found[0], found.groups())) == expected
        if found:
            assert (found.start(), found.end(), found.span()) == (reference.start(), reference.end(), reference.span())


def test_groups_by_name() -> None:
    program, _ = _compiled(r"(?P<a>x+)+(?P<b>y)?")
    found = _search(program, "xx")
    assert (found["a"], found["b"], found.group()) == ("xx", None, "xx")
    with pytest.raises(IndexError):
        found[3]


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(", "not closed"),
        (")", "unbalanced"),
        ("[a", "not closed"),
        ("*a", "nothing to repeat"),
        ("a**", "cannot be repeated"),
        ("a\\", "backslash"),
        (r"(a)\1", "back references"),
        (r"(?P<x>a)(?P=x)", "not supported"),
        (r"(?=a)", "not supported"),
        (r"(?<!a)b", "not supported"),
        (r"(?>a)", "not supported"),
        (r"(a)(?(1)b|c)", "not supported"),
        (r"a++", "possessive"),
        (r"(a*)*", "can match nothing"),
        (r"(?:a|)+", "can match nothing"),
        (r"\b*", "can match nothing"),
        (r"(?:ab){5000}", "too large"),
        (r"a{99999}", "too large"),
        (r"((a{100}){100}){100}", "too large"),
        (r"a{3,2}", "wrong way round"),
        (r"[[:alpha:]]", "ambiguous"),
        (r"(?x) a", "flag x"),
        ("(" * 60 + ")" * 60, "nested too deeply"),
        ("a" * 1001, "1,000"),
        (r"[z-a]", "bad character range"),
        (r"\q", "bad escape"),
        (r"(?P<n>a)(?P<n>b)", "redefinition"),
    ],
)
def test_patterns_that_are_refused(pattern: str, says: str) -> None:
    with pytest.raises(TemplateError) as raised:
        check_pattern(pattern)
    assert says in raised.value.message


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(a+)+$", "a" * 100_000 + "b"),
        (r"(a+)+$", "a" * 30 + "b"),
        (r"(a|a)*$", "a" * 50_000 + "b"),
        (r"(a|aa)+$", "a" * 5_000 + "b"),
        (r"([a-zA-Z]+)*@", "a" * 100_000),
        (r"\d+ms", "1" * 1_000_000),
        (r".*.*.*x", "a" * 1_000_000),
        (r"(.*)(.*)(.*)(.*)x", "a" * 30_000),
        (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 100_000),
        (r"a*a*a*a*a*a*b", "a" * 20_000),
        (r"(x+x+)+y", "x" * 10_000),
        (r"a{500}b", "a" * 1_000_000),
        (r"(?:a{1,500}){1,3}b", "a" * 100_000),
        (r"\s+$", " " * 1_000_000 + "x"),
        (r"(\w+\s?)+!", "word " * 20_000),
        (r"(?i)(a|b|ab)*c", "AB" * 100_000),
        (r"(.+)+" * 20, "a" * 5_000),
        (r".*?.*?.*?x", "a" * 100_000),
        (r"(?:(?:a|b)?(?:a|b)?(?:a|b)?c?)x|y+z", "ab" * 100_000),
        (r"foo|bar", "x" * 10_000_000),
        (r"[a-f]{4}-[0-9]+", "abcd-" * 200_000),
    ],
)
def test_no_search_takes_long(pattern: str, text: str) -> None:
    began = time.process_time()
    with contextlib.suppress(TemplateError):
        matches(pattern, text)
    assert time.process_time() - began < 2


def test_long_ordinary_output_is_searched() -> None:
    text = "64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=0.045 ms\n" * 5000 + "5 packets, 20% packet loss\n"
    assert matches(r"(\d+)% packet loss", text)[1] == "20"
    assert matches(r"Version: (\S+)", "x" * 1_000_000 + "Version: 1.2")[1] == "1.2"


PIECES = st.recursive(
    st.sampled_from(["a", "b", "ab", ".", "[ab]", "[^a]", r"\w", r"\d", "^", "$", r"\b"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        inner.map(lambda one: f"({one})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        st.tuples(st.sampled_from(["a", ".", "[ab]"]), st.sampled_from(["*", "+", "*?", "{1,2}?"])).map("".join),
    ),
    max_leaves=8,
)


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(PIECES, st.text("aabbc 1\n", max_size=9))
def test_any_accepted_pattern_matches_as_re_does(pattern: str, text: str) -> None:
    try:
        program, reference = _compiled(pattern)
    except TemplateError:
        return
    expected, found = reference.search(text), _search(program, text)
    assert (expected and (expected.span(), expected.groups())) == (found and (found.span(), found.groups()))


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.text(r"ab01()[]{}*+?|^$.\\-,:=!<>Pxid ", max_size=20), st.text("ab01 ", max_size=12))
def test_any_text_is_a_pattern_or_a_template_error(pattern: str, text: str) -> None:
    try:
        found = matches(pattern, text)
    except TemplateError:
        return
    assert (found and found.span()) == ((again := re.search(pattern, text)) and again.span())
