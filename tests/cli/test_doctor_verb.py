"""``gert doctor``: every line, when all is well and when it is not, and the level that is reached."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from gertproc import Gert

if TYPE_CHECKING:
    from pathlib import Path

CHECKS = [
    *("versions", "plugins", "project", "floor", "policies", "people", "approval key", "trace key", "secrets"),
    *("tools", "providers", "scenarios"),
    *("runs", "disk", "ledger", "interrupted", "tickets", "notifications", "terminal"),
]
TOOL = """\
apiVersion: tool/v0
meta: {name: act, transport: stdio, binary: "true"}
contract: {effects: [danger], writes: [production]}
actions: {run: {argv: ["true"]}}
"""
BOOK = """\
apiVersion: kernel/v0
meta: {name: book, governance: {approval_timeout: 1s, rules: [{effects: [danger], action: require-approval}]}}
tools: [act]
steps:
  - {id: act, type: tool, tool: act}
  - {type: end, outcome: {category: resolved, code: done}}
"""
# The floor of a test is in a directory of its own: the constant is replaced in the process.
RUNNER = """\
import os, sys
from pathlib import Path
from gert_core.documents import floor
floor.ROOT, floor.OWNERS = Path(sys.argv[1]), frozenset({0, os.getuid()})
from gert_core.cli import main
sys.exit(main(sys.argv[2:]))
"""


def pair(number: int) -> tuple[str, str]:
    private = Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
    texts = (private.private_bytes_raw(), private.public_key().public_bytes_raw())
    return tuple(f"ed25519:{b64encode(data).decode()}" for data in texts)  # type: ignore[return-value]


PRIVATE, PUBLIC = pair(1)
_, OTHER = pair(2)
SHARED = "hmac-sha256:" + b64encode(b"k" * 32).decode()


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_act=TOOL, book=BOOK)
    return made


def looked(gert: Gert, *argv: str, floor: Path | None = None, **environ: str) -> tuple[int, dict, dict]:
    """Return the exit code, the checks by name and the document of ``gert doctor --json``."""
    if floor is None:
        said = gert(*argv, "doctor", "--json", **environ)
        code, document = said.code, said.document
    else:
        command = [sys.executable, "-c", RUNNER, str(floor), "doctor", "--json"]
        done = subprocess.run(
            command, cwd=gert.root, env=gert.environ | environ, capture_output=True, text=True, check=False
        )
        code, document = done.returncode, json.loads(done.stdout)
    checks = {check["check"]: check for check in document["checks"]}
    assert list(checks) == CHECKS
    assert all(check["hint"] for check in checks.values() if check["status"] != "ok"), "what to do is always said"
    assert code == int(any(check["status"] == "fail" for check in checks.values()))
    return code, checks, document


def test_nothing_is_wrong_in_a_new_directory(gert):
    code, checks, document = looked(gert)
    assert code == 0
    assert {name for name, check in checks.items() if check["status"] != "ok"} == {"terminal"}
    assert checks["versions"]["message"].startswith("gert ")
    assert document["level"] == "laptop"
    assert not (gert.root / "runs").exists(), "looking makes nothing"


def test_at_a_terminal_everything_is_a_line(gert):
    seen = gert.on_terminal("doctor", NO_COLOR="1").replace("\r\n", "\n")
    lines = seen.splitlines()
    assert [line[6:].split("  ")[0] for line in lines if line.startswith("ok  ")] == CHECKS
    assert "level: laptop" in lines
    assert "missing for shared host:" in lines
    assert "  - require_signed_approvals: true in the machine floor" in lines


def policy(**fields: object) -> str:
    return json.dumps({"apiVersion": "policy/v0", "meta": {"name": "p"}, "rules": [{"default": "allow"}], **fields})


def break_plugins(gert):
    (gert.root / "gert-project.yaml").write_text("plugins: {require: [gert-policy-missing]}\n")


def break_project(gert):
    (gert.root / "gert-project.yaml").write_text("nonsense: 1\n")


def break_policies(gert):
    (gert.root / "gert-project.yaml").write_text("policies: [p.yaml]\n")
    (gert.root / "p.yaml").write_text("apiVersion: policy/v0\nmeta: {name: p}\nrules: [{action: perhaps}]\n")


def sign_without_people(gert):
    (gert.root / "gert-project.yaml").write_text("policies: [p.yaml]\n")
    (gert.root / "p.yaml").write_text(policy(require_signed_approvals=True))


def lack_people(gert):
    (gert.root / "gert-project.yaml").write_text("policies: [p.yaml]\n")
    rules = [
        {"effects": ["danger"], "action": "require-approval", "approvers": ["ann", "ben"]},
        {"action": "require-approval", "approvers": ["ann"], "min_approvers": 2},
    ]
    (gert.root / "p.yaml").write_text(policy(rules=rules))


def leave_out_the_actor(gert):
    lack_people(gert)
    text = (gert.root / "p.yaml").read_text().replace('"min_approvers": 2', '"exclude_actor": true')
    (gert.root / "p.yaml").write_text(text)
    gert.environ["GERT_ACTOR"] = "ann"


def open_to_all(gert):
    (gert.root / "runs").mkdir()
    (gert.root / "runs").chmod(0o777)


def open_to_group(gert):
    (gert.root / "runs").mkdir()
    (gert.root / "runs").chmod(0o770)


def no_directory(gert):
    (gert.root / "runs").write_text("")


def no_ledger(gert):
    (gert.root / "runs").mkdir(mode=0o700)
    (gert.root / "runs" / ".ledger").write_text("")


def interrupted(gert):
    (gert.root / "tools/act.tool.yaml").write_text(
        TOOL.replace('"true"', "sh").replace("[sh]", '[sh, -c, "kill -9 $PPID"]')
    )
    (gert.root / "book.yaml").write_text(BOOK.replace("require-approval", "allow"))
    assert gert("exec", "book.yaml").code == -9


def unreadable(gert):
    (gert.root / "runs" / "20260101T000000Z-x-00000000").mkdir(parents=True)


def expired(gert):
    policy = "apiVersion: policy/v0\nmeta: {name: short}\napproval_timeout: 1s\nrules: []\n"
    (gert.root / "short.yaml").write_text(policy)
    assert gert("exec", "book.yaml", "--approval", "inbox", "--policy", "short.yaml").code == 0
    time.sleep(1.1)


def broken_ticket(gert):
    assert gert("exec", "book.yaml", "--approval", "inbox").code == 0
    (file,) = gert.root.glob("runs/*/tickets/*.json")
    file.write_text("{")


def untold(gert):
    project = (gert.root / "gert-project.yaml").read_text() if (gert.root / "gert-project.yaml").exists() else ""
    (gert.root / "gert-project.yaml").write_text(f"{project}\nnotify: [{{on: resolved, webhook: env/HOOK}}]\n")
    gert.write(told=BOOK.replace("[danger]", "[nothing]").replace("name: book", "name: told"))
    (gert.root / "tools" / "act.tool.yaml").write_text(
        TOOL.replace("[danger]", "[network]").replace("[production]", "[]")
    )
    assert gert("exec", "told.yaml", "--no-notify").code == 0


def refused(gert):
    untold(gert)
    assert gert("notify", "flush", HOOK="ftp://127.0.0.1/x").code == 1


@pytest.mark.parametrize(
    ("prepare", "check", "status", "said"),
    [
        (break_plugins, "plugins", "fail", "gert-policy-missing"),
        (break_project, "project", "fail", "nonsense"),
        (break_policies, "policies", "fail", "perhaps"),
        (sign_without_people, "people", "warn", "the person who resumes the run chooses the keys"),
        (lack_people, "people", "warn", "rule 2 of the policy p.yaml: 2 people must approve it, and only 'ann' can"),
        (leave_out_the_actor, "people", "warn", "rule 2 of the policy p.yaml: it cannot be approved: '"),
        (open_to_all, "runs", "fail", "is writable by everybody"),
        (open_to_group, "runs", "warn", "is writable by its group"),
        (no_directory, "runs", "fail", "is not a directory"),
        (no_ledger, "ledger", "fail", ".ledger is not a directory"),
        (interrupted, "interrupted", "warn", "of 1 runs 1 interrupted: "),
        (unreadable, "interrupted", "warn", "of 1 runs 1 unreadable: 20260101T000000Z-x-00000000"),
        (expired, "tickets", "warn", "1 expired without an answer: t-"),
        (broken_ticket, "tickets", "warn", "cannot be read: "),
        (untold, "notifications", "warn", "1 not delivered yet"),
        (refused, "notifications", "warn", "1 refused or given up, of "),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(gert, prepare, check, status, said):
    prepare(gert)
    _, checks, document = looked(gert)
    assert checks[check]["status"] == status, checks[check]
    assert said in checks[check]["message"]
    assert (document["level"] is None) == (status == "fail")


@pytest.mark.parametrize(
    ("environ", "check", "status", "said"),
    [
        ({"GERT_APPROVAL_SIGNING_KEY": "short"}, "approval key", "fail", "GERT_APPROVAL_SIGNING_KEY"),
        ({"GERT_TRACE_SIGNING_KEY": "ed25519:QUJD"}, "trace key", "fail", "is not a valid key for ed25519"),
        ({"GERT_TRACE_SIGNING_KEY": "rot13:QUJD"}, "trace key", "fail", "no active plugin signs with rot13"),
        ({"GERT_TRACE_SIGNING_KEY": SHARED}, "trace key", "warn", "is a shared key"),
        ({"GERT_TRACE_SIGNING_KEY": PRIVATE}, "trace key", "ok", "signs with ed25519"),
        (
            {"GERT_TRACE_SIGNING_KEY": PRIVATE, "GERT_TRACE_VERIFY_KEY": OTHER},
            *("trace key", "fail", "GERT_TRACE_VERIFY_KEY does not verify what GERT_TRACE_SIGNING_KEY signs"),
        ),
        ({"GERT_TRACE_SIGNING_KEY": PRIVATE, "GERT_TRACE_VERIFY_KEY": PUBLIC}, "trace key", "ok", "signs with"),
        ({"GERT_APPROVAL_VERIFY_KEY": PUBLIC}, "approval key", "ok", "GERT_APPROVAL_VERIFY_KEY verifies"),
        ({"GERT_LINK_SIGNING_KEY": SHARED}, "secrets", "fail", "GERT_LINK_SIGNING_KEY"),
        ({"GERT_BRIDGE_WEB_KEY": PRIVATE}, "secrets", "fail", "GERT_BRIDGE_WEB_KEY"),
        ({"SLACK_SIGNING_SECRET": "0" * 32}, "secrets", "fail", "SLACK_SIGNING_SECRET"),
        ({"PYTHONIOENCODING": "latin-1"}, "terminal", "warn", "output is encoded as iso8859-1"),
    ],
)
def test_keys_and_secrets_are_tried(gert, environ, check, status, said):
    _, checks, _ = looked(gert, **environ)
    assert checks[check]["status"] == status, checks[check]
    assert said in checks[check]["message"]
    shown = json.dumps(checks)
    assert not [value for name, value in environ.items() if ("KEY" in name or "SECRET" in name) and value in shown]


@pytest.mark.parametrize(
    "config",
    ["signing_secret_env: CHAT_SECRET", "chat: {signing_secret: env/CHAT_SECRET}", "secrets: [env/CHAT_SECRET]"],
)
def test_secrets_that_the_project_names_are_found(gert, config):
    (gert.root / "gert-project.yaml").write_text(f"approvals: {{provider: inbox, config: {{{config}}}}}\n")
    assert looked(gert)[1]["secrets"]["status"] == "ok"
    assert "CHAT_SECRET" in looked(gert, CHAT_SECRET="x" * 20)[1]["secrets"]["message"]


def test_a_disk_that_cannot_be_written(gert):
    """A directory of runs below a file system that takes no files, such as /proc."""
    (gert.root / "gert-project.yaml").write_text("runs_dir: /proc/gert\n")
    code, checks, _ = looked(gert)
    assert (code, checks["disk"]["status"]) == (1, "fail")
    assert "/proc cannot be written, locked and synced" in checks["disk"]["message"]


def test_a_floor_that_others_could_change(gert, tmp_path):
    floor = tmp_path / "etc"
    (floor / "policies").mkdir(parents=True)
    (floor / "policies" / "p.yaml").write_text(policy())
    _, checks, _ = looked(gert, floor=floor)
    assert checks["floor"]["message"] == f"applies to every run: {floor / 'policies' / 'p.yaml'}"
    (floor / "policies" / "p.yaml").chmod(0o666)
    code, checks, document = looked(gert, floor=floor)
    assert (code, checks["floor"]["status"], document["level"]) == (1, "fail", None)
    assert "is writable by more than its owner" in checks["floor"]["message"]


def test_the_level_that_is_reached_and_what_is_missing_for_the_next(gert, tmp_path):
    floor = tmp_path / "etc"
    (floor / "policies").mkdir(parents=True)
    file = floor / "policies" / "p.yaml"

    def missing(level: str, **environ: str) -> list[str]:
        document = looked(gert, floor=floor, **environ)[2]
        return {entry["level"]: entry["missing"] for entry in document["levels"]}[level]

    file.write_text(policy())
    assert [what.split()[0] for what in missing("shared host")] == ["people", "require_signed_approvals:"]
    file.write_text(policy(people={"ann": {"keys": [PUBLIC]}}))
    assert [what.split()[0] for what in missing("shared host")] == ["require_signed_approvals:"]
    file.write_text(policy(people={"ann": {"keys": [PUBLIC]}}, require_signed_approvals=True))
    assert missing("shared host") == []
    assert looked(gert, floor=floor)[2]["level"] == "shared host"
    assert "approvals signed elsewhere" in missing("shared host", GERT_APPROVAL_SIGNING_KEY=PRIVATE)[0]
    (gert.root / "runs").mkdir()
    (gert.root / "runs").chmod(0o2770)
    assert "an account of its own for gert" in missing("shared host")[0]
    (gert.root / "runs").chmod(0o700)
    assert [what.partition(":")[0] for what in missing("audited production")] == [
        "signed traces",
        "a store that a database server keeps (GERT_STORE)",
    ]
    assert len(missing("audited production", GERT_TRACE_SIGNING_KEY=PRIVATE)) == 1
    assert "is a shared key" in missing("audited production", GERT_TRACE_SIGNING_KEY=SHARED)[0]
    both = {"GERT_TRACE_SIGNING_KEY": PRIVATE, "GERT_APPROVAL_VERIFY_KEY": SHARED}
    assert "public keys only" in missing("audited production", **both)[0]


SERVED = """\
from gert_core import hookimpl
from gert_core.api import StoreType
from gert_core.stores.directory import DirectoryStore

