"""A certificate of prices written as VIPR: the same proof, line by line, of the program of starts.

With z_jk the sum over all servers, and s_jk = z_jk - z_j(k-1), 1 where job j starts k steps after its submission, a
start that is charged e_jk more than the least of its job, and prices p of rows with a limit, the delay D of every
schedule keeps

    SCALE D >= least - spent + Σ e_jk s_jk,  all e_jk >= 0 but of starts that are excluded.

Rows. A capacity row at one step holds what runs at all of several. A job that touches some of them and is at one of
them for certain, is split by when it starts. A cut is a split: by mixed-integer rounding of Σ n_j z_j <= b, with
b = k c + f, the whole numbers π_j, n_j / c rounded up where its rest is above f and else down, have Σ π_j z_j <= k or
>= k + 1, and of either the cut is a combination (Nemhauser and Wolsey, 1990). Starts of j are excluded under the
assumption D <= reach - 1: with E the least of their e_jk, Σ s_jk <= (SCALE (reach - 1) - least + spent) / E < 1,
rounded. What is left of the proof is that D >= reach elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
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
from instances.validation import validated

Number = int | Fraction
Terms = dict[int, Number]
Multipliers = Mapping[int, Number]
Ranges = list[tuple[int, int]]  # of starts, first and last


def in_vipr(data: SiaOracle | SiaLocalOracle, text: str, solution: Solution) -> Certificate:
    """The certificate `text` of `data` as VIPR, with the schedule where it is a point of the program.

    It proves as much, or more where the program has less room. Raises NoCertificate where the program is too large.
    """
    proof = validated(DelayProof, content_of(data, text), root="")
    oracle = data.without_locality if isinstance(data, SiaLocalOracle) else data
    writer = _Writer(StartProgram(data), Delays(oracle), proof)
    bound = writer.written()
    program, point = writer.lines.program, writer.starts.point(solution)
    file = Vipr(
        {"gapwise": str(VERSION), "problem": data.problem, "instance": digest(data)},
        program,
        bound,
        None if point is None else program.value(point),
        () if point is None else (point,),
        tuple(writer.lines.derived),
    )
    how = f"prices of rows as a derivation of {len(file.derivations):,} lines"
    return Certificate("vipr", write_vipr(file), bound * writer.starts.slots, how)


class _Lines:
    """The constraints of a program and the lines that are derived from them, each with all that follows."""

    def __init__(self, starts: StartProgram) -> None:
        self.program = starts.program()
        self.rows: list[tuple[int, Number, Terms]] = []  # the sign of the direction, right side, coefficients
        self.place = {row.name: k for k, row in enumerate(self.program.rows)}
        for row in self.program.rows:
            self.rows.append(
                (SIGN[row.direction], _whole(row.right), {i: _whole(a) for i, a in row.coefficients.items()})
            )
        self.objective: Terms = {i: _whole(a) for i, a in self.program.objective.items()}
        self.derived: list[Derived] = []

    def add(self, sign: int, right: Number, terms: Terms, reason: Reason) -> int:
        """The index of a new line."""
        coefficients = None if terms == self.objective else {i: Fraction(a) for i, a in terms.items()}
        name = f"d{len(self.derived)}"
        self.derived.append(Derived(name, DIRECTION[sign], Fraction(right), coefficients, reason))
        self.rows.append((sign, right, terms))
        return len(self.rows) - 1

    def assume(self, sign: int, right: int, terms: Terms) -> int:
        return self.add(sign, right, terms, Reason("asm"))

    def combined(self, multipliers: Multipliers, rounded: bool = False, sign: int = 0) -> int:
        """The combination of lines, whole or with its right side rounded; a line itself where it is one alone.

        `sign`: the direction of one in which only equations are.
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
        total = {i: _whole(a) for i, a in total.items() if a}
        sign = signs.pop() if signs else sign or 1
        if rounded:
            right = math.ceil(right) if sign > 0 else math.floor(right)
        named = {k: Fraction(a) for k, a in multipliers.items()}
        return self.add(sign, _whole(right), total, Reason("rnd" if rounded else "lin", multipliers=named))

    def absurd(self, line: int) -> bool:
        sign, right, terms = self.rows[line]
        return not terms and (right > 0 if sign > 0 else right < 0 if sign < 0 else right != 0)

    def split(self, first: int, under: int, second: int, over: int) -> int:
        """What holds on both sides, `first` where the assumption `under` does and `second` where `over`."""
        sides = [self.rows[line] for line in (first, second) if not self.absurd(line)] or [self.rows[first]]
        sign, _, terms = sides[0]
        right = min(side[1] for side in sides) if sign > 0 else max(side[1] for side in sides)
        return self.add(sign, right, terms, Reason("uns", sides=(first, under, second, over)))


