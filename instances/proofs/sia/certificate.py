"""Certificates of SIA's problems: row multipliers, and a tree that branches on starts "at most" and "beyond" a step.

With fairness in the objective, a certificate is a VIPR file of the program of starts. With locality both forms are
valid.

Time is in steps that divide all submissions and durations, and GPUs are in units that divide all widths. A row bounds
the GPUs that jobs of widths n_j hold of C GPUs at the steps first..last. z_j = 1 if job j runs at all of these steps;
for the job `touching` one of them is enough. So Σ n_j z_j <= C. Mixed-integer rounding with divisor c and the jobs S
complemented gives

    Σ_{j not in S} g(n_j) z_j - Σ_{j in S} g(-n_j) z_j <= r k - Σ_{j in S} g(-n_j),
    r = (Σ_S n_j - C) mod c > 0,  k = floor((C - Σ_S n_j) / c),  g(n) = r floor(n / c) + max(0, n mod c - (c - r)).

Rows have integer multipliers p >= 0, in units of 1 / SCALE step of delay. The Lagrangian cost of a start is its delay
plus the multipliers of the rows that count it. The sum over all jobs of the minimum cost is `least`; the multipliers
times the limits give `spent`. The Lagrangian bound on SCALE times the delay is `least` - `spent`. The excess of a start
is its cost less the minimum of its job. If the bound plus the excess exceeds SCALE times (`reach` - 1), no schedule of
less than `reach` steps of delay contains the start. A stage excludes such starts, and a node divides the starts of a
job in two. The bound of the tree is the minimum over its leaves, and at most `reach`.
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
from instances.proofs.certificate import NoCertificate, Proven, content_of, walk_tree
from instances.proofs.derivation import proven_of
from instances.proofs.sia.start_program import StartProgram
from instances.proofs.vipr import read_vipr
from instances.sia.local_oracle import SiaLocalOracle
from instances.sia.oracle import SiaOracle
from instances.validation import validate

MOST_STARTS = 5_000_000
SCALE = 1 << 20  # Multipliers are integers, in units of 1 / SCALE step of delay.
LARGEST = 1 << 61  # All Lagrangian costs are below this.
EXCLUDED = 1 << 62  # The cost that marks an excluded start.

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
    """A row: its `limit`, the `jobs` that it counts, their `weight`, and the range `low`..`high` of their delays."""

    limit: int
    jobs: IntArray
    weight: IntArray
    low: IntArray
    high: IntArray

    @property
    def starts(self) -> int:
        """Return the number of starts that the row counts."""
        return int((self.high - self.low + 1).sum())

    def equals(self, other: Counted) -> bool:
        """Return whether both rows have the same limit, starts and weights."""
        mine, theirs = (self.jobs, self.weight, self.low, self.high), (other.jobs, other.weight, other.low, other.high)
        return self.limit == other.limit and all(map(np.array_equal, mine, theirs))


class Delays:
    """An instance in steps and units: `submit`, `duration`, `gpus` and `window` (J,), and the `capacity`."""

    def __init__(self, data: SiaOracle) -> None:
        if data.fairness_weight:
            raise NoCertificate("multipliers of rows prove a delay, but no objective with fairness")
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

    def count_starts(self, row: Shape) -> Counted:
        """Return the starts that a row counts. Raises CheckFailed if the row is invalid."""
        count = len(self.gpus)
        if row.first > row.last or max(row.jobs, default=0) >= count or len(set(row.jobs)) != len(row.jobs):
            raise CheckFailed(f"a row at steps {row.first} to {row.last} of jobs {list(row.jobs[:5])}")
        if row.touching is not None and row.touching >= count:
            raise CheckFailed(f"a row that job {row.touching} touches")
        weight, limit = self._round_row(row) if row.divisor else (self.gpus, self.capacity)
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
        """Return a row with one step less that counts the same starts, or None: the form of a row is unique."""
        if row.first == row.last:
            return None
        counted = self.count_starts(row)
        less = (row.model_copy(update={"last": row.last - 1}), row.model_copy(update={"first": row.first + 1}))
        return next((shape for shape in less if self.count_starts(shape).equals(counted)), None)

    def _round_row(self, row: Shape) -> tuple[list[int], int]:
        """Return the weights and the limit of a rounded row."""
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
        """Return `least` and `spent` of the multipliers, and the excess of each start (K,).

        - `open_`: the starts (K,) that are not excluded.
        - `prices`: pairs of a row's index and its multiplier.

        Raises CheckFailed if a job has no start left, or if numbers are too large.
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
    """Return the bound that the certificate `text` proves.

    Raises InputError, NoCertificate, or CheckFailed if the proof does not hold.
    """
    return prove_delay(data, data, text) if _has_multipliers(data, text) else _prove_by_starts(data, text)


