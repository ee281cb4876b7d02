"""Tools a runbook lists: where they are found, loaded once, judged with their own positions."""

from __future__ import annotations

import textwrap

import pytest

from gert_core.api import Severity, ToolPack
from gert_core.documents.load import load_runbook, load_tool
from gert_core.documents.lookup import find_tool
from gert_core.documents.project import find_project

TOOL = """
apiVersion: tool/v0
meta: {name: %s, transport: any}
contract: {effects: [network], outputs: {out: {type: string}}}
actions: {go: {argv: [echo, hi]}}
"""


def write(root, files):
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(content), encoding="utf-8")


def runbook(*tools):
    return f"apiVersion: kernel/v0\nmeta: {{name: r}}\ntools: [{', '.join(tools)}]\nsteps: []\n"


def test_places_are_searched_in_order(tmp_path):
    write(
        tmp_path,
        {
            "gert-project.yaml": "tools_dir: shared",
            "shared/both.tool.yaml": TOOL % "both",
            "shared/proj.tool.yaml": TOOL % "proj",
            "books/tools/both.tool.yaml": TOOL % "both",
            "books/other/mine.tool.yaml": TOOL % "mine",
            "packs/net/curl.tool.yaml": TOOL % "curl",
            "packs/net/ping.tool.yaml": TOOL % "ping",
            "packs/k8s/curl.tool.yaml": TOOL % "curl",
        },
    )
    project = find_project(tmp_path / "books")
    packs = {name: ToolPack(name=name, directory=tmp_path / "packs" / name) for name in ("net", "k8s")}

    def find(name):
        return find_tool(name, base=tmp_path / "books", project=project, packs=packs)

    assert find("both").path == tmp_path / "books/tools/both.tool.yaml"
    assert find("proj").path == tmp_path / "shared/proj.tool.yaml"
    assert find("./other/mine.tool.yaml").path == tmp_path / "books/other/mine.tool.yaml"
    assert find("../shared/proj.tool.yaml").path.resolve() == tmp_path / "shared/proj.tool.yaml"
    assert find("net/curl").path == tmp_path / "packs/net/curl.tool.yaml"
    assert find("ping").path == tmp_path / "packs/net/ping.tool.yaml"
    ambiguous = find("curl")
    assert ambiguous.path is None
    assert "k8s/curl, net/curl" in ambiguous.reason


@pytest.mark.parametrize("name", ["..", "../secret", "net/../../secret", "a/../../secret", "net\\..\\..\\secret"])
def test_names_do_not_lead_out_of_their_directory(tmp_path, name):
    write(tmp_path, {"secret.tool.yaml": TOOL % "secret", "books/tools/x.tool.yaml": TOOL % "x", "p/net/y": ""})
    packs = {"net": ToolPack(name="net", directory=tmp_path / "p" / "net")}
    found = find_tool(name, base=tmp_path / "books", project=None, packs=packs)
    assert found.path is None


def test_missing_tool_lists_the_places(tmp_path, sample_registry):
    write(tmp_path, {"gert-project.yaml": "", "books/runbook.yaml": runbook("nope")})
    project = find_project(tmp_path)
    loaded = load_runbook(tmp_path / "books" / "runbook.yaml", registry=sample_registry, project=project)
    (found,) = loaded.diagnostics
    assert (found.rule, found.line, found.column, found.path) == ("tool-not-found", 3, 9, "tools[0]")
    assert found.message.count("nope.tool.yaml") == 2
    assert loaded.runbook is not None


def test_broken_tool_is_judged_in_its_own_file_and_at_the_listing(tmp_path, sample_registry):
    write(
        tmp_path,
        {
            "runbook.yaml": runbook("bad", "./tools/bad.tool.yaml"),
            "tools/bad.tool.yaml": "apiVersion: tool/v0\nmeta: {name: bad}\nactions: {}\nwrong: 1\n",
        },
    )
    loaded = load_runbook(tmp_path / "runbook.yaml", registry=sample_registry)
    facts = [(d.rule, d.file.rpartition("/")[2], d.line, d.path) for d in loaded.diagnostics]
    assert facts == [
        ("wrong-type", "bad.tool.yaml", 3, "actions"),
        ("unknown-field", "bad.tool.yaml", 4, "wrong"),
        ("tool-invalid", "runbook.yaml", 3, "tools[0]"),
        ("tool-invalid", "runbook.yaml", 3, "tools[1]"),
    ]
    assert loaded.runbook.tools == {}


