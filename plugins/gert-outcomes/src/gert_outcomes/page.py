"""Write a summary of past runs as one HTML page: charts as inline SVG, a table under each, and no script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_outcomes.charts import columns, meter, split_bar
from gert_outcomes.marking import marked
from gert_outcomes.style import kind_class, style
from gert_outcomes.text import percent, runs_text, seconds_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gert_outcomes.summary import OutcomeReport, Part, Times

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CODES: Final = 20
_OPEN: Final = 10
"""The number of rows up to which the table of a trend is open."""


def page(report: OutcomeReport) -> str:
    """Return the whole page."""
    title = " · ".join(filter(None, ("Outcomes", report.period)))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{marked(title)}</title>\n<style>\n{style()}</style>\n</head>\n<body>\n<main>\n"
        f"{content(report)}\n</main>\n</body>\n</html>\n"
    )


def content(report: OutcomeReport) -> str:
    """Return what stands on the page, for a page of another program that uses the same style sheet."""
    body = [_heading(report)]
    if not report.parts:
        asked = " in this time" if report.since else ""
        body.append(f'<section class="empty"><p>There are no runs in mode real{asked}.</p></section>')
    if len(report.parts) > 1:
        body.append(_overview(report))
    body += [_part(part, number) for number, part in enumerate(report.parts, 1)]
    if report.problems:
        body.append(_problems(report.problems))
    return "\n".join(body)


def _heading(report: OutcomeReport) -> str:
    number = len(report.parts)
    about = [runs_text(report.runs)]
    if number != 1:
        about.append(f"{number} {report.by}s")
    about += [report.period or "all time", f"made {report.made}"]
    return f'<header><h1>Outcomes</h1><p class="about">{marked(" · ".join(about))}</p></header>'


def _overview(report: OutcomeReport) -> str:
    head = ((report.by.capitalize(), "name"), ("Runs", "n"), ("Outcomes", "meter"), ("p50", "n"), ("p95", "n wide"))
    rows = [
        [
            f'<a href="#part-{number}">{marked(part.name)}</a>',
            str(part.runs),
            split_bar(part.kinds, height=12),
            *_both(part.duration),
        ]
        for number, part in enumerate(report.parts, 1)
    ]
    kinds = dict.fromkeys(kind for part in report.parts for kind in part.kinds)
    legend = " ".join(f'<span class="legend">{_key(kind)}</span>' for kind in kinds)
    return f'<section><h2>Overview</h2>{_table(head, rows)}<p class="about legends">{legend}</p></section>'


def _part(part: Part, number: int) -> str:
    kinds = part.kinds
    found = [
        f'<section id="part-{number}">',
        f'<div class="head"><h2>{marked(part.name)}</h2><p class="about">{runs_text(part.runs)}</p></div>',
        _tiles(part),
        "<h3>Outcomes</h3>",
        split_bar(kinds),
        _table(
            (("Outcome", "name"), ("Runs", "n"), ("Share", "n")),
            [[_key(kind), str(count), percent(count, part.runs)] for kind, count in kinds.items()],
        ),
        "<h3>Trend</h3>",
        columns(part.trend, kinds),
        _trend_table(part),
    ]
    if part.codes:
        found += ["<h3>Outcome codes</h3>", _codes(part)]
    if part.duration or part.waiting:
        found += ["<h3>Time at work and time waiting for people</h3>", _times(part)]
    if part.steps is not None:
        found += ["<h3>Steps</h3>", _steps(part)]
    return "\n".join([*found, "</section>"])


def _tiles(part: Part) -> str:
    kinds = part.kinds
    good = kinds.get("resolved", 0) + kinds.get("no_action", 0)
    bad = kinds.get("failed", 0) + kinds.get("error", 0)
    tiles = [("Resolved or no action", percent(good, part.runs), f"{good} of {part.runs}")]
    tiles.append(("Failed", percent(bad, part.runs), f"{bad} of {part.runs}"))
    if part.duration is not None:
        tiles.append(("At work, p50", seconds_text(part.duration.p50), f"p95 {seconds_text(part.duration.p95)}"))
    if part.waiting is not None:
        tiles.append(("Waiting, p50", seconds_text(part.waiting.p50), f"p95 {seconds_text(part.waiting.p95)}"))
    return (
        '<dl class="tiles">'
        + "".join(f"<div><dt>{name}</dt><dd>{value} <small>{more}</small></dd></div>" for name, value, more in tiles)
        + "</dl>"
    )


def _trend_table(part: Part) -> str:
    kinds = list(part.kinds)
    head = [("From (UTC)", ""), ("Runs", "n"), *((marked(kind), "n") for kind in kinds)]
    rows = [
        [marked(bucket.label), str(sum(bucket.counts.values())), *(str(bucket.counts.get(kind, 0)) for kind in kinds)]
        for bucket in part.trend
    ]
    opened = " open" if len(rows) <= _OPEN else ""
    return f"<details{opened}><summary>Numbers of the trend</summary>{_table(head, rows)}</details>"


def _codes(part: Part) -> str:
    most = part.codes[0][2]
    rows = [
        [marked(code), _key(category), meter(count / most, label=f"{count} runs"), str(count)]
        for category, code, count in part.codes[:_CODES]
    ]
    more = len(part.codes) - _CODES
    note = f'<p class="about">and {more} more</p>' if more > 0 else ""
    return _table((("Code", "name"), ("Outcome", "wide"), ("", "meter"), ("Runs", "n")), rows) + note


def _times(part: Part) -> str:
    most = max(found.p95 for found in (part.duration, part.waiting) if found is not None) or 1.0
    rows = []
    for name, found, css in (("At work", part.duration, "fill"), ("Waiting", part.waiting, "wait")):
        if found is not None:
            label = f"{name}: p50 {seconds_text(found.p50)}, p95 {seconds_text(found.p95)}"
            chart = meter(found.p50 / most, css=css, label=label) + meter(found.p95 / most, css=css)
            rows.append([name, chart, *_both(found), str(found.runs)])
    return _table((("", "name"), ("p50, p95", "meter"), ("p50", "n"), ("p95", "n"), ("Runs", "n")), rows)


def _steps(part: Part) -> str:
    head = [("Step", "name"), ("Type", "wide"), ("Failure rate", "meter"), ("Rate", "n"), ("Failures", "n wide")]
    head += [("Runs", "n"), ("p50", "n"), ("p95", "n wide"), ("Waited p50", "n wide")]
    rows = [
        [
            marked(step.step),
            marked(step.type),
            meter(step.rate, css="bad", label=f"{step.failures} of {step.runs} failed"),
            percent(step.failures, step.runs),
            str(step.failures),
            str(step.runs),
            *_both(step.duration),
            _both(step.waiting)[0],
        ]
        for step in part.steps or ()
    ]
    return _table(head, rows) if rows else '<p class="about">No steps were executed.</p>'


def _problems(problems: Iterable[dict[str, str]]) -> str:
    rows = [[marked(problem["run_id"]), marked(problem["problem"])] for problem in problems]
    table = _table((("Run", ""), ("Problem", "")), rows)
    return f'<section class="problems"><h2>Left out, because they cannot be read</h2>{table}</section>'


def _key(kind: str) -> str:
    return f'<span class="key {kind_class(kind)}"></span>{marked(kind)}'


def _both(found: Times | None) -> list[str]:
    return ["", ""] if found is None else [seconds_text(found.p50), seconds_text(found.p95)]


def _table(head: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; ``head`` has the text and the class of each column, and cells are HTML."""
    classes = [f' class="{css}"' if css else "" for _, css in head]
    heads = "".join(f"<th{css}>{text}</th>" for (text, _), css in zip(head, classes, strict=True))
    lines = "".join(
        "<tr>" + "".join(f"<td{css}>{cell}</td>" for cell, css in zip(row, classes, strict=True)) + "</tr>\n"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>\n{lines}</tbody></table></div>'


__all__ = ["content", "page"]
