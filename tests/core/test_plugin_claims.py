"""Step types that take over steps of other types by a field: one claimant works, two conflict."""

from __future__ import annotations

from types import ModuleType

import msgspec
import pytest
from pydantic import Field

from gert_core import hookimpl
from gert_core.api import Block, Flow, PluginError, StepType
from gert_core.documents.load import load_runbook
from gert_core.kit.models import StepModel, Steps
from gert_core.testing import finish


class Inner(StepModel):
    """What a claimed field holds."""

    steps: Steps = Field(description="The block.")


def claiming(name, field, *, claims=None):
    """A plugin with a step type ``name`` whose steps stand in ``field.steps``."""

    class Model(StepModel):
        """A loop of its own kind."""

        __annotations__ = {field: Inner}

    found = StepType(
        name=name,
        model=Model,
        run="nowhere:run",
        flow=Flow.IN_ORDER,
        blocks=lambda step: [Block(name="inside", steps=getattr(step, field).steps)],
        claims=f"{field}.steps" if claims is None else claims,
    )
    module = ModuleType(f"plugin_{name}")
    module.gert_step_types = hookimpl(lambda: [found], specname="gert_step_types")
    return module


def read(tmp_path, registry, step):
    path = tmp_path / "runbook.yaml"
    path.write_text(f"apiVersion: kernel/v0\nmeta: {{name: x}}\nsteps:\n  - {step}\n  - {{type: finish}}\n")
    return load_runbook(path, registry=registry)


CLAIMED = "{type: finish, again: {steps: [{type: finish}]}}"


def test_the_claimant_takes_over_a_step_of_another_type(tmp_path, gert_registry):
    loaded = read(tmp_path, gert_registry(finish, claiming("often", "again")), CLAIMED)
    assert [d.rule for d in loaded.diagnostics] == ["not-acted-on"]
    first = loaded.runbook.root.steps[0]
    assert (first.type.name, first.claimed) == ("often", True)


def test_a_field_that_only_looks_like_the_claimed_one_is_not_enough(tmp_path, gert_registry):
    registry = gert_registry(finish, claiming("often", "again"))
    for step in ("{type: finish, again: {max: 3}}", "{type: finish, again: steps}", "{type: finish, steps: []}"):
        assert [d.rule for d in read(tmp_path, registry, step).diagnostics] == ["unknown-field"], step


@pytest.mark.parametrize("other", ["again.steps", "again", "again.steps.deep"])
def test_two_claimants_of_one_field_conflict_and_neither_gets_it(tmp_path, gert_registry, other):
    registry = gert_registry(finish, claiming("often", "again"), claiming("loop", "again", claims=other))
    states = {info.name: str(info.state) for info in registry.plugins}
    assert states == {"gert_core.testing.finish": "active", "plugin_often": "conflicting", "plugin_loop": "conflicting"}
    (cause,) = {info.cause for info in registry.problems()}
    assert "'often' of plugin-often 0" in cause
    assert "'loop' of plugin-loop 0" in cause
    with pytest.raises(PluginError, match="claim the field"):
        registry.require_healthy()
    assert [d.rule for d in read(tmp_path, registry, CLAIMED).diagnostics] == ["unknown-field"]


def test_claims_to_different_fields_do_not_conflict(gert_registry):
    assert gert_registry(claiming("often", "again"), claiming("loop", "looped")).problems() == ()


def test_a_step_with_two_claimed_fields_is_an_error(tmp_path, gert_registry):
    registry = gert_registry(finish, claiming("often", "again"), claiming("loop", "looped"))
    both = "{type: finish, again: {steps: [{type: finish}]}, looped: {steps: [{type: finish}]}}"
    (error,) = [d for d in read(tmp_path, registry, both).diagnostics if d.severity == "error"]
    assert error.rule == "unknown-field"
    assert "`again.steps` and `looped.steps`" in error.message or "`looped.steps` and `again.steps`" in error.message


@pytest.mark.parametrize("claim", ["again.", "a b", 7, ["again"]])
def test_a_claim_that_is_no_path_breaks_the_plugin(gert_registry, claim):
    (info,) = gert_registry(claiming("often", "again", claims=claim)).problems()
    assert info.state == "broken"
    assert "give the path of a field" in info.cause


@pytest.mark.parametrize("words", ["again", {"again": 1}, {3: ""}, None])
def test_other_words_that_are_no_map_of_texts_break_the_plugin(gert_registry, words):
    plugin = claiming("often", "again")
    found = [msgspec.structs.replace(one, also_called=words) for one in plugin.gert_step_types()]
    plugin.gert_step_types = hookimpl(lambda: found, specname="gert_step_types")
    (info,) = gert_registry(plugin).problems()
    assert info.state == "broken"
    assert info.cause.endswith("give a map of words to its fields")


def test_types_may_share_a_word_which_then_leads_to_both(tmp_path, gert_registry):
    plugins = [claiming("often", "again"), claiming("loop", "looped")]
    for plugin, words in zip(plugins, ({"twice": "", "rounds": "again"}, {"twice": "", "rounds": ""}), strict=True):
        found = [msgspec.structs.replace(one, also_called=words) for one in plugin.gert_step_types()]
        plugin.gert_step_types = hookimpl(lambda found=found: found, specname="gert_step_types")
    registry = gert_registry(finish, *plugins)
    (error,) = read(tmp_path, registry, "{type: twice}").diagnostics
    assert error.hint is not None
    assert error.hint.startswith("did you mean `loop` or `often`?")
    (error,) = read(tmp_path, registry, "{type: finish, rounds: 3}").diagnostics
    assert error.hint == "use a step of type `loop` or `again` of a step of type `often`"


def test_one_plugin_may_not_claim_a_field_twice(gert_registry):
    one, two = claiming("often", "again"), claiming("loop", "again")
    both = ModuleType("both")
    found = [*one.gert_step_types(), *two.gert_step_types()]
    both.gert_step_types = hookimpl(lambda: found, specname="gert_step_types")
    (info,) = gert_registry(both).problems()
    assert info.state == "broken"
    assert "both claim the field 'again.steps'" in info.cause
