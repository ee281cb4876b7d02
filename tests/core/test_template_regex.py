"""Regular expressions: what people write means what it means in ``re``, and no search takes long."""

from __future__ import annotations

import contextlib
import os
import random
import re
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gert_core.template import TemplateError, check_pattern, matches

BITS = "".join(random.Random(1).choices("ab", k=1024 * 1024))
"""A text on which an automaton of ``[ab]*a[ab]{n}`` needs a new state at nearly every character."""


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"status: (\d+)", "x status: 200 y", ("status: 200", ("200",))),
        (r"^(\w+)-(?P<v>[0-9.]+)$", "gert-1.2", ("gert-1.2", ("gert", "1.2"))),
        (r"(?i)ERROR", "an error", ("error", ())),
        (r"(?m)^b$", "a\nb\nc", ("b", ())),
        (r"(?s)a.b", "a\nb", ("a\nb", ())),
        (r"a|b|", "c", ("", ())),
        (r"(a)|(b)", "b", ("b", (None, "b"))),
        (r"x{2,3}?", "xxxx", ("xx", ())),
        (r"[]a]+", "]a", ("]a", ())),
        (r"[^\]]", "]x", ("x", ())),
        (r"[(?=]+", "?=(", ("?=(", ())),
        (r"[](?=]+", "](?=", ("](?=", ())),
        (r"[^](?=]+", "](a", ("a", ())),
        (r"[\U0001F600-\U0001F64F]", "x😀", ("😀", ())),
        (r"\(?=a", "=a", ("=a", ())),
        (r"\bfoo\b", "a foo b", ("foo", ())),
        (r"a{,2}b", "aaab", ("aab", ())),
        (r"a{,}b", "aaab", ("aaab", ())),
        (r"a{x}", "a{x}", ("a{x}", ())),
        (r"a{}+", "a{}}", ("a{}}", ())),
        (r"[{,2}]+", "{,2}", ("{,2}", ())),
        (r"(?i:A)b", "ab", ("ab", ())),
        (r"\x41\u0042\.", "AB.", ("AB.", ())),
        (r"[\u00e0-\u00ff]+\U0001F600", "xéà😀", ("éà😀", ())),
        (r"\\u0041", "\\u0041", ("\\u0041", ())),
        (r"\101[\12]", "A\n", ("A\n", ())),
        (r"\A\d+\Z", "12", ("12", ())),
        (r"a\Z", "a\n", None),
        (r"^(a.*)$", "ab\n", ("ab", ("ab",))),
        (r"(.*)$", "ab\n", ("ab", ("ab",))),
        (r"(?s)(.*)$", "ab", ("ab", ("ab",))),
        (r"a$", "a\n\n", None),
        (r"a$", "a\nb", None),
        (r"(?m)a$", "a\nb\n", ("a", ())),
        (r"(?m)b$", "a\nb\n", ("b", ())),
        (r"$", "a\n", ("", ())),
        (r"a$|b", "ba\n", ("b", ())),
        (r"[$]\$$", "$$\n", ("$$", ())),
        (r"\\Z", "\\Z", ("\\Z", ())),
        (r"nope", "x", None),
        ("é+", "caféé", ("éé", ())),
        ("(a)*", "", ("", (None,))),
    ],
)
def test_a_pattern_means_what_it_means_in_re(
    pattern: str, text: str, expected: tuple[str, tuple[str | None, ...]] | None
) -> None:
    reference, found = re.search(pattern, text), matches(pattern, text)
    assert (reference and (reference[0], reference.groups())) == expected
    assert (found and (found.text, found.groups)) == expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        # Classes and boundaries know ASCII only; the letters of every script are \pL.
        (r"\w+", "Müller", "M"),
        (r"\d+", "٣4", "4"),
        (r"\bé", " é", None),
        (r"\pL+", "1 Müller", "Müller"),
        (r"[\pL\pN_]+", "-Größe_7-", "Größe_7"),
        (r"[[:alpha:]]+", "1ab", "ab"),
        (r"\x{41}+\p{Nd}{2}", "AA123", "AA12"),
        # Python writes \Z for it.
        (r"a\z", "a", "a"),
        (r"a\z", "a\n", None),
        # What takes the last newline in front of $ gives it back.
        (r"(?s)a.*$", "ab\n", "ab"),
    ],
)
def test_what_differs_from_re(pattern: str, text: str, expected: str | None) -> None:
    found = matches(pattern, text)
    assert (found and found.text) == expected


@pytest.mark.parametrize(
    ("pattern", "text", "part"),
    [(r"\d+", "a 12", "12"), (r"a (\d+)", "a 12", "12"), (r"(a)|(b)", "b", "b"), (r"x=(\S*)", "x= y", "")],
)
def test_a_pattern_is_written_for_its_first_group_or_the_whole(pattern: str, text: str, part: str) -> None:
    found = matches(pattern, text)
    assert found is not None
    assert found.part == part


def test_half_a_surrogate_pair_is_a_replacement_character() -> None:
    found = matches("a(.)b", "a\ud800b")
    assert found is not None
    assert found.part == "\ufffd"
    found = matches("\ud83d\ude00", "x😀")
    assert found is not None
    assert found.text == "😀"


