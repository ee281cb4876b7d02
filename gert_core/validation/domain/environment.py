"""The variables that may be defined at a point of the flow, and the steps that set them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.validation.domain.shapes import ANY, Shape, declared_shape, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gert_core.documents.tree import StepNode

Key = Any
"""A name, or for scopes the tuple ``("scope", segment, ...)``."""

SCOPE: Final = "scope"
EXPORT: Final = "export"
"""In the key ``(EXPORT, name)``: the steps that export a name, also if others promote it."""
BEGUN: Final = "begun"
"""In the key ``(BEGUN, id)``: a loop, which has results once it has begun, whatever became of its items."""
EACH: Final = "*"
"""In a scope's key: the results of a for_each, by key or index."""
BELOW: Final = "**"
"""In a scope's key: anything may be below, because the path contains a template."""
NAMESPACE: Final = Shape("object")
"""The shape of a scope itself, as opposed to an output in it."""
_MANY: Final = 64


class Entry:
    """What is known about one variable at a point of the flow.

    ``origin`` is the step that set it, nested tuples of steps where several may have, or None for what is there
    from the start. ``sure``: set on every path. ``stays``: survives the end of a loop (exports, scopes). ``holds``: has
    a value on every path, jumps left aside: the step that sets it is neither skipped nor goes on after a failure. It is
    the number of loops around the value that is there in any case, and one more; 0 if there need not be one.
    """

    __slots__ = ("holds", "origin", "shape", "stays", "sure")

    def __init__(
        self, shape: Shape, origin: Any = None, *, sure: bool = True, stays: bool = False, holds: int | None = None
    ) -> None:
        self.shape = shape
        self.origin = origin
        self.sure = sure
        self.stays = stays
        self.holds: int = sure if holds is None else holds

    @property
    def given(self) -> bool:
        """Whether it has a value from the start, which some step may have replaced."""
        return self.sure and None in self._origins()

    def steps(self) -> Iterator[StepNode]:
        """Yield the steps that may have set it, newest first; at most a few dozen."""
        return (one for one in self._origins() if one is not None)

    def _origins(self) -> Iterator[StepNode | None]:
        stack = [self.origin]
        count = 0
        while stack and count < _MANY:
            top = stack.pop()
            if isinstance(top, tuple):
                stack.extend(reversed(top))
            else:
                count += 1
                yield top


def perhaps(entry: Entry, before: Entry | None) -> Entry:
    """Return the entry of a variable that may still have its value from before, or none."""
    if before is None:
        return Entry(entry.shape, entry.origin, sure=False, stays=entry.stays)
    return Entry(
        joined((entry.shape, before.shape)),
        (entry.origin, before.origin),
        sure=before.sure,
        stays=entry.stays or before.stays,
        holds=before.holds,
    )


def either(entry: Entry, before: Entry) -> Entry:
    """Return the entry of a variable that has one of two values: jumps tell which, and are left aside."""
    return Entry(
        entry.shape if entry.shape is before.shape else joined((entry.shape, before.shape)),
        (entry.origin, before.origin),
        sure=entry.sure or before.sure,
        stays=entry.stays or before.stays,
        holds=max(entry.holds, before.holds),
    )


def doubtful(entry: Entry, before: Entry | None) -> Entry:
    """Return the entry of a variable set inside a step that may not run, or not to its end."""
    holds = before.holds if before is not None else 0
    return Entry(entry.shape, entry.origin, sure=entry.sure, stays=entry.stays, holds=holds)


