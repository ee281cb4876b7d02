"""The records of the API are frozen, keyword-only structs that can be subclassed like any class."""

from __future__ import annotations

import copy
import pickle
from typing import ClassVar

import msgspec
import pytest
from msgspec.structs import replace

import gert_core.api as api
from gert_core.api import Completed, Contract, Failed, Outcome, Principal

RECORDS = [
    found for name in api.__all__ if isinstance(found := getattr(api, name), type) and issubclass(found, msgspec.Struct)
]


def test_there_are_records():
    assert {Completed, Contract, Failed, Outcome, Principal} <= set(RECORDS)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_a_record_is_frozen_and_takes_keywords_only(record):
    config = record.__struct_config__
    assert config.frozen
    assert config.eq
    with pytest.raises(TypeError, match="positional"):
        record("something")


def test_a_record_cannot_be_changed():
    outcome = Outcome(category="resolved")
    with pytest.raises(AttributeError):
        outcome.code = "other"
    assert replace(outcome, code="other") == Outcome(category="resolved", code="other")


def test_records_compare_hash_copy_and_pickle_by_value():
    one, two = Principal(kind="human", id="alice"), Principal(kind="human", id="alice")
    assert one == two
    assert hash(one) == hash(two)
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert one != Principal(kind="human", id="bob")


def test_default_values_are_never_shared():
    assert Completed().outputs is not Completed().outputs


def test_a_subclass_has_class_variables_its_own_fields_and_super():
    class Timed(Principal, frozen=True, kw_only=True):
        unit: ClassVar[str] = "seconds"
        seconds: float = 1.0

        def to_json(self):
            return {**super().to_json(), "seconds": self.seconds, "unit": self.unit}

    timed = Timed(id="clock", seconds=2.0)
    assert timed.to_json() == {"kind": "system", "id": "clock", "seconds": 2.0, "unit": "seconds"}
    assert "unit" not in Timed.__struct_fields__
    assert timed != Principal(id="clock")
