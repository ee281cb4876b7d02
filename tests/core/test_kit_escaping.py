"""Text on a terminal: visible, and no wider than wanted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gert_core.kit.escaping import cells, cut, escape, is_visible, wrap


@given(st.text(), st.integers(min_value=2, max_value=90))
def test_a_wrapped_line_is_the_line_and_every_part_fits(text, width):
    shown = escape(text)
    parts = wrap(shown, width)
    assert "".join(parts) == shown
    assert all(cells(part) <= width for part in parts)
    assert all(map(is_visible, parts))


@given(st.text(), st.integers(min_value=3, max_value=90))
def test_a_cut_line_fits(text, width):
    assert cells(cut(escape(text), width)) <= width


@pytest.mark.parametrize("blank", ["\U00013441", "\U00013442"])
def test_blanks_among_hieroglyphs_are_spelled_out(blank):
    assert not is_visible(f"a{blank}b")
    assert escape(f"a{blank}b").isascii()


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("ä", 1), ("ü", 2), ("大", 2), ("✓", 1), ("\U0001f600", 2), ("", 0)]
)
def test_ideographs_and_pictures_take_two_columns(text, columns):
    """So does what only some terminals show that wide, such as the u with dots."""
    assert cells(text) == columns