@pytest.mark.parametrize(
    ("pattern", "what", "place"),
    [
        (r"a(?=b)", "look-around", "`(?=` at character 2"),
        (r"(?!a)b", "look-around", "`(?!` at character 1"),
        (r"(?<=a)b", "look-around", "`(?<=`"),
        (r"[]x](?<!a)b", "look-around", "`(?<!` at character 5"),
        (r"(a)\1", "back-reference", "`\\1` at character 4"),
        (r"(a)\12", "back-reference", "`\\1`"),
        (r"\8", "back-reference", "`\\8`"),
        (r"(a)\g<1>", "back-reference", "`\\g`"),
        (r"(?<n>a)\k<n>", "back-reference", "`\\k`"),
        (r"(?P<x>a)(?P=x)", "back-reference", "`(?P=`"),
        (r"(?>a)", "atomic group", "`(?>`"),
        (r"a++", "possessive", "`++` at character 2"),
        (r"a?+b", "possessive", "`?+`"),
        (r"[+]{2,}+", "possessive", "`{2,}+`"),
        (r"(a)(?(1)b|c)", "conditional", "`(?(`"),
        (r"\((?R)?\)", "recursion", "`(?R`"),
        (r"(a)(?1)", "recursion", "`(?1`"),
        (r"a(?#b)", "comment", "`(?#`"),
        (r"(?x) a", "flag", "`(?x)`"),
        (r"(?ia)a", "flag", "`(?ia)`"),
    ],
)
def test_what_has_no_linear_search_is_unsupported(pattern: str, what: str, place: str) -> None:
    with pytest.raises(TemplateError) as raised:
        check_pattern(pattern)
    assert raised.value.rule == "pattern-unsupported"
    assert what in raised.value.message
    assert place in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(", "missing ) at `(`"),
        (")", "unexpected ) at `)`"),
        ("(a$", "missing ) at `(a$`"),
        ("[a", "missing ] at `[a`"),
        ("*a", "no argument for repetition operator at `*`"),
        ("a**", "bad repetition operator at `**`"),
        ("a\\", "trailing \\"),
        (r"a{99999}", "a repetition of more than 1,000, or from more to less: `{99999}`"),
        (r"((a{100}){100}){100}", "`{100}`"),
        (r"a{3,2}", "`{3,2}`"),
        (r"\pL{150}", "too large"),
        ("a" * 1001, "1,000 characters"),
        ("[" + "a" * 999, "[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...`"),
        (r"[z-a]", "invalid character class range at `z-a`"),
        (r"\q", "invalid escape sequence at `\\q`"),
        (r"\p{Nope}", r"`\p{Nope}`"),
        (r"\C", "invalid escape sequence"),
        (r"\Qa+\E", "invalid escape sequence"),
        (r"[\E]", "invalid escape sequence"),
    ],
)
def test_patterns_that_are_malformed(pattern: str, says: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TemplateError) as raised:
        check_pattern(pattern)
    assert raised.value.rule == "template-syntax"
    assert raised.value.message.startswith("the pattern ")
    assert says in raised.value.message
    assert capfd.readouterr() == ("", "")


CATASTROPHIC = [
    (r"(a|a)*b", "a" * 40),
    (r"(a|a)*b", "a" * 1_000_000),
    (r"(a+)+$", "a" * 30 + "b"),
    (r"(a+)+$", "a" * 10_000_000 + "b"),
    (r"((a*)*)*$", "a" * 1_000_000 + "b"),
    (r"(a*)*b", "a" * 1_000_000),
    (r"(a|aa)+$", "a" * 1_000_000 + "b"),
    (r"([a-zA-Z]+)*@", "a" * 1_000_000),
    (r"(.*)(.*)(.*)(.*)(.*)x", "a" * 1_000_000),
    (r"(.*)(.*)(.*)(.*)(.*)b", "a" * 1_000_000 + "b"),
    (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 1_000_000),
    (r"a*a*a*a*a*a*a*a*b", "a" * 1_000_000),
    (r"(x+x+)+y", "x" * 1_000_000),
    (r"(x?){30}x{30}", "x" * 30),
    (r"(x?){500}x{500}y", "x" * 100_000),
    (r"a{500}b", "a" * 1_000_000),
    (r"(?:a{1,500}){1,2}b", "a" * 1_000_000),
    (r"\s+$", " " * 10_000_000 + "x"),
    (r"(\w+\s?)+!", "word " * 2_000_000),
    (r"(?i)(a|b|ab)*c", "AB" * 1_000_000),
    (r"(.+)+" * 20, "a" * 100_000),
    (r".*?.*?.*?x", "a" * 10_000_000),
    (r"(\pL+ ?)+!", "wörd " * 200_000),
    ("|".join(f"word{n}x" for n in range(120)), "word1" * 200_000),
    (r"[ab]*a[ab]{20}c", BITS),
    (r"[ab]*a[ab]{80}c", BITS),
    (r"[ab]*a[ab]{1000}c", BITS),
    (r"(a|b)*a(a|b){500}c", BITS),
    (r"((.{1,10}){1,10}){1,10}[0-9]", BITS),
]


