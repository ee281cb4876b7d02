"""Post a message to people for an approval provider: what it came to, and whether it may have arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.kit.ticket_sessions import NotSentError
from gert_http.delivering import AGAIN, retry_after
from gert_http.exchange import NoAnswerError, post

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_http.exchange import HttpResponse


def send_message(
    url: str, body: bytes, headers: Mapping[str, str], *, to: str, seconds: float, hint: str = ""
) -> HttpResponse:
    """Post a message once and return the answer; raise ``NotSentError`` for every answer but 2xx.

    ``to`` is who receives it, as messages say it, and ``hint`` what to look at when it is refused. Messages have
    neither the address, which may be a secret, nor what was answered.
    """
    try:
        answer = post(url, body, headers, float(seconds))
    except NoAnswerError as error:
        raise NotSentError(f"{to}: {error}", hint=hint, final=error.final, unsure=not error.unsent) from None
    if 200 <= answer.status < 300:
        return answer
    again = answer.status in AGAIN or answer.status >= 500
    raise NotSentError(
        f"{to} answered with {answer.status}",
        hint="" if again else hint,
        final=not again,
        wait=retry_after(answer) if again else None,
        unsure=answer.status >= 500,
    )


__all__ = ["send_message"]
