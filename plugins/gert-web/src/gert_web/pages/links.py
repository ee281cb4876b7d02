"""``/a/{token}``: a personal link shows one ticket to one person, who decides it once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_web.pages.tickets import decided, shown

if TYPE_CHECKING:
    from starlette.responses import Response

    from gert_core.kit.links import LinkClaims
    from gert_web.site import PageVisit


def link(visit: PageVisit, claims: LinkClaims) -> Response:
    """Show the ticket of a link: nothing is decided, since programs follow links too."""
    used = visit.host.link_used(claims)
    notice = "This link was used; a link decides once." if used else ""
    view = visit.host.ticket(claims.ticket)
    return shown(visit, view, code=410 if used else 200, notice=notice, action=visit.request.url.path, closed=used)


def decide(visit: PageVisit, claims: LinkClaims) -> Response:
    """Decide the ticket of a link, which is used up by an answer that counts."""
    if visit.host.link_used(claims):
        return link(visit, claims)
    return decided(visit, claims.ticket, back=visit.request.url.path, before=lambda: visit.host.use_link(claims))


__all__ = ["decide", "link"]
