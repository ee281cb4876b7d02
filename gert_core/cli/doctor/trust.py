"""Check keys, people and secrets, and say which level of trust is reached."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.cli.doctor import Checked, fail, ok, warn
from gert_core.engine.run import default_actor, os_user
from gert_core.governance.enough import lacking_rules
from gert_core.governance.policies import KEYS_BY_ENVIRONMENT
from gert_core.governance.sources import FLOOR, people_of
from gert_core.keys import APPROVAL, DEFAULT_ALGORITHM, TRACE, UnusableKeyError, signing_key, signing_key_id, verify_key
from gert_core.plugin.lazy import load_target
from gert_core.secrets.environ import own_keys, provider_variables
from gert_core.stores.directory import DirectoryStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api import RunStore
    from gert_core.documents.project import Project
    from gert_core.governance import Policies
    from gert_core.keys import KeyVariables
    from gert_core.plugin.registry import Registry

    Environ = Mapping[str, str]

_BRIDGE: Final = re.compile(r"GERT_(?:BRIDGE|LINK|CALLBACK)_.*KEY.*|[A-Z0-9_]*_SIGNING_SECRET")
"""Secrets of programs that answer for people; where runs are executed, a run could approve itself with them."""
_PROOF: Final = b"gert doctor"


class Level(Struct, frozen=True, kw_only=True):
    """A level of trust, and what is missing for it; nothing when it is reached."""

    name: str
    missing: tuple[str, ...]


def check_secrets(environ: Environ, project: Project | None) -> Checked:
    """Fail when the secrets of programs that answer for people are where runs are executed."""
    named = {name for name in environ if environ[name] and _BRIDGE.fullmatch(name)}
    config = project.model.approvals.config if project is not None and project.model.approvals else {}
    named |= {name for name in provider_variables(list(_secret_fields(config))) if environ.get(name)}
    if not named:
        return ok("secrets", "no secret of a program that answers for people is set here")
    hint = "unset them here: only the program that takes the answers needs them"
    return fail("secrets", f"set where runs are executed, which could approve with them: {_list(named)}", hint)


def _secret_fields(config: object) -> Iterator[dict[str, object]]:
    """Yield the fields of a configuration that are called a secret, at any depth."""
    for field, value in config.items() if isinstance(config, Mapping) else ():
        if "secret" in field:
            yield {field: value}
        else:
            yield from _secret_fields(value)


def check_keys(environ: Environ, registry: Registry | None) -> Iterator[Checked]:
    """Sign and verify with the keys in the environment."""
    for use, name in ((APPROVAL, "approval key"), (TRACE, "trace key")):
        yield _key(name, use, environ, registry)


def _key(name: str, use: KeyVariables, environ: Environ, registry: Registry | None) -> Checked:
    hint = f"correct {use.signing_key}; `gert keys new` makes one"
    try:
        key, key_id = signing_key(environ, use), signing_key_id(environ, use)
        verifying = verify_key(environ, use, key_id)
    except UnusableKeyError as error:
        return fail(name, str(error), hint)
    if key is None:
        if verifying is not None:
            return ok(name, f"{verifying.name} verifies signatures; nothing is signed here")
        return ok(name, f"{use.signing_key} is not set: nothing is signed here")
    scheme = registry.signature_scheme(key.algorithm) if registry is not None else None
    if scheme is None:
        return fail(name, f"no active plugin signs with {key.algorithm}, as {key.name} does", hint)
    try:
        signature = load_target(scheme.sign)(key.data, _PROOF)
        public = load_target(scheme.public)(key.data) if scheme.public is not None else key.data
        if verifying is not None:
            if verifying.algorithm != key.algorithm or not load_target(scheme.verify)(
                verifying.data, _PROOF, signature
            ):
                said = f"{verifying.name} does not verify what {key.name} signs"
                return fail(name, said, "set the public part of the signing key: `gert keys show` prints it")
        elif not load_target(scheme.verify)(public, _PROOF, signature):
            return fail(name, f"{key.name} does not verify what it signs", hint)
    except ValueError as error:
        return fail(name, f"{key.name} is not a valid key for {key.algorithm}: {error}", hint)
    if key.algorithm == DEFAULT_ALGORITHM:
        return warn(name, f"{key.name} is a shared key: who verifies could also sign", "`gert keys new` makes a pair")
    return ok(name, f"{key.name} signs with {key.algorithm}")


def check_people(policies: Policies | None, environ: Environ) -> Checked:
    """Look at who can approve by a key of their own, and for rules whose approval cannot be given."""
    if policies is None:
        return warn("people", "not known while a policy is invalid", "correct the policy first")
    actors = frozenset((default_actor(environ), os_user())) - {""}
    if lacking := list(lacking_rules(policies, actors)):
        found = [f"rule {rule.number} of {source.title}: {lack.message}" for source, rule, lack in lacking]
        return warn("people", f"approvals that cannot be given: {'; '.join(found)}", lacking[0][2].hint)
    if policies.keys_by_environment:
        return warn("people", KEYS_BY_ENVIRONMENT, "declare people with their keys in a policy")
    persons = policies.people.persons.values()
    with_keys = sum(bool(person.keys) for person in persons)
    if not persons:
        return ok("people", "no policy declares people: the id of an approver is a claim")
    return ok("people", f"{len(persons)} declared, {with_keys} with keys of their own")


def levels(policies: Policies | None, environ: Environ, store: RunStore | None, *, failed: bool) -> list[Level]:
    """Return the levels of trust in order; one is reached when nothing is missing for it and those before it."""
    return [
        Level(name="laptop", missing=("everything above that failed",) if failed else ()),
        Level(name="shared host", missing=tuple(_shared(policies, environ, store))),
        Level(name="audited production", missing=tuple(_audited(environ, store))),
    ]


def _shared(policies: Policies | None, environ: Environ, store: RunStore | None) -> Iterator[str]:
    floor = [source for source in policies.sources if source.kind == FLOOR] if policies is not None else []
    if not floor:
        yield "policies in the machine floor (/etc/gert/policies), owned by root"
    if not any(person.keys for person in people_of(floor).persons.values()):
        yield "people with their public keys (people) in the machine floor"
    if not any(source.require_signed for source in floor):
        yield "require_signed_approvals: true in the machine floor"
    if environ.get(APPROVAL.signing_key):
        yield f"approvals signed elsewhere: {APPROVAL.signing_key} is set here"
    if not isinstance(store, DirectoryStore):
        return
    try:
        info = store.root.stat()
    except OSError:
        info = None
    if info is not None and (info.st_uid != os.geteuid() or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        yield f"an account of its own for gert, which alone can write to {store.root}"


def _audited(environ: Environ, store: RunStore | None) -> Iterator[str]:
    try:
        key = signing_key(environ, TRACE)
    except UnusableKeyError:
        key = None
    if key is None:
        yield f"signed traces: {TRACE.signing_key}"
    elif key.algorithm == DEFAULT_ALGORITHM:
        yield f"traces signed with a key pair: {TRACE.signing_key} is a shared key"
    if set(own_keys(environ)) - {TRACE.signing_key}:
        yield f"public keys only besides {TRACE.signing_key}: {_list(set(own_keys(environ)) - {TRACE.signing_key})}"
    if store is None or not store.served:
        yield "a store that a database server keeps (GERT_STORE): what gert's account can put back proves nothing"


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))


__all__ = ["Level", "check_keys", "check_people", "check_secrets", "levels"]
