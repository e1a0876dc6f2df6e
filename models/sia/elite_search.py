"""Search for better schedules among those of the relaxation, and among the best ones found, on heavy workloads.

A schedule to begin with is drawn from the relaxation, or is one of the best ones: as it is, with the starts of another
one in some stretch of time, or with starts drawn from the relaxation there. Such starts may be too wide together. They
are annealed with penalties, from a lower temperature than a search from nothing begins with, made feasible, and
improved for a moment. Many short searches find better schedules than a few long ones: what comes out depends on where
a search begins far more than on how long it lasts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from instances import Stopwatch
from instances.arrays import FloatArray, IntArray
from models.sia.neighbourhood_search import improve, in_order
from models.sia.penalty_search import settle
from models.sia.proof import Proof
from models.sia.relaxation import Relaxation


class EliteSearch:
    """The search of a proof with its `elite`: the best schedules found, of different delays, the best first."""

    def __init__(self, proof: Proof, relaxation: Relaxation) -> None:
        self.proof, self.relaxation, self.parameters = proof, relaxation, proof.parameters
        self.elite: list[IntArray] = []
        self._drawn = 0

    def run(self, clock: Stopwatch, most_failures: int) -> None:
        """Search until so many searches in a row find no better schedule, or until the time of `clock` is over."""
        proof, failures = self.proof, 0
        self._keep(proof.best)
        while failures < most_failures and not clock.expired and not proof.closed:
            before = proof.delay
            if (found := self._settled(*self._begin(clock), clock)) is not None:
                proof.offer(found)
                self._keep(found)
            failures = failures + 1 if proof.delay == before else 0

    def draw(self, clock: Stopwatch) -> tuple[FloatArray, IntArray | None]:
        """Starts (J,) drawn from the relaxation, of some those in whose order the best schedule is made, and that one.

        Draws differ a lot, and what annealing makes of them differs likewise.
        """
        proof, found = self.proof, list[tuple[int, FloatArray, IntArray | None]]()
        while not found or (len(found) < self.parameters.draws and not clock.expired):
            order = self.relaxation.sample(proof.rng)
            made = in_order(proof.arrays, order, self.parameters)
            found.append((proof.arrays.most + 1 if made is None else proof.arrays.delay(made), order, made))
        _, order, made = min(found, key=lambda draw: draw[0])
        return order, made

    def _begin(self, clock: Stopwatch) -> tuple[IntArray, float]:
        """Starts (J,) to begin with, and the share of the temperatures that is left out."""
        rng, p, best = self.proof.rng, self.parameters, self.elite[0]
        way = rng.integers(4)
        if way == 0 or self._drawn < p.first_draws:
            self._drawn += 1
            return self.draw(clock)[0].astype(np.int64), p.settled_begin[0]
        begin = rng.uniform(*p.settled_begin)
        if way == 1:
            return self._mixed(best, self.relaxation.sample(rng).astype(np.int64)), begin
        if way == 2 and len(self.elite) > 1:
            return self._mixed(best, self.elite[rng.integers(1, len(self.elite))]), begin
        return best, begin

    def _mixed(self, one: IntArray, other: IntArray) -> IntArray:
        """The starts of `one` (J,), with those of `other` for the jobs that start in some stretch of time in `one`."""
        rng, arrays, p = self.proof.rng, self.proof.arrays, self.parameters
        half = 0.5 * float(arrays.duration.mean()) * np.exp(rng.uniform(*np.log(p.mixed_stretch)))
        middle = rng.uniform(arrays.submit.min() - half, arrays.submit.max() + half)
        return np.where(np.abs(one - middle) <= half, other, one)

    def _settled(self, starts: IntArray, begin: float, clock: Stopwatch) -> IntArray | None:
        """A schedule that annealing with penalties, order and improvement make of `starts`, if there is one.

        What the annealing ends with is mostly a GPU too wide somewhere, and better for that than all feasible schedules
        on its way: jobs put in this order make a feasible one.
        """
        proof, p = self.proof, self.parameters
        seed = int(proof.rng.integers(2**31))
        _, last = settle(proof.arrays, starts, clock, seed=seed, tries=p.penalty_tries, begin=begin, parameters=p)
        found = in_order(proof.arrays, last.astype(float), p)
        if found is None:
            return None
        seed, brief = int(proof.rng.integers(2**31)), replace(p, warm=p.settled_warm, batches=1)
        return improve(proof.arrays, found, clock, seed=seed, tries=p.settled_tries, stop=proof.bound, parameters=brief)

    def _keep(self, found: IntArray) -> None:
        """Take a schedule into the elite where it is good enough and no other has the same delay."""
        arrays = self.proof.arrays
        if all(arrays.delay(found) != arrays.delay(kept) for kept in self.elite):
            self.elite = sorted([*self.elite, found], key=arrays.delay)[: self.parameters.elite]
