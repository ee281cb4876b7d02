"""Every installed plugin ends in one of five states; a faulty one harms nobody else."""

from __future__ import annotations

import sys

import pluggy
import pytest

from gert_core.api import PluginError
from gert_core.plugin.registry import Registry
from gert_core.plugin.states import PluginState, UnknownName

STEP = """
from gert_core import hookimpl
from gert_core.api import StepType

@hookimpl
def gert_step_types():
    return [StepType(name={name!r}, model="nowhere:Model", run="nowhere:run")]
"""


def step(name):
    return STEP.format(name=name)


def build(fake_dist, **options):
    return Registry.build(scan=fake_dist.scan(), **options)


def only(registry, name):
    (info,) = [i for i in registry.plugins if i.name == name]
    return info


def test_a_good_plugin_is_active_and_gives_its_records(fake_dist):
    fake_dist.add("gert-step-nap", step("nap"), version="2.1")
    registry = build(fake_dist)
    info = only(registry, "step-nap")
    assert (info.state, info.cause, info.distribution, info.version) == ("active", "", "gert-step-nap", "2.1")
    assert info.entry_point == "gert.v0: step-nap = gert_step_nap"
    assert registry.step_type("nap").name == "nap"
    assert [record.name for plugin in registry.loaded for record in plugin.records["step"]] == ["nap"]
    registry.require_healthy()


def test_nothing_is_imported_before_it_is_asked(fake_dist):
    fake_dist.add("gert-step-nap", step("nap"))
    registry = build(fake_dist)
    assert "gert_step_nap" not in sys.modules
    registry.step_types()
    assert "gert_step_nap" in sys.modules


def test_a_syntax_error_is_broken_with_file_and_line(fake_dist):
    fake_dist.add("gert-step-bad", "x = 1\ndef broken(:\n", version="0.3")
    fake_dist.add("gert-step-nap", step("nap"))
    registry = build(fake_dist)
    info = only(registry, "step-bad")
    assert info.state is PluginState.BROKEN
    assert info.cause.startswith("SyntaxError")
    assert info.cause.endswith("gert_step_bad.py:2")
    assert set(registry.step_types()) == {"nap"}
    with pytest.raises(PluginError) as caught:
        registry.require_healthy()
    assert caught.value.exit_code == 3
    assert "step-bad (gert-step-bad 0.3) is broken: SyntaxError" in caught.value.message
    assert "-m pip install --upgrade gert-step-bad" in caught.value.hint
    assert "-m pip uninstall gert-step-bad" in caught.value.hint
    assert "gert -p no:gert-step-bad" in caught.value.hint


def test_the_cause_is_the_last_frame_inside_the_plugin(fake_dist):
    files = {"gert_step_bad_part/__init__.py": "", "helper_of_bad.py": "def go():\n    raise OSError('no disk')\n"}
    fake_dist.add("gert-step-bad", "import helper_of_bad\n\nhelper_of_bad.go()\n", files=files)
    cause = only(build(fake_dist), "step-bad").cause
    assert cause.startswith("OSError: no disk at ")
    assert cause.endswith("gert_step_bad.py:3")


def test_a_missing_module_or_attribute_is_broken(fake_dist):
    fake_dist.add("gert-step-a", target="not_there_at_all")
    fake_dist.add("gert-step-b", target="gert_step_b:plugin")
    registry = build(fake_dist)
    assert only(registry, "step-a").cause == "ModuleNotFoundError: No module named 'not_there_at_all'"
    assert only(registry, "step-b").cause.startswith("AttributeError")


def test_a_plugin_that_exits_at_import_is_broken(fake_dist):
    fake_dist.add("gert-step-bad", "import sys\nsys.exit(4)\n")
    assert only(build(fake_dist), "step-bad").cause.startswith("SystemExit: 4")


def test_another_abi_is_incompatible_and_never_imported(fake_dist):
    fake_dist.add("gert-step-later", "raise AssertionError\n", group="gert.v9")
    registry = build(fake_dist)
    info = only(registry, "step-later")
    assert info.state is PluginState.INCOMPATIBLE
    assert info.cause == "made for gert.v9, this gert loads gert.v0"
    assert "gert_step_later" not in sys.modules
    registry.require_healthy()
    (said,) = registry.warnings()
    assert said == "plugin step-later (gert-step-later 1.0) is incompatible: made for gert.v9, this gert loads gert.v0"


