"""Test the makespan of transaction orders by a clock, and its lower bound by all orders."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from experiments.eva.transactions import (
    PROVEN,
    WORKLOADS,
    Exchanges,
    Told,
    Transaction,
    TransactionWorkload,
    Use,
    build_task,
    disguise,
    path_bound,
    proven_above,
    read_published,
    score,
)
from experiments.judging.judge import ProgramJudge
from instances import InputError, Options


def drawn(seed: int, count: int = 6, keys: int = 4) -> TransactionWorkload:
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        length = draw.randint(2, 5)
        steps = draw.sample(range(1, length + 1), draw.randint(1, min(3, length)))
        uses = tuple(Use(step, draw.random() < 0.5, draw.randint(1, keys)) for step in sorted(steps))
        made.append(Transaction(length, uses))
    return TransactionWorkload(tuple(made))


def exchanges(seed: int, count: int = 6, keys: int = 3, length: int = 4) -> TransactionWorkload:
    draw = random.Random(seed)
    pairs = [draw.sample(range(1, keys + 1), 2) for _ in range(count)]
    return TransactionWorkload(tuple(Transaction(length, (Use(1, False, a), Use(length, True, b))) for a, b in pairs))


def by_the_clock(workload: TransactionWorkload, order: tuple[int, ...]) -> int:
    """Each transaction begins at the first step from which all its uses come after all those in conflict with them."""
    done: list[tuple[int, Use]] = []
    last = 0
    for transaction in (workload.transactions[i] for i in order):
        start = 1
        while any(
            use.key == other.key and (use.writes or other.writes) and start + use.step - 1 <= at
            for use in transaction.uses
            for at, other in done
        ):
            start += 1
        done += [(start + use.step - 1, use) for use in transaction.uses]
        last = max(last, start + transaction.length - 1)
    return last


def least(workload: TransactionWorkload) -> int:
    return min(workload.makespan(order) for order in permutations(range(len(workload.transactions))))


def test_the_makespan_of_an_order_by_a_clock():
    for seed in range(60):
        workload, order = drawn(seed, 9), list(range(9))
        random.Random(seed).shuffle(order)
        assert workload.makespan(order) == by_the_clock(workload, tuple(order))
        told = Told(disguise(workload, 0).content)
        assert told.num_txns == 9
        assert told.get_opt_seq_cost(order) == disguise(workload, 0).makespan(order)


def test_no_order_ends_below_a_path_and_some_paths_say_it_all():
    found = [drawn(seed, 5, 1 + seed % 4) for seed in range(40)]
    bounds = [(path_bound(workload), least(workload), workload.longest) for workload in found]
    assert all(longest <= bound <= optimum for bound, optimum, longest in bounds)
    assert sum(bound == optimum > longest for bound, optimum, longest in bounds) >= 4


def test_no_order_of_exchanges_ends_by_what_is_refuted():
    """What the program says of every makespan from the paths on, against all orders; and it says more than they do."""
    more = 0
    for seed in range(12):
        workload = exchanges(seed)
        optimum, bound = least(workload), path_bound(workload)
        refuted = [m for m in range(bound, optimum + 2) if Exchanges(workload, m).is_infeasible(Options())]
        assert all(m < optimum for m in refuted)
        assert proven_above(workload, optimum, Options()) == (max(refuted) + 1 if refuted else bound)
        more += bool(refuted)
    assert more >= 4


def test_other_transactions_are_no_exchanges():
    read, write = Use(1, False, 1), Use(4, True, 2)
    for others in ([Transaction(4, (read,))], [Transaction(4, (read, Use(4, True, 1)))]):
        with pytest.raises(ValueError, match="transaction"):
            Exchanges(TransactionWorkload(tuple(others)), 9)
    with pytest.raises(ValueError, match="the same time"):
        Exchanges(TransactionWorkload((Transaction(4, (read, write)), Transaction(5, (read, Use(5, True, 2))))), 9)


def test_the_leaderboards_workloads_and_what_is_known_of_them():
    workloads, orders = zip(*map(read_published, WORKLOADS), strict=True)
    assert [len(workload.transactions) for workload in workloads] == [100, 100, 100]
    assert (sum(w.file_order_makespan for w in workloads), sum(w.longest for w in workloads)) == (
        537,
        46,
    )  # its baseline_cache.json
    known = [workload.makespan(order) for workload, order in zip(workloads, orders, strict=True)]
    assert all(sorted(order) == list(range(100)) for order in orders)
    bounds = [path_bound(workload) for workload in workloads]
    assert (bounds, known[1:]) == ([127, 33, 25], [33, 28])
    assert all(bounds[number - 1] == known[number - 1] for number in PROVEN)
    assert score(537, workloads) == 0.0
    assert score(46, workloads) == score(95, workloads) == 100.0
    assert score(537 - 221, workloads) == pytest.approx(100 * 221 / (0.9 * 491))


def test_another_seed_disguises_the_same_workload():
    for number in WORKLOADS[1:]:
        workload = read_published(number)[0]
        other = disguise(workload, 3)
        assert other != workload
        assert path_bound(other) == path_bound(workload)
    assert [case.optimum for case in build_task(3).cases] == [case.optimum for case in build_task(0).cases]
    assert build_task(3).cases[0].content != build_task(0).cases[0].content
    with pytest.raises(InputError, match="seed: must be in"):
        build_task(-1)


IN_TURN = """
def get_best_schedule(workload, num_seqs):
    order = list(range(workload.num_txns))
    assert workload.txns[0][0][0] in "rw"
    return workload.get_opt_seq_cost(order), order
"""


def test_a_program_is_called_as_on_the_leaderboard():
    with ProgramJudge(build_task(0)) as judge:
        try:
            found = judge.judge_text(IN_TURN)
        except InputError as error:
            pytest.skip(str(error))
        assert [(case.objective, case.optimum) for case in found.cases] == [(38.0, 33.0)]
        assert judge.judge_text(IN_TURN.replace("workload.num_txns", "99")).cases[0].status == "violates"
        assert judge.judge_text(IN_TURN.replace(", order\n", ", [0.0] * 100\n")).cases[0].status == "malformed"
        assert judge.judge_text(IN_TURN.replace(", order\n", ", ['a']\n")).cases[0].status == "malformed"
