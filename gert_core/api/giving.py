"""How inputs are given to a run, in the words of the surface that takes them: a command line, a form, a call."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Giving(Struct, frozen=True, kw_only=True):
    """Where the inputs of a run were given, and what to do about one that is missing.

    What is wrong with an input is said in the same words everywhere; only these two parts are the surface's. Without
    them an error names neither an option nor a field.
    """

    place: str = ""
    """What gives them, as in "from --var"; empty where there is nothing to name."""
    hint: str | None = None
    """What to do about an input that has no value."""

    def source(self, recorded: str) -> str:
        """Return where a value came from, for an error: `` from file``, or nothing."""
        name = self.place if recorded == GIVEN else recorded
        return f" from {name}" if name else ""

    def told(self, name: str) -> str:
        """Return that an input was given, as the beginning of a sentence about it."""
        return f"{self.place} gives {name!r}" if self.place else f"{name!r} is given"


GIVEN: Final = "cli"
"""The source, in the trace, of inputs that were given with the call, whatever the surface."""
COMMAND_LINE: Final = Giving(place="--var", hint="give it with --var NAME=VALUE or --input FILE")
"""The words of commands that take the options of ``gert exec``."""
FILE: Final = Giving(place="--input")

__all__ = ["COMMAND_LINE", "FILE", "GIVEN", "Giving"]
