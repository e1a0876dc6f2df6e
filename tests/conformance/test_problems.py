"""Test that every registered problem has the parts that docs/adding.md lists."""

from __future__ import annotations

import re

import pytest

from experiments.papers import SPECS
from experiments.spec import ProblemSpec
from instances.registry import PROBLEMS, Problem
from tests.attacks.brute import FAMILIES
from tests.certificates.readings import READINGS
from tests.commands import ROOT

DOCS = {page.name: page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")}
PARTS = ("methods", "literal", "literal_names", "plot")
"""The parts of a `ProblemSpec` that every problem has."""


def lacking(name: str) -> list[str]:
    """Return the parts that a problem lacks."""
    specs = {problem.name: problem for spec in SPECS.values() for problem in spec.problems}
    spec = specs.get(name, ProblemSpec(name))
    found = [part for part in PARTS if getattr(spec, part) is None]
    if PROBLEMS[name].proof is not None:
        found += ["certifier"] * (spec.certifier is None)
        found += ["reading of tests/certificates/readings.py"] * (name not in READ)
    found += ["family of tests/attacks"] * all(family.partition(" ")[0] != name for family in FAMILIES)
    found += ["section of docs/formats.md"] * (f"\n### {name}\n" not in DOCS["formats.md"])
    return found + ["page of docs"] * all(f"(formats.md#{name})" not in text for text in DOCS.values())


READ = {build(0).problem for build, _ in READINGS.values()}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_has_all_its_parts(name: str):
    assert lacking(name) == []


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_docs_state_every_field(name: str):
    schema = PROBLEMS[name].data.model_json_schema()
    classes = (schema, *schema.get("$defs", {}).values())
    fields = {field for one in classes for field in one.get("properties", {})}
    assert [one for one in fields if not re.search(rf"`[^`\n]*\b{one}\b[^`\n]*`|\"{one}\"", DOCS["formats.md"])] == []


def test_an_unfinished_problem_learns_what_it_lacks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(
        PROBLEMS, "new", Problem("instances.new:New", "instances.new:check", "instances.proofs.new:prove")
    )
    assert len(lacking("new")) == len(PARTS) + 5
