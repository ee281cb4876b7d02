"""Each hook does what its docstring says; the examples in the docstrings run."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from gert_core import hookimpl, hookspecs
from gert_core.api import (
    ApprovalProvider,
    Check,
    Command,
    Diagnostic,
    InputResolver,
    Notifier,
    PluginError,
    PolicyPack,
    SignatureScheme,
    StepType,
    StepView,
    StoreType,
    ToolPack,
    TraceEvent,
    Transport,
)
from gert_core.documents.policy import PolicyModel
from gert_core.documents.project import Project, ProjectModel
from gert_core.plugin.states import PluginState

PROJECT = Project(
    root=Path("/projects/demo"),
    model=ProjectModel.model_validate(
        {"name": "demo", "plugins": {"config": {"p": {"strict": True}, "other": {"strict": False}}}}
    ),
)
HOOKS = [name for name in vars(hookspecs) if name.startswith("gert_")]


def plugin(name, **functions):
    """A plugin module made of functions named after hooks."""
    module = ModuleType(name)
    for hook, function in functions.items():
        function.__name__ = hook
        setattr(module, hook, hookimpl(function))
    return module


def example(hook):
    """The plugin in the fenced block of a hook's docstring."""
    (code,) = re.findall(r"```python\n(.*?)```", inspect.cleandoc(getattr(hookspecs, hook).__doc__), re.DOTALL)
    module = ModuleType(f"example_{hook}")
    exec(compile(code, f"<example of {hook}>", "exec"), module.__dict__)
    return module


def explode(*_):
    raise RuntimeError("boom")


def broken(registry):
    return [i.name for i in registry.plugins if i.state == "broken"]


@pytest.mark.parametrize("hook", HOOKS)
def test_the_example_of_every_hook_is_a_working_plugin(gert_registry, hook):
    registry = gert_registry(example(hook))
    assert [(i.state, i.cause) for i in registry.plugins] == [("active", "")]
    assert [n for n in vars(registry._manager.hook) if getattr(registry._manager.hook, n).get_hookimpls()] == [hook]


@pytest.mark.parametrize("hook", HOOKS)
def test_every_docstring_says_when_what_none_means_what_failure_means_and_since(hook):
    text = inspect.getdoc(getattr(hookspecs, hook))
    assert re.search(r"\bCalled (once|when|by)\b", text)
    assert "``None``:" in text or "return value is ignored" in text
    assert "If it raises" in text
    assert re.search(r"- Since \d+\.\d+\.", text)


@pytest.mark.parametrize("hook", HOOKS)
def test_no_hook_is_firstresult_or_historic(hook):
    options = getattr(hookspecs, hook).gert_spec
    assert not options["firstresult"]
    assert not options["historic"]


def test_gert_step_types(gert_registry):
    registry = gert_registry(example("gert_step_types"))
    assert isinstance(registry.step_type("sleep"), StepType)
    assert broken(gert_registry(plugin("p", gert_step_types=explode))) == ["p"]


def test_gert_transports(gert_registry):
    registry = gert_registry(example("gert_transports"))
    assert isinstance(registry.transport("ssh"), Transport)
    assert registry.transport("carrier-pigeon") is None
    assert broken(gert_registry(plugin("p", gert_transports=explode))) == ["p"]


def test_gert_approval_providers(gert_registry):
    registry = gert_registry(example("gert_approval_providers"))
    assert isinstance(registry.approval_provider("chat"), ApprovalProvider)
    with pytest.raises(PluginError) as caught:
        registry.approval_provider("pager")
    assert "gert-approval-pager" in caught.value.hint
    assert broken(gert_registry(plugin("p", gert_approval_providers=explode))) == ["p"]


def test_gert_input_resolvers(gert_registry):
    registry = gert_registry(example("gert_input_resolvers"))
    assert isinstance(registry.input_resolvers()["vault"], InputResolver)
    assert broken(gert_registry(plugin("p", gert_input_resolvers=explode))) == ["p"]


def test_gert_signature_schemes(gert_registry):
    registry = gert_registry(example("gert_signature_schemes"))
    assert isinstance(registry.signature_scheme("acme-hsm"), SignatureScheme)
    assert registry.signature_scheme("none") is None
    assert broken(gert_registry(plugin("p", gert_signature_schemes=explode))) == ["p"]


def test_gert_stores(gert_registry):
    registry = gert_registry(example("gert_stores"))
    assert isinstance(registry.store_type("acme"), StoreType)
    with pytest.raises(PluginError, match="no installed plugin provides run store 'none'") as caught:
        registry.store_type("none")
    assert "gert-store-none" in caught.value.hint
    assert caught.value.exit_code == 3
    assert broken(gert_registry(plugin("p", gert_stores=explode))) == ["p"]


