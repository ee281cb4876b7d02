"""``gert slack listen`` while Slack cannot be connected to: it says so, tries again, and ends when it is told to."""

from __future__ import annotations

import json
import queue
import signal
import socket as sockets
import threading
import time

import pytest
from messaging import BRIDGE
from shell import wait_for
from slack_fake import click, refusal
from slack_socket import SlackSocket


class Place:
    """Where a fake Slack says that connections are opened."""

    def __init__(self, url):
        self.url = url


class Hanging:
    """A server for ``with`` that takes connections and answers with ``head``, then with one byte after another."""

    def __init__(self, head=b"", byte=b""):
        self._head, self._byte = head, byte
        self.asked = threading.Semaphore(0)

    def __enter__(self):
        self._socket = sockets.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._socket.close()

    def _serve(self):
        while True:
            try:
                connection = self._socket.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection):
        with connection:
            connection.recv(65536)
            self.asked.release()
            try:
                connection.sendall(self._head)
                while True:
                    time.sleep(1)
                    connection.sendall(self._byte)
            except OSError:
                pass


SILENT = ()
DRIPPING = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n", b" ")
SHAKING = (b"HTTP/1.1 101 Switching Protocols\r\nX-A: ", b"a")


class Listening:
    """A ``gert slack listen`` for ``with``, and the lines that it says."""

    def __init__(self, project):
        self.process = project.start("slack", "listen", GERT_BRIDGE_SIGNING_KEY=BRIDGE, **project.secrets)
        self.lines = []
        self.said = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(10)
        self._reader.join(10)
        self.process.stdout.close()
        self.process.stderr.close()
        assert "Traceback" not in "".join(self.lines)

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            self.said.put(line)

    def until(self, text, seconds=30):
        """The next line with a text."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                line = self.said.get(timeout=0.2)
            except queue.Empty:
                assert self.process.poll() is None, self.lines
                continue
            if text in line:
                return line
        raise AssertionError((text, self.lines))

    def ends(self, number=signal.SIGTERM, seconds=14):
        self.process.send_signal(number)
        return self.process.wait(seconds)


@pytest.fixture
def elsewhere(project):
    """Have Slack's API at another port."""

    def settle(port):
        project.config["api_url"] = f"http://127.0.0.1:{port}/api"
        project.settle()

    return settle


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
@pytest.mark.parametrize("how", [SILENT, DRIPPING], ids=["silent", "dripping"])
def test_a_signal_ends_it_while_slack_does_not_answer(project, elsewhere, how, number):
    with Hanging(*how) as slow:
        elsewhere(slow.port)
        with Listening(project) as listening:
            assert slow.asked.acquire(timeout=30)
            time.sleep(0.5)
            assert listening.ends(number) == 0
    assert not any("Listening" in line for line in listening.lines)


def test_a_signal_ends_it_while_the_connection_is_opened(project, slack):
    with Hanging(*SHAKING) as slow:
        slack.socket = Place(f"ws://127.0.0.1:{slow.port}/x")
        with Listening(project) as listening:
            assert slow.asked.acquire(timeout=30)
            time.sleep(0.5)
            assert listening.ends() == 0
    assert not any("Listening" in line for line in listening.lines)


def test_it_ends_while_many_clicks_are_told_that_they_do_not_count(project, slack):
    with SlackSocket() as socket:
        slack.socket = socket
        project.execute()
        does = slack._do

        def slowly(method, arguments):
            if method in ("chat.update", "chat.postEphemeral"):
                time.sleep(60)
            return does(method, arguments)

        slack._do = slowly
        with Listening(project) as listening:
            assert socket.connected.wait(30)
            payload = click(slack.message(), user="U0NOBODY1")
            for number in range(40):
                message = {"envelope_id": f"e-{number}", "type": "interactive", "payload": payload}
                socket.connections[-1].send(json.dumps(message))
            assert socket.acknowledged.get(timeout=20)
            listening.ends()


