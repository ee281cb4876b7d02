"""Report errors as text or JSON and choose the exit code."""

from __future__ import annotations

import errno
import os
import re
import sys
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import GertError, UsageError
from gert_core.cli.early import INTERRUPTED
from gert_core.cli.render.terminal import err, escape, out, paint, silence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api.diagnostics import Diagnostic

BROKEN_PIPE: Final = 141
INTERNAL: Final = 1
_SHORTEST_KEY: Final = 8
HIDDEN: Final = "***"
_GIVEN: Final = re.compile(r"([(\s][A-Za-z_][\w.-]*)=[^\s)]*")
_STORE: Final = "GERT_STORE"
_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
_REFUSED: Final = _FULL | {
    getattr(errno, name)
    for name in (
        *("EACCES", "EPERM", "EROFS", "EMFILE", "ENFILE", "ENOMEM", "EAGAIN", "ENOLCK", "ESTALE", "ETIMEDOUT"),
        *("ELOOP", "ENAMETOOLONG", "ENOTDIR", "EISDIR", "ENOTCONN", "EBUSY", "ETXTBSY", "EINTR"),
    )
}
"""Errors of the operating system that say something about the machine and nothing about gert."""


def report(error: GertError, *, as_json: bool) -> int:
    """Print an expected error and return its exit code, which is all that is left where nothing can be printed."""
    if as_json:
        import json

        try:
            out(json.dumps({"error": error.to_json()}, ensure_ascii=False))
            sys.stdout.flush()
        except OSError:
            silence("stdout")
    else:
        where = ":".join(str(part) for part in (error.file, error.line, error.column) if part is not None)
        if where and where in error.message:
            where = ""
        text = escape(f"{where + ': ' if where else ''}{error.message}")
        err(f"{paint('error:', 'red', 'bold', stream=sys.stderr)} {text}")
        for diagnostic in error.diagnostics:
            err(f"  {_diagnostic(diagnostic)}")
        if error.hint:
            err(f"  {paint('hint:', 'cyan', stream=sys.stderr)} {escape(error.hint)}")
    return error.exit_code


def report_exception(exc: BaseException, *, as_json: bool) -> int:
    """Report what ended a command and return its exit code; the unexpected is one sentence, never a traceback."""
    if isinstance(exc, BrokenPipeError) or isinstance(exc.__context__, BrokenPipeError):  # typer makes it an exit
        silence("stdout")
        return BROKEN_PIPE
    if type(exc).__name__ == "Exit" and isinstance(code := getattr(exc, "exit_code", None), int):  # typer's own
        return code
    if isinstance(exc, SystemExit):
        return exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    hide = _hider(exc)
    if os.environ.get("GERT_DEBUG") == "1":
        import traceback

        err(hide("".join(traceback.format_exception(exc)).rstrip()))
    if isinstance(exc, KeyboardInterrupt) or type(exc).__name__ == "Abort":
        if as_json:
            report(GertError("interrupted", kind=ErrorKind.CANCELLED), as_json=True)
        else:
            err("interrupted")
        return INTERRUPTED
    if isinstance(exc, GertError):
        exc.message = hide(exc.message)
        exc.file, exc.hint = (text and hide(text) for text in (exc.file, exc.hint))
        return report(exc, as_json=as_json)
    if _from_typer(exc):
        return _usage(exc, as_json=as_json)
    if isinstance(exc, OSError) and exc.errno in _REFUSED:
        return _refused(exc, as_json=as_json)
    if isinstance(exc, FileNotFoundError) and exc.filename is None and not _working_directory_exists():
        gone = UsageError("the working directory does not exist any more", hint="change to one that does")
        return report(gone, as_json=as_json)
    text = " ".join(hide(str(exc)).split())
    internal = GertError(
        f"internal error: {type(exc).__name__}{': ' + text if text else ''}",
        kind=ErrorKind.INTERNAL,
        hint="this is a bug in gert or in a plugin; set GERT_DEBUG=1 to see where",
    )
    report(internal, as_json=as_json)
    return INTERNAL


