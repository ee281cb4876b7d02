"""``gert keys``: make keys for signing approvals and traces, and show the public part of one."""

from __future__ import annotations

import json as json_
import sys
from base64 import b64encode
from typing import TYPE_CHECKING, Annotated

from gert_core.api.errors import PluginError, UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, out
from gert_core.cli.session import project_or_warning, registry_for
from gert_core.keys import (
    APPROVAL,
    DEFAULT_ALGORITHM,
    TRACE,
    UnusableKeyError,
    check_key_id,
    parse_key,
    signing_key,
    suffix,
)
from gert_core.plugin.lazy import load_target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import SignatureScheme
    from gert_core.keys import Key, KeyVariables
    from gert_core.plugin.registry import Registry

_USES = {"approval": APPROVAL, "trace": TRACE}
_BRIDGE, _LINK = "bridge", "link"
_ONCE = "  hint: the private key is printed once and stored nowhere; keep it in a password manager or secret store"


def new(
    ctx: typer.Context,
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="A label: who signs with it (alice, prod-2026).")],
    use: Annotated[
        str, typer.Option("--for", metavar="USE", help="approval, trace, bridge (web, slack ...) or link.")
    ] = "approval",
    algorithm: Annotated[
        str | None, typer.Option("--algorithm", metavar="ALG", help="The algorithm; a key pair's by default.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Make a key pair: what the signer keeps, and what everybody else is given."""
    try:
        check_key_id(key_id)
    except UnusableKeyError as error:
        raise UsageError(str(error)) from None
    if use == _LINK:
        _print_link_key(json=json)
        return 0
    variables = None if use == _BRIDGE else _variables(use)
    scheme = _scheme(registry_for(project_or_warning(), ctx.obj), algorithm)
    private = load_target(scheme.generate)()
    if variables is None:
        _print_bridge_key(scheme.algorithm, private, load_target(scheme.public)(private), name=key_id, json=json)
        return 0
    _print(
        scheme.algorithm, private, load_target(scheme.public)(private), variables=variables, key_id=key_id, json=json
    )
    return 0


def show(
    ctx: typer.Context,
    use: Annotated[str, typer.Option("--for", metavar="USE", help="approval or trace.")] = "approval",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show the public part of the signing key in the environment, or of a key on standard input."""
    variables = _variables(use)
    key = _given(variables, ctx.obj.environ)
    scheme = _scheme(registry_for(project_or_warning(), ctx.obj), key.algorithm)
    try:
        public = _written(scheme.algorithm, load_target(scheme.public)(key.data))
    except ValueError as error:
        raise UsageError(f"{key.name} is not a valid key for {key.algorithm}: {error}") from None
    key_id = ctx.obj.environ.get(variables.signing_key_id) or ""
    if json:
        out(json_.dumps({"algorithm": scheme.algorithm, "key_id": key_id or None, "public": public}))
    else:
        out(public)
    return 0


def _variables(use: str) -> KeyVariables:
    if use not in _USES:
        raise UsageError(f"--for takes {' or '.join(_USES)}, not {use!r}")
    return _USES[use]


def _given(variables: KeyVariables, environ: Mapping[str, str]) -> Key:
    try:
        key = signing_key(environ, variables)
        if key is not None:
            return key
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError(
                f"{variables.signing_key} is not set",
                hint="set it, or give the key on standard input; it is not printed",
            )
        return parse_key(sys.stdin.read(10_000), name="the key on standard input")
    except UnusableKeyError as error:
        raise UsageError(str(error)) from None


def _scheme(registry: Registry, algorithm: str | None) -> SignatureScheme:
    schemes = [scheme for scheme in registry.signature_schemes().values() if scheme.generate and scheme.public]
    if algorithm is not None:
        schemes = [scheme for scheme in schemes if scheme.algorithm == algorithm]
    if not schemes:
        wanted = f"signature algorithm {algorithm}" if algorithm else "a signature algorithm with key pairs"
        raise PluginError(
            f"no installed plugin makes keys for {wanted}",
            hint="shared keys are random bytes: write hmac-sha256: and the base64 of 32 of them",
        )
    return min(schemes, key=lambda scheme: scheme.algorithm)


def _print(algorithm: str, private: bytes, public: bytes, *, variables: KeyVariables, key_id: str, json: bool) -> None:
    signing, verifying = _written(algorithm, private), _written(algorithm, public)
    if json:
        out(json_.dumps({"algorithm": algorithm, "key_id": key_id, "private": signing, "public": verifying}))
        return
    out("# private: only for the one who signs")
    out(f"{variables.signing_key}={signing}")
    out(f"{variables.signing_key_id}={key_id}")
    out("# public: for everybody who verifies")
    out(f"{variables.verify_key}_{suffix(key_id)}={verifying}")
    err(_ONCE)


def _print_bridge_key(algorithm: str, private: bytes, public: bytes, *, name: str, json: bool) -> None:
    """Print the key of a program that answers for people, and what a policy has of it."""
    from gert_core.hosting.bridges import BRIDGE_KEY

    signing, verifying = _written(algorithm, private), _written(algorithm, public)
    if json:
        out(json_.dumps({"algorithm": algorithm, "bridge": name, "private": signing, "public": verifying}))
        return
    out("# private: only for the program that takes the answers, never where runs are executed")
    out(f"{BRIDGE_KEY}_{suffix(name)}={signing}")
    out("# public: for the policy that says who people are")
    out(f'bridges: {{{name}: {{keys: ["{verifying}"]}}}}')
    err(_ONCE)


def _print_link_key(*, json: bool) -> None:
    """Print a shared key for personal links."""
    from secrets import token_bytes

    from gert_core.hosting.bridges import LINK_KEY

    key = _written(DEFAULT_ALGORITHM, token_bytes(32))
    if json:
        out(json_.dumps({"algorithm": DEFAULT_ALGORITHM, "private": key}))
        return
    out("# shared: for gert web, and where links are made; never where runs are executed")
    out(f"{LINK_KEY}={key}")
    err(_ONCE)


def _written(algorithm: str, key: bytes) -> str:
    return f"{algorithm}:{b64encode(key).decode()}"


__all__ = ["new", "show"]
