"""Policies only tighten: an invalid one, an unreadable project and a step's own words never make a run laxer."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from gertproc import Gert
from users import NOBODY, gert_as

from gert_core.documents import yaml

TOOL = """\
apiVersion: tool/v0
meta: {name: touch, transport: stdio, binary: touch}
contract: CONTRACT
actions: {run: {argv: [touch, done]}}
"""
BOOK = """\
apiVersion: kernel/v0
meta: {name: book}
tools: [touch]
steps:
  - {id: act, type: tool, tool: touch STEP}
  - {id: stop, type: end, outcome: {category: resolved, code: done}}
"""
PLUGIN = """\
from pathlib import Path
from gert_core import hookimpl
from gert_core.api import PolicyPack

@hookimpl
def gert_policies():
    return [PolicyPack(name="extra", GIVEN)]
"""


def loaded(file: Path) -> object:
    return yaml.load(file).value


def policy(rules: str) -> str:
    return f"apiVersion: policy/v0\nmeta: {{name: floor}}\nrules: [{rules}]\n"


def project(path, *, contract: str = "{effects: [host], writes: [disk]}", step: str = "") -> Gert:
    gert = Gert(path)
    gert.write(tool_touch=TOOL.replace("CONTRACT", contract), book=BOOK.replace(" STEP", step))
    return gert


def install(gert: Gert, distribution: str, source: str, *, entry: str = "") -> None:
    """Put a plugin on the path as pip would."""
    module = distribution.replace("-", "_")
    place = gert.root / "site"
    info = place / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (place / f"{module}.py").write_text(source)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    name = entry or distribution.removeprefix("gert-")
    (info / "entry_points.txt").write_text(f"[gert.v0]\n{name} = {module}\n")
    gert.environ["PYTHONPATH"] = str(place)


REFUSED = {
    "default first": ("{default: allow}, {writes: [disk], action: deny}", "governance-default"),
    "default with a condition": ("{default: allow, writes: [disk]}", "governance-default"),
    "tag in upper case": ("{writes: [Disk], action: deny}, {default: allow}", "tag-syntax"),
    "tag with a look-alike": ("{writes: ['d\u0456sk'], action: deny}, {default: allow}", "tag-syntax"),
    "action beside violations": ("{writes: [disk], action: deny, contract_violations: deny}", "governance-action"),
    "default beside violations": ("{default: deny, contract_violations: deny}", "governance-action"),
    "serialize beside violations": ("{serialize: true, contract_violations: allow}", "governance-action"),
    "tag with a space": ("{contract: {writes: 'disk '}, action: deny}, {default: allow}", "tag-syntax"),
}


@pytest.mark.parametrize("source", ["project", "option", "pack file", "pack data"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_policy_that_validate_refuses_stops_every_run(tmp_path, name, source):
    rules, rule = REFUSED[name]
    gert = project(tmp_path)
    file = tmp_path / "floor.yaml"
    file.write_text(policy(rules))
    checked = gert("validate", "floor.yaml", "--json")
    assert checked.code == 1
    assert rule in checked.out
    argv = ["exec", "book.yaml"]
    if source == "project":
        (tmp_path / "gert-project.yaml").write_text("policies: [floor.yaml]\n")
    elif source == "option":
        argv += ["--policy", "floor.yaml"]
    else:
        given = "file=Path('floor.yaml').resolve()" if source == "pack file" else f"document={loaded(file)!r}"
        install(gert, "gert-policy-extra", PLUGIN.replace("GIVEN", given))
    for mode in ("real", "dry-run"):
        said = gert(*argv, "--mode", mode)
        assert said.code == 2, said.all
        assert "invalid" in said.err
        assert "Traceback" not in said.err
    assert not (tmp_path / "done").exists()
    assert not gert.runs()


NO_EFFECT = {
    "{action: allow}, {writes: [disk], action: deny}": "the rule matches every step",
    "{contract: {}, action: allow}, {writes: [disk], action: deny}": "the rule matches every step",
    "{risk: [critical, low, high, medium], action: allow}, {writes: [disk], action: deny}": "the rule matches every step",
    "{writes: [disk], action: deny, approvers: [alice]}": "`approvers` has no effect in a rule whose action is `deny`",
    "{writes: [disk], serialize: true, min_approvers: 2}": "`min_approvers` has no effect in a rule without an action",
    "{contract_violations: deny, exclude_actor: true}": "`exclude_actor` has no effect in a rule without an action",
}


@pytest.mark.parametrize("rules", NO_EFFECT)
def test_what_has_no_effect_in_rules_is_named(tmp_path, rules):
    gert = project(tmp_path)
    (tmp_path / "floor.yaml").write_text(policy(rules))
    said = gert("validate", "floor.yaml")
    assert (said.code, NO_EFFECT[rules] in said.out) == (0, True), said.all


@pytest.mark.parametrize(
    ("declared", "hint"),
    [
        ("people: {alice: {keys: []}}", "remove it, or write at least one item"),
        ("bridges: {web: {keys: []}}", "write at least one item: public keys, like `ed25519:BASE64`"),
    ],
)
def test_an_empty_list_of_keys_stops_the_run(tmp_path, declared, hint):
    """A person would be believed without a signature, and a bridge never."""
    gert = project(tmp_path)
    text = f"apiVersion: policy/v0\nmeta: {{name: floor}}\nrules: []\n{declared}\n"
    (tmp_path / "floor.yaml").write_text(text)
    for argv in (("validate", "floor.yaml"), ("exec", "book.yaml", "--policy", "floor.yaml")):
        said = gert(*argv)
        assert (said.code, "`keys` must not be empty" in said.all) == (1 if argv[0] == "validate" else 2, True)
        assert hint in said.all
    assert gert.runs() == []


@pytest.mark.parametrize(
    "rules",
    [
        "{risk: [low, medium, high], action: allow}, {writes: [disk], action: deny}",
        "{risk: [low, medium, high, critical], reads: [dns], action: allow}, {writes: [disk], action: deny}",
        "{outcome: [resolved, escalated, no_action, needs_rca], action: allow}, {writes: [disk], action: deny}",
    ],
)
def test_a_rule_that_is_not_for_every_step_hides_none(tmp_path, rules):
    gert = project(tmp_path)
    (tmp_path / "floor.yaml").write_text(policy(rules))
    assert gert("validate", "floor.yaml", "--strict").code == 0


def test_rules_for_every_step_may_stand_in_front_of_those_about_violations(tmp_path):
    gert = project(tmp_path)
    (tmp_path / "floor.yaml").write_text(policy("{action: allow}, {contract_violations: deny}"))
    said = gert("validate", "floor.yaml", "--strict")
    assert said.code == 0, said.all


def test_a_tag_in_another_spelling_is_refused_in_contracts_too(tmp_path):
    """A tool cannot step around a rule about `disk` by writing `Disk`."""
    gert = project(tmp_path, contract="{effects: [host], writes: [Disk]}")
    gert.write(floor=policy("{writes: [disk], action: deny}"))
    said = gert("exec", "book.yaml", "--policy", "floor.yaml")
    assert said.code == 1, said.all
    assert "tag-syntax" in gert("validate", "tools/touch.tool.yaml", "--json").out
    assert not (tmp_path / "done").exists()


COMMANDS = [
    ("exec", "book.yaml"),
    ("exec", "book.yaml", "--mode", "dry-run"),
    ("validate", "book.yaml"),
    ("policy", "explain", "book.yaml"),
    ("test", "book.yaml"),
    ("runs", "list"),
    ("approvals", "list"),
    ("resume", "--run", "none"),
    ("plugins", "list"),
    ("schema", "runbook"),
    ("nonsense",),
]


def dangling(place):
    (place / "gert-project.yaml").symlink_to("nowhere.yaml")


def looping(place):
    (place / "gert-project.yaml").symlink_to("gert-project.yaml")


def directory(place):
    (place / "gert-project.yaml").mkdir()


def pipe(place):
    os.mkfifo(place / "gert-project.yaml")


def linked_pipe(place):
    os.mkfifo(place / "pipe")
    (place / "gert-project.yaml").symlink_to("pipe")


@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("kind", [dangling, looping, directory, pipe, linked_pipe])
def test_a_project_file_that_is_no_readable_file_stops_every_command(tmp_path, kind, above):
    place = tmp_path / "inner"
    place.mkdir()
    kind(tmp_path if above else place)
    gert = project(place)
    scenario = place / "scenarios/book/one"
    scenario.mkdir(parents=True)
    (scenario / "test.yaml").touch()
    for argv in COMMANDS:
        said = gert(*argv)
        assert said.code == 2, (argv, said.all)
        assert "gert-project.yaml" in said.err
        assert "Traceback" not in said.err
    assert not (place / "done").exists()
    assert not gert.runs()


@pytest.mark.skipif(os.getuid() != 0, reason="needs a file that only somebody else may read")
def test_a_project_file_of_somebody_else_stops_every_command():
    with TemporaryDirectory() as place:  # pytest closes its own directories to others
        root = Path(place)
        root.chmod(0o755)
        project(root)
        (root / "gert-project.yaml").write_text("policies: []\n")
        (root / "gert-project.yaml").chmod(0o600)
        for argv in (("validate", "book.yaml"), ("plugins", "list"), ("exec", "book.yaml")):
            done = gert_as(NOBODY, *argv, cwd=root)
            assert done.returncode == 2, done.stderr
            assert "gert-project.yaml cannot be read by this user" in done.stderr


UNKNOWN = "{effects: [unknown], action: deny}, {default: allow}"
LATER = "{writes: [scratch], action: allow}, {writes: [disk], action: ACTION}"
LEVELS = {
    "effect beside none": ("{}", "{effects: [log]}", UNKNOWN),
    "effect beside undeclared ones": ("{reads: [disk]}", "{effects: [log]}", UNKNOWN),
    "effect beside writes": ("{writes: [disk]}", "{effects: [log], writes: [disk]}", UNKNOWN),
    "effect and writes": ("{}", "{effects: [log], writes: [scratch]}", UNKNOWN),
    "tag of an earlier allow": (
        "{effects: [host], writes: [disk]}",
        "{writes: [disk, scratch]}",
        LATER.replace("ACTION", "deny"),
    ),
    "flag of an earlier allow": (
        "{effects: [host], writes: [disk], deterministic: true}",
        "{deterministic: false}",
        "{deterministic: false, action: allow}, {writes: [disk], action: deny}",
    ),
}


@pytest.mark.parametrize("name", LEVELS)
def test_nothing_a_step_declares_leads_to_a_milder_decision(tmp_path, name):
    contract, own, rules = LEVELS[name]
    gert = project(tmp_path, contract=contract)
    gert.write(floor=policy(rules))
    alone = gert("exec", "book.yaml", "--policy", "floor.yaml")
    assert alone.code == 1
    assert "governance_denied" in alone.all
    gert.write(book=BOOK.replace(" STEP", f", contract: {own}"))
    said = gert("exec", "book.yaml", "--policy", "floor.yaml")
    assert said.code == 1, said.all
    assert "governance_denied" in said.all
    assert not (tmp_path / "done").exists()
    explained = gert("policy", "explain", "book.yaml", "--policy", "floor.yaml", "--json").document
    assert explained["steps"][0]["decision"] == "deny"


def test_a_step_that_adds_a_tag_keeps_the_approval_of_its_tool(tmp_path):
    gert = project(tmp_path, contract="{effects: [host], writes: [disk]}")
    rules = LATER.replace("ACTION", "require-approval, min_approvers: 2, exclude_actor: true")
    gert.write(floor=policy(rules), book=BOOK.replace(" STEP", ", contract: {writes: [disk, scratch]}"))
    said = gert("exec", "book.yaml", "--policy", "floor.yaml", "--as", "eve", answers="y eve\n")
    assert said.code != 0, said.all
    assert not (tmp_path / "done").exists()
    (decided,) = [
        event["data"] for event in gert.events() if event["type"] == "governance_decision" and "min" in str(event)
    ]
    assert (decided["min_approvers"], decided["exclude_actor"]) == (2, True)


@pytest.mark.parametrize("own", ["", ", contract: {writes: [disk, scratch]}"])
def test_a_step_that_adds_a_tag_keeps_its_contract_violations_denied(tmp_path, own):
    """A tool that calls itself deterministic and is not."""
    gert = project(tmp_path, contract="{effects: [host], writes: [disk], deterministic: true, outputs: {said: {}}}")
    gert.write(floor=policy("{writes: [scratch], contract_violations: allow}, {contract_violations: deny}"))
    tool, line = tmp_path / "tools/touch.tool.yaml", "  - {id: act, type: tool, tool: touch STEP}\n"
    text = tool.read_text().replace("binary: touch", "binary: date")
    tool.write_text(text.replace("[touch, done]}", "[date, +%N], extract: {said: {from: stdout}}}"))
    two = (line + line.replace("act", "again")).replace(" STEP", own)
    gert.write(book=BOOK.replace(line, two))
    said = gert("exec", "book.yaml", "--policy", "floor.yaml")
    assert said.code == 1, said.all
    assert "of floor.yaml denies contract violations" in said.all


GUARD = """\
from gert_core import hookimpl
from gert_core.api import PolicyPack