def test_a_plugin_made_for_both_abis_is_simply_active(fake_dist):
    fake_dist.add("gert-step-nap", step("nap"))
    file = fake_dist.directory / "gert_step_nap-1.0.dist-info" / "entry_points.txt"
    file.write_text("[gert.v0]\nstep-nap = gert_step_nap\n[gert.v9]\nstep-nap = gert_step_nap_v9\n")
    registry = build(fake_dist)
    assert [i.state for i in registry.plugins] == ["active"]
    registry.require_healthy()


@pytest.mark.parametrize("word", ["step-bad", "gert-step-bad", "Gert_Step.Bad"])
def test_a_blocked_plugin_is_never_imported(fake_dist, word):
    fake_dist.add("gert-step-bad", "raise AssertionError\n")
    registry = build(fake_dist, block=[word])
    assert only(registry, "step-bad").state is PluginState.BLOCKED
    assert "gert_step_bad" not in sys.modules
    registry.require_healthy()


def test_two_plugins_with_one_step_type_conflict_and_neither_is_used(fake_dist):
    fake_dist.add("gert-step-one", step("nap"), version="1.1")
    fake_dist.add("gert-step-two", step("nap"), version="2.2")
    fake_dist.add("gert-step-three", step("other"))
    registry = build(fake_dist)
    one, two = only(registry, "step-one"), only(registry, "step-two")
    assert one.state is two.state is PluginState.CONFLICTING
    assert one.cause == two.cause
    assert "gert-step-one 1.1 and gert-step-two 2.2 both provide step type 'nap'" in one.cause
    assert set(registry.step_types()) == {"other"}
    with pytest.raises(PluginError, match="neither is used") as caught:
        registry.step_type("nap")
    assert not isinstance(caught.value, UnknownName)
    with pytest.raises(PluginError) as refused:
        registry.require_healthy()
    assert refused.value.message.count("both provide") == 1
    assert "run without one: `gert -p no:gert-step-one ...` or `gert -p no:gert-step-two ...`" in refused.value.hint
    settled = build(fake_dist, block=["step-two"])
    assert settled.step_type("nap")
    settled.require_healthy()


def test_other_records_of_a_conflicting_plugin_stay(fake_dist):
    more = "\n@hookimpl\ndef gert_signature_schemes():\n    from gert_core.api import SignatureScheme\n"
    more += "    yield SignatureScheme(algorithm='rot13', sign='a:b', verify='a:b')\n"
    fake_dist.add("gert-step-one", step("nap") + more)
    fake_dist.add("gert-step-two", step("nap"))
    assert build(fake_dist).signature_scheme("rot13") is not None


def test_two_distributions_with_one_entry_point_name_conflict_before_import(fake_dist):
    fake_dist.add("gert-step-nap", "raise AssertionError\n")
    fake_dist.add("acme-nap", "raise AssertionError\n", name="step-nap")
    registry = build(fake_dist)
    assert [i.state for i in registry.plugins] == ["conflicting", "conflicting"]
    assert "acme-nap 1.0 and gert-step-nap 1.0" in registry.plugins[0].cause
    assert "gert_step_nap" not in sys.modules


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        (
            "from gert_core import hookimpl\n@hookimpl\ndef gert_step_type():\n    return []\n",
            "did you mean 'gert_step_types'",
        ),
        ("def gert_step_types():\n    return []\n", "implements no hook"),
        ("from gert_core import hookimpl\n@hookimpl(wrapper=True)\ndef gert_step_types():\n    yield\n", "wrapper"),
        ("from gert_core import hookimpl\n@hookimpl\ndef gert_step_types(nonsense):\n    return []\n", "nonsense"),
        (
            "from gert_core import hookimpl\n@hookimpl\ndef gert_step_types():\n    return ['nap']\n",
            "a str instead of StepType",
        ),
        (
            "from gert_core import hookimpl\n@hookimpl\ndef gert_step_types():\n    return 7\n",
            "a int instead of a list",
        ),
        (step("Not A Name"), "'Not A Name'"),
        (step("nap").replace("return [", "return 2 * ["), "'nap' twice"),
        (
            "from gert_core import hookimpl\n@hookimpl\ndef gert_step_types():\n    yield from ()\n    1 / 0\n",
            "ZeroDivisionError: division by zero at ",
        ),
        (
            "from gert_core import hookimpl\n@hookimpl\ndef gert_step_types():\n    while True:\n        yield None\n",
            "gave more than 100,000 records",
        ),
    ],
)
def test_a_faulty_hook_breaks_its_plugin_only(fake_dist, source, cause):
    fake_dist.add("gert-step-bad", source)
    fake_dist.add("gert-step-nap", step("nap"))
    registry = build(fake_dist)
    info = only(registry, "step-bad")
    assert info.state is PluginState.BROKEN
    assert cause in info.cause
    assert set(registry.step_types()) == {"nap"}


