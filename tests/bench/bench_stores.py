"""Measures the three stores: cost of a step, lists of 10,000 runs, the lag of followers and the speed of copies.

Rounds are interleaved and shuffled, so that what else the machine does hits all stores alike; costs are ratios to the
directory store. ``bench_stores.py [--rounds N] [--runs N] [--no-postgres]``.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from many_runs import write_runs
from workloads import Workloads, assert_step, tool_step

from gert_core import host
from gert_core.api import RunQuery, StoreServices
from gert_core.engine.copying import copy_run
from gert_core.plugin.lazy import load_target
from gert_core.plugin.registry import Registry
from gert_core.runs.lifecycle.stream import follow_events
from gert_core.stores.directory import DirectoryStore
from gert_core.testing.store_lines import event_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api import RunStore

HERE = Path(__file__).parent
OPENERS = {
    "file": "gert_core.stores.directory:open_store",
    "sqlite": "gert_store_sqlite.store:open_store",
    "postgres": "gert_store_postgres.store:open_store",
}
MOST = {("assert", "sqlite"): 1.6, ("tool", "sqlite"): 1.1, ("assert", "postgres"): 2.0, ("tool", "postgres"): 1.5}
ASSERTS, TOOLS, LINES, EVENTS = 400, 30, 2000, 60


@contextmanager
def postgres(place: Path) -> Iterator[str]:
    """Give the address of a server that syncs as one in use does."""
    file = HERE.parents[1] / "plugins" / "gert-store-postgres" / "tests" / "conftest.py"
    spec = importlib.util.spec_from_file_location("postgres_server", file)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    if os.geteuid() == 0:
        os.chown(place, module.NOBODY, module.NOBODY)
    server = module.Server(place, module.programs(place))
    server.run("initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale")
    options = f"-c listen_addresses= -c unix_socket_directories={place}"
    server.run("pg_ctl", "-w", "-l", str(place / "server.log"), "-o", options, "start")
    try:
        yield server.url("public")
    finally:
        server.stop("immediate")


def steps(stores: dict[str, RunStore], work: Workloads, rounds: int) -> None:
    """Print what a step costs, as a ratio to the directory store: wall time, and CPU time of this process."""
    registry = Registry.build()
    books = {
        "none": (work.book("none", ""), 0),
        "assert": (work.book("asserts", "".join(assert_step(n) for n in range(ASSERTS))), ASSERTS),
        "tool": (work.book("tools", "".join(tool_step(n) for n in range(TOOLS))), TOOLS),
    }
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number in range(rounds + 1):
        order = [(kind, name) for kind in books for name in stores]
        random.shuffle(order)
        for kind, name in order:
            wall, cpu = time.perf_counter(), time.process_time()
            host.run(books[kind][0], registry=registry, store=stores[name])
            found = time.perf_counter() - wall, time.process_time() - cpu
            if number:  # the first round warms up
                taken.setdefault((kind, name), []).append(found)
    for kind in ("assert", "tool"):
        count = books[kind][1]
        cost = {
            name: [
                tuple((b - e) / count for b, e in zip(both, empty, strict=True))
                for both, empty in zip(taken[kind, name], taken["none", name], strict=True)
            ]
            for name in stores
        }
        for name in stores:
            times = [wall for wall, _ in cost[name]]
            ratios = [wall / base for (wall, _), (base, _) in zip(cost[name], cost["file"], strict=True)]
            burnt = [cpu / base for (_, cpu), (_, base) in zip(cost[name], cost["file"], strict=True)]
            at_most = MOST.get((kind, name))
            aim = "" if at_most is None else f" (at most {at_most})"
            print(
                f"{kind} step, {name}: {median(times) * 1e6:.0f} µs, x{median(ratios):.2f}{aim}, CPU x{median(burnt):.2f}"
            )


def lists(stores: dict[str, RunStore], place: Path, number: int) -> None:
    """Print how long the first page and the whole list of many runs take."""
    root = place / "many"
    write_runs(root, number)
    gert = [sys.executable, "-m", "gert_core", "runs", "list", "--store", f"file:{root}"]
    for words in (["-n", "20"], []):
        for what in ("the first time", "again (at most 0.5 s)", "again"):
            wall, cpu = _command([*gert, *words], place)
            print(
                f"{' '.join(['gert runs list', *words])} of {number} runs, file, {what}: {wall:.3f} s, CPU {cpu:.3f} s"
            )
    source = DirectoryStore(root)
    for name, store in stores.items():
        if name == "file":
            continue
        began = time.perf_counter()
        for run_id in source.run_ids():
            copy_run(source, run_id, store)
        print(f"copy of {number} runs to {name}: {number / (time.perf_counter() - began):.0f} runs/s")
        for what, query in (
            ("the first page", RunQuery(limit=20)),
            ("a page of failed runs", RunQuery(limit=20, status=("failed",))),
            ("a page in the middle", RunQuery(limit=20, before=list(source.run_ids())[number // 2])),
        ):
            times = []
            for _ in range(9):
                began = time.perf_counter()
                list(store.runs(query))
                times.append(time.perf_counter() - began)
            print(f"{what} of {number} runs, {name}: {median(times) * 1e3:.1f} ms (at most 30 ms)")


def _command(words: list[str], place: Path) -> tuple[float, float]:
    """Run a command; return its wall time and its CPU time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd=place)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def lag(stores: dict[str, RunStore]) -> None:
    """Print how long after it was written a follower sees an event."""
    for name, store in stores.items():
        run = store.create("20260101T000000Z-lag-1", blobs={"meta.json": b"{}\n"})
        lease = run.acquire("bench", 60.0)
        sink, lines = run.sink(seq=0, lease=lease), event_lines(run.run_id, EVENTS, end="completed")
        sink.write(lines[:1], 1)
        sink.sync()
        written: dict[int, float] = {}
        seen: list[float] = []

        def follow(store: RunStore, written: dict[int, float], seen: list[float]) -> None:
            with store.open("20260101T000000Z-lag-1") as stored:
                for event in follow_events(stored, follow=True, since_seq=1):
                    seen.append(time.monotonic() - written[event.seq])

        thread = threading.Thread(target=follow, args=(store, written, seen))
        thread.start()
        time.sleep(0.5)
        for seq in range(2, EVENTS + 1):
            written[seq] = time.monotonic()
            sink.write(lines[seq - 1 : seq], seq)
            time.sleep(0.037)
        sink.close()
        thread.join(10)
        if lease is not None:
            run.release(lease)
        most = 100 if name == "file" else 350
        late = quantiles(seen, n=20)[-1] * 1e3
        print(f"follow lag, {name}: median {median(seen) * 1e3:.0f} ms, 95 % {late:.0f} ms (at most {most} ms)")


