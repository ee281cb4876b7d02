"""``/login/{token}``: the address that is printed opens a session, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response

from gert_web.problems import PageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from gert_web.people import LoginSessions
    from gert_web.site import WebSite


def login(site: WebSite, sessions: LoginSessions) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers the address."""

    async def endpoint(request: Request) -> Response:
        cookie = sessions.open(str(request.path_params["token"]))
        if cookie is None:
            try:
                sessions.person(request)
            except PageError:
                hint = "gert web printed another one when it was used."
                raise PageError(410, "This address was used before, or is not one of this server.", hint=hint) from None
        response = RedirectResponse("/tickets", status_code=303)
        if cookie is not None:
            site.set_cookie(response, sessions.cookie, cookie, strict=False)
        return response

    return endpoint


__all__ = ["login"]
