"""The example runbooks: all valid, all rehearsed, all scenarios pass, and several of them run for real."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from repository import ROOT

from gert_core.documents.project import find_project
from gert_core.plugin.registry import Registry
from gert_core.scenarios import candidates_of
from gert_core.testing import GertRunner
from gert_core.testing.packs import StandIn, path_with
from gert_core.validation import validate_runbook
from gert_core.validation.rules import MACHINE

EXAMPLES = ROOT / "examples" / "runbooks"
BOOKS = sorted(EXAMPLES.rglob("*.runbook.yaml"))
SECRETS = {"ANTHROPIC_API_KEY": "not-needed", "PGPASSWORD": "not-needed"}

books = pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


def validated(book, registry):
    return validate_runbook(book, registry=registry, project=find_project(book.parent), environ=SECRETS)


def gert(*words, cwd, code=0, stdin="", **environ):
    done = subprocess.run(
        [sys.executable, "-m", "gert_core", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        input=stdin,
        env={**os.environ, **environ},
    )
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


# -- all of them ------------------------------------------------------------------------------------------------


@books
def test_it_is_named_after_its_directory_and_listed(book):
    assert book.name == f"{book.parent.name}.runbook.yaml"
    assert f"({book.relative_to(EXAMPLES)})" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


@books
def test_it_is_valid_without_a_warning(book, registry):
    found = validated(book, registry)
    assert found.valid
    # What this machine lacks is no fault of a runbook.
    assert not [f"{d.rule}: {d.message}" for d in found.diagnostics if d.rule not in MACHINE]


@books
def test_it_has_two_golden_scenarios_or_more(book):
    assert sum(candidate.golden for candidate in candidates_of(book)) >= 2


@books
def test_it_can_be_rehearsed(book, registry, tmp_path):
    inputs = candidates_of(book)[0].scenario.model.inputs
    run = GertRunner(directory=tmp_path, registry=registry, environ={"PATH": os.environ["PATH"]})
    ran = run(book, inputs=inputs, mode="dry-run", interactive=False, project=find_project(book.parent))
    assert ran.status == "completed", [failure.message for failure in ran.result.failures]
    assert ran.of("contract_evaluated")
    assert ran.of("governance_decision")


def test_every_scenario_passes(tmp_path):
    done = gert("test", "--all", "--json", EXAMPLES, cwd=tmp_path)
    told = json.loads(done.stdout)
    assert len(told["runbooks"]) == len(BOOKS)
    assert told["summary"]["passed"] == told["summary"]["total"]
    assert done.stderr == "", "a response nobody asked for, or a name the runbook does not have"


def test_together_they_use_every_step_type_and_every_modifier(registry):
    types, modifiers, loops = set(), set(), set()
    for book in BOOKS:
        for step in validated(book, registry).runbook.walk():
            types.add(step.type.name)
            modifiers |= step.fields.model_fields_set | ({"inputs_from"} & set(step.raw))
            if step.fields.for_each is not None:
                loops |= step.fields.for_each.model_fields_set
    assert types == set(registry.step_types())
    assert {
        *("when", "next", "continue_on_fail", "for_each", "scope", "export", "visibility", "principal"),
        *("timeout", "contract", "extensions", "inputs_from"),
    } <= modifiers
    assert {"key", "parallel", "max_parallel", "until"} <= loops


def test_a_rehearsal_shows_who_will_be_asked(registry, tmp_path):
    book = EXAMPLES / "database-failover" / "database-failover.runbook.yaml"
    run = GertRunner(directory=tmp_path, registry=registry)
    inputs = {"primary_host": "db1", "standby_host": "db2"}
    ran = run(book, inputs=inputs, mode="dry-run", interactive=False, project=find_project(book.parent))
    (decision,) = ran.of("governance_decision", "promote")
    assert (decision["decision"], decision["min_approvers"], decision["exclude_actor"]) == ("require-approval", 2, True)
    assert ran.steps["fenced_outside"] == "success", "the rehearsal shows what happens when the primary is gone"


# -- for real ---------------------------------------------------------------------------------------------------


def test_the_first_one_prints_an_outcome_on_any_machine(tmp_path):
    done = gert("exec", EXAMPLES / "first" / "first.runbook.yaml", cwd=tmp_path)
    assert re.match(
        r"(✓ )?Outcome: (no_action \(room_left\)|escalated \(disk_full\)) \[real\]\n  used: \d+%\n  on: /", done.stdout
    )
    trace = next((tmp_path / "runs").glob("*/trace.jsonl"))
    assert json.loads(gert("trace", "verify", trace, "--json", cwd=tmp_path).stdout)["verdict"] == "unsigned"


class Flaky(http.server.BaseHTTPRequestHandler):
    """/flaky is well from the second request on, /down never, everything else always."""

    seen = 0

    def do_GET(self):
        type(self).seen += self.path == "/flaky"
        bad = self.path == "/down" or (self.path == "/flaky" and self.seen < 2)
        self.send_response(503 if bad else 200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        """Keep quiet."""


@pytest.fixture
def server():
    Flaky.seen = 0
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def run(registry, tmp_path):
    return GertRunner(directory=tmp_path, registry=registry, environ={"PATH": os.environ["PATH"]})


def test_a_service_that_recovers(run, server, tmp_path):
    path = path_with(tmp_path / "bin", "curl", stdout="hello[HTTP 200 0.1s]")
    run.environ = {"PATH": path}
    book = EXAMPLES / "service-health" / "service-health.runbook.yaml"
    ran = run(book, inputs={"url": f"{server}/flaky", "pause": 0.1})
    code = "healthy" if (tmp_path / "bin" / "curl").exists() else "recovered_by_itself"
    ran.assert_outcome("needs_rca" if code != "healthy" else "no_action", code)


if shutil.which("curl") and shutil.which("jq"):

    def test_a_sweep_names_what_is_down(run, server):
        names = {"shop": "/ok", "search": "/down", "gone": None}
        endpoints = [
            {"name": name, "url": f"{server}{path}" if path else "http://127.0.0.1:9/"} for name, path in names.items()
        ]
        ran = run(EXAMPLES / "endpoint-sweep" / "endpoint-sweep.runbook.yaml", inputs={"endpoints": endpoints})
        ran.assert_outcome("escalated", "endpoints_down")
        down = ran.result.outcome.meta["down"]
        assert down == [{"name": "search", "status": 503}, {"name": "gone", "status": 0}]


@pytest.mark.parametrize(
    ("answer", "code", "restarted"), [("y alice", "service_restarted", True), ("n", "restart_not_approved", False)]
)
def test_a_service_is_restarted_once_somebody_agrees(tmp_path, answer, code, restarted):
    stand_in = tmp_path / "bin" / "systemctl"
    stand_in.parent.mkdir()
    stand_in.write_text(
        '#!/bin/sh\ncase $1 in restart) touch "$0.done";; *) [ -e "$0.done" ] && echo active || { echo failed; exit 3; };; esac\n'
    )
    stand_in.chmod(0o755)
    book = EXAMPLES / "service-restart" / "service-restart.runbook.yaml"
    path = f"{stand_in.parent}:{os.environ['PATH']}"
    done = gert("exec", book, "--var", "service=web", cwd=tmp_path, stdin=f"{answer}\n", PATH=path)
    assert f"({code})" in done.stdout
    assert "web is failed. Restart it?" in done.stderr
    assert (tmp_path / "bin" / "systemctl.done").exists() is restarted


@pytest.mark.parametrize(("page", "code", "live"), [("/ok", "deployed", "8"), (None, "rolled_back", "7")])
def test_a_deployment_that_is_not_well_is_taken_back(run, server, tmp_path, monkeypatch, page, code, live):
    book = EXAMPLES / "deploy" / "deploy.runbook.yaml"
    run.environ = {"PATH": path_with(tmp_path / "bin", "curl", stdout="hello[HTTP 200 0.1s]")}
    if page is None:  # the switch itself fails: the new release is on a disk that is full
        stand_in = tmp_path / "bin" / "ln"
        stand_in.parent.mkdir(exist_ok=True)
        stand_in.write_text('#!/bin/sh\ncase "$3" in *8) exit 1;; esac\nexec /bin/ln "$@"\n')
        stand_in.chmod(0o755)
        run.environ = {"PATH": f"{stand_in.parent}:{run.environ['PATH']}"}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "current").symlink_to("releases/7")
    ran = run(book, inputs={"release": "releases/8", "health": f"{server}{page or '/down'}"})
    assert ran.result.outcome.code == code, [failure.message for failure in ran.result.failures]
    assert str((tmp_path / "current").readlink()) == f"releases/{live}"
    assert not (tmp_path / "current.lock").exists()
    (tmp_path / "current.lock").mkdir()
    again = run(book, inputs={"release": "releases/9", "health": f"{server}/ok"})
    again.assert_outcome("no_action", "deployment_running")
    assert (tmp_path / "current.lock").exists(), "the lock of another deployment stays its own"


def test_servers_are_updated_one_by_one_until_one_does_not_take_it(run, tmp_path, monkeypatch):
    book = EXAMPLES / "rolling-update" / "rolling-update.runbook.yaml"
    monkeypatch.chdir(tmp_path)

    def runs():
        return {place.name: (place / "release").read_text().strip() for place in sorted(Path("fleet").iterdir())}

    ran = run(book, inputs={"release": "42", "pause": "0.1s"})
    ran.assert_outcome("resolved", "updated")
    assert runs() == {"web-1": "42", "web-2": "42", "web-3": "42"}
    idle = [event["result"] for event in ran.of("wait_round", "servers[web-1]/0/idle")]
    assert idle == [False, False, True], "two connections were waited for"
    Path("fleet/web-2/allergic").write_text("43")
    ran = run(book, inputs={"release": "43", "pause": "0.5s"})
    ran.assert_outcome("needs_rca", "stopped")
    assert ran.result.outcome.meta["taken_back"] == "web-2"
    assert runs() == {"web-1": "43", "web-2": "42", "web-3": "42"}
    assert not list(Path("fleet").glob("*/drained")), "all servers have their traffic back"


@pytest.fixture
def sh(tmp_path):
    """The scripts of the pretended account and application."""

    def call(script, *words, stdin=""):
        command = ["sh", EXAMPLES / "credential-rotation" / "tools" / script, *words]
        return subprocess.run(command, cwd=tmp_path, input=stdin, capture_output=True, text=True, check=True).stdout

    return call


@pytest.mark.parametrize(("ill", "rotated"), [(None, ["shop", "mail"]), ("shop", [])])
def test_credentials_of_several_applications_are_rotated_until_one_keeps_its_own(tmp_path, sh, ill, rotated):
    old = {}
    for name in ("shop", "mail"):
        old[name] = json.loads(sh("accounts.sh", "create", f"{name}-account"))
        sh("app.sh", "use", name, old[name]["id"], stdin=old[name]["password"])
    if ill:
        (tmp_path / ill / "only").write_text(old[ill]["id"])
    apps = json.dumps([{"name": name, "account": f"{name}-account", "app": name} for name in old])
    book = EXAMPLES / "rotate-all" / "rotate-all.runbook.yaml"
    done = gert("exec", book, "--var", f"apps={apps}", "--var", "pause=0.5s", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["outcome"]["code"] == ("stopped" if ill else "all_rotated")
    kept = {name: next((tmp_path / f"{name}-account").iterdir()).name for name in old}
    assert [name for name in old if kept[name] != old[name]["id"]] == rotated
    assert all(sh("app.sh", "health", name, f"{name}-account") == "well\n" for name in old)


@pytest.mark.parametrize("well", [True, False])
def test_a_credential_is_rotated_or_nothing_has_changed(tmp_path, sh, well):
    old = json.loads(sh("accounts.sh", "create", "account"))
    sh("app.sh", "use", "app", old["id"], stdin=old["password"])
    if not well:
        (tmp_path / "app" / "only").write_text(old["id"])
    book = EXAMPLES / "credential-rotation" / "credential-rotation.runbook.yaml"
    done = gert("exec", book, "--var", "pause=0.5s", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert told["outcome"]["code"] == ("rotated" if well else "kept_the_old_one")
    (kept,) = (tmp_path / "account").iterdir()
    assert (kept.name == old["id"]) is not well
    assert sh("app.sh", "health", "app", "account") == "well\n"
    (trace,) = (tmp_path / "runs").glob("*/trace.jsonl")
    assert "<REDACTED:change/0/new.password>" in trace.read_text()
    if well:
        assert not [f for f in (tmp_path / "runs").rglob("*") if f.is_file() and kept.read_bytes() in f.read_bytes()]


def test_a_debate_with_a_model_and_a_judge(run, tmp_path):
    book = EXAMPLES / "multi-agent-review" / "multi-agent-review.runbook.yaml"
    run.environ = {"PATH": f"{book.parent / 'bin'}:{os.environ['PATH']}", "ANTHROPIC_API_KEY": "hush-hush"}
    ran = run(book, inputs={"question": "Shall we?"})
    ran.assert_outcome("resolved", "consensus")
    assert ran.result.outcome.meta["answer"] == "yes"
    (judged,) = [e for e in ran.events if e.type == "step_complete" and e.step_key == "debate/0/judge"]
    assert judged.data["outputs"]["scores"] == {"yes": 3}
    answered = {
        e.step_key: e.principal["id"] for e in ran.events if e.type == "step_complete" and "answers[" in str(e.step_key)
    }
    assert answered == {f"answers[{who}]": who for who in ("advocate", "skeptic", "analyst")}
    seen = ran.of("visibility_applied", "debate/0/judge")
    assert seen, "what the judge was shown is on record"


if shutil.which("openssl"):

    @pytest.mark.parametrize(
        ("left", "outcome"),
        [(400, ("no_action", "certificate_good")), (10, ("needs_rca", "expires_soon")), (-1, ("escalated", "expired"))],
    )
    def test_a_certificate(run, tmp_path, left, outcome):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate(tmp_path, left))
        made = http.server.HTTPServer(("127.0.0.1", 0), Flaky)
        made.socket = context.wrap_socket(made.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        try:
            book = EXAMPLES / "certificate-expiry" / "certificate-expiry.runbook.yaml"
            ran = run(book, inputs={"host": "127.0.0.1", "port": made.server_port})
        finally:
            made.shutdown()
            made.server_close()
            thread.join()
        ran.assert_outcome(*outcome)


def certificate(place, days):
    """A file with a key and a certificate that ends in so many days."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "shop.example.com")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=30))
        .not_valid_after(now + timedelta(days=days))
        .sign(key, hashes.SHA256())
    )
    file = place / "certificate.pem"
    plain = serialization.NoEncryption()
    key_text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    file.write_bytes(key_text + made.public_bytes(serialization.Encoding.PEM))
    return file


