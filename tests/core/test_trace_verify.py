"""Verification: six verdicts, every byte, and the rules of resumed traces."""

from __future__ import annotations

import base64
import contextlib
import hmac
import json
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from gert_core.api.errors import PluginError, UsageError
from gert_core.api.signatures import SignatureScheme
from gert_core.trace.signing import AlgorithmRefusedError, Signer, signer_from_environ, verifying_key
from gert_core.trace.sinks import FileSink
from gert_core.trace.verify import verify
from gert_core.trace.writer import TraceWriter

KEY = b"k" * 32
DOC = Path(__file__).parents[2] / "docs" / "reference" / "signatures.md"


def mac(key: bytes, message: bytes) -> str:
    return hmac.new(key, message, "sha256").hexdigest()


SCHEME = SignatureScheme(
    algorithm="toy", sign=mac, verify=lambda key, message, signature: mac(key, message) == signature, symmetric=True
)


def schemes(algorithm: str) -> SignatureScheme | None:
    return SCHEME if algorithm == "toy" else None


SIGNER = Signer(algorithm="toy", key_id="k1", sign=lambda message: mac(KEY, message))
OTHER = Signer(algorithm="toy", key_id="k2", sign=lambda message: mac(b"other", message))


def judge(path: Path, key: bytes | None = KEY):
    return verify(path, key_for=lambda algorithm, key_id: key, schemes=schemes)


def write(
    path: Path,
    *,
    signer: Signer | None = None,
    events: int = 5,
    end: str | None = "run_complete",
    append: bool = False,
    **more,
) -> TraceWriter:
    trace = TraceWriter(
        FileSink(path, append=append),
        **{"run_id": "r1", "signer": signer, "clock": lambda: datetime(2026, 1, 2, tzinfo=UTC), **more},
    )
    trace.add("run_start" if not append else "run_resumed", {"runbook": "x"})
    for number in range(events):
        trace.add("note", {"n": number, "text": "ä"}, step_key=f"s{number}")
    if end:
        trace.close_run(end, {"status": "completed"})
    trace.close()
    return trace


def resume(path: Path, before: TraceWriter, **options) -> TraceWriter:
    return write(path, append=True, start_seq=before.seq, prev_hash=before.prev_hash, **options)


def test_valid_unsigned_no_key_and_bad_signature(tmp_path) -> None:
    signed, unsigned = tmp_path / "signed", tmp_path / "unsigned"
    write(signed, signer=SIGNER)
    write(unsigned)
    good = judge(signed)
    assert good.to_json() | {"detail": ""} == {
        "valid": True,
        "verdict": "valid",
        "mode": None,
        "events": 7,
        "first_bad_event": None,
        "signature": "valid",
        "key_id": "k1",
        "algorithm": "toy",
        "detail": "",
    }
    plain = judge(unsigned)
    assert (plain.status, plain.valid, plain.signature, plain.key_id) == ("unsigned", True, None, None)
    keyless = judge(signed, None)
    assert (keyless.status, keyless.valid, keyless.signature) == ("no_key", False, "unchecked")
    bad = judge(signed, b"wrong")
    assert (bad.status, bad.valid, bad.first_bad_event) == ("bad_signature", False, 7)


@pytest.mark.parametrize("number", range(1, 8))
def test_the_altered_event_is_named(tmp_path, number) -> None:
    path = tmp_path / "t"
    write(path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number - 1] = lines[number - 1].replace(b'"data":{', b'"data":{"x":1,', 1)
    path.write_bytes(b"".join(lines))
    verdict = judge(path)
    assert (verdict.status, verdict.first_bad_event) == ("altered", number)


@pytest.mark.parametrize("number", range(1, 8))
def test_an_altered_hash_names_the_event_that_carries_it(tmp_path, number) -> None:
    path = tmp_path / "t"
    write(path)
    lines = path.read_bytes().splitlines(keepends=True)
    at = lines[number - 1].rfind(b'"}') - 1
    old = lines[number - 1]
    lines[number - 1] = old[:at] + (b"0" if old[at : at + 1] != b"0" else b"1") + old[at + 1 :]
    path.write_bytes(b"".join(lines))
    verdict = judge(path)
    assert (verdict.status, verdict.first_bad_event) == ("altered", number)


