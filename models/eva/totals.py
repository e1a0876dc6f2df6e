"""The surrogate relaxation: find the cheapest instance mix with enough total capacity, and pack the tasks into it.

The proof is a table in integers (`instances.proofs.eva.totals`), which gives a lower bound. Every mix with a cost
between this bound and the incumbent is packed, or proved infeasible.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import IntArray
from instances.eva.arrays import Group, PackingArrays, packing_arrays
from instances.eva.packing import EvaPacking
from instances.options import ignore
from instances.proofs.certificate import NoCertificate
from instances.proofs.eva.certificate import Packing, TotalsLeaf, WrittenCover
from instances.proofs.eva.multisets import MOST_ENTRIES, MOST_FOUND, Covers, Multisets
from instances.proofs.eva.totals import Cover
from models.core.fixed_bins import FixedBins, PartialPacking
from models.core.incumbent import Incumbent
from models.core.outcome import APART
from models.eva.aggregate_bound import AggregateBound, PriceGroups, TypeCut
from models.eva.covering import convert_to_usd
from models.eva.parameters import DEFAULTS, TotalsParameters
from models.eva.pattern_covers import pattern_cover
from models.eva.saving_nets import pack_greedily
from models.eva.type_totals import TypeTotals

BY_TOTALS, BY_PROGRAM = "totals", "totals and HiGHS"
COARSE, FINE = 1 << 15, 1 << 19  # entries of a table, for a first look and for the search
SHARES = 32  # each further table gets one of SHARES parts of the remaining entries
LOOK = 20_000  # a linear program and a table count as this number of steps
PROPOSALS, PROPOSAL_NODES = 4, 1_000  # instance mixes that HiGHS proposes if a search finds none; nodes for each
EFFORT, MOST_TURNS = 4, 12  # factor on the limits of each round, and the rounds in which they grow
SLICE = 0.25  # share of the remaining time that one integer program may take


def solve_totals(
    arrays: PackingArrays,
    options: Options,
    report: Report = ignore,
    start: Sequence[Group] | None = None,
    parameters: TotalsParameters = DEFAULTS.totals,
) -> Answer | None:
    """Solve by the surrogate relaxation; return `None` if no table is short enough, or no packing is near the bound.

    - `arrays`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: instances to begin from; the answer is never worse.
    - `parameters`: the constants of the method.
    """
    if len(arrays.price) == 1:  # other methods find the minimum number of instances as fast
        return None
    with Stopwatch(options.time_limit) as clock:
        try:
            search = _MultisetSearch(arrays, options, report, start, parameters, clock, COARSE)
            small = search.kinds.holds_many(arrays.most, parameters)
            if not small:
                if not search.look():
                    return None
                start = search.incumbent.solution
            search = _MultisetSearch(arrays, options, report, start, parameters, clock, FINE)
        except (NoCertificate, ValueError):  # HiGHS rejects numbers of very different size
            return None
        if not small and options.time_limit is not None:
            search.clock = Stopwatch(parameters.share * clock.remaining_s)
        search.run()
    incumbent = search.incumbent
    if incumbent.solution is None:
        return None
    return Answer(
        solution=arrays.solution(incumbent.solution),
        bound=arrays.usd(incumbent.bound or 0),
        termination="finished" if incumbent.is_closed or not search.clock.has_expired else "time_limit",
        reason=None if incumbent.is_closed else APART,
        build_s=0.0,
        solve_s=clock.cpu_s,
        trace=convert_to_usd(arrays, incumbent.trace),
        info={
            "method": BY_TOTALS,
            "bound_by": BY_PROGRAM if search.programs else BY_TOTALS,
            "multisets": search.tried,
            "programs": search.programs,
        },
    )


def holds_many_tasks(arrays: PackingArrays, parameters: TotalsParameters = DEFAULTS.totals) -> bool:
    """Return whether there are several types and instances hold many tasks, so that totals decide the cost."""
    with suppress(NoCertificate):
        return len(arrays.price) > 1 and TypeTotals(arrays).holds_many(arrays.most, parameters)
    return False


def proof_by_totals(
    data: EvaPacking, solution: Solution | None, target: int, most: int, options: Options
) -> TotalsLeaf | None:
    """Return the leaf of surrogate inequalities with the largest bound, or `None` if there is none.

    - `solution`: the packing that belongs to the bound; the search starts from it.
    - `target`: the bound that suffices, in price units.
    - `most`: the largest bound of interest, in price units.
    - `options`: limits and seed.
    """
    packing, arrays, clock = Packing(data), packing_arrays(data), Stopwatch(options.time_limit)
    if len(arrays.price) == 1:  # one linear program over tasks proves as much or more
        return None
    with suppress(NoCertificate):
        start = None if solution is None else arrays.groups(solution)
        gap = (most - target) / most if most > 0 else 0.0
        search = _MultisetSearch(arrays, replace(options, gap=gap), ignore, start, DEFAULTS.totals, clock, FINE)
        best = _leaf(packing, search.written, most)
        if best.bound < target and search.kinds.holds_many(arrays.most, DEFAULTS.totals):
            if options.time_limit is not None:
                search.clock = Stopwatch(DEFAULTS.totals.share * clock.remaining_s)
            search.run()  # this finds further inequalities
            search.clock = clock
            best = _leaf(packing, [*search.written, *search.refuting(packing)], most)
        return best if best.bound > 0 else None
    return None


def _leaf(packing: Packing, covers: Sequence[WrittenCover], most: int) -> TotalsLeaf:
    """Return the leaf of all inequalities with their bound; if that takes too many steps, of one inequality."""
    for some in (covers, *([cover] for cover in covers)):
        with suppress(NoCertificate):
            bound, below = most + 1, most
            while below < bound:  # until no cheaper mix is found, as in verification
                bound, below = below, packing.below_by_totals(some, below)
            return TotalsLeaf(covers=tuple(some), bound=bound)
    raise NoCertificate("the totals prove nothing in so many steps")


class _MultisetSearch:
    """The search over instance mixes: the open mixes, and the bound that is proved for the others."""

    def __init__(
        self,
        arrays: PackingArrays,
        options: Options,
        report: Report,
        start: Sequence[Group] | None,
        parameters: TotalsParameters,
        clock: Stopwatch,
        entries: int,
    ) -> None:
        self.arrays, self.options, self.parameters, self.clock = arrays, options, parameters, clock
        self.kinds = TypeTotals(arrays)
        needless, apart = self.kinds.totals.find_dominated(self.kinds.price, arrays.most)
        self.most = [0 if gone else m for gone, m in zip(needless, arrays.most, strict=True)]
        self.covers = Covers(arrays.price, np.array([-1 if m is None else m for m in self.most]), apart)
        self.bound = 0
        self.written: list[WrittenCover] = []
        self.asked: list[Cover] = []
        self.proposals = 0
        first = self.kinds.weights(self.most)
        for weights in first:
            if self.written and clock.has_expired:  # fewer inequalities prove less, but are valid
                break
            self._add(weights, min(entries, MOST_ENTRIES // 2 // len(first)))

        def report_incumbent(found: list[Group] | None, bound: int | None) -> None:
            solution = None if found is None else arrays.solution(found)
            report(solution, None if bound is None else arrays.usd(bound))

        listen = None if report is ignore else report_incumbent
        self.incumbent: Incumbent[list[Group], int] = Incumbent("minimize", clock, listen, options.gap)
        if start:
            self.incumbent.offer(arrays.cost(start), list(start))
        self.incumbent.raise_bound(self.bound)
        self.programs = self.tried = 0
        self.packed = False  # whether any mix holds all tasks
        self.open: dict[bytes, _OpenMultiset] = {}
        self.left: dict[bytes, _OpenMultiset] = {}  # packed by the dot-product heuristic only
        self.refused: list[_OpenMultiset] = []  # infeasible according to HiGHS alone
        self.seen: set[bytes] = set()

    def look(self) -> bool:
        """Return whether a few steps find a packing near the bound, so that a longer search is worthwhile."""
        step, steps = self.parameters.first * self.bound, self.parameters.look
        while step <= self.parameters.farthest * self.bound and steps > 0 and self.tried < self.parameters.tried:
            found = self.covers.up_to(int(self.bound + step), steps)
            steps -= found.steps
            cut = self._look(found, self.parameters.tried)
            if self.packed or self.clock.has_expired:
                break
            if cut is not None:
                self._add(cut, min(COARSE, self.entries))
                steps -= LOOK
            else:
                step *= 2
        return self.packed

    def run(self) -> None:
        """Search mixes at increasing cost above the bound, up to the incumbent; then decide the open ones."""
        first = max(1, int(self.parameters.first * self.bound))
        proven, width, steps, many, cuts = self.bound, first, self.parameters.steps, MOST_FOUND, 0
        while not (self.incumbent.is_closed or self.clock.has_expired):
            best, proven = self.incumbent.objective, max(proven, self.bound)
            limit = proven + width if best is None else min(proven + width, best - 1)
            found = self.covers.up_to(limit, steps, proven, many)
            if not (self.packed or found.complete or len(found.price)):
                found = self._propose_by_highs(found)
            cut = self._look(found)
            if cut is not None:
                if self._is_share_used(cuts, self.parameters.cuts) or self.entries == 0:
                    break  # the mixes after the infeasible one are untested
                self._add(cut, min(FINE, self.entries))
                cuts += 1
                continue
            if self.clock.has_expired or self._is_share_used(self.tried, self.parameters.multisets):
                break
            if found.complete:
                every = found.least is None  # no mix costs more, because types have limits
                beyond = self.incumbent.objective if every else found.least
                proven = max(proven, limit + 1 if beyond is None else beyond)
                self.incumbent.raise_bound(self._proven(proven))
                if every:
                    break
                far = limit > (1 + self.parameters.farthest) * self.bound
                if limit + 1 == best or (far and self.incumbent.objective is None and self._is_share_used(1, 1)):
                    break
                width *= 2
            elif self.incumbent.objective == best and self._is_share_used(1, 1):
                break
            elif width > 1:  # too many mixes: search closer to the bound
                width = max(1, min(width, limit - proven) // 2)
            elif many < self.parameters.most_found:
                steps, many = 4 * steps, 4 * many
            else:
                break
        for turn in itertools.count():
            if self._is_share_used(turn, self.parameters.turns):
                break
            effort = EFFORT ** min(turn, MOST_TURNS)
            for closing, most in ((self._repair, self.parameters.repaired), (self._decide, None)):
                for one in sorted(self.open.values(), key=lambda one: (one.price, one.packed.size))[:most]:
                    if self.incumbent.is_closed or self.clock.has_expired:
                        return
                    if not self._dear(one.price):
                        closing(one, effort)
                        self.incumbent.raise_bound(self._proven(proven))
            if not any(not self._dear(one.price) for one in self.open.values()):
                break

    def _propose_by_highs(self, found: Multisets) -> Multisets:
        """Return the result of an empty search, `found`, with a cheapest mix by HiGHS, which proves nothing.

        Each proposal has more spare capacity than the one before.
        """
        if self.proposals == PROPOSALS or not self.arrays.price.all():
            return found
        spare = self.parameters.first * (2**self.proposals - 1)
        self.proposals += 1
        groups = PriceGroups(tuple(range(len(self.most))), tuple(self.kinds.price), tuple(self.most))
        limits = replace(self.options, effort=min(self.options.effort or PROPOSAL_NODES, PROPOSAL_NODES))
        spends = AggregateBound(self.arrays, groups, limits)
        for cover in self.asked:
            spends.add(TypeCut(cover.rooms, math.ceil((1 + spare) * cover.amount)))
        seconds = SLICE * self.clock.remaining_s
        number = spends.propose(2 * self.bound, None if math.isinf(seconds) else seconds)
        if number is None:
            return found
        return replace(found, found=np.array([number]), price=np.array([spends.cost(number)]))

    def _is_share_used(self, done: int, most: int) -> bool:
        """Return whether other methods should follow: `done` reaches `most`, and the share of a time limit is over."""
        limit = self.clock.limit_s
        return done >= most and (limit is None or self.clock.cpu_s >= self.parameters.share * limit)

    def refuting(self, packing: Packing) -> list[WrittenCover]:
        """Return inequalities that exclude the mixes that HiGHS reports as infeasible, if patterns prove them so."""
        found: list[WrittenCover] = []
        left = MOST_ENTRIES - len(self.covers.tables)
        for one in self.refused:
            if self._dear(one.price):
                continue
            entries = left // SHARES
            cover = pattern_cover(packing, self.arrays, one.number, one.kinds, one.packed.placed, entries, self.clock)
            if cover is not None:
                left -= entries
                found.append(cover)
        return found

    def _proven(self, beyond: int) -> int:
        return min([beyond, *(one.price for one in self.open.values() if not self._dear(one.price))])

    def _add(self, weights: list[list[int]], entries: int) -> None:
        """Add the surrogate inequality of weights, with about `entries` entries in its table."""
        cover = self.kinds.cover(weights)
        if cover.amount == 0:
            return
        divisor = -(-cover.amount // entries)
        table = self.covers.add(cover, divisor, self.most)
        self.asked.append(cover)
        self.written.append(WrittenCover(weights=tuple(map(tuple, weights)), divisor=divisor))
        self.bound = max(self.bound, int(table[-1]))

    @property
    def entries(self) -> int:
        """Return the number of entries of a further table."""
        return (MOST_ENTRIES - len(self.covers.tables)) // SHARES

    def _look(self, found: Multisets, most: int | None = None) -> list[list[int]] | None:
        """Pack the new mixes, the cheapest first, until one holds all tasks.

        Return weights of an inequality that excludes a mix, if one is proved infeasible; otherwise `None`.
        """
        new = [
            (price, number)
            for price, number in zip(found.price.tolist(), found.found, strict=True)
            if number.tobytes() not in self.seen and self.arrays.allows(number.tolist())
        ]
        for price, number in new[:most]:  # the dot-product heuristic is fast
            if self._dear(price) or self.clock.has_expired:
                break
            if number.tobytes() not in self.left:
                one = self._pack_by_dot_product(price, number)
                self._offer(number, one.packed)
                if one.packed.complete:
                    break
                self.left[number.tobytes()] = one
        for price, number in new:
            if self._dear(price) or self.clock.has_expired or self._enough(most):
                break
            key = number.tobytes()
            self.seen.add(key)
            shared = self.kinds.share_tasks(number)
            if (weights := self.kinds.find_violated(number, shared)) is not None:
                return weights
            self.tried += 1
            one = self.left.get(key) or self._pack_by_dot_product(price, number)
            starts = (one.rooms.pack_by_lp_assignment(one.kinds, shared.share), one.packed)
            tries = (
                one.rooms.repair_by_ejection(start, self.parameters.ejections, self.options.seed) for start in starts
            )
            packed = min(tries, key=lambda packed: packed.size)
            self._offer(number, packed)
            if packed.complete:
                break
            self.open[key] = replace(one, packed=packed)
        return None

    def _enough(self, most: int | None) -> bool:
        """Return whether `most` mixes were tried; by default, as many as the time allows."""
        return self._is_share_used(self.tried, self.parameters.multisets) if most is None else self.tried >= most

    def _dear(self, price: int) -> bool:
        """Return whether the incumbent costs no more than `price`."""
        return self.incumbent.objective is not None and price >= self.incumbent.objective

    def _repair(self, one: _OpenMultiset, effort: int) -> None:
        """Improve the packing of a mix by fix-and-optimise."""
        packed = one.rooms.fix_and_optimise(one.packed, self.options, self.clock, effort * self.parameters.parts)
        self.open[one.number.tobytes()] = replace(one, packed=packed)
        self._offer(one.number, packed)

    def _decide(self, one: _OpenMultiset, effort: int) -> None:
        """Pack a mix by an integer program over all its instances, or remove it if HiGHS reports infeasibility."""
        self.programs += 1
        answer = one.rooms.solve_program(self.options, SLICE * self.clock.remaining_s, effort * self.parameters.nodes)
        if isinstance(answer, PartialPacking):
            self._offer(one.number, answer)
        elif answer == "infeasible":
            self.refused.append(self.open.pop(one.number.tobytes()))

    def _pack_by_dot_product(self, price: int, number: IntArray) -> _OpenMultiset:
        """Return a mix packed by the dot-product heuristic.

        - `price`: cost of the mix in price units.
        - `number` (K,): instances of each type.
        """
        kinds = np.repeat(np.arange(len(number)), number)
        rooms = FixedBins(self.kinds.room[kinds], self.arrays.family[kinds], self.arrays.demand, self.arrays.count)
        return _OpenMultiset(price, number, kinds, rooms, rooms.pack_by_dot_product())

    def _offer(self, number: IntArray, packed: PartialPacking) -> None:
        """Offer a packing. If types have no limits, unassigned tasks go to additional instances."""
        kinds = np.repeat(np.arange(len(number)), number).tolist()
        rows = [{c: int(n) for c, n in enumerate(row) if n} for row in packed.placed]
        groups: list[Group] = [(k, on_it, 1) for k, on_it in zip(kinds, rows, strict=True) if on_it]
        self.packed |= packed.complete
        if not packed.complete:
            if self.arrays.has_limits or self._dear(self.arrays.cost(groups)):
                return
            groups += self._further(packed.left)
        self.incumbent.offer(self.arrays.cost(groups), groups)

    def _further(self, left: IntArray) -> list[Group]:
        """Return the cheaper of one instance for all tasks `left` (N,) and several instances, filled greedily."""
        arrays, some = self.arrays, np.flatnonzero(left)
        alone = replace(arrays.select_classes(some, left[some]), pair=np.ones((len(some), len(some))))
        found: list[Group] = [
            (k, {int(some[c]): n for c, n in on_it.items()}, copies) for k, on_it, copies in pack_greedily(alone)
        ]
        takes = np.einsum("n,knr->kr", left[some], arrays.demand_of_type[:, some])
        holding = np.flatnonzero((takes <= arrays.capacity).all(axis=1))
        if not len(holding):
            return found
        k = int(holding[arrays.price[holding].argmin()])
        one: list[Group] = [(k, {int(c): int(left[c]) for c in some}, 1)]
        return min(found, one, key=arrays.cost)


@dataclass(frozen=True)
class _OpenMultiset:
    """An instance mix that does not hold all tasks yet, with its best packing."""

    price: int
    number: IntArray
    kinds: IntArray  # the type of each instance
    rooms: FixedBins
    packed: PartialPacking
