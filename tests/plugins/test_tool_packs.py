"""What tool packs promise beyond their own tests, and that the kit that judges them notices a bad one."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from repository import ROOT, project_of

from gert_core import hookimpl
from gert_core.api import ToolPack
from gert_core.documents.load import load_tool
from gert_core.plugin.registry import Registry
from gert_core.testing.packs import HOSTILE, StandIn, ToolPackConformance, call, outputs
from gert_core.validation import validate_runbook
from gert_core.validation.rules import MACHINE

PACKS = sorted((ROOT / "tool_packs").iterdir())
packs = pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.name)


@packs
def test_the_readmes_runbook_is_valid_once_it_has_a_head(pack, tmp_path):
    (steps,) = re.findall(r"```yaml\n(.*?)```", (pack / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    head = "apiVersion: kernel/v0\nmeta: { name: readme, inputs: { hostname: { type: string } } }\n"
    (tmp_path / "readme.yaml").write_text(head + steps)
    found = validate_runbook(
        tmp_path / "readme.yaml", registry=Registry.build(), environ={"ANTHROPIC_API_KEY": "present"}
    )
    assert not [d.message for d in found.diagnostics if d.rule not in MACHINE]


@packs
def test_the_readme_lists_every_action_with_its_inputs_and_outputs(pack):
    text = (pack / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([^`]+` `[^`]+)` \|(.*)", text, re.MULTILINE))
    for file in sorted(pack.glob("src/*/tools/*.tool.yaml")):
        tool = load_tool(file).tool
        for name, action in tool.actions.items():
            row = rows.pop(f"{pack.name.removeprefix('gert-tools-')}/{tool.meta.name}` `{name}")
            assert action.description in row
            assert all(f"`{output}`" in row for output in action.extract or ())
    assert not rows, "rows for actions that do not exist"


@packs
def test_a_pack_brings_what_a_runbook_needs_to_use_it(pack):
    needed = {entry.partition(">")[0] for entry in project_of(pack)["project"]["dependencies"]}
    transports = {load_tool(file).tool.meta.transport for file in pack.glob("src/*/tools/*.tool.yaml")}
    assert needed == {"gert-core", "gert-step-tool", "gert-step-end", *(f"gert-transport-{t}" for t in transports)}


def test_the_bundle_offers_every_pack():
    bundle = project_of(ROOT / "plugins" / "gert")["project"]["optional-dependencies"]["tools"]
    assert [entry.partition(">")[0] for entry in bundle] == [pack.name for pack in PACKS]


# -- the kit ------------------------------------------------------------------------------------------------------

TOOL = """\
apiVersion: tool/v0
meta: {{ name: box, transport: stdio, binary: box }}
contract: {contract}
actions:
  open:
    description: Open it.
    argv: {argv}
"""
CONTRACT = "{ effects: [], writes: [], idempotent: true, inputs: { what: { type: string } } }"
SAFE = '[box, --kind={{ .what }}, --, "{{ .what }}"]'


def judge(tmp_path, *, argv=SAFE, contract=CONTRACT, **options):
    """The kit's class for a pack with one tool."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "box.tool.yaml").write_text(
        TOOL.format(argv=argv.replace("--kind={{ .what }}", '"--kind={{ .what }}"'), contract=contract)
    )
    pack = ToolPack(name="mine", directory=tmp_path / "tools")
    plugin = SimpleNamespace(gert_tool_packs=hookimpl(lambda: [pack]))
    return type("Judge", (ToolPackConformance,), {"plugin": plugin, "books": tmp_path, **options})()


def test_a_safe_tool_passes(tmp_path):
    kit = judge(tmp_path)
    kit.test_no_value_can_become_an_option()
    kit.test_every_action_says_what_it_does_and_touches()
    kit.test_every_tool_is_valid_without_a_warning()
    kit.test_a_tool_is_found_by_its_name_with_and_without_the_pack_and_by_path()


@pytest.mark.parametrize("argv", ['[box, "{{ .what }}"]', '[box, "{{ .what }}", --]', '[box, --kind, "{{ .what }}"]'])
def test_a_value_that_can_become_an_option_is_noticed(tmp_path, argv):
    with pytest.raises(AssertionError, match="may be read as an option"):
        judge(tmp_path, argv=argv).test_no_value_can_become_an_option()


def test_an_option_that_takes_any_value_can_be_declared(tmp_path):
    judge(tmp_path, argv='[box, --kind, "{{ .what }}"]', takes_value=("--kind",)).test_no_value_can_become_an_option()


@pytest.mark.parametrize(
    "contract", ["{ writes: [], idempotent: true }", "{ effects: [], idempotent: true }", "{ effects: [], writes: [] }"]
)
def test_an_open_contract_is_noticed(tmp_path, contract):
    with pytest.raises(AssertionError):
        judge(tmp_path, argv="[box]", contract=contract).test_every_action_says_what_it_does_and_touches()


def test_an_action_without_a_scenario_is_noticed(tmp_path):
    with pytest.raises(AssertionError, match="mine/box:open"):
        judge(tmp_path).test_every_action_has_a_scenario()


def test_a_call_gives_values_as_they_are(gert_run, tmp_path):
    box = StandIn.make(tmp_path / "bin", "box", stdout="done", exit_code=3)
    (tmp_path / "tools").mkdir()
    contract = "{ effects: [], writes: [], inputs: { what: { type: string } }, outputs: { stdout: { type: string } } }"
    (tmp_path / "tools" / "box.tool.yaml").write_text(TOOL.format(argv='[box, --, "{{ .what }}"]', contract=contract))
    gert_run.environ = {"PATH": str(tmp_path / "bin")}
    ran = call(gert_run, "box", "open", {"what": f'{HOSTILE} {{{{ .x }}}} "'})
    ran.assert_failed("exit_code")
    assert outputs(ran) == {"stdout": "done"}
    assert box.calls[0]["argv"] == ["--", f'{HOSTILE} {{{{ .x }}}} "']
