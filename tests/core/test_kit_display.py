"""Step keys, times and values as people read them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from gert_core.kit.display import readable_key, readable_time, value_lines

NOW = datetime(2026, 3, 1, 22, 30, tzinfo=UTC)


@pytest.fixture
def berlin(monkeypatch):
    """A local time zone one hour ahead of UTC."""
    monkeypatch.setenv("TZ", "CET-1")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (44.6, "in 45 seconds, at 23:30 CET"),
        (1, "in 1 second, at 23:30 CET"),
        (1799.7, "in 30 minutes, at 23:59 CET"),
        (7199, "in 120 minutes, at 2026-03-02 01:29 CET"),
        (7200, "in 2 hours, at 2026-03-02 01:30 CET"),
        (3 * 86400, "in 3 days, at 2026-03-04 23:30 CET"),
        (-90, "2 minutes ago, at 23:28 CET"),
    ],
)
def test_a_time_is_said_as_a_distance_and_by_the_local_clock(seconds, said):
    moment = (NOW + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
    assert readable_time(moment, now=NOW) == said
    assert readable_time(moment, now=NOW, clock=False) == said.partition(",")[0]


def test_what_is_not_a_time_stays_as_it_is():
    assert readable_time("soon") == "soon"
    assert readable_time("") == ""


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("plain", "plain"),
        ("a/0/each[web%2F1]", "a/0/each[web/1]"),
        ("each#2[%3CREDACTED%3Apw%3E]/0/in[a%5D%25]", "each#2[<REDACTED:pw>]/0/in[a]%]"),
        ("each[%C3%BC]", "each[ü]"),
    ],
)
def test_items_in_a_key_are_decoded(key, shown):
    assert readable_key(key) == shown


@pytest.mark.parametrize(
    ("value", "width", "lines"),
    [
        ("one", None, ["one"]),
        ("", None, [""]),
        ("a\nb\n", None, ["a", "b"]),
        ("a\n\nb", 10, ["a", "", "b"]),
        ("one two three", 8, ["one two ", "three"]),
        ("x" * 20, 8, ["xxxxxxxx", "xxxxxxxx", "xxxx"]),
        ({"a": [1, None]}, None, ['{"a": [1, null]}']),
        ({"a": [1, None]}, 8, ["{", '  "a": [', "    1,", "    null", "  ]", "}"]),
    ],
)
def test_values_are_divided_without_loss(value, width, lines):
    assert value_lines(value, width=width) == lines
