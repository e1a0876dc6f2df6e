"""Rounds of integer programs over components, with rows wherever the schedule of a round breaks capacity."""

from __future__ import annotations

import numpy as np

from instances import Options
from instances.arrays import IntArray
from instances.result import Termination
from instances.sia.reservations import backfill
from models.sia.components import Component, Outcome, components, solve_component
from models.sia.neighbourhood_search import advance
from models.sia.proof import Proof
from models.sia.relaxation import Relaxation
from models.sia.rows import Row, capacity_row, cover_row

LEAST_SECONDS = 0.1  # The least time limit of an integer program.


class ComponentRounds:
    """The rounds of integer programs of a proof, with the outcomes of components and the number of programs so far."""

    def __init__(self, proof: Proof, relaxation: Relaxation) -> None:
        self.proof, self.relaxation, self.parameters = proof, relaxation, proof.parameters
        self._known: dict[Component, Outcome] = {}
        self._solved = 0

    def run(self) -> Termination:
        """Solve components and add rows until schedule and bound meet or a limit is reached."""
        proof, p = self.proof, self.parameters
        rows, distance = self.relaxation.tight, proof.distance
        tolerance = p.closing_gap if distance < p.small_distance else p.coarse_gap * distance
        while not proof.closed and self.relaxation.exclude(proof.delay):
            if (limit := proof.limit()) is not None:
                return limit
            proof.rounds += 1
            before = self._solved, proof.delay, tolerance
            broken = self._round(rows, tolerance)
            if not broken and proof.options.effort is not None and before == (self._solved, proof.delay, p.closing_gap):
                return "effort_limit"  # All programs ended at the limit of nodes: no later round would differ.
            if not broken:
                tolerance = max(p.closing_gap, tolerance / 4)
            rows = rows + broken[: max(p.new_rows_each_round, len(rows) // 4)]
            proof.info |= {"rounds": proof.rounds, "rows": len(rows)}
        if not proof.closed:
            proof.raise_bound(proof.delay)  # A job has no start left: no schedule is better.
        return "finished"

    def _round(self, rows: list[Row], tolerance: float) -> list[Row]:
        """Solve the components of `rows`, raise the bound to the sum of all bounds; rows for the next round.

        Each component is solved up to the cut-off that the bounds of the others leave to a better schedule. A component
        beyond its cut-off proves that no schedule is better than the best one.
        """
        proof, arrays = self.proof, self.proof.arrays
        parts, starts = components(proof.columns, rows)
        tied = [j for part in parts for j in part.jobs]
        free_delay = arrays.delay(starts) - int((starts - arrays.submit)[tied].sum())  # of the jobs in no component
        bounds = [self._known[part].bound if part in self._known else _least(part, arrays.submit) for part in parts]
        starts[tied] = proof.best[tied]
        for k in sorted(range(len(parts)), key=lambda k: parts[k].size):
            part = parts[k]
            cutoff = proof.delay - 1 - free_delay - (sum(bounds) - bounds[k])
            outcome = self._solve(part, cutoff, tolerance)
            bounds[k] = max(bounds[k], outcome.bound)
            if bounds[k] > cutoff:
                proof.raise_bound(proof.delay)
                return []
            if outcome.starts is not None:
                starts[list(part.jobs)] = outcome.starts
        proof.raise_bound(free_delay + sum(bounds))
        use = arrays.use(starts)
        if use.max() <= arrays.capacity:
            proof.offer(starts)
        else:
            self._repair(starts)
        return self._broken_rows(starts, use, {row.key for row in rows})

    def _broken_rows(self, starts: IntArray, use: IntArray, known: set[tuple[int, int, int, int, bytes]]) -> list[Row]:
        """New rows that `starts` breaks: capacity rows, and covers at slots whose capacity row is known and coarse."""
        proof = self.proof
        new = [capacity_row(proof.columns.arrays, t) for t in _broken_slots(use, proof.arrays.capacity)]
        new = [row if row.key not in known else cover_row(proof.arrays, starts, row.first) for row in new]
        return [row for row in new if row.key not in known]

    def _solve(self, part: Component, cutoff: int, tolerance: float) -> Outcome:
        """The outcome of a component, known or new."""
        known = self._known.get(part)
        if known is not None and (known.closed or known.tolerance <= tolerance):
            return known
        left, p, options = self.proof.clock.remaining_s, self.parameters, self.proof.options
        limit = None
        if left != float("inf"):
            limit = max(LEAST_SECONDS, min(left, max(p.component_seconds, p.component_share * left)))
        options = Options(time_limit=limit, threads=options.threads, seed=options.seed, effort=options.effort)
        outcome = solve_component(self.proof.columns, part, options, cutoff=cutoff, tolerance=tolerance)
        self._known[part] = outcome
        self._solved += 1
        return outcome

    def _repair(self, starts: IntArray) -> None:
        """Offer a schedule in the order of `starts`, which breaks capacity somewhere."""
        proof, arrays, order = self.proof, self.proof.arrays, starts.astype(float)
        found = (backfill(arrays, reserved, order, proof.clock) for reserved in (proof.best, proof.reserved))
        proof.offer(advance(arrays, min(found, key=arrays.delay), proof.clock))


def _least(part: Component, submit: IntArray) -> int:
    """Delay of a component's jobs at the first candidates."""
    return sum(starts[0] - int(submit[j]) for j, starts in zip(part.jobs, part.candidates, strict=True))


def _broken_slots(use: IntArray, capacity: int) -> list[int]:
    """Slots for new rows: first and last of each peak of `use` over `capacity`, and the last of each overfull stretch.

    The highest peaks come first. A row at the last slot lets a job start right behind the peak.
    """
    over = np.flatnonzero(use > capacity)
    found: list[int] = []
    for stretch in np.split(over, np.flatnonzero(np.diff(over) > 1) + 1):
        if not len(stretch):
            continue
        level = np.concatenate([[0], use[stretch], [0]])
        rises, falls = np.flatnonzero(np.diff(level) > 0), np.flatnonzero(np.diff(level) < 0)
        for begin in rises:
            end = falls[np.searchsorted(falls, begin)]
            if not ((rises > begin) & (rises < end)).any():
                found += [int(stretch[begin]), int(stretch[end - 1])]
        found.append(int(stretch[-1]))
    return sorted(set(found), key=lambda t: (-use[t], t))
