"""Notifiers, which tell people how runs end and what they wait for: the record, what it is given, what it returns."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - part of records
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api.context import Deadline, Services
    from gert_core.api.data import Json

DeliveryStatus = Literal["delivered", "failed", "refused"]
"""What became of one try: ``failed`` is tried again later, ``refused`` is not."""


class Notification(Struct, frozen=True, kw_only=True):
    """One thing to tell; everything but ``value`` is masked.

    ``id`` is the same each time the same thing is tried, so that a receiver can leave out what it got before. ``event``
    is what happened, in the words of ``on``: the category of an outcome, ``failed``, ``approval_pending`` ...
    """

    id: str
    event: str
    value: str
    """What the rule says under the notifier's key; for ``env/NAME`` the value of that variable, a secret."""
    subject: str
    """What it is about: the same for all runs of a runbook with the same inputs."""
    document: Mapping[str, Json] = field(default_factory=dict)
    """What is told: ``runbook run_id outcome duration trace timestamp event status failure pending next url text``."""
    options: Mapping[str, Json] = field(default_factory=dict)
    """The fields of the same rule that the notifier names as its ``options``."""


class Delivery(Struct, frozen=True, kw_only=True):
    """What became of one try; ``error`` is one sentence, ``retry_after`` the seconds that the receiver asked for."""

    status: DeliveryStatus
    error: str = ""
    retry_after: float | None = None


class Notifier(Struct, frozen=True, kw_only=True):
    """A way to tell people; a rule under ``notify`` or ``on_outcome`` chooses it by one of its ``keys``.

    ``send(notification, services, deadline)`` makes one try within the deadline, and returns what became of it. What
    it raises is a try that failed. ``services.config`` is what the project says under ``notifiers.<name>``. It may be
    called from several threads.
    """

    name: str
    keys: tuple[str, ...]
    send: str | Callable[[Notification, Services, Deadline], Delivery]
    options: tuple[str, ...] = ()
    """Further fields of a rule that it reads."""
    hosts: tuple[str, ...] = ()
    """Hosts whose addresses it sends to, whichever key they stand under."""
    summary: str = ""


__all__ = ["Delivery", "DeliveryStatus", "Notification", "Notifier"]
