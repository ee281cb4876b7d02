"""The convention for language models, with a provider that is a stand-in."""

from __future__ import annotations

import os
from pathlib import Path

import gert_tools_llm
import pytest

from gert_core.api import UsageError
from gert_core.testing.packs import StandIn, ToolPackConformance, call, outputs


class TestPack(ToolPackConformance):
    plugin = gert_tools_llm
    books = Path(__file__).parent / "books"
    takes_value = ("--model",)


def environ(tmp_path, **more):
    return {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", **more}


def test_the_prompt_goes_in_on_standard_input(gert_run, tmp_path):
    provider = StandIn.make(tmp_path / "bin", "gert-llm-provider", stdout="Hello.\n")
    gert_run.environ = environ(tmp_path, ANTHROPIC_API_KEY="sk-very-secret")
    ran = call(gert_run, "llm/llm", "complete", {"prompt": "--model x\n{{ .y }}", "temperature": 0.2})
    ran.assert_outcome("resolved")
    assert outputs(ran) == {"response": "Hello."}
    called = provider.calls[0]
    assert called["argv"] == ["complete", "--model", "claude-4-opus", "--temp", "0.2"]
    assert called["stdin"] == "--model x\n{{ .y }}"
    assert called["environ"]["ANTHROPIC_API_KEY"] == "sk-very-secret"
    assert "sk-very-secret" not in ran.result.trace.read_text()
    assert not ran.of("contract_violation")


def test_a_provider_that_says_what_it_cost(gert_run, tmp_path):
    StandIn.make(tmp_path / "bin", "gert-llm-provider", stdout='{"response": "Hi", "usage": {"output_tokens": 1}}')
    gert_run.environ = environ(tmp_path, ANTHROPIC_API_KEY="sk-very-secret")
    ran = call(gert_run, "llm/llm", "complete_json", {"prompt": "Hi"})
    assert outputs(ran) == {"response": "Hi", "usage": {"output_tokens": 1}}


def test_without_the_key_nothing_is_started(gert_run, tmp_path):
    provider = StandIn.make(tmp_path / "bin", "gert-llm-provider", stdout="Hello.")
    gert_run.environ = environ(tmp_path)
    with pytest.raises(UsageError, match="requires secret `ANTHROPIC_API_KEY`, which is not set"):
        call(gert_run, "llm/llm", "complete", {"prompt": "Hi"})
    assert provider.calls == []
