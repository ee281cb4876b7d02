"""Answer Slack's requests: check where they are from before anything in them is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_approval_slack.clicks import LARGEST, NoClickError, click_of, is_from_slack, payload_of
from gert_approval_slack.settings import read_settings
from gert_core.api import CallbackReply, UsageError
from gert_core.kit.log import warning

if TYPE_CHECKING:
    from gert_core.api import CallbackRequest, Services


def callback(request: CallbackRequest, services: Services) -> CallbackReply:
    """Take a click: 401 for what Slack did not sign just now, 400 for what is not a click, else 200.

    When it returns, the answer is written; what is told about it in Slack follows after the reply.
    """
    if request.method != "POST" or request.path.strip("/"):
        return CallbackReply(status=404 if request.path.strip("/") else 405)
    if len(request.body) > LARGEST:
        return CallbackReply(status=413)
    settings = read_settings(services.config)
    secret = settings.signing_secret(services.environ)
    try:
        genuine = is_from_slack(request, secret)
    except UsageError:  # a header that came twice
        genuine = False
    if not genuine:
        return CallbackReply(status=401)
    try:
        click = click_of(payload_of(request.body))
    except NoClickError as error:
        warning("approvals", "a request of Slack cannot be used: %s", error)
        return CallbackReply(status=400)
    if click is None:
        return CallbackReply()
    from gert_approval_slack.deciding import decide

    return CallbackReply(after=decide(click, request.body, services, settings))


__all__ = ["callback"]
