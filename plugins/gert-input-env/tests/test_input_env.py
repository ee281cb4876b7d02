"""Inputs from environment variables."""

from __future__ import annotations

import gert_input_env
import pytest

from gert_core.api import InputError, Services
from gert_core.documents.runbook import InputModel
from gert_core.engine.cancel import Deadline, Stop
from gert_core.inputs import resolve_inputs


def resolve(environ, **declared):
    models = {name: InputModel.model_validate(raw) for name, raw in declared.items()}
    resolvers = {record.name: record for record in gert_input_env.gert_input_resolvers()}
    return resolve_inputs(
        models,
        host_vars={},
        resolvers=resolvers,
        services=lambda _: Services(console=None, environ=environ),
        deadline=Deadline(Stop()),
    )


def test_a_variable_is_read_and_coerced():
    done = resolve({"PORT": "80"}, port={"type": "int", "from": "env/PORT"})
    assert (done.values, done.sources) == ({"port": 80}, {"port": "env"})


def test_an_empty_variable_is_an_empty_text():
    assert resolve({"A": ""}, a={"from": "env/A", "default": "d"}).values == {"a": ""}


def test_an_unset_variable_leaves_the_default():
    assert resolve({}, a={"from": "env/A", "default": "d"}).sources == {"a": "default"}
    with pytest.raises(InputError, match=r"'a'.*env/A"):
        resolve({}, a={"from": "env/A", "required": True})


@pytest.mark.parametrize("source", ["env", "env/", "env/A B", "env/1A", "env/A.B"])
def test_something_that_is_no_variable_is_refused(source):
    with pytest.raises(InputError, match="not a valid variable name"):
        resolve({"A": "1"}, a={"from": source})


@pytest.mark.parametrize(
    "name", ["GERT_TRACE_SIGNING_KEY", "GERT_APPROVAL_SIGNING_KEY_ALICE", "GERT_APPROVAL_VERIFY_KEY"]
)
def test_the_keys_of_gert_are_never_inputs(name):
    with pytest.raises(InputError, match="cannot be inputs") as caught:
        resolve({name: "c2VjcmV0"}, a={"from": f"env/{name}"})
    assert "c2VjcmV0" not in caught.value.message
