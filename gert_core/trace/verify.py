"""Verify a trace: its hash chain, its order and its seals, on raw bytes and in constant memory."""

from __future__ import annotations

import re
from collections import deque
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api.errors import StoreError, UsageError
from gert_core.api.events import EventType
from gert_core.kit.files import UnreadableError, lines, open_named
from gert_core.kit.json_reader import loads
from gert_core.trace.events import ZEROS
from gert_core.trace.seals import AlteredError, read_seal, seal_matches
from gert_core.trace.signing import AlgorithmRefusedError, require_scheme, verify_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gert_core.api.stores import StoredRun
    from gert_core.trace.seals import Seal
    from gert_core.trace.signing import Schemes

    KeyFor = Callable[[str, str], bytes | None]

_FIRST: Final = re.compile(rb'\{"type":"[^"\\]+","timestamp":"[^"\\]{27}(","run_id":"(?:[^"\\]|\\.)+","seq":)1,"')
_OPENING: Final = b'{"type":"'
_SEALED: Final = frozenset(_OPENING + kind.encode() for kind in (EventType.RUN_COMPLETE, EventType.RUN_SUSPENDED))
_RESUMED: Final = _OPENING + EventType.RUN_RESUMED.encode()


class TraceStatus(StrEnum):
    """The results of ``gert trace verify``."""

    VALID = "valid"
    ALTERED = "altered"
    TRUNCATED = "truncated"
    BAD_SIGNATURE = "bad_signature"
    NO_KEY = "no_key"
    NO_ALGORITHM = "no_algorithm"
    """The key names no algorithm, and the signature is not the one that is assumed then."""
    UNSIGNED = "unsigned"


class Verification(Struct, frozen=True, kw_only=True):
    """The result of verifying a trace."""

    status: TraceStatus
    events: int
    detail: str
    first_bad_event: int | None = None
    signature: str | None = None
    """``valid``, ``invalid``, ``unchecked``; ``None`` when there is none."""
    algorithm: str | None = None
    key_id: str | None = None
    mode: str | None = None
    """The mode of the run; ``None`` where the trace does not say, or cannot be believed."""

    @property
    def valid(self) -> bool:
        """Whether the trace is valid, or intact and unsigned."""
        return self.status in (TraceStatus.VALID, TraceStatus.UNSIGNED)

    def to_json(self) -> dict[str, object]:
        """Return the document of ``gert trace verify --json``."""
        return {
            "valid": self.valid,
            "verdict": str(self.status),
            "mode": self.mode,
            "events": self.events,
            "first_bad_event": self.first_bad_event,
            "signature": self.signature,
            "key_id": self.key_id,
            "algorithm": self.algorithm,
            "detail": self.detail,
        }


def verify(source: Path | StoredRun, *, key_for: KeyFor, schemes: Schemes) -> Verification:
    """Verify a file that a person named, or a stored run; ``key_for(algorithm, key id)`` returns the verifying key.

    A key that is not known is ``None``.
    """
    chain = Chain()
    place = str(source) if isinstance(source, Path) else source.place
    try:
        _check(chain, source)
    except AlteredError as error:
        return Verification(
            status=TraceStatus.ALTERED, events=error.event, first_bad_event=error.event, detail=str(error)
        )
    except UnreadableError as error:
        raise UsageError(error.message, file=place) from None
    except StoreError:
        raise
    except OSError as error:
        raise UsageError(f"the trace {place} cannot be read: {error.strerror}", file=place) from None
    events, seals, facts = chain.events, chain.seals, _facts(chain.first)
    mode = str(facts["mode"]) if facts.get("mode") else None
    if not chain.sealed:
        return Verification(
            status=TraceStatus.TRUNCATED,
            events=events,
            detail=f"the trace ends unexpectedly after event {events}",
            mode=mode,
        )
    if facts.get("signer") and not any(seal.signature is not None for seal in seals):
        return Verification(
            status=TraceStatus.BAD_SIGNATURE,
            events=events,
            first_bad_event=seals[0].event,
            signature="invalid",
            detail="the run began with a signer, and no seal has a signature",
        )
    found = check_signatures(events, seals, key_for=key_for, schemes=schemes)
    return found if found.status is TraceStatus.BAD_SIGNATURE else replace(found, mode=mode)


def _facts(first: bytes) -> dict[str, object]:
    """Return what the first event says about the run."""
    try:
        data = loads(first).get("data")
    except (ValueError, AttributeError):
        return {}
    return data if isinstance(data, dict) else {}


def _check(chain: Chain, source: Path | StoredRun) -> None:
    """Take every line of a file or a stored run through the chain."""
    if isinstance(source, Path):
        with open_named(source) as file:
            deque(chain.lines(lines(file, source)), maxlen=0)
    else:
        deque(chain.lines(source.lines()), maxlen=0)


