"""Rounds of cuts, which raise the bound of a proof, and of searches, which find better schedules.

If many candidate starts remain, the search is an elite search. Each search starts from samples of the relaxation or
from one of the best schedules. In the latter case, the jobs in some interval of time are rescheduled from their starts,
from those of another elite schedule, or from samples. The starts may exceed the capacity together: they are annealed
with penalties, turned into a feasible schedule, and improved briefly. Many short searches are better than few long
ones, because the result depends far more on where a search begins than on its length.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from instances import Stopwatch
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.result import Termination
from models.sia.proof import OracleProof
from models.sia.relaxation import StartRelaxation
from models.sia.rows import Rows
from models.sia.search import anneal_with_penalties, improve, schedule_in_order


class EliteSearch:
    """The search of a proof with its `elite`: the best schedules that differ enough from each other, the best first."""

    def __init__(self, proof: OracleProof, relaxation: StartRelaxation) -> None:
        self.proof, self.relaxation, self.parameters = proof, relaxation, proof.parameters
        self.elite: list[IntArray] = []
        self._draws = 0

    def run(self, clock: Stopwatch, max_failures: int, draws: int = 0) -> None:
        """Search until `max_failures` consecutive searches find no better schedule, or until `clock` expires.

        The first `draws` searches begin with samples of the relaxation, because it has changed.
        """
        proof, failures, self._draws = self.proof, 0, draws
        self._update_elite(proof.best)
        while failures < max_failures and not clock.has_expired and not proof.is_closed:
            before = proof.delay
            if (schedule := self._repair(*self._choose_begin(clock), clock)) is not None:
                proof.offer(schedule)
                self._update_elite(schedule)
            failures = failures + 1 if proof.delay == before else 0

    def draw(
        self, clock: Stopwatch, starts: IntArray | None = None, chosen: BoolArray | None = None
    ) -> tuple[FloatArray, IntArray | None]:
        """Sample starts (J,) from the relaxation several times; return the best sample and the schedule in its order.

        Samples differ widely, and so do the results of annealing them.

        - `clock`: time limit, after at least one sample.
        - `starts`, `chosen`: if given, only the jobs marked in `chosen` (J,) are sampled; others keep their `starts`.
        """
        proof, samples = self.proof, list[tuple[int, FloatArray, IntArray | None]]()
        while not samples or (len(samples) < self.parameters.draws and not clock.has_expired):
            order = self.relaxation.sample_starts(proof.rng)
            if starts is not None and chosen is not None:
                order = np.where(chosen, order, starts)
            schedule = schedule_in_order(proof.arrays, order, self.parameters)
            delay = proof.arrays.most + 1 if schedule is None else proof.arrays.delay(schedule)
            samples.append((delay, order, schedule))
        _, order, schedule = min(samples, key=lambda sample: sample[0])
        return order, schedule

    def _choose_begin(self, clock: Stopwatch) -> tuple[IntArray, float, IntArray]:
        """Return initial starts (J,), the share of the temperatures to skip, and the jobs that may move."""
        rng, p, arrays = self.proof.rng, self.parameters, self.proof.arrays
        if self._draws > 0 or rng.random() < p.draw_share:
            self._draws -= 1
            return self.draw(clock)[0].astype(np.int64), p.elite_begin[0], np.arange(len(arrays.submit))
        half = 0.5 * float(arrays.duration.mean()) * np.exp(rng.uniform(*np.log(p.neighbourhood)))
        starts = self.elite[rng.integers(len(self.elite), size=2).min()]
        chosen, source = self._choose_interval(starts, half), rng.integers(3)
        if source == 0:
            starts = self.draw(clock, starts, chosen)[0].astype(np.int64)
        elif source == 1:
            starts = np.where(chosen, self.elite[rng.integers(len(self.elite))], starts)
        return starts, rng.uniform(*p.elite_begin), np.flatnonzero(chosen)

    def _choose_interval(self, starts: IntArray, half: float) -> BoolArray:
        """Mark the jobs (J,) that start in an interval of length 2 `half` around a random waiting job."""
        waiting = np.flatnonzero(starts > self.proof.arrays.submit)
        if not len(waiting):
            return np.ones(len(starts), dtype=bool)
        job = self.proof.rng.choice(waiting)
        chosen: BoolArray = np.abs(starts - starts[job] + half * self.proof.rng.uniform(-1.0, 1.0)) <= half
        chosen[job] = True
        return chosen

    def _repair(self, starts: IntArray, begin: float, movable: IntArray, clock: Stopwatch) -> IntArray | None:
        """Anneal `starts` with penalties, schedule the jobs in the resulting order, and improve this schedule.

        The last schedule of the annealing mostly exceeds the capacity a little, but has less delay than all feasible
        schedules on the way. Returns `None` if no schedule in its order keeps the cut-offs.
        """
        proof, p = self.proof, self.parameters
        seed, arrays = int(proof.rng.integers(2**31)), proof.arrays
        _, last = anneal_with_penalties(
            arrays, starts, clock, seed=seed, tries=p.penalty_tries, begin=begin, movable=movable, parameters=p
        )
        schedule = schedule_in_order(arrays, last.astype(float), p)
        if schedule is None:
            return None
        seed, brief, tries = int(proof.rng.integers(2**31)), replace(p, warm=p.elite_warm, batches=1), p.elite_tries
        return improve(
            arrays, schedule, clock, seed=seed, tries=tries, stop=proof.bound, movable=movable, parameters=brief
        )

    def _update_elite(self, starts: IntArray) -> None:
        """Add a schedule to the elite if it is better than all similar ones, which it replaces."""
        delay, p = self.proof.arrays.delay, self.parameters
        is_similar = [np.abs(other - starts).sum() < p.min_elite_distance * delay(starts) for other in self.elite]
        similar = [other for other, near in zip(self.elite, is_similar, strict=True) if near]
        if all(delay(starts) < delay(other) for other in similar):
            others = [other for other, near in zip(self.elite, is_similar, strict=True) if not near]
            self.elite = sorted([*others, starts], key=delay)[: p.elite_size]


class CuttingLoop:
    """The rounds of cuts and search of a proof, and the relaxation with all cuts."""

    def __init__(self, proof: OracleProof) -> None:
        self.proof, self.parameters = proof, proof.parameters
        self.relaxation = StartRelaxation(proof.columns, proof.best, proof.parameters)
        self.search = EliteSearch(proof, self.relaxation)

    def run(self) -> Termination | None:
        """Cut and search as long as a round gains enough, and return the limit that ended the rounds, if any."""
        proof, p = self.proof, self.parameters
        self._bound_without_cuts()
        has_gained = True
        while has_gained and not proof.is_closed and self.relaxation.close_columns(proof.delay):
            if (limit := proof.limit) is not None:
                return limit
            proof.rounds += 1
            before = proof.distance
            self._cut()
            if proof.distance >= p.min_search_gap:
                self._search()
            has_gained = before - proof.distance > p.round_gain * before and self._has_many_candidates()
        # If too many candidate starts remain for a tree to succeed, search again.
        if not proof.is_closed and proof.distance >= p.min_search_gap and self._has_many_candidates():
            self.search.run(Stopwatch(p.last_share * proof.clock.remaining_s), p.failures_last)
        return "time_limit" if proof.clock.has_expired else None

    def _bound_without_cuts(self) -> None:
        """Solve the relaxation without cuts, and search for the first time."""
        proof, p = self.proof, self.parameters
        clock = Stopwatch(p.cutting_share * proof.clock.remaining_s)
        self.relaxation.converge(proof.delay, clock, p.bound_accuracy)
        proof.info |= {"relaxation": self.relaxation.value, "columns": len(proof.columns.job)}
        proof.raise_bound(self.relaxation.bound)
        if proof.distance >= p.min_search_gap:
            if self._has_many_candidates():
                self.search.run(self._start_search_clock(), p.failures_first, p.first_draws)
            else:
                self._improve(proof.best, self._start_search_clock(), p.tries[:2])

    def _cut(self) -> None:
        """Add cuts iteratively, as long as the bound gains enough."""
        proof, p, relaxation = self.proof, self.parameters, self.relaxation
        clock = Stopwatch(p.cutting_share * proof.clock.remaining_s)
        values: list[float] = []
        while relaxation.converge(proof.delay, clock, p.bound_accuracy):
            proof.raise_bound(relaxation.bound)
            values.append(relaxation.value)
            gain = values[-1] - values[-1 - p.cut_patience] if len(values) > p.cut_patience else float("inf")
            if gain < p.cut_patience_gain * (proof.delay - values[-1]) or proof.is_closed:
                break
            if not proof.columns.has_open_starts() or not relaxation.add_cuts():
                break
        proof.raise_bound(relaxation.bound)
        rounds = int(proof.info.get("cut_rounds", 0)) + len(values)
        proof.info |= {"relaxation_with_cuts": relaxation.value, "cut_rounds": rounds}

    def _search(self) -> None:
        """Search among elite schedules, or, if few candidate starts remain, improve samples until searches fail."""
        proof, clock, failures, p = self.proof, self._start_search_clock(), 0, self.parameters
        if self._has_many_candidates():
            return self.search.run(clock, p.failures_many, p.first_draws)
        while failures < p.failures_few and not clock.has_expired and not proof.is_closed:
            before = proof.delay
            _, starts = self.search.draw(clock)
            if starts is not None:
                self._improve(starts, clock, p.tries)
            failures = failures + 1 if proof.delay == before else 0

    def _has_many_candidates(self) -> bool:
        """Return whether many candidate starts remain.

        Among the open starts of a job that count in the same rows with positive multipliers, only the earliest counts.
        """
        columns, count = self.proof.columns, 0
        if self.relaxation.close_columns(self.proof.delay):
            rows = Rows(columns, [row for row, _ in self.relaxation.multipliers])
            for j, begin in enumerate(columns.offset[:-1]):
                own = slice(begin, columns.offset[j + 1])
                starts = columns.start[own][columns.open[own]]
                changes = rows.high[rows.weight[:, j] > 0, j] + 1
                changes = changes[(changes > starts[0]) & (changes <= starts[-1])]
                candidates = len(np.unique(np.searchsorted(starts, changes)))
                count += candidates + 1 if candidates else 0
        return count > self.parameters.max_tree_candidates

    def _start_search_clock(self) -> Stopwatch:
        """Return the clock of one search."""
        return Stopwatch(self.parameters.searching_share * self.proof.clock.remaining_s)

    def _improve(self, starts: IntArray, clock: Stopwatch, tries: tuple[int, ...]) -> None:
        """Improve a schedule by searches with the given numbers of tries, until it is close to the bound."""
        proof, p = self.proof, self.parameters
        for count in tries:
            if proof.distance < p.min_search_gap or clock.has_expired:
                return
            seed = int(proof.rng.integers(2**31))
            starts = improve(proof.arrays, starts, clock, seed=seed, tries=count, stop=proof.bound, parameters=p)
            proof.offer(starts)
