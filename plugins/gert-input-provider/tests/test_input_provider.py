"""Inputs from provider programs; the provider of most tests is a script of about twenty lines."""

from __future__ import annotations

import json
import os
import sys
import threading
import time

import gert_input_provider
import gert_input_provider.client as client
import pytest

from gert_core.api import InputError, Services
from gert_core.documents.project import Project, ProjectModel
from gert_core.documents.runbook import InputModel
from gert_core.engine.cancel import Deadline, Stop
from gert_core.inputs import resolve_inputs

PROVIDER = """\
import json, os, sys

FACTS = {"server.hostname": "srv1.example.com", "server.port": 443, "server.owner": None}

for line in sys.stdin:
    request = json.loads(line)
    with open("asked.jsonl", "a") as log:
        log.write(json.dumps({"request": request, "environ": dict(os.environ)}) + "\\n")
    result = {}
    for binding in request["params"]["bindings"]:
        if binding["path"] in FACTS:
            result[binding["input"]] = FACTS[binding["path"]]
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Writes an executable provider script and gives its path relative to the project."""
    monkeypatch.chdir(tmp_path)

    def write(body, name="provider.py"):
        path = tmp_path / name
        path.write_text(f"#!{sys.executable}\n{body}")
        path.chmod(0o755)
        return f"./{name}"

    return write


def resolve(root, binary, declared, *, stop=None, config=None, transport="jsonrpc", environ=None, name="cmdb"):
    settings = {"binary": binary, "transport": transport, "config": config or {}}
    project = Project(root=root, model=ProjectModel.model_validate({"providers": {name: settings}})).info({})
    models = {key: InputModel.model_validate(raw) for key, raw in declared.items()}
    resolvers = {record.name: record for record in gert_input_provider.gert_input_resolvers()}
    return resolve_inputs(
        models,
        host_vars={},
        resolvers=resolvers,
        services=lambda _: Services(console=None, project=project, environ=environ or dict(os.environ)),
        deadline=Deadline(stop or Stop()),
    )


HOST = {"host": {"from": "provider/cmdb.server.hostname"}}


def test_both_spellings_are_answered_in_one_request(program, tmp_path):
    done = resolve(
        tmp_path,
        program(PROVIDER),
        HOST | {"port": {"type": "int", "from": "cmdb.server.port"}},
        config={"endpoint": "e"},
    )
    assert done.values == {"host": "srv1.example.com", "port": 443}
    assert done.sources == {"host": "provider/cmdb", "port": "provider/cmdb"}
    (asked,) = (tmp_path / "asked.jsonl").read_text().splitlines()
    assert json.loads(asked)["request"] == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "resolve",
        "params": {
            "bindings": [
                {"input": "host", "path": "server.hostname"},
                {"input": "port", "path": "server.port"},
            ],
            "config": {"endpoint": "e"},
        },
    }


def test_without_config_the_message_is_exactly_the_documented_one(program, tmp_path):
    resolve(tmp_path, program(PROVIDER), HOST)
    request = json.loads((tmp_path / "asked.jsonl").read_text())["request"]
    assert request["params"] == {"bindings": [{"input": "host", "path": "server.hostname"}]}


def test_the_provider_sees_the_environment_without_the_keys_of_gert(program, tmp_path):
    environ = {**os.environ, "GERT_TRACE_SIGNING_KEY": "x", "GERT_APPROVAL_VERIFY_KEY_A": "y", "CMDB": "z"}
    resolve(tmp_path, program(PROVIDER), HOST, environ=environ)
    seen = json.loads((tmp_path / "asked.jsonl").read_text())["environ"]
    assert seen["CMDB"] == "z"
    assert not [name for name in seen if name.startswith("GERT_") and "_KEY" in name]


def test_null_leaves_the_default(program, tmp_path):
    done = resolve(tmp_path, program(PROVIDER), {"owner": {"from": "cmdb.server.owner", "default": "ops"}})
    assert done.sources == {"owner": "default"}


def test_a_missing_key_is_an_error_unless_there_is_a_default(program, tmp_path):
    declared = {"x": {"from": "cmdb.nothing.here"}}
    with pytest.raises(InputError, match=r"provider 'cmdb' .*has no value for 'x' \(nothing\.here\)"):
        resolve(tmp_path, program(PROVIDER), declared)
    declared["x"]["default"] = "d"
    assert resolve(tmp_path, program(PROVIDER), declared).values == {"x": "d"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import sys; sys.stderr.write('no route to cmdb'); sys.exit(3)", r"crashed.*no route to cmdb"),
        ("input(); print('oops', flush=True); input()", r"protocol"),
        ("input(); print('[]', flush=True); input()", r"protocol"),
        (
            """input(); print('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"denied"}}', flush=True)""",
            r"error -32000: denied",
        ),
        (
            """input(); print('{"jsonrpc":"2.0","id":1,"result":["a"]}', flush=True)""",
            r"something other than a map",
        ),
        ("input()", r"crashed"),
    ],
    ids=["crash", "no JSON", "no answer object", "error answer", "list", "silent end"],
)
def test_whatever_goes_wrong_names_the_provider(program, tmp_path, body, words):
    with pytest.raises(InputError, match=words) as caught:
        resolve(tmp_path, program(body), HOST | {"d": {"from": "cmdb.x", "default": 1}})
    assert "the provider 'cmdb' (inputs: host, d)" in caught.value.message
    assert caught.value.kind == "input_provider"
    assert "cmdb" in str(caught.value.hint)
    assert caught.value.exit_code == 2


def test_a_provider_that_never_answers_is_ended(program, tmp_path, monkeypatch):
    monkeypatch.setattr(client, "TIMEOUT", 0.5)
    body = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)"
    with pytest.raises(InputError, match=r"'cmdb'.*timeout"):
        resolve(tmp_path, program(body), HOST)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_cancel_ends_the_waiting(program, tmp_path):
    stop = Stop()
    threading.Timer(0.3, stop.throw, ["test"]).start()
    started = time.monotonic()
    with pytest.raises(InputError, match="cancelled"):
        resolve(tmp_path, program("import time; time.sleep(60)"), HOST, stop=stop)
    assert time.monotonic() - started < 10


def test_a_program_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"'cmdb'.*cannot be started"):
        resolve(tmp_path, "gert-no-such-provider", HOST)


def test_another_transport_is_refused(tmp_path):
    with pytest.raises(InputError, match="'carrier-pigeon'"):
        resolve(tmp_path, "x", HOST, transport="carrier-pigeon")


def test_a_bare_name_is_found_on_the_path(program, tmp_path):
    program(PROVIDER, "gert-cmdb")
    environ = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    assert resolve(tmp_path, "gert-cmdb", HOST, environ=environ).values == {"host": "srv1.example.com"}


def test_a_provider_the_project_does_not_configure_is_not_asked(tmp_path):
    with pytest.raises(InputError, match="or configured provider serves"):
        resolve(tmp_path, "x", {"a": {"from": "provider/other.x", "required": True}})
