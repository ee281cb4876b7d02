"""Peers that lie: runners, input providers and approval providers get nothing by answering wrongly.

The guarantee: what a peer says is checked; a lie is an error (or a rejection) of that step, never a result, never a
traceback, never an approval, and never more memory than the limits allow.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from gert_core import hookimpl
from gert_core.api import ApprovalProvider, ApprovalResponse, ApprovalTicket
from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner, echo

RUNNER = """#!{python}
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    id, method = request["id"], request["method"]
    answer = {{"jsonrpc": "2.0", "id": id, "result": {{"capabilities": {{}}}}}}
    if method == "execute":
        answer["result"] = {{"outputs": {{"status": "fine"}}, "exit_code": 0, "stderr": ""}}
        {lie}
    if isinstance(answer, dict):
        answer = json.dumps(answer)
    sys.stdout.write(answer + "\\n")
    sys.stdout.flush()
"""
BOOK = """
apiVersion: kernel/v0
meta: { name: liars }
steps:
  - id: ask
    type: extension
    extension: liar
    timeout: 5s
    contract: { effects: [network], writes: [], outputs: { status: { type: string } } }
  - { type: end, outcome: { category: resolved, code: fine } }
"""
LIES = {
    "another id": ("answer['id'] = 999", ["protocol"]),
    "no id": ("del answer['id']", ["protocol", "timeout"]),
    "an id of another type": ("answer['id'] = str(id)", ["protocol"]),
    "both result and error": ("answer['error'] = {'code': 1, 'message': 'x'}", ["protocol", "extension_failed"]),
    "an error that is no object": ("answer = {'jsonrpc': '2.0', 'id': id, 'error': 'boom'}", ["protocol"]),
    "another protocol": ("answer['jsonrpc'] = '1.0'", ["protocol"]),
    "outputs of the wrong type": ("answer['result']['outputs'] = {'status': {'not': 'text'}}", ["output_type"]),
    "numbers that are none": ("answer = json.dumps(answer).replace('\"fine\"', 'NaN')", ["protocol", "output_type"]),
    "a line of 11 MiB": ("answer['result']['outputs']['status'] = 'x' * (11 << 20)", ["protocol", "output_too_large"]),
    "a deep answer": ("answer = '[' * 200000", ["protocol"]),
    "bytes that are no text": ("sys.stdout.buffer.write(b'\\xff\\xfe\\n'); sys.stdout.flush(); continue", ["protocol"]),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_runner_that_lies(tmp_path, lie):
    """The step is an error of a defined kind, the run ends, the trace is whole and no answer became a result."""
    code, kinds = LIES[lie]
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "gert-ext-liar").write_text(RUNNER.format(python=sys.executable, lie=code))
    (bin_ / "gert-ext-liar").chmod(0o755)
    gert = GertRunner(
        directory=tmp_path, registry=Registry.build(), environ={"PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}
    )
    ran = gert(BOOK)
    failure = ran.result.failures[0]
    assert failure.kind in kinds, failure
    assert ran.status in ("error", "failed")
    assert not any("fine" in json.dumps(data.get("outputs") or {}) for data in ran.of("step_complete"))
    assert len(json.dumps([dict(data) for data in ran.of("step_complete")])) < 64 * 1024


PROVIDER_LIES = {
    "another id": ("{'jsonrpc': '2.0', 'id': 77, 'result': {'host': 'x'}}", 2),
    "a list": ("{'jsonrpc': '2.0', 'id': id, 'result': ['host', 'x']}", 2),
    "a number for text": ("{'jsonrpc': '2.0', 'id': id, 'result': {'host': 'x', 'n': 'many'}}", 2),
    "a template": ("{'jsonrpc': '2.0', 'id': id, 'result': {'host': '{{ .n }}', 'n': 4}}", 0),
    "more than was asked": (
        "{'jsonrpc': '2.0', 'id': id, 'result': {'host': 'x', 'n': 4, 'admin': True}}",
        0,
    ),
}


@pytest.mark.parametrize("lie", PROVIDER_LIES)
def test_an_input_provider_that_lies(tmp_path, lie):
    """A wrong answer is an input error that names the provider (exit 2); text in an answer is data, not a template."""
    answer, code = PROVIDER_LIES[lie]
    provider = tmp_path / "provider"
    provider.write_text(
        f"#!{sys.executable}\nimport json, sys\nfor line in sys.stdin:\n    request = json.loads(line)\n"
        f"    id = request.get('id')\n    if id is None: continue\n    print(json.dumps({answer}), flush=True)\n"
    )
    provider.chmod(0o755)
    (tmp_path / "gert-project.yaml").write_text(
        f"name: p\nproviders: {{cmdb: {{transport: jsonrpc, binary: {provider}}}}}\n"
    )
    (tmp_path / "book.yaml").write_text(
        "apiVersion: kernel/v0\n"
        "meta: {name: b, inputs: {host: {type: string, from: cmdb.host}, n: {type: int, from: cmdb.n}}}\n"
        'steps: [{type: end, outcome: {category: resolved, code: "{{ .host }}"}}]\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "gert_core", "exec", "book.yaml", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    document = json.loads(done.stdout)
    if code:
        assert "cmdb" in document["error"]["message"]
    else:
        assert document["outcome"]["code"] == ("{{ .n }}" if lie == "a template" else "x")


# -- approvals ---------------------------------------------------------------------------------------------------

GOVERNED = """
apiVersion: kernel/v0
meta:
  name: governed
  governance:
    rules: [{ effects: [network], action: require-approval, min_approvers: 2, exclude_actor: true }]