def _working_directory_exists() -> bool:
    try:
        return bool(os.getcwd())  # noqa: PTH109 - pathlib is not needed for errors
    except FileNotFoundError:
        return False


def _refused(exc: OSError, *, as_json: bool) -> int:
    """Report what the operating system refused where nothing nearer to it could say more."""
    if exc.filename is None and _output_is_full():
        silence("stdout")
        hint = "free disk space and try again; what was executed is in the trace of the run"
        return report(
            GertError(f"the output cannot be written: {exc.strerror}", kind=ErrorKind.OUTPUT, hint=hint), as_json=False
        )
    what = f"{exc.filename} cannot be used" if exc.filename else "the operating system refused a file or a process"
    hint = "check permissions, disk space and limits (ulimit -a), then try again; a run that was started can be resumed"
    return report(GertError(f"{what}: {exc.strerror}", kind=ErrorKind.SYSTEM, hint=hint), as_json=as_json)


def _output_is_full() -> bool:
    try:
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), b"")
    except (OSError, ValueError, AttributeError) as error:
        return isinstance(error, OSError) and error.errno in _FULL
    return False


def _hider(exc: BaseException) -> Callable[[str], str]:
    """Return a function that hides the keys of gert in a text, and the secrets of the run the error comes from."""
    mask: Callable[[str], str] = getattr(exc, "mask", str)
    return lambda text: hide_keys(mask(text))


def hide_keys(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the text without the keys of gert, and the password of its store, that are in the environment."""
    for name, value in environ.items():
        if _is_key(name) and len(value) >= _SHORTEST_KEY:
            text = text.replace(value, f"<REDACTED:{name}>")
    # An address may also stand among the words of the command, in a place that is not for one.
    given = [(word, HIDDEN) for word in sys.argv[1:] if "://" in word]
    for address, mask in [(environ.get(_STORE, ""), f"<REDACTED:{_STORE}>"), *given]:
        if address:
            from gert_core.kit.store_urls import passwords_of

            for password in passwords_of(address):
                text = text.replace(password, mask) if len(password) >= _SHORTEST_KEY else text
    return text


def _is_key(name: str) -> bool:
    """Return whether a variable holds one of gert's own keys."""
    return name.startswith("GERT_") and "_KEY" in name and not name.endswith("_KEY_ID")


def _from_typer(exc: BaseException) -> bool:
    # typer carries its own copy of click since 0.26 and used the real one before; both classes look like this.
    return hasattr(exc, "format_message") and hasattr(exc, "exit_code")


def _usage(exc: BaseException, *, as_json: bool) -> int:
    context = getattr(exc, "ctx", None)
    if type(exc).__name__ == "NoArgsIsHelpError":
        if not as_json:
            err(context.get_help() if context else "")
            return UsageError.exit_code
        return report(UsageError("a command is missing"), as_json=True)
    message = " ".join(exc.format_message().split()).rstrip(".")  # type: ignore[attr-defined]
    # What stands behind the name of an input whose `--var` was forgotten may be a secret.
    message = hide_keys(_GIVEN.sub(r"\1=...", message) if message.startswith("Got unexpected") else message)
    hint = f"`{context.command_path} --help` shows how to call it" if context else None
    return report(UsageError(message, hint=hint), as_json=as_json)


def _diagnostic(found: Diagnostic) -> str:
    where = ":".join(str(part) for part in (found.file, found.line, found.column) if part is not None)
    hint = f" ({found.hint})" if found.hint else ""
    return escape(f"{where + ': ' if where else ''}{found.severity} [{found.rule}] {found.message}{hint}")


__all__ = ["BROKEN_PIPE", "INTERNAL", "INTERRUPTED", "hide_keys", "report", "report_exception"]
