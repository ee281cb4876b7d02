"""The conformance tests of commands, rules and checks notice faulty ones."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gert_core import hookimpl
from gert_core.api import Check, CheckResult, Command, Diagnostic, UsageError
from gert_core.testing.conformance import CheckConformance, CommandConformance, RuleConformance

BOOK = """
    apiVersion: kernel/v0
    meta: {name: %s}
    steps: [{type: finish}]
"""


def command(target, **fields):
    record = Command(**{"name": "acme-feed", "summary": "Feeds.", "target": target, **fields})
    plugin = SimpleNamespace(gert_commands=hookimpl(lambda: iter([record])))
    return type("Case", (CommandConformance,), {"plugin": plugin})()


def feed(args, host):
    if args:
        raise UsageError("usage: gert acme-feed")
    return 0


def test_a_sound_command_passes(tmp_path):
    case = command(feed)
    case.test_the_record_is_complete()
    case.test_it_succeeds(tmp_path)
    case.test_what_it_does_not_know_is_refused(tmp_path)


def test_faults_of_commands(tmp_path):
    with pytest.raises(AssertionError, match="gert has a command 'exec' of its own"):
        command(feed, name="exec").test_the_record_is_complete()
    with pytest.raises(AssertionError, match="one line"):
        command(feed, summary="Two\nlines.").test_the_record_is_complete()
    with pytest.raises(AssertionError):
        command(lambda args, host: 0).test_what_it_does_not_know_is_refused(tmp_path)
    with pytest.raises(AssertionError):
        command(lambda args, host: 3).test_it_succeeds(tmp_path)
    broken = SimpleNamespace(gert_commands=hookimpl(lambda: [1 / 0]))
    case = type("Case", (CommandConformance,), {"plugin": broken})()
    with pytest.raises(pytest.fail.Exception, match="its commands are left out: ZeroDivisionError"):
        case.test_the_record_is_complete()


def test_a_command_is_given_settings_answers_and_a_registry(tmp_path):
    seen = []

    def look(args, host):
        seen.append((host.config, list(host.registry.step_types()), host.project.root))
        seen.append(host.console.ask("Sure?", deadline=host.deadline(1)))
        return 0

    case = command(look)
    type(case).config, type(case).answers = {"a": 1}, {"Sure": "yes"}
    case.test_it_succeeds(tmp_path)
    assert seen == [({"a": 1}, [], tmp_path), "yes"]


def rule(check, wrong=None):
    plugin = SimpleNamespace(gert_diagnostics=hookimpl(check))
    wrong = wrong or {"acme-name": BOOK % "bad"}
    return type("Case", (RuleConformance,), {"plugin": plugin, "right": BOOK % "good", "wrong": wrong})()


def name(**fields):
    def check(runbook):
        if runbook.name == "bad":
            line, column = runbook.locate(("meta", "name"))
            given = {"rule": "acme-name", "message": "a bad name", "line": line, "column": column, "hint": "another"}
            yield Diagnostic(**{**given, **fields})

    return check


def test_a_sound_rule_passes(tmp_path):
    case = rule(name())
    case.test_a_right_runbook_has_no_findings(tmp_path)
    case.test_a_wrong_runbook_has_its_finding_at_a_place(tmp_path)
    case.test_the_rules_have_names_of_their_own()


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (name(line=None, column=None), "say where it is"),
        (name(hint=None), "say how to correct it"),
        (name(rule="other"), "a bad name"),
        (lambda runbook: None, "assert"),
        (lambda runbook: 1 / 0, "plugin-failed"),
    ],
)
def test_faults_of_rules(tmp_path, check, said):
    with pytest.raises(AssertionError, match=said):
        rule(check).test_a_wrong_runbook_has_its_finding_at_a_place(tmp_path)


def test_a_runbook_of_the_test_that_is_wrong_itself_is_shown(tmp_path):
    case = rule(name(), wrong={"acme-name": BOOK.replace("finish", "nothing") % "bad"})
    with pytest.raises(AssertionError, match=r"(?s)wrong itself:.*there is no step type 'nothing'"):
        case.test_a_wrong_runbook_has_its_finding_at_a_place(tmp_path)


@pytest.mark.parametrize(("rule_id", "said"), [("Name", "lower case"), ("unknown-field", "a rule of the core")])
def test_names_of_rules(rule_id, said):
    with pytest.raises(AssertionError, match=said):
        rule(name(), wrong={rule_id: BOOK % "bad"}).test_the_rules_have_names_of_their_own()


def checks(run, **fields):
    plugin = SimpleNamespace(gert_checks=hookimpl(lambda: [Check(name="net", run=run)]))
    return type("Case", (CheckConformance,), {"plugin": plugin, "applies": ("net",), **fields})()


def test_a_sound_check_passes(tmp_path):
    seen = []

    def look(services):
        seen.append((services.config.get("host"), services.project is None, services.deadline.remaining() > 5))
        return CheckResult(status="warn", message="The network is slow.", hint="Wait.")

    case = checks(look, config={"host": "web-1"})
    case.test_every_check_says_what_it_found(tmp_path)
    case.test_without_a_project_or_a_store_no_check_raises(tmp_path)
    assert seen == [("web-1", False, True), (None, True, True)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "net found nothing to check"),
        ("fine", "net gave 'fine'"),
        (CheckResult(status="good", message="Good."), "net: 'good'"),
        (CheckResult(status="ok", message=" "), "net: say what was found"),
        (CheckResult(status="fail", message="Bad."), "net: say what to do about it"),
    ],
)
def test_faults_of_checks(tmp_path, given, said):
    with pytest.raises(AssertionError, match=said):
        checks(lambda services: given).test_every_check_says_what_it_found(tmp_path)


def test_a_check_that_needs_a_project_is_found(tmp_path):
    case = checks(lambda services: CheckResult(status="ok", message=str(services.project.root)))
    case.test_every_check_says_what_it_found(tmp_path)
    with pytest.raises(AttributeError):
        case.test_without_a_project_or_a_store_no_check_raises(tmp_path)
    with pytest.raises(AssertionError, match="the plugin gives net"):
        checks(lambda services: None, applies=("disk",)).test_every_check_says_what_it_found(tmp_path)
    with pytest.raises(AssertionError, match="gert_checks: ZeroDivisionError"):
        checks(None, plugin=SimpleNamespace(gert_checks=hookimpl(lambda: [1 / 0]))).checks()
