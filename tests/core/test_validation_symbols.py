"""The names of a runbook as editors ask for them: who defines and reads each, and exactly where."""

from __future__ import annotations

import pytest

from gert_core.hosting import Host

TOOL = """
apiVersion: tool/v0
meta: { name: probe, transport: stdio, binary: echo }
contract: { effects: [process], inputs: { target: { type: string } }, outputs: { seen: { type: string } } }
actions:
  look: { argv: [echo, "{{ .target }}"], extract: { seen: { from: stdout } } }
"""
BOOK = """\
apiVersion: kernel/v0
meta:
  name: book
  inputs:
    host: { type: string, required: true }
    limit: { type: int, default: 3 }
  constants:
    greeting: "hello {{ .host }}"
tools: [./probe.tool.yaml]
steps:
  - id: look
    type: tool
    tool: ./probe.tool.yaml
    action: look
    inputs: { target: "{{ .host }}:{{ .limit }}" }
    export: [seen]
  - id: each
    type: assert
    for_each: { as: one, over: [a, b] }
    assert: [{ type: equals, value: "{{ .one }}", expected: '{{ .greeting }}' }]
  - id: again
    type: assert
    when: '{{ step.look.seen != "limit" and (limit > 2 or limit > unlimited | default(1)) }}'
    assert: [{ type: equals, value: "{{ .seen }}", expected: "{{ .look.seen }}" }]
    next: { step: each, max: "{{ .limit }}" }
  - type: end
    outcome: { category: resolved, code: fine, meta: { all: "{{ index .each 0 }}", passed: "{{ .again.passed }}" } }
"""


class Editor:
    """A directory whose runbook an editor has open."""

    def __init__(self, root):
        self.root = root
        (root / "probe.tool.yaml").write_text(TOOL)
        (root / "book.yaml").write_text(BOOK)
        self.host = Host(root)

    def names(self, text=BOOK, **more):
        found = self.host.validate("book.yaml", text=text, **more)
        self.lines = {name: document.source_line for name, document in found.documents.items()}
        return {(symbol.kind, symbol.of, symbol.name): symbol for symbol in found.symbols}

    def texts(self, places):
        """The line and the text of each place."""
        assert all(place.line == place.end_line for place in places)
        return [(p.line, self.lines[p.file](p.line)[p.column - 1 : p.end_column - 1], p.step) for p in places]


@pytest.fixture
def editor(tmp_path):
    made = Editor(tmp_path)
    yield made
    made.host.close()


@pytest.mark.parametrize(
    ("key", "defined", "read"),
    [
        (("input", None, "host"), [(5, "host", None)], [(8, "host", None), (15, "host", "look")]),
        (("input", None, "limit"), [(6, "limit", None)], [(15, "limit", "look"), (23, "limit", "again"), (23, "limit", "again"), (25, "limit", "again")]),
        (("constant", None, "greeting"), [(8, "greeting", None)], [(20, "greeting", "each")]),
        (("item", "each", "one"), [(19, "one", "each")], [(20, "one", "each")]),
        (("step", None, "look"), [(11, "look", "look")], [(23, "look", "again"), (24, "look", "again")]),
        (("step", None, "each"), [(17, "each", "each")], [(25, "each", "again"), (27, "each", "_end_1")]),
        (("output", "look", "seen"), [(11, "look", "look"), (16, "seen", "look")], [(23, "seen", "again"), (24, "seen", "again"), (24, "seen", "again")]),
        (("output", "again", "passed"), [(21, "again", "again")], [(27, "passed", "_end_1")]),
        (("tool", None, "./probe.tool.yaml"), [(9, "./probe.tool.yaml", None)], [(13, "./probe.tool.yaml", "look")]),
        (("action", "./probe.tool.yaml", "look"), [(6, "look", None)], [(14, "look", "look")]),
    ],
)  # fmt: skip
def test_a_name_is_found_where_it_stands(editor, key, defined, read):
    symbol = editor.names()[key]
    assert editor.texts(symbol.defined) == defined
    assert editor.texts(symbol.read) == read
    assert all(place.exact for place in (*symbol.defined, *symbol.read))


def test_names_have_their_types(editor):
    types = {key: symbol.type for key, symbol in editor.names().items()}
    assert types["input", None, "limit"] == "int"
    assert types["output", "look", "seen"] == "string"
    assert types["step", None, "look"] == "tool"


def test_a_definition_in_a_tool_is_in_its_file(editor):
    (place,) = editor.names()["action", "./probe.tool.yaml", "look"].defined
    assert place.file.endswith("probe.tool.yaml")
    assert place.to_json()["path"] == ["actions", "look"]


def test_a_name_that_is_spelled_in_another_way_is_not_exact(editor):
    text = BOOK.replace('"{{ .seen }}"', "\"{{ step['look']['seen'] }}\"")
    (place,) = [p for p in editor.names(text)["output", "look", "seen"].read if not p.exact]
    assert editor.texts([place]) == [(24, "\"{{ step['look']['seen'] }}\"", "again")]


def test_a_broken_runbook_keeps_the_names_it_has(editor):
    broken = BOOK.replace("    type: assert\n    for_each", "    type: no_such_type\n    for_each")
    found = editor.names(broken)
    assert editor.texts(found["input", None, "host"].read) == [(8, "host", None), (15, "host", "look")]
    assert ("step", None, "each") not in found


@pytest.mark.parametrize("end", range(0, len(BOOK), 23))
def test_a_document_that_is_cut_anywhere_has_names_or_none(editor, end):
    for symbol in editor.names(BOOK[:end]).values():
        for place in (*symbol.defined, *symbol.read):
            assert (place.line, place.column) <= (place.end_line, place.end_column)


def test_tools_and_runbooks_that_are_not_saved_are_read(editor):
    new = TOOL.replace("look:", "stare:")
    text = BOOK.replace("./probe.tool.yaml", "./new.tool.yaml").replace("action: look", "action: stare")
    found = editor.host.validate("book.yaml", text=text, overlay={"new.tool.yaml": new})
    assert found.valid, found.diagnostics
    assert ("action", "stare") in {(symbol.kind, symbol.name) for symbol in found.symbols}
    assert not editor.host.validate("book.yaml", text=text).valid


def test_other_documents_have_no_symbols(editor):
    assert editor.host.validate("probe.tool.yaml").symbols == ()
