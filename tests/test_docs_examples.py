"""Test that the examples in the docs run unchanged."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "adding.md"


def test_a_pricer_for_bins_with_conflicts_solves_and_proves_as_the_page_says():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert tried > 10
