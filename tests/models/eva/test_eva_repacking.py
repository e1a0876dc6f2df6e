"""Large neighbourhood search for the net saving: valid packings that only get better, and the same ones again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from instances import Options, Stopwatch
from instances.eva import packing_arrays, random_workloads
from instances.eva.reconfiguration_arrays import NEW
from models.eva.saving.columns import PackingMaster
from models.eva.saving.nets import pack_greedily
from models.eva.saving.parameters import DEFAULTS
from models.eva.saving.search import SavingSearch, repack

PATIENCE = 5


def search_of(options: Options, seed: int = 3) -> tuple[SavingSearch, list[float]]:
    """A search with the greedy packing of tasks that hardly slow each other down, and the values that it tells."""
    arrays = packing_arrays(random_workloads(60, 30, seed, least_throughput=0.9).data)
    told: list[float] = []
    start = [(NEW, kind, on_it, copies) for kind, on_it, copies in pack_greedily(arrays)]
    parameters = replace(DEFAULTS, repacked=20, repackings=12)
    search = SavingSearch(
        PackingMaster(arrays), start, options, Stopwatch(), lambda placed, bound: told.append(search.value), parameters
    )
    return search, told


@pytest.mark.parametrize("seed", [0, 1])
def test_packing_parts_anew_saves_more_and_keeps_every_task(seed: int):
    search, told = search_of(Options(seed=seed))
    greedy = search.value
    repack(search, Stopwatch(), PATIENCE)
    assert search.value > greedy
    assert told == sorted(told)
    assert np.array_equal(search.copies @ search.columns.on_it, search.master.arrays.packing.count)
    assert search.value == pytest.approx(float(search.master.net(search.columns) @ search.copies))
    again, _ = search_of(Options(seed=seed))
    repack(again, Stopwatch(), PATIENCE)
    assert again.placed == search.placed


def test_instances_of_more_tasks_than_are_packed_anew_stay_as_they_are():
    """They once were a part of no tasks, which is no packing problem."""
    search, told = search_of(Options())
    search.parameters = replace(search.parameters, repacked=1, most_repacked=1)
    repack(search, Stopwatch(), PATIENCE)
    assert (search.columns.on_it[search.copies > 0].sum(axis=1) > 1).any()
    assert not told


def test_it_ends_with_the_effort_the_time_and_a_small_gap():
    one, told = search_of(Options(effort=1))
    repack(one, Stopwatch(), PATIENCE)
    assert len(told) <= 1
    late, told = search_of(Options())
    repack(late, Stopwatch(0.0), PATIENCE)
    assert not told
    done, told = search_of(Options())
    done.bound = done.value
    repack(done, Stopwatch(), PATIENCE)
    assert not told
