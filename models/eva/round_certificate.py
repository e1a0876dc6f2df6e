"""Certificates of a round: duals of column generation, and branch and bound over the patterns of small reduced cost.

The duals are those of the solving method, over the same columns. They are written as integer multiples of a small
fraction of a USD. The duals of tasks are raised until no pattern has a positive reduced value, by the same search as in
`verify`. If too many patterns matter, the certificate proves a larger bound than the value of the solution.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from instances import CheckFailed, Options, Solution, Stopwatch, check
from instances.eva import EvaReconfiguration
from instances.eva.reconfiguration_arrays import ReconfigurationArrays, reconfiguration_arrays
from instances.proofs import Certificate, NoCertificate
from instances.proofs.eva.round_program import ClassedRound, RoundDuals, RoundProgram, add_duals
from models.core.derivation import certify
from models.eva.parameters import ROUND
from models.eva.saving_columns import SavingColumns, SavingDuals, SavingMaster
from models.eva.saving_pricing import SavingPricer
from models.eva.saving_search import Generation, SavingSearch

SCALE = 1 << 40  # duals are multiples of a USD divided by this
FINE = 1 << 60  # the objective cutoff is a multiple of a USD divided by this
SHARE = 0.4  # share of the time limit for column generation
NEAR = Fraction(1, 10**11)  # margin below the value of the solution, as a share, for listing patterns
TRIES = 12  # attempts to list the patterns, each with a larger cutoff


def certificate(data: EvaReconfiguration, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """Return a proof of `bound`, or of the best bound within the time limit. Raises NoCertificate if there is none."""
    clock = Stopwatch(options.time_limit)
    worth = None if solution is None else check(data, solution).objective
    if solution is None or worth is None:
        raise NoCertificate("the proof of a round begins from a solution, and there is none")
    round_ = ClassedRound(data)
    limit = None if options.time_limit is None else SHARE * options.time_limit
    duals, more = _duals(data, round_, solution, options, Stopwatch(limit))
    reach = Fraction(math.floor((Fraction(worth) - NEAR * (1 + abs(Fraction(worth)))) * FINE), FINE)
    why = NoCertificate("the time limit ended before the contents were listed")
    for raised in _raise_duals(duals, more):
        most, reached = round_.pay(raised), reach
        for _ in range(TRIES):
            if clock.has_expired:
                raise why
            try:
                listed = RoundProgram(round_, raised, min(reached, most))
            except CheckFailed:
                break  # a pattern has a positive reduced value
            except NoCertificate as error:
                why, reached = error, Fraction(math.ceil((reached + most) / 2 * FINE), FINE)
                continue
            return write_certificate(data, listed, min(reached, most), solution, bound, options, clock)
        else:
            raise why
    raise NoCertificate("no duals that pay for all contents were found")


def write_certificate(
    data: EvaReconfiguration,
    listed: RoundProgram,
    reach: Fraction,
    solution: Solution,
    bound: float,
    options: Options,
    clock: Stopwatch,
) -> Certificate:
    left = clock.limit_left_s
    program = listed.program()
    found = certify(
        data,
        program,
        listed.point(solution),
        max(Fraction(bound), reach),
        replace(options, time_limit=left),
        {"reach": str(reach)},
        listed.numbers,
    )
    return replace(found, bound=max(found.bound, reach), text=add_duals(found.text, listed.duals, SCALE))


def _duals(
    data: EvaReconfiguration, round_: ClassedRound, solution: Solution, options: Options, clock: Stopwatch
) -> tuple[RoundDuals, Fraction]:
    """Return the duals of column generation over all patterns, and a bound on the reduced value of a pattern."""
    arrays = reconfiguration_arrays(data)
    if not ROUND.suits(arrays.packing):
        raise NoCertificate(f"an instance can hold more than {ROUND.most_tasks} tasks")
    master, placed = SavingMaster(arrays), arrays.read_placed(solution)
    begun = SavingSearch(master, placed, options, clock, lambda placed, bound: None, ROUND)
    first = SavingColumns.join([begun.alone, begun.stay, begun.columns])
    pricer = SavingPricer(master, ROUND, clock)
    made = Generation(master, pricer, first, options, clock, ROUND).run()
    if math.isinf(made.bound):
        raise NoCertificate("the time limit ended the first linear program")
    paid = master.bound(made.duals, 0.0, arrays.tasks)
    more = (made.at_duals - paid) / arrays.tasks * arrays.unit_usd
    return _convert_duals(round_, arrays, master, made.duals), Fraction(max(more, 0.0))


def _convert_duals(
    round_: ClassedRound, arrays: ReconfigurationArrays, master: SavingMaster, found: SavingDuals
) -> RoundDuals:
    """Convert the duals of the classes and groups of the arrays to those of a round, in USD."""
    usd = Fraction(arrays.unit_usd)
    class_of = {i: c for c, some in enumerate(arrays.packing.members) for i in some}
    group_of = {name: g for g, group in enumerate(arrays.groups) for name in group.ids}
    names = [round_.data.existing[group.members[0]].id for group in round_.groups]
    spread = {
        (g, c): dual
        for (g, i, _), dual in zip(master.rows, found.spread.tolist(), strict=True)
        for c, _ in arrays.groups[g].together[i].tasks
    }
    none = (0,) * len(round_.members)
    kept = []
    for job, g, held in round_.rows:
        classes = [class_of[round_.members[c][0]] for c, n in enumerate(held) if n]
        dual = spread.get((group_of[names[g]], classes[0]))  # without one the job is on this instance alone
        kept.append(round_.jobs[job] if dual is None else Fraction(dual) * usd)
    return RoundDuals(
        tuple(Fraction(float(found.task[class_of[some[0]]])) * usd for some in round_.members),
        tuple(
            Fraction(float(found.group[group_of[name]])) * usd - group.lost(none)
            for name, group in zip(names, round_.groups, strict=True)
        ),
        tuple(kept),
    )


def _raise_duals(duals: RoundDuals, more: Fraction) -> Iterator[RoundDuals]:
    """Yield duals in multiples of 1 / `SCALE`, with those of tasks raised by `more`, and then by larger amounts."""
    for factor in (1, 2, 100, 10_000):
        rise = factor * (more + Fraction(1, SCALE))
        yield RoundDuals(
            tuple(Fraction(math.ceil((usd + rise) * SCALE), SCALE) for usd in duals.tasks),
            tuple(Fraction(math.ceil(usd * SCALE), SCALE) for usd in duals.groups),
            tuple(Fraction(math.floor(usd * SCALE), SCALE) for usd in duals.kept),
        )
