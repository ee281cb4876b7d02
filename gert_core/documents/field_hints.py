"""Hints about fields that a map does not have, and about those that it lacks: another name, another place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.documents.model_hints import META, WRITTEN_AS, map_at, meant, suggest_field

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from gert_core.documents.tree import Path

_RETRY: Final = "retry"
_JUMP: Final = "next"


def field_hint(
    document: Any,
    path: Path,
    known: list[str],
    *,
    top: Container[str],
    head: Container[str] = (),
    step: int = 0,
    words: Mapping[str, str],
) -> str | None:
    """Return what to do about an unknown field of a document, the value of a file.

    ``top`` are the fields at the top of the document, or of the step whose path has so many parts, and ``head`` those
    of the document's `meta`. ``words`` are those of other tools, with the fields that they stand for.
    """
    from gert_core.documents.foreign import document_word  # only mistakes need it

    *above, last = path
    name = str(last)
    if above and not step and name in top and name not in document:
        return f"move `{name}` out of `{above[-1]}`, to the top of the document"
    written = map_at(document, above)
    if name in known and (others := [str(one) for one in written if one != name]):
        return f"remove it: it does not go with `{others[0]}`"
    if (other := (words.get(name) or document_word(name, above)).rpartition(".")[2]) in known:
        return f"remove it: `{other}` is there already" if other in written else WRITTEN_AS.replace("NAME", other)
    if above and above[-1] == _RETRY:
        from gert_core.documents.foreign_fields import foreign_retry  # only mistakes need it

        if (hint := foreign_retry(name, written)) is not None:
            return hint
    if (
        step
        and len(above) == step + 1
        and above[-1] != _JUMP
        and name in top
        and name not in map_at(document, path[:step])
    ):
        return f"move `{name}` out of `{above[-1]}`, to the step"
    if hint := suggest_field(name, known, written=written):
        return hint
    inner = next((one for one in (name, document_word(name, above)) if one in head), None)
    if inner is not None and inner not in map_at(document, [META]):
        return f"move `{name}` into `{META}`" + ("" if inner == name else f", as `{inner}`")
    return _listing(known)


def missing_hint(document: Any, path: Path, *, known: Iterable[str], about: str | None, example: object = None) -> str:
    """Return what to do about a missing field: rename the one that is probably it, or add it."""
    from gert_core.documents.foreign import document_word  # only mistakes need it

    *above, last = path
    name, fields = str(last), set(known)
    others = [str(one) for one in map_at(document, above) if one not in fields]
    if near := next((one for one in others if document_word(one, above) == name or meant(one, [name])), None):
        return f"rename `{near}` to `{name}`"
    field = name if example is None else f"{name}: {example}"
    return f"add `{field}`" + (f": {about[:1].lower()}{about[1:].rstrip('.')}" if about else "")


def _listing(known: list[str]) -> str | None:
    return "known fields: " + ", ".join(sorted(set(known))) if known else None


__all__ = ["field_hint", "missing_hint"]
