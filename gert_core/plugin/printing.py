"""Send what plugins print to standard error: standard output belongs to results and to the protocols of commands.

While a run, a validation or a plugin's hook is at work, ``sys.stdout`` is replaced for the whole process, once for all
of them. Where plugin code runs the thread is marked; what a marked thread prints goes to standard error, and what any
other thread prints goes where it did. Marking costs a fraction of a microsecond, so that every call can be marked.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Here(threading.local):
    """Whether this thread is in the code of a plugin."""

    inside = False


here: Final = _Here()
"""The mark of this thread; what is called for every step sets it by hand, which costs less than ``inside``."""


class PluginOutput:
    """What ``sys.stdout`` is meanwhile; ``everywhere`` sends to standard error what any thread prints."""

    def __init__(self, real: Any) -> None:
        self.real = real
        self.everywhere = 0

    def write(self, text: str) -> int:
        """Write to the stream of this thread."""
        count: int = self._stream().write(text)
        return count

    def __getattr__(self, name: str) -> Any:
        """Return what the stream of this thread has under a name: ``buffer``, ``flush``, ``encoding`` ..."""
        return getattr(self._stream(), name)

    def _stream(self) -> Any:
        return (sys.stderr or self.real) if self.everywhere or here.inside else self.real


class _Replacement:
    """The replaced ``sys.stdout`` of the process, and how many need it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._output: PluginOutput | None = None
        # ``print`` of CPython 3.11 and 3.12 writes to ``sys.stdout`` without holding it: a stream that another thread
        # puts back and frees meanwhile crashes the process. So the latest ones stay.
        self._kept: deque[PluginOutput] = deque(maxlen=64)

    def enter(self, everywhere: int) -> None:
        """Replace ``sys.stdout``, unless it is replaced."""
        with self._lock:
            if self._output is None:
                self._output = self._replace()
            self._users += 1
            self._output.everywhere += everywhere

    def _replace(self) -> PluginOutput:
        if not self._kept or self._kept[-1].real is not sys.stdout:
            self._kept.append(PluginOutput(sys.stdout))
        sys.stdout = output = self._kept[-1]
        return output

    def leave(self, everywhere: int) -> None:
        """Put ``sys.stdout`` back when it is needed no more; where something else replaced it, that stays."""
        with self._lock:
            output = self._output
            assert output is not None  # noqa: S101 - entered before
            self._users -= 1
            output.everywhere -= everywhere
            if self._users == 0:
                self._output = None
                if sys.stdout is output:
                    sys.stdout = output.real


_replacement: Final = _Replacement()


@contextmanager
def replaced_stdout(*, everywhere: bool = False) -> Iterator[None]:
    """Have ``sys.stdout`` replaced while the block runs, for the threads that ``inside`` marks or ``everywhere``."""
    _replacement.enter(int(everywhere))
    try:
        yield
    finally:
        _replacement.leave(int(everywhere))


def real_stdout() -> Any:
    """Return standard output itself, also while ``sys.stdout`` is replaced."""
    return sys.stdout.real if isinstance(sys.stdout, PluginOutput) else sys.stdout


class _Mark:
    """A context manager that marks this thread, or takes the mark away."""

    __slots__ = ("_before", "_inside")

    def __init__(self, *, inside: bool) -> None:
        self._inside = inside
        self._before = False

    def __enter__(self) -> None:
        self._before, here.inside = here.inside, self._inside

    def __exit__(self, *_: object) -> None:
        here.inside = self._before


def inside() -> _Mark:
    """Mark this thread while the code of a plugin runs in it; it has an effect where ``sys.stdout`` is replaced."""
    return _Mark(inside=True)


def outside() -> _Mark:
    """Take the mark away while a plugin has gert do something."""
    return _Mark(inside=False)


@contextmanager
def aside() -> Iterator[None]:
    """Send what this thread prints to standard error."""
    with replaced_stdout(), inside():
        yield


__all__ = ["PluginOutput", "aside", "here", "inside", "outside", "real_stdout", "replaced_stdout"]
