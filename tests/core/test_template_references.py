"""References from the tree of both forms, and partial rendering."""

from __future__ import annotations

import pytest

from gert_core.api.results import Undecided
from gert_core.template import MappingVariables, Symbol, compile_condition, compile_value


@pytest.mark.parametrize(
    ("raw", "paths"),
    [
        ("{{ .a }}", [("a",)]),
        ("x{{ .a.b }}y{{ .c }}", [("a", "b"), ("c",)]),
        ('{{ eq .a "x" }}', [("a",)]),
        ("{{ and (eq .a .b) (not (gt .c 1)) }}", [("a",), ("b",), ("c",)]),
        ('{{ index .check_node 0 "status_code" }}', [("check_node", "0", "status_code")]),
        ("{{ index .nodes .i }}", [("nodes",), ("i",)]),
        ('{{ index .nodes 1 .i "x" }}', [("nodes", "1"), ("i",)]),
        ("{{ (index .nodes 0).name }}", [("nodes", "0", "name")]),
        ('{{ .a | upper | printf "%s%s" .b }}', [("b",), ("a",)]),
        ("{{ .scope.round/0.x }}", [("scope", "round", "0", "x")]),
        ("{{ a }}", [("a",)]),
        ("{{ a.b[0]['c-d'].e }}", [("a", "b", "0", "c-d", "e")]),
        ("{{ a[b].c }}", [("a",), ("b",)]),
        ("{{ a == b and c in [d, {'k': e}] }}", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("{{ a | replace(b, 'x') | length }}", [("a",), ("b",)]),
        ("{{ a if b else c }}", [("b",), ("a",), ("c",)]),
        ("{{ a[b:c] ~ d }}", [("a",), ("b",), ("c",), ("d",)]),
        ("{{ scope['round/0'].x }}", [("scope", "round", "0", "x")]),
        ("{{ x is even }}", [("x",)]),
        ("plain", []),
        ('{{ ".a" }}', []),
    ],
)
def test_paths(raw: str, paths: list[tuple[str, ...]]) -> None:
    assert [r.path for r in compile_value(raw).references()] == paths


@pytest.mark.parametrize(
    ("raw", "guarded"),
    [
        ("{{ .a | default .b }}", {("a",): True, ("b",): False}),
        ("{{ default .b (upper .a) }}", {("a",): True, ("b",): False}),
        ("{{ a | default(b) }}", {("a",): True, ("b",): False}),
        ("{{ a is defined }}", {("a",): True}),
        ("{{ a is undefined }}", {("a",): True}),
        ("{{ .a }}", {("a",): False}),
    ],
)
def test_guarded(raw: str, guarded: dict[tuple[str, ...], bool]) -> None:
    assert {r.path: r.guarded for r in compile_value(raw).references()} == guarded


def test_places_inside_nested_values() -> None:
    template = compile_value({"url": "a {{ .x }}", "list": [1, {"k": "{{ eq .y 1 }}"}, "{{ zz == 1 }}"]})
    found = [(r.where, r.path, r.offset, r.source) for r in template.references()]
    assert found == [
        (("url",), ("x",), 5, ".x"),
        (("list", 1, "k"), ("y",), 6, "eq .y 1"),
        (("list", 2), ("zz",), 3, "zz == 1"),
    ]


def test_the_offset_points_at_the_variable() -> None:
    text = "{{ and (eq .first 1) (gt .second 2) }}"
    for reference in compile_condition(text).references():
        assert text[reference.offset :].startswith("." + reference.path[0])


class Half:
    """Knows `known`; `later` is decided only by a real run."""

    def resolve(self, path: tuple[str, ...]) -> object:
        if path[0] == "later":
            raise Undecided(".".join(path))
        return MappingVariables({"known": 5, "box": {"x": Symbol("{{ .later }}")}}).resolve(path)

    def names(self) -> list[str]:
        return ["known", "later"]


@pytest.mark.parametrize(
    ("raw", "expected", "kind"),
    [
        ("{{ .known }}", 5, int),
        ("{{ .later }}", "{{ .later }}", Symbol),
        ("{{.later.x}}", "{{.later.x}}", Symbol),
        ('{{ eq .later "x" }}', '{{ eq .later "x" }}', Symbol),
        ("a {{ .known }} {{ .later }}", "a 5 {{ .later }}", Symbol),
        ("a {{ .known }}", "a 5", str),
        ('{{ .later | default "x" }}', '{{ .later | default "x" }}', Symbol),
        ("{{ and false .later }}", False, bool),
        ("{{ .box.x }}", "{{ .box.x }}", Symbol),
        ("{{ later == 1 }}", "{{ later == 1 }}", Symbol),
        (["{{ .later }}", {"k": "{{ .known }}"}], ["{{ .later }}", {"k": 5}], list),
        ("static", "static", str),
    ],
)
def test_partial_rendering_keeps_what_is_undecided(raw: object, expected: object, kind: type) -> None:
    found = compile_value(raw).render_partial(Half())
    assert found == expected
    assert type(found) is kind


def test_a_condition_says_that_it_is_undecided() -> None:
    with pytest.raises(Undecided):
        compile_condition('{{ eq .later "x" }}').test(Half())
