"""Live output of tools: by lines, seldom, and with no form of a secret however it is cut into parts."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gert_core.secrets import Masker
from gert_core.secrets.live import APART, SILENCE, LiveMask

TOKEN = "h5Kq-Zw82-Lr01"
VALUES = {"TOKEN": TOKEN, "PASS": 'p%20 "w/d"x', "KEY": "-----BEGIN-----\nMIIBVgIBADAN\n-----END-----"}


class Clock:
    """Time that a test moves, and calls that it makes due."""

    def __init__(self):
        self.time = 0.0
        self.calls = []

    def now(self):
        return self.time

    def after(self, seconds, fn):
        self.calls.append((self.time + seconds, fn))

    def move(self, seconds):
        until = self.time + seconds
        while due := sorted(call for call in self.calls if call[0] <= until):
            self.calls.remove(due[0])
            self.time = max(self.time, due[0][0])
            due[0][1]()
        self.time = until


def live(values=VALUES):
    clock, shown = Clock(), []
    return LiveMask(Masker(values), lambda *given: shown.append(given), clock), clock, shown


def forms(value):
    yield from (value, quote(value), quote(value, safe=""), json.dumps(value)[1:-1], value.encode().hex())
    yield base64.b64encode(value.encode()).decode().rstrip("=")
    yield from (line for line in value.split("\n") if len(line) > 8)


PIECES = st.sampled_from(
    [*(form for value in VALUES.values() for form in forms(value)), "plain ", "\n", "\r\n", "\r", "h5Kq", "<REDACTED:"]
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    pieces=st.lists(PIECES, max_size=12),
    cuts=st.lists(st.integers(0, 2000), max_size=12),
    pauses=st.lists(st.sampled_from([0.0, 0.01, 0.06, 0.6]), min_size=13, max_size=13),
)
def test_no_form_of_a_secret_is_shown_however_the_output_is_cut(pieces, cuts, pauses):
    mask, clock, shown = live()
    text = "".join(pieces)
    data = text.encode()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for (begin, end), pause in zip(pairwise(edges), pauses, strict=False):
        mask.feed("stdout", data[begin:end])
        clock.move(pause)
    mask.close()
    joined = "".join(part for _, part, _ in shown)
    for value in VALUES.values():
        for form in forms(value):
            assert form not in joined
    if not any(value[:4] in text for value in VALUES.values()) and "REDACTED" not in text:
        assert joined == text or "<REDACTED" in joined


def test_lines_come_at_once_and_the_rest_of_a_line_after_a_silence():
    mask, clock, shown = live()
    mask.feed("stdout", b"one\ntwo")
    assert shown == [("stdout", "one\n", False)]
    clock.move(SILENCE / 2)
    mask.feed("stdout", b" ")
    clock.move(SILENCE - 0.01)
    assert len(shown) == 1
    clock.move(0.02)
    assert shown[1:] == [("stdout", "two ", True)]
    mask.feed("stdout", b"!\n")
    clock.move(APART)
    assert shown[2:] == [("stdout", "!\n", False)]


def test_the_beginning_of_a_secret_is_not_shown_by_a_silence():
    mask, clock, shown = live()
    mask.feed("stdout", f"token {TOKEN[:6]}".encode())
    clock.move(5)
    assert shown == [("stdout", "token ", True)]
    mask.feed("stdout", TOKEN[6:].encode() + b"\n")
    clock.move(1)
    assert shown[1:] == [("stdout", "<REDACTED:TOKEN>\n", False)]


def test_many_lines_are_joined_to_twenty_texts_a_second():
    mask, clock, shown = live()
    for number in range(1000):
        mask.feed("stdout", b"line %d\n" % number)
        clock.move(0.001)
    mask.close()
    assert len(shown) <= 1.0 / APART + 2
    assert "".join(text for _, text, _ in shown).count("\n") == 1000


def test_streams_are_apart():
    mask, clock, shown = live()
    mask.feed("stdout", b"out ")
    mask.feed("stderr", b"err\n")
    clock.move(1)
    mask.close()
    assert shown == [("stderr", "err\n", False), ("stdout", "out ", True)]


def test_much_output_is_shown_completely():
    mask, clock, shown = live({"TOKEN": TOKEN})
    line = b"x" * 80 + b"\n"
    chunk = line * 800
    for _ in range(10 * 2**20 // len(chunk)):
        mask.feed("stdout", chunk)
        clock.move(0.001)
    mask.close()
    assert sum(len(text) for _, text, _ in shown) == 10 * 2**20 // len(chunk) * len(chunk)
