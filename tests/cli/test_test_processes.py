"""``gert test`` in several processes, with a time limit, and when something dies."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from scenario_books import write_book, write_scenario

from gert_core.cli import main
from gert_core.cli.time_limit import TimeUp, time_limit
from gert_core.cli.workers import in_order

STEPS = """
- {id: look, type: tool, tool: box, action: read, inputs: {item: a}}
- {id: more, type: tool, tool: box, action: read, inputs: {item: b}, when: '{{ eq .word "more" }}'}
- id: each
  type: tool
  tool: box
  action: write
  inputs: {item: "{{ .n }}"}
  for_each: {as: n, over: [x, y], parallel: true}
- id: verdict
  type: assert
  assert: [{type: not_equals, value: "{{ .look.word }}", expected: bad}]
"""


def results_of(capsys, *args):
    code = main(["test", *map(str, args), "--json"])
    document = json.loads(capsys.readouterr().out)
    for report in document["runbooks"]:
        for scenario in report["scenarios"]:
            del scenario["duration_ms"]
    return code, document


def test_two_hundred_scenarios_come_out_the_same_in_parallel_and_in_sequence(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    books = [write_book(Path(name), STEPS, name=name) for name in ("one", "two")]
    for number in range(100):
        for book in books:
            word = ("more", "less", "bad", "more")[number % 4]
            scenario = {
                "tool_responses": {
                    "box:read": [{"outputs": {"word": word, "size": number}}] * (2 if word == "more" else 1),
                    "box": [{"outputs": {"word": f"{number}-{index}"}} for index in range(number % 3 + 1)],
                }
            }
            test = {
                "expected_outcome": "resolved",
                "must_reach": ["more"],
                "expected_outputs": {"size": number, "each.1.word": f"{number}-1"},
            }
            write_scenario(book, f"s{number:03}", scenario, None if number % 10 == 9 else test)
    alone = results_of(capsys, ".")
    assert alone[1]["summary"]["total"] == 200
    assert min(alone[1]["summary"][name] for name in ("passed", "failed", "skipped")) > 10
    for jobs in (2, 7):
        assert results_of(capsys, ".", "-j", jobs) == alone


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_scenario_that_takes_too_long_is_an_error_and_the_others_go_on(tmp_path, capsys, monkeypatch, jobs):
    monkeypatch.chdir(tmp_path)
    book = write_book(
        Path(),
        """
        - {id: wait, type: assert, assert: [{type: equals, value: x, expected: x}], next: {step: wait, max: "{{ .n }}"}}
        """,
        meta="inputs: {n: {type: int, default: 1}}",
        tools="[]",
    )
    write_scenario(book, "a", {"inputs": {"n": 1}}, {"expected_status": "completed"})
    write_scenario(book, "b", {"inputs": {"n": 1_000_000_000}}, {"expected_status": "completed"})
    write_scenario(book, "c", {"inputs": {"n": 2}}, {"expected_status": "completed"})
    began = time.monotonic()
    code, document = results_of(capsys, book, "--timeout", "500ms", "-j", jobs)
    assert time.monotonic() - began < 20
    scenarios = document["runbooks"][0]["scenarios"]
    assert [scenario["status"] for scenario in scenarios] == ["passed", "error", "passed"]
    assert "longer than 0.5s" in scenarios[1]["error"]
    assert code == 1


def test_the_time_limit_ends_what_hangs_and_what_swallows():
    def stubborn():
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with contextlib.suppress(Exception):
                time.sleep(20)

    began = time.monotonic()
    with pytest.raises(TimeUp), time_limit(0.05):
        stubborn()
    assert time.monotonic() - began < 10
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    with time_limit(None):
        pass
    with time_limit(10):
        pass
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_outside_the_main_thread_there_is_no_alarm():
    seen = []

    def work():
        with time_limit(0.01):
            time.sleep(0.05)
        seen.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [True]


@pytest.mark.parametrize("workers", [1, 2, 5, 50])
def test_results_come_in_order_whoever_is_faster(workers):
    def work(number):
        time.sleep(0.02 if number % 3 == 0 else 0)
        return number * number

    assert list(in_order(range(20), work, workers=workers, lost=lambda job: -job)) == [n * n for n in range(20)]


def test_a_process_that_dies_loses_only_its_own_jobs():
    def work(number):
        if number == 3:
            os._exit(1)
        return number

    found = list(in_order(range(9), work, workers=3, lost=lambda job: f"lost {job}"))
    assert found == [0, 1, 2, "lost 3", 4, 5, "lost 6", 7, 8]


def test_closing_the_iterator_ends_the_processes(tmp_path):
    def work(number):
        (tmp_path / str(number)).write_text(str(os.getpid()))
        if number:
            time.sleep(60)
        return number

    results = in_order(range(3), work, workers=3, lost=lambda job: None)
    assert next(results) == 0
    while len(list(tmp_path.iterdir())) < 3:
        time.sleep(0.01)
    began = time.monotonic()
    results.close()
    assert time.monotonic() - began < 30
    for entry in tmp_path.iterdir():
        text = entry.read_text()
        if text:
            with pytest.raises(ProcessLookupError):
                os.kill(int(text), 0)
