"""The terminal at which approvals are given belongs to the person: no tool, input or early line answers or forges."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

import pytest
from gertproc import Gert
from terminal import Terminal
from users import NOBODY, gert_as

from gert_core.kit.escaping import escape

# Opens the terminal it was started on and pushes an approval into its input.
PUSH = f"""\
#!{sys.executable}
import fcntl, os, termios
def attempt():
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
        for char in b"y mallory\\n":
            fcntl.ioctl(terminal, termios.TIOCSTI, bytes([char]))
        return "pushed"
    except OSError as error:
        return error.strerror
open("pushed", "a").write(f"{{os.getsid(0) == os.getpid()}} {{attempt()}}\\n")
"""
TOOLS = {
    "tool_push": (
        "apiVersion: tool/v0\nmeta: {name: push, transport: stdio, binary: ./push}\n"
        "contract: {effects: [], idempotent: true}\nactions: {run: {argv: [push]}}\n"
    ),
    "tool_act": (
        "apiVersion: tool/v0\nmeta: {name: act, transport: stdio, binary: touch}\n"
        "contract: {inputs: {note: {type: string, default: none}}, effects: [danger], writes: [production]}\n"
        "actions: {run: {argv: [touch, acted, '{{ .note }}']}}\n"
    ),
}
BOOK = """\
apiVersion: kernel/v0
meta:
  name: prompt
  inputs: {note: {type: string, default: plain}}
  governance: {rules: [{effects: [danger], action: require-approval}]}
tools: [push, act]
steps:
  - {id: push, type: tool, tool: push}
  - {id: act, type: tool, tool: act, inputs: {note: "{{ .note }}"}}
  - {type: end, outcome: {category: resolved, code: acted}}