tools: [mirror]
steps:
  - { id: act, type: tool, tool: mirror, inputs: { text: hi } }
  - { type: end, outcome: { category: resolved, code: acted } }
"""
MIRROR = """
apiVersion: tool/v0
meta: { name: mirror, transport: echo }
contract: { effects: [network], writes: [x], inputs: { text: { type: string } } }
actions: { say: { argv: [mirror, "{{ .text }}"] } }
"""


class Liar:
    """An approval provider whose session answers with whatever ``answers`` makes of the ticket."""

    def __init__(self, answers, *, ticket=None) -> None:
        self._answers = answers
        self._ticket = ticket

    @hookimpl
    def gert_approval_providers(self):
        return [ApprovalProvider(name="liar", open=lambda services: self, blocking=True)]

    def submit(self, request):
        self._queue = iter(self._answers(request))
        return ApprovalTicket(ticket_id=self._ticket or request.ticket_id, created=request.created)

    def wait(self, ticket, deadline):
        return next(self._queue, None)

    def close(self):
        pass


def yes(request, who="ann", **changed):
    facts = {
        "ticket_id": request.ticket_id,
        "approved": True,
        "approver_id": who,
        "method": "liar",
        "timestamp": datetime.now(UTC).isoformat(),
    }
    return ApprovalResponse(**facts | changed)


ANSWERS = {
    "one person twice": lambda r: [yes(r), yes(r), yes(r, "ANN "), yes(r, "\uff41\uff4e\uff4e")],
    "the run's own actor": lambda r: [yes(r, "ann"), yes(r, "tester")],
    "another ticket": lambda r: [yes(r, "ann", ticket_id="t-other"), yes(r, "bob", ticket_id="t-other")],
    "yes in words": lambda r: [yes(r, "ann", approved="yes"), yes(r, "bob")],
    "nobody": lambda r: [yes(r, ""), yes(r, "bob")],
    "from before the request": lambda r: [
        yes(r, "ann", timestamp=(datetime.now(UTC) - timedelta(hours=1)).isoformat()),
        yes(r, "bob"),
    ],
    "from after it expired": lambda r: [
        yes(r, "ann", timestamp=(datetime.now(UTC) + timedelta(days=400)).isoformat()),
        yes(r, "bob"),
    ],
    "no time": lambda r: [yes(r, "ann", timestamp="soon"), yes(r, "bob")],
    "something else": lambda r: [{"approved": True}, yes(r, "bob")],
    "a forged signature": lambda r: [yes(r, "ann", signature="00" * 32, signature_alg="hmac-sha256"), yes(r, "bob")],
    "nothing": lambda r: [],
    "an endless stream": lambda r: (yes(r) for _ in range(10_000)),
}


@pytest.mark.parametrize("lie", ANSWERS)
def test_an_approval_provider_that_lies(tmp_path, lie):
    """No answer of these approves the step: the tool does not run, and the trace says why."""
    liar = Liar(ANSWERS[lie])
    gert = GertRunner(directory=tmp_path, registry=Registry.build(extra_plugins=[echo, liar]))
    gert.environ = {"GERT_APPROVAL_VERIFY_KEY": "a2V5a2V5a2V5a2V5"}
    ran = gert(GOVERNED, files={"tools/mirror.tool.yaml": MIRROR}, approval="liar")
    assert ran.status == "failed"
    assert ran.steps["act"] == "skipped"
    assert ran.of("approval_resolved")[-1]["approved"] is False
    assert not ran.of("step_start", "act")
    assert len(ran.events) < 500


def test_a_provider_that_hands_out_another_ticket(tmp_path):
    """A ticket the core did not name is no ticket."""
    liar = Liar(lambda r: [yes(r), yes(r, "bob")], ticket="t-mine")
    gert = GertRunner(directory=tmp_path, registry=Registry.build(extra_plugins=[echo, liar]))
    ran = gert(GOVERNED, files={"tools/mirror.tool.yaml": MIRROR}, approval="liar")
    assert (ran.status, ran.result.failures[0].kind) == ("error", "approval_provider")


def test_an_honest_provider(tmp_path):
    """The same runbook with two honest answers does run, so the refusals above mean something."""
    liar = Liar(lambda r: [yes(r), yes(r, "bob")])
    gert = GertRunner(directory=tmp_path, registry=Registry.build(extra_plugins=[echo, liar]))
    ran = gert(GOVERNED, files={"tools/mirror.tool.yaml": MIRROR}, approval="liar")
    ran.assert_outcome("resolved", "acted")
