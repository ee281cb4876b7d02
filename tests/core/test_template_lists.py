"""The functions of lists, maps, lines and times, in both syntaxes."""

from __future__ import annotations

import pytest

from gert_core.template import (
    ListResults,
    MappingVariables,
    MapResults,
    TemplateError,
    UndefinedVariable,
    compile_value,
    infer,
)

DATA = {
    "hosts": [{"name": "a", "up": True, "n": 2}, {"name": "b", "up": False, "n": 1}, {"name": "c"}],
    "loop": ListResults(
        [{"v": 1}, None, {"v": 3}],
        [{"status": "success"}, {"status": "skipped"}, {"status": "failed", "failure": {"kind": "exit"}}],
    ),
    "calm": ListResults([{"v": 1}, {"v": 2}], [{"status": "success", "failure": None}] * 2),
    "broken": ListResults([{}, None], [{"status": "failed"}, {"status": "skipped"}]),
    "keyed": MapResults({"x": {"v": 1}, "y": None}, {"x": {"status": "success"}, "y": {"status": "skipped"}}),
    "pods": {"one": {"phase": "up"}, "two": {"phase": "down"}},
    "text": "one\r\ntwo\n",
    "nums": [3, 1, 3],
    "time": "2026-02-03T04:05:06.7+02:00",
    "date": "D",
    "first": "F",
    "none": [],
}
VARS = MappingVariables(DATA)


def render(raw):
    return compile_value("{{ " + raw + " }}").render(VARS)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('where .hosts "up" true', [DATA["hosts"][0]]),
        ('.hosts | where "name" "b" | pluck "n"', [1]),
        ('where .none "anything" 1', []),
        ('where .pods "phase" "down"', [{"phase": "down"}]),
        ('pluck .hosts "name"', ["a", "b", "c"]),
        # facts about the items of a loop are found beside their values, and stay findable
        ('where .loop "status" "failed"', [{"v": 3}]),
        ('where .keyed "status" "skipped"', [None]),
        ('pluck .hosts "n"', [2, 1, None]),
        ('pluck .loop "v"', [1, None, 3]),
        ('pluck .loop "failure.kind"', [None, None, "exit"]),
        ('pluck .calm "failure.kind"', [None, None]),
        ('where .calm "failure.kind" "exit"', []),
        ('pluck .broken "v"', [None, None]),
        ('where .broken "v" 1', []),
        ('pluck .none "v"', []),
        ('pluck .loop "status"', ["success", "skipped", "failed"]),
        ('where (values .keyed) "status" "skipped"', [None]),
        ('pluck (where .loop "status" "failed") "failure.kind"', ["exit"]),
        ('index (where .loop "status" "failed") 0 "failure" "kind"', "exit"),
        ("keys .pods", ["one", "two"]),
        ('pluck (values .pods) "phase"', ["up", "down"]),
        ("lines .text", ["one", "two"]),
        ('lines ""', []),
        ("range 3", [0, 1, 2]),
        ("range 1 10 4", [1, 5, 9]),
        ("range 3 0 -1", [3, 2, 1]),
        ('regexReplace "(o)n(?P<x>e)" "$1-${x}$$" "one none"', "o-e$ no-e$"),
        ('"é1é22" | regexReplace "[0-9]+" "<$0>"', "é<1>é<22>"),
        ('regexReplace "x*" "-" "axb"', "-a--b-"),
        ("first .nums", 3),
        ("last .nums", 3),
        ("first .none | default 7", 7),
        ("sum .nums", 7),
        ("sum .none", 0),
        ("min .nums", 1),
        ('max 3 "10" 4', "10"),
        ("max .none | default 0", 0),
        ("sort .nums", [1, 3, 3]),
        ("uniq .nums", [3, 1]),
        ('date "%Y-%m-%d %H:%M:%S %z %a %B %j" .time', "2026-02-03 04:05:06 +0200 Tue February 034"),
        ('.time | date "%F"', "2026-02-03"),
        ('date "%F %T %z %s" 86400', "1970-01-02 00:00:00 +0000 86400"),
        ('date "%I %p 100%%" "2026-02-03T00:30:00Z"', "12 AM 100%"),
        # the Jinja form
        ('hosts | selectattr("up") | map(attribute="name") | list', ["a"]),
        ('hosts | selectattr("n", "gt", 1) | map(attribute="name")', ["a"]),
        ('hosts | selectattr("n", ">", 1) | map(attribute="name")', ["a"]),
        ('hosts | rejectattr("name", "in", ["a"]) | map(attribute="name") | join(",")', "b,c"),
        ('hosts | selectattr("n", "undefined") | map(attribute="name")', ["c"]),
        ('hosts | selectattr("n", "defined") | max(attribute="n")', DATA["hosts"][0]),
        ('hosts | selectattr("name", "matches", "^[ab]$") | map(attribute="name")', ["a", "b"]),
        ('hosts | map(attribute="n", default=0) | sum', 3),
        ('hosts | map(attribute="n")', [2, 1, None]),
        ('loop | map(attribute="v")', [1, None, 3]),
        ('loop | selectattr("status", "eq", "failed") | map(attribute="failure.kind")', ["exit"]),
        ('keyed | values | list | selectattr("status", "eq", "success")', [{"v": 1}]),
        ('nums | select("gt", 2) | unique', [3]),
        ('nums | reject("odd")', []),
        ("[1, 0, 2] | select", [1, 2]),
        ('["a", "B"] | map("upper")', ["A", "B"]),
        ('["a", "B"] | map("replace", "a", "c")', ["c", "B"]),
        ("pods | items", [["one", {"phase": "up"}], ["two", {"phase": "down"}]]),
        ('hosts | unique(attribute="name") | length', 3),
        ('hosts | where("name", "a") | pluck("n")', [2]),
        ('time | date("%Y")', "2026"),
        ("range(2)", [0, 1]),
        # a variable may still have the name of a function
        ("date", "D"),
        ("date | upper", "D"),
        ("first or date", "F"),
        ('date in "D"', True),
        ("date if first else 1", "D"),
    ],
)
def test_gives(raw, expected):
    assert render(raw) == expected


