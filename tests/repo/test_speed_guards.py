"""Speed that does not depend on the weather: what is imported, opened, written, synced and called, counted."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack, contextmanager

import pytest

from gert_core.documents import yaml
from gert_core.engine.cancel import Stop
from gert_core.engine.prepare import prepare
from gert_core.engine.request import Request
from gert_core.host import SilentConsole
from gert_core.plugin.registry import Registry
from gert_core.runs.fold import fold
from gert_core.trace import sinks
from gert_core.trace.reader import read
from gert_core.trace.verify import verify
from gert_core.validation import validate_document

HEAD = """\
apiVersion: kernel/v0
meta: { name: counted, inputs: { host: { type: string, default: web-1 } } }
tools: ["true"]
steps:
"""
END = "  - { id: done, type: end, outcome: { category: resolved } }\n"
TOOL = """\
apiVersion: tool/v0
meta: { name: "true" }
contract: { effects: [], reads: [host], WRITES, deterministic: false }
actions: { run: { argv: ["true"] } }
"""
CHECK = '{ type: equals, value: "{{ .host }}", expected: web-1 }'
READS, WRITES = "writes: [], idempotent: true", "writes: [host], idempotent: false"


def tool_steps(count):
    return "".join(f'  - {{ id: run_{n}, type: tool, tool: "true" }}\n' for n in range(count))


def checks(count):
    return "".join(f"  - {{ id: check_{n}, type: assert, assert: [{CHECK}] }}\n" for n in range(count))


class Books:
    """Runbooks in a directory, run in this process."""

    def __init__(self, place):
        self.place = place
        self.registry = Registry.build()
        (place / "tools").mkdir()

    def write(self, steps, contract=READS):
        (self.place / "tools" / "true.tool.yaml").write_text(TOOL.replace("WRITES", contract))
        book = self.place / "book.yaml"
        book.write_text(HEAD + steps + END)
        return book

    def run(self, steps, contract=READS, sync="group"):
        """The finished run and its trace."""
        book = self.write(steps, contract)
        with ExitStack() as stack:
            stop = Stop()
            stack.callback(stop.close)
            request = Request(
                runbook=book,
                registry=self.registry,
                console=SilentConsole(),
                stop=stop,
                runs=self.place / "runs",
                trace_sync=sync,
            )
            run = prepare(request, stack)
            with counted() as counts:
                result = run.execute()
        assert str(result.status) == "completed", result.failures
        return counts, result.trace


@pytest.fixture
def books(tmp_path):
    return Books(tmp_path)


@contextmanager
def counted():
    """Counts what the trace's writer asks of the operating system."""
    counts = Counter()
    real_write, real_sync = os.write, sinks._fdatasync

    def write(descriptor, data):
        counts["write"] += 1
        return real_write(descriptor, data)

    def sync(descriptor):
        counts["sync"] += 1
        return real_sync(descriptor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sinks, "_fdatasync", sync)
        patch.setattr(sinks.os, "write", write)
        yield counts


def per_step(books, steps, **options):
    """What one more step costs: the difference of two runs, start and end cancel out."""
    (few, _), (many, _) = books.run(steps(5), **options), books.run(steps(15), **options)
    return {name: (many[name] - few[name]) / 10 for name in ("write", "sync")}


# -- imports -------------------------------------------------------------------------------------------------------