class Chain:
    """Checks the lines of a trace one after the other: their order, hashes and seals."""

    __slots__ = ("events", "first", "prev_hash", "sealed", "seals", "torn")

    def __init__(self) -> None:
        self.events = 0
        """How many complete events there are so far."""
        self.prev_hash = ZEROS
        """The hash of the last one."""
        self.seals: list[Seal] = []
        self.sealed = False
        """Whether the last event ends or suspends the run."""
        self.torn = 0
        """How many bytes follow that are not a complete event."""
        self.first = b""
        """The line of the first event."""

    def lines(self, found: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the complete lines, each once it is checked; raise ``AlteredError`` at the first that is wrong.

        What is known of them is written to the chain at the end: every trace that is verified, copied or exported
        passes this loop, and each further call or attribute in it costs some percent.
        """
        number, previous, sealed, run = 0, ZEROS, False, b""
        try:
            for number, line in enumerate(found, 1):
                if line[-1] != 10:
                    _check_fragment(line, number, sealed=sealed)
                    self.torn, sealed = len(line), False
                    return
                if number == 1:
                    self.first, run = line, _first_run(line)
                head, _, rest = line[:600].partition(b'","timestamp":"')
                # 600 = more than a type and a run id can have together; 27 = the length of a timestamp
                if head[:9] != _OPENING or not rest.startswith(b'%b%d,"' % (run, number), 27):
                    raise AlteredError(number, f"event {number} has an unexpected format, run id or number")
                if line[-81:] != b',"prev_hash":"%b"}\n' % previous.encode():
                    raise _broken(line[:-1], number, found)
                if sealed and head != _RESUMED:
                    raise AlteredError(number, f"event {number} follows the end of the run and is not run_resumed")
                if sealed := head in _SEALED:
                    self.seals.append(read_seal(line[:-1], number))
                previous = sha256(line[:-1]).hexdigest()
                yield line
        finally:
            self.events, self.prev_hash, self.sealed = number - bool(self.torn), previous, sealed


def _first_run(line: bytes) -> bytes:
    match = _FIRST.match(line)
    if match is None:
        raise AlteredError(1, "event 1 is not the first event of a trace")
    return match.group(1)


def _broken(body: bytes, number: int, rest: Iterator[bytes]) -> AlteredError:
    """Return the error for a line without the hash of the one before it, at the one of the two that is not confirmed.

    A line is confirmed by its own seal, or by the hash in the line after it.
    """
    confirmed = seal_matches(body)
    follower = next(rest, b"").rstrip(b"\n")
    if follower:
        confirmed = follower.endswith(b',"prev_hash":"%b"}' % sha256(body).hexdigest().encode())
    event = number - 1 if confirmed and number > 1 else number
    return AlteredError(event, f"event {event} was altered: the hash chain breaks there")


def _check_fragment(fragment: bytes, number: int, *, sealed: bool) -> None:
    """Raise when a last line without its newline is not the beginning of an event, and so not a torn write."""
    opening = _RESUMED + b'"' if sealed else _OPENING
    if not fragment.startswith(opening[: len(fragment)]):
        raise AlteredError(number, f"unrecognised data after event {number - 1}")


def check_signatures(events: int, seals: Sequence[Seal], *, key_for: KeyFor, schemes: Schemes) -> Verification:
    """Return the status of a trace with an intact chain and at least one seal, by its signatures."""
    last = seals[-1]
    signed = [seal for seal in seals if seal.signature is not None]
    if not signed:
        return Verification(
            status=TraceStatus.UNSIGNED, events=events, detail="the chain is intact; there is no signature"
        )
    facts: dict[str, Any] = {"events": events, "algorithm": last.algorithm, "key_id": last.key_id}
    keyless: Seal | None = None
    for seal in signed:
        algorithm, key_id, signature = str(seal.algorithm), str(seal.key_id), str(seal.signature)
        scheme = require_scheme(algorithm, schemes)
        try:
            key = key_for(algorithm, key_id)
        except AlgorithmRefusedError as error:
            if error.unnamed:
                return Verification(status=TraceStatus.NO_ALGORITHM, signature="unchecked", detail=str(error), **facts)
            return _bad(seal, f"the signature of event {seal.event} is not accepted: {error}", facts)
        if key is None:
            keyless = keyless or seal
        elif not verify_signature(scheme, key, seal.chain_hash.encode("ascii"), signature):
            detail = f"the signature of event {seal.event} was not made with the given key"
            return _bad(seal, detail, facts)
    if last.signature is None:
        detail = f"the trace was signed at event {signed[-1].event} and continued without a signature"
        return _bad(last, detail, facts)
    if keyless is not None:
        detail = f"event {keyless.event} is signed with key {keyless.key_id!r}, for which no key was given"
        return Verification(status=TraceStatus.NO_KEY, signature="unchecked", detail=detail, **facts)
    return Verification(status=TraceStatus.VALID, signature="valid", detail="chain and signature are valid", **facts)


def _bad(seal: Seal, detail: str, facts: dict[str, Any]) -> Verification:
    return Verification(
        status=TraceStatus.BAD_SIGNATURE,
        first_bad_event=seal.event,
        signature="invalid",
        detail=detail,
        **facts,
    )


__all__ = ["Chain", "KeyFor", "TraceStatus", "Verification", "check_signatures", "verify"]
