"""Policies as written: ``policy/v0`` documents, with the people whose approvals count."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from gert_core.documents.fields import Given, Model, OneOrMany, Text, no_items
from gert_core.documents.governance import GovernanceModel

API_VERSION: Final = "policy/v0"


class PolicyMeta(Model):
    """Name and version of a policy."""

    name: Text = Field(description="The name that decisions are attributed to.")
    version: Given[Text] = Field(default=None, description="The policy's own version.")
    description: Given[str] = Field(default=None, description="What it is for.")


class PersonModel(Model):
    """One person: the public keys they sign with, and their identities elsewhere."""

    keys: list[Text] = Field(default_factory=no_items, min_length=1, description="Public keys, like `ed25519:BASE64`.")
    os: Given[OneOrMany[Text]] = Field(default=None, description="Names of users of the operating system.")
    login: Given[OneOrMany[Text]] = Field(default=None, description="Names at the web inbox's sign-in.")
    slack: Given[OneOrMany[Text]] = Field(default=None, description="Slack ids, `TEAM/USER`.")
    teams: Given[OneOrMany[Text]] = Field(default=None, description="Teams ids, `TENANT/OBJECT`.")


class BridgeModel(Model):
    """A program that answers for people, by the public keys it signs with."""

    keys: list[Text] = Field(min_length=1, description="Public keys, like `ed25519:BASE64`.")


class PolicyModel(GovernanceModel):
    """A policy document."""

    apiVersion: Literal["policy/v0"] = Field(description="`policy/v0`.")  # noqa: N815 - the document's spelling
    meta: PolicyMeta = Field(description="Name and version.")
    people: dict[Text, PersonModel] = Field(default_factory=dict, description="Who may be named in `approvers`, by id.")
    groups: dict[Text, list[Text]] = Field(default_factory=dict, description="Groups of people, by name; no agents.")
    bridges: dict[Text, BridgeModel] = Field(default_factory=dict, description="Programs that answer for people.")
    personal_keys: bool = Field(
        default=False, description="Whether only a signature by a person's own key counts, never a bridge's."
    )


__all__ = ["API_VERSION", "PolicyMeta", "PolicyModel"]
