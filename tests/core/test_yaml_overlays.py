"""Documents of editors: read from memory, and found by the place of the cursor."""

from __future__ import annotations

import pytest

from gert_core.documents import yaml

TEXT = """\
meta:
  name: book
steps:
  - id: one
    type: x
    inputs: { a: 1, b: [2, 3] }
  - id: two
"""


@pytest.mark.parametrize(
    ("line", "column", "path"),
    [
        (1, 1, ("meta",)),
        (2, 3, ("meta", "name")),
        (2, 11, ("meta", "name")),
        (4, 10, ("steps", 0, "id")),
        (5, 6, ("steps", 0, "type")),
        (6, 16, ("steps", 0, "inputs", "a")),
        (6, 26, ("steps", 0, "inputs", "b", 0)),
        (6, 29, ("steps", 0, "inputs", "b", 1)),
        (7, 9, ("steps", 1, "id")),
    ],
)
def test_a_place_in_a_document_has_a_path(line, column, path):
    assert yaml.loads(TEXT.encode(), name="book.yaml").at(line, column) == path


def test_every_value_is_found_where_it_begins():
    document = yaml.loads(TEXT.encode(), name="book.yaml")

    def paths(value, path=()):
        yield path
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for segment, inner in items:
            yield from paths(inner, (*path, segment))

    for path in paths(document.value):
        assert document.at(*document.locate(path))[: len(path)] == path


SPANS = """\
meta:
  note: |
    some text
      more

steps:
  - id: one
    inputs: { a: 1, b: [2, "é 😀"] }
    empty:
    plain: two words
      go on  # why
    "quoted key": 'it''s'
  - &kept { id: two }
  - *kept
"""


@pytest.mark.parametrize(
    ("path", "text", "key"),
    [
        (("meta",), "note: |\n    some text\n      more", "meta"),
        (("meta", "note"), "|\n    some text\n      more", "note"),
        (("steps", 0, "inputs"), '{ a: 1, b: [2, "é 😀"] }', "inputs"),
        (("steps", 0, "inputs", "b"), '[2, "é 😀"]', "b"),
        (("steps", 0, "inputs", "b", 1), '"é 😀"', '"é 😀"'),
        (("steps", 0, "empty"), "", "empty"),
        (("steps", 0, "plain"), "two words\n      go on", "plain"),
        (("steps", 0, "quoted key"), "'it''s'", '"quoted key"'),
        (("steps", 1), "&kept { id: two }", "&kept { id: two }"),
        (("steps", 2), "*kept", "*kept"),
        (("steps", 2, "id"), "two", "id"),
        (("steps", 0, "inputs", "c"), '{ a: 1, b: [2, "é 😀"] }', "inputs"),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_keys_and_values_have_an_end(path, text, key, ends):
    document = yaml.loads(SPANS.replace("\n", ends).encode(), name="book.yaml")
    lines = SPANS.split("\n")

    def cut(line, column, end_line, end_column):
        if line == end_line:
            return lines[line - 1][column - 1 : end_column - 1]
        inner = lines[line : end_line - 1]
        return "\n".join([lines[line - 1][column - 1 :], *inner, lines[end_line - 1][: end_column - 1]])

    assert cut(*document.span(path)) == text
    assert cut(*document.span(path, key=True)) == key


@pytest.mark.parametrize("end", range(len(SPANS)))
def test_a_document_that_is_cut_anywhere_has_spans(end):
    document = yaml.loads(SPANS[:end].encode(), name="book.yaml")
    line, column, end_line, end_column = document.span(("steps", 0, "inputs"))
    assert (line, column) <= (end_line, end_column)


def test_an_overlay_is_added_to_the_one_around_it(tmp_path):
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    with yaml.overlaid({one: b"a: 1"}), yaml.overlaid({two: b"a: 2"}):
        assert [yaml.load(one).value, yaml.load(two).value] == [{"a": 1}, {"a": 2}]
        assert yaml.is_file(one)
    assert not yaml.is_file(one)


def test_what_an_editor_has_is_read_instead_of_the_file(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text("a: 1")
    with yaml.overlaid({file: b"a: 2", tmp_path / "new.yaml": b"b: 3"}):
        found = yaml.load(tmp_path / "." / "a.yaml")
        assert (found.value, found.path, found.file) == ({"a": 2}, file, str(file))
        assert yaml.load(tmp_path / "new.yaml").value == {"b": 3}
    assert yaml.load(file).value == {"a": 1}
    assert yaml.loads(b"c: 4", name="untitled", path=file).path == file
