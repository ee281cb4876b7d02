"""The speed table: every row in one shuffled, interleaved run, as ratios with quartiles."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from harness import Figure, measure, progress, show
from rows import Row, build, starting


def main() -> int:
    """Measure and print."""
    options = arguments(__doc__)
    with tempfile.TemporaryDirectory(prefix="gert-bench-") as place:
        contenders, rows = build(Path(place)) if options.installed is None else starting(Path(place), options.installed)
        if options.only:
            rows = [row for row in rows if any(word in row.what for word in options.only)]
            wanted = {name for row in rows for name in row.needs}
            contenders = {name: one for name, one in contenders.items() if name in wanted}
        samples, failed = measure(contenders, rounds=options.rounds, seed=options.seed, cpu=options.cpu, say=progress)
        progress("")
        results = [(row, row.figure(samples)) for row in rows if not failed.keys() & set(row.needs)]
    if options.json:
        print(json.dumps(as_json(results, failed, samples, options), indent=1))
    else:
        print(heading(options))
        print(table(results))
        for name, why in failed.items():
            print(f"not measured: {name}: {why}")
    return 1 if failed else 0


def arguments(about: str | None) -> argparse.Namespace:
    """The options of every benchmark."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--rounds", type=int, default=15, help="how often everything runs (default 15)")
    parser.add_argument("--seed", type=int, default=1, help="of the order within a round")
    parser.add_argument("--only", action="append", metavar="WORD", help="rows with this word; repeatable")
    parser.add_argument(
        "--cpu", action="store_true", help="processor time instead of time, for a machine with other work"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--installed", type=Path, metavar="DIR", help="only how gert starts, of the one in this virtual environment"
    )
    parser.add_argument(
        "--other", type=Path, metavar="DIR", help="compare with this checkout, which has an environment in .venv"
    )
    parser.add_argument("--peers", type=Path, metavar="DIR", help="where the commands of other tools are installed")
    return parser.parse_args()


def machine() -> str:
    """What it ran on, as far as it matters."""
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{os.cpu_count()} cores, {pages / 2**30:.0f} GB, Python {platform.python_version()}, {platform.system()}"


def heading(options: argparse.Namespace | None) -> str:
    """When, where, how, and whether somebody else used the machine."""
    said = [datetime.now(UTC).strftime("%Y-%m-%d"), machine()]
    if options is not None:
        said += ["processor time" if options.cpu else "time", f"{options.rounds} rounds, interleaved"]
    return "; ".join((*said, f"load {os.getloadavg()[0]:.1f}")) + "\n"


def table(results: list[tuple[Row, Figure]]) -> str:
    """Markdown, for the documentation."""
    lines = [
        "| what | unit | figure | quartiles | target | moonshot | reached |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for row, figure in results:
        spread = f"{show(figure.low)} to {show(figure.high)}" if figure.rounds > 1 else "exact"
        aims = f"{show(row.target)} | {show(row.moonshot)}"
        lines.append(f"| {row.what} | {row.unit} | {show(figure.median)} | {spread} | {aims} | {row.reached(figure)} |")
    return "\n".join(lines) + "\n"


def as_json(results: list, failed: dict, samples: dict, options: argparse.Namespace) -> dict:
    """The same and the seconds of every round."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "rounds": options.rounds,
        "clock": "cpu" if options.cpu else "wall",
        "rows": [
            {
                "what": row.what,
                "unit": row.unit,
                "target": row.target,
                "moonshot": row.moonshot,
                "reached": row.reached(figure),
                **asdict(figure),
            }
            for row, figure in results
        ],
        "seconds": samples,
        "failed": failed,
    }


if __name__ == "__main__":
    sys.exit(main())