"""


@pytest.fixture
def gert(tmp_path) -> Gert:
    made = Gert(tmp_path, GERT_ACTOR="olga", COLUMNS="")
    (tmp_path / "push").write_text(PUSH)
    (tmp_path / "push").chmod(0o755)
    made.write(book=BOOK, **TOOLS)
    return made


@pytest.mark.parametrize("alone", [True, False])
def test_a_tool_has_no_terminal_to_type_into(gert, alone):
    """A tool leads a session without a terminal, whichever way it was started."""
    items = "" if alone else ", for_each: {as: n, over: [1, 2, 3, 4], parallel: true, key: '{{ .n }}'}"
    steps = f"  - {{id: push, type: tool, tool: push{items}}}\n  - {{type: end, outcome: {{category: resolved}}}}\n"
    gert.write(book=f"{BOOK.partition('steps:')[0]}steps:\n{steps}")
    with Terminal(gert, "exec", "book.yaml") as terminal:
        terminal.end()
        assert terminal.code == 0, terminal.seen
    said = (gert.root / "pushed").read_text().splitlines()
    assert said == ["True No such device or address"] * (1 if alone else 4)


def answers(gert: Gert) -> list[dict]:
    return [event["data"] for event in gert.events() if event["type"] == "approval_response"]


def test_what_was_typed_before_the_question_is_no_answer(gert):
    """Neither lines typed ahead nor lines that something pushed into the terminal; the person is asked."""
    with Terminal(gert, "exec", "book.yaml", typed="act mallory\ny mallory\n" * 3) as terminal:
        terminal.until("Approve act? ")
        terminal.type("n ann: not today\n").end()
        assert terminal.code == 1, terminal.seen
    assert [(answer["approver_id"], answer["approved"]) for answer in answers(gert)] == [("ann", False)]
    assert not (gert.root / "acted").exists()


@pytest.mark.parametrize("raw", [False, True])
def test_a_line_behind_an_answer_does_not_answer_the_next_question(gert, raw):
    """Two lines at once: the second was typed before the second question."""
    gert.write(book=BOOK.replace("action: require-approval", "action: require-approval, min_approvers: 2"))
    with Terminal(gert, "exec", "book.yaml", raw=raw) as terminal:
        terminal.until("Approve act? ").type("act ann\nact bob\n")
        terminal.until("needs 2 different approvers").until("Approve act? ")
        terminal.type("n carl\n").end()
        assert terminal.code == 1, terminal.seen
    assert [(one["approver_id"], one["approved"]) for one in answers(gert)] == [("ann", True), ("carl", False)]


def test_a_reflex_does_not_approve_what_is_of_high_risk(gert):
    with Terminal(gert, "exec", "book.yaml") as terminal:
        terminal.until("Approve act? act|n [approver-id][: reason] ")
        terminal.type("y\n").until("Please answer with act|n [approver-id][: reason].")
        terminal.until("Approve act? ").type("act ann: seen\n").end()
        assert terminal.code == 0, terminal.seen
    (answer,) = answers(gert)
    assert (answer["approver_id"], answer["method"], answer["reason"]) == ("ann", "stdin", "seen")


@pytest.mark.parametrize("columns", [40, 80])
def test_a_ticket_is_shown_as_the_prompt_shows_it(gert, columns):
    """One renderer: the gutter, the order, the cut and the spelling of what cannot be seen."""
    note = "".join(f"line {number}\n" for number in range(60)) + "\x1b[2J\u202egnp"
    with Terminal(gert, "exec", "book.yaml", "--var", f"note={note}", columns=columns) as terminal:
        prompt = [line for line in terminal.until("Approve act? ").lines if line.startswith("|")]
        terminal.type("n ann\n").end()
    gert("exec", "book.yaml", "--var", f"note={note}", "--approval", "inbox")
    (ticket,) = gert("approvals", "list", "--json").document["approvals"]
    shown = gert("approvals", "show", ticket["ticket_id"], COLUMNS=str(columns)).out
    title, *lines = shown.splitlines()
    assert title.startswith(f"Ticket {ticket['ticket_id']}: ste")
    assert "| status     pending" in lines
    assert without(lines, "status", "run", "requested", "approvals", "hash", "expires") == without(prompt, "expires")
    assert len(prompt) > 30
    assert all(len(line) <= columns and line.startswith("|") for line in lines)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "SHA-256" in shown


def without(lines: list[str], *labels: str) -> list[str]:
    """The rows with other labels."""
    kept, label = [], ""
    for line in lines:
        label = line[2:13].strip() or label
        if label not in labels:
            kept.append(line)
    return kept


@pytest.mark.parametrize("name", ["y", "YES", "no"])
def test_a_step_called_yes_is_not_approved_by_a_reflex(gert, name):
    book = (gert.root / "book.yaml").read_text()
    (gert.root / "book.yaml").write_text(book.replace("id: act", f"id: '{name}'"))
    with Terminal(gert, "exec", "book.yaml") as terminal:
        terminal.until(f"Approve {name}? approve-{name}|n [approver-id][: reason] ")
        terminal.type("yes\n").until("Please answer with")
        terminal.until("Approve ").type(f"approve-{name} ann: seen\n").end()
        assert terminal.code == 0, terminal.seen
    (answer,) = answers(gert)
    assert answer["approver_id"] == "ann"


def test_an_answer_from_a_pipe_is_recorded_as_one(gert):
    assert gert("exec", "book.yaml", answers="y ann\n").code == 0
    (answer,) = answers(gert)
    assert (answer["approver_id"], answer["method"]) == ("ann", "piped")


UNICODE_16 = "\u2630\u268a\u4dff\U0001d300\U0001d376"
"""Characters of two columns, which Python knows of since 3.14."""
FORGED = "Approval needed: step read of prompt", "| command    cat harmless", "| risk       low", "Approve read? y|n "


@pytest.mark.parametrize(
    "note",
    [
        "".join(f"{line:<80}" for line in FORGED),
        "x" * 67 + "".join(f"{line:<80}" for line in FORGED),
        "\n".join(FORGED),
        "\u5927" * 33 + "".join(f"{line:<80}" for line in FORGED),
        UNICODE_16 * 7 + "".join(f"{line:<80}" for line in FORGED),
        "".join(f"{line:\u3000<80}" for line in FORGED),
        "".join(f"{line:\u2800<80}" for line in FORGED),
        "\u202e" + "".join(f"{line:\u00a0<80}" for line in FORGED),
    ],
)
@pytest.mark.parametrize("columns", [80, 47])
def test_no_value_imitates_an_approval_request(gert, note, columns):
    """Cut into rows as the terminal does it, no row but gert's own begins left of the gutter."""
    with Terminal(gert, "exec", "book.yaml", "--var", f"note={note}", columns=columns) as terminal:
        terminal.until("Approve act? ")
        lines = terminal.lines
        terminal.type("n\n").end()
    start = lines.index("Approval needed: step act of prompt")
    request = lines[start + 1 : -1]
    assert lines[-1].startswith("Approve act? ")
    assert all(f"{line} ".startswith("| ") for line in request)
    assert not [line for line in request if wcwidth(line) > columns]
    labels = [line[2:13].strip() for line in request if line[2:3].strip() and line[2:7] != "(cut)"]
    assert labels[0] == labels[-1] == "command"
    assert labels.count("risk") == 1
    assert "| risk       critical" in request
    assert "".join(request).isprintable()