@pytest.mark.parametrize(
    ("raw", "message", "hint"),
    [
        ('where .hosts "nme" 1', "no item of the list of 3 has the field `nme`", "did you mean `name`?"),
        ('hosts | rejectattr("nme")', "no item of the list of 3 has the field `nme`", "did you mean `name`?"),
        ('where .date "x" 1', "`where` needs a list, not a string", None),
        ('pluck .hosts "nme"', "no item of the list of 3 has the field `nme`", "did you mean `name`?"),
        ('hosts | map(attribute="nme")', "no item of the list of 3 has the field `nme`", "did you mean `name`?"),
        ('pluck .loop "w"', "no item of the list of 3 has the field `w`", None),
        ('pluck .nums "w"', "no item of the list of 3 has the field `w`", None),
        ("keys .nums", "`keys` needs a map, not a list", None),
        ("range .hosts", "`range` needs integers, not a list", "templates are expressions only: a step with"),
        ("range 1 2 0", "the step of `range` cannot be 0", None),
        ("range 50001", "`range` gives at most 50,000 numbers", None),
        ('regexReplace "a" "$1" "a"', "the pattern has no group for `$1`", "write `$$` for a dollar sign"),
        ('regexReplace "(" "" "a"', "the pattern is not a valid regular expression", None),
        ("first .none", "`first` of an empty value is not defined", "give it a default"),
        ("sum .hosts", "`+` needs numbers, not a map", None),
        ("sort .hosts", "a map and a map cannot be ordered", None),
        ('date "%Q" .time', "`date` does not know `%Q`", "it knows %Y"),
        ('date "%c" .time', "`date` does not know `%c`", "it knows %Y"),
        ('date .time "%Y"', "the subject of `date` comes last", 'write `date "..." .value`'),
        ('date "%Y" "soon"', "`date` needs a time such as", "give the format first"),
        ('date "%Y" (now)', "`now` is not a function", "a resumed run must see the same values"),
        ("now()", "`now` cannot be called", "a resumed run must see the same values"),
        ('hosts | map("name")', "`map` needs a field, or the name of a filter", 'write `map(attribute="name")`'),
        ('hosts | map("map", "x")', "`map` needs a field, or the name of a filter", None),
        ("hosts | map(date)", "`map` needs a field, or the name of a filter", "write its name in quotes"),
        ('hosts | selectattr("n", "near", 1)', '`selectattr` needs the name of a test, such as "eq"', "did you mean"),
        ('hosts | selectattr("n", "eq")', "the test `eq` takes 1 arguments, not 0", None),
        ("hosts | selectattr", "`selectattr` needs a field", 'write `selectattr("field", "eq", value)`'),
        ('hosts | select(attribute="n")', "the filter `select` takes no argument `attribute` here", None),
    ],
)
def test_refuses(raw, message, hint):
    with pytest.raises(TemplateError) as caught:
        render(raw)
    assert caught.value.message.startswith(message)
    assert (caught.value.hint or "").startswith(hint or "")


def test_an_empty_list_and_a_missing_field_take_a_default():
    assert render('where .hosts "nme" 1 | default 5') == 5
    with pytest.raises(UndefinedVariable):
        render("last .none")


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ('where .hosts "up" true', "list"),
        ('pluck .hosts "n"', "list"),
        ("keys .pods", "list"),
        ("lines .text", "list"),
        ("range 3", "list"),
        ('date "%F" .time', "string"),
        ('regexReplace "a" "b" .text', "string"),
        ("sum .nums", "any"),
        ('hosts | selectattr("up")', "list"),
        ('hosts | map("upper")', "list"),
        ("pods | items", "list"),
    ],
)
def test_types_are_inferred_and_references_tracked(raw, kind):
    template = compile_value("{{ " + raw + " }}")
    assert infer(template, lambda _: "any") == kind
    names = {reference.path[0] for reference in template.references()}
    assert names == {word for word in ("hosts", "pods", "text", "time", "nums") if word in raw}


def test_lists_keep_their_input_unchanged():
    before = repr(DATA)
    for raw in ("sort .nums", "uniq .nums", 'hosts | map(attribute="name")', 'where .loop "status" "failed"'):
        render(raw)
    assert repr(DATA) == before