@pytest.mark.parametrize(("pattern", "text"), CATASTROPHIC, ids=[f"{p[:30]} {len(t)}" for p, t in CATASTROPHIC])
def test_no_search_takes_long(pattern: str, text: str) -> None:
    check_pattern(pattern)
    began = time.process_time()
    with contextlib.suppress(TemplateError):
        assert not matches(pattern, text) or pattern[-1] not in "cxy@"
    assert time.process_time() - began < 2, "a second, on a machine that does nothing else"


def test_the_bound_is_on_large_patterns_over_large_texts_only() -> None:
    for pattern, text in ((r"[ab]*a[ab]{1000}c", BITS), (r"\pL+x", "wörd " * 200_000)):
        with pytest.raises(TemplateError, match="too large for a text"):
            matches(pattern, text)
        assert matches(pattern, text[:10_000]) is None
    assert matches(r"(?s)^(.*)\[HTTP \d{3} [\d.]+s\]$", "x" * 10_000_000 + "[HTTP 200 0.1s]") is not None


def test_no_pattern_takes_long_to_compile() -> None:
    worst = [r"(?i)[^\pL]{1,200}", r"\pL" * 300, r"[\pL\PL]" * 100, "(" * 490 + ")" * 490, r"(?:(?:\pL{9}){9}|" * 40]
    for pattern in worst:
        began = time.process_time()
        with contextlib.suppress(TemplateError):
            check_pattern(pattern)
        assert time.process_time() - began < 1


def test_long_ordinary_output_is_searched() -> None:
    text = "64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=0.045 ms\n" * 150_000 + "5 packets, 20% packet loss\n"
    found = matches(r"(\d+)% packet loss", text)
    assert found is not None
    assert found.part == "20"


def test_the_engine_is_imported_when_a_pattern_is_used() -> None:
    code = (
        "import sys; from gert_core.template import *\n"
        "v = MappingVariables({'a': 'x'}); compile_value('{{ .a | matches `x+` }}')\n"
        "assert 're2' not in sys.modules\n"
        "assert compile_value('{{ .a | matches `x+` }}').render(v) is True and 're2' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- properties ----------------------------------------------------------------------------------------------------

ATOMS = ["a", "b", "ab", ".", "[ab]", "[^a]", r"[\w-]", r"\w", r"\d", r"\s", r"\W", r"\.", "é"]
ANCHORS = ["^", r"\A", r"\Z", r"\b"]
QUANTIFIERS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}", "{2,}?"]


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    # What is repeated begins with a character, so that it cannot be empty: there, engines remember other groups.
    repeated = st.tuples(st.sampled_from(ATOMS), inner).map("".join)
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"(?P<n>{one})" if "(?P" not in one else one),
        st.tuples(repeated, st.sampled_from(QUANTIFIERS)).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        st.tuples(repeated, st.sampled_from(QUANTIFIERS)).map(lambda pair: f"({pair[0]}){pair[1]}"),
        st.tuples(st.sampled_from(ATOMS), st.sampled_from(QUANTIFIERS)).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    )


FUZZ = bool(os.environ.get("GERT_FUZZ"))
SETTINGS = settings(
    max_examples=10_000 if FUZZ else 500,
    derandomize=not FUZZ,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
PIECES = st.recursive(st.sampled_from([*ATOMS, *ANCHORS]), _grown, max_leaves=8)
FLAGS = st.sampled_from(["", "(?i)", "(?m)", "(?s)", "(?im)"])


@SETTINGS
@given(FLAGS, PIECES, st.text("aAbB-é. 1_\n", max_size=12))
def test_the_common_subset_is_found_as_re_finds_it(flags: str, pattern: str, text: str) -> None:
    try:
        expected = re.compile(flags + pattern, re.ASCII).search(text)
    except re.error:
        return  # a name used twice
    found = matches(flags + pattern, text)
    assert (found and (found.text, found.groups)) == (expected and (expected[0], expected.groups()))


@SETTINGS
@given(FLAGS, PIECES, st.text("aAbB-é. 1_\n", max_size=12))
def test_the_end_is_where_re_has_it(flags: str, pattern: str, text: str) -> None:
    try:
        expected = re.compile(f"{flags}{pattern}$", re.ASCII).search(text)
    except re.error:
        return
    found = matches(f"{flags}{pattern}$", text)
    assert (found and found.groups) == (expected and expected.groups())
    if found and expected:
        assert found.text in (expected[0], expected[0].removesuffix("\n"))


@SETTINGS
@given(st.text(r"ab01()[]{}*+?|^$.\\-,:=!<>PxidZuQ# ", max_size=20), st.text("ab01 é\ud800", max_size=12))
def test_any_text_is_a_pattern_or_a_template_error(pattern: str, text: str) -> None:
    try:
        found = matches(pattern, text)
    except TemplateError:
        return
    assert found is None or found.text in text.replace("\ud800", "\ufffd")
