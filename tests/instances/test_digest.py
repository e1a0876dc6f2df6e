"""Test that the digest of an instance ignores defaults, so that new fields do not change it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model

from instances import PROBLEMS, InputError, Instance
from instances.eva import table_3
from instances.fields import ProblemData
from instances.proofs.certificate import digest, see_instance
from tests.attacks.brute import FAMILIES

PINNED = Path(__file__).parents[1] / "data" / "defaults.json"
"""Every default of every problem. Add the default of a new field; never change one."""


def defaults_of(problem: str) -> dict[str, Any]:
    """Return the default of each optional field, by class and field."""
    schema = PROBLEMS[problem].data.model_json_schema()
    nodes = {"data": schema, **schema.get("$defs", {})}
    return {
        f"{name}.{field}": part["default"]
        for name, node in nodes.items()
        for field, part in node.get("properties", {}).items()
        if "default" in part
    }


def with_a_new_field(data: ProblemData) -> ProblemData:
    """Return the same data under a class that has one more optional field."""
    longer = create_model(type(data).__name__, __base__=type(data), is_new=(bool, False))
    made: ProblemData = longer.model_validate(data.model_dump(mode="json"))
    return made


def test_no_default_has_changed():
    assert {name: defaults_of(name) for name in PROBLEMS} == json.loads(PINNED.read_text())


@pytest.mark.parametrize("name", FAMILIES)
def test_a_new_optional_field_leaves_the_digest_as_it_is(name: str):
    for _, data in FAMILIES[name].instances(3, seed=0):
        assert digest(with_a_new_field(data)) == digest(data)


def test_a_new_optional_field_that_is_used_changes_the_digest():
    data = with_a_new_field(table_3().data)
    assert digest(data.with_(is_new=True)) != digest(data)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_the_digest_covers_is_the_whole_instance(name: str):
    """Reading the fields that differ from their defaults gives the same data; other data have another digest."""
    seen: dict[str, ProblemData] = {}
    for _, data in FAMILIES[name].instances(20, seed=0):
        brief = json.loads(json.dumps(data.model_dump(mode="json", exclude_defaults=True)))
        assert type(data).model_validate(brief) == data
        assert seen.setdefault(digest(data), data) == data


def test_the_digest_does_not_depend_on_what_a_file_writes_out(tmp_path: Path):
    data = table_3().data
    whole = Instance.of(type(data).model_validate(data.model_dump(mode="json")), "whole", "")
    assert digest(whole.data) == digest(data)


def test_a_digest_of_the_first_version_is_named_as_such():
    data = table_3().data
    with pytest.raises(InputError, match=r"begins with .2:., got .0000.*make the certificate again"):
        see_instance(data, data.problem, "0" * 64)
