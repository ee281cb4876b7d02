"""``resolve_inputs``: order, coercion, batching, sources, and one error for all that is missing."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from gert_core.api import InputError, InputResolver, ProjectInfo, ProviderInfo, Services, UsageError
from gert_core.documents.runbook import InputModel
from gert_core.engine.cancel import Deadline, Stop
from gert_core.inputs import resolve_inputs, split_source


class NoConsole:
    interactive = False

    def say(self, text):
        raise AssertionError(text)

    def ask(self, prompt, *, deadline, hidden=False, question=None):
        raise AssertionError(prompt)

    def exclusive(self):
        return nullcontext()


class Source:
    """A resolver that answers from a map and remembers what it was asked."""

    def __init__(self, prefix, answers=None, *, interactive=False, names=None, error=None):
        self.calls = []
        self.answers = answers or {}
        self.error = error
        self.record = InputResolver(name=prefix, resolve=self._resolve, interactive=interactive, names=names)

    def _resolve(self, bindings, deadline, services):
        self.calls.append(list(bindings))
        self.services = services
        if self.error:
            raise self.error
        return {b.name: self.answers[b.path] for b in bindings if b.path in self.answers}


PROJECT = ProjectInfo(
    root=Path(),
    tools_dir=Path("tools"),
    runs_dir=Path("runs"),
    providers={"cmdb": ProviderInfo(binary="x", config={"a": 1}), "pd": ProviderInfo(binary="y")},
)


def names(project):
    return () if project is None else tuple(project.providers)


def resolve(declared, *sources, given=None, project=None, **more):
    models = {name: InputModel.model_validate(raw) for name, raw in declared.items()}
    return resolve_inputs(
        models,
        host_vars=given or {},
        resolvers={source.record.name: source.record for source in sources},
        services=lambda _: Services(console=NoConsole(), project=project),
        deadline=Deadline(Stop()),
        **more,
    )


def test_the_order_is_command_line_file_source_default_null():
    declared = {
        name: {"type": "string", "from": f"env/{name}", "default": "default"} for name in ("a", "b", "c", "d")
    } | {"e": {"type": "string"}}
    source = Source("env", dict.fromkeys("abc", "source"))
    done = resolve(declared, source, given={"a": "cli"}, file_vars={"a": "file", "b": "file"})
    assert done.values == {"a": "cli", "b": "file", "c": "source", "d": "default", "e": None}
    assert done.sources == {"a": "cli", "b": "file", "c": "env", "d": "default", "e": "none"}


def test_a_source_is_not_asked_for_what_is_given_already():
    source = Source("env", {"X": "1"})
    resolve({"x": {"type": "int", "from": "env/X"}}, source, given={"x": "2"})
    assert source.calls == []


def test_one_event_per_input_in_document_order_with_its_source():
    done = resolve(
        {"b": {"type": "int", "default": 3}, "a": {"type": "string", "from": "env/A"}, "c": {}},
        Source("env", {"A": "x"}),
    )
    assert done.events == (
        {"input": "b", "source": "default", "value": 3},
        {"input": "a", "source": "env", "from": "env/A", "value": "x"},
        {"input": "c", "source": "none", "value": None},
    )


def test_a_scenario_replaces_files_and_sources_but_not_the_command_line():
    source = Source("env", {"a": "env", "b": "env", "c": "env"})
    declared = {name: {"type": "string", "from": f"env/{name}"} for name in ("a", "b", "c")}
    done = resolve(
        declared,
        source,
        given={"a": "cli"},
        file_vars={"b": "file"},
        scenario={"a": "scenario", "b": "scenario", "stranger": 1},
    )
    assert done.values == {"a": "cli", "b": "scenario", "c": None}
    assert source.calls == []


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int", "5", 5),
        ("float", "0.5", 0.5),
        ("bool", "true", True),
        ("list", "a, b", ["a", "b"]),
        ("list", '["a", 1]', ["a", 1]),
        ("object", "{a: 1}", {"a": 1}),
        ("string", "5", "5"),
        ("any", "5", "5"),
    ],
)
def test_text_is_coerced_to_the_declared_type(kind, text, value):
    assert resolve({"x": {"type": kind}}, given={"x": text}).values["x"] == value


def test_data_from_a_file_keeps_its_type_and_is_checked():
    assert resolve({"x": {"type": "list"}}, file_vars={"x": [1]}).values["x"] == [1]
    with pytest.raises(InputError, match=r"'x' from file must be int"):
        resolve({"x": {"type": "int"}}, file_vars={"x": [1]})


def test_a_value_that_does_not_fit_names_input_type_and_value():
    with pytest.raises(InputError) as caught:
        resolve({"count": {"type": "int"}}, given={"count": "many"})
    for word in ("'count'", "int", "'many'"):
        assert word in caught.value.message
    assert caught.value.exit_code == 2


def test_a_secret_value_is_never_shown():
    with pytest.raises(InputError) as caught:
        resolve({"pin": {"type": "int", "secret": True}}, given={"pin": "hunter22"})
    assert "hunter22" not in caught.value.message
    done = resolve({"pin": {"type": "string", "secret": True}}, given={"pin": "hunter22"})
    assert done.events == ({"input": "pin", "source": "cli", "secret": True},)
    assert done.secrets == {"pin": "hunter22"}


def test_everything_missing_or_wrong_is_reported_together():
    with pytest.raises(InputError) as caught:
        resolve(
            {
                "a": {"type": "string", "required": True, "description": "The host."},
                "b": {"type": "int", "required": True},
                "c": {"type": "int"},
            },
            given={"c": "x"},
        )
    message = caught.value.message
    assert "'a' (string)" in message
    assert "The host" in message
    assert "'b' (int)" in message
    assert "'c'" in message
    assert caught.value.hint is None  # each surface says where its values come from


def test_a_required_input_given_as_null_is_missing():
    with pytest.raises(InputError, match="'a'"):
        resolve({"a": {"type": "string", "required": True}}, file_vars={"a": None})


def test_an_undeclared_variable_is_a_usage_error_with_a_suggestion():
    with pytest.raises(UsageError, match="'hostnme'") as caught:
        resolve({"hostname": {"type": "string"}}, given={"hostnme": "x"})
    assert caught.value.hint == "did you mean 'hostname'?"
    with pytest.raises(UsageError, match="--input gives 'zzz'") as caught:
        resolve({"hostname": {"type": "string"}}, file_vars={"zzz": "x"})
    assert "hostname" in (caught.value.hint or "")


def test_bindings_are_batched_by_source():
    env = Source("env", {"A": "1", "B": "2"})
    family = Source("provider", {"cmdb.a": "3", "cmdb.b": "4", "pd.c": "5"}, names=names)
    declared = {
        "a": {"type": "string", "from": "provider/cmdb.a"},
        "x": {"type": "string", "from": "env/A"},
        "b": {"type": "string", "from": "cmdb.b"},
        "c": {"type": "string", "from": "pd.c"},
        "y": {"type": "string", "from": "env/B"},
    }
    done = resolve(declared, env, family, project=PROJECT)
    assert done.values == {"a": "3", "x": "1", "b": "4", "c": "5", "y": "2"}
    assert done.sources["a"] == done.sources["b"] == "provider/cmdb"
    assert done.sources["c"] == "provider/pd"
    assert [len(call) for call in env.calls] == [2]
    assert sorted(len(call) for call in family.calls) == [1, 2]
    assert family.services.project.providers["cmdb"].config == {"a": 1}


def test_people_are_asked_last_and_not_at_all_when_something_is_wrong_already():
    order = []
    person = Source("ask", {"": "typed"}, interactive=True)
    machine = Source("env", {"A": "x"})
    for source in (person, machine):
        inner = source._resolve
        source.record = InputResolver(
            name=source.record.name,
            interactive=source.record.interactive,
            resolve=lambda b, d, s, inner=inner, source=source: (
                order.append(source.record.name),
                inner(b, d, s),
            )[1],
        )
    declared = {"p": {"type": "string", "from": "ask"}, "a": {"type": "string", "from": "env/A"}}
    assert resolve(declared, person, machine).values == {"p": "typed", "a": "x"}
    assert order == ["env", "ask"]
    with pytest.raises(InputError, match="'n'"):
        resolve(declared | {"n": {"type": "int"}}, person, machine, given={"n": "x"})
    assert order == ["env", "ask", "env"]


def test_a_source_that_fails_is_an_error_even_with_a_default():
    failing = Source("env", error=InputError("the vault is sealed", hint="unseal it"))
    with pytest.raises(InputError, match="the vault is sealed") as caught:
        resolve({"a": {"type": "string", "from": "env/A", "default": "x"}}, failing)
    assert caught.value.hint == "unseal it"


def test_a_source_that_crashes_is_named():
    with pytest.raises(InputError, match=r"'env' failed for the input 'a': KeyError"):
        resolve({"a": {"type": "string", "from": "env/A"}}, Source("env", error=KeyError("A")))


def test_a_source_nobody_provides_leaves_the_default_and_says_so_when_there_is_none():
    declared = {"a": {"type": "string", "from": "vault/x", "default": "d"}}
    assert resolve(declared).sources == {"a": "default"}
    with pytest.raises(InputError, match=r"'provider/nope\.x', which no installed plugin"):
        resolve(
            {"a": {"type": "string", "from": "provider/nope.x", "required": True}},
            Source("provider", names=names),
            project=PROJECT,
        )


def test_a_null_from_a_source_leaves_the_default():
    done = resolve({"a": {"type": "int", "from": "env/A", "default": 7}}, Source("env", {"A": None}))
    assert (done.values, done.sources) == ({"a": 7}, {"a": "default"})


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("prompt", ("prompt", "")),
        ("env/HOST", ("env", "HOST")),
        ("file/conf/a.txt", ("file", "conf/a.txt")),
        ("file//etc/x", ("file", "/etc/x")),
        ("provider/cmdb.server.name", ("provider", "cmdb.server.name")),
        ("cmdb.server.name", ("cmdb", "cmdb.server.name")),
        ("cmdb.path/with.slash", ("cmdb", "cmdb.path/with.slash")),
    ],
)
def test_from_is_split_into_first_word_and_path(text, parts):
    assert split_source(text) == parts