def test_people_are_told_of_a_queue_and_a_run_becomes_a_test(tmp_path):
    place = tmp_path / "queue-check"
    shutil.copytree(EXAMPLES / "queue-check", place)
    (place / "queue").mkdir()
    for name in ("1.done", "2.done", "3.done", "4.done", "5"):
        (place / "queue" / name).touch()
    with subprocess.Popen([sys.executable, "receiver.py", "0"], cwd=place, stdout=subprocess.PIPE, text=True) as told:
        try:
            environ = {"OPS_HOOK": told.stdout.readline().removeprefix("listening on ").strip()}
            words = ("exec", "queue-check.runbook.yaml", "--record", "mine", "--json")
            (ticket,) = json.loads(gert(*words, cwd=place, **environ).stdout)["pending"]
            assert told.stdout.readline() == "queue-check waits for approval: step drain\n"
            gert("approve", ticket["ticket_id"], "--as", "bob", cwd=place)
            assert "resolved (queue_drained)" in gert("resume", "latest", cwd=place, **environ).stdout
        finally:
            told.kill()
    assert [path.name for path in (place / "queue").iterdir()] == ["5"]
    gert("scenario", "promote", "mine", cwd=place)
    same = json.loads(gert("diff", "queue-check.runbook.yaml", "--json", cwd=place).stdout)["runbooks"][0]
    assert same["summary"] == {"unchanged": 4, "changed": 0, "errors": 0}
    book = place / "queue-check.runbook.yaml"
    book.write_text(book.read_text().replace("le .look.waiting .limit", "le .look.waiting 9"))
    changed = json.loads(gert("diff", book.name, "--json", cwd=place, code=1).stdout)["runbooks"][0]["scenarios"]
    assert [one["scenario"] for one in changed if not one["same"]] == ["drained", "mine"]
    assert changed[0]["after"] == {"status": "completed", "outcome": "no_action", "code": "short_enough"}