def test_an_answer_of_slack_that_does_not_come_is_said_and_asked_for_again(project, elsewhere):
    with Hanging() as slow:
        elsewhere(slow.port)
        with Listening(project) as listening:
            said = listening.until("cannot listen to Slack now")
            assert "Slack did not answer within 10 s; trying again in 1 s" in said
            assert slow.asked.acquire(timeout=30)
            assert slow.asked.acquire(timeout=30)


@pytest.mark.parametrize("how", [None, SILENT, SHAKING], ids=["refused", "silent", "dripping"])
def test_a_connection_that_cannot_be_opened_is_said_and_tried_again(project, slack, how):
    with Hanging(*how or ()) as slow, SlackSocket() as socket:
        slack.socket = Place(f"ws://127.0.0.1:{slow.port if how is not None else 1}/x")
        with Listening(project) as listening:
            assert "trying again in 1 s" in listening.until("cannot listen to Slack now")
            assert "trying again in 2 s" in listening.until("cannot listen to Slack now")
            assert not any("Listening" in line for line in listening.lines)
            slack.socket = socket
            listening.until("Listening to Slack; stop with Ctrl-C")
            assert socket.connected.wait(30)
            project.execute()
            assert socket.send(click(slack.message())) == "e-1"
            assert len(list(project.root.glob("runs/*/tickets/*.answers/*.json"))) == 1
            assert listening.ends() == 0


def test_a_connection_that_is_lost_is_said_and_that_there_is_one_again(project, slack):
    with SlackSocket() as socket:
        slack.socket = socket
        with Listening(project) as listening:
            listening.until("Listening to Slack")
            assert socket.connected.wait(10)
            slack.socket = Place("ws://127.0.0.1:1/x")
            socket.connections[-1].close()
            listening.until("the connection to Slack was lost")
            listening.until("cannot listen to Slack now")
            slack.socket = socket
            socket.connected.clear()
            listening.until("Listening to Slack again")
            assert socket.connected.wait(10)
            project.execute()
            assert socket.send(click(slack.message())) == "e-1"
            assert listening.ends() == 0


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x",
        "ws://",
        "ws://example.com/x",
        "wss://wss-primary.slack.com:8443/x",
        "ws://[::1",
        "ws://127.0.0.1:99999/x",
        "wss://wss-primary.slack.com/\r\nHost: x",
        "\x00",
        "",
        7,
    ],
)
def test_an_address_that_cannot_be_used_is_refused(project, slack, url):
    slack.socket = Place(url)
    done = project.gert("slack", "listen", code=2, GERT_BRIDGE_SIGNING_KEY=BRIDGE, **project.secrets)
    assert "error: cannot listen to Slack: Slack gave an address that cannot be used" in done.stderr
    assert "Listening" not in done.stderr


def test_what_slack_refuses_later_is_said_and_asked_for_again(project, slack):
    with SlackSocket() as socket:
        slack.socket = socket
        with Listening(project) as listening:
            listening.until("Listening to Slack")
            assert socket.connected.wait(10)
            slack.mischief["apps.connections.open"] = [refusal("invalid_auth")] * 2
            socket.connected.clear()
            socket.connections[-1].close()
            assert "Slack answered invalid_auth" in listening.until("cannot listen to Slack now")
            listening.until("Listening to Slack again")
            wait_for(socket.connected.is_set, 10)
            assert listening.ends() == 0


def test_a_refusal_does_not_tell_where_files_are(project, slack):
    with SlackSocket() as socket:
        slack.socket = socket
        run = project.execute()
        payload = click(slack.message())
        action = payload["actions"][0]
        with Listening(project) as listening:
            listening.until("Listening to Slack")
            assert socket.connected.wait(10)
            other = {**action, "value": f"{run['run_id']}|t-00000000000000000000"}
            socket.send({**payload, "actions": [other]}, "e-1")
            assert "there is no ticket" in slack.until("chat.postEphemeral", 1)[0]["text"]
            listening.until(str(project.root))
            project.write("house.yaml", "{")
            socket.send(payload, "e-2")
            assert "house.yaml" in slack.until("chat.postEphemeral", 2)[1]["text"]
            assert listening.ends() == 0
    told = [one["text"] for one in slack.of("chat.postEphemeral")]
    assert not [text for text in told if str(project.root) in text or " /" in text], told
