"""Post something for a notifier: which answers are deliveries, which are tried again, and which are final."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from gert_core.api import Delivery
from gert_core.kit.excerpts import shorten
from gert_http.exchange import NoAnswerError, post

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Deadline
    from gert_http.exchange import HttpResponse

AGAIN: Final = (408, 429)
"""Answers after which a request is tried again, as after 5xx."""
_SHOWN: Final = 200
"""How much of an answer that refuses something is told."""


def deliver(url: str, body: bytes, headers: Mapping[str, str], deadline: Deadline) -> Delivery:
    """Post a body once and return what became of it.

    Tried again are requests without an answer and those answered with 408, 429 or 5xx; ``Retry-After`` is passed on.
    Every other answer but 2xx is final, redirects included.
    """
    try:
        answer = post(url, body, headers, deadline)
    except NoAnswerError as error:
        return Delivery(status="refused" if error.final else "failed", error=str(error))
    if 200 <= answer.status < 300:
        return Delivery(status="delivered")
    if 300 <= answer.status < 400:
        return Delivery(status="refused", error=f"answered with {answer.status}: redirects are not followed")
    said = f"answered with {answer.status}"
    if answer.status in AGAIN or answer.status >= 500:
        return Delivery(status="failed", error=said, retry_after=retry_after(answer))
    # Its spaces stay as they are: what is told of it is masked first, and a secret may have several in a row.
    text = shorten(answer.body.decode("utf-8", "replace").strip(), _SHOWN)
    plain = " ".join(text.split()).isprintable()
    return Delivery(status="refused", error=f"{said}: {text}" if text and plain else said)


def retry_after(answer: HttpResponse) -> float | None:
    """Return the seconds of a ``Retry-After``, which is a number or a date; None for anything else."""
    text = answer.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
        return max((moment.astimezone(UTC) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


__all__ = ["AGAIN", "deliver", "retry_after"]
