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


def test_what_an_editor_has_is_read_instead_of_the_file(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text("a: 1")
    with yaml.overlaid({file: b"a: 2", tmp_path / "new.yaml": b"b: 3"}):
        found = yaml.load(tmp_path / "." / "a.yaml")
        assert (found.value, found.path, found.file) == ({"a": 2}, file, str(file))
        assert yaml.load(tmp_path / "new.yaml").value == {"b": 3}
    assert yaml.load(file).value == {"a": 1}
    assert yaml.loads(b"c: 4", name="untitled", path=file).path == file