def test_the_cause_is_cut_when_an_exception_says_very_much(fake_dist):
    fake_dist.add("gert-step-bad", "raise ValueError('y' * 10_000_000)\n")
    info = only(build(fake_dist), "step-bad")
    assert info.state is PluginState.BROKEN
    assert info.cause.startswith("ValueError: yyyy")
    assert len(info.cause) < 3000


def test_a_broken_plugin_leaves_nothing_registered(fake_dist):
    source = step("nap") + "\n@hookimpl\ndef gert_transports(nonsense):\n    return []\n"
    source += "\n@hookimpl\ndef gert_trace_event(event):\n    pass\n"
    fake_dist.add("gert-step-bad", source)
    registry = build(fake_dist)
    assert only(registry, "step-bad").state is PluginState.BROKEN
    assert registry.step_types() == {}
    assert registry.trace_observers("real") == []
    assert all(not caller.get_hookimpls() for caller in vars(registry._manager.hook).values())


def test_a_plugin_that_fails_while_giving_records_leaves_nothing_registered(fake_dist):
    source = "from gert_core import hookimpl\n\n@hookimpl\ndef gert_step_types():\n    1 / 0\n"
    source += "\n@hookimpl\ndef gert_trace_event(event):\n    pass\n"
    fake_dist.add("gert-step-bad", source)
    registry = build(fake_dist)
    assert only(registry, "step-bad").state is PluginState.BROKEN
    assert registry.trace_observers("real") == []
    assert all(not caller.get_hookimpls() for caller in vars(registry._manager.hook).values())


def test_properties_and_lazy_attributes_of_a_plugin_object_are_not_evaluated(fake_dist, gert_registry):
    from gert_core import hookimpl
    from gert_core.api import StepType

    class Plugin:
        @property
        def trap(self):
            raise AssertionError("evaluated")

        @hookimpl
        def gert_step_types(self):
            return [StepType(name="nap", model="a:b", run="a:b")]

        @staticmethod
        @hookimpl
        def gert_commands():
            return []

    registry = gert_registry(Plugin())
    assert registry.plugins[0].state == "active", f"{registry.plugins[0].cause} with pluggy {pluggy.__version__}"
    assert set(registry.step_types()) == {"nap"}


def test_an_unknown_step_type_names_the_distribution_that_would_provide_it(gert_registry):
    with pytest.raises(UnknownName) as caught:
        gert_registry().step_type("deploy")
    assert isinstance(caught.value, LookupError)
    assert caught.value.hint == "a distribution that provides it would be called gert-step-deploy"


def test_an_unknown_step_type_is_compared_with_the_known_ones(fake_dist):
    fake_dist.add("gert-step-nap", step("nap"))
    with pytest.raises(UnknownName) as caught:
        build(fake_dist).step_type("npa")
    assert "did you mean 'nap'?" in caught.value.hint


def test_three_rivals_are_counted_in_the_sentence(fake_dist):
    for name in ("one", "two", "three"):
        fake_dist.add(f"gert-step-{name}", step("nap"))
    cause = only(build(fake_dist), "step-one").cause
    assert "all provide step type 'nap', so none is used; uninstall or block all but one of them" in cause


def test_what_is_switched_off_is_not_advised_to_be_installed(fake_dist):
    fake_dist.add("gert-step-nap", step("nap"))
    registry = build(fake_dist, block=["step-nap"])
    with pytest.raises(UnknownName) as caught:
        registry.step_type("nap")
    assert caught.value.hint == (
        "plugin step-nap (gert-step-nap 1.0), which by its name provides it, is blocked: blocked by name"
    )
    with pytest.raises(UnknownName, match="step type 'dance'") as caught:
        registry.step_type("dance")
    assert caught.value.hint.endswith("a distribution that provides it would be called gert-step-dance")
