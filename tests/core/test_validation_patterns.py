"""Patterns written out in templates: what cannot be searched is found before a run, wherever it stands."""

from __future__ import annotations

import pytest

from gert_core.plugin.registry import Registry
from gert_core.validation import validate_file

BOOK = """\
apiVersion: kernel/v0
meta: { name: book, inputs: { host: { type: string, default: web } }, constants: { known: "CONSTANT" } }
tools: [say]
steps:
  - { id: one, type: tool, tool: say, when: "CONDITION", inputs: { words: "VALUE" } }
  - { id: done, type: end, outcome: { category: resolved } }
"""
TOOL = """\
apiVersion: tool/v0
meta: { name: say }
contract: { effects: [], inputs: { words: { type: any } } }
actions: { run: { argv: [echo, "ARGUMENT"] } }
"""
FINE = {
    "CONSTANT": "{{ .host | matches `^w` }}",
    "CONDITION": "{{ matches `^w` .host }}",
    "VALUE": "{{ host | matches('^w') }}",
    "ARGUMENT": "{{ .words }}",
}
PLACES = {
    "CONSTANT": ("book.yaml", "meta.constants.known"),
    "CONDITION": ("book.yaml", "steps[0].when"),
    "VALUE": ("book.yaml", "steps[0].inputs.words"),
    "ARGUMENT": ("say.tool.yaml", "actions.run.argv[1]"),
}


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


def findings(directory, registry, **texts):
    book, tool = BOOK, TOOL
    for name, text in (FINE | texts).items():
        book, tool = book.replace(name, text), tool.replace(name, text)
    (directory / "tools").mkdir(exist_ok=True)
    (directory / "tools" / "say.tool.yaml").write_text(tool)
    (directory / "book.yaml").write_text(book)
    found = validate_file(directory / "book.yaml", registry=registry, environ={}).diagnostics
    return [one for one in found if one.rule != "tool-invalid"]


def test_patterns_that_can_be_searched_are_fine(tmp_path, registry):
    assert findings(tmp_path, registry) == []


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("template", "rule", "says"),
    [
        ("{{ matches `a(?=b)` .NAME }}", "pattern-unsupported", "look-around (`(?=` at character 2)"),
        ("{{ .NAME | matches `(?P<x>a)(?P=x)` }}", "pattern-unsupported", "back-reference"),
        ("{{ NAME | matches('(?<!a)b') }}", "pattern-unsupported", "look-around (`(?<!`"),
        ("{{ matches('a++', NAME) }}", "pattern-unsupported", "possessive"),
        ("{{ not (matches `(?(1)a)` .NAME) }}", "pattern-unsupported", "conditional"),
        ("{{ matches `(` .NAME }}", "template-syntax", "missing )"),
        ("{{ NAME | matches('a{100000}') }}", "template-syntax", "a repetition of more than 1,000"),
    ],
)
def test_a_pattern_that_cannot_is_found_at_its_place(tmp_path, registry, place, template, rule, says):
    text = template.replace("NAME", "words" if place == "ARGUMENT" else "host")
    (found,) = findings(tmp_path, registry, **{place: text})
    file, path = PLACES[place]
    assert (found.rule, found.path) == (rule, path)
    assert str(found.file).endswith(file)
    assert says in found.message


def test_other_findings_of_the_template_are_kept(tmp_path, registry):
    found = findings(tmp_path, registry, VALUE="{{ matches `a(?=b)` .nobody }}{{ .host | matches `(` }}")
    assert sorted(one.rule for one in found) == ["pattern-unsupported", "template-syntax", "unresolved-variable"]


def test_a_pattern_that_is_a_value_is_not_judged_before_the_run(tmp_path, registry):
    assert findings(tmp_path, registry, VALUE="{{ matches .host .known }}") == []
