"""Test the policies of the renting world: Pollux against all splits, its rules, and plans."""

from __future__ import annotations

from itertools import product
from types import MappingProxyType

import numpy as np
import pytest

from experiments.simulator.simulation import Simulation
from heuristics.boa.online import ONLINE, CountingAcquisition
from heuristics.boa.online_genetic import GeneticParameters, GeneticSplit
from heuristics.boa.online_pollux import Pollux, PolluxParameters, efficiencies, max_useful_gpus, split, splits
from instances import Instance, Options
from instances.boa import Points, Speedup, poisson_renting
from instances.boa.online import RentingJobView, RentingView, Widths, decision
from models.boa import exact
from tests.boa_renting_cases import HOUR, job_class, ran, workload

DRAWN = poisson_renting(1.5, 2)


@pytest.mark.parametrize("seed", range(8))
def test_the_best_split_is_the_best_of_all_splits_for_every_size_of_the_cluster(seed: int):
    rng = np.random.default_rng(seed)
    gain = np.round(rng.normal(size=(3, 5)).cumsum(axis=1), 3)
    gain[:, 0] = 0
    gain[rng.random(gain.shape) < 0.15] = -np.inf
    gain[:, 0] = rng.choice([0.0, -1.0])
    speed = rng.random((3, 5))
    choice = splits(gain, 12)
    for gpus in range(13):
        best = max(sum(gain[range(3), list(w)]) for w in product(range(5), repeat=3) if sum(w) <= gpus)
        width = split(choice, gpus)
        assert width.sum() <= gpus
        assert gain[range(3), width].sum() == pytest.approx(best)
    found = efficiencies(choice, speed, 4)
    assert found[2] == pytest.approx(speed[range(3), split(choice, 8)].sum() / 8)


def test_of_equal_splits_the_narrower_is_chosen():
    gain = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    assert split(splits(gain, 2), 2).tolist() == [2, 0]


def test_a_genetic_search_keeps_the_cluster_and_comes_close_to_the_best_split():
    search = GeneticSplit(GeneticParameters(individuals=30, generations=20))
    gain = np.sqrt(np.arange(9))[None] * np.array([[1.0], [2.0], [0.5]])
    gain[2, 5:] = -np.inf
    width = search(gain, 10)
    assert width.sum() <= 10
    assert width[2] <= 4
    best = gain[range(3), split(splits(gain, 10), 10)].sum()
    assert 0.95 * best <= gain[range(3), width].sum() <= best + 1e-9
    assert (width == search(gain, 10)).all()


@pytest.mark.parametrize("policy", ["pollux-sum", "pollux-mean"])
def test_pollux_decides_at_every_minute_and_no_sooner(policy: str):
    world = ran(DRAWN.data, ONLINE[policy](DRAWN.data))
    table = world.records.stretches_table()
    changed = table[table["active_from"] > table["since"]]  # rescaled: at a minute, or when a node came
    nodes = {round(node.ready_at, 6) for node in world.records.nodes}
    late = [t for t in changed["since"] if abs(t / 60 - round(t / 60)) > 1e-9 and round(t, 6) not in nodes]
    assert not late
    assert len(changed) > len(DRAWN.data.jobs)


def test_a_cluster_of_the_budget_is_there_from_the_first_job_to_the_last():
    world = ran(DRAWN.data, ONLINE["pollux-sum"](DRAWN.data))
    nodes = {(node.ordered_at, node.marked_at) for node in world.records.nodes}
    table = world.jobs_table()
    assert nodes == {(table["submit"].min(), table["end"].max())}
    assert len(world.records.nodes) == round(DRAWN.data.budget_gpus / 4)


def test_the_lower_the_efficiency_aimed_at_the_more_is_rented_and_the_sooner_jobs_end():
    found = []
    for aim in (0.8, 0.5):
        world = ran(DRAWN.data, ONLINE[f"pollux-as-sum-{aim}"](DRAWN.data))
        found.append((world.totals()["billed_gpu_h"], world.jobs_table()["jct"].mean()))
        seen = world.totals()["seen_efficiency_over_time"]
        assert abs(seen - aim) < 0.12
    assert found[0][0] < found[1][0]
    assert found[0][1] > found[1][1]