def test_gert_notifiers(gert_registry):
    registry = gert_registry(example("gert_notifiers"))
    assert isinstance(registry.notifiers()["pager"], Notifier)
    failing = gert_registry(plugin("p", gert_notifiers=explode))
    assert (broken(failing), failing.notifiers()) == ([], {})
    assert any("its notifiers are left out: RuntimeError: boom" in said for said in failing.warnings())


@pytest.mark.parametrize("fields", [{"keys": ()}, {"keys": "pager"}, {"keys": (1,)}, {"keys": ("on",)}, {"options": 3}])
def test_gert_notifiers_need_keys(gert_registry, fields):
    given = {"name": "p", "keys": ("pager",), "send": "p:send", **fields}
    registry = gert_registry(plugin("p", gert_notifiers=lambda: [Notifier(**given)]))
    assert registry.notifiers() == {}
    assert any("notifiers are left out" in said for said in registry.warnings())


def test_gert_notifiers_share_no_key_and_no_run_depends_on_that(gert_registry):
    one, other = (
        plugin(name, gert_notifiers=lambda name=name: [Notifier(name=name, keys=("pager", name), send="p:send")])
        for name in ("one", "other")
    )
    registry = gert_registry(one, other)
    assert registry.notifiers() == {}
    registry.require_healthy()
    assert any("both provide notifier 'pager:'" in said for said in registry.warnings())


@pytest.mark.parametrize("schemes", [(), ("file",), ("Acme",), ("a b",), "acme", (1,)])
def test_gert_stores_need_schemes(gert_registry, schemes):
    registry = gert_registry(plugin("p", gert_stores=lambda: [StoreType(name="p", schemes=schemes, open="p:open")]))
    assert broken(registry) == ["p"]


def test_gert_stores_share_no_scheme(gert_registry):
    one, two = (StoreType(name=name, schemes=(name, "same"), open="p:open") for name in ("one", "two"))
    registry = gert_registry(plugin("p", gert_stores=lambda: [one]), plugin("q", gert_stores=lambda: [two]))
    assert {info.state for info in registry.plugins} == {PluginState.CONFLICTING}
    with pytest.raises(PluginError):
        registry.store_type("one")


def test_gert_policies(gert_registry):
    registry = gert_registry(example("gert_policies"), plugin("quiet", gert_policies=lambda: None))
    ((pack, info),) = registry.policies(None)
    assert isinstance(pack, PolicyPack)
    assert PolicyModel.model_validate(pack.document).meta.name == "acme-floor"
    assert info.name == "example_gert_policies"
    seen = []

    def remember(project):
        seen.append(project)

    gert_registry(plugin("p", gert_policies=remember)).policies(PROJECT)
    assert [(project.root, project.config) for project in seen] == [(PROJECT.root, {"strict": True})]


@pytest.mark.parametrize("bad", [explode, lambda: [{"rules": []}], lambda: 7])
def test_gert_policies_fail_closed(gert_registry, bad):
    registry = gert_registry(example("gert_policies"), plugin("guard", gert_policies=bad))
    with pytest.raises(PluginError, match=r"plugin guard .* cannot provide its policies") as caught:
        registry.policies(None)
    assert caught.value.exit_code == 3


def test_gert_tool_packs(gert_registry):
    registry = gert_registry(example("gert_tool_packs"))
    assert isinstance(registry.tool_packs()["acme"], ToolPack)
    assert broken(gert_registry(plugin("p", gert_tool_packs=explode))) == ["p"]


def test_gert_diagnostics(gert_registry):
    def finding(rule, line):
        return Diagnostic(rule=rule, message="m", file="a.yaml", line=line)

    steps = [
        StepView(id="tmp1", type="tool", path=("steps", 0), line=4, column=5),
        StepView(id="check", type="tool", path=("steps", 1), line=6, column=5),
    ]
    runbook = SimpleNamespace(walk=lambda: iter(steps))
    registry = gert_registry(
        example("gert_diagnostics"),
        plugin("late", gert_diagnostics=lambda runbook, project: [finding("z", 9), finding("a", 9)]),
        plugin("faulty", gert_diagnostics=explode),
        plugin("early", gert_diagnostics=lambda: [finding("x", 1)]),
        plugin("silent", gert_diagnostics=lambda project: None),
    )
    found = registry.diagnostics(runbook, None)
    assert [(d.rule, d.line) for d in found] == [
        ("plugin-failed", None),
        ("acme-step-name", 4),
        ("x", 1),
        ("a", 9),
        ("z", 9),
    ]
    (failed,) = [d for d in found if d.rule == "plugin-failed"]
    assert "plugin faulty" in failed.message
    assert "RuntimeError: boom" in failed.message


