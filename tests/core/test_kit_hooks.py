"""Hooks may yield: the registry, the conformance classes and the functions of records take any iterable."""

from __future__ import annotations

from types import ModuleType
from typing import ClassVar

import pytest
import yielding
from pydantic import Field
from yielding import sign

from gert_core import hookimpl
from gert_core.api import (
    PURE,
    Block,
    Completed,
    DocumentError,
    Finding,
    Flow,
    SignatureScheme,
    StepType,
    Transport,
)
from gert_core.kit.models import StepModel, Steps
from gert_core.testing import finish
from gert_core.testing.conformance import (
    ApprovalProviderConformance,
    InputResolverConformance,
    SignatureSchemeConformance,
    TransportConformance,
)
from gert_core.testing.running import GertRunner


class TestYieldedTransport(TransportConformance):
    plugin = yielding
    action: ClassVar = {"name": "go"}
    slow: ClassVar = {"name": "slow"}


class TestYieldedProvider(ApprovalProviderConformance):
    plugin = yielding
    config: ClassVar = {"answer": "yes"}
    environ: ClassVar = {"APPROVER": "alice"}


class TestYieldedResolver(InputResolverConformance):
    plugin = yielding
    source = "memory/host"
    expected = "srv1"
    config: ClassVar = {"host": "srv1"}


class TestYieldedScheme(SignatureSchemeConformance):
    plugin = yielding
    signing_key = verify_key = b"k" * 16


def module(name, **functions):
    made = ModuleType(name)
    for hook, function in functions.items():
        function.__name__ = hook
        setattr(made, hook, hookimpl(function))
    return made


def test_conformance_says_what_is_wrong_with_a_hook(tmp_path):
    class Wrong(TransportConformance):
        plugin = module("wrong", gert_transports=lambda: Transport(name="x", open="a:b"))
        action: ClassVar = {"name": "go"}

    with pytest.raises(pytest.fail.Exception, match="returned a Transport instead of a list of records"):
        Wrong().test_a_call_answers_and_the_session_closes_twice(tmp_path)


def test_conformance_finds_a_hook_without_its_marker():
    class Unmarked(SignatureSchemeConformance):
        plugin = ModuleType("unmarked")
        signing_key = verify_key = b"k"

    Unmarked.plugin.gert_signature_schemes = lambda: [SignatureScheme(algorithm="x", sign=sign, verify=sign)]
    with pytest.raises(pytest.fail.Exception, match=r"mark its functions with @gert_core\.hookimpl"):
        Unmarked().test_what_is_signed_verifies()


def test_one_of_several_records_is_chosen_by_name():
    class Second(SignatureSchemeConformance):
        plugin = module(
            "two",
            gert_signature_schemes=lambda: (
                SignatureScheme(algorithm=a, sign=sign, verify=sign) for a in ("one", "two")
            ),
        )
        signing_key = verify_key = b"k"
        name = "two"

    assert Second().scheme().algorithm == "two"


def test_an_observer_that_yields_is_refused_with_the_reason(gert_registry):
    def watch(event):
        yield event

    (info,) = gert_registry(module("watch", gert_trace_event=watch)).plugins
    assert info.state == "broken"
    assert "gert_trace_event is a generator function, so its body would never run" in info.cause


def test_an_async_hook_is_refused_with_the_reason(gert_registry):
    async def hook():
        return []

    (info,) = gert_registry(module("later", gert_step_types=hook)).plugins
    assert info.state == "broken"
    assert "gert_step_types is an async function; hooks are plain functions" in info.cause


class Pair(StepModel):
    first: Steps = Field(description="The first list.")
    second: Steps = Field(description="The second list.")


def pair_blocks(step):
    yield Block(name="first", steps=step.first)
    yield Block(name="second", steps=step.second)


def pair_check(step):
    if not step.first:
        yield Finding(rule="pair-empty", message="the first list is empty", path=("first",))


def pair_run(step, ctx):
    for number, block in enumerate(ctx.blocks):
        ctx.run_block(block, key=number)
    return Completed()


PAIR = StepType(
    name="pair", model=Pair, run=pair_run, contract=PURE, flow=Flow.IN_ORDER, blocks=pair_blocks, check=pair_check
)
BOOK = """
    apiVersion: kernel/v0
    meta: {name: pair}
    steps:
      - {id: both, type: pair, first: %s, second: []}
      - {type: finish}
"""


def test_functions_of_a_record_may_yield(gert_registry, tmp_path):
    def types():
        yield PAIR

    runner = GertRunner(directory=tmp_path, registry=gert_registry(module("pairs", gert_step_types=types), finish))
    with pytest.raises(DocumentError) as caught:
        runner(BOOK % "[]")
    assert [found.rule for found in caught.value.diagnostics] == ["pair-empty"]
    runner(BOOK % "[{id: inner, type: finish}]").assert_outcome("resolved")
