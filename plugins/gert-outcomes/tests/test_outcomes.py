"""``gert outcomes``: what it counts, what it prints, and what it says about what it cannot count."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import gert_outcomes
import pytest
from gert_outcomes.command import OutcomesOptions, read

from gert_core.api import UsageError
from gert_core.testing.conformance import CommandConformance

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
BOOK = """\
apiVersion: kernel/v0
meta: { name: disk-check }
tools: [sh]
steps:
  - { id: look, type: tool, tool: sh }
  - { type: end, outcome: { category: resolved, code: fine } }
"""
SH = """\
apiVersion: tool/v0
meta: { name: sh }
contract: { effects: [host], idempotent: true }
actions: { run: { argv: [sh, -c, "test -e fine"] } }
"""


class TestConformance(CommandConformance):
    plugin = gert_outcomes
    args = ("--json",)


def seed(project):
    """The 23 runs of the design document, all in the last week."""
    ends = [("resolved", "service_restarted")] * 12 + [("resolved", "dns_fixed")] * 5
    ends += [("escalated", "unknown_failure")] * 3 + [("no_action", "")] * 2 + [("needs_rca", "")]
    for number, (category, code) in enumerate(ends):
        project.run(category, code, runbook="service-health-check", ago=HOUR * 6 * (number + 1), duration=1 + number)


def test_the_text_of_the_design_document(project):
    seed(project)
    lines = project("--since", "7d", "--runbook", "service-health-check").out.splitlines()
    assert [line[:46].rstrip() for line in lines[:7]] == [
        "  service-health-check (23 runs, last 7 days)",
        "",
        "  resolved:    17 (74%)  ████████████████░░░░░",
        "  escalated:    3 (13%)  ███░░░░░░░░░░░░░░░░░░",
        "  no_action:    2 (9%)   ██░░░░░░░░░░░░░░░░░░░",
        "  needs_rca:    1 (4%)   █░░░░░░░░░░░░░░░░░░░░",
        "",
    ]
    assert lines[7:] == [
        "  Top outcome codes:",
        "    service_restarted   12",
        "    dns_fixed            5",
        "    unknown_failure      3",
        "",
        "  duration  p50 12.0s  p95 22.0s",
    ]


def test_a_trend_has_a_character_for_each_day_and_is_as_high_as_the_most(project):
    noon = datetime.now(UTC).replace(hour=0, minute=0, second=1)
    for days, number in ((0, 7), (1, 1), (3, 3)):
        for _ in range(number):
            project.run(began=noon - DAY * days)
    (line,) = [line for line in project("--since", f"{noon - DAY * 3:%Y-%m-%d}").out.splitlines() if "resolved" in line]
    assert line.split()[-1] == "▄▁▂█"
    (part,) = project("--since", f"{noon - DAY * 3:%Y-%m-%d}", "--json").document["runbooks"]
    assert [bucket["counts"] for bucket in part["trend"]] == [{"resolved": 3}, {}, {"resolved": 1}, {"resolved": 7}]
    assert part["trend"][0]["from"] == f"{noon - DAY * 3:%Y-%m-%dT00:00:00Z}"


def test_runs_of_one_day_are_counted_in_their_hours(project):
    day = datetime.now(UTC).replace(hour=0, minute=0, second=0) - DAY
    for hour, minute, outcome in ((1, 5, "resolved"), (1, 50, "escalated"), (3, 0, "resolved"), (3, 59, "resolved")):
        project.run(outcome, began=day + timedelta(hours=hour, minutes=minute))
    (part,) = project("--json").document["runbooks"]
    assert [(bucket["from"][11:16], bucket["counts"]) for bucket in part["trend"]] == [
        ("01:00", {"resolved": 1, "escalated": 1}),
        ("02:00", {}),
        ("03:00", {"resolved": 2}),
    ]


def test_the_document(project):
    project.run("resolved", "a", duration=1)
    project.run("resolved", "a", duration=3, waited=60)
    project.run("escalated", "b", duration=5)
    project.run(status="failed", duration=7)
    project.run(None, duration=9)
    document = project("--json").document
    (part,) = document.pop("runbooks")
    assert document == {"since": None, "problems": []}
    assert part.pop("trend")[-1]["counts"] == {"resolved": 2, "escalated": 1, "failed": 1, "completed": 1}
    assert part == {
        "runbook": "health",
        "runs": 5,
        "statuses": {"completed": 4, "failed": 1},
        "outcomes": [
            {"category": "resolved", "code": "a", "count": 2},
            {"category": "escalated", "code": "b", "count": 1},
        ],
        "duration": {"runs": 5, "p50": 5.0, "p95": 9.0},
        "waiting": {"runs": 1, "p50": 60.0, "p95": 60.0},
    }


def test_waiting_is_told_apart_from_working(project):
    project.run(duration=2, waited=190)
    project.run(duration=4)
    assert project().out.splitlines()[-2:] == [
        "  duration  p50 2.0s  p95 4.0s",
        "  waiting  p50 3m 10s  p95 3m 10s  (1 of 2 runs)",
    ]


def test_steps(project):
    for number in range(4):
        steps = [
            ("look", "tool", "success", 0.5, None),
            ("each[a]/restart", "tool", "failed" if number == 0 else "success", 1.0 + number, None),
            ("each[b]/restart", "tool", "success", 2.0, None),
            ("each/0/after", "tool", "skipped", 0.0, None),
            ("ask", "manual", "success", 0.1, 30.0),
        ]
        project.run(steps=steps, status="failed" if number == 0 else "completed")
    said = project("--steps")
    lines = said.out.splitlines()
    at = lines.index("  STEP          TYPE    RUNS  FAILURES  RATE   P50   P95  WAITED P50    P95")
    assert lines[at + 1 :] == [
        "  each/restart  tool       8         1   12%  2.0s  4.0s",
        "  ask           manual     4         0    0%  0.1s  0.1s       30.0s  30.0s",
        "  look          tool       4         0    0%  0.5s  0.5s",
    ]
    (part,) = project("--steps", "--json").document["runbooks"]
    assert part["steps"][0] == {
        "step": "each/restart",
        "type": "tool",
        "runs": 8,
        "failures": 1,
        "rate": 0.125,
        "duration": {"runs": 8, "p50": 2.0, "p95": 4.0},
        "waiting": None,
    }
    rows = list(csv.DictReader(io.StringIO(project("--steps", "--csv").out)))
    assert (rows[0]["step"], rows[0]["runs"], rows[0]["failures"], rows[0]["rate"]) == (
        "each/restart",
        "8",
        "1",
        "0.125",
    )


def test_runs_as_they_are_executed(project):
    """Nothing here is forged: a run that fails, the same run when it is retried, another one, a dry-run and a probe."""
    (project.root / "tools").mkdir()
    (project.root / "tools" / "sh.tool.yaml").write_text(SH)
    (project.root / "book.yaml").write_text(BOOK)
    assert project("book.yaml", verb="exec").code == 1
    (project.root / "fine").touch()
    assert project("--run", "latest", "--retry-failed", verb="resume").code == 0
    assert project("book.yaml", verb="exec").code == 0
    assert project("book.yaml", "--mode", "dry-run", verb="exec").code == 0
    assert project("book.yaml", "--mode", "probe", verb="exec").code == 0
    (part,) = project("--json", "--steps").document["runbooks"]
    assert (part["runbook"], part["runs"], part["statuses"]) == ("disk-check", 2, {"completed": 2})
    assert part["outcomes"] == [{"category": "resolved", "code": "fine", "count": 2}]
    look = next(step for step in part["steps"] if step["step"] == "look")
    assert (look["runs"], look["failures"]) == (3, 1)


def test_the_same_again_is_the_same_by_the_index(project):
    seed(project)
    old = (project.root / "runs").stat().st_mtime - 60
    for trace in (project.root / "runs").glob("*/trace.jsonl"):
        os.utime(trace, (old, old))
    first = project("--json").out
    index = project.root / "runs" / ".index.jsonl"
    assert project("--json").out == first
    index.write_bytes(b"not an index\n")
    assert project("--json").out == first
    index.unlink()
    assert project("--json").out == first


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {"deploy": 2, "health": 2}),
        (["--since", "36h"], {"deploy": 1, "health": 2}),
        (["--since", "36h", "--runbook", "deploy"], {"deploy": 1}),
        (["--by", "actor"], {"alice": 2, "unknown": 1, "bob": 1}),
        (["--by", "actor", "--runbook", "deploy"], {"bob": 1, "unknown": 1}),
    ],
)
def test_filters_and_parts(project, words, expected):
    project.run(actor="alice")
    project.run(actor="alice", ago=HOUR)
    project.run(runbook="deploy", actor="bob")
    project.run(runbook="deploy", actor=None, ago=DAY * 3)
    document = project("--json", *words).document
    by = "actor" if "--by" in words else "runbook"
    assert {part[by]: part["runs"] for part in document[f"{by}s"]} == expected


def test_parts_by_day_and_week_are_in_their_order(project):
    for day in ("2026-01-05", "2026-01-11", "2026-01-12"):  # a Monday, the Sunday after it, and the Monday after that
        project.run(began=datetime.fromisoformat(f"{day}T12:00:00+00:00"))
    days = project("--json", "--by", "day").document["days"]
    assert [(part["day"], part["runs"]) for part in days] == [("2026-01-05", 1), ("2026-01-11", 1), ("2026-01-12", 1)]
    weeks = project("--json", "--by", "week").document["weeks"]
    assert [(part["week"], part["runs"]) for part in weeks] == [("2026-W02", 2), ("2026-W03", 1)]


def test_without_any_run(project):
    said = project()
    assert (said.code, said.out, said.err) == (0, "", f"no real runs found in {project.root}/runs\n")
    assert project("--json").document == {"since": None, "runbooks": [], "problems": []}
    assert len(project("--csv").out.splitlines()) == 1
    assert project("--html", "page.html").code == 0
    assert "There are no runs in mode real." in (project.root / "page.html").read_text()
    assert project("--runbook", "anything").code == 0


def test_one_run(project):
    project.run(code="fine")
    assert project().out.splitlines() == [
        "  health (1 run)",
        "",
        "  resolved:     1 (100%)  ██████████████████████",
        "",
        "  Top outcome codes:",
        "    fine    1",
        "",
        "  duration  p50 1.0s  p95 1.0s",
    ]


def test_runs_that_have_not_ended_count_without_an_outcome(project):
    project.run(status="running")
    project.run(status="approval_pending")
    project.run(status="cancelled", duration=3)
    (part,) = project("--json").document["runbooks"]
    assert part["statuses"] == {"approval_pending": 1, "cancelled": 1, "interrupted": 1}
    assert part["outcomes"] == []
    assert part["duration"] == {"runs": 1, "p50": 3.0, "p95": 3.0}
    assert "  approval_pending:    1 (33%)" in project().out


def test_what_cannot_be_read_is_named_and_left_out(project):
    project.run()
    bad = project.run()
    trace = project.root / "runs" / bad / "trace.jsonl"
    trace.write_text(trace.read_text().replace('"type":"run_complete"', '"type":'))
    said = project()
    assert said.code == 0
    assert "health (1 run)" in said.out
    assert said.err.startswith(f"warning: {bad} was left out: line 2 of {trace} is not a valid trace event")
    (problem,) = project("--json").document["problems"]
    assert problem["run_id"] == bad
    assert project("--json", "--since", "2000-01-01").document["problems"]
    assert project("--json", "--since", "1m").document["problems"] == []
    project("--html", "page.html")
    assert bad in (project.root / "page.html").read_text()


def test_many_runs_that_cannot_be_read_are_not_all_named_on_a_terminal(project):
    for _ in range(23):
        (project.root / "runs" / project.run() / "meta.json").write_text("{")
    said = project()
    assert len(said.err.splitlines()) == 22
    assert said.err.splitlines()[0].startswith("no real runs found in ")
    assert said.err.endswith("3 more runs that cannot be read were left out; --json names all of them\n")
    assert len(project("--json").document["problems"]) == 23


def test_a_run_counts_once_whether_its_trace_is_elsewhere_or_kept_alone(project):
    run_id = project.run()
    kept = project.root / "runs" / run_id / "trace.jsonl"
    traces = project.root / "traces"
    traces.mkdir()
    kept.rename(traces / "health-1.jsonl")
    (kept.parent / "meta.json").write_text(json.dumps({"trace": str(traces / "health-1.jsonl")}))
    project.run("escalated", to=traces / "health-2.jsonl", steps=[("look", "tool", "success", 0.5, None)])
    project.run(status="running", to=traces / "health-3.jsonl")
    (traces / "other.jsonl").write_text('{"not": "a trace"}\n')
    (traces / "notes.txt").write_text("nothing")
    document = project("--json", "--steps").document
    (part,) = document["runbooks"]
    assert part["statuses"] == {"completed": 2, "interrupted": 1}
    assert [step["step"] for step in part["steps"]] == ["look"]
    assert [problem["run_id"] for problem in document["problems"]] == [str(Path("traces") / "other.jsonl")]
    (project.root / "gert-project.yaml").write_text("traces: { dir: elsewhere }\n")
    assert project("--json").document["runbooks"][0]["runs"] == 1
    assert project("--json", "--store", "file:runs").document["runbooks"][0]["runs"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--since", "yesterday"], "error: --since takes a time or a moment, not 'yesterday'\n  hint: write a time"),
        (["--since", "2026-13-01"], "error: --since takes a time or a moment, not '2026-13-01'\n"),
        (["--since", "-1d"], "error: --since takes a time or a moment, not '-1d'\n"),
        (["--since", "0001-01-01T00:00:00+14:00"], "error: --since takes a time or a moment, not '0001-01-01T"),
        (["--by", "month"], "error: --by takes runbook, actor, day or week, not 'month'\n"),
        (["--json", "--csv"], "error: --json and --csv cannot be given together\n"),
        (["--csv", "--html", "x"], "error: --csv and --html cannot be given together\n"),
        (["--html", ""], "error: --html needs the name of a file\n"),
        (["--html", "no/such/x.html"], "error: cannot write no/such/x.html: No such file or directory\n"),
        (["--html", "."], "error: cannot write .: Is a directory\n  hint: choose another file for --html\n"),
        (["--runbook", "helth"], "error: no run is of a runbook 'helth'\n  hint: did you mean `health`?\n"),
        (["--runbook", "q"], "error: no run is of a runbook 'q'\n  hint: there are runs of health\n"),
        (["--since"], "error: --since needs a value\n"),
        (["--steps=yes"], "error: --steps takes no value\n"),
        (["--step"], "error: there is no option --step\n  hint: did you mean `--steps`?\n"),
        (["word"], "error: gert outcomes takes no 'word'\n  hint: `gert outcomes --help` lists the options\n"),
    ],
)
def test_what_cannot_be_done_is_said(project, words, message):
    project.run()
    said = project(*words)
    assert (said.code, said.out.partition('{"error"')[0]) == (2, "")
    if "--json" not in words:
        assert said.err.startswith(message)


def test_a_runbook_without_runs_in_that_time_is_no_mistake(project):
    project.run(ago=DAY * 9)
    said = project("--runbook", "health", "--since", "7d")
    assert (said.code, said.err) == (0, f"no real runs that are as asked for found in {project.root}/runs\n")


def test_a_broken_project_file_is_refused(project):
    project.run()
    (project.root / "gert-project.yaml").write_text("runs_dir: [\n")
    assert project().code != 0


def test_a_store_that_no_plugin_provides_is_refused(project):
    said = project("--store", "nothing:x")
    assert said.code == 3
    assert said.err.startswith("error: no installed plugin provides run store 'nothing'\n")


def test_help(project):
    said = project("--help")
    assert said.code == 0
    assert said.out.startswith("Usage: gert outcomes [OPTIONS]\n")


def test_codes_of_two_categories_are_told_apart_and_few_are_shown(project):
    for _ in range(2):
        project.run("resolved", "same")
        project.run("escalated", "same")
    for number in range(12):
        project.run("resolved", f"code-{number:02}")
    out = project().out
    assert "same (resolved)" in out
    assert "same (escalated)" in out
    assert "    and 4 more\n" in out


def test_csv_is_no_formula(project):
    project.run("resolved", "=cmd|' /C calc'!A0", runbook="-1+1", duration=2, waited=5)
    project.run("resolved", 'with "quotes", and comma\nline', runbook="-1+1", duration=2)
    rows = list(csv.DictReader(io.StringIO(project("--csv").out)))
    assert rows[0] == {
        "runbook": "'-1+1",
        "status": "completed",
        "category": "resolved",
        "code": "'=cmd|' /C calc'!A0",
        "runs": "1",
        "share": "0.5",
        "duration_p50": "2.0",
        "duration_p95": "2.0",
        "waiting_p50": "5.0",
        "waiting_p95": "5.0",
    }
    assert rows[1]["code"] == 'with "quotes", and comma\\u000aline'


def test_a_name_cannot_steer_the_terminal(project):
    project.run("resolved", "\x1b[31mred\u202e", runbook="evil\x1b]0;title\x07")
    said = project("--steps")
    assert "\x1b" not in said.out
    assert "\u202e" not in said.out
    assert "\\u001b[31mred\\u202e" in said.out


def test_where_the_encoding_has_no_blocks_there_are_none(project):
    project.run("resolved", "é")
    project.run("resolved", "é", ago=DAY * 2 + timedelta(minutes=5))  # as the first one, two days before
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "gert_core", "outcomes"], cwd=project.root, env=environ, capture_output=True, check=True
    )
    lines = done.stdout.decode("ascii").splitlines()
    assert "  resolved:     2 (100%)  ######################  #_#" in lines
    assert "    \\xe9    2" in lines


def test_a_reader_that_has_gone_ends_it_quietly(project):
    for number in range(40):
        project.run("resolved", "x" * 3000, runbook=f"book{number}")
    command = [sys.executable, "-m", "gert_core", "outcomes", "--json"]
    with subprocess.Popen(command, cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read().decode()
    assert "Traceback" not in said
    assert process.returncode in (0, 141)


def test_options_have_defaults():
    assert read([]) == OutcomesOptions()
    assert read(["--since=7d", "--html=a.html"]) == OutcomesOptions(since="7d", form="html", html=Path("a.html"))
    with pytest.raises(UsageError):
        read(["--step"])


@pytest.mark.parametrize(
    "form", [[], ["--json"], ["--csv"], ["--html", "page.html"], ["--steps", "--json"], ["--steps"]]
)
@pytest.mark.parametrize("seconds", [float("inf"), float("nan")])
def test_a_time_that_is_no_number_is_none(project, seconds, form):
    project.run(duration=seconds, waited=seconds, steps=[("a", "tool", "success", seconds, seconds)])
    said = project(*form)
    assert (said.code, "inf" in said.out, "nan" in said.out.lower()) == (0, False, False), said.err
    if "--json" in form:
        (book,) = said.document["runbooks"]
        assert (book["duration"], book["waiting"]) == (None, None)


@pytest.mark.parametrize("form", [[], ["--by", "week"], ["--html", "page.html"]])
def test_runs_that_began_at_the_ends_of_the_calendar_are_shown(project, form):
    project.run(began=datetime(1, 1, 2, tzinfo=UTC))
    project.run(began=datetime(9999, 12, 31, 23, tzinfo=UTC))
    assert project(*form).code == 0


def test_the_category_beside_a_code_cannot_steer_the_terminal(project):
    for number in (1, 2):
        project.run(f"evil{number}\x1b[31m\nFORGED", "same")
    said = project()
    assert "\x1b" not in said.out
    assert not [line for line in said.out.splitlines() if line.startswith("FORGED")]


@pytest.mark.parametrize("name", [" =1+1", "\uff1d1+1", "\uff201"])
def test_no_blank_or_wide_sign_makes_a_cell_a_formula(project, name):
    project.run(runbook=name)
    (row,) = csv.DictReader(io.StringIO(project("--csv").out))
    assert row["runbook"] == f"'{name}"
