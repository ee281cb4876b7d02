"""Conformance tests of transports, approval providers, input resolvers and signature schemes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from msgspec.structs import replace

from gert_core.api import (
    Action,
    ApprovalProvider,
    ApprovalRequest,
    ApprovalResponse,
    ApprovalTicket,
    ErrorKind,
    InputBinding,
    InputError,
    InputResolver,
    ProjectInfo,
    Reply,
    Services,
    SignatureScheme,
    StepProblem,
    Target,
    Transport,
)
from gert_core.engine.cancel import Deadline, Stop
from gert_core.plugin.lazy import resolve
from gert_core.testing.running import ScriptedConsole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_HEAVY = ("pydantic", "jinja2", "typer", "jsonschema", "yaml", "asyncio", "cryptography", "subprocess")


def _project(root: Path) -> ProjectInfo:
    return ProjectInfo(root=root, tools_dir=root / "tools", runs_dir=root / "runs")


class Light:
    """Every plugin's entry module is cheap to import."""

    plugin: ClassVar[Any]

    def test_the_entry_module_imports_nothing_heavy(self) -> None:
        code = f"import sys, {self.plugin.__name__}; print([m for m in {_HEAVY!r} if m in sys.modules])"
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert said.stdout.strip() == "[]"


class TransportConformance(Light):
    """The tests of a transport; set ``plugin``, ``target``, ``action`` and ``slow`` (one that takes over 5 seconds)."""

    target: ClassVar[Mapping[str, Any]] = {}
    action: ClassVar[Mapping[str, Any]]
    slow: ClassVar[Mapping[str, Any]]
    inputs: ClassVar[Mapping[str, object]] = {}

    def transport(self) -> Transport:
        """Return the transport the plugin registers."""
        found: Transport = self.plugin.gert_transports()[0]
        return found

    def session(self, tmp_path: Path) -> Any:
        """Return a session on the target."""
        import os

        target = replace(Target(tool="example", environ=dict(os.environ)), **self.target)
        return resolve(self.transport().open)(target, Services(console=ScriptedConsole(), run_dir=tmp_path))

    def test_a_call_answers_and_the_session_closes_twice(self, tmp_path: Path) -> None:
        session = self.session(tmp_path)
        try:
            reply = session.call(Action(**self.action), self.inputs, Deadline(Stop(), 30))
            assert isinstance(reply, Reply)
            assert not reply.failed, reply
        finally:
            session.close()
            session.close()

    def test_a_call_that_takes_too_long_is_a_timeout(self, tmp_path: Path) -> None:
        session = self.session(tmp_path)
        began = time.monotonic()
        try:
            with pytest.raises(StepProblem) as caught:
                session.call(Action(**self.slow), self.inputs, Deadline(Stop(), 0.3))
        finally:
            session.close()
        assert caught.value.kind == ErrorKind.TIMEOUT
        assert time.monotonic() - began < 7, "the deadline is honoured"

    def test_a_cancelled_call_gives_up_at_once(self, tmp_path: Path) -> None:
        session, stop = self.session(tmp_path), Stop()
        timer = threading.Timer(0.3, stop.throw, ["test"])
        timer.start()
        began = time.monotonic()
        try:
            with pytest.raises(StepProblem):
                session.call(Action(**self.slow), self.inputs, Deadline(stop))
        finally:
            session.close()
            timer.cancel()
        assert time.monotonic() - began < 3, "cancel is honoured within a second, give or take the machine"