def prove_local(data: SiaLocalOracle, text: str) -> Proven:
    """Return the bound that the certificate `text` proves: on the delay on servers or, in JSON, on any GPUs.

    Raises as `prove_oracle` does.
    """
    return prove_delay(data, data.without_locality, text) if text.startswith("{") else _prove_by_starts(data, text)


def _has_multipliers(data: SiaOracle, text: str) -> bool:
    """Return whether a certificate consists of row multipliers: it is JSON and the objective is a delay."""
    return not data.fairness_weight and not text.startswith(("%", "VER"))


def _prove_by_starts(data: SiaOracle | SiaLocalOracle, text: str) -> Proven:
    """Return the bound that the VIPR file `text` proves with the program of starts."""
    starts = StartProgram(data)
    proven = proven_of(data, starts.program(), read_vipr(text))
    return Proven(proven.bound * starts.slots, proven.how)


def prove_delay(data: SiaOracle | SiaLocalOracle, oracle: SiaOracle, text: str) -> Proven:
    """Return the bound on `oracle` that the row multipliers in the certificate `text` of `data` prove.

    Raises as `prove_oracle` does.
    """
    proof = validate(DelayProof, content_of(data, text), root="")
    delays = Delays(oracle)
    if proof.slots != delays.slots:
        raise CheckFailed(f"slots: {proof.slots} are claimed, steps have {delays.slots}")
    charges = Charges(delays)
    for row in proof.rows:
        counted = delays.count_starts(row)
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
        bound, excess = _sum_excesses(charges, open_, stage)
        open_ &= excess <= _compute_max_excess(proof, bound)
    found = min(proof.reach, _compute_min_leaf(charges, proof, open_))
    if found != proof.bound:
        raise CheckFailed(f"bound: {proof.bound} steps are claimed, the leaves prove {found}")
    return Proven(Fraction(found * delays.slots), proof_of(len(proof.nodes)))


def proof_of(nodes: int) -> str:
    """Return a short description of a proof with this number of nodes."""
    return "multipliers of rows" if nodes == 1 else f"multipliers of rows, in a tree of {nodes} nodes"


def _compute_max_excess(proof: DelayProof, bound: int) -> int:
    """Return the maximum excess of a start in a schedule of less than `reach`, if the multipliers prove `bound`."""
    return min(max((proof.reach - 1) * SCALE - bound, -1), EXCLUDED)


def _sum_excesses(charges: Charges, open_: BoolArray, stated: PriceProof) -> tuple[int, IntArray]:
    """Return SCALE times the bound of the multipliers, and the excess of each start.

    Raises CheckFailed if the certificate states other figures.
    """
    places = [place for place, _ in stated.prices]
    if len(set(places)) != len(places) or max(places, default=-1) >= len(charges.rows):
        raise CheckFailed(f"prices: of {len(charges.rows)} rows, {len(places)} have one")
    least, spent, excess = charges.of(open_, stated.prices)
    if (least, spent) != (stated.least, stated.spent):
        raise CheckFailed(f"prices charge {stated.least} less {stated.spent}, where it is {least} less {spent}")
    return least - spent, excess


def _compute_min_leaf(charges: Charges, proof: DelayProof, open_: BoolArray) -> int:
    """Return the minimum bound of the leaves, in steps; check that every node is reached once."""
    least = proof.reach

    def visit(place: int, node: NodeProof, open_: BoolArray) -> list[tuple[int, BoolArray]]:
        nonlocal least
        bound, left = None, open_.copy()
        if (node.branch is None) != (node.children is None) or (
            (node.branch or node.prices) and node.without is not None
        ):
            raise CheckFailed(f"nodes[{place}]: neither a branch nor a leaf")
        if node.prices is not None:
            bound, excess = _sum_excesses(charges, left, node.prices)
            left &= excess <= _compute_max_excess(proof, bound)
        if node.branch is not None and node.children is not None:
            if node.branch.job >= len(charges.delays.gpus):
                raise CheckFailed(f"nodes[{place}]: there is no job {node.branch.job}")
            mine, early = charges.job == node.branch.job, charges.delay <= node.branch.until
            return [(node.children[0], left & (~mine | early)), (node.children[1], left & ~(mine & early))]
        if bound is not None:
            least = min(least, -(-bound // SCALE))
            return []
        some = np.logical_or.reduceat(left, charges.delays.offset[:-1])
        if some.all() or int(some.argmin()) != node.without:
            raise CheckFailed(f"nodes[{place}]: job {node.without} is not the first without a start left")
        return []

    walk_tree(proof.nodes, open_, visit)
    return least
