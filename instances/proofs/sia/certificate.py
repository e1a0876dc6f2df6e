"""Certificates of SIA's problems: of a delay prices of rows, and a tree of starts "at most" and "beyond" a step.

With fairness in the objective they are of the program of starts, in VIPR; with locality either will do.

Time counts in the steps, and GPUs in the units, that divide all submissions, durations and widths. A row bounds what
jobs of the widths n_j hold of C GPUs at the steps first..last: z_j = 1 where job j runs at all of them, for the job
`touching` at one of them. So Σ n_j z_j <= C, and by mixed-integer rounding with divisor c and the jobs S complemented,

    Σ_{j not in S} g(n_j) z_j - Σ_{j in S} g(-n_j) z_j <= r k - Σ_{j in S} g(-n_j),
    r = (Σ_S n_j - C) mod c > 0,  k = floor((C - Σ_S n_j) / c),  g(n) = r floor(n / c) + max(0, n mod c - (c - r)).

Whole prices p >= 0 of rows, in units of 1 / SCALE step of delay, charge a start its delay and the prices of the rows
that count it. The least charges of all jobs together, `least`, minus the price of all limits, `spent`, are a bound on
SCALE times the delay. A start that is charged so much more than the least of its job that the bound with it exceeds
SCALE times (`reach` - 1) is in no schedule of less than `reach` steps of delay. A stage excludes such starts; a node
divides the starts of a job in two; the bound of the tree is the least of its leaves, and no more than `reach`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Annotated

import numpy as np
from pydantic import Field

from instances.arrays import BoolArray, IntArray
from instances.errors import CheckFailed
from instances.fields import Frozen
from instances.proofs.certificate import NoCertificate, Proven, content_of
from instances.proofs.derivation import proven_of
from instances.proofs.sia.start_program import StartProgram
from instances.proofs.vipr import read_vipr
from instances.sia.local_oracle import SiaLocalOracle
from instances.sia.oracle import SiaOracle
from instances.validation import validated

MOST_STARTS = 5_000_000
SCALE = 1 << 20  # Prices are whole multiples of 1 / SCALE step of delay.
LARGEST = 1 << 61  # No charge comes up to this.
EXCLUDED = 1 << 62  # The charge of an excluded start.

Whole = Annotated[int, Field(strict=True, ge=0, lt=1 << 62)]
Signed = Annotated[int, Field(strict=True, gt=-(1 << 80), lt=1 << 80)]


class Shape(Frozen):
    """A row at `first`..`last`: of capacity where `divisor` is 0, else rounded with the `jobs` complemented.

    Jobs by their places in the instance.
    """

    first: Annotated[int, Field(strict=True, gt=-(1 << 62), lt=1 << 62)]
    last: Annotated[int, Field(strict=True, gt=-(1 << 62), lt=1 << 62)]
    touching: Whole | None = None
    divisor: Whole = 0
    jobs: tuple[Whole, ...] = ()


class RowProof(Shape):
    """A row with its `limit`, the right-hand side, and how many `starts` it counts."""

    limit: Signed
    starts: Whole


class PriceProof(Frozen):
    """The `prices` of rows, pairs of a row's place and its price, what they charge at `least`, and what is `spent`."""

    prices: tuple[tuple[Whole, Whole], ...]
    least: Signed
    spent: Signed


class BranchProof(Frozen):
    """The first child has the starts of a `job` until `until` steps after its submission, the second all later ones."""

    job: Whole
    until: Whole


class NodeProof(Frozen):
    """A node has a `branch` and the places of its two `children`, or is a leaf, of prices or `without` a job.

    The prices of a branch exclude starts below it. A leaf without a job has no start left for that job,
    the first such one.
    """

    branch: BranchProof | None = None
    children: tuple[Whole, Whole] | None = None
    prices: PriceProof | None = None
    without: Whole | None = None


