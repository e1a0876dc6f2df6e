"""Test that the environment of the figures has exact versions for all requirements of pyproject.toml."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.commands import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = ("genetic", "cluster", "learn", "peers")  # with which figures are made, unlike those for tests and pages
LINES = (ROOT / "requirements-figures.txt").read_text().splitlines()
PINS = dict(line.split("==") for line in LINES if not line.startswith("#"))


def test_every_line_is_a_name_and_one_version():
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line) for line in LINES if not line.startswith("#"))
    names = [line.partition("==")[0] for line in LINES if not line.startswith("#")]
    assert names == sorted(set(names))


@pytest.mark.parametrize(
    "asked", [*PROJECT["dependencies"], *(r for extra in EXTRAS for r in PROJECT["optional-dependencies"][extra])]
)
def test_what_the_project_asks_for_is_pinned_to_a_version_that_it_allows(asked: str):
    wanted = Requirement(asked)
    assert Version(PINS[wanted.name]) in wanted.specifier


def test_the_records_were_made_with_these_versions():
    records = [json.loads(file.read_text()) for file in sorted((ROOT / "docs" / "evidence").rglob("*.json"))]
    assert records
    named = {name: version for record in records for name, version in record["versions"].items() if name != "gapwise"}
    python = named.pop("python")
    assert {name: PINS[name] for name in named} == named
    assert f"Python {python}," in LINES[0]
