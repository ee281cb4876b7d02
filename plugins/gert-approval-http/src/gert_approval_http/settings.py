"""The settings of the provider ``http``, from ``approvals.config`` and the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import CheckResult, GertError, UsageError
from gert_core.kit.provider_settings import address, missing, refuse_unknown, seconds, secret, variable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import CheckServices, Services

KNOWN: Final = ("url", "url_env", "base_url", "poll", "wait")
SIGNING_KEY: Final = "GERT_WEBHOOK_SIGNING_KEY"
"""The variable with the key that requests are signed with, the same as of notifications."""
VERIFY_KEY: Final = "GERT_CALLBACK_VERIFY_KEY"
"""The variable with the key that answers are signed with; only ``gert web`` reads it, never a run."""


class HttpSettings(Struct, frozen=True, kw_only=True):
    """What ``approvals.config`` has. ``base_url`` is where ``gert web`` is, ``poll`` where answers are fetched."""

    url: str | None = None
    url_env: str | None = None
    base_url: str | None = None
    poll: str | None = None
    wait: float = 0.0

    def target(self, environ: Mapping[str, str]) -> str:
        """Return where requests are posted."""
        if self.url_env is None:
            return self.url or ""
        value = secret(environ, "url_env", self.url_env, "the address of the service")
        return address({"url_env": value}, "url_env") or ""


def read_settings(config: Mapping[str, Any]) -> HttpSettings:
    """Return the settings; raise ``UsageError`` with what is wrong in a sentence."""
    refuse_unknown(config, KNOWN, "http")
    url, url_env = address(config, "url"), variable(config, "url_env")
    if (url is None) == (url_env is None):
        if url is None:
            raise missing(
                "url", "give the address of the service that is asked", "https://approvals.example.com/requests"
            )
        raise UsageError("approvals.config has both url and url_env", hint="leave one of them out")
    base_url, poll = address(config, "base_url"), _poll(config)
    if (base_url is None) == (poll is None):
        if base_url is None:
            raise missing(
                "base_url", "give the address of gert web, to which answers are posted", "https://gert.example.com"
            )
        raise UsageError("approvals.config has both base_url and poll", hint="answers come one way: leave one out")
    return HttpSettings(url=url, url_env=url_env, base_url=base_url, poll=poll, wait=seconds(config, "wait"))


def check(services: Services) -> None:
    """Raise ``UsageError`` for settings with which the service cannot be asked."""
    read_settings(services.config).target(services.environ)
    signing_key(services.environ)


def signing_key(environ: Mapping[str, str]) -> str | None:
    """Return the key that requests are signed with; None without one."""
    from gert_http import signature

    key = environ.get(SIGNING_KEY) or None
    if key is not None:
        try:
            signature(key, b"", at=0)
        except ValueError as error:
            raise UsageError(f"{SIGNING_KEY} cannot be used: {error}", hint="`gert keys new` makes keys") from None
    return key


def check_settings(services: CheckServices) -> CheckResult | None:
    """Return whether the settings are complete; None where the project does not ask a service."""
    if services.approvals != "http":
        return None
    try:
        settings = read_settings(services.config)
        settings.target(services.environ)
        signed = signing_key(services.environ) is not None
    except GertError as error:
        return CheckResult(status="fail", message=error.message, hint=error.hint or "")
    if services.environ.get(VERIFY_KEY):
        return CheckResult(
            status="fail",
            message=f"{VERIFY_KEY} can be read here, and a program that has it can answer for anybody",
            hint="set it only where `gert web` runs, as another user than runs are started by",
        )
    if not signed:
        hint = f"set {SIGNING_KEY} to a key that the service has as well"
        return CheckResult(
            status="warn", message="requests are not signed: the service cannot tell whose they are", hint=hint
        )
    return CheckResult(status="ok", message="requests are signed; nothing was sent to try it")


def _poll(config: Mapping[str, Any]) -> str | None:
    value = config.get("poll")
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) != {"url"}:
        raise UsageError("approvals.config.poll takes one field, url", hint="such as poll: {url: https://...}")
    return address({"poll.url": value["url"]}, "poll.url")


__all__ = [
    "KNOWN",
    "SIGNING_KEY",
    "VERIFY_KEY",
    "HttpSettings",
    "check",
    "check_settings",
    "read_settings",
    "signing_key",
]
