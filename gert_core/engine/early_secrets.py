"""Mask messages about the inputs of a run, written before the masker of the run exists."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, InputError, UsageError
from gert_core.kit.excerpts import hiding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.secrets import Masker, Secrets


class EarlySecrets:
    """The secrets of the environment, and what was given for secret inputs so far: right, wrong, or too short."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self.given: dict[str, list[object]] = {}

    def masker(self) -> Masker:
        """Return the masker of everything that is known now."""
        known: dict[str, object] = {}
        for name, values in self.given.items():
            known |= {name if number == 0 else f"{name}.{number}": value for number, value in enumerate(values)}
        try:
            return self._secrets.masker(known, placeholders=True)
        except InputError:  # a name that no mask can have, which is refused with the inputs
            return self._secrets.masker()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Hide the secrets in texts that are cut or quoted, and mask them in errors about inputs."""
        with hiding(lambda text: self.masker().places(text)):
            try:
                yield
            except (InputError, UsageError) as error:
                if error.kind not in (ErrorKind.SECRET_TOO_SHORT, ErrorKind.SECRET_NAME):
                    error.message = self.masker().mask_text(error.message)
                raise


__all__ = ["EarlySecrets"]
