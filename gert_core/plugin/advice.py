"""Advice for plugin errors, as commands to copy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gert_core.plugin.states import PluginState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.plugin.states import PluginInfo


def pip(*words: str) -> str:
    """Return a pip command for the Python that runs gert, whatever is first on the PATH."""
    import shlex

    return shlex.join([sys.executable or "python3", "-m", "pip", *words])


def ways_out(problems: Sequence[PluginInfo], missing: Sequence[str] = ()) -> str:
    """Return how to repair or remove them, or to run without them."""
    said = []
    rivals = [info for info in problems if info.state is PluginState.CONFLICTING]
    faulty = [info for info in problems if info not in rivals]
    if faulty:
        distributions = sorted({info.distribution for info in faulty})
        blocks = " ".join(f"-p no:{info.distribution}" for info in faulty)
        said.append(
            f"either repair it with `{pip('install', '--upgrade', *distributions)}`"
            f" or remove it with `{pip('uninstall', *distributions)}`; or run without it: `gert {blocks} ...`"
        )
    if rivals:
        names = sorted({info.distribution for info in rivals})
        remove = " or ".join(f"`{pip('uninstall', name)}`" for name in names)
        without = " or ".join(f"`gert -p no:{name} ...`" for name in names)
        said.append(f"either remove one with {remove}; or run without one: {without}")
    if missing:
        said.append(f"install what is missing with `{pip('install', *missing)}`")
    return "; ".join(said)


def would_be_called(provider: str) -> str:
    """Return the name of a distribution that is not known to exist, without advice to install it."""
    return f"a distribution that provides it would be called {provider}"


__all__ = ["pip", "ways_out", "would_be_called"]
