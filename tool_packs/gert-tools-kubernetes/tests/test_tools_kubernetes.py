"""kubectl against a small API on the loopback where kubectl is installed, and the words it gets everywhere."""

from __future__ import annotations

import json
import os
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import gert_tools_kubernetes
import pytest

from gert_core.testing.packs import StandIn, ToolPackConformance, call, outputs


class TestPack(ToolPackConformance):
    plugin = gert_tools_kubernetes
    books = Path(__file__).parent / "books"


# -- a cluster ------------------------------------------------------------------------------------------------

META = {"name": "web-1", "namespace": "shop", "labels": {"app": "web"}, "uid": "u1", "resourceVersion": "1"}
STATE = {"restartCount": 5, "ready": False, "name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": META,
    "spec": {"nodeName": "node-a", "containers": [{"name": "main", "image": "web:1"}]},
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.7",
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [STATE],
    },
}
YOUNG = {**POD, "metadata": {**META, "name": "web-2"}, "spec": {"containers": []}, "status": {"phase": "Pending"}}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {**META, "name": "web", "generation": 1},
    "spec": {"replicas": 1, "selector": {}, "template": {"metadata": {}, "spec": {"containers": []}}},
    "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1},
}


def resource(name, singular, kind):
    verbs = ["get", "list", "watch", "create", "patch", "delete"]
    return {"name": name, "singularName": singular, "kind": kind, "namespaced": True, "verbs": verbs}


APPS = {"groupVersion": "apps/v1", "version": "v1"}
GVK = {"group": "", "version": "v1", "kind": "ConfigMap"}
DISCOVERY = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [{"name": "apps", "versions": [APPS], "preferredVersion": APPS}],
    },
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [resource("pods", "pod", "Pod"), resource("configmaps", "configmap", "ConfigMap")],
    },
    "/apis/apps/v1": {
        "kind": "APIResourceList",
        "groupVersion": "apps/v1",
        "resources": [resource("deployments", "deployment", "Deployment")],
    },
    "/openapi/v3": {"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=1"}}},
    "/openapi/v3/api/v1": {
        "openapi": "3.0.0",
        "info": {"title": "stand-in", "version": "1"},
        "paths": {
            "/api/v1/namespaces/{namespace}/configmaps/{name}": {
                "patch": {
                    "parameters": [{"name": "fieldValidation", "in": "query"}],
                    "responses": {},
                    "x-kubernetes-group-version-kind": GVK,
                }
            }
        },
    },
}