class Served(DirectoryStore):
    served = True

@hookimpl
def gert_stores():
    return [StoreType(name="acme", schemes=("acme",), open=lambda url, services: Served(services.root / "runs"))]
"""


def test_every_level_can_be_reached(gert, tmp_path, fake_dist):
    """From nothing to a machine with a floor, a signed trace and a store that a server keeps, one thing at a time."""
    floor = tmp_path / "etc"
    (floor / "policies").mkdir(parents=True)
    assert looked(gert, floor=floor)[2]["level"] == "laptop"
    people = policy(people={"ann": {"keys": [PUBLIC]}}, require_signed_approvals=True)
    (floor / "policies" / "p.yaml").write_text(people)
    assert looked(gert, floor=floor)[2]["level"] == "shared host"
    fake_dist.add("gert-store-acme", SERVED)
    served = {"PYTHONPATH": str(fake_dist.directory), "GERT_STORE": "acme:runs"}
    assert looked(gert, floor=floor, **served)[2]["level"] == "shared host"
    signed = {"GERT_TRACE_SIGNING_KEY": PRIVATE}
    assert looked(gert, floor=floor, **signed)[2]["level"] == "shared host"
    code, _, document = looked(gert, floor=floor, **served, **signed)
    assert (code, document["level"]) == (0, "audited production")
    assert [level["missing"] for level in document["levels"]] == [[], [], []]
    bridge = looked(gert, floor=floor, **served, **signed, GERT_BRIDGE_WEB_KEY=PRIVATE)
    assert (bridge[0], bridge[2]["level"]) == (1, None)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
def test_runs_of_another_user(gert):
    (gert.root / "runs").mkdir(mode=0o700)
    os.chown(gert.root / "runs", 65534, 65534)
    assert "belongs to user nobody" in looked(gert)[1]["runs"]["message"]


def test_programs_providers_and_secrets_of_the_documents(tmp_path):
    gert = Gert(tmp_path, SOME_TOKEN="h5Kq-Zw82-Lr01")
    (tmp_path / "gert-project.yaml").write_text(
        "approvals: {provider: carrier, config: {token_env: SOME_TOKEN}}\n"
        "providers: {pd: {binary: ./pd, config: {api_key_env: PD_KEY}}}\n"
    )
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "act.tool.yaml").write_text(TOOL.replace('"true"}', "no-such-program}"))
    (tmp_path / "tools" / "bad.tool.yaml").write_text("apiVersion: tool/v0\n")
    scenario = tmp_path / "scenarios" / "book" / "one" / "scenario.yaml"
    scenario.parent.mkdir(parents=True)
    scenario.write_text("inputs: {note: h5Kq-Zw82-Lr01}\n")
    said = gert("doctor", "--json")
    found = {check["check"]: check for check in said.document["checks"]}
    assert said.code == 1
    assert (found["tools"]["status"], found["tools"]["message"]) == (
        "warn",
        f"act needs no-such-program; {tmp_path}/tools/bad.tool.yaml is not valid",
    )
    assert (found["providers"]["status"], found["providers"]["message"]) == (
        "warn",
        "no installed plugin provides approvals by 'carrier'; provider pd needs ./pd; PD_KEY is not set",
    )
    assert (found["scenarios"]["status"], found["scenarios"]["message"]) == (
        "fail",
        f"{scenario} has the value of SOME_TOKEN",
    )
    assert "h5Kq" not in said.out
