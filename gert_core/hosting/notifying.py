"""Hand one notification to its notifier: read again what the rule says, and hide secrets in what comes back."""

from __future__ import annotations

import re
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, unquote_plus, urlsplit

from msgspec import ValidationError, convert
from msgspec.structs import asdict, replace

from gert_core.api import GertError, Services
from gert_core.api.notifiers import Delivery, Notification
from gert_core.engine.known_secrets import run_masker
from gert_core.hosting.told import document_of, subject_of
from gert_core.kit.excerpts import hiding
from gert_core.plugin.kinds import NOTIFIER
from gert_core.plugin.lazy import load_target
from gert_core.plugin.loader import saying
from gert_core.secrets import MINIMUM
from gert_core.secrets.environ import child_environ, provider_variables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gert_core.api import Notifier
    from gert_core.documents.notify import NotifyRule
    from gert_core.documents.project import Project
    from gert_core.engine.cancel import Deadline
    from gert_core.plugin.registry import Registry
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.owed import Owed
    from gert_core.secrets.masker import Masker

    Try = Callable[[Deadline], Delivery]
    """Makes one try within a deadline."""

_VARIABLE: Final = "env/"
_LONGEST: Final = 500
"""The most characters of an error that are kept."""
_LEAST: Final = 8
"""The least characters of a word in an address, or of a variable, that is hidden."""


class NotSent(Exception):  # noqa: N818 - what became of a notification that no notifier was asked to send
    """Nothing was sent; ``delivery`` says why."""

    def __init__(self, delivery: Delivery) -> None:
        super().__init__(delivery.error)
        self.delivery = delivery


class Post:
    """One notification on its way."""

    def __init__(
        self,
        info: RunInfo,
        owed: Owed,
        *,
        registry: Registry,
        project: Project | None,
        environ: Mapping[str, str],
    ) -> None:
        self._info, self._owed = info, owed
        self._registry, self._project, self._environ = registry, project, environ
        self.name = owed.notifier

    def prepare(self) -> Try:
        """Return what makes one try at a time; raise ``NotSent`` when there is nothing to try.

        The notifier is imported here, so that no try has less time for that.
        """
        rule, notifier = self._rule()
        value = self._value(rule.value)
        notifier = self._taker(notifier, value)
        self.name = notifier.name
        config = {} if self._project is None else dict(self._project.model.notifiers.get(notifier.name) or {})
        self._refuse_own(f"notifiers.{notifier.name}", provider_variables(config))
        masker, told = self._masker(value, config), self._masker(value, config, parts=True)
        try:
            function = load_target(notifier.send)
        except BaseException as error:  # of a plugin, in a thread of its own: also one that exits
            raise _later(_line(told, f"notifier {notifier.name!r}: {saying(error)}")) from None
        notification = self._notification(rule, notifier, value, config, masker)
        services = replace(self._services(notifier), config=config)

        def attempt(deadline: Deadline) -> Delivery:
            try:
                with hiding(told.places):
                    result = function(notification, services, deadline)
            except BaseException as error:
                said = error.message if isinstance(error, GertError) else saying(error)
                return Delivery(status="failed", error=_line(told, said))
            if not isinstance(result, Delivery):
                said = f"notifier {notifier.name!r} returned a {type(result).__name__}"
                return Delivery(status="failed", error=said)
            return _checked(result, notifier, told)

        return attempt

    def _notification(
        self, rule: NotifyRule, notifier: Notifier, value: str, config: Mapping[str, Any], masker: Masker
    ) -> Notification:
        state = self._info.state
        assert state is not None  # noqa: S101 - what cannot be read owes nothing
        base_url, place = config.get("base_url"), self._info.place
        return Notification(
            id=self._owed.id,
            event=self._owed.event,
            value=value,
            subject=masker.mask_text(subject_of(state, self._project_name())),
            document=document_of(
                self._info,
                self._owed,
                place=None if place is None else masker.mask_text(place),
                base_url=base_url if isinstance(base_url, str) else None,
            ),
            options={name: rule.beside[name] for name in notifier.options if name in rule.beside},
        )

    def _rule(self) -> tuple[NotifyRule, Notifier]:
        """Return what the rule says today; one that says something else than when the run began is refused."""
        import pydantic

        from gert_core.documents import yaml
        from gert_core.documents.notify import rules_of

        notifier = self._registry.notifiers().get(self._owed.notifier)
        if notifier is None:
            hint = self._registry.provider_hint(NOTIFIER, self._owed.notifier)
            raise _later(f"no installed plugin provides notifier {self._owed.notifier!r}: {hint}")
        source = str(self._owed.rule["source"])
        document, _, place = source.rpartition("#")
        try:
            value = yaml.load(Path(document)).value
        except (GertError, OSError) as error:
            raise _later(f"cannot read {document}: {getattr(error, 'message', error)}") from None
        try:
            rule = next((rule for rule in rules_of(value) if rule.place == place), None)
        except (pydantic.ValidationError, TypeError, AttributeError):
            rule = None
        if rule is None:
            raise _never(f"{source} is not there any more")
        if rule.digest(notifier.options) != self._owed.rule["sha256"]:
            raise _never(f"{source} says something else than when the run began")
        return rule, notifier

    def _value(self, written: object) -> str:
        if not isinstance(written, str) or not written.startswith(_VARIABLE):
            return str(written)
        name = written.removeprefix(_VARIABLE)
        self._refuse_own(str(self._owed.rule["source"]), [name])
        found = self._environ.get(name)
        if not found:
            raise _later(f"{name} is not set")
        return found

    def _taker(self, notifier: Notifier, value: str) -> Notifier:
        """Return the notifier that sends to the host of an address, whichever key it stands under."""
        host = _host(value)
        others = self._registry.notifiers().values()
        return next((other for other in others if host and host in other.hosts), notifier)

    def _refuse_own(self, where: str, names: Iterable[str]) -> None:
        """Refuse to give a receiver one of gert's own keys, or what opens the store of runs."""
        given = self._given(self.name)
        if own := [name for name in sorted(names) if name in self._environ and name not in given]:
            raise _never(f"{where} names {own[0]}, a key of gert or of its store, which no receiver gets")

    def _given(self, notifier: str) -> dict[str, str]:
        """Return the environment for a notifier: of gert's own keys it has those that are called after it."""
        given = child_environ(self._environ, (), declared=self._info.run.secrets)
        mine = f"GERT_{notifier.upper()}_"
        return given | {name: value for name, value in self._environ.items() if name.startswith(mine)}

    def _masker(self, value: str, config: Mapping[str, Any], *, parts: bool = False) -> Masker:
        """Return what hides the secrets of the run and of this notification, the path of an address by itself too.

        With ``parts`` also what may be a password or a token in an address, which a receiver may tell by itself.
        """
        state = self._info.state
        assert state is not None  # noqa: S101 - what cannot be read owes nothing
        masker = run_masker(self._info.run, state, self._environ)
        found = [self._environ.get(name, "") for name in provider_variables(config)]
        if "://" in value:
            found += [value, value.partition("://")[2].partition("/")[2]]
        found = [text for text in found if len(text) >= _LEAST]
        for number, secret in enumerate([*found, *(_parts(value) if parts else ())]):
            masker.learn(f"notify.{number}", secret)
        return masker

    def _services(self, notifier: Notifier) -> Services:
        from gert_core.host import SilentConsole

        project = self._registry.project_info(NOTIFIER, notifier.name, self._project)
        run = self._info.run
        return Services(
            console=SilentConsole(),
            run_id=run.run_id,
            run=run,
            run_dir=run.path,
            project=project,
            environ=self._given(notifier.name),
        )

    def _project_name(self) -> str:
        if self._project is None:
            return ""
        return self._project.model.name or self._project.root.resolve().name


