"""Conformance tests of transports, approval providers, input resolvers and signature schemes."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
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
    Reply,
    SignatureScheme,
    StepProblem,
    Target,
    Transport,
)
from gert_core.engine.cancel import Deadline, Stop
from gert_core.plugin.kinds import APPROVAL, INPUT, SIGNATURE, TRANSPORT
from gert_core.plugin.lazy import load_target
from gert_core.testing.cases import PluginConformance
from gert_core.testing.console import ScriptedConsole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.api import ApprovalSession, Console


class TransportConformance(PluginConformance):
    """The tests of a transport; set ``plugin``, ``target``, ``action`` and ``slow`` (one that takes over 5 seconds)."""

    target: ClassVar[Mapping[str, Any]] = {}
    action: ClassVar[Mapping[str, Any]]
    slow: ClassVar[Mapping[str, Any]]
    inputs: ClassVar[Mapping[str, object]] = {}

    def transport(self) -> Transport:
        """Return the transport the plugin registers."""
        found: Transport = self.record(TRANSPORT)
        return found

    def session(self, tmp_path: Path) -> Any:
        """Return a session on the target."""
        environ = {**os.environ, **self.environ}
        target = replace(Target(tool="example", environ=environ), **self.target)
        return load_target(self.transport().open)(target, self.services(tmp_path))

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

    def test_calls_from_several_threads_are_all_answered(self, tmp_path: Path) -> None:
        session = self.session(tmp_path)
        replies: list[Reply] = []

        def call() -> None:
            replies.append(session.call(Action(**self.action), self.inputs, Deadline(Stop(), 30)))

        threads = [threading.Thread(target=call) for _ in range(4)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(40)
        finally:
            session.close()
        assert [reply.failed for reply in replies] == [False] * 4


class ApprovalProviderConformance(PluginConformance):
    """The tests of an approval provider; set ``plugin`` and override ``approve``."""

    def provider(self) -> ApprovalProvider:
        """Return the provider the plugin registers."""
        found: ApprovalProvider = self.record(APPROVAL)
        return found

    def session(self, tmp_path: Path, console: Console | None = None) -> ApprovalSession:
        """Return an opened provider; ``console`` replaces the one with ``answers``."""
        services = self.services(tmp_path)
        found: ApprovalSession = load_target(self.provider().open)(
            services if console is None else replace(services, console=console)
        )
        return found

    def approve(self, request: ApprovalRequest, tmp_path: Path, session: object) -> None:
        """Approve a request, for providers that are answered from outside."""

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
        session = self.session(tmp_path)
        request = self.request()
        began = time.monotonic()
        first, second = session.submit(request), session.submit(request)
        assert time.monotonic() - began < 1
        assert isinstance(first, ApprovalTicket)
        assert first.ticket_id == second.ticket_id == request.ticket_id

    def test_wait_gives_the_answer_of_the_ticket(self, tmp_path: Path) -> None:
        session = self.session(tmp_path)
        request = self.request()
        ticket = session.submit(request)
        self.approve(request, tmp_path, session)
        response = session.wait(ticket, Deadline(Stop(), 10))
        assert isinstance(response, ApprovalResponse)
        assert (response.ticket_id, response.approved) == (request.ticket_id, True)
        assert response.approver_id
        assert response.timestamp

    def test_wait_honours_a_stopped_deadline(self, tmp_path: Path) -> None:
        session = self.session(tmp_path, ScriptedConsole())
        ticket = session.submit(self.request())
        stop = Stop()
        stop.throw("test")
        began = time.monotonic()
        assert session.wait(ticket, Deadline(stop)) is None
        assert time.monotonic() - began < 1

    def test_a_cancelled_wait_gives_up_at_once(self, tmp_path: Path) -> None:
        session, stop = self.session(tmp_path, ScriptedConsole(patient=True)), Stop()
        ticket = session.submit(self.request())
        timer = threading.Timer(0.3, stop.throw, ["test"])
        timer.start()
        began = time.monotonic()
        try:
            session.wait(ticket, Deadline(stop))
        finally:
            session.close()
            timer.cancel()
        assert time.monotonic() - began < 3, "cancel is honoured within a second, give or take the machine"

    def test_a_closed_session_keeps_its_tickets(self, tmp_path: Path) -> None:
        request = self.request()
        for _ in range(2):
            session = self.session(tmp_path)
            assert session.submit(request).ticket_id == request.ticket_id, "the next process uses the same ticket"
            session.close()
            session.close()


class InputResolverConformance(PluginConformance):
    """The tests of an input resolver; set ``plugin``, ``source`` (a ``from:`` text) and ``expected``."""

    source: ClassVar[str]
    expected: ClassVar[object]
    environ: ClassVar[Mapping[str, str]] = {}

    def resolver(self) -> InputResolver:
        """Return the resolver the plugin registers."""
        found: InputResolver = self.record(INPUT)
        return found

    def test_a_binding_gets_its_value(self, tmp_path: Path) -> None:
        binding = InputBinding(name="x", source=self.source, path=self.source.partition("/")[2])
        answer = load_target(self.resolver().resolve)([binding], Deadline(Stop(), 20), self.services(tmp_path))
        assert dict(answer) == {"x": self.expected}

    def test_nothing_to_resolve_is_nothing(self, tmp_path: Path) -> None:
        assert dict(load_target(self.resolver().resolve)([], Deadline(Stop(), 20), self.services(tmp_path))) == {}

    def test_what_cannot_be_resolved_is_left_out_or_said(self, tmp_path: Path) -> None:
        missing = InputBinding(name="x", source=f"{self.source}-missing", path=f"{self.source}-missing")
        services = replace(self.services(tmp_path), console=ScriptedConsole())
        try:
            answer = load_target(self.resolver().resolve)([missing], Deadline(Stop(), 20), services)
        except InputError as error:
            answer = {} if "x" in error.message else {"x": f"an error that does not name the input: {error.message}"}
        assert answer.get("x") is None

    def test_a_cancelled_resolution_gives_up_at_once(self, tmp_path: Path) -> None:
        binding = InputBinding(name="x", source=self.source, path=self.source.partition("/")[2])
        services = replace(self.services(tmp_path), console=ScriptedConsole(patient=True))
        stop = Stop()
        stop.throw("test")
        began = time.monotonic()
        with suppress(InputError):
            load_target(self.resolver().resolve)([binding], Deadline(stop), services)
        assert time.monotonic() - began < 3, "cancel is honoured within a second, give or take the machine"


class SignatureSchemeConformance(PluginConformance):
    """The tests of a signature scheme; set ``plugin``, ``signing_key`` and ``verify_key`` (raw bytes)."""

    signing_key: ClassVar[bytes]
    verify_key: ClassVar[bytes]

    def scheme(self) -> SignatureScheme:
        """Return the scheme the plugin registers."""
        found: SignatureScheme = self.record(SIGNATURE)
        return found

    def test_what_is_signed_verifies(self) -> None:
        scheme = self.scheme()
        signature = load_target(scheme.sign)(self.signing_key, b"message")
        assert signature == signature.lower()
        assert bytes.fromhex(signature)
        assert load_target(scheme.verify)(self.verify_key, b"message", signature) is True

    def test_another_message_key_or_signature_does_not(self) -> None:
        scheme = self.scheme()
        sign, check = load_target(scheme.sign), load_target(scheme.verify)
        signature = sign(self.signing_key, b"message")
        assert check(self.verify_key, b"massage", signature) is False
        flipped = ("0" if signature[0] != "0" else "1") + signature[1:]
        assert check(self.verify_key, b"message", flipped) is False
        for broken in ("", "zz", signature[:-2], signature + "00"):
            assert check(self.verify_key, b"message", broken) is False

    def test_a_key_of_the_wrong_kind_is_said_not_crashed_on(self) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            load_target(self.scheme().sign)(b"", b"message")


__all__ = [
    "ApprovalProviderConformance",
    "InputResolverConformance",
    "SignatureSchemeConformance",
    "TransportConformance",
]
