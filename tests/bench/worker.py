"""One contender in a process of its own: it prepares, then does its job once for every line it reads.

In one process the contenders would meet each other: a collection of garbage walks over everything that is loaded, so
the documents of one would slow down the loader of another. gert's own jobs collect as seldom as its commands do.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from harness import cpu_seconds

from gert_core.cli.lean import COLLECTION

Job = Callable[[], float | None]
"""Returns the seconds that count, or None when all of its time does."""


def bare_processes(count: str) -> Job:
    """The unit of a tool step."""
    from engine import bare_processes as run

    return lambda: run(int(count))


def all_at_once(count: str) -> Job:
    """The unit of parallel steps."""
    from engine import all_at_once as run

    return lambda: run(int(count))


def engine(book: str, sync: str) -> Job:
    """A run of a runbook that is validated already."""
    from engine import Engine

    from gert_core.plugin.registry import Registry

    return Engine(Path(book), Registry.build(), sync=sync)


def pyyaml_load(book: str) -> Job:
    """The unit of documents."""
    import yaml

    data = Path(book).read_bytes()

    def job() -> None:
        yaml.load(data, Loader=yaml.CSafeLoader)

    return job


def load(book: str) -> Job:
    """gert's reading of a document."""
    from gert_core.documents import yaml

    def job() -> None:
        yaml.load(Path(book))

    return job


def validate(book: str) -> Job:
    """All phases over a document that is read already."""
    from gert_core.documents import yaml
    from gert_core.plugin.registry import Registry
    from gert_core.template import compile as templates
    from gert_core.validation import validate_document

    document, registry = yaml.load(Path(book)), Registry.build()

    def job() -> None:
        # Templates are compiled once per process; no round may find them compiled already.
        templates._text.cache_clear()
        templates._tree.cache_clear()
        verdict = validate_document(document, registry=registry, environ={})
        if not verdict.valid:
            raise RuntimeError(str(verdict.diagnostics[0]))

    return job


def verify(trace: str) -> Job:
    """The chain and the seals of a trace."""
    from gert_core.trace.verify import verify as judge

    def job() -> None:
        if not judge(Path(trace), key_for=lambda *_: None, schemes=lambda _: None).valid:
            raise RuntimeError("the trace is not valid")

    return job


UNITS = {job.__name__: job for job in (bare_processes, all_at_once, pyyaml_load)}
OURS = {job.__name__: job for job in (engine, load, validate, verify)}


def main(name: str, *args: str) -> None:
    """Answer every line with the seconds and the processor seconds of one go."""
    if name in OURS:
        gc.set_threshold(*COLLECTION)
    job = (UNITS | OURS)[name](*args)
    for _ in sys.stdin:
        used, began = cpu_seconds(), time.perf_counter()
        counted = job()
        taken = time.perf_counter() - began
        print(json.dumps([taken if counted is None else counted, cpu_seconds() - used]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
