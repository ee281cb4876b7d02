"""The kernel form: every function, typed results, undefined names, conditions."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gert_core.template import (
    MappingVariables,
    TemplateError,
    UndefinedVariable,
    compile_condition,
    compile_value,
    equal,
    infer,
    order,
    to_text,
    truth,
    walk,
)

DATA = {
    "hostname": "srv1",
    "status": "x",
    "status_code": "200",
    "n": 5,
    "f": 1.5,
    "yes": True,
    "no": False,
    "optional": None,
    "empty": "",
    "nodes": ["a", "b"],
    "none_nodes": [],
    "config": {"port": 8080, "x-team": "core", "0": "zero", "deep": {"1": [10, 20]}},
    "check_node": [{"status_code": 200}, {"status_code": 503}],
    "check-dns": {"passed": True},
    "scope": {"round": {"0": {"skeptic": {"answer": "no"}}}},
    "verify": {"retry_count": 1},
    "health_endpoint": "/healthz",
    "max_retries": 2,
    "json": '{"a": [1, 2]}',
    "braces": "{{ .hostname }}",
}
VARS = MappingVariables(DATA)


def render(raw):
    return compile_value(raw).render(VARS)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        # the templates of K section 16
        ("https://{{ .hostname }}{{ .health_endpoint }}", "https://srv1/healthz"),
        ("{{ .status_code }}", "200"),
        ('{{ eq .status_code "200" }}', True),
        ('{{ eq .status_code "503" }}', False),
        ('{{ ne .status_code "200" }}', False),
        ("{{ .max_retries }}", 2),
        ("{{ .verify.retry_count }}", 1),
        ("Unexpected status {{ .status_code }}. Investigate manually.", "Unexpected status 200. Investigate manually."),
        # paths
        ("{{.hostname}}", "srv1"),
        ("{{ .config.port }}", 8080),
        ("{{ .config.x-team }}", "core"),
        ("{{ .config.0 }}", "zero"),
        ("{{ .config.deep.1.0 }}", 10),
        ("{{ .check-dns.passed }}", True),
        ("{{ .check_node.1.status_code }}", 503),
        ("{{ .scope.round/0.skeptic.answer }}", "no"),
        ("{{ .scope.round.0.skeptic/answer }}", "no"),
        ("{{ .scope.round/0 }}", {"skeptic": {"answer": "no"}}),
        ('{{ index .check_node 0 "status_code" }}', 200),
        ("{{ index .check_node -1 }}", {"status_code": 503}),
        ("{{ (index .check_node 0).status_code }}", 200),
        ("{{ index .nodes (len .none_nodes) }}", "a"),
        ('{{ index .config "x-team" }}', "core"),
        # typed or text
        ("{{ .n }}", 5),
        ("{{ .nodes }}", ["a", "b"]),
        ("{{ .yes }}", True),
        ("{{ .optional }}", None),
        ("n={{ .n }}", "n=5"),
        (" {{ .n }}", " 5"),
        ("{{ .n }}{{ .n }}", "55"),
        ("l={{ .nodes }} m={{ .check_node }}", 'l=["a","b"] m=[{"status_code":200},{"status_code":503}]'),
        ("{{ .yes }}/{{ .no }}/{{ .optional }}/{{ .f }}", "true/false//1.5"),
        # literals
        ('{{ "{{" }}', "{{"),
        ('a {{ "{{" }} b {{ "}}" }}', "a {{ b }}"),
        ('{{ "a\\"b\\n\\u00e9" }}', 'a"b\né'),
        ('{{ "\\ud83d\\ude00" }}', "😀"),
        ("{{ 'single' }}", "single"),
        ("{{ `ra\\w` }}", "ra\\w"),
        ("{{ 12 }}", 12),
        ("{{ -1.5 }}", -1.5),
        ("{{ true }}", True),
        ("{{ null }}", None),
        ("{{ nil }}", None),
        # values that came from data are never rendered again
        ("{{ .braces }}", "{{ .hostname }}"),
        ("x {{ .braces }}", "x {{ .hostname }}"),
        # comparisons
        ("{{ eq .n 5 }}", True),
        ('{{ eq .n "5" }}', True),
        ('{{ eq .yes "true" }}', True),
        ('{{ eq .no "true" }}', False),
        ('{{ eq .status "a" "x" }}', True),
        ("{{ lt .n 10 }}", True),
        ('{{ lt "9" "10" }}', True),
        ('{{ gt "b" "a" }}', True),
        ("{{ ge .n 5 }}", True),
        ("{{ le .n 4 }}", False),
        ('{{ and (eq .status "x") (gt .n 3) }}', True),
        ("{{ or .empty .hostname }}", "srv1"),
        ("{{ and .yes .empty }}", ""),
        ("{{ and .no .undefined_but_never_asked }}", False),
        ("{{ not .optional }}", True),
        # functions, direct and piped
        ("{{ len .nodes }}", 2),
        ("{{ .hostname | len }}", 4),
        ("{{ len .optional }}", 0),
        ('{{ .hostname | contains "rv" }}', True),
        ('{{ contains "a" .nodes }}', True),
        ('{{ contains "port" .config }}', True),
        ('{{ hasPrefix "srv" .hostname }}', True),
        ('{{ .hostname | hasSuffix "2" }}', False),
        ('{{ .hostname | matches "^srv\\\\d$" }}', True),
        ("{{ matches `^\\d+$` .hostname }}", False),
        ('{{ .optional | default "none" }}', "none"),
        ('{{ .undefined | default "none" }}', "none"),
        ('{{ .undefined.deeper | upper | default "none" }}', "none"),
        ('{{ .empty | default "none" }}', ""),
        ('{{ .no | default "none" }}', False),
        ("{{ default .n .undefined }}", 5),
        ("{{ .hostname | upper | lower }}", "srv1"),
        ('{{ trim "  a " }}', "a"),
        ('{{ split "," "a,b" }}', ["a", "b"]),
        ('{{ .nodes | join "-" }}', "a-b"),
        ('{{ .hostname | replace "srv" "web" }}', "web1"),
        ('{{ printf "%s-%03d %.2f %q %t%%" .hostname .n .f "q" .yes }}', 'srv1-005 1.50 "q" true%'),
        ('{{ .n | printf "[%-4d|%4v]" .n }}', "[5   |   5]"),
        ("{{ toJson .config.deep }}", '{"1":[10,20]}'),
        ("{{ fromJson .json }}", {"a": [1, 2]}),
        ("{{ (fromJson .json).a.1 }}", 2),
        ('{{ int "12" }}', 12),
        ("{{ int 3.9 }}", 3),
        ('{{ float "1.5" }}', 1.5),
        ("{{ string .n }}", "5"),
        ('{{ bool "false" }}', False),
        # collections
        ({"a": ["{{ .n }}", {"b": "x{{ .n }}"}], "c": 1}, {"a": [5, {"b": "x5"}], "c": 1}),
        # text that only looks like a template
        ("%{http_code} ${#list[@]} {%Y} }} {", "%{http_code} ${#list[@]} {%Y} }} {"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
    ],
)
def test_render(raw: object, expected: object) -> None:
    found = render(raw)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("raw", "says", "hint", "offset"),
    [
        ("{{", "not closed", "}}", 0),
        ("ab {{ .x", "not closed", "}}", 3),
        ("{{ }}", "empty", None, 2),
        ("{{ . }}", "needs a name", ".name", 3),
        ("{{ .a. }}", "must follow", None, 5),
        ("{{ .a | foo }}", "`foo` is not a function", None, 8),
        ("{{ .a | length }}", "is not a function", "`len`", 8),
        ("{{ .a | }}", "must follow `|`", None, None),
        ("{{ eq .a }}", "takes 2 or more arguments, not 1", None, 3),
        ("{{ not .a .b }}", "takes 1 argument, not 2", None, 3),
        ("{{ eq (.a }}", "not closed", None, 6),
        ("{{ eq .a 1) }}", "unexpected `)`", "parenthesis", 10),
        ("{{ .a .b }}", "unexpected `.b`", "first", 6),
        ('{{ eq .a "x }}', "not closed", None, 9),
        ('{{ "\\q" | eq .a }}', "not a valid escape", "backslash", 3),
        ("{{- .a }}", "unexpected `-`", "not supported", 2),
        ("{{ if .a }}", "is not a function", "expressions only", 3),
        ("{{ with .a }}", "is not a function", "expressions only", 3),
        ("{{ .a == 1 }}", "unexpected `==`", "write `eq .a 1`", 6),
        ("{{ (index .a 0) == 1 }}", "unexpected `==`", "write `eq .a .b`", 16),
        ("{% if x %}a{% endif %}", "statements", "{%", 0),
        ("a {# note #}", "comments", "{#", 2),
        ("{% if {{ .a }} %}", "statements", None, 0),
        ('{{ contains .hostname "s" }}', "comes last", ".value | contains", 3),
        ("{{ " + "(" * 51 + ".a" + ")" * 51 + " }}", "deeper than 50", None, None),
        ("{{ .a" + " | upper" * 51 + " }}", "deeper than 50", None, None),
        ('{{ eq .a "' + "x" * 8192 + '" }}', "8 KiB", None, 0),
        ('{{ printf "%s"' + " (upper .a)" * 201 + " }}", "too expensive", None, None),
    ],
)
def test_refused(raw: str, says: str, hint: str | None, offset: int | None) -> None:
    with pytest.raises(TemplateError) as raised:
        compile_value({"list": [raw]})
    assert says in raised.value.message
    assert hint is None or hint in (raised.value.hint or "")
    assert offset is None or raised.value.offset == offset
    assert raised.value.rule == "template-syntax"


@pytest.mark.parametrize(
    ("raw", "path", "near"),
    [
        ("{{ .hostnme }}", ("hostnme",), ".hostname"),
        ('{{ eq .status_cod "x" }}', ("status_cod",), ".status_code"),
        ("{{ .config.prt }}", ("config", "prt"), ".config.port"),
        ("{{ .zzzzzz }}", ("zzzzzz",), None),
        ("{{ .hostname.x }}", ("hostname", "x"), ".hostname"),
        ("{{ .nodes.7 }}", ("nodes", "7"), ".nodes"),
        ("{{ .optional.x }}", ("optional", "x"), ".optional"),
        ('{{ .n | default "x" | printf "%d %s" .zzzzzz }}', ("zzzzzz",), None),
    ],
)
def test_undefined(raw: str, path: tuple[str, ...], near: str | None) -> None:
    with pytest.raises(UndefinedVariable) as raised:
        render(raw)
    assert raised.value.path == path
    assert ("`." + ".".join(path) + "` is not defined") in raised.value.message
    assert (f"did you mean `{near}`?" in raised.value.message) is (near is not None)
    assert raised.value.rule == "unresolved-variable"
    assert raised.value.suggestion(["nothing alike"]) is None


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("{{ len .n }}", "`len` needs"),
        ("{{ lt .nodes 1 }}", "cannot be ordered"),
        ('{{ lt .n "abc" }}', "cannot be ordered"),
        ('{{ join "," .n }}', "needs a list"),
        ("{{ upper .nodes }}", "needs a string"),
        ('{{ int "abc" }}', "needs a number"),
        ('{{ float "nan" }}', "needs a number"),
        ('{{ fromJson "{" }}', "not valid JSON"),
        ('{{ fromJson "NaN" }}', "does not accept NaN"),
        ("{{ fromJson `1e999` }}", "cannot be converted to JSON"),
        ('{{ fromJson `"\\ud800"` }}', "surrogate"),
        ('{{ printf "%d" "x" }}', "an integer"),
        ('{{ printf "%s" }}', "no argument"),
        ('{{ printf "%y" 1 }}', "does not support"),
        ('{{ printf "" 1 }}', "1 arguments for 0"),
        ('{{ replace "" "x" .hostname }}', "to search for"),
        ('{{ matches "(" .hostname }}', "pattern"),
        ("{{ index .nodes .f }}", "a key must be"),
    ],
)
def test_misused_functions_name_the_expression(raw: str, says: str) -> None:
    with pytest.raises(TemplateError) as raised:
        render(raw)
    assert says in raised.value.message
    assert raised.value.message.endswith(f"in `{raw}`")


def test_static_values_are_returned_as_they_are() -> None:
    for raw in ("text", 5, None, ["a", {"b": 1}], {"k": [1]}, "", "a } b"):
        template = compile_value(raw)
        assert template.static
        assert template.render(VARS) is raw
        assert template.references() == ()
    assert not compile_value(["{{ .n }}"]).static


def test_equal_texts_share_one_compiled_object() -> None:
    assert compile_value("a {{ .n }}") is compile_value("a {{ .n }}")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (True, True),
        (False, False),
        ("{{ .yes }}", True),
        (" {{ .yes }}\n", True),
        ("{{ .empty }}", False),
        ("{{ .optional }}", False),
        ("{{ .none_nodes }}", False),
        ("{{ .nodes }}", True),
        ("{{ .n }}", True),
        ('{{ "false" }}', False),
        ('{{ "  " }}', False),
        ("{{ 0 }}", False),
        ("default", True),
    ],
)
def test_conditions(raw: object, expected: bool) -> None:
    condition = compile_condition(raw)
    assert condition.test(VARS) is expected
    assert condition.is_default is (raw == "default")


@pytest.mark.parametrize("raw", ["true", "yes", "a {{ .n }}", "{{ .n }} {{ .n }}", "", None, 1, ["{{ .n }}"], ".n"])
def test_what_is_no_condition(raw: object) -> None:
    with pytest.raises(TemplateError) as raised:
        compile_condition(raw)
    assert raised.value.rule == "condition-not-expression"
    assert raised.value.hint


def test_a_condition_knows_when_it_is_constant() -> None:
    assert compile_condition(False).always is False
    assert compile_condition("{{ true }}").always is True
    assert compile_condition("{{ eq 1 1 }}").always is None, "nothing is evaluated while validating"
    assert compile_condition("{{ .n }}").always is None


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (200, "200", True),
        (200, "200.0", True),
        (200.0, 200, True),
        ("200", "200.0", False),
        (8, "08", True),
        (True, "true", True),
        (True, "True", False),
        (False, "false", True),
        (True, 1, False),
        (0, False, False),
        (None, None, True),
        (None, "", False),
        (None, 0, False),
        ("", 0, False),
        ([1, "2"], ["1", 2], True),
        ({"a": True}, {"a": "true"}, True),
        ({"a": 1}, {"b": 1}, False),
        ([1], {"0": 1}, False),
        ([], "", False),
        (1, "1e0", True),
        (1, "0x1", False),
        (1, " 1", False),
    ],
)
def test_equal(left: object, right: object, same: bool) -> None:
    assert equal(left, right) is same
    assert equal(right, left) is same


def test_order_truth_text_walk() -> None:
    assert order("9", 10) == -1
    assert order("9", "10") == -1
    assert order("a", "b") == -1
    assert order(2, 2.0) == 0
    for pair in ((None, 1), ([], []), (True, 1), ("a", 1)):
        with pytest.raises(TemplateError, match="cannot be ordered"):
            order(*pair)
    assert [truth(v) for v in ("", " ", "false", "0", "False", 0, 0.0, None, [], {}, [0])] == [
        *[False] * 3, True, True, *[False] * 5, True,
    ]  # fmt: skip
    assert [to_text(v) for v in (None, True, 1, 1.0, 1.5, "x", {"é": [None]})] == [
        "", "true", "1", "1.0", "1.5", "x", '{"é":[null]}',
    ]  # fmt: skip
    assert walk({"a": [1, 2]}, ("a", "-1"), full=("x", "a", "-1")) == 2
    with pytest.raises(UndefinedVariable, match=r"`\.x\.a\.9`"):
        walk({"a": [1, 2]}, ("a", "9"), full=("x", "a", "9"))


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ("{{ .n }}", "int"),
        ("{{ .unknown }}", "any"),
        ("a{{ .n }}", "string"),
        ("plain", "string"),
        (5, "int"),
        (1.5, "float"),
        (True, "bool"),
        (None, "any"),
        ([1], "list"),
        (["{{ .n }}"], "list"),
        ({"a": "{{ .n }}"}, "object"),
        ("{{ eq .n 1 }}", "bool"),
        ("{{ and (eq .n 1) (not .n) }}", "bool"),
        ("{{ or .n 5 }}", "int"),
        ("{{ len .n }}", "int"),
        ("{{ .n | default 3 }}", "int"),
        ('{{ .n | default "x" }}', "any"),
        ("{{ .n | string }}", "string"),
        ('{{ split "," .n }}', "list"),
        ("{{ fromJson .n }}", "any"),
        ('{{ "text" }}', "string"),
        ("{{ index .n .n }}", "any"),
        ("{{ n + 1 }}", "int"),
        ("{{ n + 1.5 }}", "float"),
        ("{{ n / 2 }}", "float"),
        ("{{ 'a' + 'b' }}", "string"),
        ("{{ n ~ 'b' }}", "string"),
        ("{{ n == 1 and n < 3 }}", "bool"),
        ("{{ 1 < n < 3 }}", "bool"),
        ("{{ n is defined }}", "bool"),
        ("{{ [n] }}", "list"),
        ("{{ {'a': n} }}", "object"),
        ("{{ 'a' if n else 'b' }}", "string"),
        ("{{ n | length }}", "int"),
    ],
)
def test_infer(raw: object, kind: str) -> None:
    assert infer(compile_value(raw), {("n",): "int"}.get) == kind


def test_a_condition_is_a_boolean() -> None:
    assert infer(compile_condition("{{ .n }}"), lambda _: "int") == "bool"


def test_the_kernel_form_needs_no_jinja() -> None:
    code = (
        "import sys; from gert_core.template import *\n"
        "v = MappingVariables({'a': 'x'})\n"
        "compile_value('{{ eq .a \"x\" }} {{ .a | matches `x+` }}').render(v)\n"
        "assert 'jinja2' not in sys.modules and 'pydantic' not in sys.modules and 'yaml' not in sys.modules\n"
        "compile_value('{{ a == 1 }}'); assert 'jinja2' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
