"""Mask secrets in everything gert writes, restore them on resume, and limit which tool receives which."""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import InputError, RunError
from gert_core.trace.encoding import to_json_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gert_core.documents.tree import Runbook

MARK: Final = "<REDACTED:"
MINIMUM: Final = 4
LINE_MINIMUM: Final = 8
FRAGMENT: Final = 8
"""The least number of characters of a value that are masked as a fragment of it."""
FRAGMENT_MASK: Final = "<REDACTED>"
_NAME: Final = re.compile(r"[^:<>\s]+")
_MASK: Final = re.compile(r"<REDACTED:(?::|([^:<>\s]+(?::[a-z0-9-]+)*)>)")
_FROM: Final = re.compile(r":from(\d+)\Z")
_SIGNING_KEY: Final = re.compile(r"GERT_.*_KEY")


class Masked(str):
    """A text that is masked already, so that masking it again does not escape its masks."""

    __slots__ = ()


class Masker:
    """A replacement of secret values by masks that name secret and form, and its inverse.

    A value is found as itself, as it appears in JSON, URLs and base64 (at any alignment), and line by line.
    A declared secret without a value (``None`` or empty) is never masked; ``unmask`` reports it by name.
    """

    __slots__ = ("_masks", "_triggers", "_written", "count", "names")

    def __init__(self, secrets: Mapping[str, str | None]) -> None:
        self.names = tuple(secrets)
        """Every declared name, with or without a value."""
        self.count = 0
        """How many secrets have a value to mask."""
        self._masks: dict[str, str] = {}
        for name, value in secrets.items():
            if value:
                _check(name, value)
                self.count += 1
                for form, text in _forms(value):
                    if len(text) >= MINIMUM:
                        self._masks.setdefault(text, f"{name}:{form}" if form else name)
        self._triggers = _shortest([MARK, *self._masks])
        # JSON escapes character by character: a secret inside a string is inside the text, escaped.
        self._written = _shortest(encode_basestring(text)[1:-1] for text in (MARK, *self._masks))

    def suspicious(self, encoded: str) -> bool:
        """Return whether JSON text may contain something to mask; ``False`` is certain and saves walking the value."""
        for text in self._written:  # noqa: SIM110 - a generator would double the cost of every event
            if text in encoded:
                return True
        return False

    def mask_text(self, text: str) -> str:
        """Replace every secret in ``text`` and escape every literal mask; the longest match is taken."""
        if isinstance(text, Masked) or not any(trigger in text for trigger in self._triggers):
            return text
        out: list[str] = []
        done = 0
        for start, end, label in self._choose(text):
            # Of one that begins inside the secret before it, only the rest is left to replace.
            cut = f":from{done - start}" if start < done else ""
            out += (text[done:start], f"{MARK}{label}{cut}>" if label else f"{MARK}:")
            done = end
        return Masked("".join((*out, text[done:])))

    def mask(self, value: Any) -> Any:
        """Return a copy of ``value`` with every string in it masked, keys of maps included."""
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, (list, tuple)):
            return [self.mask(item) for item in value]
        if hasattr(value, "keys"):
            return {self.mask(key): self.mask(value[key]) for key in value}
        if value is None or isinstance(value, (int, float)):
            return value
        try:  # a record, a set, a path: masked in the form that the trace has
            return self.mask(to_json_value(value))
        except TypeError:
            return value

    def mask_fragments(self, text: str) -> str:
        """Replace fragments of secrets that shortening has left in ``text``, where ``mask`` does not find the value.

        Complete values stay, for ``mask`` to replace. This is for messages and excerpts only: it cannot be undone.
        """
        if not self._masks:
            return text
        out: list[str] = []
        done = 0
        for start, end, _ in self._choose(text):
            out += (self._mask_fragments(text[done:start]), text[start:end])
            done = end
        return "".join((*out, self._mask_fragments(text[done:])))

    def _mask_fragments(self, text: str) -> str:
        for form in self._masks:
            size = min(FRAGMENT, len(form) - 2)
            if size * 2 < FRAGMENT:
                continue
            start = text.find(form[:size])
            while start >= 0:
                end = start + size
                while end < len(text) and end - start < len(form) and text[end] == form[end - start]:
                    end += 1
                text = text[:start] + FRAGMENT_MASK + text[end:]
                start = text.find(form[:size], start + len(FRAGMENT_MASK))
            end = text.find(form[-size:]) + size
            while end >= size:
                start = end - size
                while start > 0 and end - start < len(form) and text[start - 1] == form[start - 1 - end]:
                    start -= 1
                text = text[:start] + FRAGMENT_MASK + text[end:]
                end = text.find(form[-size:], start + len(FRAGMENT_MASK)) + size
        return text

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
            texts = {label: text for text, label in self._masks.items()}
            return _MASK.sub(lambda match: _original(match.group(1), texts), value)
        if isinstance(value, (list, tuple)):
            return [self.unmask(item) for item in value]
        if hasattr(value, "keys"):
            return {self.unmask(key): self.unmask(value[key]) for key in value}
        return value

    def _choose(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the places to replace, from left to right; of overlapping ones, enough to cover all."""
        hits = self._find(text)
        done = index = 0
        while index < len(hits):
            start, end, label = hits[index]
            index += 1
            if end <= done or (start < done and not label):
                continue
            while start < done and index < len(hits) and hits[index][0] < done:
                if hits[index][2] and hits[index][1] > end:
                    start, end, label = hits[index]
                index += 1
            yield start, end, label
            done = end

    def _find(self, text: str) -> list[tuple[int, int, str]]:
        """Return every place of every form, by start, the longest first; the literal mark has no label."""
        hits: list[tuple[int, int, str]] = []
        for form, label in ((MARK, ""), *self._masks.items()):
            start = text.find(form)
            while start >= 0:
                hits.append((start, start + len(form), label))
                start = text.find(form, start + 1)
        hits.sort(key=lambda hit: (hit[0], -hit[1]))
        return hits


class Secrets(Struct, frozen=True, kw_only=True):
    """The secrets of a run: their values, and which of them each tool receives."""

    values: Mapping[str, str | None] = field(default_factory=dict)
    """Every declared name with its value, ``None`` when it is not set (or empty)."""
    runbook: frozenset[str] = frozenset()
    tools: Mapping[str, frozenset[str]] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    tools_required: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Every declared name: the runbook's first, then the tools'."""
        return tuple(self.values)

    def allowed(self, tool: str | None = None) -> frozenset[str]:
        """Return the secrets a tool receives: its own and the runbook's, never another tool's."""
        return self.runbook | self.tools.get(tool or "", frozenset())

    def missing(self, tool: str | None = None) -> tuple[str, ...]:
        """Return the required secrets without a value: the runbook's and, with ``tool``, that tool's."""
        wanted = self.required | self.tools_required.get(tool or "", frozenset())
        return tuple(name for name, value in self.values.items() if name in wanted and not value)

    def present(self, names: Iterable[str]) -> dict[str, bool]:
        """Return for each name whether it has a value."""
        return {name: bool(self.values.get(name)) for name in names}

    def child_environ(self, environ: Mapping[str, str], tool: str | None = None) -> dict[str, str]:
        """Return the environment of a child process of ``tool``."""
        return child_environ(environ, self.allowed(tool), declared=self.values)

    def masker(self, inputs: Mapping[str, object] | None = None) -> Masker:
        """Return the masker of the run; ``inputs`` are the values of inputs declared ``secret: true``."""
        known: dict[str, str | None] = dict(self.values)
        for name, value in (inputs or {}).items():
            for label, text in _leaves(name, value):
                known[label if known.get(label, text) == text else f"input.{label}"] = text
        return Masker(known)


def collect(runbook: Runbook, environ: Mapping[str, str]) -> Secrets:
    """Collect the secrets that the runbook and each of its tools declare, with their values in ``environ``."""
    own = list(runbook.model.meta.secrets or ())
    tools = {name: list(node.tool.all_secrets) for name, node in runbook.tools.items()}
    names = dict.fromkeys(s.env for group in (own, *tools.values()) for s in group)
    return Secrets(
        values={name: environ.get(name) or None for name in names},
        runbook=frozenset(s.env for s in own),
        tools={name: frozenset(s.env for s in group) for name, group in tools.items()},
        required=frozenset(s.env for s in own if s.required),
        tools_required={name: frozenset(s.env for s in group if s.required) for name, group in tools.items()},
    )


def child_environ(
    environ: Mapping[str, str], allowed: Iterable[str], *, declared: Iterable[str] = ()
) -> dict[str, str]:
    """Return ``environ`` without the declared secrets that are not allowed and without any of gert's own keys."""
    hidden = frozenset(declared) - frozenset(allowed)
    return {k: v for k, v in environ.items() if k not in hidden and not _SIGNING_KEY.match(k)}


def _check(name: str, value: str) -> None:
    if not _NAME.fullmatch(name):
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


def _forms(value: str) -> Iterator[tuple[str, str]]:
    """Yield every form of a value with the form's name; equal texts keep the first name."""
    from urllib.parse import quote, quote_plus

    yield "", value
    yield "strip", value.strip()
    for text, form in ((json.dumps(value)[1:-1], "json"), (encode_basestring(value)[1:-1], "json-utf8")):
        yield form, text
        yield f"{form}-slash", text.replace("/", "\\/")
    data = value.encode("utf-8", "surrogateescape")
    urls = {"url": quote(data, safe=""), "url-path": quote(data), "url-plus": quote_plus(data)}
    for form, text in urls.items():
        yield form, text
        yield f"{form}-lower", re.sub(r"%..", lambda match: match.group().lower(), text)
    yield from _base64_forms(data)
    lines = value.splitlines()
    if len(lines) > 1:
        for number, line in enumerate(lines, 1):
            if len(line.strip()) >= LINE_MINIMUM:
                yield f"line{number}", line.strip()


def _base64_forms(data: bytes) -> Iterator[tuple[str, str]]:
    from base64 import b64encode

    for form, alphabet in (("b64", None), ("b64url", b"-_")):
        whole = b64encode(data, alphabet).decode()
        yield form, whole
        yield f"{form}-raw", whole.rstrip("=")
        for offset in range(3):
            # Inside longer data the characters at both ends include other bits: keep the certain ones.
            text = b64encode(bytes(offset) + data, alphabet).decode()
            yield f"{form}-at{offset}", text[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6]


def _shortest(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts without those that contain another one: enough to find whether any of them occurs."""
    kept: list[str] = []
    for text in sorted(set(texts), key=len):
        if not any(other in text for other in kept):
            kept.append(text)
    return tuple(kept)


def _original(label: str | None, texts: Mapping[str, str]) -> str:
    if label is None:
        return MARK
    cut = _FROM.search(label)
    base = label[: cut.start()] if cut else label
    if base not in texts:
        name = base.partition(":")[0]
        raise RunError(
            f"secret {name} is needed to restore a recorded value, and it has no value now",
            kind=ErrorKind.SECRET_MISSING,
            hint=f"set {name} as it was when the run started, then resume again",
        )
    return texts[base][int(cut.group(1)) if cut else 0 :]


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _leaves(f"{name}.{index}", item)
    elif hasattr(value, "keys"):
        for key in value:
            yield from _leaves(f"{name}.{key}", value[key])
    elif value is not None and not isinstance(value, bool):
        yield name, str(value)


__all__ = ["MARK", "Masked", "Masker", "Secrets", "child_environ", "collect"]
