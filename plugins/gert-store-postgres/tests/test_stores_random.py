"""Random runbooks, run with the same id and clock on a directory, a SQLite file and a PostgreSQL database: the same bytes.

The first event names where the run is kept, so that line differs, and with it every hash behind it. The test puts the
same place there, chains the lines anew, and compares all of them byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from contextlib import ExitStack
from itertools import count

import pytest
from hypothesis import HealthCheck, event, given, settings
from random_books import INPUTS, TOOL, runbooks

from gert_core.api import DocumentError, StoreServices
from gert_core.engine import prepare
from gert_core.engine.cancel import Stop
from gert_core.host import run
from gert_core.plugin.lazy import load_target
from gert_core.plugin.registry import Registry
from gert_core.testing import FakeClock, echo
from gert_core.trace import writer
from gert_core.trace.verify import verify

FUZZ = bool(os.environ.get("GERT_FUZZ"))
OPENERS = {
    "file": "gert_core.stores.directory:open_store",
    "sqlite": "gert_store_sqlite.store:open_store",
    "postgres": "gert_store_postgres.store:open_store",
}
PLACE = re.compile(rb'"(run_directory|store)":("[^"]*"|null),?')
NOW = 1_767_225_600_123_456_789


class World:
    """A directory with the tool, and the three stores."""

    def __init__(self, root, url, stack):
        self.root, self.numbers, self.valid = root, count(1), 0
        self.registry = Registry.build(extra_plugins=[echo])
        (root / "tools").mkdir()
        (root / "tools" / "mirror.tool.yaml").write_text(TOOL)
        urls = {"file": "file:runs", "sqlite": "sqlite:runs.db", "postgres": url}
        services = StoreServices(root=root)
        self.stores = {name: stack.enter_context(load_target(OPENERS[name])(urls[name], services)) for name in urls}

    def run(self, document, run_id, store):
        book = self.root / "book.yaml"
        book.write_text(json.dumps(document))
        with pytest.MonkeyPatch.context() as pinned:
            pinned.setattr(prepare, "new_run_id", lambda *_, **__: run_id)
            pinned.setattr(writer, "time_ns", lambda: NOW)
            pinned.setattr(time, "perf_counter", lambda: 0.0)
            stop = Stop(FakeClock())
            return run(
                book, inputs=INPUTS, registry=self.registry, environ={}, actor="t", stop=stop, store=store, keep=True
            )


@pytest.fixture
def world(url, tmp_path):
    with ExitStack() as stack:
        made = World(tmp_path, url, stack)
        yield made
        assert made.valid > 8, "most documents must be valid for this to mean anything"


def in_order(value):
    """The document with nothing at the same time: the order of concurrent steps is not that of another run."""
    if isinstance(value, dict):
        found = {key: in_order(one) for key, one in value.items()}
        if found.get("type") == "parallel":
            found["max_parallel"] = 1
        if isinstance(found.get("for_each"), dict):
            found["for_each"] = {key: one for key, one in found["for_each"].items() if key != "parallel"}
        return found
    return [in_order(one) for one in value] if isinstance(value, list) else value


def chained_anew(lines):
    """The lines without the place of the run, with the hashes that they have then."""
    found, before = [], b"0" * 64
    for number, whole in enumerate(lines):
        line = whole.removesuffix(b"\n")
        line = PLACE.sub(b"", line) if not number else line
        line = re.sub(rb'"prev_hash":"[0-9a-f]{64}"\}$', b'"prev_hash":"' + before + b'"}', line)
        seal = re.search(rb',"chain_hash":"[0-9a-f]{64}"', line)
        if seal is not None:
            bare = line.replace(seal[0], b"", 1)
            line = line.replace(seal[0], b',"chain_hash":"' + hashlib.sha256(bare).hexdigest().encode() + b'"', 1)
        before = hashlib.sha256(line).hexdigest().encode()
        found.append(line)
    return found


@settings(
    max_examples=400 if FUZZ else 18,
    derandomize=not FUZZ,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(document=runbooks())
def test_store_identical_export_of_random_runbooks_on_all_three_stores(world, document):
    run_id = f"20260101T000000Z-random-{next(world.numbers):08x}"
    document, exported = in_order(document), {}
    for name, store in world.stores.items():
        try:
            world.run(document, run_id, store)
        except DocumentError as refused:
            assert not exported, "one store refused what another one took"
            event(f"invalid: {refused.diagnostics[0].rule}")
            return
        with store.open(run_id) as kept:
            assert str(verify(kept, key_for=lambda *_: None, schemes=lambda _: None).status) == "unsigned"
            exported[name] = list(kept.lines())
    world.valid += 1
    event(f"{len(exported['file'])} lines")
    assert PLACE.search(exported["file"][0])
    wanted = chained_anew(exported["file"])
    for name in ("sqlite", "postgres"):
        assert chained_anew(exported[name]) == wanted
