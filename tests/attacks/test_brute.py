"""A sample of `tests.attacks.brute`: every exact method against brute force, without a start."""

from __future__ import annotations

import pytest

from tests.attacks.brute import FAMILIES
from tests.attacks.families import attack
from tests.sampling import sample


@pytest.mark.parametrize("name", FAMILIES)
def test_exact_methods_without_a_start_agree_with_brute_force(name):
    tally = attack(FAMILIES[name], sample(25, 200), seed=0)
    assert tally.wrong == []
    assert len(tally.unproven) <= tally.runs // 20
