"""Runs the threads of gert one at a time in an order that a seed decides, by a clock that moves only when all of them wait.

``with seeded(7) as world: lab(...)``. Threads, locks, conditions, events and the time of gert's own modules are replaced while
it lasts. A thread may be stopped at each of these and, in the modules named here, at each line; the same seed gives the same
order, so whatever a seed finds can be looked at again. When nothing can go on, the deadlock is an error.
"""

from __future__ import annotations

import _thread
import random
import sys
import threading
import time
from contextlib import contextmanager
from types import BuiltinFunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

PACKAGES = ("gert_core", "gert_step_", "gert_approval_", "lab")
LINES = ("flow/fork.py", "flow/for_each.py", "engine/journal.py", "trace/writer.py", "runs/live.py", "runs/fold.py")
"""Where a thread may be stopped at each line."""
START = 1_000_000.0


class DeadlockError(AssertionError):
    """No thread can go on, and none waits for a time."""


class _Managed:
    """One thread: whether it can go on, or until when it waits."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.go = threading.Semaphore(0)
        self.ready = True
        self.until: float | None = None


class World:
    """The threads that exist, which of them runs, and the time."""

    def __init__(self, seed: int, *, switch: float = 0.2, at_line: float = 0.05) -> None:
        self.chance = random.Random(seed)
        self.time = START
        self.switches = 0
        self._switch = switch
        self._at_line = at_line
        self._threads = [_Managed(0)]
        self._by_ident = {_thread.get_ident(): self._threads[0]}
        self._made = 1
        self.failure: BaseException | None = None

    # -- switching -----------------------------------------------------------------------------------------------

    def me(self) -> _Managed | None:
        return self._by_ident.get(_thread.get_ident())

    def point(self, probability: float | None = None) -> None:
        """Let another thread go on here, perhaps."""
        me = self.me()
        if (
            me is not None
            and self.failure is None
            and self.chance.random() < (self._switch if probability is None else probability)
        ):
            self._to(me, self.chance.choice([thread for thread in self._threads if thread.ready]))

    def line(self) -> None:
        self.point(self._at_line)

    def block(self, until: float | None = None) -> None:
        """Wait until somebody calls ``wake`` for this thread, or for a time."""
        me = self.me()
        assert me is not None, "an unknown thread waits"
        me.ready, me.until = False, until
        try:
            other = self._next()
        except DeadlockError as failure:
            other = self._report(failure)
        self._to(me, other)

    def wake(self, thread: _Managed) -> None:
        thread.ready, thread.until = True, None

    def _next(self) -> _Managed:
        ready = [thread for thread in self._threads if thread.ready]
        if not ready:
            waiting = [thread for thread in self._threads if thread.until is not None]
            if not waiting:
                raise DeadlockError(f"{len(self._threads)} threads wait for each other")
            first = min(waiting, key=lambda thread: (thread.until, thread.number))
            self.time = max(self.time, first.until or 0.0)
            self.wake(first)
            ready = [first]
        return self.chance.choice(ready)

    def _report(self, failure: DeadlockError) -> _Managed:
        """Leave it to the first thread to raise it, which is the test's own; the others wait for good."""
        self.failure = failure
        return self._threads[0]

    def _to(self, me: _Managed, other: _Managed) -> None:
        if other is not me:
            self.switches += 1
            other.go.release()
            me.go.acquire()
        if self.failure is not None and me.number == 0:
            raise self.failure

    # -- threads -------------------------------------------------------------------------------------------------

    def start_new_thread(self, function: Callable[..., None], args: tuple[Any, ...] = ()) -> int:
        thread = _Managed(self._made)
        self._made += 1
        self._threads.append(thread)

        def run() -> None:
            self._by_ident[_thread.get_ident()] = thread
            thread.go.acquire()
            sys.settrace(self.trace)
            try:
                function(*args)
            finally:
                sys.settrace(None)
                self._end(thread)

        threading.Thread(target=run, name=f"seeded-{thread.number}", daemon=True).start()
        self.point()
        return thread.number

    def _end(self, thread: _Managed) -> None:
        self._threads.remove(thread)
        del self._by_ident[_thread.get_ident()]
        try:
            other = self._next()
        except DeadlockError as failure:
            other = self._report(failure)
        other.go.release()

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        """Stop at lines of the modules named above."""
        if event == "call" and not frame.f_code.co_filename.endswith(LINES):
            return None
        if event == "line":
            self.line()
        return self.trace

    # -- time ----------------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self.time

    def now_ns(self) -> int:
        return int(self.time * 1e9)

    def sleep(self, seconds: float) -> None:
        self.block(self.time + max(0.0, seconds))


