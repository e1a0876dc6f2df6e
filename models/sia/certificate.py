"""Certificates of SIA's oracle: prices of the relaxation with cuts, and branching of our own on the starts of jobs."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from typing import Any

import numpy as np

from instances import Options, Solution, Stopwatch
from instances.arrays import BoolArray
from instances.certificates import Certificate, NoCertificate, digest
from instances.certificates.header import VERSION
from instances.sia import SiaOracle
from instances.sia.arrays import OracleArrays, oracle_arrays
from instances.sia.certificate import Charges, Delays, Shape
from models.sia.columns import SCALE, Columns
from models.sia.parameters import DEFAULTS, ExactParameters
from models.sia.relaxation import Relaxation
from models.sia.rows import NOBODY, Row

Decision = tuple[int, int, bool]
"""A job, a delay in steps, and whether the job starts at that delay or before, or else later."""


@dataclass
class _Node:
    """A node of the tree: its decisions, what proves its bound, the bound SCALE times, and what to branch on."""

    decisions: tuple[Decision, ...]
    content: dict[str, Any]
    bound: int
    undecided: tuple[int, int] | None


def certificate(
    data: SiaOracle,
    solution: Solution | None,
    bound: float,
    options: Options,
    parameters: ExactParameters = DEFAULTS,
) -> Certificate:
    """A proof of `bound`, or of the best bound within the limits. Raises NoCertificate where there is none."""
    delays, arrays = Delays(data), oracle_arrays(data)
    if solution is None:
        raise NoCertificate("without a schedule no start is excluded")
    if len(arrays.idle[0]) or arrays.capacity > parameters.most_units:
        raise NoCertificate("times or GPUs are too far apart to be listed")
    tree = _Tree(delays, arrays, arrays.starts_of(data, solution), options, parameters)
    target = min(tree.reach, math.ceil(bound / arrays.slot - 1e-9))
    tree.grow(target)
    proven = tree.bound
    head = {"gapwise_certificate": VERSION, "problem": data.problem, "instance": digest(data)}
    body = {
        "slots": delays.slots,
        "scale": SCALE,
        "reach": tree.reach,
        "rows": tree.rows,
        "stages": tree.stages,
        "nodes": [node.content for node in tree.nodes],
        "bound": proven,
    }
    leaves = sum("branch" not in node.content for node in tree.nodes)
    how = f"prices of rows, {leaves} {'leaf' if leaves == 1 else 'leaves'}"
    return Certificate("json", json.dumps(head | body) + "\n", Fraction(proven * delays.slots), how)


class _Tree:
    """The tree: `nodes`, the root first, `rows` and `stages` as they are written, and the proven `bound` in steps.

    `reach` is the delay of the schedule at hand, in steps.
    """

    def __init__(
        self, delays: Delays, arrays: OracleArrays, starts: Any, options: Options, parameters: ExactParameters
    ) -> None:
        self.delays, self.options, self.parameters = delays, options, parameters
        self.charges = Charges(delays, SCALE)
        self.clock, self.reach = Stopwatch(options.time_limit), arrays.delay(starts)
        self.columns = Columns(arrays)
        self.relaxation = Relaxation(self.columns, starts, parameters)
        self.rows: list[dict[str, Any]] = []
        self.stages: list[dict[str, Any]] = []
        self.nodes: list[_Node] = []
        self._places: dict[object, int] = {}
        self._open: BoolArray = self.columns.open.copy()

    @property
    def bound(self) -> int:
        """The bound that the leaves prove, in steps."""
        leaves = (node.bound for node in self.nodes if "branch" not in node.content)
        return min(self.reach, -(-min(leaves) // SCALE))

    def grow(self, target: int) -> None:
        """Branch at the node of the least bound until the bound is `target` steps or a limit is reached."""
        self._root(target)
        effort = self.options.effort
        most = self.parameters.proof_nodes if effort is None else min(effort, self.parameters.proof_nodes)
        waiting = [(self.nodes[0].bound, 0)]
        while waiting and len(self.nodes) < most and not self.clock.expired:
            bound, place = heappop(waiting)
            node = self.nodes[place]
            if -(-bound // SCALE) >= target:
                return
            if node.undecided is None:
                continue
            job, until = node.undecided
            children = [self._solved((*node.decisions, (job, until, early)), target) for early in (True, False)]
            if None in children:
                return
            node.content = {
                "branch": {"job": job, "until": until},
                "children": [len(self.nodes), len(self.nodes) + 1],
            }
            for child in children:
                assert child is not None
                heappush(waiting, (child.bound, len(self.nodes)))
                self.nodes.append(child)

    def _root(self, target: int) -> None:
        """Stages of the relaxation and of cuts, each of which excludes starts, and the root."""
        p, relaxation, values = self.parameters, self.relaxation, list[float]()
        while relaxation.converge(self.reach, self.clock, p.bound_accuracy):
            before = self._open
            self._open = self.columns.open.copy()
            stage, bound = self._priced(before)
            if (before != self._open).any():
                self.stages.append(stage)
            values.append(relaxation.value)
            if not self.columns.every_job_open():
                break
            gained = values[-1] - values[-1 - p.patience] if len(values) > p.patience else float("inf")
            if gained < p.patience_gain * (self.reach - values[-1]) or -(-bound // SCALE) >= target:
                break
            if not relaxation.cut():
                break
        if not values:
            raise NoCertificate("the time limit ended the first linear program")
        if self.columns.every_job_open():
            content, bound = self._priced(self._open)
            self.nodes = [_Node((), {"leaf": content}, bound, relaxation.undecided())]
        else:
            self.nodes = [self._without(())]

    def _solved(self, decisions: tuple[Decision, ...], target: int) -> _Node | None:
        """The node of some decisions; `None` where the time is over."""
        columns, relaxation, p = self.columns, self.relaxation, self.parameters
        left = self._open.copy()
        for job, until, early in decisions:
            mine = slice(columns.offset[job], columns.offset[job + 1])
            left[mine] &= (columns.delay[mine] <= until) == early
        columns.open = left.copy()
        if not columns.every_job_open():
            return self._without(decisions)
        found: _Node | None = None
        for _ in range(1 + p.proof_cuts):
            columns.open = left.copy()
            relaxation.charge_closed(self.reach + 1)
            if not relaxation.converge(self.reach, self.clock, p.bound_accuracy):
                return found
            content, bound = self._priced(left)
            if found is None or bound > found.bound:
                found = _Node(decisions, {"leaf": content}, bound, relaxation.undecided())
            columns.open = left.copy()
            if -(-found.bound // SCALE) >= target or found.undecided is None or not relaxation.cut():
                break
        return found

    def _without(self, decisions: tuple[Decision, ...]) -> _Node:
        """The node in which a job has no start left."""
        open_ = np.logical_or.reduceat(self.columns.open, self.columns.offset[:-1])
        return _Node(decisions, {"without": int(open_.argmin())}, self.reach * SCALE, None)

    def _priced(self, open_: BoolArray) -> tuple[dict[str, Any], int]:
        """The last prices of the relaxation as they are written, and the bound that they prove, SCALE times."""
        prices = [(self._place(row), price) for row, price in self.relaxation.priced]
        least, spent, _ = self.charges.of(open_, prices)
        return {"prices": prices, "least": least, "spent": spent}, least - spent

    def _place(self, row: Row) -> int:
        """The place of a row in the list, where it is entered at first."""
        place = self._places.setdefault(row.key, len(self.rows))
        if place == len(self.rows):
            content: dict[str, Any] = {"first": row.first, "last": row.last}
            if row.touching != NOBODY:
                content["touching"] = row.touching
            if row.divisor:
                content |= {"divisor": row.divisor, "jobs": row.members}
            counted = self.delays.counted(Shape(**content))
            self.charges.rows.append(counted)
            self.rows.append(content | {"limit": counted.limit, "starts": counted.starts})
        return place