NEVER = {
    *("typer", "click", "rich", "jinja2", "jsonschema", "importlib_metadata", "importlib.metadata", "email", "re2"),
    *("asyncio", "concurrent.futures", "multiprocessing", "logging", "argparse", "difflib", "traceback", "unittest"),
    *("socket", "ssl", "http", "http.client", "selectors", "subprocess", "shutil", "tempfile", "zipfile", "csv"),
}
"""What no everyday command needs; each of these, or what it drags in, is felt in front of a terminal."""
NO_DOCUMENTS = NEVER | {"pydantic", "pydantic_core", "yaml", "dataclasses"}
OUTSIDE = {
    *("gert_core.approvals", "gert_core.scenarios", "gert_core.testing", "gert_core.host", "gert_core.cli.build"),
    *("gert_core.documents.notify", "gert_core.engine.notify", "gert_core.runs.owed", "gert_core.hosting.deliveries"),
    *("gert_core.documents.governance", "gert_core.documents.parts", "gert_core.documents.retry"),
}
"""Parts of gert that a plain runbook never reaches."""
RUNNING = {
    "gert_core.engine",
    "gert_core.trace",
    "gert_core.runs.directory",
    "gert_core.governance",
    "gert_core.inputs",
}
RARE = {
    f"gert_core.engine.{name}"
    for name in ("steps.approval", "flow.for_each", "modes.explore", "modes.replay", "resume")
}
MODULES = """
import json, sys
before = set(sys.modules)
from gert_core.cli import main
code = main(sys.argv[1:])
print(json.dumps([code, sorted(set(sys.modules) - before)]))
"""


