"""Search for better schedules among those of the relaxation, and among the best ones found, on heavy workloads.

A search begins with a schedule drawn from the relaxation, or with one of the best ones. Of such a one the jobs in some
stretch of time are scheduled anew: from the starts that they have, from those of another of the best, or from some
drawn from the relaxation. Starts may be too wide together. They are annealed with penalties, from a lower temperature
than a search from nothing begins with, made feasible, and improved for a moment. Many short searches find better
schedules than a few long ones: what comes out depends on where a search begins far more than on how long it lasts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from instances import Stopwatch
from instances.arrays import BoolArray, FloatArray, IntArray
from models.sia.neighbourhood_search import improve, in_order
from models.sia.penalty_search import settle
from models.sia.proof import Proof
from models.sia.relaxation import Relaxation


class EliteSearch:
    """The search of a proof with its `elite`: the best schedules found, no two of them alike, the best first."""

    def __init__(self, proof: Proof, relaxation: Relaxation) -> None:
        self.proof, self.relaxation, self.parameters = proof, relaxation, proof.parameters
        self.elite: list[IntArray] = []
        self._draws = 0

    def run(self, clock: Stopwatch, most_failures: int, draws: int = 0) -> None:
        """Search until so many searches in a row find no better schedule, or until the time of `clock` is over.

        The first ones begin with `draws` from the relaxation, as is of use when it is new.
        """
        proof, failures, self._draws = self.proof, 0, draws
        self._keep(proof.best)
        while failures < most_failures and not clock.expired and not proof.closed:
            before = proof.delay
            if (found := self._settled(*self._begin(clock), clock)) is not None:
                proof.offer(found)
                self._keep(found)
            failures = failures + 1 if proof.delay == before else 0

    def draw(
        self, clock: Stopwatch, starts: IntArray | None = None, chosen: BoolArray | None = None
    ) -> tuple[FloatArray, IntArray | None]:
        """Starts (J,) drawn from the relaxation, of some those in whose order the best schedule is made, and that one.

        Draws differ a lot, and what annealing makes of them differs likewise. Given `starts` (J,), only those of the
        `chosen` jobs (J,) are drawn anew.
        """
        proof, found = self.proof, list[tuple[int, FloatArray, IntArray | None]]()
        while not found or (len(found) < self.parameters.draws and not clock.expired):
            order = self.relaxation.sample(proof.rng)
            if starts is not None and chosen is not None:
                order = np.where(chosen, order, starts)
            made = in_order(proof.arrays, order, self.parameters)
            found.append((proof.arrays.most + 1 if made is None else proof.arrays.delay(made), order, made))
        _, order, made = min(found, key=lambda draw: draw[0])
        return order, made

    def _begin(self, clock: Stopwatch) -> tuple[IntArray, float, IntArray]:
        """Starts (J,) to begin with, the share of the temperatures that is left out, and the jobs that move."""
        rng, p, arrays = self.proof.rng, self.parameters, self.proof.arrays
        everybody = np.arange(len(arrays.submit))
        if self._draws > 0 or rng.random() < p.drawn:
            self._draws -= 1
            return self.draw(clock)[0].astype(np.int64), p.settled_begin[0], everybody
        half = 0.5 * float(arrays.duration.mean()) * np.exp(rng.uniform(*np.log(p.stretch)))
        one = self.elite[rng.integers(len(self.elite), size=2).min()]
        chosen, way = self._stretch(one, half), rng.integers(3)
        if way == 0:
            one = self.draw(clock, one, chosen)[0].astype(np.int64)
        elif way == 1:
            one = np.where(chosen, self.elite[rng.integers(len(self.elite))], one)
        return one, rng.uniform(*p.settled_begin), np.flatnonzero(chosen)

    def _stretch(self, starts: IntArray, half: float) -> BoolArray:
        """The jobs (J,) that start no more than `half` from the start of a job that waits, one that is drawn."""
        waiting = np.flatnonzero(starts > self.proof.arrays.submit)
        if not len(waiting):
            return np.ones(len(starts), dtype=bool)
        job = self.proof.rng.choice(waiting)
        chosen: BoolArray = np.abs(starts - starts[job] + half * self.proof.rng.uniform(-1.0, 1.0)) <= half
        chosen[job] = True
        return chosen

    def _settled(self, starts: IntArray, begin: float, among: IntArray, clock: Stopwatch) -> IntArray | None:
        """A schedule that annealing with penalties, order and improvement make of `starts`, if there is one.

        What the annealing ends with is mostly a GPU too wide somewhere, and better for that than all feasible schedules
        on its way: jobs put in this order make a feasible one.
        """
        proof, p = self.proof, self.parameters
        seed = int(proof.rng.integers(2**31))
        arrays, tries = proof.arrays, p.penalty_tries
        _, last = settle(arrays, starts, clock, seed=seed, tries=tries, begin=begin, among=among, parameters=p)
        found = in_order(arrays, last.astype(float), p)
        if found is None:
            return None
        seed, brief, tries = int(proof.rng.integers(2**31)), replace(p, warm=p.settled_warm, batches=1), p.settled_tries
        return improve(arrays, found, clock, seed=seed, tries=tries, stop=proof.bound, among=among, parameters=brief)

    def _keep(self, found: IntArray) -> None:
        """Take a schedule into the elite, where it is good enough and the better one of those that are much like it."""
        delay, p = self.proof.arrays.delay, self.parameters
        like = [kept for kept in self.elite if np.abs(kept - found).sum() < p.alike * delay(found)]
        if all(delay(found) < delay(kept) for kept in like):
            others = [kept for kept in self.elite if not any(kept is other for other in like)]
            self.elite = sorted([*others, found], key=delay)[: p.elite]
