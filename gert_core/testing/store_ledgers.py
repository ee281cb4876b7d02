"""Conformance tests of the ledger of a run store."""

from __future__ import annotations

import subprocess
import sys
import time
from decimal import Decimal
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import pytest

from gert_core.api import Claim
from gert_core.testing.store_case import StoreCase

if TYPE_CHECKING:
    from pathlib import Path

    from gert_core.api import RunStore

KEY: Final = sha256(b"key").hexdigest()
PROCESSES: Final = 8
AT: Final = "2026-01-01T00:00:00.000000Z"
LATER: Final = "2026-01-01T00:02:00.000000Z"
_RACE: Final = """
import json, os, sys
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from gert_core.api import StoreServices
from gert_core.plugin.lazy import load_target

opener, url, root, config, owner = sys.argv[1:]
store = load_target(opener)(url, StoreServices(root=Path(root), environ=dict(os.environ), config=json.loads(config)))
ledger = store.ledger()
keys = [sha256(b"%d" % number).hexdigest() for number in range(12)]
print("ready", flush=True)
sys.stdin.read(1)
claims = [ledger.claim(key, owner, "2026-01-01T00:00:00.000000Z").owner == owner for key in keys]
taken = [
    ledger.reserve(sha256(b"sum").hexdigest(), f"{owner}-{number}", Decimal("0.1"), limit=Decimal("3.7"))
    for number in range(10)
]
print(json.dumps({"claims": claims, "taken": sum(taken)}))
store.close()
"""


class LedgerConformance(StoreCase):
    """The tests of the ledger; ``StoreConformance`` has them too."""

    def test_store_ledger_the_owner_claims_again_and_others_do_not(self, store: RunStore, other: RunStore) -> None:
        ledger = store.ledger()
        assert ledger.problem() is None
        assert ledger.claim(KEY, "a", AT) == Claim(owner="a", state="open", at=AT)
        assert ledger.claim(KEY, "a", LATER).owner == "a"
        assert other.ledger().claim(KEY, "b", LATER) == Claim(owner="a", state="open", at=AT)

    @pytest.mark.parametrize(("state", "following"), [("success", "a"), ("unknown", "a"), ("failed", "b")])
    def test_store_ledger_only_a_claim_that_failed_is_replaced(
        self, store: RunStore, state: str, following: str
    ) -> None:
        ledger = store.ledger()
        assert not ledger.settle(KEY, "a", "success", AT), "there is none"
        ledger.claim(KEY, "a", AT)
        assert not ledger.settle(KEY, "b", "failed", AT), "it is another's"
        assert ledger.settle(KEY, "a", state, AT)  # type: ignore[arg-type]
        assert not ledger.settle(KEY, "a", "unknown", AT), "it is settled"
        assert ledger.claim(KEY, "b", LATER).owner == following

    def test_store_ledger_an_open_claim_may_lapse(self, store: RunStore) -> None:
        ledger = store.ledger()
        ledger.claim(KEY, "a", AT)
        assert ledger.claim(KEY, "b", LATER, ttl=180).owner == "a"
        assert ledger.claim(KEY, "b", LATER, ttl=60).owner == "b"
        assert ledger.settle(KEY, "b", "success", LATER)
        assert ledger.claim(KEY, "c", "2027-01-01T00:00:00.000000Z", ttl=60).owner == "b", "what is done stays done"

    def test_store_ledger_reserves_amounts_up_to_the_limit(self, store: RunStore) -> None:
        ledger, tenth = store.ledger(), Decimal("0.1")
        taken = [ledger.reserve(KEY, f"o{number}", tenth, limit=Decimal(1)) for number in range(12)]
        assert taken == [True] * 10 + [False] * 2
        total = ledger.total(KEY)
        assert (total.count, total.amount) == (10, Decimal(1))
        assert ledger.reserve(KEY, "o3", tenth, limit=Decimal(1)), "an owner has one reservation"
        assert ledger.reserve(KEY, "o3", Decimal("0.05"), limit=Decimal(1))
        assert ledger.total(KEY).amount == Decimal("0.95")
        assert ledger.total(sha256(b"other").hexdigest()).count == 0

    def test_store_ledger_a_window_moves(self, store: RunStore) -> None:
        ledger, one = store.ledger(), Decimal(1)
        assert ledger.reserve(KEY, "a", one, limit=one, window=0.5)
        assert not ledger.reserve(KEY, "b", one, limit=one, window=60)
        time.sleep(0.7)
        assert ledger.total(KEY, 0.5).count == 0
        assert ledger.total(KEY).count == 1
        assert ledger.reserve(KEY, "b", one, limit=one, window=0.5)
        assert ledger.total(KEY).count == 2

    def test_store_ledger_documents_are_kept_and_replaced(self, store: RunStore, other: RunStore) -> None:
        ledger = store.ledger()
        assert ledger.get(KEY) is None
        ledger.put(KEY, {"a": [1, "ä", None]})
        assert other.ledger().get(KEY) == {"a": [1, "ä", None]}
        ledger.put(KEY, "b")
        assert other.ledger().get(KEY) == "b"

    def test_store_ledger_exact_from_8_processes(self, tmp_path: Path, store: RunStore) -> None:
        import json

        store.ledger().problem()
        command = [sys.executable, "-c", _RACE, self.opener(), self.url(tmp_path), str(tmp_path)]
        config = json.dumps(dict(self.config))
        started = [
            subprocess.Popen([*command, config, f"p{number}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for number in range(PROCESSES)
        ]
        try:
            for process in started:
                assert process.stdout is not None
                assert process.stdout.readline() == b"ready\n"
            for process in started:
                assert process.stdin is not None
                process.stdin.write(b".")
                process.stdin.flush()
            told = [json.loads(process.communicate(timeout=120)[0]) for process in started]
        finally:
            for process in started:
                process.kill()
                process.wait()
        assert [sum(one["claims"][number] for one in told) for number in range(12)] == [1] * 12
        assert sum(one["taken"] for one in told) == 37
        total = store.ledger().total(sha256(b"sum").hexdigest())
        assert (total.count, total.amount) == (37, Decimal("3.7"))


__all__ = ["LedgerConformance"]