@hookimpl
def gert_policies():
    document = {"apiVersion": "policy/v0", "rules": [{"writes": ["disk"], "action": "deny"}]}
    return [PolicyPack(name="guard", document=document)]
"""
FAKE = "from gert_core import hookimpl\n\n@hookimpl\ndef gert_policies():\n    return []\n"


def test_what_a_project_requires_is_neither_blocked_nor_replaced(tmp_path):
    gert = project(tmp_path)
    (tmp_path / "gert-project.yaml").write_text("plugins: {require: [gert-policy-guard]}\n")
    assert gert("exec", "book.yaml").code == 3
    install(gert, "gert-policy-guard", GUARD)
    assert "governance_denied" in gert("exec", "book.yaml").all
    real = ("exec", "book.yaml")
    for words in (("-p", "no:gert-policy-guard"), ("-p", "no:policy-guard")):
        assert gert(*words, *real).code == 3
    assert gert(*real, GERT_BLOCK_PLUGINS="policy-guard").code == 3
    install(gert, "gert-other", FAKE, entry="policy-guard")
    said = gert(*real)
    assert said.code == 3, said.all
    assert "policy-guard" in said.err
    said = gert("-p", "no:gert-policy-guard", *real)
    assert said.code == 3, said.all
    install(gert, "gert-more", FAKE, entry="gert-policy-guard")
    said = gert("-p", "no:policy-guard", *real)
    assert said.code == 3, said.all
    assert "the project requires plugin 'gert-policy-guard', but it is installed but not active" in said.err
    assert not (tmp_path / "done").exists()


def test_a_part_of_a_required_distribution_is_not_enough(tmp_path):
    gert = project(tmp_path)
    (tmp_path / "gert-project.yaml").write_text("plugins: {require: [gert-policy-guard]}\n")
    install(gert, "gert-policy-guard", GUARD)
    entries = tmp_path / "site/gert_policy_guard-1.0.dist-info/entry_points.txt"
    entries.write_text(entries.read_text() + "policy-rest = rest\n")
    (tmp_path / "site/rest.py").write_text(FAKE)
    said = gert("-p", "no:policy-guard", "exec", "book.yaml")
    assert said.code == 3, said.all
    assert "its plugin 'policy-guard' is blocked" in said.err
    assert not (tmp_path / "done").exists()


RIVAL = """\
from gert_core import hookimpl
from gert_core.api import Reply, Transport