class DelayProof(Frozen):
    """The `bound` on the delay in steps of so many `slots`; `stages` come before the `nodes`, the root first."""

    slots: Annotated[int, Field(strict=True, ge=1, lt=1 << 62)]
    reach: Whole
    rows: tuple[RowProof, ...]
    stages: tuple[PriceProof, ...]
    nodes: Annotated[tuple[NodeProof, ...], Field(min_length=1)]
    bound: Whole


@dataclass(frozen=True)
class Counted:
    """A row's `limit`, and of the `jobs` that it counts the `weight` and the delays `low`..`high` of their starts."""

    limit: int
    jobs: IntArray
    weight: IntArray
    low: IntArray
    high: IntArray

    @property
    def starts(self) -> int:
        """How many starts the row counts."""
        return int((self.high - self.low + 1).sum())

    def equals(self, other: Counted) -> bool:
        """Whether both rows say the same of the same starts."""
        mine, theirs = (self.jobs, self.weight, self.low, self.high), (other.jobs, other.weight, other.low, other.high)
        return self.limit == other.limit and all(map(np.array_equal, mine, theirs))


class Delays:
    """An instance in steps and units: `submit`, `duration`, `gpus` and `window` (J,), and the `capacity`."""

    def __init__(self, data: SiaOracle) -> None:
        if data.fairness_weight:
            raise NoCertificate("prices of rows prove a delay, and nothing with fairness in the objective")
        first = min(job.submit for job in data.jobs)
        submit = [job.submit - first for job in data.jobs]
        self.slots = gcd(*submit, *(job.duration for job in data.jobs))
        unit = gcd(*(job.gpus for job in data.jobs))
        window = [(m - job.submit) // self.slots for m, job in zip(data.cutoffs, data.jobs, strict=True)]
        if sum(window) + len(window) > MOST_STARTS:
            raise NoCertificate(f"the windows of the jobs hold more than {MOST_STARTS:,} starts")
        self.submit = np.array(submit, dtype=np.int64) // self.slots
        self.duration = np.array([job.duration for job in data.jobs], dtype=np.int64) // self.slots
        self.gpus = [job.gpus // unit for job in data.jobs]
        self.window = np.array(window, dtype=np.int64)
        self.capacity = data.capacity // unit
        self.offset = np.concatenate([[0], np.cumsum(self.window + 1)])

    def counted(self, row: Shape) -> Counted:
        """What a row counts. Raises CheckFailed where it is no row."""
        count = len(self.gpus)
        if row.first > row.last or max(row.jobs, default=0) >= count or len(set(row.jobs)) != len(row.jobs):
            raise CheckFailed(f"a row at steps {row.first} to {row.last} of jobs {list(row.jobs[:5])}")
        if row.touching is not None and row.touching >= count:
            raise CheckFailed(f"a row that job {row.touching} touches")
        weight, limit = self._rounded(row) if row.divisor else (self.gpus, self.capacity)
        low = np.maximum(row.last - self.duration + 1 - self.submit, 0)
        high = np.minimum(row.first - self.submit, self.window)
        if row.touching is not None:
            j = row.touching
            low[j] = max(row.first - int(self.duration[j]) + 1 - int(self.submit[j]), 0)
            high[j] = min(row.last - int(self.submit[j]), int(self.window[j]))
        jobs = np.flatnonzero((low <= high) & (np.array([w > 0 for w in weight])))
        if max(weight) >= EXCLUDED:
            raise CheckFailed("a row of weights beyond 62 bits")
        return Counted(limit, jobs, np.array(weight, dtype=np.int64)[jobs], low[jobs], high[jobs])

    def narrower(self, row: Shape) -> Shape | None:
        """The same row at one step less, or None where that counts other starts: a row is written in one way alone."""
        if row.first == row.last:
            return None
        counted = self.counted(row)
        less = (row.model_copy(update={"last": row.last - 1}), row.model_copy(update={"first": row.first + 1}))
        return next((shape for shape in less if self.counted(shape).equals(counted)), None)

    def _rounded(self, row: Shape) -> tuple[list[int], int]:
        """Weights and limit of a rounded row."""
        c, inside = row.divisor, set(row.jobs)
        over = sum(self.gpus[j] for j in inside) - self.capacity
        r = over % c
        if not r:
            raise CheckFailed(f"a row whose divisor {c} leaves no rest")

        def g(n: int) -> int:
            return r * (n // c) + max(0, n % c - (c - r))

        weight = [-g(-n) if j in inside else g(n) for j, n in enumerate(self.gpus)]
        return weight, r * (-over // c) + sum(weight[j] for j in inside)


class Charges:
    """Rows, and `job` and `delay` of each start (K,), in the order of jobs, then delays."""

    def __init__(self, delays: Delays) -> None:
        self.delays = delays
        self.rows: list[Counted] = []
        count = np.diff(delays.offset)
        self.delay = np.arange(delays.offset[-1]) - np.repeat(delays.offset[:-1], count)
        self.job = np.repeat(np.arange(len(count)), count)

    def of(self, open_: BoolArray, prices: Iterable[tuple[int, int]]) -> tuple[int, int, IntArray]:
        """`least` and `spent` of prices (pairs of a row's place and its price), and the excess of each start (K,).

        The excess is what a start is charged more than the least of its job. Raises CheckFailed where a job has no
        start, or where numbers are too large.
        """
        delays, most, spent = self.delays, SCALE * int(self.delays.window.max()), 0
        change = np.zeros(len(self.delay) + 1, dtype=np.int64)
        for place, price in prices:
            row = self.rows[place]
            spent += price * row.limit
            if not len(row.jobs):
                continue
            most += price * int(row.weight.max())
            if most >= LARGEST:
                raise CheckFailed("prices that make charges of more than 61 bits")
            cost = price * row.weight
            change[delays.offset[row.jobs] + row.low] += cost
            change[delays.offset[row.jobs] + row.high + 1] -= cost
        charge = np.where(open_, SCALE * self.delay + np.cumsum(change)[:-1], EXCLUDED)
        each = np.minimum.reduceat(charge, delays.offset[:-1])
        if (each == EXCLUDED).any():
            raise CheckFailed(f"prices where job {int(each.argmax())} has no start left")
        return sum(each.tolist()), spent, charge - each[self.job]


def prove_oracle(data: SiaOracle, text: str) -> Proven:
    """What the certificate `text` proves. Raises InputError, NoCertificate, or CheckFailed where it does not hold."""
    return prove_delay(data, data, text) if _in_prices(data, text) else _of_starts(data, text)


def prove_local(data: SiaLocalOracle, text: str) -> Proven:
    """What the certificate `text` proves, of the delay on servers or, in JSON, of that on any GPUs. Raises as above."""
    return prove_delay(data, data.without_locality, text) if text.startswith("{") else _of_starts(data, text)


def _in_prices(data: SiaOracle, text: str) -> bool:
    """Whether a certificate is one of prices: in JSON, and of a delay."""
    return not data.fairness_weight and not text.startswith(("%", "VER"))


def _of_starts(data: SiaOracle | SiaLocalOracle, text: str) -> Proven:
    """What the VIPR file `text` proves by the program of starts."""
    starts = StartProgram(data)
    proven = proven_of(data, starts.program(), read_vipr(text))
    return Proven(proven.bound * starts.slots, proven.how)


def prove_delay(data: SiaOracle | SiaLocalOracle, oracle: SiaOracle, text: str) -> Proven:
    """What the prices in the certificate `text` of `data` prove of its `oracle`. Raises as above."""
    proof = validated(DelayProof, content_of(data, text), root="")
    delays = Delays(oracle)
    if proof.slots != delays.slots:
        raise CheckFailed(f"slots: {proof.slots} are claimed, steps have {delays.slots}")
    charges = Charges(delays)
    for row in proof.rows:
        counted = delays.counted(row)
        if (row.limit, row.starts) != (counted.limit, counted.starts):
            raise CheckFailed(
                f"a row of limit {row.limit} that counts {row.starts} starts is claimed, "
                f"where the limit is {counted.limit} and {counted.starts} starts count"
            )
        if delays.narrower(row) is not None:
            raise CheckFailed(f"a row at steps {row.first} to {row.last}, though fewer steps count the same starts")
        charges.rows.append(counted)
    open_ = np.ones(len(charges.delay), dtype=bool)
    for stage in proof.stages:
        bound, excess = _seen(charges, open_, stage)
        open_ &= excess <= _most(proof, bound)
    found = min(proof.reach, _least(charges, proof, open_))
    if found != proof.bound:
        raise CheckFailed(f"bound: {proof.bound} steps are claimed, the leaves prove {found}")
    return Proven(Fraction(found * delays.slots), proof_of(len(proof.nodes)))


def proof_of(nodes: int) -> str:
    """How a bound is proved, in a few words."""
    return "prices of rows" if nodes == 1 else f"prices of rows, in a tree of {nodes} nodes"


def _most(proof: DelayProof, bound: int) -> int:
    """The greatest excess of a start in a schedule of less than `reach`, where prices prove `bound`."""
    return min(max((proof.reach - 1) * SCALE - bound, -1), EXCLUDED)


def _seen(charges: Charges, open_: BoolArray, stated: PriceProof) -> tuple[int, IntArray]:
    """SCALE times the bound of prices, and the excess of each start; CheckFailed where other figures are stated."""
    places = [place for place, _ in stated.prices]
    if len(set(places)) != len(places) or max(places, default=-1) >= len(charges.rows):
        raise CheckFailed(f"prices: of {len(charges.rows)} rows, {len(places)} have one")
    least, spent, excess = charges.of(open_, stated.prices)
    if (least, spent) != (stated.least, stated.spent):
        raise CheckFailed(f"prices charge {stated.least} less {stated.spent}, where it is {least} less {spent}")
    return least - spent, excess


def _least(charges: Charges, proof: DelayProof, open_: BoolArray) -> int:
    """The least bound of the leaves, in steps; every node is reached once."""
    least, reached = proof.reach, set[int]()
    waiting = [(0, open_)]
    while waiting:
        place, left = waiting.pop()
        if place >= len(proof.nodes) or place in reached:
            raise CheckFailed(f"nodes: {place} is no node, or is reached twice")
        reached.add(place)
        node, bound, left = proof.nodes[place], None, left.copy()
        if (node.branch is None) != (node.children is None) or (
            (node.branch or node.prices) and node.without is not None
        ):
            raise CheckFailed(f"nodes[{place}]: neither a branch nor a leaf")
        if node.prices is not None:
            bound, excess = _seen(charges, left, node.prices)
            left &= excess <= _most(proof, bound)
        if node.branch is not None and node.children is not None:
            if node.branch.job >= len(charges.delays.gpus):
                raise CheckFailed(f"nodes[{place}]: there is no job {node.branch.job}")
            mine, early = charges.job == node.branch.job, charges.delay <= node.branch.until
            waiting += [(node.children[0], left & (~mine | early)), (node.children[1], left & ~(mine & early))]
        elif bound is not None:
            least = min(least, -(-bound // SCALE))
        else:
            some = np.logical_or.reduceat(left, charges.delays.offset[:-1])
            if some.all() or int(some.argmin()) != node.without:
                raise CheckFailed(f"nodes[{place}]: job {node.without} is not the first without a start left")
    if len(reached) != len(proof.nodes):
        raise CheckFailed(f"nodes: {len(proof.nodes)} are written, {len(reached)} reached")
    return least
