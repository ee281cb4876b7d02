"""Writes traces as somebody does who can write to a run directory: every hash is right, no key is known."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from gertproc import Gert

SEED = base64.b64encode(bytes(range(32))).decode()
PUBLIC = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="


def chain(events: list[dict], *, key: bytes | None = None, sign: Callable[[bytes], str] | None = None) -> str:
    """A whole trace of these events: hashes and seal are right, the signature is an HMAC with ``key``, or ``sign``'s."""
    if key is not None:
        sign = partial(_hmac, key)
    lines, previous = [], "0" * 64
    for number, given in enumerate(events, 1):
        entry = {name: value for name, value in {**given, "seq": number}.items() if name != "prev_hash"}
        line = json.dumps(entry, separators=(",", ":"), ensure_ascii=False)[:-1] + f',"prev_hash":"{previous}"}}'
        if entry["type"] in ("run_complete", "run_suspended"):
            digest = hashlib.sha256(line.encode()).hexdigest()
            seal = f',"chain_hash":"{digest}"'
            if sign is not None:
                seal += f',"signature":"{sign(digest.encode())}"'
            cut = line.rindex('},"prev_hash"')
            line = line[:cut] + seal + line[cut:]
        previous = hashlib.sha256(line.encode()).hexdigest()
        lines.append(line)
    return "\n".join(lines) + "\n"


def _hmac(key: bytes, message: bytes) -> str:
    return hmac.new(key, message, "sha256").hexdigest()


def rewrite(gert: Gert, edit: Callable[[list[dict]], list[dict]]) -> None:
    """Rewrite the trace of the run, unsigned: ``edit`` takes its events and returns others."""
    events = edit(gert.events())
    for event in events:
        if event["type"] in ("run_complete", "run_suspended"):
            event["data"].pop("chain_hash", None)
    (gert.run() / "trace.jsonl").write_text(chain(events))
    (gert.run() / "state.json").unlink(missing_ok=True)


def append(gert: Gert, *events: dict) -> None:
    """Add events behind the end of the trace of the run, after its seal."""
    trace = gert.run() / "trace.jsonl"
    lines = trace.read_text().splitlines()
    last = gert.events()[-1]
    for event in events:
        entry = {"timestamp": last["timestamp"], "run_id": last["run_id"], **event, "seq": len(lines) + 1}
        entry["prev_hash"] = hashlib.sha256(lines[-1].encode()).hexdigest()
        lines.append(json.dumps(entry, separators=(",", ":"), ensure_ascii=False))
    trace.write_text("\n".join(lines) + "\n")