class Environment:
    """Variables with an undo log, so that a block's changes can be undone and merged without copying."""

    __slots__ = ("_log", "depth", "hidden", "names", "open")

    def __init__(self) -> None:
        self.names: dict[Key, Entry] = {}
        self.depth = 0
        """How many loops over items are around."""
        self.open = False
        """Whether a step before this point has unknown outputs, so that absence proves nothing."""
        self.hidden: dict[Key, StepNode] = {}
        """Names that a step inside a loop sets too, without exporting them: after the loop they are as before it."""
        self._log: list[tuple[Key, Entry | None]] = []

    def set(self, key: Key, entry: Entry) -> None:
        """Set an entry as it is."""
        self._log.append((key, self.names.get(key)))
        self.names[key] = entry

    def define(
        self, key: Key, shape: Shape, step: StepNode, *, sure: bool, stays: bool = False, holds: bool = True
    ) -> None:
        """Set a variable by a step; if the step may not have run, the previous value remains possible.

        So does a value that survives the end of a loop, when the new one does not: it is there again after the loop.
        """
        old = self.names.get(key)
        certain = max(self.depth + 1 if holds else 0, old.holds if old is not None else 0)
        if shape.optional and old is not None and not old.shape.optional:
            shape = declared_shape(shape.kind)  # where it is missing, the value from before is there
        if old is None or (sure and (stays or not old.stays)):
            entry = Entry(shape, step, sure=sure, stays=stays, holds=certain)
        else:
            entry = Entry(
                shape if shape is old.shape else joined((shape, old.shape)),
                (step, old.origin),
                sure=sure or old.sure,
                stays=stays or old.stays,
                holds=certain,
            )
        self._log.append((key, old))
        self.names[key] = entry
        if self.hidden and sure:
            self.hidden.pop(key, None)

    def mark(self) -> int:
        """Return the current point of the undo log."""
        return len(self._log)

    def rewind(self, mark: int) -> dict[Key, Entry]:
        """Undo all changes since ``mark`` and return them."""
        changed: dict[Key, Entry] = {}
        log, names = self._log, self.names
        while len(log) > mark:
            key, old = log.pop()
            if key not in changed and key in names:
                changed[key] = names[key]
            if old is None:
                names.pop(key, None)
            else:
                names[key] = old
        return changed

    def join(self, mark: int) -> None:
        """Keep the values from before ``mark`` beside those set since, where a jump may lead past these."""
        for key, entry in self.rewind(mark).items():
            before = self.names.get(key)
            self.set(key, entry if before is None else either(entry, before))

    def enter_item(self) -> int:
        """Begin what one item of a loop sets; return the point of the undo log before it."""
        self.depth += 1
        return self.mark()

    def leave_item(self, mark: int) -> dict[Key, Entry]:
        """Undo what an item of a loop has set since ``mark``, except what stays, and return all of it."""
        changed = self.rewind(mark)
        self.depth -= 1
        for key, entry in changed.items():
            if entry.stays:
                holds = min(entry.holds, self.depth + 1)
                self.set(key, Entry(entry.shape, entry.origin, sure=entry.sure, stays=True, holds=holds))
        return changed

    def hide(self, inside: Mapping[Key, Entry]) -> None:
        """Note which names the steps of a loop that is left have set besides an outer step or input."""
        for key, entry in inside.items():
            if isinstance(key, str) and not entry.stays and key in self.names:
                setter = next((step for step in entry.steps() if step.id != key), None)
                if setter is not None and all(setter is not step for step in self.names[key].steps()):
                    self.hidden[key] = setter

    def merge(self, blocks: Sequence[Mapping[Key, Entry]], *, every: bool) -> None:
        """Add what blocks set: all of them ran (``every``), or exactly one did."""
        if len(blocks) == 1:
            for key, entry in blocks[0].items():
                self.set(key, entry)
            return
        keys: dict[Key, list[Entry]] = {}
        for block in blocks:
            for key, entry in block.items():
                keys.setdefault(key, []).append(entry)
        for key, entries in keys.items():
            old = self.names.get(key)
            by_all = len(entries) == len(blocks)
            sure = any(entry.sure for entry in entries) if every else by_all and all(entry.sure for entry in entries)
            each = [entry.holds for entry in entries]
            holds = max(each) if every else min(each) if by_all else 0
            if old is not None and not sure:
                entries.append(old)
            self.set(
                key,
                Entry(
                    joined([entry.shape for entry in entries]),
                    tuple([entry.origin for entry in entries]),
                    sure=sure or (old is not None and old.sure),
                    stays=any(entry.stays for entry in entries),
                    holds=max(holds, old.holds if old is not None else 0),
                ),
            )

    def variable_names(self) -> Iterable[str]:
        """Return every variable that can be written as ``.name`` here."""
        return (key for key in self.names if isinstance(key, str))

    def scope(self, segments: Sequence[str]) -> tuple[Entry, int] | None:
        """Return the entry of a scope path with the number of segments it covers."""
        names = self.names
        whole = len(segments)
        for length in range(whole, -1, -1):
            key = (SCOPE, *segments[:length])
            entry = names.get(key)
            if entry is not None and (length == whole or entry.shape is not NAMESPACE):
                return entry, length
            if length < whole and (entry := names.get((*key, EACH))) is not None:
                return entry, length + 1
            if (entry := names.get((*key, BELOW))) is not None:
                return Entry(ANY, entry.origin), whole
        return None


__all__ = [
    "BEGUN",
    "BELOW",
    "EACH",
    "EXPORT",
    "NAMESPACE",
    "SCOPE",
    "Entry",
    "Environment",
    "Key",
    "doubtful",
    "perhaps",
]
