"""What all pages share: the host of the project, who people are, the templates, and how pages are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from starlette.responses import HTMLResponse, RedirectResponse, Response

from gert_web.forms import FIELD
from gert_web.problems import PageError
from gert_web.rendering import environment

if TYPE_CHECKING:
    from starlette.requests import Request

    from gert_core.hosting import Host
    from gert_web.command import WebOptions
    from gert_web.endings import Endings
    from gert_web.forms import Fields, FormKeys
    from gert_web.live import LiveRuns
    from gert_web.people import Doorman, Visitor
    from gert_web.personal import LinkDoorman
    from gert_web.resuming import Resuming


class WebSite:
    """One server: its host, its options, and its pages."""

    def __init__(
        self,
        host: Host,
        wanted: WebOptions,
        *,
        doorman: Doorman,
        links: LinkDoorman,
        keys: FormKeys,
        live: LiveRuns,
        endings: Endings,
        resume: Resuming,
    ) -> None:
        self.host = host
        self.wanted = wanted
        self.doorman = doorman
        self.links = links
        self.keys = keys
        self.live = live
        self.endings = endings
        self.resume = resume
        self.callbacks = frozenset(host.callbacks())
        """The providers that take callbacks."""
        self._templates = environment()

    @property
    def secure(self) -> bool:
        """Whether cookies are sent over https only."""
        return self.wanted.url.startswith("https:")

    def page(self, template: str, /, *, code: int = 200, person: Visitor | None = None, **values: Any) -> HTMLResponse:
        """Return a page of a template; its forms are those of ``person``."""
        common = {"site": self, "person": person, "field": FIELD}
        common["form_token"] = None if person is None else self.keys.token_of(person)
        text = self._templates.get_template(template).render(**common, **values)
        return HTMLResponse(text.encode("utf-8", "replace"), status_code=code)

    def problem(self, error: PageError, person: Visitor | None = None) -> Response:
        """Return the page of an error."""
        return self.page("problem.html", code=error.status, person=person, error=error)

    def set_cookie(self, response: Response, name: str, value: str, *, strict: bool) -> None:
        """Set a cookie that no script can read."""
        response.set_cookie(name, value, httponly=True, secure=self.secure, samesite="strict" if strict else "lax")


class PageVisit(Struct, frozen=True, kw_only=True):
    """One request of somebody who is known, and what it sent."""

    site: WebSite
    request: Request
    person: Visitor
    fields: Fields
    body: bytes = b""
    """What was sent, as it came."""

    @property
    def host(self) -> Host:
        """The host of the project."""
        return self.site.host

    def word(self, name: str) -> str:
        """Return a part of the path."""
        return str(self.request.path_params[name])

    def query(self, name: str) -> str:
        """Return what stands behind the question mark, empty when it is missing."""
        return self.request.query_params.get(name, "")

    def actor(self) -> str:
        """Return under which name it is recorded what this person does: that of policies, never one that is only sent.

        Raise ``PageError`` where no policy says who it is: a login may be spelled like the id of another person.
        """
        identity = self.person.identity
        found = self.person.name if identity is None else self.host.person_of(identity)
        if found is None:
            hint = "Ask for a `people` entry with this `login` in a policy of the project; letters count as they are."
            told = f"No policy says who login {self.person.name!r} is: you may look, and no more."
            raise PageError(403, told, hint=hint)
        return found

    def page(self, template: str, /, *, code: int = 200, **values: Any) -> Response:
        """Return a page for this person, whose forms it can send."""
        response = self.site.page(template, code=code, person=self.person, **values)
        name, value = self.site.keys.cookie_of(self.person)
        if self.request.cookies.get(name) != value:
            self.site.set_cookie(response, name, value, strict=True)
        return response

    def go(self, path: str) -> Response:
        """Send the browser to another page, which it asks for anew."""
        return RedirectResponse(path, status_code=303)


__all__ = ["PageVisit", "WebSite"]
