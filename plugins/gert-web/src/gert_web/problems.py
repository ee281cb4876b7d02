"""What goes wrong with a request, as the status and the sentences of a page."""

from __future__ import annotations

from typing import Final

from gert_core.api import ErrorKind, GertError

STATUSES: Final[dict[str, int]] = {
    ErrorKind.TICKET_UNKNOWN: 404,
    ErrorKind.RUN_NOT_FOUND: 404,
    ErrorKind.RUN_ID: 404,
    ErrorKind.ANSWER_UNKNOWN: 404,
    ErrorKind.PATH_OUTSIDE: 404,
    ErrorKind.TICKET_RESOLVED: 410,
    ErrorKind.TICKET_EXPIRED: 410,
    ErrorKind.LINK_USED: 410,
    ErrorKind.TICKET_ALTERED: 409,
    ErrorKind.TICKET_DUPLICATE: 409,
    ErrorKind.ANSWER_DUPLICATE: 409,
    ErrorKind.RUN_LOCKED: 409,
    ErrorKind.RUN_MOVED: 409,
    ErrorKind.HOST_BUSY: 503,
    ErrorKind.TICKET_OWN_ACTOR: 403,
    ErrorKind.APPROVAL_OWN_ACTOR: 403,
    ErrorKind.APPROVER_UNKNOWN: 403,
    ErrorKind.APPROVAL_NOT_ALLOWED: 403,
    ErrorKind.APPROVAL_AGENT: 403,
    ErrorKind.ANSWER_AGENT: 403,
    ErrorKind.KEY_NOT_PERSONAL: 403,
    ErrorKind.SIGNATURE_KEY_MISSING: 403,
}
"""By the kind of an error the status of its page; of others it is 422: what was sent cannot be done."""
TITLES: Final = {
    400: "That request makes no sense",
    401: "Who are you?",
    403: "You may not do that",
    404: "There is no such thing",
    405: "That cannot be done here",
    409: "Something else happened first",
    410: "That is over",
    413: "That is too much",
    421: "This is not the server you asked for",
    422: "That cannot be done",
    500: "Something went wrong here",
    503: "Too much at once",
}


class PageError(Exception):
    """A request that is answered with a page that says what is wrong and what to do."""

    def __init__(self, status: int, message: str, *, hint: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint
        self.kind = kind

    @property
    def title(self) -> str:
        """What stands above it."""
        return TITLES.get(self.status, TITLES[422])


def page_error(error: GertError) -> PageError:
    """Return an error of gert as a page; its sentences are masked already."""
    kind = str(error.kind)
    return PageError(STATUSES.get(kind, 422), error.message, hint=error.hint or "", kind=kind)


__all__ = ["STATUSES", "TITLES", "PageError", "page_error"]
