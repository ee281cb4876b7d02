"""What leads to running a finished step again: a secret output of it is needed, and this process does not know it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class SecretNeeded(Exception):  # noqa: N818 - not an error: the step that gives it may run again
    """A template reads a secret output that only an earlier process of the run knew."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class RunAgain(Exception):  # noqa: N818 - not an error: the run continues with these steps
    """The run must be resumed once more, with ``keys`` to be executed again.

    ``known`` are the secret outputs that this process knows, by name; they are not lost for the next one.
    """

    def __init__(self, keys: tuple[str, ...], *, known: Mapping[str, str]) -> None:
        super().__init__(", ".join(keys))
        self.keys = keys
        self.known = known


__all__ = ["RunAgain", "SecretNeeded"]
