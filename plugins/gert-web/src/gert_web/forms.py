"""Forms that only pages of this server can send: a cookie, a token in the form, and where the request comes from."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from gert_web.problems import PageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from gert_web.people import Visitor

FIELD: Final = "form_token"
_STALE: Final = "Go back, load the page again, and send the form once more."


class Fields:
    """What a form sent; of a field that is there twice nothing is believed."""

    def __init__(self, items: list[tuple[str, str]]) -> None:
        self._items = items

    def __getitem__(self, name: str) -> str:
        """Return the value of a field, empty when it is missing."""
        found = [value for key, value in self._items if key == name]
        if len(found) > 1:
            raise PageError(400, f"The form has the field {name} twice.")
        return found[0] if found else ""

    def all(self, name: str) -> list[str]:
        """Return the values of a field that may be there several times."""
        return [value for key, value in self._items if key == name]

    def starting(self, prefix: str) -> dict[str, str]:
        """Return the fields whose names begin so, by the rest of their names."""
        names = dict.fromkeys(key for key, _ in self._items if key.startswith(prefix))
        return {name.removeprefix(prefix): self[name] for name in names}


class FormKeys:
    """The cookie and the token of forms: both follow from whom they belong to, so that those of other tabs stay valid.

    The cookie is sent to no request that another site caused (``SameSite=Strict``), and the token stands in no page of
    another. Both are made of a key that lives as long as this process.
    """

    def __init__(self, *, cookie: str, base_url: str | None) -> None:
        self._cookie = cookie
        self._base = base_url
        self._key = secrets.token_bytes(32)

    def cookie_of(self, person: Visitor) -> tuple[str, str]:
        """Return the name and the value of the cookie that forms of a person need; each link has its own."""
        value = self._made("cookie", person)
        return (f"{self._cookie}_{value[:16]}" if person.guest else self._cookie), value

    def token_of(self, person: Visitor) -> str:
        """Return the token that forms of a person carry."""
        return self._made("token", person)

    def check(self, request: Request, fields: Fields, person: Visitor) -> None:
        """Raise ``PageError`` for a form that was not sent by a page of this server to the same person."""
        self.check_origin(request)
        name, value = self.cookie_of(person)
        if not hmac.compare_digest(request.cookies.get(name, "").encode(), value.encode()):
            raise PageError(403, "The cookie that belongs to this form is missing or old.", hint=_STALE)
        if not hmac.compare_digest(fields[FIELD].encode(), self.token_of(person).encode()):
            raise PageError(403, "This form is not one of yours, or from before this server was started.", hint=_STALE)

    def check_origin(self, request: Request) -> None:
        """Raise ``PageError`` unless the request says that a page of this server caused it.

        Pages are told to send no address of where they came from, so browsers say ``null`` instead of the origin of a
        form; then they also say whether it is the same one, which no page can change.
        """
        origins = request.headers.getlist("origin")
        site = request.headers.get("sec-fetch-site")
        own = site in (None, "same-origin") and len(origins) == 1
        null = own and origins == ["null"] and site == "same-origin"
        if not null and not (own and self._is_own(origins[0], request.headers)):
            hint = "Open the page here, and send its form from there."
            raise PageError(403, "This request was caused by another site, or does not say by which.", hint=hint)

    def _is_own(self, origin: str, headers: Mapping[str, str]) -> bool:
        if self._base is not None:
            return origin == self._base
        # The scheme is not known: a proxy may speak https. The name that was asked for counts.
        try:
            parts = urlsplit(origin)
        except ValueError:  # such as a bracket without its other one
            return False
        return parts.scheme in ("http", "https") and bool(parts.netloc) and parts.netloc == headers.get("host")

    def _made(self, kind: str, person: Visitor) -> str:
        return hmac.new(self._key, f"{kind}\n{person.forms}".encode(), hashlib.sha256).hexdigest()


__all__ = ["FIELD", "Fields", "FormKeys"]