def test_a_failover_with_two_approvers_and_one_who_may_not(tmp_path):
    shutil.copytree(EXAMPLES / "database-failover", tmp_path / "db", ignore=shutil.ignore_patterns("scenarios"))
    psql = StandIn.make(tmp_path / "bin", "psql")
    # It remembers the promotion: a standby before, the primary after.
    program = (tmp_path / "bin" / "psql").read_text().rsplit("sys.stdout.write", 1)[0]
    (tmp_path / "bin" / "psql").write_text(
        program
        + "said, mark = ' '.join(sys.argv), os.path.join(os.path.dirname(__file__), 'promoted')\n"
        + "new = os.environ['PGHOST'] == 'db2'\n"
        + "if 'pg_promote' in said: open(mark, 'w').close(); print('t')\n"
        + "elif 'pg_last_xact' in said: print('0.2')\n"
        + "elif 'pg_is_in_recovery' in said: print('standby' if new and not os.path.exists(mark) else 'primary')\n"
    )
    environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PGPASSWORD": "hush-hush-hush"}

    def run(*words, code=0):
        return json.loads(gert(*words, "--json", cwd=tmp_path / "db", code=code, **environ).stdout)

    def approve(ticket, *people):
        for person in people:
            gert("approve", ticket, "--as", person, cwd=tmp_path / "db", **environ)

    where = ("--var", "primary_host=db1", "--var", "standby_host=db2", "--as", "alice")
    told = run("exec", "database-failover.runbook.yaml", *where)
    assert told["status"] == "approval_pending"
    (ticket,) = [pending["ticket_id"] for pending in told["pending"]]
    refused = gert("approve", ticket, "--as", "alice", cwd=tmp_path / "db", code=1, **environ)
    assert "started the run" in refused.stderr
    approve(ticket, "bob")
    assert run("resume", "--run", told["run_id"])["status"] == "approval_pending", "one is not enough"
    approve(ticket, "carol")
    told = run("resume", "--run", told["run_id"])
    assert told["status"] == "approval_pending", "the promotion is a change of its own"
    (ticket,) = [pending["ticket_id"] for pending in told["pending"]]
    approve(ticket, "bob", "carol")
    told = run("resume", "--run", told["run_id"])
    assert (told["status"], told["outcome"]["code"]) == ("completed", "failed_over")
    statements = [call["argv"][-1] for call in psql.calls if call["environ"]["PGHOST"] == "db2"]
    assert sum("pg_promote" in statement for statement in statements) == 1
    trace = tmp_path / "db" / "runs" / told["run_id"] / "trace.jsonl"
    assert "hush-hush-hush" not in trace.read_text()
