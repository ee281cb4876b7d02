"""Tell people of a run that a command executed, after its result is printed; the exit code stays what it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gert_core.api import GertError
from gert_core.cli.render.terminal import err, escape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.engine.run import Run
    from gert_core.hosting.deliveries import DeliveryTry


def tell(run: Run, environ: Mapping[str, str]) -> None:
    """Try to deliver what a run owes, for some seconds; what is not delivered is still owed, and a warning says so."""
    from gert_core.hosting.deliveries import Deliverer

    facts = run.facts
    if facts.stored is None or facts.store is None:
        return
    if sys.stdout is not None:
        sys.stdout.flush()
    try:
        deliverer = Deliverer(facts.store, registry=facts.registry, environ=environ)
        with facts.store.open(facts.run_id) as stored:
            for told in deliverer.deliver(stored):
                report(told, option=facts.store.option)
    except (GertError, OSError) as error:
        err(escape(f"warning: people were not told of the run: {getattr(error, 'message', error)}"))
    except KeyboardInterrupt:
        err("warning: people may not have been told of the run; `gert notify flush` tells them")


def report(told: DeliveryTry, *, option: str = "") -> None:
    """Print a warning about a notification that was not delivered."""
    sent = told.sent
    if sent is None or sent.status == "delivered":
        return
    what = f"warning: {sent.notifier} was not told of {told.owed.event}: {sent.error}"
    after = f"; `gert notify flush{option}` tries again" if sent.status == "failed" else ""
    err(escape(f"{what}{after}"))


__all__ = ["report", "tell"]
