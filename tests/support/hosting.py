"""A host for tests: a directory with stand-in programs, and what its runs told."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from shell import Shell, wait_for

from gert_core.hosting import Host

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gert_core.api.hosting import Notice

APPROVE = """
apiVersion: policy/v0
meta: { name: lab }
rules: [{ writes: [service], action: require-approval, exclude_actor: true }]
"""


def takes(name: str, more: str = "idempotent: true") -> str:
    """The contract of a tool with one input."""
    return f"{{ effects: [network], {more}, inputs: {{ {name}: {{ type: any }} }} }}"


class Told:
    """A subscriber that keeps what it is given."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self._changed = threading.Condition()

    def __call__(self, notice: Notice) -> None:
        with self._changed:
            self.notices.append(notice)
            self._changed.notify_all()

    def of(self, kind: str) -> list[Notice]:
        """The notices of a kind."""
        return [notice for notice in list(self.notices) if notice.kind == kind]

    def wait(self, kind: str, count: int = 1, seconds: float = 10.0) -> Notice:
        """The n-th notice of a kind, once there are so many."""
        wait_for(lambda: len(self.of(kind)) >= count, seconds)
        return self.of(kind)[count - 1]

    def text(self, stream: str = "stdout") -> str:
        """What tools wrote."""
        return "".join(one.data["text"] for one in self.of("output") if one.data["stream"] == stream)

    def events(self) -> list[str]:
        """The types of the events."""
        return [one.data["type"] for one in self.of("event")]


class Lab(Shell):
    """A directory with programs, and hosts of it that are closed in the end."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.opened: list[Host] = []
        self.program("hold", "echo $$ > $1.pid; while [ ! -e $1 ]; do sleep 0.02; done; echo went $1")
        self.tool("hold", '["hold", "{{ .until }}"]', contract=takes("until"))
        self.program("say", 'printf "%b" "$1"')
        self.tool("say", '["say", "{{ .text }}"]', contract=takes("text"))
        self.program("change", 'echo "$1" >> changed')
        self.tool("change", '["change", "{{ .what }}"]', contract=takes("what", "writes: [service]"))
        self.policy("")

    def policy(self, text: str) -> None:
        """The policy of the project; empty for none."""
        project = "name: lab\n"
        if text:
            self.write("policy.yaml", text)
            project += "policies: [policy.yaml]\n"
        self.write("gert-project.yaml", project)

    def host(self, **options: Any) -> Host:
        """A host of this directory, whose actor is olga."""
        host = Host(self.root, environ=self.environ, **options)
        self.opened.append(host)
        return host

    def close(self) -> None:
        for host in self.opened:
            host.close(timeout=3)

    def path(self, name: str) -> Path:
        return self.root / name


def result(run: Any, seconds: float = 20.0) -> dict[str, Any]:
    """The result of a hosted run."""
    end = run.wait(seconds)
    assert end is not None, "it has not ended"
    assert "result" in end, end
    found: dict[str, Any] = end["result"]
    return found


def until(condition: Callable[[], object]) -> Any:
    return wait_for(condition)
