"""Replace secrets by masks that name secret and form, and restore what was masked."""

from __future__ import annotations

import re
import threading
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import InputError
from gert_core.secrets.forms import MINIMUM, WRAP_MINIMUM, encoded_forms, forms, longest_word, triggers
from gert_core.secrets.fragments import FRAGMENT_MASK, LINES, mask_ends, mask_pieces, unfinished, with_pieces
from gert_core.secrets.numbers import MINUS, as_numbers, masked_number, negated, number_mask, spellings
from gert_core.secrets.own import PARTS, written_by_gert
from gert_core.secrets.restoring import MASK, original, renamed
from gert_core.secrets.search import MARK, across, cover, find, shortest
from gert_core.template import Symbol
from gert_core.trace.encoding import to_json_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_NAME: Final = r"[^:<>\s]+"


class Masked(str):
    """A text that is masked already, so that masking it again does not escape its masks."""

    __slots__ = ()


class LostSecret(Symbol, Masked):
    """The mask of a secret that only an earlier process of the run knew; to read it is to need it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the first secret in it that is lost."""
        return self[len(MARK) : self.index(">")].partition(":")[0]


class Masker:
    """A replacement of secret values by masks that name secret and form, and its inverse.

    A value is found as itself, as it appears in JSON, URLs and base64 (at any alignment), and line by line.
    A declared secret without a value (``None`` or empty) is never masked; ``unmask`` reports it by name.
    """

    __slots__ = (
        "_across",
        "_lock",
        "_masks",
        "_numbers",
        "_own",
        "_triggers",
        "_wrapping",
        "_written",
        "count",
        "former",
        "learned",
        "lost",
        "names",
    )

    def __init__(self, secrets: Mapping[str, str | float | None], *, always: Mapping[str, str] | None = None) -> None:
        self.names = tuple(secrets)
        """Every declared name, with or without a value."""
        self.count = 0
        """How many secrets have a value to mask."""
        self.learned: dict[str, str] = {}
        """The values that became known during the run."""
        self.former: Mapping[str, str] = {}
        """Names that earlier versions of gert gave to secrets, with those that they have now; for ``unmask``."""
        self.lost: Callable[[str], bool] = lambda name: False
        """Whether a name is that of a secret output of an earlier process, which is not known now."""
        self._own = frozenset(always or ()) - secrets.keys()
        """gert's own keys, which are masked and never put back: no step has a use for them."""
        self._lock = threading.Lock()
        self._masks: dict[str, str] = {}
        self._wrapping: dict[str, str] = {}
        self._numbers: dict[float, str] = {}
        for name, value in secrets.items():
            if value is not None and value != "":
                self._add(name, value)
        for name, value in (always or {}).items():
            if name not in secrets and len(value) >= MINIMUM:
                self._add(name, value)
        known = [str(value) for value in (*secrets.values(), *(always or {}).values()) if value is not None]
        shown = [triggers("".join(known), text) for text in self._masks]
        self._triggers = shortest([MARK, *filter(None, map(longest_word, known)), *shown] if self._masks else [MARK])
        # JSON escapes character by character: a secret inside a string is inside the text, escaped.
        self._written = tuple(encode_basestring(text)[1:-1] for text in self._triggers)
        self._across = shortest(self._wrapping)

    def _add(self, name: str, value: str | float) -> None:
        text = str(value)
        _check(name, text)
        self.count += 1
        numbers = as_numbers(value)
        for number in numbers:
            self._numbers.setdefault(number, name)
        others = negated(numbers)
        for number in others:
            self._numbers.setdefault(number, f"{name}:{MINUS}")
        unsigned = spellings([number for number in others if number > 0])  # a sign in front of a mask tells nothing
        for form, shown in (*forms(text), *spellings(numbers), *((f"{MINUS}-{form}", one) for form, one in unsigned)):
            if len(shown) >= MINIMUM:
                self._masks.setdefault(shown, f"{name}:{form}" if form else name)
        bare = text.strip()
        without = encoded_forms(bare) if bare != text else ()
        for form, shown in (*encoded_forms(text), *((f"strip-{form}", one) for form, one in without)):
            if len(shown) >= WRAP_MINIMUM:
                self._wrapping.setdefault(shown, f"{name}:{form}")

    def learn(self, name: str, value: str | float) -> None:
        """Mask a value that became known during the run, wherever else it is; other threads may be masking."""
        new = Masker({name: value})
        with self._lock:
            self.learned[name] = str(value)
            self._numbers = {**new._numbers, **self._numbers}
            if self._masks.get(str(value)) == name:
                return
            # A text keeps its name, and of two values of one name ``unmask`` takes the later one.
            self._masks = {**self._masks, **{t: label for t, label in new._masks.items() if t not in self._masks}}
            self._wrapping = {
                **self._wrapping,
                **{t: label for t, label in new._wrapping.items() if t not in self._wrapping},
            }
            self._triggers += tuple(text for text in new._triggers if text != MARK)
            self._written += tuple(text for text in new._written if text != MARK)
            self._across += new._across
            self.count += 1

    def suspicious(self, encoded: str) -> bool:
        """Return whether JSON text may contain something to mask; ``False`` is certain and saves walking the value."""
        for text in self._written:  # a generator would double the cost of every event
            if text in encoded:
                return True
        if not self._across:
            return False
        return "\\n" in encoded and across(encoded.replace("\\\\", ""), self._across, ("\\r", "\\n"))

    def _may_have(self, text: str) -> bool:
        return any(trigger in text for trigger in self._triggers) or (
            "\n" in text and across(text, self._across, ("\r", "\n"))
        )

    def mask_text(self, text: str) -> str:
        """Replace every secret in ``text`` and escape every literal mask; the longest match is taken."""
        if isinstance(text, Masked) or not self._may_have(text):
            return text
        return Masked(_replaced(text, self._choose(text), 0, len(text)))

    def mask_start(self, text: str, *, since: int) -> tuple[str, int, int]:
        """Return the masked start of a text that goes on, its end, and from where on the text is needed again.

        It begins at ``since``, and ends where a secret may begin that is not complete yet, never inside of one that is
        replaced. What is needed again may begin earlier: a secret that overlaps the last one that was replaced.
        """
        sure = unfinished(text, (MARK, *self._masks), self._wrapping)
        until = max(sure, since)
        if not self._may_have(text):
            return text[since:until], until, min(sure, until)
        hits = find(text, self._masks, self._wrapping)
        chosen: list[tuple[int, int, str]] = []
        done = since
        for start, end, label in cover(hits, since):
            if end > until:
                until = min(until, max(start, done))
                break
            chosen.append((start, end, label))
            done = end
        keep = min((start for start, end, _ in hits if start < until < end), default=until)
        return _replaced(text, chosen, since, until), until, min(keep, sure)

    def mask_end(self, text: str, *, since: int) -> str:
        """Return the masked end of a text behind ``since``; the beginning of a secret that was cut off is hidden."""
        chosen: list[tuple[int, int, str]] = []
        done = since
        for start, end, label in cover(find(text, self._masks, self._wrapping), since):
            if start >= done:
                break
            chosen.append((start, end, label))
            done = end
        return _replaced(text, chosen, since, done) + self.mask_text(self.mask_fragments(text[done:]))

    def mask(self, value: Any) -> Any:
        """Return a copy of ``value`` with every string in it masked, keys of maps included."""
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, (list, tuple)):
            return [self.mask(item) for item in value]
        if hasattr(value, "keys"):
            return {self.mask(key): self.mask(value[key]) for key in value}
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            name = self._numbers.get(value) if self._numbers else None
            return value if name is None else Masked(f"{MARK}{number_mask(value, name)}>")
        if value is None or isinstance(value, bool):
            return value
        try:  # a record, a set, a path: masked in the form that the trace has
            return self.mask(to_json_value(value))
        except TypeError:
            return value

    def mask_event(self, data: Mapping[str, Any], part: str = "") -> dict[str, Any]:
        """Return a copy of an event's data, masked except for what gert itself writes; see ``written_by_gert``.

        ``part`` is the name of the field that has the data, where it is not that of a whole event.
        """
        return {key: self._mask_field(key, data[key], part) for key in data}

    def _mask_field(self, name: str, value: Any, part: str) -> Any:
        if written_by_gert(name, value, part):
            return value
        if name in PARTS and hasattr(value, "keys"):
            return self.mask_event(value, name)
        return self.mask(value)

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return where secrets are in ``text``, by start and end; for ``gert_core.kit.excerpts``."""
        return [(start, end) for start, end, label in find(text, self._masks, self._wrapping) if label]

    def first(self, text: str) -> str | None:
        """Return the name of the first secret in ``text``, if there is one."""
        if not self._may_have(text):
            return None
        return next((label.partition(":")[0] for _, _, label in find(text, self._masks, self._wrapping) if label), None)

    @property
    def reach(self) -> int:
        """The most bytes that a secret has in any of its forms, with the ends of lines in it."""
        longest = max((len(form.encode("utf-8", "surrogateescape")) for form in self._masks), default=0)
        return LINES * longest

    def mask_fragments(self, text: str) -> str:
        """Replace fragments of secrets that shortening has left in ``text``, where ``mask`` does not find the value.

        Complete values stay, for ``mask`` to replace. This is for messages and excerpts only: it cannot be undone.
        """
        if not self._masks:
            return text
        out: list[str] = []
        done = 0
        near = with_pieces(text, self._masks)
        for start, end, _ in self._choose(text):
            piece = text[done:start]
            if len(piece) >= MINIMUM:
                # A value may begin as it ends: its beginning is not the end of another one that was cut off.
                piece = mask_ends(mask_pieces(piece, near), self._masks, first=not done, last=False)
            out += (piece, text[max(start, done) : end])
            done = end
        piece = mask_pieces(text[done:], near)
        return "".join((*out, mask_ends(piece, self._masks, first=not done)))

    def hits(self, value: Any) -> int:
        """Count the occurrences of secrets that ``mask`` would replace in ``value``."""
        if isinstance(value, str):
            if not self._masks or isinstance(value, Masked):
                return 0
            return sum(1 for _, _, label in self._choose(value) if label)
        if isinstance(value, (list, tuple)):
            return sum(self.hits(item) for item in value)
        if hasattr(value, "keys"):
            return sum(self.hits(key) + self.hits(value[key]) for key in value)
        return 0

    def unmask(self, value: Any) -> Any:
        """Restore ``value`` as it was before ``mask``; raise when a secret has no value now."""
        if isinstance(value, str):
            if MARK not in value:
                return value
            if self.former:
                value = renamed(value, self.former)
            if self._numbers and (number := masked_number(value, self._numbers)) is not None:
                return number
            texts = {label: text for group in (self._wrapping, self._masks) for text, label in group.items()}
            for match in re.finditer(MASK, value):
                name = (match[1] or "").partition(":")[0]
                if name and match[1] not in texts and self.lost(name):
                    return LostSecret(f"{MARK}{match[1]}>" if match[0] == value else f"{MARK}{name}>")
            return re.sub(MASK, lambda match: self._restored(match, texts), value)
        if isinstance(value, (list, tuple)):
            return [self.unmask(item) for item in value]
        if hasattr(value, "keys"):
            return {self.unmask(key): self.unmask(value[key]) for key in value}
        return value

    def _restored(self, match: re.Match[str], texts: Mapping[str, str]) -> str:
        label = match[1]
        return match[0] if label and label.partition(":")[0] in self._own else original(label, texts)

    def unmask_event(self, data: Mapping[str, Any], part: str = "") -> dict[str, Any]:
        """Restore an event's data as it was before ``mask_event``, which leaves alone what gert itself writes."""
        return {key: self._unmask_field(key, data[key], part) for key in data}

    def _unmask_field(self, name: str, value: Any, part: str) -> Any:
        if written_by_gert(name, value, part):
            return value
        if name in PARTS and hasattr(value, "keys"):
            return self.unmask_event(value, name)
        return self.unmask(value)

    def unmask_message(self, text: str) -> str:
        """Restore a sentence; secrets that are lost stay hidden in it."""
        found = self.unmask(text)
        return re.sub(MASK, FRAGMENT_MASK, text) if isinstance(found, LostSecret) else str(found)

    def _choose(self, text: str) -> Iterator[tuple[int, int, str]]:
        return cover(find(text, self._masks, self._wrapping))


def _replaced(text: str, places: Iterable[tuple[int, int, str]], since: int, until: int) -> str:
    """Return a part of a text with these places replaced, in their order."""
    out: list[str] = []
    whole: dict[str, str] = {"": f"{MARK}:"}
    done = since
    for start, end, label in places:
        if start < done:  # of one that begins inside the secret before it, only the rest is left to replace
            out.append(f"{MARK}{label}:from{done - start}>")
        else:
            out += (text[done:start], whole.get(label) or whole.setdefault(label, f"{MARK}{label}>"))
        done = end
    return "".join((*out, text[done:until]))


def _check(name: str, value: str) -> None:
    if not re.fullmatch(_NAME, name):
        raise InputError(
            f"{name!r} is not a valid name of a secret",
            kind=ErrorKind.SECRET_NAME,
            hint="use letters, digits and underscores, as environment variables do",
        )
    if len(value) < MINIMUM:
        raise InputError(
            f"the value of secret {name} is shorter than {MINIMUM} characters, too short to be masked safely",
            kind=ErrorKind.SECRET_TOO_SHORT,
            hint=f"give {name} a longer value, or do not declare it as a secret",
        )


__all__ = ["MARK", "LostSecret", "Masked", "Masker"]
