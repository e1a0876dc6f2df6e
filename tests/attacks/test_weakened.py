"""Test that bounds hold without a good incumbent, on a sample of `tests.attacks.weakened`.

`GAPWISE_WEAKENED` sets how many instances of each family, `GAPWISE_WEAKENED_SEED` which.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from instances.kubernetes import shrunk_cluster
from models.core.fixed_bins import FixedBins
from models.kubernetes import exact_consolidation
from tests.attacks.weakened import NAMES, attack_weakened, weakened
from tests.sampling import sample

COUNT = int(os.environ.get("GAPWISE_WEAKENED", sample(1, 50)))
SEED = int(os.environ.get("GAPWISE_WEAKENED_SEED", "1"))


@pytest.mark.parametrize("name", NAMES)
def test_bounds_hold_without_a_good_incumbent(name: str):
    assert attack_weakened(name, COUNT, SEED).wrong == []


def test_weak_packings_lose_a_task_and_weak_methods_know_worse_plans():
    rooms = FixedBins(np.array([[9]]), np.array([0]), np.array([[[1]]]), np.array([3]))
    data = shrunk_cluster(20, 0).data
    strong = exact_consolidation(data)
    with weakened():
        assert rooms.pack_by_dot_product().left.tolist() == [1]
        weak = exact_consolidation(data)
    assert rooms.pack_by_dot_product().complete
    assert weak.bound <= strong.objective <= weak.objective