def _checked(result: Delivery, notifier: Notifier, masker: Masker) -> Delivery:
    """Return what a notifier returned, with its error masked; a record of wrong types is a try that failed."""
    try:
        found = convert(asdict(result), Delivery)
    except ValidationError as error:
        return Delivery(status="failed", error=_line(masker, f"notifier {notifier.name!r} returned nonsense: {error}"))
    after = found.retry_after
    return replace(
        found,
        error=_line(masker, found.error),
        retry_after=after if after is not None and isfinite(after) else None,
    )


def _line(masker: Masker, said: str) -> str:
    """Return a sentence in one line: masked as it was said, and only then put together and cut."""
    line = " ".join(masker.mask_text(masker.mask_fragments(said)).split())[:_LONGEST]
    return line.encode("utf-8", "replace").decode()  # it is kept as UTF-8


def _parts(address: str) -> Iterator[str]:
    """Yield what may be a secret in an address, as it is written and as it is meant."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return
    who, _, _ = parts.netloc.rpartition("@")
    words = re.split(r"[/?&=;,#]", f"{parts.path}?{parts.query}#{parts.fragment}")
    for text in words:
        yield from (word for word in {text, unquote_plus(text)} if len(word) >= _LEAST)
    for text in {who, *who.partition(":")[::2]}:
        yield from (word for word in {text, unquote(text)} if len(word) >= MINIMUM)


def _host(value: str) -> str | None:
    try:
        return urlsplit(value).hostname if "://" in value else None
    except ValueError:
        return None


def _later(error: str) -> NotSent:
    return NotSent(Delivery(status="failed", error=error))


def _never(error: str) -> NotSent:
    return NotSent(Delivery(status="refused", error=error))


__all__ = ["NotSent", "Post"]