class _Lock:
    """A lock; it may be released by another thread, as those of ``_thread`` may."""

    def __init__(self, world: World, *, again: bool = False) -> None:
        self._world = world
        self._again = again
        self._owner: _Managed | None = None
        self._depth = 0
        self._waiting: list[_Managed] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        world, me = self._world, self._world.me()
        if self._again and self._depth and self._owner is me:
            self._depth += 1
            return True
        world.point()
        until = None if timeout < 0 else world.time + timeout
        while self._depth:
            if not blocking or (until is not None and world.time >= until):
                return False
            assert me is not None, "an unknown thread waits for a lock"
            self._waiting.append(me)
            world.block(until)
            if me in self._waiting:
                self._waiting.remove(me)
        self._owner, self._depth = me, 1
        return True

    def release(self) -> None:
        if self._world.failure is not None:
            return  # the test is over, and the lock was not taken again after a wait that never ended
        assert self._depth, "released, but not held"
        self._depth -= 1
        if not self._depth:
            self._owner = None
            if self._waiting:
                self._world.wake(self._waiting.pop(self._world.chance.randrange(len(self._waiting))))
            self._world.point()

    def locked(self) -> bool:
        return self._depth > 0

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class _Condition:
    def __init__(self, world: World, lock: _Lock | None = None) -> None:
        self._world = world
        self._lock = lock or _Lock(world, again=True)
        self._waiting: list[_Managed] = []

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        me = self._world.me()
        assert me is not None, "an unknown thread waits for a condition"
        self._waiting.append(me)
        self._lock.release()
        # Nobody runs between a release and this, unless the release let somebody run, who may have notified already.
        if me in self._waiting:
            self._world.block(None if timeout is None else self._world.time + timeout)
        notified = me not in self._waiting
        if not notified:
            self._waiting.remove(me)
        self._lock.acquire()
        return notified

    def notify(self, count: int = 1) -> None:
        for _ in range(min(count, len(self._waiting))):
            self._world.wake(self._waiting.pop(self._world.chance.randrange(len(self._waiting))))

    def notify_all(self) -> None:
        self.notify(len(self._waiting))


class _Event:
    def __init__(self, world: World) -> None:
        self._condition = _Condition(world)
        self._world = world
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        with self._condition:
            self._set = True
            self._condition.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        until = None if timeout is None else self._world.time + timeout
        with self._condition:
            while not self._set and (until is None or self._world.time < until):
                self._condition.wait(None if until is None else until - self._world.time)
        return self._set


class _Stand:
    """A module with some names replaced."""

    def __init__(self, module: Any, **names: Any) -> None:
        self.__dict__.update(names)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@contextmanager
def seeded(seed: int, **options: float) -> Iterator[World]:
    """Decide every switch between gert's threads by ``seed`` while it lasts."""
    world = World(seed, **options)
    stands: dict[Any, Any] = {
        threading: _Stand(
            threading,
            Lock=lambda: _Lock(world),
            RLock=lambda: _Lock(world, again=True),
            Condition=lambda lock=None: _Condition(world, lock),
            Event=lambda: _Event(world),
        ),
        _thread: _Stand(_thread, allocate_lock=lambda: _Lock(world), start_new_thread=world.start_new_thread),
        time: _Stand(time, monotonic=world.now, perf_counter=world.now, sleep=world.sleep, time_ns=world.now_ns),
    }
    stands |= {time.time_ns: world.now_ns, time.monotonic: world.now, time.perf_counter: world.now}
    replaced: list[tuple[Any, str, Any]] = []
    for module in [m for name, m in list(sys.modules.items()) if name.startswith(PACKAGES)]:
        for name, value in list(vars(module).items()):
            if isinstance(value, ModuleType | BuiltinFunctionType) and value in stands:
                replaced.append((module, name, value))
                setattr(module, name, stands[value])
    before = sys.gettrace()
    sys.settrace(world.trace)
    try:
        yield world
    finally:
        sys.settrace(before)
        for module, name, value in replaced:
            setattr(module, name, value)


__all__ = ["START", "DeadlockError", "World", "seeded"]