def test_every_single_byte_of_a_signed_trace_counts(tmp_path) -> None:
    path = tmp_path / "t"
    write(path, signer=SIGNER, events=2)
    data = path.read_bytes()
    assert judge(path).status == "valid"
    for position in range(len(data)):
        for bit in (0x01, 0x20):
            path.write_bytes(data[:position] + bytes([data[position] ^ bit]) + data[position + 1 :])
            assert not judge(path).valid, (position, bit)
        path.write_bytes(data[:position] + data[position + 1 :])
        assert not judge(path).valid, position
        path.write_bytes(data[:position] + b" " + data[position:])
        assert not judge(path).valid, position


@pytest.mark.parametrize("garbage", [b" ", b"\n", b"{}", b"{}\n", b"\0" * 40, b"x\n", b'{"type":"note"}\n'])
def test_trailing_garbage_is_altered(tmp_path, garbage) -> None:
    path = tmp_path / "t"
    write(path, signer=SIGNER)
    path.write_bytes(path.read_bytes() + garbage)
    verdict = judge(path)
    assert (verdict.status, verdict.first_bad_event) == ("altered", 8)


def test_truncated(tmp_path) -> None:
    path = tmp_path / "t"
    write(path, signer=SIGNER)
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    cuts = {
        "empty": b"",
        "no end": b"".join(lines[:-1]),
        "only the start": lines[0],
        "torn": data[:-30],
        "no newline": data[:-1],
        "torn resume": data + b'{"type":"run_res',
    }
    for name, cut in cuts.items():
        path.write_bytes(cut)
        assert judge(path).status == "truncated", name
    path.write_bytes(b"".join(lines[:3]))
    assert judge(path).events == 3


def test_lines_removed_inserted_swapped_or_from_another_run(tmp_path) -> None:
    path, other = tmp_path / "t", tmp_path / "o"
    write(path)
    write(other, run_id="r2")
    lines = path.read_bytes().splitlines(keepends=True)
    foreign = other.read_bytes().splitlines(keepends=True)
    changed = {
        3: [*lines[:2], *lines[3:]],
        4: [*lines[:3], lines[2], *lines[3:]],
        2: [lines[0], lines[2], lines[1], *lines[3:]],
        1: lines[1:],
        5: [*lines[:4], foreign[4], *lines[5:]],
    }
    for number, content in changed.items():
        path.write_bytes(b"".join(content))
        verdict = judge(path)
        assert (verdict.status, verdict.first_bad_event) == ("altered", number)


def rechain(path: Path, edit, *, mend: bool = True) -> None:
    """What an attacker without the key can do: change an event and mend the chain and the seal behind it."""
    previous, out = "0" * 64, []
    for line in path.read_bytes().splitlines():
        event = json.loads(line)
        edit(event)
        event["prev_hash"] = previous
        text = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()
        if mend and "chain_hash" in event["data"]:
            at = text.index(b',"chain_hash"')
            end = text.index(b'},"prev_hash"', at)
            digest = sha256(text[:at] + text[end:]).hexdigest()
            text = text.replace(event["data"]["chain_hash"].encode(), digest.encode())
        out.append(text)
        previous = sha256(text).hexdigest()
    path.write_bytes(b"\n".join(out) + b"\n")


@pytest.mark.parametrize(
    "edit",
    [
        lambda event: event["data"].update(status="failed") if event["type"] == "run_complete" else None,
        lambda event: event["data"].update(runbook="y") if event["seq"] == 1 else None,
        lambda event: event["data"].update(signing_key_id="k9") if event["type"] == "run_complete" else None,
    ],
)
def test_a_mended_chain_does_not_fool_the_signature(tmp_path, edit) -> None:
    path = tmp_path / "t"
    write(path, signer=SIGNER)
    rechain(path, lambda event: None)
    assert judge(path).status == "valid"
    rechain(path, edit)
    assert judge(path).status == "bad_signature"


@pytest.mark.parametrize(
    "spelling",
    [
        lambda d: {**d, "signature": d["signature"].upper()},
        lambda d: {**d, "chain_hash": d["chain_hash"].upper()},
        lambda d: {"first": 1, "chain_hash": d["chain_hash"], **{k: v for k, v in d.items() if k != "chain_hash"}},
        lambda d: {**d, "more": 1},
        lambda d: {k: v for k, v in d.items() if k != "signature"},
        lambda d: {k: v for k, v in d.items() if k != "signing_key_id"},
        lambda d: {k: v for k, v in d.items() if k != "chain_hash"},
        lambda d: {**d, "signature": None},
    ],
)
def test_any_other_spelling_of_the_seal_is_altered(tmp_path, spelling) -> None:
    path = tmp_path / "t"
    write(path, signer=SIGNER)

    def edit(event) -> None:
        if event["type"] == "run_complete":
            event["data"] = spelling(event["data"])

    data = json.loads(path.read_bytes().splitlines()[-1])["data"]
    rechain(path, edit, mend=spelling(data).get("chain_hash") == data["chain_hash"])
    verdict = judge(path)
    assert (verdict.status, verdict.first_bad_event) == ("altered", 7)