class Session:
    def call(self, action, inputs, deadline):
        return Reply(exit_code=0, stdout="taken over")

    def close(self):
        pass

@hookimpl
def gert_transports():
    return [Transport(name="aaa", open=lambda target, services: Session(), default=True)]
"""


def test_two_default_transports_are_a_conflict(tmp_path):
    """A tool that names no transport is never taken over by whichever plugin comes first."""
    gert = project(tmp_path)
    gert.write(
        tool_touch=TOOL.replace(", transport: stdio", "").replace("CONTRACT", "{effects: [host], writes: [disk]}")
    )
    install(gert, "gert-transport-aaa", RIVAL)
    said = gert("exec", "book.yaml")
    assert said.code == 3, said.all
    assert "'aaa' of gert-transport-aaa 1.0 and 'stdio' of gert-transport-stdio" in said.err
    assert "Traceback" not in said.err
    assert not gert.runs()
    said = gert("-p", "no:gert-transport-aaa", "exec", "book.yaml")
    assert said.code == 0, said.all
    assert (tmp_path / "done").exists()


EXITS = {
    "import": "import sys\nsys.exit(0)\n",
    "policies": GUARD.replace("    document", "    import sys; sys.exit(0)\n    document", 1),
    "generator": GUARD.replace("    return [", "    import sys; sys.exit(0)\n    yield PolicyPack #", 1),
    "generator exit": GUARD.replace("    document", "    raise GeneratorExit\n    document", 1),
    "records": GUARD + "\n@hookimpl\ndef gert_step_types():\n    raise SystemExit(0)\n",
    "transports": GUARD + "\n@hookimpl\ndef gert_transports():\n    raise SystemExit\n",
}


@pytest.mark.parametrize("where", EXITS)
def test_a_plugin_that_exits_is_broken_and_nothing_runs(tmp_path, where):
    gert = project(tmp_path)
    install(gert, "gert-policy-guard", EXITS[where])
    said = gert("exec", "book.yaml")
    assert said.code == 3, said.all
    assert "gert-policy-guard 1.0" in said.err
    assert "Traceback" not in said.err
    assert not gert.runs()
    assert not (tmp_path / "done").exists()
