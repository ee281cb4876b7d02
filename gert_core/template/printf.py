"""The function ``printf``, with a few verbs and bounded widths."""

from __future__ import annotations

import json
import re
from typing import Final

from gert_core.template.data import MAX_RESULT, kind_of, number, to_text, too_large
from gert_core.template.errors import TemplateError

_VERB: Final = r"%([-+ 0]*)([0-9]*)(?:\.([0-9]*))?(.?)"
_WIDEST: Final = 200


def printf(form: object, *args: object) -> str:
    """Format with the verbs ``%s %v %d %f %e %g %x %q %t %%``, widths and precisions up to 200."""
    if not isinstance(form, str):
        raise TemplateError(f"`printf` needs a format string first, not {kind_of(form)}")
    out: list[str] = []
    size = at = used = 0
    for found in re.finditer(_VERB, form, re.DOTALL):
        flags, width, precision, verb = found.groups()
        out.append(form[at : found.start()])
        at = found.end()
        if verb == "%":
            out.append("%")
            continue
        if used >= len(args):
            raise TemplateError(f"`printf` has no argument for `{found[0]}`")
        part = _format(args[used], flags=flags, width=width, precision=precision, verb=verb)
        used += 1
        size += len(part)
        if size > MAX_RESULT:
            raise too_large()
        out.append(part)
    if used < len(args):
        raise TemplateError(f"`printf` has {len(args)} arguments for {used} verbs")
    out.append(form[at:])
    return "".join(out)


def _format(value: object, *, flags: str, width: str, precision: str | None, verb: str) -> str:
    wide, exact = _small(width), None if precision is None else _small(precision)
    match verb:
        case "s" | "v":
            text = to_text(value)
            text = text if exact is None else text[:exact]
        case "q":
            text = json.dumps(to_text(value), ensure_ascii=False)
        case "t":
            if not isinstance(value, bool):
                raise TemplateError(f"`%t` needs a boolean, not {kind_of(value)}")
            text = to_text(value)
        case "d" | "x":
            whole = number(value)
            if whole is None or (isinstance(whole, float) and not whole.is_integer()):
                raise TemplateError(f"`%{verb}` needs an integer, not {kind_of(value)}")
            text = f"{int(whole):{_sign(flags)}{verb}}"
        case "f" | "e" | "g":
            found = number(value)
            if found is None:
                raise TemplateError(f"`%{verb}` needs a number, not {kind_of(value)}")
            try:
                text = f"{float(found):{_sign(flags)}.{6 if exact is None else exact}{verb}}"
            except OverflowError:
                raise TemplateError("the number is too large to be written") from None
        case _:
            raise TemplateError(
                f"`printf` does not support `%{verb}`", hint="it supports %s %v %d %f %e %g %x %q %t %%"
            )
    if "-" in flags:
        return text.ljust(wide)
    if "0" in flags and verb in "dxfeg":
        return text.zfill(wide)
    return text.rjust(wide)


def _small(digits: str) -> int:
    if len(digits) > 3 or (digits and int(digits) > _WIDEST):
        raise TemplateError(f"`printf` takes widths up to {_WIDEST}")
    return int(digits) if digits else 0


def _sign(flags: str) -> str:
    return "+" if "+" in flags else " " if " " in flags else ""


__all__ = ["printf"]
