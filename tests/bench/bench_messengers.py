"""Measures how soon a click of Slack is acknowledged while many tickets wait, by a real ``gert web`` process.

A Slack on loopback gets the messages; each click is answered, signed by the bridge and on disk when it is acknowledged:
``bench_messengers.py [--tickets N]``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from messaging import BRIDGE, Messaging
from slack_fake import ALICE, BOT_TOKEN, CHANNEL, SECRET, TEAM, SlackFake, click, form, post, signed
from webs import WebLab

LIMIT = 0.300
"""Seconds in which a click is acknowledged; Slack itself waits for three."""


class Served(Messaging, WebLab):
    """A project that asks in Slack, and is served."""

    def __init__(self, root: Path, url: str) -> None:
        config = {
            "channel": CHANNEL,
            "token_env": "SLACK_BOT_TOKEN",
            "signing_secret_env": "SLACK_SIGNING_SECRET",
            "api_url": url,
        }
        people = {"alice": {"slack": f"{TEAM}/{ALICE}"}, "olga": {"os": "olga"}}
        Messaging.__init__(self, root, "slack", config, people)
        self.environ["SLACK_BOT_TOKEN"] = BOT_TOKEN


def main() -> None:
    """Measure and print the figure; exit 1 when it is over its limit."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tickets", type=int, default=100)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, SlackFake() as slack:
        project = Served(Path(name), slack.url)
        for _ in range(asked.tickets):
            project.execute()
        waiting = [dict(message) for message in slack.messages.values()]
        took = []
        with project.web(SLACK_SIGNING_SECRET=SECRET, GERT_BRIDGE_SIGNING_KEY=BRIDGE) as server:
            door = f"{server.base}/callbacks/slack"
            for message in waiting:
                body = form(click(message))
                headers = signed(body)
                began = time.perf_counter()
                status, _ = post(door, body, headers)
                took.append(time.perf_counter() - began)
                if status != 200:
                    raise SystemExit(f"a click was answered with {status}")
        answers = len(list(Path(name).glob("runs/*/tickets/*.answers/*.json")))
        if answers != asked.tickets:
            raise SystemExit(f"{answers} answers to {asked.tickets} clicks")
    took.sort()
    middle, late, last = median(took), took[int(len(took) * 0.95) - 1], took[-1]
    print(
        f"a click with {asked.tickets} tickets: {middle * 1000:.0f} ms, 95 %: {late * 1000:.0f}, worst: {last * 1000:.0f}"
    )
    if late > LIMIT:
        raise SystemExit(f"more than {LIMIT * 1000:.0f} ms")


if __name__ == "__main__":
    main()