class ApprovalProviderConformance(Light):
    """The tests of an approval provider; set ``plugin`` and override ``approve``."""

    def provider(self) -> ApprovalProvider:
        """Return the provider the plugin registers."""
        found: ApprovalProvider = self.plugin.gert_approval_providers()[0]
        return found

    def approve(self, request: ApprovalRequest, tmp_path: Path, session: object) -> None:
        """Approve a request, for providers that are answered from outside."""

    answers: ClassVar[tuple[str, ...]] = ()

    def request(self) -> ApprovalRequest:
        """Return a request like the core's."""
        return ApprovalRequest(
            ticket_id="t-0123456789abcdef0123",
            run_id="r1",
            step_id="restart",
            step_key="restart",
            runbook_name="book",
            step_type="example",
            description="Restart it",
            risk_level="high",
            contract={"effects": ["process"], "writes": ["service"]},
            inputs={"service": "web"},
            request_hash="0" * 64,
            requested_by="tester",
        )

    def test_submit_returns_at_once_and_twice_is_once(self, tmp_path: Path) -> None:
        services = Services(console=ScriptedConsole(self.answers), run_dir=tmp_path, actor="tester")
        session = resolve(self.provider().open)(services)
        request = self.request()
        began = time.monotonic()
        first, second = session.submit(request), session.submit(request)
        assert time.monotonic() - began < 1
        assert isinstance(first, ApprovalTicket)
        assert first.ticket_id == second.ticket_id == request.ticket_id

    def test_wait_gives_the_answer_of_the_ticket(self, tmp_path: Path) -> None:
        services = Services(console=ScriptedConsole(self.answers), run_dir=tmp_path, actor="tester")
        session = resolve(self.provider().open)(services)
        request = self.request()
        ticket = session.submit(request)
        self.approve(request, tmp_path, session)
        response = session.wait(ticket, Deadline(Stop(), 10))
        assert isinstance(response, ApprovalResponse)
        assert (response.ticket_id, response.approved) == (request.ticket_id, True)
        assert response.approver_id
        assert response.timestamp

    def test_wait_honours_a_stopped_deadline(self, tmp_path: Path) -> None:
        services = Services(console=ScriptedConsole(), run_dir=tmp_path, actor="tester")
        session = resolve(self.provider().open)(services)
        ticket = session.submit(self.request())
        stop = Stop()
        stop.throw("test")
        began = time.monotonic()
        assert session.wait(ticket, Deadline(stop)) is None
        assert time.monotonic() - began < 1

    def test_a_closed_session_keeps_its_tickets(self, tmp_path: Path) -> None:
        services = Services(console=ScriptedConsole(self.answers), run_dir=tmp_path, actor="tester")
        request = self.request()
        for _ in range(2):
            session = resolve(self.provider().open)(services)
            assert session.submit(request).ticket_id == request.ticket_id, "the next process uses the same ticket"
            session.close()
            session.close()


class InputResolverConformance(Light):
    """The tests of an input resolver; set ``plugin``, ``source`` (a ``from:`` text) and ``expected``."""

    source: ClassVar[str]
    expected: ClassVar[object]
    environ: ClassVar[Mapping[str, str]] = {}
    answers: ClassVar[tuple[str, ...]] = ()

    def resolver(self) -> InputResolver:
        """Return the resolver the plugin registers."""
        found: InputResolver = self.plugin.gert_input_resolvers()[0]
        return found

    def services(self, tmp_path: Path) -> Services:
        """Return the services for the resolver."""
        return Services(console=ScriptedConsole(self.answers), environ=self.environ, project=_project(tmp_path))

    def test_a_binding_gets_its_value(self, tmp_path: Path) -> None:
        binding = InputBinding(name="x", source=self.source, path=self.source.partition("/")[2])
        answer = resolve(self.resolver().resolve)([binding], Deadline(Stop(), 20), self.services(tmp_path))
        assert dict(answer) == {"x": self.expected}

    def test_nothing_to_resolve_is_nothing(self, tmp_path: Path) -> None:
        assert dict(resolve(self.resolver().resolve)([], Deadline(Stop(), 20), self.services(tmp_path))) == {}

    def test_what_cannot_be_resolved_is_left_out_or_said(self, tmp_path: Path) -> None:
        missing = InputBinding(name="x", source=f"{self.source}-missing", path=f"{self.source}-missing")
        services = Services(console=ScriptedConsole(), project=_project(tmp_path))
        try:
            answer = resolve(self.resolver().resolve)([missing], Deadline(Stop(), 20), services)
        except InputError as error:
            answer = {} if "x" in error.message else {"x": f"an error that does not name the input: {error.message}"}
        assert answer.get("x") is None


class SignatureSchemeConformance(Light):
    """The tests of a signature scheme; set ``plugin``, ``signing_key`` and ``verify_key`` (raw bytes)."""

    signing_key: ClassVar[bytes]
    verify_key: ClassVar[bytes]

    def scheme(self) -> SignatureScheme:
        """Return the scheme the plugin registers."""
        found: SignatureScheme = self.plugin.gert_signature_schemes()[0]
        return found

    def test_what_is_signed_verifies(self) -> None:
        scheme = self.scheme()
        signature = resolve(scheme.sign)(self.signing_key, b"message")
        assert signature == signature.lower()
        assert bytes.fromhex(signature)
        assert resolve(scheme.verify)(self.verify_key, b"message", signature) is True

    def test_another_message_key_or_signature_does_not(self) -> None:
        scheme = self.scheme()
        sign, check = resolve(scheme.sign), resolve(scheme.verify)
        signature = sign(self.signing_key, b"message")
        assert check(self.verify_key, b"massage", signature) is False
        flipped = ("0" if signature[0] != "0" else "1") + signature[1:]
        assert check(self.verify_key, b"message", flipped) is False
        for broken in ("", "zz", signature[:-2], signature + "00"):
            assert check(self.verify_key, b"message", broken) is False

    def test_a_key_of_the_wrong_kind_is_said_not_crashed_on(self) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            resolve(self.scheme().sign)(b"", b"message")


__all__ = [
    "ApprovalProviderConformance",
    "InputResolverConformance",
    "SignatureSchemeConformance",
    "TransportConformance",
]
