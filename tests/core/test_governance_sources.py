"""Packs, project files, ``--policy`` and the runbook become sources; a broken one stops everything."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from gert_core.api import Contract, GertError, PluginError, PolicyPack, ProjectError
from gert_core.documents.governance import GovernanceModel
from gert_core.documents.project import find_project
from gert_core.governance import load_policies

WRITES = Contract(effects=("kubernetes",), writes=("production",))
FLOOR = "apiVersion: policy/v0\nmeta: {name: floor}\nrules:\n  - {writes: [production], action: %s}\n"


def runbook(governance=None):
    model = None if governance is None else GovernanceModel.model_validate(governance)
    meta = SimpleNamespace(governance=model, name="rb")
    document = SimpleNamespace(path=Path("rb.yaml"))
    return SimpleNamespace(model=SimpleNamespace(meta=meta), document=document, by_id={})


class Packs:
    """A registry that only knows policies."""

    def __init__(self, *packs):
        self._packs = packs

    def policy_plugins(self):
        return ("policy-acme",)

    def policies(self, project):
        info = SimpleNamespace(name="policy-acme", distribution="gert-policy-acme", version="1")
        return [(pack, info) for pack in self._packs]


def load(*, packs=(), project=None, files=(), governance=None):
    return load_policies(registry=Packs(*packs), project=project, files=files, runbook=runbook(governance))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_every_kind_of_source_is_asked_in_order(tmp_path):
    write(tmp_path / "gert-project.yaml", "policies: [floor.yaml]\n")
    write(tmp_path / "floor.yaml", FLOOR % "allow")
    extra = write(tmp_path / "extra.yaml", FLOOR % "require-approval")
    pack = PolicyPack(name="acme", document={"apiVersion": "policy/v0", "rules": [{"default": "allow"}]})
    some = load(
        packs=[pack],
        project=find_project(tmp_path),
        files=[extra],
        governance={"rules": [{"default": "allow"}]},
    )
    decision = some.decide(WRITES)
    assert [m.source for m in decision.matches] == ["policy-acme:acme", "floor.yaml", str(extra), "runbook"]
    assert decision.action == "require-approval"
    assert decision.source == str(extra)


def test_a_runbook_cannot_relax_an_outer_source_but_can_tighten_it(tmp_path):
    strict = write(tmp_path / "p.yaml", FLOOR % "deny")
    assert load(files=[strict], governance={"rules": [{"default": "allow"}]}).decide(WRITES).denied
    mild = write(tmp_path / "q.yaml", FLOOR % "allow")
    assert load(files=[mild], governance={"rules": [{"default": "deny"}]}).decide(WRITES).source == "runbook"


def test_timeouts_and_signatures_come_from_all_sources(tmp_path):
    file = write(tmp_path / "p.yaml", FLOOR % "allow" + "approval_timeout: 5m\n")
    some = load(files=[file], governance={"approval_timeout": "1h", "require_verified_approval": True})
    assert some.approval_timeout == 300
    assert some.require_signed


def test_the_digest_covers_every_source_and_no_path(tmp_path):
    (tmp_path / "b").mkdir()
    first = write(tmp_path / "p.yaml", FLOOR % "deny")
    same = write(tmp_path / "b" / "other.yaml", FLOOR % "deny")
    changed = write(tmp_path / "c.yaml", FLOOR % "allow")
    digests = [load(files=[path]).digest for path in (first, same, changed)]
    assert digests[0] == digests[1] != digests[2]
    assert digests[0] != load(files=[first], governance={"rules": [{"default": "allow"}]}).digest
    assert digests[0].startswith("sha256:")


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: policy/v0\nmeta: {name: x}\nrules: [{risk: [huge], action: deny}]\n",
        "apiVersion: policy/v0\nmeta: {name: x}\nrules: [{risk: [low], action: perhaps}]\n",
        "apiVersion: policy/v0\nmeta: {name: x}\nrules: [{risk: [low]}]\n",
        "apiVersion: policy/v0\nmeta: {name: x}\nruls: []\n",
        "apiVersion: policy/v9\nmeta: {name: x}\n",
        "rules: [\n",
        "",
    ],
)
def test_a_broken_file_stops_before_the_start(tmp_path, text):
    path = write(tmp_path / "p.yaml", text)
    with pytest.raises(ProjectError) as caught:
        load(files=[path])
    assert "p.yaml" in caught.value.message
    assert caught.value.exit_code == 2


def test_a_missing_file_stops_before_the_start(tmp_path):
    write(tmp_path / "gert-project.yaml", "policies: [gone.yaml]\n")
    with pytest.raises(GertError, match=r"gone\.yaml") as caught:
        load(project=find_project(tmp_path))
    assert caught.value.exit_code == 2


def test_a_broken_pack_stops_and_is_named():
    with pytest.raises(ProjectError, match="policy-acme:floor"):
        load(packs=[PolicyPack(name="floor", document={"apiVersion": "policy/v0", "rules": [{"risk": 7}]})])
    with pytest.raises(PluginError, match="neither or both"):
        load(packs=[PolicyPack(name="floor")])
    rules = [{"default": "allow", "action": "deny"}]
    with pytest.raises(ProjectError, match="and the action"):
        load(packs=[PolicyPack(name="floor", document={"apiVersion": "policy/v0", "rules": rules})])


def test_a_pack_may_be_a_file(tmp_path):
    path = write(tmp_path / "floor.yaml", FLOOR % "deny")
    assert load(packs=[PolicyPack(name="floor", file=path)]).decide(WRITES).source == "policy-acme:floor"
