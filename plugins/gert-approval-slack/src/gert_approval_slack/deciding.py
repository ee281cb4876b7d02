"""Take a click as the answer to its ticket, and tell in Slack what became of it."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from gert_approval_slack.blocks import escaped
from gert_approval_slack.rewriting import shown
from gert_approval_slack.session import ticket_link
from gert_core.api import GertError, UsageError
from gert_core.kit.escaping import escape
from gert_core.kit.local_paths import without_directories
from gert_core.kit.log import warning

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_approval_slack.clicks import Click
    from gert_approval_slack.settings import SlackSettings
    from gert_core.api import Services


def decide(click: Click, raw: bytes, services: Services, settings: SlackSettings) -> Callable[[], None]:
    """Answer the ticket of a click; return what is told in Slack afterwards, which may take its time.

    When this returns, the answer is written, or it is known why it does not count.
    """
    assert services.tickets is not None  # noqa: S101 - programs that take answers give them
    try:
        state = services.tickets.ticket(click.ticket_id, since_last=False)
        if state.request.run_id != click.run_id:
            raise UsageError(f"ticket {click.ticket_id} is of another run than this message")
        services.tickets.decide(
            click.ticket_id,
            approved=click.approved,
            identity=click.identity,
            evidence=sha256(raw).hexdigest(),
        )
    except GertError as error:
        return partial(_refuse, click, error, services, settings)
    return partial(_rewrite, click, services, settings)


def _rewrite(click: Click, services: Services, settings: SlackSettings) -> None:
    """Let the message say who answered, at once; others about the same ticket follow."""
    assert services.tickets is not None  # noqa: S101 - programs that take answers give them
    try:
        state = services.tickets.ticket(click.ticket_id)
    except GertError as error:
        warning("approvals", "the message about ticket %s is not rewritten: %s", click.ticket_id, error.message)
        return
    message = shown(state, link=ticket_link(settings, click.ticket_id))
    _remember(click, services)
    _tell("chat.update", {"ts": click.ts, **message}, click, services, settings)


def _refuse(click: Click, error: GertError, services: Services, settings: SlackSettings) -> None:
    """Tell only the person who clicked why it does not count, and not where files of this machine are."""
    warning("approvals", "an answer to ticket %s does not count: %s", click.ticket_id, escape(error.message))
    said = "; ".join(escape(without_directories(part)) for part in (error.message, error.hint) if part) + "."
    sentence = f"Your answer does not count: {escaped(said)}"
    _tell("chat.postEphemeral", {"user": click.user, "text": sentence}, click, services, settings)


def _tell(method: str, arguments: Mapping[str, Any], click: Click, services: Services, settings: SlackSettings) -> None:
    if not click.channel:
        return
    from gert_approval_slack.calls import SlackCalls

    calls = SlackCalls(settings.token(services.environ), settings.api_url)
    problem = calls.attempt(method, {"channel": click.channel, **arguments})
    if problem is not None:
        warning("approvals", "%s about ticket %s was not done: %s", method, click.ticket_id, problem)


def _remember(click: Click, services: Services) -> None:
    """Keep a message of which nothing was known, because sending it was interrupted: it is rewritten from now on."""
    assert services.tickets is not None  # noqa: S101 - programs that take answers give them
    if not click.channel or not click.ts:
        return
    try:
        sent = dict(services.tickets.sent(click.ticket_id) or {"provider": "slack"})
        messages = [one for one in sent.get("messages") or () if isinstance(one, dict)]
        if all((one.get("channel"), one.get("ts")) != (click.channel, click.ts) for one in messages):
            messages.append({"channel": click.channel, "ts": click.ts})
            services.tickets.keep_sent(click.ticket_id, {**sent, "messages": messages})
    except GertError as error:
        warning("approvals", "a message about ticket %s is not remembered: %s", click.ticket_id, error.message)


__all__ = ["decide"]