def _whole(number: Number) -> Number:
    return int(number) if number == int(number) else number


def _plus(total: Terms, more: Multipliers, factor: Number = 1) -> None:
    for k, a in more.items():
        total[k] = total.get(k, 0) + factor * a


class _State:
    """Of a node: the starts that are `open` (K,), and the line of each job that those `closed` are none, if any."""

    def __init__(self, open_: BoolArray, closed: Sequence[int | None]) -> None:
        self.open, self.closed = open_.copy(), list(closed)
        self.absurd: int | None = None  # a contradiction


class _Writer:
    """Jobs and starts are those of `delays`; `window` of a job, its last start."""

    def __init__(self, starts: StartProgram, delays: Delays, proof: DelayProof) -> None:
        self.starts, self.delays, self.proof = starts, delays, proof
        self.lines = _Lines(starts)
        self.charges = Charges(delays)
        self.charges.rows += [delays.counted(row) for row in proof.rows]
        self.jobs = range(len(delays.gpus))
        self.submit, self.duration, self.window = (a.tolist() for a in (delays.submit, delays.duration, delays.window))
        self._blocks: dict[tuple[int, int, int], int] = {}
        self._capacity: dict[int, int] = {}
        self._rows: dict[int, int] = {}

    # Starts of one job. "So much" stands for multipliers of lines whose combination, >=, it is.

    def z(self, j: int, k: int) -> list[int]:
        """The variables whose sum is 1 where j starts at most k steps after its submission."""
        return [self.starts.place[j, s, k] for s in self.starts.machines[j]]

    def sum(self, j: int, k: int) -> Terms:
        return dict.fromkeys(self.z(j, k), 1)

    def terms(self, j: int, ranges: Ranges, weight: int = 1) -> Terms:
        """weight times the number of starts in ranges, of which no two touch."""
        found: Terms = {}
        for low, high in ranges:
            _plus(found, self.sum(j, high), weight)
            _plus(found, self.sum(j, low - 1) if low else {}, -weight)
        return {i: a for i, a in found.items() if a}

    def none_below_0(self, j: int, low: int, high: int, weight: Number = 1) -> Terms:
        """The starts low to high are no fewer than 0, so much."""
        if low > high or not weight:
            return {}
        if not low:
            return {2 * i: weight for i in self.z(j, high)}  # their lower bounds
        found: Terms = {}
        at = low - 1
        while at < high:
            size = (at & -at or 1 << 40).bit_length() - 1
            while at + (1 << size) > high:
                size -= 1
            _plus(found, self._block(j, at, size), weight)
            at += 1 << size
        return found

    def _block(self, j: int, at: int, size: int) -> Terms:
        """z is no less 2^size starts after `at`, so much."""
        if not size:
            return {self.lines.place[f"by_{self.lines.program.variables[i][2:]}"]: -1 for i in self.z(j, at)}
        if (j, at, size) not in self._blocks:
            parts: Terms = {}
            for first in (at, at + (1 << size - 1)):
                _plus(parts, self._block(j, first, size - 1))
            self._blocks[j, at, size] = self.lines.combined(parts)
        return {self._blocks[j, at, size]: 1}

    def at_most_1(self, j: int, low: int, high: int, weight: Number = 1) -> Terms:
        """The starts low to high are at most one, so much, as <=."""
        if low > high or not weight:
            return {}
        found: Terms = {self.one(j): weight}
        _plus(found, self.none_below_0(j, 0, low - 1), -weight)
        _plus(found, self.none_below_0(j, high + 1, self.window[j]), -weight)
        return found

    def one(self, j: int) -> int:
        return self.lines.place[f"one_{j}"]

    # Rows

    def running(self, j: int, first: int, last: int, touching: bool = False) -> tuple[int, int]:
        """The first and last start with which j runs at all of these steps, or at one of them."""
        begin, end = (first, last) if touching else (last, first)
        return max(begin - self.duration[j] + 1 - self.submit[j], 0), min(end - self.submit[j], self.window[j])

    def capacity(self, t: int) -> int:
        """In units no more GPUs are in use at step t than there are."""
        at = int(np.searchsorted(self.starts.moments, t, side="right")) - 1
        if at not in self._capacity:
            most, unit = dict[int, Number](), self.starts.gpus[0] // self.delays.gpus[0]
            for s in self.starts.servers:
                row = self.lines.place.get(f"gpus_{s}_{at}" if self.starts.local else f"gpus_{at}")
                _plus(most, {row: Fraction(1, unit)} if row is not None else self._all_on(s, t))
            self._capacity[at] = self.lines.combined(most, rounded=unit > 1, sign=-1)
        return self._capacity[at]

    def _all_on(self, s: int, t: int) -> Terms:
        """What may run on a server at a step has room there, so much as <=: bounds of variables."""
        found: Terms = {}
        for j in self.jobs:
            low, high = self.running(j, t, t)
            if low <= high and s in self.starts.machines[j]:
                _plus(found, {2 * self.starts.place[j, s, high] + 1: self.delays.gpus[j]})
                _plus(found, {2 * self.starts.place[j, s, low - 1]: -self.delays.gpus[j]} if low else {})
        return found

    def within(self, t: int, windows: Sequence[tuple[int, int]], extra: Multipliers, but: int) -> Terms:
        """The capacity at step t with no more than the starts in `windows`; of job `but` also what `extra` adds."""
        found: Terms = {self.capacity(t): 1}
        for j in self.jobs:
            if j != but:
                self._narrowed(found, j, self.running(j, t, t), windows[j])
        _plus(found, extra)
        return found

    def _narrowed(self, found: Terms, j: int, wide: tuple[int, int], narrow: tuple[int, int]) -> None:
        """Leave out the starts of a job that are in the one window and not in the other, which is part of it."""
        n = self.delays.gpus[j]
        if narrow[0] > narrow[1]:
            narrow = (wide[1] + 1, wide[1])
        _plus(found, self.none_below_0(j, wide[0], narrow[0] - 1), -n)
        _plus(found, self.none_below_0(j, narrow[1] + 1, wide[1]), -n)

    def row(self, place: int) -> int:
        """The line of a row of the certificate."""
        if place not in self._rows:
            row = self.proof.rows[place]
            windows = [self.running(j, row.first, row.last, j == row.touching) for j in self.jobs]
            base = self._base(row, windows)
            self._rows[place] = self._cut(row, windows, base) if row.divisor else base
        return self._rows[place]

    def _base(self, row: RowProof, windows: Sequence[tuple[int, int]]) -> int:
        """The capacity that jobs take at all the steps of a row, one of them at any."""
        j = row.touching
        if j is None or windows[j][0] > windows[j][1]:
            return self.lines.combined(self.within(row.first, windows, {}, -1))
        (low, high), n, lines = windows[j], self.delays.gpus[j], self.lines
        sides: list[tuple[int, int, int]] = []
        at, none_before = low, dict[int, Number]()  # that j starts before `at` is excluded, so much
        while True:
            t = min(row.last, self.submit[j] + at - 1 + self.duration[j])
            last = min(t - self.submit[j], high)
            extra: Terms = {}
            self._narrowed(extra, j, self.running(j, t, t), (at, last))
            _plus(extra, none_before, n)
            if last == high:
                side = lines.combined(self.within(t, windows, extra, j))
                break
            early = lines.assume(1, 1, self.sum(j, last))
            late = lines.assume(-1, 0, self.sum(j, last))
            _plus(extra, self.at_most_1(j, 0, high, n))
            _plus(extra, {early: -n})
            sides.append((lines.combined(self.within(t, windows, extra, j)), late, early))
            at, none_before = last + 1, {late: 1}
            _plus(none_before, self.none_below_0(j, 0, low - 1), -1)
        for before, late, early in reversed(sides):
            side = lines.split(side, late, before, early)
        return side

    def _cut(self, row: RowProof, windows: Sequence[tuple[int, int]], base: int) -> int:
        """The rounded row: a split of which either side is a combination."""
        lines, c, inside, gpus = self.lines, row.divisor, set(row.jobs), self.delays.gpus
        b = self.delays.capacity - sum(gpus[j] for j in inside)
        k, f = divmod(b, c)
        terms: Terms = {}
        right, low, high = k, dict[int, Number](), dict[int, Number]()
        for j, window in enumerate(windows):
            n = -gpus[j] if j in inside else gpus[j]
            rest = n % c
            whole = n // c + (rest > f)
            if window[0] <= window[1]:
                _plus(terms, self.terms(j, [window], -whole if j in inside else whole))
            right -= whole if j in inside else 0
            # of what is counted, z or where it is complemented 1 - z, so much is left out: it is not below 0
            part, less = (low, c - rest) if rest > f else (high, rest)
            left = self.at_most_1(j, *window, less) if j in inside else self.none_below_0(j, *window, -less)
            _plus(part, left)
        terms = {i: a for i, a in terms.items() if a}
        under, over = lines.assume(-1, right, terms), lines.assume(1, right + 1, terms)
        _plus(low, {under: c - f})
        _plus(high, {base: 1, over: -f})
        return lines.split(lines.combined(low), under, lines.combined(high), over)

    # Prices

    def written(self) -> Fraction:
        """Write all lines, and return the bound in steps that the last one says."""
        lines, reach = self.lines, self.proof.reach
        self.under = lines.assume(-1, reach - 1, lines.objective)
        over = lines.assume(1, reach, lines.objective)
        state = _State(np.ones(len(self.charges.delay), dtype=bool), [None] * len(self.jobs))
        for stage in self.proof.stages:
            self.exclude(state, stage)
        last = lines.split(self.tree(state), self.under, over, over)
        return Fraction(lines.rows[last][1])

    def tree(self, root: _State) -> int:
        """What the leaves prove, under the assumption that the delay is less than the reach."""
        nodes, done = self.proof.nodes, dict[int, int]()
        states, assumed, stack = {0: root}, dict[int, tuple[int, int]](), [(0, False)]
        while stack:
            place, below = stack.pop()
            node = nodes[place]
            if node.branch is None or node.children is None:
                done[place] = self.leaf(states.pop(place), node.prices, node.without)
                continue
            early, late = node.children
            if below:
                at_most, beyond = assumed[place]
                done[place] = self.lines.split(done[late], beyond, done[early], at_most)
                continue
            state, j = states.pop(place), node.branch.job
            if node.prices is not None:
                self.exclude(state, node.prices)
            until = min(node.branch.until, self.window[j])
            at_most = self.lines.assume(1, 1, self.sum(j, until))
            beyond = self.lines.assume(-1, 0, self.sum(j, until))
            assumed[place] = at_most, beyond
            first = self.charges.delays.offset[j]
            for child, kept, why in (
                (early, range(until + 1), {self.one(j): 1, at_most: -1}),
                (late, range(until + 1, self.window[j] + 1), {beyond: 1}),
            ):
                states[child] = _State(state.open, state.closed)
                states[child].absurd = state.absurd
                some = np.ones(self.window[j] + 1, dtype=bool)
                some[kept.start : kept.stop] = False
                self._close(states[child], j, some, why)
                states[child].open[first : first + len(some)] &= ~some
            stack += [(place, True), (late, False), (early, False)]
        return done[0]

    def _own(self, j: int) -> slice:
        return slice(int(self.delays.offset[j]), int(self.delays.offset[j + 1]))

    def _close(self, state: _State, j: int, some: BoolArray, why: Multipliers) -> None:
        """Besides those that are closed, `some` starts of a job are none, so much as <=; in one line."""
        total = dict(why)
        if state.closed[j] is not None:
            _plus(total, {state.closed[j]: 1})  # type: ignore[dict-item]
            for low, high in _ranges(some & ~state.open[self._own(j)]):
                _plus(total, self.none_below_0(j, low, high), -1)
        if some.any():
            state.closed[j] = self.lines.combined(total)

    def excess(self, state: _State, stated: PriceProof) -> IntArray:
        """What each start is charged more than the least of its job that is open; closed ones may be charged less."""
        _, _, excess = self.charges.of(np.ones(len(state.open), dtype=bool), stated.prices)
        least = np.minimum.reduceat(np.where(state.open, excess, np.iinfo(np.int64).max), self.delays.offset[:-1])
        found: IntArray = excess - least[self.charges.job]
        return found

    def charged(self, state: _State, stated: PriceProof, excess: IntArray, kept: IntArray) -> Terms:
        """SCALE times the delay is no less than least - spent and the `kept` part of the excess, so much."""
        total: Terms = {}
        for place, price in stated.prices:
            if price:
                _plus(total, {self.row(place): -price})
        for j in self.jobs:
            own = self._own(j)
            _plus(total, {self.one(j): self._least(stated, j, excess)})
            self._dropped(total, state, j, excess[own] - kept[own])
        return total

    def _least(self, stated: PriceProof, j: int, excess: IntArray) -> int:
        """What job j is charged at least by an open start."""
        at = int(self.delays.offset[j])
        charge = 0
        for place, price in stated.prices:
            row = self.charges.rows[place]
            for i in np.flatnonzero((row.jobs == j) & (row.low <= 0)):
                charge += price * int(row.weight[i])
        return charge - int(excess[at])

    def _dropped(self, total: Terms, state: _State, j: int, less: IntArray) -> None:
        """Leave out so much of each start of a job: what is not below 0, and of closed ones anything."""
        below = -int(less.min(initial=0))
        if below:
            assert state.closed[j] is not None
            _plus(total, {state.closed[j]: -below})  # type: ignore[dict-item]
            less = less + below * ~state.open[self._own(j)]
        for k in np.flatnonzero(less).tolist():
            _plus(total, self.none_below_0(j, k, k, int(less[k])))

    def exclude(self, state: _State, stated: PriceProof) -> None:
        """Close the starts that are charged too much for a delay below the reach."""
        if state.absurd is not None:
            return
        least, spent, _ = self.charges.of(state.open, stated.prices)
        room = (self.proof.reach - 1) * SCALE - (least - spent)
        excess = self.excess(state, stated)
        if room < 0:
            total = self.charged(state, stated, excess, np.zeros_like(excess))
            state.absurd = self.lines.combined({k: -a for k, a in total.items()} | {self.under: SCALE})
            state.open[:] = False
            return
        gone = state.open & (excess > room)
        kept, dearest = np.zeros_like(excess), dict[int, int]()
        for j in self.jobs:
            own = self._own(j)
            if gone[own].any():
                dearest[j] = int(excess[own][gone[own]].min())
                kept[own] = np.where(gone[own], dearest[j], 0)
        if not dearest:
            return
        total = self.charged(state, stated, excess, kept)
        whole = self.lines.combined({k: -a for k, a in total.items()} | {self.under: SCALE})
        others: dict[int, Terms] = {}
        for j in dearest:
            others[j] = {}
            for low, high in _ranges(gone[self._own(j)]):
                _plus(others[j], self.none_below_0(j, low, high))
            others[j] = {self.lines.combined(others[j]): 1} if len(dearest) > 1 else {}
        for j, least_excess in dearest.items():
            alone: Terms = {whole: Fraction(1, least_excess)}
            for i, more in dearest.items():
                if i != j:
                    _plus(alone, others[i], Fraction(-more, least_excess))
            line = self.lines.combined(alone, rounded=True)
            own = self._own(j)
            self._close(state, j, gone[own], {line: 1})
        state.open &= ~gone

    def leaf(self, state: _State, stated: PriceProof | None, without: int | None) -> int:
        """What a leaf proves: a bound of the delay, or a contradiction."""
        if state.absurd is not None:
            return state.absurd
        if stated is None:
            if without is None or state.closed[without] is None:
                raise NoCertificate("a leaf neither of prices nor without a job")
            return self.lines.combined({self.one(without): 1, state.closed[without]: -1})  # type: ignore[dict-item]
        excess = self.excess(state, stated)
        total = self.charged(state, stated, excess, np.zeros_like(excess))
        return self.lines.combined({k: Fraction(a, SCALE) for k, a in total.items()}, rounded=True)


def _ranges(some: BoolArray) -> Iterable[tuple[int, int]]:
    """First and last place of each run of true ones."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], some, [False]]).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
