"""The examples of two pages, a pricer and a world, run as they stand."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["adding.md", "own_world.md"])
def test_the_examples_of_a_page_give_what_it_shows(page: str):
    text = (DOCS / page).read_text(encoding="utf-8").replace("\n```\n", "\n\n")  # the end of a block is no output
    found = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(text, {}, page, page, 0))
    assert found.failed == 0
    assert found.attempted > 10
