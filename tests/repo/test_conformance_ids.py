"""Everything that run stores and the life of runs are to show has a test whose name says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STORE = (
    "round_trip",
    "gapless_seq_from_8_threads",
    "second_writer_refused",
    "tampering_found",
    "identical_export",
    "blobs",
    "kill_9_at_each_write",
    "power_loss",
    "lease_refuse",
    "lease_renew",
    "foreign_release",
    "lease_expiry",
    "zombie",
    "since_seq",
    "follow",
    "queries",
    "ledger_exact_from_8_processes",
    "schema_info",
    "pg_closed_connection",
    "pg_lost_commit_answer",
    "pg_outage",
    "full_disk",
    "file_layout",
)
LIFE = (
    "id_reuse",
    "block",
    "unblock",
    "wrong_key",
    "active_list",
    "progress_33",
    "progress_100",
    "progress_fallback",
    "progress_failed",
    "latest_artifact",
    "all_readers_agree_after_retry_failed",
    "skips_leased",
    "six_output_forms",
    "behaviour_file",
)
PLACES = ("tests", "plugins", "gert_core/testing")


@pytest.fixture(scope="module")
def names():
    """The names of all tests that say that they are of one of the lists."""
    files = [file for place in PLACES for file in (ROOT / place).rglob("*.py")]
    return {name for file in files for name in re.findall(r"def (test_(?:store|life)_\w+)", file.read_text())}


@pytest.mark.parametrize("what", [f"store_{name}" for name in STORE] + [f"life_{name}" for name in LIFE])
def test_there_is_a_test_of_it(names, what):
    kind, _, words = what.partition("_")
    assert [name for name in names if name.startswith(f"test_{kind}_") and words in name], what


def test_every_store_passes_the_conformance_tests():
    """The three stores subclass the conformance class, so that what it shows is shown of each."""
    classes = {
        "tests/core/test_store_directory.py": "StoreConformance",
        "plugins/gert-store-sqlite/tests/test_store_sqlite.py": "DatabaseStoreConformance",
        "plugins/gert-store-postgres/tests/test_store_postgres.py": "DatabaseStoreConformance",
    }
    for file, name in classes.items():
        assert re.search(rf"class Test\w+\({name}\)", (ROOT / file).read_text()), file
