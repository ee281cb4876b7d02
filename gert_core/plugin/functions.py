"""Name the plugin whose function raised an exception, or gave something else than it must."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import GertError, PluginError
from gert_core.plugin.ctrl_c import pass_on
from gert_core.plugin.lazy import load_target
from gert_core.plugin.printing import aside

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gert_core.api.inputs import InputResolver
    from gert_core.api.signatures import SignatureScheme
    from gert_core.api.views import ProjectInfo
    from gert_core.plugin.states import PluginInfo


class PluginFault(PluginError):  # noqa: N818 - the fault of a plugin
    """A function of a plugin raised an exception, or gave something unusable."""

    default_kind = ErrorKind.PLUGIN_FAILED


class Unusable(Exception):  # noqa: N818 - a sentence about what a function gave
    """Something that a function must not give."""


def member_names(resolver: InputResolver, project: ProjectInfo | None, plugins: Sequence[PluginInfo]) -> Sequence[str]:
    """Return the members that an input resolver has in a project; raise ``PluginFault`` when it cannot tell them."""
    if resolver.names is None:
        return ()
    try:
        with aside():
            return list(load_target(resolver.names)(project))
    except BaseException as error:
        pass_on(error)
        raise plugin_fault(plugins, f"`names` of input resolver {resolver.name!r}", error) from error


def guarded_scheme(scheme: SignatureScheme, plugins: Sequence[PluginInfo]) -> SignatureScheme:
    """Return a scheme whose functions raise ``ValueError`` for keys as documented and ``PluginFault`` otherwise."""

    def guard(name: str, target: object) -> Callable[..., Any]:
        def call(*arguments: object) -> object:
            try:
                return load_target(target)(*arguments)
            except ValueError:
                raise
            except BaseException as error:
                pass_on(error)
                what = f"`{name}` of signature scheme {scheme.algorithm!r}"
                raise plugin_fault(plugins, what, error) from error

        return call

    return replace(scheme, sign=guard("sign", scheme.sign), verify=guard("verify", scheme.verify))


def plugin_fault(plugins: Sequence[PluginInfo], what: str, error: BaseException) -> PluginFault:
    """Return the error that names the plugin, its distribution and the last place inside it."""
    from gert_core.plugin.advice import ways_out

    return PluginFault(f"{named(plugins)} failed in {what}: {cause(plugins, error)}", hint=ways_out(plugins))


def named(plugins: Sequence[PluginInfo]) -> str:
    """Return a plugin as messages name it: by its name, distribution and version."""
    return f"plugin {' and '.join(info.label for info in plugins)}" if plugins else "a plugin"


def cause(plugins: Sequence[PluginInfo], error: BaseException) -> str:
    """Return one line about an exception: what happened, and the last place inside the plugin where it happened."""
    if isinstance(error, Unusable):
        return str(error)
    if isinstance(error, GertError):
        return error.message
    from gert_core.plugin.loader import describe

    target = plugins[0].entry_point.rpartition(" = ")[2] if plugins else ""
    return describe(error, target)


def a_kind_of(value: object) -> str:
    """Return the type of a value as messages name it."""
    return f"a {type(value).__name__}"


__all__ = ["PluginFault", "Unusable", "a_kind_of", "cause", "guarded_scheme", "member_names", "named", "plugin_fault"]
