"""``/runs/{id}/answer/{step}``: answer what a step asks, while its run is suspended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from gert_web.problems import PageError

if TYPE_CHECKING:
    from starlette.responses import Response

    from gert_web.site import PageVisit

FIELD: Final = "answer:"
_ELSEWHERE: Final = ("attachment",)
"""The kinds that are answered in a shell: files are not sent to this server."""


def answer(visit: PageVisit) -> Response:
    """Show what a step asks."""
    run_id, key = visit.word("run"), visit.word("step")
    asked = _asked(visit, run_id, key)
    elsewhere = [one for one in asked if one.get("kind") in _ELSEWHERE]
    return visit.page(
        "answer.html", run=visit.host.run(run_id), key=key, asked=asked, elsewhere=elsewhere, path=_path(run_id, key)
    )


def send(visit: PageVisit) -> Response:
    """Keep the answers, or that the person declines."""
    run_id, key = visit.word("run"), visit.word("step")
    if visit.fields["decision"] == "decline":
        reason = visit.fields["reason"].strip()
        if not reason:
            raise PageError(422, "Say why you decline; it is the reason for which the step fails.")
        visit.host.answer(run_id, key, {}, by=visit.actor(), reject=reason)
    else:
        values = _values(visit, _asked(visit, run_id, key))
        if not values:
            raise PageError(422, "The form has no answer.", hint="Go back, and answer at least one question.")
        visit.host.answer(run_id, key, values, by=visit.actor())
    visit.site.resume.soon(run_id)
    return visit.go(f"/runs/{run_id}")


def _asked(visit: PageVisit, run_id: str, key: str) -> list[dict[str, Any]]:
    found = [one for one in visit.host.questions(run_id) if one.get("step_key") == key]
    if not found:
        raise PageError(404, "This step asks nothing that is not answered.", hint="Its run may have gone on.")
    return found


def _values(visit: PageVisit, asked: list[dict[str, Any]]) -> dict[str, str]:
    """Return the answers in the words that the prompt of a terminal takes."""
    given = visit.fields.starting(FIELD)
    found: dict[str, str] = {}
    for question in asked:
        name, kind = str(question["name"]), question.get("kind")
        if kind == "checklist":
            if given.get(name, "") != "sent":
                continue
            ticked = visit.fields.all(f"item:{name}")
            found[name] = ", ".join(ticked) if ticked else "none"
        elif kind == "confirm":
            if given.get(name, "") in ("yes", "no"):
                found[name] = given[name]
        elif kind not in _ELSEWHERE and given.get(name, "").strip():
            found[name] = given[name].strip()
    return found


def _path(run_id: str, key: str) -> str:
    return f"/runs/{quote(run_id, safe='')}/answer/{quote(key, safe='')}"


__all__ = ["FIELD", "answer", "send"]