def test_a_tool_is_loaded_once_and_a_path_gives_its_own_name(tmp_path, sample_registry):
    write(
        tmp_path,
        {"runbook.yaml": runbook("./x/web.tool.yaml"), "x/web.tool.yaml": TOOL % "web"},
    )
    tools = load_runbook(tmp_path / "runbook.yaml", registry=sample_registry).runbook.tools
    assert list(tools) == ["./x/web.tool.yaml", "web"]
    assert tools["web"] is tools["./x/web.tool.yaml"]
    assert tools["web"].contracts["go"].effects == ("network",)
    assert tools["web"].digest.startswith("sha256:")


def test_wrong_version_of_a_listed_file(tmp_path, sample_registry):
    write(tmp_path, {"runbook.yaml": runbook("t"), "tools/t.tool.yaml": runbook("t")})
    loaded = load_runbook(tmp_path / "runbook.yaml", registry=sample_registry)
    assert {"api-version", "tool-invalid"} <= {d.rule for d in loaded.diagnostics}


def test_full_tool(tmp_path):
    write(
        tmp_path,
        {
            "t.tool.yaml": """
            apiVersion: tool/v0
            meta:
              name: t
              transport: jsonrpc
              binary: prog
              connect: http://localhost:1
              platform: [linux]
              timeout: 5s
              config: {pool: {size: 4}}
              secrets: [{env: A}]
            secrets: [{env: B, required: false}]
            contract: {side_effects: false}
            actions:
              go:
                description: d
                argv: [prog, 5, 1.5, true, "{{ .x }}"]
                method: m
                mcp_tool: mt
                config: {path: "/x/{{ .x }}"}
                stdin: "{{ .x }}"
                env: {K: 1}
                extract: {out: {from: json, path: a.0.b}, code: {from: exit_code}}
                timeout: 500ms
                contract: {side_effects: true, effects: []}
            """
        },
    )
    loaded = load_tool(tmp_path / "t.tool.yaml")
    assert [(d.rule, d.severity, d.path) for d in loaded.diagnostics] == [
        ("side-effects-deprecated", Severity.WARNING, "contract.side_effects"),
        ("side-effects-and-effects", Severity.ERROR, "actions.go.contract.side_effects"),
    ]
    assert loaded.tool is None


@pytest.mark.parametrize(
    ("action", "rule", "path"),
    [
        ("{argv: go}", "wrong-type", "actions.go.argv"),
        ("{config: [a]}", "wrong-type", "actions.go.config"),
        ("{mcp_tool: a, config: {mcp_tool: b}}", "duplicate-key", "actions.go"),
        ("{argv: [[a]]}", "wrong-type", "actions.go.argv[0]"),
        ("{extract: {a: {from: web}}}", "wrong-type", "actions.go.extract.a.from"),
        ("{extract: {a: {pattern: '('}}}", "wrong-type", "actions.go.extract.a.pattern"),
        ("{extract: {a: {pattern: 'a{9999}'}}}", "wrong-type", "actions.go.extract.a.pattern"),
        ("{extract: {a: {pattern: 'a(?=b)'}}}", "pattern-unsupported", "actions.go.extract.a.pattern"),
        ("{timeout: never}", "duration-syntax", "actions.go.timeout"),
        ("{shell: ls}", "unknown-field", "actions.go.shell"),
        ("{contract: {inputs: {a: {type: text}}}}", "wrong-type", "actions.go.contract.inputs.a.type"),
        ("{contract: {inputs: {1a: {}}}}", "wrong-type", "actions.go.contract.inputs.1a"),
    ],
)
def test_wrong_action(tmp_path, action, rule, path):
    write(tmp_path, {"t.yaml": f"apiVersion: tool/v0\nmeta: {{name: t}}\nactions: {{go: {action}}}\n"})
    (found,) = load_tool(tmp_path / "t.yaml").diagnostics
    assert (found.rule, found.path, found.line) == (rule, path, 3)


def test_an_unsupported_pattern_has_a_hint_how_to_write_it(tmp_path):
    text = "apiVersion: tool/v0\nmeta: {name: t}\nactions: {go: {extract: {a: {pattern: 'a(?=b)'}}}}\n"
    write(tmp_path, {"t.yaml": text})
    (found,) = load_tool(tmp_path / "t.yaml").diagnostics
    assert found.message == "the pattern has look-around (`(?=` at character 2), which is not supported"
    assert "take the part you need as a group" in found.hint


def test_a_pack_that_is_not_installed_is_named_with_its_distribution(tmp_path):
    write(tmp_path, {"packs/net/curl.tool.yaml": TOOL % "curl"})
    packs = {"net": ToolPack(name="net", directory=tmp_path / "packs" / "net")}

    def hint(name):
        return find_tool(name, base=tmp_path, project=None, packs=packs).hint

    assert "gert-tools-json" in hint("json/jq")
    assert hint("net/curl") is None
    assert hint("net/nothing") is None
    assert hint("nothing") is None
    assert hint("./json/jq") is None