class Cluster(ThreadingHTTPServer):
    """Objects by path, and the changes that were asked for."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        pods, maps = "/api/v1/namespaces/shop/pods", "/api/v1/namespaces/shop/configmaps"
        deployments = "/apis/apps/v1/namespaces/shop/deployments"
        self.objects = {f"{pods}/web-1": POD, f"{pods}/web-2": YOUNG, f"{deployments}/web": DEPLOYMENT}
        self.kinds = {
            pods: ("v1", "PodList"),
            maps: ("v1", "ConfigMapList"),
            deployments: ("apps/v1", "DeploymentList"),
        }
        self.changes = []
        self.lock = threading.Lock()

    def answer(self, method, target, body):
        """Status and object."""
        url = urlsplit(target)
        path, query = url.path, url.query
        if path in DISCOVERY:
            return 200, DISCOVERY[path]
        if path.endswith("/log"):
            return 200, f"lines with {query}\n"
        if path.endswith("/events"):
            return 200, {"kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": []}
        with self.lock:
            if method != "GET":
                self.changes.append((method, path, json.loads(body) if body else None))
            if method == "POST":
                return 201, json.loads(body)
            if path in self.kinds:
                version, kind = self.kinds[path]
                found = [o for p, o in self.objects.items() if p.startswith(f"{path}/") and wanted(o, query)]
                return 200, {"kind": kind, "apiVersion": version, "metadata": {"resourceVersion": "2"}, "items": found}
            found = self.objects.pop(path, None) if method == "DELETE" else self.objects.get(path)
        if found is None:
            status = {"kind": "StepStatus", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
            return 404, {**status, "reason": "NotFound", "code": 404, "message": "not found"}
        return 200, found


def wanted(found, query):
    return "labelSelector=app%3Dother" not in query


class Handler(BaseHTTPRequestHandler):
    def _serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, found = self.server.answer(self.command, self.path, body)
        data = found.encode() if isinstance(found, str) else json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if isinstance(found, str) else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _serve  # noqa: N815 - names the base class looks for

    def log_message(self, *_):
        """Keep quiet."""


@pytest.fixture
def cluster(gert_run, tmp_path):
    made = Cluster()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "me", "namespace": "shop"}}],
        "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{made.server_port}"}}],
        "users": [{"name": "me", "user": {}}],
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    home = {"HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "kubeconfig"), "NO_PROXY": "127.0.0.1"}
    gert_run.environ = {"PATH": os.environ["PATH"], **home}
    made.kubectl = lambda action, **inputs: call(gert_run, "kubernetes/kubectl", action, inputs)
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


if shutil.which("kubectl"):

    def test_the_state_of_a_pod(cluster):
        assert outputs(cluster.kubectl("pod", name="web-1")) == {
            "phase": "Running",
            "ready": "False",
            "restarts": 5,
            "waiting": "CrashLoopBackOff",
            "node": "node-a",
            "ip": "10.0.0.7",
        }
        young = outputs(cluster.kubectl("pod", name="web-2", namespace="shop", context="test"))
        assert (young["phase"], young["ready"], young["restarts"], young["node"]) == ("Pending", "", 0, "")

    def test_looking_at_objects(cluster):
        got = outputs(cluster.kubectl("get", kind="deployment", name="web"))
        assert got["object"]["spec"]["replicas"] == 1
        assert len(outputs(cluster.kubectl("list", kind="pods"))["items"]) == 2
        assert outputs(cluster.kubectl("list", kind="pods", selector="app=other"))["items"] == []
        assert "node-a" in outputs(cluster.kubectl("describe", kind="pod", name="web-1"))["description"]
        log = outputs(cluster.kubectl("logs", name="web-1", lines=7, previous=True))["log"]
        assert "tailLines=7" in log
        assert "previous=true" in log
        assert cluster.changes == []

    def test_what_is_not_there(cluster):
        cluster.kubectl("pod", name="web-9").assert_failed("exit_code")
        cluster.kubectl("get", kind="--all-namespaces", name="x").assert_failed("exit_code")

    def test_deleting_a_pod(cluster):
        ran = cluster.kubectl("delete", name="web-1", wait="20s")
        ran.assert_outcome("resolved")
        assert "deleted" in outputs(ran)["message"]
        assert [change[:2] for change in cluster.changes] == [("DELETE", "/api/v1/namespaces/shop/pods/web-1")]

    def test_applying_a_manifest(cluster):
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
        ran = cluster.kubectl("apply", manifest=manifest)
        ran.assert_outcome("resolved")
        method, path, sent = cluster.changes[0]
        assert (method, path, sent["data"]) == ("POST", "/api/v1/namespaces/shop/configmaps", {"a": "b"})

    def test_rolling_out(cluster):
        ran = cluster.kubectl("rollout_restart", name="web")
        ran.assert_outcome("resolved")
        assert cluster.changes[0][0] == "PATCH"
        assert "restartedAt" in json.dumps(cluster.changes[0][2])
        done = cluster.kubectl("rollout_status", name="web", wait="20s")
        assert "successfully rolled out" in outputs(done)["message"]


# -- the words ------------------------------------------------------------------------------------------------

WHERE = ["--context=", "--namespace=-n"]


@pytest.mark.parametrize(
    ("action", "inputs", "words"),
    [
        (
            "get",
            {"kind": "-o", "name": "-w"},
            ["get", *WHERE, "--request-timeout=30s", "--output=json", "--", "-o", "-w"],
        ),
        (
            "list",
            {"kind": "pods", "selector": "a=b"},
            ["get", *WHERE, "--selector=a=b", "--request-timeout=30s", "--output=json", "--", "pods"],
        ),
        ("describe", {"kind": "pod", "name": "-x"}, ["describe", *WHERE, "--request-timeout=30s", "--", "pod", "-x"]),
        (
            "logs",
            {"name": "-f"},
            [
                "logs",
                *WHERE,
                "--container=",
                "--tail=100",
                "--previous=false",
                "--request-timeout=30s",
                "--",
                "-f",
            ],
        ),
        ("delete", {"name": "--all"}, ["delete", *WHERE, "--wait=true", "--timeout=60s", "--", "pod", "--all"]),
        ("apply", {"manifest": "kind: Pod"}, ["apply", *WHERE, "--filename=-"]),
        ("rollout_restart", {"name": "-x"}, ["rollout", "restart", *WHERE, "--", "deployment", "-x"]),
        ("rollout_status", {"name": "x"}, ["rollout", "status", *WHERE, "--timeout=2m", "--", "deployment", "x"]),
    ],
)
def test_the_words_kubectl_gets(gert_run, tmp_path, action, inputs, words):
    stand_in = StandIn.make(tmp_path / "bin", "kubectl", stdout='{"items": []}')
    gert_run.environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    call(gert_run, "kubernetes/kubectl", action, {"namespace": "-n", **inputs}).assert_outcome("resolved")
    assert stand_in.calls[0]["argv"] == words
    assert stand_in.calls[0]["stdin"] == inputs.get("manifest", "")


def test_a_deletion_is_critical_and_an_application_is_not(gert_run, tmp_path):
    StandIn.make(tmp_path / "bin", "kubectl")
    gert_run.environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    risks = []
    for action, inputs in {"delete": {"name": "x"}, "apply": {"manifest": "x"}, "logs": {"name": "x"}}.items():
        ran = call(gert_run, "kubernetes/kubectl", action, inputs)
        risks.append(ran.of("governance_decision", "call")[0]["risk_level"])
    assert risks == ["critical", "medium", "low"]
