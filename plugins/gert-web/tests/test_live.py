"""Runs as they happen: events of another process's run, from where a browser was, for many at once."""

from __future__ import annotations

import json
import subprocess
import threading
from contextlib import suppress

import httpx2
import pytest
from shell import wait_for

HOLD = '- { id: hold, type: tool, tool: hold, inputs: { until: "{{ .file }}" } }'
META = "inputs: { file: { type: string, default: go } }"


class Listener(threading.Thread):
    """A browser that follows a run."""

    def __init__(self, browser, path, **headers):
        super().__init__(daemon=True)
        self.events: list[tuple[str, str, str]] = []
        self.status = 0
        self._browser, self._path, self._headers = browser, path, headers
        self.start()

    def run(self):
        with suppress(httpx2.HTTPError):  # of a server that ended
            self._listen()

    def _listen(self):
        with self._browser.stream("GET", self._path, headers=self._headers, timeout=60) as answer:
            self.status = answer.status_code
            fields: dict[str, str] = {}
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if not line and "data" in fields:
                    self.events.append((fields.get("event", ""), fields.get("id", ""), fields["data"]))
                    fields = {}
                elif name in ("event", "id", "data"):
                    fields[name] = value

    def types(self):
        return [json.loads(data)["type"] if event == "trace" else event for event, _, data in list(self.events)]


@pytest.fixture
def holding(lab):
    """A run of another process that waits for a file."""
    lab.book(HOLD, tools="hold", meta=META)
    process = lab.start("exec", "book.yaml")
    wait_for(lab.path("go.pid").exists)
    yield lab
    lab.path("go").touch()
    process.communicate(timeout=30)


def test_the_run_of_another_process_is_followed_to_its_end(holding):
    run = holding.json("runs", "list")["runs"][0]["run_id"]
    with holding.web() as server:
        browser = server.browser()
        page = browser.get(f"/runs/{run}").text
        assert f'data-events="/runs/{run}/events"' in page
        listener = Listener(browser, f"/runs/{run}/events")
        wait_for(lambda: "step_start" in listener.types())
        assert "run_complete" not in listener.types()
        holding.path("go").touch()
        listener.join(30)
        assert listener.types()[-2:] == ["run_complete", "end"]
        numbers = [int(number) for event, number, _ in listener.events if event == "trace"]
        assert numbers == list(range(1, len(numbers) + 1))
        assert numbers[-1] == len(holding.events())
        over = browser.get(f"/runs/{run}/events", headers={"Last-Event-ID": str(numbers[-1])})
        assert over.status_code == 204  # browsers do not come back
        late = Listener(browser, f"/runs/{run}/events", **{"Last-Event-ID": str(numbers[-2])})
        late.join(30)
        assert late.types() == ["run_complete", "end"]


def test_somebody_who_comes_late_misses_nothing_and_sees_nothing_twice(holding):
    run = holding.json("runs", "list")["runs"][0]["run_id"]
    with holding.web() as server:
        browser = server.browser()
        first = Listener(browser, f"/runs/{run}/events?after=3")
        wait_for(lambda: first.events)
        others = [Listener(browser, f"/runs/{run}/events?after={after}") for after in (0, 1, 3, 4)]
        wait_for(lambda: all(other.events for other in others[:3]))
        holding.path("go").touch()
        for listener in (first, *others):
            listener.join(30)
        total = len(holding.events())
        for listener, after in zip((first, *others), (3, 0, 1, 3, 4), strict=True):
            numbers = [int(number) for event, number, _ in listener.events if event == "trace"]
            assert numbers == list(range(after + 1, total + 1))


def test_a_number_that_no_event_has_keeps_nothing_from_others(holding):
    run = holding.json("runs", "list")["runs"][0]["run_id"]
    with holding.web() as server:
        browser = server.browser()
        ahead = Listener(browser, f"/runs/{run}/events?after=999999")
        wait_for(lambda: ahead.status)
        other = Listener(browser, f"/runs/{run}/events?after=1")
        wait_for(lambda: other.events)
        holding.path("go").touch()
        for listener in (ahead, other):
            listener.join(30)
            assert listener.types()[-2:] == ["run_complete", "end"]


@pytest.mark.parametrize("number", ["x", "-1", "1e3", "9" * 40, "٣"])
def test_a_number_that_is_none_is_refused(served, number):
    lab, _, _, browser = served
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    assert browser.get(f"/runs/{run}/events", params={"after": number}).status_code == 400


def test_strangers_follow_nothing(served):
    lab, _, server, _ = served
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    assert server.browser(login=False).get(f"/runs/{run}/events").status_code == 401


def test_more_browsers_than_files_may_be_open_are_told_to_wait(holding):
    run = holding.json("runs", "list")["runs"][0]["run_id"]
    with holding.web(files=258) as server:
        browser = server.browser()
        two = [Listener(browser, f"/runs/{run}/events") for _ in range(2)]
        wait_for(lambda: all(one.events for one in two))
        assert browser.get(f"/runs/{run}/events").status_code == 503
        holding.path("go").touch()
        for one in two:
            one.join(30)


def test_a_server_that_ends_leaves_the_run_of_another_process_alone(holding):
    run = holding.json("runs", "list")["runs"][0]["run_id"]
    with holding.web() as server:
        listener = Listener(server.browser(), f"/runs/{run}/events")
        wait_for(lambda: listener.events)
        server.process.terminate()
        try:
            server.process.wait(15)
        except subprocess.TimeoutExpired:
            pytest.fail("it waits for those who follow a run")
    assert holding.json("runs", "show", run)["status"] == "running"
