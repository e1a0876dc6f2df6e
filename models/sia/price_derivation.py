"""The conversion of a certificate of multipliers to VIPR: the same proof, line by line, for the program of starts.

A variable z_jk is 1 if job j starts at most k steps after its submission (with locality, there is one per server, and
z_jk is their sum). The differences s_jk = z_jk - z_j(k-1) indicate a start after exactly k steps. Let e_jk be the cost
of this start minus the minimum cost of the job's open starts. The multipliers of the rows prove for the delay D

    SCALE D >= least - spent + Σ e_jk s_jk,  with e_jk >= 0 except for excluded starts.

Rows: a row over several steps follows from the capacity at one of them. If a job counts whenever it overlaps the steps,
the proof is split by its start. A cut is a split, too: for Σ n_j z_j <= b with b = k c + f, let π_j be n_j / c, rounded
up if the remainder exceeds f and down otherwise. Either Σ π_j z_j <= k or Σ π_j z_j >= k + 1, and the cut is a linear
combination of lines in both cases (Nemhauser and Wolsey, 1990).

Exclusion: starts of j are excluded under the assumption D <= reach - 1. With the minimum E of their e_jk,
Σ s_jk <= (SCALE (reach - 1) - least + spent) / E < 1, and rounding gives 0. Without the assumption, D >= reach.

Methods named `combine_...` return multipliers of lines, whose linear combination is the stated inequality.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from instances import Solution
from instances.arrays import BoolArray, IntArray
from instances.proofs import Certificate, Derived, NoCertificate, Reason, Vipr, digest, write_vipr
from instances.proofs.certificate import VERSION, content_of
from instances.proofs.derivation import DIRECTION, SIGN
from instances.proofs.sia.certificate import SCALE, Charges, DelayProof, Delays, PriceProof, RowProof
from instances.proofs.sia.start_program import StartProgram
from instances.sia import SiaLocalOracle, SiaOracle
from instances.validation import validate

Number = int | Fraction
Terms = dict[int, Number]
Multipliers = Mapping[int, Number]


def convert_to_vipr(data: SiaOracle | SiaLocalOracle, text: str, solution: Solution) -> Certificate:
    """Convert a certificate of multipliers to VIPR.

    - `data`: the problem.
    - `text`: the certificate.
    - `solution`: a feasible solution, which the file contains if it is a point of the program.

    Returns a certificate with the same bound, or a better one if the program is tighter. Raises NoCertificate if the
    program is too large.
    """
    proof = validate(DelayProof, content_of(data, text), root="")
    oracle = data.without_locality if isinstance(data, SiaLocalOracle) else data
    writer = _ViprWriter(StartProgram(data), Delays(oracle), proof)
    bound = writer.write()
    program, point = writer.lines.program, writer.starts.point(solution)
    file = Vipr(
        {"gapwise": str(VERSION), "problem": data.problem, "instance": digest(data)},
        program,
        bound,
        None if point is None else program.value(point),
        () if point is None else (point,),
        tuple(writer.lines.derived),
    )
    how = f"multipliers of rows as a derivation of {len(file.derivations):,} lines"
    return Certificate("vipr", write_vipr(file), bound * writer.starts.slots, how)


class _Derivation:
    """The constraints of a program and the lines derived from them, as (sign of the direction, right side, terms)."""

    def __init__(self, starts: StartProgram) -> None:
        self.program = starts.program()
        self.index = {row.name: k for k, row in enumerate(self.program.rows)}
        self.rows: list[tuple[int, Number, Terms]] = [
            (SIGN[row.direction], _simplify(row.right), {i: _simplify(a) for i, a in row.coefficients.items()})
            for row in self.program.rows
        ]
        self.objective: Terms = {i: _simplify(a) for i, a in self.program.objective.items()}
        self.derived: list[Derived] = []

    def add(self, sign: int, right: Number, terms: Terms, reason: Reason) -> int:
        """Add a line, and return its index."""
        coefficients = None if terms == self.objective else {i: Fraction(a) for i, a in terms.items()}
        name = f"d{len(self.derived)}"
        self.derived.append(Derived(name, DIRECTION[sign], Fraction(right), coefficients, reason))
        self.rows.append((sign, right, terms))
        return len(self.rows) - 1

    def assume(self, sign: int, right: int, terms: Terms) -> int:
        """Add an assumption, and return its index."""
        return self.add(sign, right, terms, Reason("asm"))

    def combine(self, multipliers: Multipliers, is_rounded: bool = False, sign: int = 0) -> int:
        """Add a linear combination of lines, and return its index; a single line with multiplier 1 is not copied.

        - `multipliers`: the multiplier of each line.
        - `is_rounded`: round the right side.
        - `sign`: direction of a combination of equations.
        """
        multipliers = {k: a for k, a in multipliers.items() if a}
        if list(multipliers.values()) == [1]:
            return next(iter(multipliers))
        total: Terms = {}
        right: Number = 0
        signs = {self.rows[k][0] * (1 if factor > 0 else -1) for k, factor in multipliers.items()} - {0}
        for k, factor in multipliers.items():
            _, side, terms = self.rows[k]
            right += factor * side
            for i, a in terms.items():
                total[i] = total.get(i, 0) + factor * a
        total = {i: _simplify(a) for i, a in total.items() if a}
        sign = signs.pop() if signs else sign or 1
        if is_rounded:
            right = math.ceil(right) if sign > 0 else math.floor(right)
        fractions = {k: Fraction(a) for k, a in multipliers.items()}
        return self.add(sign, _simplify(right), total, Reason("rnd" if is_rounded else "lin", multipliers=fractions))

    def is_contradiction(self, line: int) -> bool:
        """Return whether a line has no terms and is false."""
        sign, right, terms = self.rows[line]
        return not terms and (right > 0 if sign > 0 else right < 0 if sign < 0 else right != 0)

    def split(self, first: int, under: int, second: int, over: int) -> int:
        """Add the weaker of two lines: `first` under the assumption `under`, `second` under its negation `over`."""
        sides = [self.rows[line] for line in (first, second) if not self.is_contradiction(line)] or [self.rows[first]]
        sign, _, terms = sides[0]
        right = min(side[1] for side in sides) if sign > 0 else max(side[1] for side in sides)
        return self.add(sign, right, terms, Reason("uns", sides=(first, under, second, over)))


def _simplify(number: Number) -> Number:
    """Return an integer if the number is integral."""
    return int(number) if number == int(number) else number


def _add_terms(total: Terms, terms: Multipliers, factor: Number = 1) -> None:
    """Add `factor` times the terms to `total`, in place."""
    for k, a in terms.items():
        total[k] = total.get(k, 0) + factor * a


class _NodeState:
    """The `open` starts (K,) of a node, and for each job the line that sums its `closed` starts to 0, if any."""

    def __init__(self, is_open: BoolArray, closed: Sequence[int | None]) -> None:
        self.open, self.closed = is_open.copy(), list(closed)
        self.contradiction: int | None = None


class _ViprWriter:
    """The derivation of one certificate; jobs and starts are those of `delays`, `window` is each job's last start."""

    def __init__(self, starts: StartProgram, delays: Delays, proof: DelayProof) -> None:
        self.starts, self.delays, self.proof = starts, delays, proof
        self.lines = _Derivation(starts)
        self.charges = Charges(delays)
        self.charges.rows += [delays.count_starts(row) for row in proof.rows]
        self.jobs = range(len(delays.gpus))
        self.submit, self.duration, self.window = (a.tolist() for a in (delays.submit, delays.duration, delays.window))
        self._blocks: dict[tuple[int, int, int], int] = {}
        self._capacity: dict[int, int] = {}
        self._rows: dict[int, int] = {}

    # Starts of one job

    def list_variables(self, j: int, k: int) -> list[int]:
        """Return the variables that sum to z_jk."""
        return [self.starts.place[j, s, k] for s in self.starts.machines[j]]

    def sum_variables(self, j: int, k: int) -> Terms:
        """Return the coefficients of z_jk."""
        return dict.fromkeys(self.list_variables(j, k), 1)

    def get_assignment(self, j: int) -> int:
        """Return the constraint that j starts exactly once."""
        return self.lines.index[f"one_{j}"]

    def combine_nonnegative(self, j: int, low: int, high: int, weight: Number = 1) -> Terms:
        """Combine: weight times the sum of the starts low..high is at least 0."""
        if low > high or not weight:
            return {}
        if not low:
            return {2 * i: weight for i in self.list_variables(j, high)}  # lower bounds of variables
        total: Terms = {}
        at = low - 1
        while at < high:
            size = (at & -at or 1 << 40).bit_length() - 1
            while at + (1 << size) > high:
                size -= 1
            _add_terms(total, self._combine_block(j, at, size), weight)
            at += 1 << size
        return total

    def _combine_block(self, j: int, at: int, size: int) -> Terms:
        """Combine: z is not lower 2^size starts after `at`. Blocks are shared, which keeps the derivation short."""
        if not size:
            names = (f"by_{self.lines.program.variables[i][2:]}" for i in self.list_variables(j, at))
            return {self.lines.index[name]: -1 for name in names}
        if (j, at, size) not in self._blocks:
            halves: Terms = {}
            for first in (at, at + (1 << size - 1)):
                _add_terms(halves, self._combine_block(j, first, size - 1))
            self._blocks[j, at, size] = self.lines.combine(halves)
        return {self._blocks[j, at, size]: 1}

    def combine_at_most_one(self, j: int, low: int, high: int, weight: Number = 1) -> Terms:
        """Combine: weight times the sum of the starts low..high is at most weight."""
        if low > high or not weight:
            return {}
        total: Terms = {self.get_assignment(j): weight}
        _add_terms(total, self.combine_nonnegative(j, 0, low - 1), -weight)
        _add_terms(total, self.combine_nonnegative(j, high + 1, self.window[j]), -weight)
        return total

    # Rows

    def find_running(self, j: int, first: int, last: int, is_overlapping: bool = False) -> tuple[int, int]:
        """Return the first and last start with which j runs at all steps first..last, or overlaps them."""
        begin, end = (first, last) if is_overlapping else (last, first)
        return max(begin - self.duration[j] + 1 - self.submit[j], 0), min(end - self.submit[j], self.window[j])

    def derive_capacity(self, t: int) -> int:
        """Return the line that limits the GPUs in use at step t, in units of `delays`."""
        at = int(np.searchsorted(self.starts.moments, t, side="right")) - 1
        if at not in self._capacity:
            total, unit = dict[int, Number](), self.starts.gpus[0] // self.delays.gpus[0]
            for s in self.starts.servers:
                row = self.lines.index.get(f"gpus_{s}_{at}" if self.starts.local else f"gpus_{at}")
                _add_terms(total, {row: Fraction(1, unit)} if row is not None else self._combine_use(s, t))
            self._capacity[at] = self.lines.combine(total, is_rounded=unit > 1, sign=-1)
        return self._capacity[at]

    def _combine_use(self, s: int, t: int) -> Terms:
        """Combine bounds of variables: all jobs that can run on server s at step t fit there together."""
        total: Terms = {}
        for j in self.jobs:
            low, high = self.find_running(j, t, t)
            if low <= high and s in self.starts.machines[j]:
                _add_terms(total, {2 * self.starts.place[j, s, high] + 1: self.delays.gpus[j]})
                _add_terms(total, {2 * self.starts.place[j, s, low - 1]: -self.delays.gpus[j]} if low else {})
        return total

    def combine_capacity(self, t: int, windows: Sequence[tuple[int, int]], extra: Multipliers, skipped: int) -> Terms:
        """Combine: the capacity at step t for the starts in `windows`; job `skipped` uses `extra` instead."""
        total: Terms = {self.derive_capacity(t): 1}
        for j in self.jobs:
            if j != skipped:
                self._remove_starts(total, j, self.find_running(j, t, t), windows[j])
        _add_terms(total, extra)
        return total

    def _remove_starts(self, total: Terms, j: int, wide: tuple[int, int], narrow: tuple[int, int]) -> None:
        """Remove the use of a job's starts in the window `wide` outside `narrow`, which is a part of it."""
        n = self.delays.gpus[j]
        if narrow[0] > narrow[1]:
            narrow = (wide[1] + 1, wide[1])
        _add_terms(total, self.combine_nonnegative(j, wide[0], narrow[0] - 1), -n)
        _add_terms(total, self.combine_nonnegative(j, narrow[1] + 1, wide[1]), -n)

    def derive_row(self, index: int) -> int:
        """Return the line of a row of the certificate."""
        if index not in self._rows:
            row = self.proof.rows[index]
            windows = [self.find_running(j, row.first, row.last, j == row.touching) for j in self.jobs]
            base = self._derive_interval(row, windows)
            self._rows[index] = self._derive_cut(row, windows, base) if row.divisor else base
        return self._rows[index]

    def _derive_interval(self, row: RowProof, windows: Sequence[tuple[int, int]]) -> int:
        """Return the capacity row of an interval, by a case for each step at which the overlapping job may run."""
        j = row.touching
        if j is None or windows[j][0] > windows[j][1]:
            return self.lines.combine(self.combine_capacity(row.first, windows, {}, -1))
        (low, high), n, lines = windows[j], self.delays.gpus[j], self.lines
        sides: list[tuple[int, int, int]] = []
        at, none_before = low, dict[int, Number]()  # combines: no start of j from `low` to before `at`
        while True:
            t = min(row.last, self.submit[j] + at - 1 + self.duration[j])
            last = min(t - self.submit[j], high)
            extra: Terms = {}
            self._remove_starts(extra, j, self.find_running(j, t, t), (at, last))
            _add_terms(extra, none_before, n)
            if last == high:
                side = lines.combine(self.combine_capacity(t, windows, extra, j))
                break
            early = lines.assume(1, 1, self.sum_variables(j, last))
            late = lines.assume(-1, 0, self.sum_variables(j, last))
            _add_terms(extra, self.combine_at_most_one(j, 0, high, n))
            _add_terms(extra, {early: -n})
            sides.append((lines.combine(self.combine_capacity(t, windows, extra, j)), late, early))
            at, none_before = last + 1, {late: 1}
            _add_terms(none_before, self.combine_nonnegative(j, 0, low - 1), -1)
        for before, late, early in reversed(sides):
            side = lines.split(side, late, before, early)
        return side

    def _derive_cut(self, row: RowProof, windows: Sequence[tuple[int, int]], base: int) -> int:
        """Return the rounded row: a split with a linear combination on both sides."""
        lines, c, inside, gpus = self.lines, row.divisor, set(row.jobs), self.delays.gpus
        b = self.delays.capacity - sum(gpus[j] for j in inside)
        k, f = divmod(b, c)
        terms: Terms = {}
        right, low, high = k, dict[int, Number](), dict[int, Number]()
        for j, (first, last) in enumerate(windows):
            n = -gpus[j] if j in inside else gpus[j]
            rest = n % c
            quotient = n // c + (rest > f)
            if first <= last:
                weight = -quotient if j in inside else quotient
                share: Terms = {}
                _add_terms(share, self.sum_variables(j, last), weight)
                _add_terms(share, self.sum_variables(j, first - 1) if first else {}, -weight)
                _add_terms(terms, {i: a for i, a in share.items() if a})
            right -= quotient if j in inside else 0
            # Rounding omits a part of the job's share, z or, if complemented, 1 - z, which is non-negative.
            side, omitted = (low, c - rest) if rest > f else (high, rest)
            if j in inside:
                _add_terms(side, self.combine_at_most_one(j, first, last, omitted))
            else:
                _add_terms(side, self.combine_nonnegative(j, first, last, -omitted))
        terms = {i: a for i, a in terms.items() if a}
        under, over = lines.assume(-1, right, terms), lines.assume(1, right + 1, terms)
        _add_terms(low, {under: c - f})
        _add_terms(high, {base: 1, over: -f})
        return lines.split(lines.combine(low), under, lines.combine(high), over)

    # Tree

    def write(self) -> Fraction:
        """Derive all lines, and return the bound in steps that the last one states."""
        lines, reach = self.lines, self.proof.reach
        self.under = lines.assume(-1, reach - 1, lines.objective)
        over = lines.assume(1, reach, lines.objective)
        state = _NodeState(np.ones(len(self.charges.delay), dtype=bool), [None] * len(self.jobs))
        for stage in self.proof.stages:
            self.exclude_starts(state, stage)
        last = lines.split(self.derive_tree(state), self.under, over, over)
        return Fraction(lines.rows[last][1])

    def derive_tree(self, root: _NodeState) -> int:
        """Return the line that the leaves prove under the assumption that the delay is below the cutoff `reach`."""
        nodes, done = self.proof.nodes, dict[int, int]()
        states, assumed, stack = {0: root}, dict[int, tuple[int, int]](), [(0, False)]
        while stack:
            index, has_children = stack.pop()
            node = nodes[index]
            if node.branch is None or node.children is None:
                done[index] = self.derive_leaf(states.pop(index), node.prices, node.without)
                continue
            early, late = node.children
            if has_children:
                at_most, beyond = assumed[index]
                done[index] = self.lines.split(done[late], beyond, done[early], at_most)
                continue
            state, j = states.pop(index), node.branch.job
            if node.prices is not None:
                self.exclude_starts(state, node.prices)
            until = min(node.branch.until, self.window[j])
            at_most = self.lines.assume(1, 1, self.sum_variables(j, until))
            beyond = self.lines.assume(-1, 0, self.sum_variables(j, until))
            assumed[index] = at_most, beyond
            is_early = np.arange(self.window[j] + 1) <= until
            for child, is_closed, reason in (
                (early, ~is_early, {self.get_assignment(j): 1, at_most: -1}),
                (late, is_early, {beyond: 1}),
            ):
                states[child] = _NodeState(state.open, state.closed)
                states[child].contradiction = state.contradiction
                self._close_starts(states[child], j, is_closed, reason)
                states[child].open[self._own(j)] &= ~is_closed
            stack += [(index, True), (late, False), (early, False)]
        return done[0]

    def _own(self, j: int) -> slice:
        """Return the indices of a job's starts."""
        return slice(int(self.delays.offset[j]), int(self.delays.offset[j + 1]))

    def _close_starts(self, state: _NodeState, j: int, is_closed: BoolArray, reason: Multipliers) -> None:
        """Derive one line for all closed starts of a job: earlier ones, and those that `reason` sums to at most 0."""
        total, line = dict(reason), state.closed[j]
        if line is not None:
            _add_terms(total, {line: 1})
            for low, high in _find_ranges(is_closed & ~state.open[self._own(j)]):
                _add_terms(total, self.combine_nonnegative(j, low, high), -1)
        if is_closed.any():
            state.closed[j] = self.lines.combine(total)

    def compute_excess(self, state: _NodeState, stated: PriceProof) -> IntArray:
        """Return the cost of each start minus the minimum cost of its job's open starts, (K,); negative if closed."""
        _, _, excess = self.charges.of(np.ones(len(state.open), dtype=bool), stated.prices)
        minimum = np.minimum.reduceat(np.where(state.open, excess, np.iinfo(np.int64).max), self.delays.offset[:-1])
        result: IntArray = excess - minimum[self.charges.job]
        return result

    def combine_bound(self, state: _NodeState, stated: PriceProof, excess: IntArray, stays: IntArray) -> Terms:
        """Combine: SCALE times the delay is at least least - spent plus the part `stays` of the excess, (K,)."""
        total: Terms = {}
        for index, price in stated.prices:
            if price:
                _add_terms(total, {self.derive_row(index): -price})
        for j in self.jobs:
            own = self._own(j)
            cost = 0  # of the start at the submission
            for index, price in stated.prices:
                row = self.charges.rows[index]
                for i in np.flatnonzero((row.jobs == j) & (row.low <= 0)):
                    cost += price * int(row.weight[i])
            _add_terms(total, {self.get_assignment(j): cost - int(excess[own][0])})
            self._remove_excess(total, state, j, excess[own] - stays[own])
        return total

    def _remove_excess(self, total: Terms, state: _NodeState, j: int, removed: IntArray) -> None:
        """Remove an amount of each start of a job: a non-negative one, or any amount of a closed start."""
        below, line = -int(removed.min(initial=0)), state.closed[j]
        if below:
            assert line is not None
            _add_terms(total, {line: -below})
            removed = removed + below * ~state.open[self._own(j)]
        for k in np.flatnonzero(removed).tolist():
            _add_terms(total, self.combine_nonnegative(j, k, k, int(removed[k])))

    def exclude_starts(self, state: _NodeState, stated: PriceProof) -> None:
        """Close the starts whose cost is too high for a delay below the cutoff `reach`."""
        if state.contradiction is not None:
            return
        least, spent, _ = self.charges.of(state.open, stated.prices)
        slack = (self.proof.reach - 1) * SCALE - (least - spent)
        excess = self.compute_excess(state, stated)
        excluded = state.open & (excess > slack)
        stays, smallest = np.zeros_like(excess), dict[int, int]()
        for j in self.jobs if slack >= 0 else ():
            own = self._own(j)
            if excluded[own].any():
                smallest[j] = int(excess[own][excluded[own]].min())
                stays[own] = np.where(excluded[own], smallest[j], 0)
        if slack >= 0 and not smallest:
            return
        total = self.combine_bound(state, stated, excess, stays)
        summed = self.lines.combine({k: -a for k, a in total.items()} | {self.under: SCALE})
        if slack < 0:
            state.contradiction = summed
            state.open[:] = False
            return
        others: dict[int, Terms] = {}
        for j in smallest:
            others[j] = {}
            for low, high in _find_ranges(excluded[self._own(j)]):
                _add_terms(others[j], self.combine_nonnegative(j, low, high))
            others[j] = {self.lines.combine(others[j]): 1} if len(smallest) > 1 else {}
        for j, divisor in smallest.items():
            single: Terms = {summed: Fraction(1, divisor)}
            for i, weight in smallest.items():
                if i != j:
                    _add_terms(single, others[i], Fraction(-weight, divisor))
            line = self.lines.combine(single, is_rounded=True)
            self._close_starts(state, j, excluded[self._own(j)], {line: 1})
        state.open &= ~excluded

    def derive_leaf(self, state: _NodeState, stated: PriceProof | None, without: int | None) -> int:
        """Return the line that a leaf proves: a bound on the delay, or a contradiction."""
        if state.contradiction is not None:
            return state.contradiction
        if stated is None:
            line = None if without is None else state.closed[without]
            if without is None or line is None:
                raise NoCertificate("a leaf neither of prices nor without a job")
            return self.lines.combine({self.get_assignment(without): 1, line: -1})
        excess = self.compute_excess(state, stated)
        total = self.combine_bound(state, stated, excess, np.zeros_like(excess))
        return self.lines.combine({k: Fraction(a, SCALE) for k, a in total.items()}, is_rounded=True)


def _find_ranges(chosen: BoolArray) -> list[tuple[int, int]]:
    """Return the first and last index of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