def test_resumed_traces(tmp_path) -> None:
    path = tmp_path / "t"
    first = write(path, signer=SIGNER, end="run_suspended")
    assert judge(path).status == "valid"
    second = resume(path, first, signer=SIGNER, end=None)
    assert judge(path).status == "truncated"
    third = resume(path, second, signer=SIGNER)
    assert (judge(path).status, judge(path).events) == ("valid", 20)
    resume(path, third, signer=SIGNER)
    assert judge(path).status == "valid"


def test_only_run_resumed_may_follow_the_end(tmp_path) -> None:
    path = tmp_path / "t"
    first = write(path)
    more = TraceWriter(FileSink(path, append=True), run_id="r1", start_seq=first.seq, prev_hash=first.prev_hash)
    more.add("step_start", {})
    more.close_run("run_complete", {"status": "completed"})
    more.close()
    verdict = judge(path)
    assert (verdict.status, verdict.first_bad_event) == ("altered", 8)


def test_every_seal_is_checked(tmp_path) -> None:
    path = tmp_path / "t"
    first = write(path, signer=OTHER, end="run_suspended")
    resume(path, first, signer=SIGNER)
    assert (judge(path).status, judge(path).first_bad_event) == ("bad_signature", 7)
    keys = {"k1": KEY, "k2": b"other"}
    assert verify(path, key_for=lambda algorithm, key_id: keys[key_id], schemes=schemes).status == "valid"
    del keys["k2"]
    assert verify(path, key_for=lambda algorithm, key_id: keys.get(key_id), schemes=schemes).status == "no_key"


def test_a_signed_trace_cannot_be_continued_unsigned(tmp_path) -> None:
    path = tmp_path / "t"
    resume(path, write(path, signer=SIGNER, end="run_suspended"))
    verdict = judge(path)
    assert (verdict.status, verdict.first_bad_event) == ("bad_signature", 14)
    again = tmp_path / "u"
    resume(again, write(again, end="run_suspended"), signer=SIGNER)
    assert judge(again).status == "valid"


