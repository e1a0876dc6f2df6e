"""The cheapest multiset of instance types whose rooms cover the totals of all tasks, and packing into it.

What proves is a table in whole numbers (`instances.proofs.eva.totals`) and, between it and the incumbent, every
multiset that is cheaper: each is packed, or shown to hold not all tasks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import gcd

import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.eva.arrays import Group, PackingArrays, packing_arrays
from instances.eva.packing import EvaPacking
from instances.options import ignore
from instances.proofs.certificate import NoCertificate
from instances.proofs.eva.certificate import Packing, TotalsLeaf, WrittenCover
from instances.proofs.eva.multisets import LARGEST_TOTAL, MOST_ENTRIES, MOST_FOUND, Covers, Multisets
from instances.proofs.eva.totals import Cover, Totals
from models.core.fixed_bins import FixedBins, PartialPacking
from models.core.outcome import APART
from models.eva.aggregate_bound import AggregateBound, PriceGroups, TypeCut
from models.eva.covering import in_usd
from models.eva.parameters import TotalsParameters
from models.eva.pattern_covers import pattern_cover
from models.eva.saving.nets import pack_greedily
from models.highs import LinearModel, solve_arrays
from models.incumbent import Incumbent

BY_TOTALS, BY_PROGRAM = "totals", "totals and HiGHS"
LARGEST = 2.0**62  # sums of demands are 64-bit integers
COARSE, FINE = 1 << 15, 1 << 19  # entries of a table, for a first look and for the search
SHARES = 32  # a further table has one of so many shares of the room that is left for them
WEIGHT = 1 << 40  # the sum of the weights of a mix, by totals
TILTS = (0.5, 2.0)  # what one total is multiplied with, for further mixes
MOST_SHARED = 40_000  # shares of tasks among types in one linear program
LOOK = 20_000  # steps that a linear program and a table are worth
PROPOSALS, PROPOSAL_NODES = 4, 1_000  # multisets that HiGHS proposes where a search finds none; nodes for each
EFFORT, MOST_TURNS = 4, 12  # times as much in each turn, of so many
SLICE = 0.25  # the share of what is left of the time that one integer program may take
SHORT = 1e-7  # the share of all tasks that may seem to be left over
CLOSE = 1e-3  # duals nearer to one another than this make one mix


DEFAULTS = TotalsParameters()


@dataclass(frozen=True)
class SharedOut:
    """Tasks shared out among types: the `objective`, `weight` (K, R) by the duals, and the `share` (K, N) of tasks."""

    objective: float
    weight: FloatArray
    share: FloatArray


class TypeTotals:
    """What instances of each type can hold, and what the tasks ask of them, over the classes of `arrays`."""

    def __init__(self, arrays: PackingArrays) -> None:
        if not arrays.price.any():
            raise NoCertificate("no type has a price")
        if (arrays.demand.max(axis=0).T.astype(float) @ arrays.count).max() >= LARGEST:
            raise NoCertificate("the demands of all tasks together are too large")
        self.arrays = arrays
        self.totals = Totals(
            arrays.demand.tolist(), arrays.capacity.tolist(), arrays.family.tolist(), arrays.count.tolist()
        )
        self.price = arrays.price.tolist()
        self.room = np.array(self.totals.room, dtype=np.int64)

    def weights(self, most: Sequence[int | None]) -> list[list[list[int]]]:
        """Weights worth a table: each resource, and duals of linear programs."""
        kinds, resources = self.room.shape
        unit = [[int(r == s) for s in range(resources)] for r in range(resources)]
        amount = [self.cover([weights] * kinds).amount for weights in unit]
        asked = [r for r in range(resources) if amount[r]]
        found = [[unit[r]] * kinds for r in asked]
        if kinds * self.arrays.classes <= MOST_SHARED:
            found.append(self.whole(self._shared(most)))
        for duals in self._duals(asked, amount, most):
            weight = np.zeros((kinds, resources))
            weight[:, asked] = duals / [amount[r] for r in asked]
            found.append(self.whole(weight))
        return found

    def whole(self, weight: FloatArray) -> list[list[int]]:
        """Weights (K, R) in whole numbers."""
        total = float((self.arrays.count @ np.abs(self.arrays.demand.min(axis=0) @ weight.T)).max())
        scale = WEIGHT / total if total > 0 else 0.0
        whole = [[max(0, int(w * scale)) for w in row] for row in weight.tolist()]
        common = gcd(*(w for row in whole for w in row)) or 1
        return [[w // common for w in row] for row in whole]

    def cover(self, weights: Sequence[Sequence[int]]) -> Cover:
        """The cover of weights."""
        return self.totals.cover(weights, self.totals.values(weights), {})

    def instances(self, most: Sequence[int | None]) -> float:
        """How many instances have room for all totals at the least price, in parts of one."""
        resources = self.room.shape[1]
        unit = np.eye(resources, dtype=np.int64).tolist()
        total = np.array([self.cover([weights] * len(self.price)).amount for weights in unit], dtype=float)
        model = LinearModel(
            cost=self.arrays.price / self.arrays.price.max(),
            matrix=(self.room / np.maximum(1.0, total)).T,
            row_lower=np.minimum(1.0, total),
            row_upper=np.inf,
            upper=np.array([np.inf if m is None else m for m in most]),
        )
        try:
            solved = solve_arrays(model, Options())
        except ValueError as error:  # HiGHS refuses numbers that are too far apart
            raise NoCertificate(str(error)) from error
        return math.inf if solved.x is None else float(solved.x.sum())

    def holds_many(self, most: Sequence[int | None], parameters: TotalsParameters) -> bool:
        """Whether an instance holds so many tasks that hardly anything but totals counts."""
        return self.instances(most) * parameters.many <= self.arrays.count.sum()

    def _duals(self, asked: Sequence[int], amount: Sequence[int], most: Sequence[int | None]) -> list[FloatArray]:
        """Duals, by totals, of the linear program over the totals, and of those with one total more or less."""
        total = np.array([amount[r] for r in asked], dtype=float)
        rows = (self.room[:, asked] / total).T
        found: list[FloatArray] = []
        upper = np.array([np.inf if m is None else m for m in most])
        for tilt in np.vstack([np.ones(len(asked)), *(1 + (f - 1) * np.eye(len(asked)) for f in TILTS)]):
            model = LinearModel(
                cost=self.arrays.price / self.arrays.price.max(),
                matrix=rows,
                row_lower=tilt,
                row_upper=np.inf,
                upper=upper,
            )
            solved = solve_arrays(model, Options())
            if solved.duals is None or not (y := np.maximum(solved.duals, 0.0)).any():
                continue
            y = y / y.sum()
            if not any(np.abs(y - z).max() < CLOSE for z in found):
                found.append(y)
        return found

    def _shared(self, most: Sequence[int | None]) -> FloatArray:
        """Weights (K, R): duals of the linear program in which the tasks are shared out among types."""
        upper = np.array([np.inf if m is None else m for m in most])
        return self._of_program(np.arange(len(self.price)), None, upper).weight

    def shared(self, number: IntArray, options: Options = Options()) -> SharedOut:
        """Solve the program in which tasks are shared out among the types of a multiset, so that least is left over.

        If a limit ends the program, nothing is left over as far as it knows.
        """
        used = np.flatnonzero(number)
        return self._of_program(used, number[used].astype(float), np.zeros(0), options)

    def refuted(self, number: IntArray, shared: SharedOut) -> list[list[int]] | None:
        """Weights whose cover a multiset is short of, where tasks cannot even be shared out among its types."""
        if shared.objective <= SHORT:
            return None
        weights = self.whole(shared.weight)
        cover = self.cover(weights)
        held = sum(int(n) * room for n, room in zip(number, cover.rooms, strict=True))
        return weights if held < cover.amount < LARGEST_TOTAL else None

    def _of_program(
        self, kinds: IntArray, number: FloatArray | None, upper: FloatArray, options: Options = Options()
    ) -> SharedOut:
        """The program in which tasks are shared out among `kinds` (k,) of types.

        With a `number` of each the least share of all tasks that is left over; without one the least price.
        """
        arrays, scale = self.arrays, np.maximum(1, self.room.max(axis=0)).astype(float)
        fits = arrays.fits[kinds]
        place, task = np.nonzero(fits)
        (k, n), r = fits.shape, self.room.shape[1]
        needs = arrays.demand_of_type[kinds][place, task] / scale  # (shares, R)
        rooms = self.room[kinds] / scale
        column = np.arange(len(place))
        row = [task, *(n + s * k + place for s in range(r))]
        value = [np.ones(len(place)), *(-needs[:, s] for s in range(r))]
        shares = sparse.coo_array(
            (np.concatenate(value), (np.concatenate(row), np.tile(column, r + 1))), shape=(n + r * k, len(place))
        )
        count = arrays.count.astype(float)
        if number is None:
            held = sparse.coo_array(
                (rooms.T.ravel(), (n + np.arange(r * k), np.tile(np.arange(k), r))), shape=(n + r * k, k)
            )
            matrix, cost = (
                sparse.hstack([shares, held]),
                np.append(np.zeros(len(place)), arrays.price / arrays.price.max()),
            )
            lower, most = np.append(count, np.zeros(r * k)), np.append(np.full(len(place), np.inf), upper)
        else:
            left = sparse.coo_array((np.ones(n), (np.arange(n), np.arange(n))), shape=(n + r * k, n))
            matrix, cost = sparse.hstack([shares, left]), np.append(np.zeros(len(place)), np.ones(n) / count.sum())
            lower, most = np.append(count, -(number[:, None] * rooms).T.ravel()), np.full(len(place) + n, np.inf)
        solved = solve_arrays(LinearModel(cost, matrix, lower, np.inf, upper=most), options)
        weight, share = np.zeros_like(self.room, dtype=float), np.zeros((len(self.price), n))
        if solved.duals is None or solved.objective is None or solved.x is None:
            return SharedOut(0.0, weight, share)
        weight[kinds] = np.maximum(0.0, solved.duals[n:]).reshape(r, k).T / scale
        others = np.setdiff1d(np.arange(len(weight)), kinds)
        weight[others] = weight[kinds].max(axis=0)  # no task is worth less there
        share[kinds[place], task] = solved.x[: len(place)]
        return SharedOut(float(solved.objective), weight, share)


def solve_totals(
    arrays: PackingArrays,
    options: Options,
    report: Report = ignore,
    start: Sequence[Group] | None = None,
    parameters: TotalsParameters = DEFAULTS,
) -> Answer | None:
    """Solve by totals; `None` where they say nothing: no table is short enough, or their bound is far from any packing.

    - `arrays`: the instance.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: instances to begin from; the answer is never worse.
    - `parameters`: the constants of the method.
    """
    if len(arrays.price) == 1:  # the least number of instances is as quick for others to see
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
        except (NoCertificate, ValueError):  # HiGHS refuses numbers that are too far apart
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
        termination="finished" if incumbent.closed or not search.clock.expired else "time_limit",
        reason=None if incumbent.closed else APART,
        build_s=0.0,
        solve_s=clock.cpu_s,
        trace=in_usd(arrays, incumbent.trace),
        info={
            "method": BY_TOTALS,
            "bound_by": BY_PROGRAM if search.programs else BY_TOTALS,
            "multisets": search.tried,
            "programs": search.programs,
        },
    )


def many_on_each(arrays: PackingArrays, parameters: TotalsParameters = DEFAULTS) -> bool:
    """Whether an instance holds so many tasks that hardly anything but totals counts."""
    with suppress(NoCertificate):
        return len(arrays.price) > 1 and TypeTotals(arrays).holds_many(arrays.most, parameters)
    return False


def proof_by_totals(
    data: EvaPacking, solution: Solution | None, target: int, most: int, options: Options
) -> TotalsLeaf | None:
    """The leaf of totals that proves most, in price units up to `most`, `None` where there is none.

    - `solution`: the packing whose bound is to be proved, with which the search ends at once.
    - `target`: what is enough.
    - `options`: limits and seed.
    """
    packing, arrays, clock = Packing(data), packing_arrays(data), Stopwatch(options.time_limit)
    if len(arrays.price) == 1:  # one linear program over tasks proves as much or more
        return None
    with suppress(NoCertificate):
        start = None if solution is None else arrays.groups(solution)
        gap = (most - target) / most if most > 0 else 0.0
        search = _MultisetSearch(arrays, replace(options, gap=gap), ignore, start, DEFAULTS, clock, FINE)
        best = _leaf(packing, search.written, most)
        if best.bound < target and search.kinds.holds_many(arrays.most, DEFAULTS):
            if options.time_limit is not None:
                search.clock = Stopwatch(DEFAULTS.share * clock.remaining_s)
            search.run()  # which finds covers on its way
            search.clock = clock
            best = _leaf(packing, [*search.written, *search.refuting(packing)], most)
        return best if best.bound > 0 else None
    return None


def _leaf(packing: Packing, covers: Sequence[WrittenCover], most: int) -> TotalsLeaf:
    """The leaf of covers, and what they prove, together or else one by one."""
    for some in (covers, *([cover] for cover in covers)):
        with suppress(NoCertificate):
            bound, below = most + 1, most
            while below < bound:  # until nothing is found below it, as whoever verifies it finds nothing
                bound, below = below, packing.below_by_totals(some, below)
            return TotalsLeaf(covers=tuple(some), bound=bound)
    raise NoCertificate("the totals prove nothing in so many steps")


class _MultisetSearch:
    """The search over multisets: those that are open, by price, and what is proven of the others."""

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
        needless, apart = self.kinds.totals.needless(self.kinds.price, arrays.most)
        self.most = [0 if gone else m for gone, m in zip(needless, arrays.most, strict=True)]
        self.covers = Covers(arrays.price, np.array([-1 if m is None else m for m in self.most]), apart)
        self.bound = 0
        self.written: list[WrittenCover] = []
        self.asked: list[Cover] = []
        self.proposals = 0
        first = self.kinds.weights(self.most)
        for weights in first:
            if self.written and clock.expired:  # fewer covers prove less, and nothing false
                break
            self._add(weights, min(entries, MOST_ENTRIES // 2 // len(first)))

        def told(found: list[Group] | None, bound: int | None) -> None:
            solution = None if found is None else arrays.solution(found)
            report(solution, None if bound is None else arrays.usd(bound))

        listen = None if report is ignore else told
        self.incumbent: Incumbent[list[Group], int] = Incumbent("minimize", clock, listen, options.gap)
        if start:
            self.incumbent.offer(arrays.cost(start), list(start))
        self.incumbent.raise_bound(self.bound)
        self.programs = self.tried = 0
        self.packed = False  # whether any multiset was
        self.open: dict[bytes, _OpenMultiset] = {}
        self.left: dict[bytes, _OpenMultiset] = {}  # those that are packed by direction and no more
        self.refused: list[_OpenMultiset] = []  # by HiGHS alone
        self.seen: set[bytes] = set()

    def look(self) -> bool:
        """Whether a few steps find a packing near the bound, from which a search is worth its time."""
        step, steps = self.parameters.first * self.bound, self.parameters.look
        while step <= self.parameters.farthest * self.bound and steps > 0 and self.tried < self.parameters.tried:
            found = self.covers.up_to(int(self.bound + step), steps)
            steps -= found.steps
            cut = self._look(found, self.parameters.tried)
            if self.packed or self.clock.expired:
                break
            if cut is not None:
                self._add(cut, min(COARSE, self.entries))
                steps -= LOOK
            else:
                step *= 2
        return self.packed

    def run(self) -> None:
        """Search farther and farther beyond the bound, up to the incumbent; then close what is open."""
        first = max(1, int(self.parameters.first * self.bound))
        proven, width, steps, many, cuts = self.bound, first, self.parameters.steps, MOST_FOUND, 0
        while not (self.incumbent.closed or self.clock.expired):
            best, proven = self.incumbent.objective, max(proven, self.bound)
            limit = proven + width if best is None else min(proven + width, best - 1)
            found = self.covers.up_to(limit, steps, proven, many)
            if not (self.packed or found.complete or len(found.price)):
                found = self._proposed(found)
            cut = self._look(found)
            if cut is not None:
                if self._at_length(cuts, self.parameters.cuts) or self.entries == 0:
                    break  # what comes after the one that was refuted has not been looked at
                self._add(cut, min(FINE, self.entries))
                cuts += 1
                continue
            if self.clock.expired or self._at_length(self.tried, self.parameters.multisets):
                break
            if found.complete:
                every = found.least is None  # no multiset costs more than the limit: limits on types end the search
                beyond = self.incumbent.objective if every else found.least
                proven = max(proven, limit + 1 if beyond is None else beyond)
                self.incumbent.raise_bound(self._proven(proven))
                if every:
                    break
                far = limit > (1 + self.parameters.farthest) * self.bound
                if limit + 1 == best or (far and self.incumbent.objective is None and self._at_length(1, 1)):
                    break
                width *= 2
            elif self.incumbent.objective == best and self._at_length(1, 1):
                break
            elif width > 1:  # too many: nearer the bound
                width = max(1, min(width, limit - proven) // 2)
            elif many < self.parameters.most_found:
                steps, many = 4 * steps, 4 * many
            else:
                break
        for turn in itertools.count():
            if self._at_length(turn, self.parameters.turns):
                break
            effort = EFFORT ** min(turn, MOST_TURNS)
            for closing, most in ((self._repair, self.parameters.repaired), (self._decide, None)):
                for one in sorted(self.open.values(), key=lambda one: (one.price, one.packed.size))[:most]:
                    if self.incumbent.closed or self.clock.expired:
                        return
                    if not self._dear(one.price):
                        closing(one, effort)
                        self.incumbent.raise_bound(self._proven(proven))
            if not any(not self._dear(one.price) for one in self.open.values()):
                break

    def _proposed(self, found: Multisets) -> Multisets:
        """What a search that found nothing `found`, with a cheapest multiset by HiGHS, each time with more room spare.

        A proposal proves nothing.
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

    def _at_length(self, done: int, most: int) -> bool:
        """Whether so much is done that other methods have a turn: until then, or most of a limit of time is over."""
        limit = self.clock.limit_s
        return done >= most and (limit is None or self.clock.cpu_s >= self.parameters.share * limit)

    def refuting(self, packing: Packing) -> list[WrittenCover]:
        """Covers of what HiGHS says cannot be packed, as far as patterns refute it."""
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
        """Add the cover of weights, with so many entries in its table."""
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
        """Of a further table."""
        return (MOST_ENTRIES - len(self.covers.tables)) // SHARES

    def _look(self, found: Multisets, most: int | None = None) -> list[list[int]] | None:
        """Pack the new ones of what was found, the cheapest first, until one is; or else weights that refute one."""
        new = [
            (price, number)
            for price, number in zip(found.price.tolist(), found.found, strict=True)
            if number.tobytes() not in self.seen and self.arrays.allows(number.tolist())
        ]
        for price, number in new[:most]:  # by direction, which is quick
            if self._dear(price) or self.clock.expired:
                break
            if number.tobytes() not in self.left:
                one = self._directed(price, number)
                self._offer(number, one.packed)
                if one.packed.complete:
                    break
                self.left[number.tobytes()] = one
        for price, number in new:
            if self._dear(price) or self.clock.expired or self._enough(most):
                break
            key = number.tobytes()
            self.seen.add(key)
            shared = self.kinds.shared(number)
            if (weights := self.kinds.refuted(number, shared)) is not None:
                return weights
            self.tried += 1
            one = self.left.get(key) or self._directed(price, number)
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
        """Whether so many multisets have been tried; by default as many as there is time for."""
        return self._at_length(self.tried, self.parameters.multisets) if most is None else self.tried >= most

    def _dear(self, price: int) -> bool:
        """Whether there is a packing that costs no more."""
        return self.incumbent.objective is not None and price >= self.incumbent.objective

    def _repair(self, one: _OpenMultiset, effort: int) -> None:
        """Pack a multiset anew, part by part."""
        packed = one.rooms.fix_and_optimise(one.packed, self.options, self.clock, effort * self.parameters.parts)
        self.open[one.number.tobytes()] = replace(one, packed=packed)
        self._offer(one.number, packed)

    def _decide(self, one: _OpenMultiset, effort: int) -> None:
        """Pack a multiset by an integer program of all, or hear that it cannot be packed."""
        self.programs += 1
        answer = one.rooms.solve_program(self.options, SLICE * self.clock.remaining_s, effort * self.parameters.nodes)
        if isinstance(answer, PartialPacking):
            self._offer(one.number, answer)
        elif answer == "infeasible":
            self.refused.append(self.open.pop(one.number.tobytes()))

    def _directed(self, price: int, number: IntArray) -> _OpenMultiset:
        """A multiset packed by direction."""
        kinds = np.repeat(np.arange(len(number)), number)
        rooms = FixedBins(self.kinds.room[kinds], self.arrays.family[kinds], self.arrays.demand, self.arrays.count)
        return _OpenMultiset(price, number, kinds, rooms, rooms.pack_by_dot_product())

    def _offer(self, number: IntArray, packed: PartialPacking) -> None:
        """Offer a packing; what it has left over goes to further instances, where there may be any number of them."""
        kinds = np.repeat(np.arange(len(number)), number).tolist()
        rows = [{c: int(n) for c, n in enumerate(row) if n} for row in packed.placed]
        groups: list[Group] = [(k, on_it, 1) for k, on_it in zip(kinds, rows, strict=True) if on_it]
        self.packed |= packed.complete
        if not packed.complete:
            if self.arrays.limited or self._dear(self.arrays.cost(groups)):
                return
            groups += self._further(packed.left)
        self.incumbent.offer(self.arrays.cost(groups), groups)

    def _further(self, left: IntArray) -> list[Group]:
        """The cheaper of one instance for all tasks `left` (N,) and instances that are filled one after another."""
        arrays, some = self.arrays, np.flatnonzero(left)
        alone = replace(arrays.only(some, left[some]), pair=np.ones((len(some), len(some))))
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
    """A multiset that nothing has packed yet, and how far it was packed."""

    price: int
    number: IntArray
    kinds: IntArray  # the type of each room
    rooms: FixedBins
    packed: PartialPacking
