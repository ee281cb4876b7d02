"""The page of ``gert outcomes --html``: well-formed, with a table for every chart, and nothing in it runs or is loaded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest
from gert_outcomes.charts import columns
from gert_outcomes.periods import Division, period_words
from gert_outcomes.summary import TrendBucket, times_of
from gert_outcomes.text import percent, seconds_text

EVIL = "</title></style><script>alert(1)</script><img src=x onerror=alert(1)> & \"'\u202e"
VOID = {"meta", "rect", "line"}


class Reader(HTMLParser):
    """Reads a page: its elements, its attributes and its text; every element must be closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts, self._open = [], [], [], []
        self.feed(text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def page_of(project, *words):
    assert project("--html", "page.html", *words).code == 0
    return Reader((project.root / "page.html").read_text(encoding="utf-8"))


def test_hostile_names_stay_text(project):
    steps = [(f"{EVIL.replace('/', '-')}", EVIL, "failed", 1.0, 2.0)]
    project.run("resolved", EVIL, runbook=EVIL, actor=EVIL, steps=steps)
    project.run("resolved", EVIL, runbook="another")
    for words in (["--steps"], ["--steps", "--by", "actor"]):
        page = page_of(project, *words)
        assert not {"script", "img", "link", "iframe", "object", "form", "input"} & set(page.tags)
        assert not [name for name, _ in page.attributes if name.startswith("on")]
        assert [value for name, value in page.attributes if name in ("href", "src")] == ["#part-1", "#part-2"]
        assert "url(" not in "".join(page.texts)
        assert any("<script>alert(1)</script>" in text for text in page.texts)
        assert "\u202e" not in (project.root / "page.html").read_text()


def test_every_chart_has_a_table_and_the_policy_allows_nothing(project):
    for day in range(20):
        project.run(ago=timedelta(days=day), code=f"c{day}", steps=[("a", "tool", "success", 1.0, None)], waited=3)
    page = page_of(project, "--steps")
    text = "".join(page.texts)
    for title in ("Outcomes", "Trend", "Outcome codes", "Time at work and time waiting for people", "Steps"):
        assert title in text
    assert page.tags.count("table") == 5
    policy = dict(page.attributes)["content"]
    assert ("http-equiv", "Content-Security-Policy") in page.attributes
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'") in (
        page.attributes
    ), policy
    assert "<details>" in (project.root / "page.html").read_text()


def test_nothing_but_the_file_is_written_and_it_is_replaced(project):
    project.run()
    page_of(project)
    first = (project.root / "page.html").read_text()
    project.run("escalated")
    page_of(project)
    assert (project.root / "page.html").read_text() != first
    assert sorted(path.name for path in project.root.iterdir()) == ["page.html", "runs"]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0.0s"), (1.84, "1.8s"), (59.94, "59.9s"), (59.96, "1m 0s"), (190, "3m 10s"), (7500, "2h 5m")],
)
def test_times_in_words(seconds, expected):
    assert seconds_text(seconds) == expected


@pytest.mark.parametrize(
    ("count", "total", "expected"), [(1, 1000, "1%"), (999, 1000, "99%"), (0, 9, "0%"), (9, 9, "100%"), (17, 23, "74%")]
)
def test_a_share_is_nothing_or_all_only_when_it_is(count, total, expected):
    assert percent(count, total) == expected


def test_percentiles_are_times_that_there_were():
    assert times_of([]) is None
    one = times_of([2.0])
    assert (one.p50, one.p95, one.runs) == (2.0, 2.0, 1)
    many = times_of([float(number) for number in range(100, 0, -1)])
    assert (many.p50, many.p95) == (50.0, 95.0)


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        (None, ""),
        ("7d", "last 7 days"),
        ("1d", "last day"),
        ("36h", "last 36 hours"),
        ("90m", "last 90 minutes"),
        ("1h30s", "last 3630 seconds"),
        ("1.5s", "last 1.5s"),
        ("2026-11-01", "since 2026-11-01"),
        ("20261101", "since 20261101"),
    ],
)
def test_the_period_in_words(since, expected):
    assert period_words(since) == expected


@pytest.mark.parametrize(
    ("days", "count", "second"),
    [
        (0, 1, None),
        (1, 25, "2026-01-05 01:00"),
        (30, 31, "2026-01-06"),
        (90, 13, "2026-01-12"),
        (700, 26, "2026-01-12"),
        (4000, 12, "2026-10-19"),
    ],
)
def test_a_period_is_divided_so_that_it_fits_a_line(days, count, second):
    first = datetime(2026, 1, 5, tzinfo=UTC)
    division = Division(first, first + timedelta(days=days))
    labels = [label for _, label in division.begins()]
    assert len(labels) == division.count == count
    assert labels[1:2] == ([] if second is None else [second])
    assert division.at(first) == 0
    assert division.at(first + timedelta(days=days)) == count - 1
    assert division.at(first - timedelta(days=9)) == 0


def test_columns_are_drawn_from_zero_to_a_round_number():
    trend = [TrendBucket(begin="", label=f"d{n}", counts={"resolved": n, "failed": 1}) for n in range(13)]
    svg = columns(trend, ["resolved", "failed"])
    assert svg.count("<title>") == 25
    assert ">20</text>" in svg
    assert "<title>d12: 12 resolved</title>" in svg