def imported(*args, cwd):
    """The modules one command has imported at its end."""
    done = subprocess.run(
        [sys.executable, "-c", MODULES, *args], capture_output=True, text=True, check=True, cwd=cwd, timeout=120
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return set(modules)


@pytest.mark.parametrize(
    ("args", "unwanted"),
    [
        (["validate", "book.yaml"], NEVER | OUTSIDE | RUNNING | {"gert_core.documents.policy"}),
        (["exec", "book.yaml"], NEVER | OUTSIDE | RARE),
        (["exec", "book.yaml", "--mode", "dry-run"], NEVER | OUTSIDE),
        (["plugins", "list"], NO_DOCUMENTS | OUTSIDE | RUNNING),
        (["--help"], NO_DOCUMENTS | OUTSIDE | RUNNING),
        (["trace", "verify", "trace.jsonl"], NO_DOCUMENTS | OUTSIDE | {"pluggy", "gert_core.engine"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_imports_only_what_it_uses(books, args, unwanted):
    books.write(tool_steps(1) + checks(1))
    (books.place / "trace.jsonl").write_bytes(books.run(tool_steps(1))[1].read_bytes())
    got = imported(*args, cwd=books.place)
    assert not got & unwanted


def test_what_is_guarded_exists():
    assert not [name for name in OUTSIDE | RUNNING | RARE if importlib.util.find_spec(name) is None]


def test_step_types_are_imported_when_a_runbook_has_them(books):
    books.write(checks(1))
    got = {name for name in imported("validate", "book.yaml", cwd=books.place) if name.startswith("gert_step_")}
    assert {name for name in got if name.endswith(".step")} == {"gert_step_assert.step", "gert_step_end.step"}


# -- disk ----------------------------------------------------------------------------------------------------------


def test_a_read_only_tool_step_waits_once_for_the_disk_and_writes_twice(books):
    assert per_step(books, tool_steps) == {"write": 2, "sync": 1}


def test_a_step_that_writes_is_on_disk_when_it_is_done(books):
    assert per_step(books, tool_steps, contract=WRITES) == {"write": 2, "sync": 2}


def test_a_step_without_effects_never_waits_for_the_disk(books):
    assert per_step(books, checks) == {"write": 1, "sync": 0}


def test_nothing_waits_for_the_disk_when_nobody_wants_it(books):
    counts, _ = books.run(tool_steps(3), sync="none")
    assert counts["sync"] == 0


@pytest.mark.parametrize("steps", [tool_steps, checks])
def test_a_step_is_four_events(books, steps):
    seen = Counter(event.step_key for event in read(books.run(steps(3))[1]))
    assert {seen[key] for key in seen if key not in (None, "done")} == {4}


OPENED = """
import json, sys
opened = []
sys.addaudithook(lambda name, args: opened.append(str(args[0])) if name == "open" else None)
from gert_core.cli import main
code = main(sys.argv[1:])
print(json.dumps([name for name in opened if name.endswith(".yaml")]))
sys.exit(code)
"""


@pytest.mark.parametrize("verb", ["validate", "exec"])
def test_every_document_is_read_once(books, verb):
    book = books.write(tool_steps(3))
    done = subprocess.run(
        [sys.executable, "-c", OPENED, verb, str(book)], capture_output=True, text=True, check=True, cwd=books.place
    )
    names = sorted(name.rpartition("/")[2] for name in json.loads(done.stdout.splitlines()[-1]))
    assert names == ["book.yaml", "true.tool.yaml"]


# -- growth --------------------------------------------------------------------------------------------------------


def calls(function):
    """How many functions, Python's and C's, a call of ``function`` calls."""
    count = [0]

    def profile(frame, event, arg):
        if event in ("call", "c_call"):
            count[0] += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count[0]


def growth(work):
    """The cost of a step among many, in costs of a step among few."""
    work(10)  # imports and caches
    least, few, many = (calls(lambda count=count: work(count)) for count in (20, 100, 500))
    return ((many - few) / 400) / ((few - least) / 80)


def test_a_step_of_a_long_run_costs_what_a_step_of_a_short_one_does(books):
    runs = {count: prepared(books, checks(count)) for count in (10, 20, 100, 500)}
    assert growth(lambda count: runs[count]()) == pytest.approx(1, abs=0.05)


def prepared(books, steps):
    """A run of these steps, ready to execute; validation is counted elsewhere."""
    book = books.write(steps)
    stack = ExitStack()
    stop = Stop()
    stack.callback(stop.close)
    request = Request(
        runbook=book, registry=books.registry, console=SilentConsole(), stop=stop, runs=books.place / "runs"
    )
    run = prepare(request, stack)

    def execute():
        with stack:
            run.execute()

    return execute


def test_a_step_adds_the_same_to_the_trace_wherever_it_stands(books):
    # How often a process is looked at depends on the weather, so of tool steps only what they leave is counted.
    least, few, many = (books.run(tool_steps(count))[1].stat().st_size for count in (10, 20, 60))
    assert ((many - few) / 40) / ((few - least) / 10) == pytest.approx(1, abs=0.02)


def test_loading_grows_with_the_document_only(books):
    texts = {n: (HEAD + checks(n) + END).encode() for n in (10, 20, 100, 500)}
    assert growth(lambda n: yaml.loads(texts[n], name="book.yaml")) == pytest.approx(1, abs=0.05)


def test_validation_grows_with_the_document_only(books):
    found = {}
    for n in (10, 20, 100, 500):
        book = books.write(checks(n) + tool_steps(n))
        found[n] = yaml.load(book)
    assert growth(lambda n: validate_document(found[n], registry=books.registry)) == pytest.approx(1, abs=0.1)


def test_reading_verifying_and_folding_grow_with_the_trace_only(books):
    traces = {}
    for n in (10, 20, 100, 500):
        kept = books.place / f"{n}.jsonl"
        kept.write_bytes(books.run(checks(n))[1].read_bytes())
        traces[n] = kept
    unsigned = {"key_for": lambda *_: None, "schemes": lambda _: None}
    assert growth(lambda n: verify(traces[n], **unsigned)) == pytest.approx(1, abs=0.05)
    assert growth(lambda n: fold(read(traces[n]))) == pytest.approx(1, abs=0.05)


# -- memory --------------------------------------------------------------------------------------------------------


PEAK = """
import sys
from gert_core.cli import main
code = main(sys.argv[1:])
with open("/proc/self/status") as status:
    print(code, next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""
"""The process asks for itself: what its parent hears of it includes the parent's own memory."""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_run_of_ten_thousand_steps_stays_small(books):
    book = books.write(checks(10_000))
    argv = [sys.executable, "-c", PEAK, "exec", str(book), "--trace-sync", "none"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=books.place, timeout=300)
    code, kilobytes = done.stdout.splitlines()[-1].split()
    assert (code, int(kilobytes) // 1024 < 150) == ("0", True), kilobytes
