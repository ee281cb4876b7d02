"""Read the escapes of characters beyond U+FFFF as JSON writes them: a pair of surrogates, which YAML does not know.

Most programs that write JSON escape them so. Positions stay as they are: what a pair is shorter by as one escape is put
behind its string, as blanks.
"""

from __future__ import annotations

import re
from typing import Final

from gert_core.kit.json_reader import TooDeepError, loads

_PAIR: Final = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
# A text without an end is one string up to the end: nothing of it is looked at twice.
_STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*\\?(?:"|\Z)', re.DOTALL)
_ESCAPES: Final = rf"{_PAIR}|\\."
"""In a string that is valid: a pair, or what else follows a backslash, which may be a second one."""


def joined_pairs(text: str) -> str:
    """Return a JSON text with each pair of surrogates as one escape of YAML, of the same length; another as it is.

    Only in JSON is it plain without a parser which quotes are those of strings with escapes. What is nested too deeply
    is JSON up to there, and a document is refused there: it is not to be refused for a pair before.
    """
    if re.search(_PAIR, text) is None:
        return text
    try:
        loads(text)
    except TooDeepError:
        pass
    except ValueError:
        return text
    return _STRING.sub(_joined, text)


def _joined(string: re.Match[str]) -> str:
    found = re.sub(_ESCAPES, _one, string[0])
    return found.ljust(len(string[0]))


def _one(escape: re.Match[str]) -> str:
    if len(escape[0]) == 2:
        return escape[0]
    high, low = int(escape[0][2:6], 16), int(escape[0][8:], 16)
    return f"\\U{0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF):08x}"


__all__ = ["joined_pairs"]
