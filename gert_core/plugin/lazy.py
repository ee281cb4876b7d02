"""Import the object that ``"package.module:attribute"`` names, on first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from gert_core.plugin.printing import aside


def load_target(target: object) -> Any:
    """Return the object that ``target`` names as ``"package.module:attribute"``, or the object itself.

    Raises ``PluginError`` naming the target when it cannot be imported.
    """
    return _import(target) if isinstance(target, str) else target


@cache
def _import(target: str) -> object:
    module, _, attribute = target.partition(":")
    if not module or not attribute:
        raise _problem(target, 'it is not of the form "package.module:attribute"')
    try:
        with aside():
            found: object = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.partition(".")[0] == module.partition(".")[0]:
            raise _problem(target, f"{type(exc).__name__}: {exc}") from exc
        raise _missing(target, exc.name) from exc
    except Exception as exc:
        raise _problem(target, f"{type(exc).__name__}: {exc}") from exc
    return found


def _problem(target: str, why: str) -> Exception:
    from gert_core.api.errors import PluginError

    return PluginError(
        f"cannot load {target!r}: {why}",
        hint="reinstall the distribution that provides it, or run without it with -p no:NAME",
    )


def _missing(target: str, name: str) -> Exception:
    from gert_core.api.errors import PluginError

    return PluginError(
        f"cannot load {target!r}: it needs the Python module {name!r}, which is not installed",
        hint="install it into gert's environment, or install the plugin again with what it depends on",
    )


__all__ = ["load_target"]
