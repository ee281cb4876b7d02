"""Parts of a model whose types are imported when a document has them.

Making the class of a model and its validator takes a millisecond or two of every command, so the models of parts that
most documents do not have stay out of the models of those that do.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from pydantic_core import core_schema

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationInfo


def later(target: str) -> Any:
    """Return a type for a field of a model that stands for the type ``"package.module:NAME"``."""
    return Annotated[Any, Later(target)]


class Later:
    """The type behind a part; places and kinds of mistakes, and the exported schema, are those of the type itself."""

    def __init__(self, target: str) -> None:
        self._target = target

    @cached_property
    def type(self) -> Any:
        """The type that is meant."""
        module, _, name = self._target.partition(":")
        return getattr(import_module(module), name)

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        from pydantic import TypeAdapter

        return TypeAdapter(self.type)

    def _validate(self, value: object, info: ValidationInfo) -> object:
        # pydantic puts the errors of this validation below the place of the part.
        return self._adapter.validate_python(value, strict=True, context=info.context)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(self._validate)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        # Inside of another schema, the type is one of the definitions and has its own say about its schema.
        return handler(core_schema.no_info_after_validator_function(_same, self._adapter.core_schema))


def _same(value: object) -> object:
    return value


__all__ = ["Later", "later"]