def copies(stores: dict[str, RunStore], place: Path) -> None:
    """Print how many lines of one run are copied in a second, with both checks of its chain."""
    source = DirectoryStore(place / "one")
    run_id = "20260101T000000Z-copied-1"
    lines = [line + b"\n" for line in event_lines(run_id, LINES, end="completed")]
    source.import_run(run_id, lines=lambda: lines, blobs=lambda: [("meta.json", b"{}\n")]).close()
    for name, store in stores.items():
        times = []
        for _ in range(5):
            began = time.perf_counter()
            copy_run(source, run_id, store)
            times.append(time.perf_counter() - began)
            with store.open(run_id) as run:
                run.remove()
        print(f"copy of {LINES} lines to {name}: {LINES / median(times):.0f} lines/s")


def main() -> None:
    """Measure everything and print a line per figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--no-postgres", action="store_true")
    options = parser.parse_args()
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gert-bench-")))
        urls = {"file": f"file:{place / 'runs'}", "sqlite": f"sqlite:{place / 'runs.db'}"}
        if not options.no_postgres:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gert-pg-", dir="/tmp")))
            urls["postgres"] = stack.enter_context(postgres(home))
        services = StoreServices(root=place, environ=dict(os.environ))
        stores = {name: stack.enter_context(load_target(OPENERS[name])(url, services)) for name, url in urls.items()}
        os.chdir(place)
        steps(stores, Workloads(place), options.rounds)
        lag(stores)
        copies(stores, place)
        lists(stores, place, options.runs)


if __name__ == "__main__":
    main()
