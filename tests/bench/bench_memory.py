"""Memory: runs and traces that are a hundred times longer need hardly more of it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench_speed import arguments, heading
from engine import Engine
from harness import clean_environ, progress, show
from workloads import Workloads, assert_step

from gert_core.plugin.registry import Registry

MEGABYTE = 1024 * 1024
RUN = "from gert_core.cli import main; main(['exec', sys.argv[1], '--trace-sync', 'none'])"
VERIFY = """
from pathlib import Path
from gert_core.trace.verify import verify
assert verify(Path(sys.argv[1]), key_for=lambda *_: None, schemes=lambda _: None).valid
"""
ASK = """
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""
"""The process asks for itself: what its parent hears of it includes the parent's own memory."""
READ = """
from pathlib import Path
from gert_core.trace.reader import read
print(sum(1 for _ in read(Path(sys.argv[1]))))
"""
FOLD = """
from pathlib import Path
from gert_core.runs.fold import fold
from gert_core.trace.reader import read
assert fold(read(Path(sys.argv[1]))).status == "completed"
"""


def main() -> int:
    """Measure and print."""
    options = arguments(__doc__)
    found = []
    with tempfile.TemporaryDirectory(prefix="gert-memory-") as place:
        work = Workloads(Path(place))
        for steps in (1, 1_000, 10_000):
            progress(f"run of {steps} steps")
            book = work.book(f"run{steps}", "".join(assert_step(n) for n in range(steps)))
            found.append((f"`gert exec`, {steps:,} steps", *peak(RUN, book, work.place)))
        small = Engine(work.book("small", "".join(assert_step(n) for n in range(500))), Registry.build()).trace()
        large = grow(small, work.place / "large.jsonl", 100 * MEGABYTE)
        for what, code in (("verify", VERIFY), ("read", READ), ("fold", FOLD)):
            for trace in (small, large):
                progress(f"{what} {trace.name}")
                size = trace.stat().st_size / MEGABYTE
                found.append((f"{what} a trace of {show(size)} MB", *peak(code, trace, work.place)))
        progress("")
    if options.json:
        print(json.dumps([{"what": what, "megabytes": mb, "seconds": s} for what, mb, s in found], indent=1))
        return 0
    print(heading(None))
    print("| what | peak memory, MB | seconds |\n|---|---:|---:|")
    for what, megabytes, seconds in found:
        print(f"| {what} | {show(megabytes)} | {show(seconds)} |")
    return 0


def peak(code: str, file: Path, place: Path) -> tuple[float, float]:
    """The most memory a fresh process used, in MB, and its seconds."""
    argv = [sys.executable, "-c", f"import sys\n{code}\n{ASK}", str(file)]
    began = time.perf_counter()
    done = subprocess.run(argv, cwd=place, env=clean_environ(), capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1]) / 1024, time.perf_counter() - began


def grow(trace: Path, target: Path, size: int) -> Path:
    """A valid trace of at least ``size`` bytes with the steps of a short one, again and again."""
    from hashlib import sha256

    lines = trace.read_bytes().splitlines()
    first, steps, last = lines[:1], lines[1:-2], lines[-2:]
    previous, number = b"0" * 64, 0

    def chained(line: bytes) -> bytes:
        nonlocal previous, number
        number += 1
        head, _, rest = line.partition(b',"seq":')
        body = rest.partition(b",")[2]
        body = body[: body.rindex(b',"prev_hash":"')]
        made = head + b',"seq":%d,' % number + body + b',"prev_hash":"' + previous + b'"}'
        previous = sha256(made).hexdigest().encode()
        return made

    with target.open("wb") as file:
        file.write(chained(first[0]) + b"\n")
        while file.tell() < size:
            file.write(b"\n".join(chained(line) for line in steps) + b"\n")
        file.write(chained(last[0]) + b"\n")
        sealed = last[1]
        cut = sealed.index(b',"chain_hash":"')
        bare = chained(sealed[:cut] + b"}" + sealed[sealed.rindex(b',"prev_hash":"') :])
        end = bare.rindex(b'},"prev_hash":"')
        seal = b',"chain_hash":"' + sha256(bare).hexdigest().encode() + b'"'
        file.write(bare[:end] + seal + bare[end:] + b"\n")
    return target


if __name__ == "__main__":
    sys.exit(main())
