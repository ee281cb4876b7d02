"""Runs gert as another user: what may be imported later is imported before the process gives up its rights."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from forking import warm_up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NOBODY = 65534
_GOVERNED = "name: warm, governance: {rules: [{effects: [host], action: require-approval}]}"


def gert_as(
    uid: int,
    *argv: str,
    cwd: Path,
    groups: tuple[int, ...] = (),
    timeout: float = 120,
    environ: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run gert as a user with these groups (the first one is the primary one); needs root."""
    words = [str(uid), ",".join(map(str, groups or (uid,))), *argv]
    given = {name: value for name, value in os.environ.items() if not name.startswith("GERT_")}
    return subprocess.run(
        [sys.executable, __file__, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        env={**given, "GERT_ACTOR": "olga", "USER": f"user-{uid}", **(environ or {})},
        timeout=timeout,
    )


def _decide(main: Callable[[list[str]], int]) -> None:
    """Call the commands about approvals; the interpreter's own files may be out of reach afterwards."""
    main(["exec", "warm.yaml", "--approval", "inbox"])
    (run,) = Path("runs").glob("[!.]*")
    (ticket,) = Path(run, "tickets").glob("*.json")
    for argv in (["approvals", "list"], ["approve", "no"], ["approve", ticket.stem], ["runs", "list"]):
        main(argv)
    Path(run, "tickets", f"{ticket.stem}.answers", "0000.json").write_text("{")
    main(["resume", "--run", run.name])  # warns
    Path(run, "tickets", f"{ticket.stem}.answers", "0000.json").unlink()
    main(["resume", "--run", run.name])


def _run(uid: int, groups: list[int], argv: list[str]) -> int:
    warm_up(_decide, meta=_GOVERNED)
    os.setgroups(groups)
    os.setresgid(groups[0], groups[0], groups[0])
    os.setresuid(uid, uid, uid)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # dumpable, as a process is that this user started
    from gert_core.cli import main

    return main(argv)


if __name__ == "__main__":
    sys.exit(_run(int(sys.argv[1]), [int(word) for word in sys.argv[2].split(",")], sys.argv[3:]))