def wcwidth(text: str) -> int:
    """How many columns a terminal takes for a text of letters and ideographs."""
    return sum(2 if char in UNICODE_16 or unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def test_what_the_encoding_of_the_terminal_does_not_have_is_spelled_out(gert):
    """Otherwise all of it is one question mark, and marks of gert in a value are others."""
    note = "\u6f22" * 40 + "\u2192\u00f6"
    with Terminal(gert, "exec", "book.yaml", "--var", f"note={note}", PYTHONIOENCODING="ascii") as terminal:
        terminal.until("Approve act? ")
        lines = terminal.lines
        terminal.type("n\n").end()
    request = lines[lines.index("Approval needed: step act of prompt") + 1 : -1]
    assert all(f"{line} ".startswith("| ") and len(line) <= 80 for line in request)
    command = "".join(line[13:] for line in request[: next(n for n, line in enumerate(request) if "program" in line)])
    assert command == r"touch acted '" + r"\u6f22" * 40 + r"\u2192\u00f6'"


@pytest.mark.parametrize("columns", [21, 16, 12, 8])
def test_no_value_begins_a_line_of_a_narrow_terminal(gert, columns):
    """Where it is too narrow for values beside their labels they stand below them, behind the gutter all the same."""
    with Terminal(gert, "exec", "book.yaml", "--var", f"note={'Q' * 300}", columns=columns) as terminal:
        terminal.until("[: reason]")
        lines = terminal.lines
        terminal.type("n\n").end()
    first = next(number for number, line in enumerate(lines) if line.startswith("| "))
    asked = next(number for number, line in enumerate(lines) if line.startswith("Approve "))
    request = lines[first:asked]
    assert all(f"{line} ".startswith("| ") and len(line) < columns for line in request), request
    labels = [line[2:] for line in request if line[2:3].strip() and line[2:4] != "(c"]
    assert labels[0] == labels[-1] == ("command" if columns > 9 else "co...")
    assert any(set(line[2:].strip(" |")) == {"Q"} and line[2:4] == "  " for line in request)


def test_a_terminal_that_is_too_narrow_for_a_request_is_not_asked(gert):
    with Terminal(gert, "exec", "book.yaml", "--var", "note=x", columns=7) as terminal:
        seen = terminal.end()
    assert "A terminal of 7 columns cannot show the request" in seen
    assert (terminal.code, "Approve" in seen) == (1, False)


def test_the_name_of_an_item_in_the_question_goes_on_in_no_other_line(gert):
    item = "x" * 26 + "| command    true"
    loop = f"for_each: {{ over: ['{item}'], as: it, key: '{{{{ .it }}}}' }}, "
    book = (gert.root / "book.yaml").read_text()
    (gert.root / "book.yaml").write_text(book.replace("id: act, ", f"id: act, {loop}"))
    with Terminal(gert, "exec", "book.yaml", "--var", "note=x", columns=40) as terminal:
        terminal.until("[: reason]")
        question = terminal.lines[-1]
        terminal.type("n\n").end()
    assert question.startswith("Approve act[xxx")
    assert "...? " in question[:40]


def test_a_long_value_is_cut_with_its_length_and_hash(gert):
    note = "0123456789" * 1000
    with Terminal(gert, "exec", "book.yaml", "--var", f"note={note}") as terminal:
        terminal.until("Approve act? ")
        lines = terminal.lines
        terminal.type("n\n").end()
    digest = hashlib.sha256(note.encode()).hexdigest()
    inputs = lines.index("| inputs     note =")
    assert all(line.startswith("|            | 0") or line[15:].isdigit() for line in lines[inputs + 1 : inputs + 20])
    assert lines[inputs + 20].startswith("| (cut)      10000 characters in all, SHA-256")
    assert digest in "".join(line[13:] for line in lines[inputs + 20 : inputs + 23])
    assert len(lines) < 120


@pytest.mark.parametrize(
    "char", ["\u200b", "\u2066", "\u3164", "\u2800", "\ufe0f", "\U000e0101", "\u034f", "\u115f", "\ufffc", "\U00016fe4"]
)
def test_invisible_characters_are_spelled_out(gert, char):
    """In requests and everywhere else."""
    said = gert("exec", "book.yaml", "--var", f"note=pla{char}in", answers="n\n")
    assert char not in said.all
    assert f"pla{escape(char)}in" in said.err
    assert escape(char).startswith("\\u")


SPY = """\
apiVersion: tool/v0
meta: {name: spy, transport: stdio}
contract: {effects: [], idempotent: true}
actions:
  run:
    argv: [sh, -c, "cat /proc/$PPID/environ > seen 2> refused; head -c 1 /proc/$PPID/mem > seen-memory 2>> refused; true"]
"""
WATCHED = """\
apiVersion: kernel/v0
meta: {name: watched}
tools: [spy]
steps: [{id: spy, type: tool, tool: spy}, {type: end, outcome: {category: resolved, code: seen}}]
"""
KEY = "hmac-sha256:" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"


@pytest.mark.skipif(os.geteuid() != 0, reason="root reads everything; without root gert cannot run as another user")
@pytest.mark.parametrize("key", [True, False])
def test_a_tool_cannot_read_keys_out_of_the_process_of_gert(key):
    """Through ``/proc``, as the same user; without a key nothing is hidden, which shows that the tool can look."""
    root = Path(tempfile.mkdtemp())
    try:
        root.chmod(0o777)
        Gert(root).write(tool_spy=SPY, book=WATCHED)
        for file in (root / "tools", root / "tools" / "spy.tool.yaml", root / "book.yaml"):
            file.chmod(0o755)
        environ = {"GERT_TRACE_SIGNING_KEY": KEY} if key else {"OTHER": "value"}
        done = gert_as(NOBODY, "exec", "book.yaml", cwd=root, environ=environ)
        assert done.returncode == 0, done.stderr
        seen, refused = (root / "seen").read_text(), (root / "refused").read_text()
        if key:
            assert seen == ""
            assert refused.count("Permission denied") == 2, refused
        else:
            assert "OTHER=value" in seen
    finally:
        shutil.rmtree(root)


DUMPABLE = """\
import ctypes, sys
from gert_core.cli import main
main(sys.argv[1:])
print("dumpable", ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other ways to look into a process")
@pytest.mark.parametrize(("address", "dumpable"), [("file:runs?password=hunter22", 0), ("file:runs", 1)])
def test_a_process_with_the_password_of_its_store_lets_nobody_look_into_it(gert, address, dumpable):
    assert is_dumpable(gert, "runs", "list", GERT_STORE=address) == dumpable


def is_dumpable(gert, *words, **environ):
    """Whether other processes of the user can look into one that was a command of gert."""
    done = subprocess.run(
        [sys.executable, "-c", DUMPABLE, *words],
        cwd=gert.root,
        env=gert.environ | environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    # `gert mcp` leaves what is printed to standard errors.
    (said,) = re.findall(r"^dumpable (\d)$", done.stdout + done.stderr, re.MULTILINE)
    return int(said)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other ways to look into a process")
@pytest.mark.parametrize(
    ("words", "dumpable"),
    [
        (("mcp", "--token-env", "CALLERS"), 0),
        (("mcp",), 1),
        (("web", "--bind", "127.0.0.1:PORT"), 0),
        (("slack", "listen"), 0),
    ],
)
def test_a_server_with_a_secret_lets_nobody_look_into_it(gert, words, dumpable):
    """They end at once: without an input, at a port that is taken, in a project that has no channel."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = [word.replace("PORT", str(taken.getsockname()[1])) for word in words]
        assert is_dumpable(gert, *words, CALLERS="a-token-that-is-long-enough") == dumpable


LISTENER = """\
import json, os
from gert_core import hookimpl
from gert_core.api import Command

def show(args, host):
    for environ in (os.environ, host.environ):
        print(json.dumps(sorted(name for name in environ if "_KEY" in name)))
    return 0

@hookimpl
def gert_commands():
    return [Command(name="show-keys", summary="Shows which keys it finds.", target=show)]
"""


def test_nothing_in_the_process_finds_a_key_in_its_environment(gert, fake_dist):
    """A command of a plugin is given the keys by gert; nothing that it starts inherits one."""
    fake_dist.add("gert-command-listener", LISTENER)
    environ = {
        "PYTHONPATH": str(fake_dist.directory),
        "GERT_TRACE_SIGNING_KEY": KEY,
        "GERT_APPROVAL_SIGNING_KEY": KEY,
        "GERT_TRACE_VERIFY_KEY": "ed25519:" + "A" * 43 + "=",
        "GERT_TRACE_SIGNING_KEY_ID": "ci",
    }
    said = gert("show-keys", **environ)
    assert said.code == 0, said.err
    in_process, given = map(json.loads, said.out.splitlines())
    assert in_process == ["GERT_TRACE_SIGNING_KEY_ID", "GERT_TRACE_VERIFY_KEY"]
    assert given == sorted(name for name in environ if "_KEY" in name)


CHECKS = "required_evidence: [{kind: checklist, name: doors, items: [closed, locked]}, {kind: text, name: who}]"
MANUAL = f"""\
apiVersion: kernel/v0
meta: {{name: prompt}}
tools: [push]
steps:
  - {{id: push, type: tool, tool: push}}
  - {{id: look, type: manual, instructions: Look at the doors, {CHECKS}}}
  - {{type: end, outcome: {{category: resolved, code: seen}}}}
"""


def outputs(gert: Gert) -> dict:
    (done,) = [e["data"] for e in gert.events() if e["type"] == "step_complete" and e["data"]["step_id"] == "look"]
    return done["outputs"]


@pytest.mark.parametrize("raw", [False, True])
def test_what_was_typed_before_the_question_of_a_step_is_no_answer(gert, raw):
    gert.write(book=MANUAL)
    with Terminal(gert, "exec", "book.yaml", typed="y\ny\nall\n", raw=raw) as terminal:
        terminal.until("done (numbers").type("all\nmallory\n").until("who (text").type("ann\n").end()
        assert terminal.code == 0, terminal.seen
    assert outputs(gert) == {"doors": {"closed": True, "locked": True}, "who": "ann"}


def test_what_was_typed_before_a_question_of_gert_answer_is_no_answer(gert):
    gert.write(book=MANUAL)
    assert gert("exec", "book.yaml", "--questions", "suspend").code == 0
    with Terminal(gert, "answer", "latest", "look", typed="reject it\nall\n") as terminal:
        terminal.until("done (numbers").type("all\nmallory\n").until("who (text").type("ann\n").end()
        assert terminal.code == 0, terminal.seen
    said = gert("resume", "latest")
    assert "Outcome: resolved" in said.out, terminal.seen + said.all
    assert outputs(gert) == {"doors": {"closed": True, "locked": True}, "who": "ann"}


def test_lines_of_a_pipe_answer_one_question_after_the_other(gert):
    gert.write(book=MANUAL)
    assert gert("exec", "book.yaml", answers="all\nann\n").code == 0
    assert outputs(gert) == {"doors": {"closed": True, "locked": True}, "who": "ann"}