def test_gert_trace_event(gert_registry):
    module = example("gert_trace_event")
    event = TraceEvent(type="run_start", timestamp="t", run_id="r", seq=0, prev_hash="0")
    for mode in ("real", "replay"):
        ((name, observe),) = gert_registry(module).trace_observers(mode)
        assert name == "example_gert_trace_event (example-gert-trace-event 0)"
        observe(event)
    assert module.seen == {"run_start": 1}
    assert gert_registry(plugin("p", gert_step_types=lambda: None)).trace_observers("real") == []


def test_gert_trace_event_takes_the_arguments_it_names(gert_registry):
    told = []
    plugins = [
        plugin("all", gert_trace_event=lambda event, mode: told.append((event.type, mode))),
        plugin("event", gert_trace_event=lambda event: told.append(event.type)),
        plugin("mode", gert_trace_event=lambda mode: told.append([mode])),
        plugin("none", gert_trace_event=lambda: told.append(None)),
    ]
    for _, observe in gert_registry(*plugins).trace_observers("probe"):
        observe(TraceEvent(type="run_start", timestamp="t", run_id="r", seq=0, prev_hash="0"))
    assert told == [("run_start", "probe"), "run_start", ["probe"], None]


def test_gert_commands(gert_registry):
    registry = gert_registry(example("gert_commands"))
    assert isinstance(registry.commands()["acme-report"], Command)


def test_gert_commands_that_fail_are_left_out_with_a_warning(gert_registry):
    registry = gert_registry(example("gert_commands"), plugin("p", gert_commands=explode))
    assert set(registry.commands()) == {"acme-report"}
    assert [i.state for i in registry.plugins] == ["active", "active"]
    (warning,) = registry.warnings()
    assert "plugin p " in warning
    assert "commands are left out: RuntimeError: boom" in warning


def test_gert_commands_of_one_name_are_left_out_with_warnings(gert_registry):
    def given():
        return [Command(name="acme-report", summary="Another.", target="a:b")]

    registry = gert_registry(example("gert_commands"), plugin("p", gert_commands=given))
    assert registry.commands() == {}
    assert [i.state for i in registry.plugins] == ["active", "active"]
    assert len(registry.warnings()) == 2
    registry.require_healthy()


def test_gert_checks(gert_registry):
    seen = []

    def gert_checks(project):
        seen.append(dict(project.config))
        return iter([Check(name="net", run="a:b")])

    registry = gert_registry(example("gert_checks"), plugin("p", gert_checks=gert_checks))
    found = registry.checks(PROJECT)
    assert [(info.name, [check.name for check in checks], fault) for info, checks, fault in found] == [
        ("example_gert_checks", ["token"], ""),
        ("p", ["net"], ""),
    ]
    assert seen == [{"strict": True}]


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (explode, "RuntimeError: boom"),
        (lambda: exit(0), "SystemExit: 0"),
        (lambda: ["net"], "gert_checks gave a str instead of Check"),
        (lambda: Check(name="net", run="a:b"), "gert_checks returned a Check instead of a list of records"),
        (lambda: [Check(name="net work", run="a:b")], "gert_checks gave the name 'net work'; use lower-case"),
        (lambda: [Check(name="net", run="a:b")] * 2, "gert_checks gave check 'net' twice"),
    ],
)
def test_gert_checks_that_fail_are_told_with_the_plugin(gert_registry, given, fault):
    registry = gert_registry(example("gert_checks"), plugin("p", gert_checks=given))
    (_, (token,), nothing), (info, none, said) = registry.checks(None)
    assert (token.name, nothing, none) == ("token", "", ())
    assert said.startswith(fault)
    assert info.state == "active"


def test_an_argument_with_a_default_is_still_given(gert_registry):
    seen = []

    def gert_policies(project=None):
        seen.append(project)

    gert_registry(plugin("p", gert_policies=gert_policies)).policies(PROJECT)
    assert [project.name for project in seen] == ["demo"]


def test_one_generator_that_fails_late_hides_nobody(gert_registry):
    def late():
        yield StepType(name="lost", model="a:b", run="a:b")
        raise RuntimeError("boom")

    registry = gert_registry(plugin("late", gert_step_types=late), example("gert_step_types"))
    assert set(registry.step_types()) == {"sleep"}