@pytest.mark.parametrize("seed", range(6))
def test_the_size_is_the_closest_of_all_sizes_though_not_all_are_looked_at(seed: int):
    """With `first` at 1 every size is looked at, whatever its efficiency."""
    rng = np.random.default_rng(seed)
    data, aim, names = DRAWN.data, rng.choice([0.5, 0.7, 0.9]), [c.name for c in DRAWN.data.classes]
    jobs = [RentingJobView(f"j{i}", str(rng.choice(names)), 0.0, 0, 1.0) for i in range(int(rng.integers(1, 9)))]
    view = RentingView(600.0, 4, {job.id: job for job in jobs}, {}, data.believed)
    for nodes in (0, 1, 3, 20):
        some, every = (Pollux(data, PolluxParameters(efficiency=aim, first=first)) for first in (0.02, 1.0))
        some.nodes = every.nodes = nodes
        said = some.decide(view)
        assert said == every.decide(view)
        assert sum(said.widths.values()) <= 4 * said.nodes
    speed = np.cumsum(rng.random((4, 9)), axis=1) * (np.arange(9) > 0)
    for least in (0.3, 0.9):
        gpus = max_useful_gpus(speed, least)
        assert (efficiencies(splits(speed, 40), speed, 1)[gpus + 1 :] <= least + 1e-9).all()


def test_a_size_inside_the_band_is_left_alone_and_outside_it_is_the_closest():
    pollux = Pollux(DRAWN.data, PolluxParameters(efficiency=0.5))
    falling = np.array([0.0, 1.0, 0.9, 0.7, 0.62, 0.51, 0.4, 0.3])
    for nodes, wanted in ((0, 5), (1, 5), (3, 5), (4, 4), (5, 5), (6, 6), (7, 5)):
        pollux.nodes = nodes
        assert pollux.choose_size(falling) == wanted


def minutes(pollux, data, arrivals, last):
    """Return the decisions of a policy, a minute apart, in a cloud that obeys at once, and what jobs held before.

    `arrivals`: the number of jobs of the first class that are there from each minute on.
    """
    name, jobs, found = data.classes[0].name, {}, []
    for minute in range(last):
        new = [f"j{i}" for i in range(len(jobs), arrivals(minute))]
        jobs |= {job: RentingJobView(job, name, 60.0 * minute, 0, 1.0) for job in new}
        held = [job.width for job in jobs.values()]
        view = RentingView(60.0 * minute, 4, MappingProxyType(jobs), {}, data.believed, arrived=tuple(new))
        said = pollux.decide(view)
        for job, width in said.widths.items():
            if jobs[job].width != width:
                jobs[job].width, jobs[job].paused_until = width, view.now + 90
        found.append((held, said))
    return found