def test_what_cannot_be_judged_is_an_error(tmp_path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        judge(tmp_path / "missing")
    with pytest.raises(UsageError, match="directory"):
        judge(tmp_path)
    path = tmp_path / "t"
    write(path, signer=Signer(algorithm="unheard", key_id="k", sign=lambda m: "00"))
    with pytest.raises(PluginError, match="unheard"):
        judge(path)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\n", b"null\n", b"[1]\n", b"{}\n", b'{"type":"run_start"}\n'])
def test_files_that_are_no_traces(tmp_path, content) -> None:
    path = tmp_path / "t"
    path.write_bytes(content)
    verdict = judge(path)
    assert (verdict.status, verdict.first_bad_event) == ("altered", 1)


def test_the_published_traces_are_what_the_writer_writes(tmp_path) -> None:
    from base64 import b64decode

    from gert_core.plugin.registry import Registry

    text = DOC.read_text(encoding="utf-8")
    facts = {line[:12].strip(): line[12:].strip() for line in text.split("```text\n")[1].splitlines()[:5]}
    keys = {"hmac-sha256": b64decode(facts["key"]), "ed25519": b64decode(facts["public key"])}
    found = Registry.build().signature_scheme
    blocks = [block.split("```")[0] for block in text.split("```jsonl\n")[1:]]
    assert len(blocks) == 2
    for block in blocks:
        path = tmp_path / "t"
        path.write_text(block, encoding="utf-8")
        verdict = verify(path, key_for=lambda algorithm, key_id: keys[algorithm], schemes=found)
        assert (verdict.status, verdict.key_id, verdict.events) == ("valid", "prod-2026", 2)


def environ(**values: str) -> dict[str, str]:
    return {f"GERT_TRACE_{name}": value for name, value in values.items()}


def test_signer_from_the_environment() -> None:
    assert signer_from_environ({}, schemes) is None
    signer = signer_from_environ(environ(SIGNING_KEY="a2tra2s=", SIGNING_ALG="toy", SIGNING_KEY_ID="p"), schemes)
    assert signer is not None
    assert (signer.algorithm, signer.key_id, signer.sign(b"m")) == ("toy", "p", mac(b"kkkkk", b"m"))
    unnamed = signer_from_environ(environ(SIGNING_KEY="a2tra2s=", SIGNING_ALG="toy"), schemes)
    assert unnamed is not None
    assert unnamed.key_id == "default"


def test_a_run_that_should_be_signed_never_starts_unsigned() -> None:
    with pytest.raises(PluginError, match="hmac-sha256"):
        signer_from_environ(environ(SIGNING_KEY="a2tra2tra2tra2tra2tra2tr"), lambda algorithm: None)
    with pytest.raises(UsageError, match="SIGNING_KEY is not a base64-encoded key") as caught:
        signer_from_environ(environ(SIGNING_KEY="s3cret!", SIGNING_ALG="toy"), schemes)
    assert "s3cret" not in str(caught.value.to_json())

    def picky(key: bytes, message: bytes) -> str:
        raise ValueError("too short")

    scheme = SignatureScheme(algorithm="picky", sign=picky, verify=lambda *a: False)
    with pytest.raises(UsageError, match="not a valid key for picky: too short"):
        signer_from_environ(environ(SIGNING_KEY="a2tra2s=", SIGNING_ALG="picky"), lambda algorithm: scheme)
    loud = SignatureScheme(algorithm="loud", sign=lambda key, message: "ABCD", verify=lambda *a: False)
    with pytest.raises(PluginError, match="lowercase hex"):
        signer_from_environ(environ(SIGNING_KEY="a2tra2s=", SIGNING_ALG="loud"), lambda algorithm: loud)


def test_which_key_verifies() -> None:
    def key(found: dict[str, str], algorithm: str = "hmac-sha256", key_id: str = "prod-2026.a") -> bytes | None:
        return verifying_key(algorithm, key_id, environ=found)

    def b64(letter: str) -> str:
        return base64.b64encode(letter.encode() * 16).decode()

    own = environ(VERIFY_KEY_PROD_2026_A=b64("a"))
    general = environ(VERIFY_KEY=b64("b"))
    signing = environ(SIGNING_KEY=b64("c"), SIGNING_KEY_ID="prod-2026.a")
    assert key(own | general | signing) == b"a" * 16
    assert key(general | signing) == b"b" * 16
    assert key(signing) == b"c" * 16
    assert key(signing, key_id="other") is None, "the signing key verifies under its own id only"
    assert key(environ(SIGNING_KEY="ed25519:" + b64("c")), "ed25519", "default") is None
    assert key({}) is None


def test_a_key_is_for_one_algorithm() -> None:
    named = environ(VERIFY_KEY="toy:" + "YWFh")
    assert verifying_key("toy", "k", environ=named) == b"aaa"
    with pytest.raises(AlgorithmRefusedError, match="is a key for toy, and the signature is hmac-sha256") as caught:
        verifying_key("hmac-sha256", "k", environ=named)
    assert caught.value.unnamed is False
    bare = environ(VERIFY_KEY=base64.b64encode(b"a" * 32).decode())
    with pytest.raises(
        AlgorithmRefusedError, match="the key names no algorithm: write GERT_TRACE_VERIFY_KEY as toy:"
    ) as caught:
        verifying_key("toy", "k", environ=bare)
    assert caught.value.unnamed is True
    assert verifying_key("toy", "k", environ=bare | environ(VERIFY_ALG="toy")) == b"a" * 32
    with pytest.raises(UsageError, match="shorter than 16 bytes"):
        verifying_key("hmac-sha256", "k", environ=environ(VERIFY_KEY="hmac-sha256:YWFh"))


@pytest.mark.parametrize("key_id", ["ID", "id", "ALG", "x_ID", "x.alg", "a b", "", "ä", "a" * 65, "a/b"])
def test_key_ids_that_name_something_else_are_refused(key_id) -> None:
    with pytest.raises(UsageError, match="is not a valid key id") if key_id else contextlib.nullcontext():
        verifying_key("hmac-sha256", key_id, environ=environ(SIGNING_KEY_ID="x"))
