"""The settings of the provider ``slack``, from ``approvals.config`` and the environment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import UsageError
from gert_core.kit.provider_settings import address, missing, refuse_unknown, seconds, secret, variable

if TYPE_CHECKING:
    from collections.abc import Mapping

KNOWN: Final = ("channel", "token_env", "signing_secret_env", "app_token_env", "base_url", "api_url", "wait")
API: Final = "https://slack.com/api"
_CHANNEL: Final = re.compile(r"[CGD][A-Z0-9]{2,}|#?[^\s#@<>&|,]{1,80}")


class SlackSettings(Struct, frozen=True, kw_only=True):
    """What ``approvals.config`` has: names of variables, never secrets. ``base_url`` is where ``gert web`` is."""

    channel: str
    token_env: str
    signing_secret_env: str | None = None
    app_token_env: str | None = None
    base_url: str | None = None
    api_url: str = API
    wait: float = 0.0

    def token(self, environ: Mapping[str, str]) -> str:
        """Return the bot token."""
        value = secret(environ, "token_env", self.token_env, "the bot token of the Slack app")
        return _begins(value, "xoxb-", self.token_env, "a bot token")

    def app_token(self, environ: Mapping[str, str]) -> str:
        """Return the app-level token, which only ``gert slack listen`` reads."""
        if self.app_token_env is None:
            raise missing("app_token_env", "name the variable that has the app-level token", "SLACK_APP_TOKEN")
        value = secret(environ, "app_token_env", self.app_token_env, "the app-level token of the Slack app")
        return _begins(value, "xapp-", self.app_token_env, "an app-level token")

    def signing_secret(self, environ: Mapping[str, str]) -> str:
        """Return the signing secret, which only callbacks read."""
        if self.signing_secret_env is None:
            raise missing("signing_secret_env", "name the variable that has the signing secret", "SLACK_SIGNING_SECRET")
        return secret(environ, "signing_secret_env", self.signing_secret_env, "the signing secret of the Slack app")


def read_settings(config: Mapping[str, Any]) -> SlackSettings:
    """Return the settings; raise ``UsageError`` with what is wrong in a sentence."""
    refuse_unknown(config, KNOWN, "slack")
    channel, where = config.get("channel"), "give the id of the channel in which to ask"
    if channel is None:
        raise missing("channel", where, "C0123456789; the details of the channel show it")
    if not isinstance(channel, str) or not _CHANNEL.fullmatch(channel):
        raise UsageError(f"approvals.config.channel is not a channel of Slack: {channel!r}", hint=where)
    token_env = variable(config, "token_env")
    if token_env is None:
        raise missing("token_env", "name the variable that has the bot token", "SLACK_BOT_TOKEN")
    return SlackSettings(
        channel=channel,
        token_env=token_env,
        signing_secret_env=variable(config, "signing_secret_env"),
        app_token_env=variable(config, "app_token_env"),
        base_url=address(config, "base_url"),
        api_url=address(config, "api_url") or API,
        wait=seconds(config, "wait"),
    )


def _begins(value: str, begins: str, name: str, what: str) -> str:
    # A token that is rotated begins with xoxe.
    if not value.removeprefix("xoxe.").startswith(begins):
        hint = "copy it again from the settings of the Slack app"
        raise UsageError(f"{name} does not have {what}, which begins with {begins}", hint=hint)
    return value


__all__ = ["API", "KNOWN", "SlackSettings", "read_settings"]