@pytest.mark.parametrize("window", [2, 15])
def test_with_a_window_the_size_changes_when_the_mean_of_so_many_efficiencies_is_off_and_not_before(window: int):
    data = workload({"a1": 0.0}, job_class(speedup=Speedup(amdahl=0.9)))
    aim, off = 0.7, 0.09
    pollux = Pollux(data, PolluxParameters(efficiency=aim, window=window))
    nodes, seen, changes, speed = 0, [], [], lambda k: k / (0.1 * k + 0.9)
    for minute, (held, said) in enumerate(minutes(pollux, data, lambda minute: 3 + minute // 9, 120)):
        if nodes:
            seen.append(sum(map(speed, held)) / (4 * nodes))
        if nodes and (len(seen) <= window or abs(np.mean(seen[-window:]) - aim) <= off):
            assert said.nodes == nodes
            continue
        seen = []
        changes += [minute] if said.nodes != nodes else []
        widths = list(said.widths.values())
        nodes = said.nodes
        assert sum(widths) <= 4 * nodes
    assert len(changes) > 3
    assert min(np.diff(changes)) > window


def test_averaging_follows_a_burst_later_than_the_efficiency_of_the_moment():
    data = workload({"a1": 0.0}, job_class(speedup=Speedup(amdahl=0.9)))
    reached = {}
    for window in (0, 2, 15):
        pollux = Pollux(data, PolluxParameters(efficiency=0.7, window=window))
        made = minutes(pollux, data, lambda minute: 2 if minute < 20 else 12, 60)
        before = made[19][1].nodes
        reached[window] = next(minute for minute in range(20, 60) if made[minute][1].nodes > before)
    assert reached[0] == 20
    assert reached[0] < reached[2] < reached[15] <= 20 + 16


def test_a_job_gets_at_most_twice_the_gpus_that_it_has_run_on_and_one_at_first():
    """A minute is too short for the pause of 90 s, so that a width counts two minutes after it is given."""
    data = workload({"a1": 0.0}, job_class(), budget_gpus=64.0)
    made = minutes(Pollux(data, PolluxParameters(profiled=2.0)), data, lambda minute: 1, 16)
    assert [said.widths["j0"] for _, said in made] == [1, 1, 2, 2, 4, 4, 8, 8, 16, 16, 32, 32, 64, 64, 64, 64]
    assert minutes(Pollux(data), data, lambda minute: 1, 1)[0][1].widths == {"j0": 64}


@pytest.mark.parametrize("policy", ["pollux-sum-profiled", "pollux-as-mean-0.5-window-15-profiled"])
def test_in_a_run_no_job_is_wider_than_twice_what_it_has_run_on(policy: str):
    table = ran(DRAWN.data, ONLINE[policy](DRAWN.data)).records.stretches_table().sort_values("since")
    wider = 0
    for _, mine in table.groupby("job"):
        widest = 0.5
        for width, until, active in zip(mine["width"], mine["until"], mine["active_from"], strict=True):
            assert width <= 2 * widest
            wider += width > widest
            widest = max(widest, width) if until > active else widest
    assert wider > len(DRAWN.data.jobs)


@pytest.mark.parametrize(("told", "widths"), [((1.0, 1.01, 1.02, 1.03), (1, 3)), ((1.0, 1.9, 2.7, 3.4), (2, 2))])
def test_pollux_believes_what_it_is_told(told, widths):
    """A class that is believed not to gain from GPUs gets one of them, though the truth is another."""
    gpus = (1, 2, 3, 4)
    a, b = (job_class(name, speedup=Speedup(table=Points(gpus=gpus, speedup=(1.0, 1.9, 2.7, 3.4)))) for name in "ab")
    epoch = a.epochs[0].model_copy(update={"believed_speedup": Speedup(table=Points(gpus=gpus, speedup=told))})
    data = workload({"a1": 0.0, "b1": 0.0}, a.model_copy(update={"epochs": (epoch,)}), b, budget_gpus=4.0)
    first = ran(data, Pollux(data)).records.stretches_table().groupby("job")["width"].first()
    assert tuple(first) == widths


def test_a_plan_that_counts_the_acquisition_is_that_of_longer_rescalings():
    seen, plans = [], []

    def planner(view):
        if not seen or seen[-1] is not view.believed:
            seen.append(view.believed)
            plans.append(exact(view.believed, options=Options(effort=200)).solution)
        return decision(view, plans[-1])

    world = ran(DRAWN.data, CountingAcquisition(DRAWN.data, planner))
    longer = [c.rescale_seconds / HOUR + 120 / HOUR for c in DRAWN.data.classes]
    assert [c.rescale_hours for c in seen[0].classes] == pytest.approx(longer)
    assert len(seen) == 1  # nothing is estimated, so it is one problem throughout
    assert world.totals()["rented_gpus"] > 0
    rented = {
        policy: Simulation(DRAWN, policy, Options()).work(None).totals["rented_gpus"]
        for policy in ("exact", "acquiring-exact")
    }
    assert rented["acquiring-exact"] < rented["exact"]
    assert rented["acquiring-exact"] == world.totals()["rented_gpus"]


def test_a_method_that_finds_nothing_leaves_it_to_one_gpu_each():
    data = workload({"a1": 0.0, "a2": 10.0})
    world = ran(data, CountingAcquisition(data, lambda view: None))
    assert set(world.records.stretches_table()["width"]) == {1}


def test_jobs_begin_in_order_as_wide_as_asked_for():
    jobs = workload({"a1": 0.0, "a2": 1.0, "a3": 2.0}, budget_gpus=8.0).jobs
    asked = {"a1": 6, "a2": 6, "a3": 1}
    jobs = tuple(job.model_copy(update={"requested_gpus": asked[job.id]}) for job in jobs)
    data = workload({"a1": 0.0}, budget_gpus=8.0).model_copy(update={"jobs": jobs})
    start = ran(data, ONLINE["fifo"](data)).jobs_table().set_index("job")["start"]
    assert start["a1"] == 120
    assert start["a2"] == start["a3"] == pytest.approx(120 + 60 + HOUR / 6)  # a3 would fit, and does not overtake
    at_once = ran(data, ONLINE["requested"](data)).jobs_table()
    assert list(at_once["gpu_hours"]) == pytest.approx([1 + 6 / 60, 1 + 6 / 60, 1 + 1 / 60], rel=0.1)


def test_who_needs_to_be_told_what_users_ask_for_is_refused_where_they_do_not():
    with pytest.raises(Exception, match="no job says how many GPUs"):
        Simulation(DRAWN, "fifo", Options()).work(None)


def test_a_policy_of_ones_own_and_a_method_of_ones_own_run():
    file = Instance.of(DRAWN.data, "small")
    own = Simulation(file, "tests.heuristics.test_boa_online:twos", Options()).work(None)
    assert own.status == "finished"
    assert own.totals["rescalings"] == len(DRAWN.data.jobs)


def twos(data):
    class Twos:
        def decide(self, view):
            return Widths(widths=dict.fromkeys(view.jobs, 2), nodes=-(-2 * len(view.jobs) // data.gpus_per_node))

    return Twos()
