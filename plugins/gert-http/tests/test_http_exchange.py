"""One exchange: which addresses are used, how long it may take, and what is told of one that fails."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from gert_http import LARGEST, HttpResponse, NoAnswerError, deliver, post, signature

from gert_core.testing import Deadline, Stop
from gert_core.testing.receivers import DRIBBLE, HANG, Receiver


def within(seconds):
    return Deadline(Stop(), seconds)


def test_an_answer_is_returned_whatever_its_status_is():
    with Receiver(answers=[(418, {"X-Pot": "tea", "body": b"short and stout"})]) as receiver:
        answer = post(receiver.url(), b"{}", {"X-Sent": "yes"}, within(5))
    assert isinstance(answer, HttpResponse)
    assert (answer.status, answer.headers["x-pot"], answer.body) == (418, "tea", b"short and stout")
    assert receiver.got[0].headers["x-sent"] == "yes"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hook",
        "ftp://h/x",
        "file:///etc/passwd",
        "http://",
        "http:///x",
        "https://h:0/",
        "http://h\n/x",
        "http://[",
        "//h/x",
    ],
)
def test_other_addresses_than_of_the_web_are_refused_and_not_shown(url):
    with pytest.raises(NoAnswerError) as caught:
        post(url, b"{}", {}, within(5))
    assert caught.value.final
    assert str(caught.value) == "the address is not one that begins with http:// or https://"
    assert deliver(url, b"{}", {}, within(5)).status == "refused"


def test_too_much_is_not_sent():
    with Receiver() as receiver:
        assert deliver(receiver.url(), b"x" * LARGEST, {}, within(5)).status == "delivered"
        assert deliver(receiver.url(), b"x" * (LARGEST + 1), {}, within(5)).status == "refused"
    assert len(receiver.got) == 1


@pytest.mark.parametrize("answer", [HANG, DRIBBLE])
def test_a_stop_ends_the_wait(answer):
    stop = Stop()
    threading.Timer(0.2, stop.throw, ("enough",)).start()
    began = time.monotonic()
    with Receiver(answers=[answer]) as receiver, pytest.raises(NoAnswerError):
        post(receiver.url(), b"{}", {}, Deadline(stop, 20))
    assert time.monotonic() - began < 5


def test_a_peer_that_accepts_and_says_nothing_is_left_in_time():
    with socket.create_server(("127.0.0.1", 0)) as server:
        began = time.monotonic()
        found = deliver(f"http://127.0.0.1:{server.getsockname()[1]}/x", b"{}", {}, within(0.3))
    assert (found.status, time.monotonic() - began < 3) == ("failed", True)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("5", 5.0), (" 7 ", 7.0), ("soon", None), ("-1", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0)],
)
def test_retry_after_is_a_number_or_a_date(header, seconds):
    with Receiver(answers=[(503, {"Retry-After": header})]) as receiver:
        assert deliver(receiver.url(), b"{}", {}, within(5)).retry_after == seconds


def test_what_a_receiver_says_about_a_refusal_is_told_in_short_with_its_spaces():
    """Who records it masks it first, and then puts it in one line."""
    with Receiver(answers=[(400, {"body": b"invalid\n payload " + b"x" * 5000})]) as receiver:
        error = deliver(receiver.url(), b"{}", {}, within(5)).error
    assert error.startswith("answered with 400: invalid\n payload xxx")
    assert len(error) < 250


def test_control_characters_of_an_answer_are_not_told():
    with Receiver(answers=[(400, {"body": b"\x1b[31mred"})]) as receiver:
        assert deliver(receiver.url(), b"{}", {}, within(5)).error == "answered with 400"


def test_the_signature_is_over_time_and_body():
    key = "MDEyMzQ1Njc4OWFiY2RlZg=="
    assert signature(key, b"{}", at=7) == signature(f"hmac-sha256:{key}", b"{}", at=7)
    assert signature(key, b"{}", at=7) != signature(key, b"{}", at=8)
    with pytest.raises(ValueError, match="not base64 of at least 16 bytes"):
        signature("c2hvcnQ=", b"{}", at=7)
