"""Certificates of SIA's oracle: prices of the relaxation with cuts, and branching of our own on the starts of jobs."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np

from instances import Options, Solution, Stopwatch
from instances.arrays import BoolArray, IntArray
from instances.proofs import Certificate, NoCertificate, digest
from instances.proofs.certificate import VERSION
from instances.proofs.sia import Charges, Delays, Shape, proof_of
from instances.sia import SiaOracle
from instances.sia.arrays import OracleArrays, oracle_arrays
from models.sia.parameters import DEFAULTS, OracleParameters
from models.sia.relaxation import StartRelaxation
from models.sia.rows import NOBODY, SCALE, IntervalRow, StartColumns, ceiling
from models.sia.start_tree import StartTree


class TooFarApart(NoCertificate):
    """Times or GPUs that prices, which have a fixed precision, cannot cover."""


def certificate(
    data: SiaOracle,
    solution: Solution | None,
    bound: float,
    options: Options,
    parameters: OracleParameters = DEFAULTS,
) -> Certificate:
    """A proof of `bound`, or of the best bound within the limits. Raises NoCertificate where there is none."""
    delays, arrays = Delays(data), oracle_arrays(data)
    if solution is None:
        raise NoCertificate("without a schedule no start is excluded")
    if len(arrays.idle[0]) or arrays.capacity > parameters.most_units:
        raise TooFarApart("times or GPUs are too far apart to be listed")
    writer = _OracleWriter(delays, arrays, arrays.starts_of(data, solution), options, parameters)
    target = min(writer.reach, math.ceil(bound / arrays.slot - 1e-9))
    tree = writer.tree(target)
    nodes, proven = writer.written(tree, writer.opened)
    head = {"gapwise_certificate": VERSION, "problem": data.problem, "instance": digest(data)}
    body = {
        "slots": delays.slots,
        "reach": writer.reach,
        "rows": writer.rows,
        "stages": writer.stages,
        "nodes": nodes,
        "bound": proven,
    }
    text = json.dumps(head | body) + "\n"
    return Certificate("json", text, Fraction(proven * delays.slots), proof_of(len(nodes)))


class _OracleWriter:
    """What is written: `rows`, and `stages` of prices, behind which the starts `opened` are left.

    `reach` is the delay of the schedule at hand, in steps.
    """

    def __init__(
        self, delays: Delays, arrays: OracleArrays, starts: IntArray, options: Options, parameters: OracleParameters
    ) -> None:
        self.delays, self.options, self.parameters = delays, options, parameters
        self.charges = Charges(delays)
        self.clock, self.reach = Stopwatch(options.time_limit), arrays.delay(starts)
        self.columns = StartColumns(arrays)
        self.relaxation = StartRelaxation(self.columns, starts, parameters)
        self.rows: list[dict[str, Any]] = []
        self.stages: list[dict[str, Any]] = []
        self.opened = self.columns.open.copy()
        self._places: dict[object, int] = {}

    def tree(self, target: int) -> StartTree:
        """A tree that is grown until its bound is `target` steps or a limit is reached."""
        self._root(target)
        effort = self.options.effort
        most = self.parameters.proof_nodes if effort is None else min(effort, self.parameters.proof_nodes)
        self.opened = self.columns.open.copy()
        tree = StartTree(self.relaxation, self.reach, self.parameters)
        grown = True
        while grown and tree.proven < target and len(tree.nodes) < most and not self.clock.expired:
            grown = tree.expand(self.reach, target, self.clock)
        return tree

    def _root(self, target: int) -> None:
        """Stages of the relaxation and of cuts, each of which excludes starts."""
        p, relaxation, values = self.parameters, self.relaxation, list[float]()
        before, accuracy = self.columns.open.copy(), p.bound_accuracy
        while relaxation.converge(self.reach, self.clock, accuracy):
            if (before != self.columns.open).any():
                self.stages.append(self._priced(relaxation.priced, before)[0])
                before = self.columns.open.copy()
            values.append(relaxation.value)
            gained = values[-1] - values[-1 - p.patience] if len(values) > p.patience else float("inf")
            if ceiling(relaxation.proven) >= target or not self.columns.every_job_open():
                break
            if relaxation.undecided() is None and accuracy:
                accuracy = 0.0
            elif gained < p.patience_gain * (self.reach - values[-1]) or not relaxation.cut():
                break
        if not values:
            raise NoCertificate("the time limit ended the first linear program")

    def written(self, tree: StartTree, left: BoolArray) -> tuple[list[dict[str, Any]], int]:
        """The nodes of the tree, with starts `left` at its root, and the bound in steps that they prove."""
        found: list[dict[str, Any]] = [{} for _ in tree.nodes]
        waiting, least = [(0, left)], self.reach
        while waiting:
            place, left = waiting.pop()
            node, open_ = tree.nodes[place], np.logical_or.reduceat(left, self.columns.offset[:-1])
            if not open_.all():
                found[place] = {"without": int(open_.argmin())}
                continue
            prices, bound, below = self._priced(node.proof or [], left)
            found[place] = {"prices": prices}
            if not node.children:
                least = min(least, ceiling(bound))
                continue
            job, until, _ = tree.nodes[node.children[0]].decisions[-1]
            found[place] |= {"branch": {"job": job, "until": until}, "children": node.children}
            mine, early = self.columns.job == job, self.columns.delay <= until
            waiting += [(node.children[0], below & (~mine | early)), (node.children[1], below & ~(mine & early))]
        places = {place: k for k, place in enumerate(k for k, content in enumerate(found) if content)}
        kept = [content for content in found if content]
        for content in kept:
            if "children" in content:
                content["children"] = [places[child] for child in content["children"]]
        return kept, least

    def _priced(self, priced: list[tuple[IntervalRow, int]], open_: BoolArray) -> tuple[dict[str, Any], int, BoolArray]:
        """Prices as they are written, the bound that they prove, SCALE times, and the starts that they leave open."""
        prices = [(self._place(row), price) for row, price in priced]
        least, spent, excess = self.charges.of(open_, prices)
        below: BoolArray = open_ & (excess <= (self.reach - 1) * SCALE - (least - spent))
        return {"prices": prices, "least": least, "spent": spent}, least - spent, below

    def _place(self, row: IntervalRow) -> int:
        """The place of a row in the list, where it is entered at first."""
        place = self._places.setdefault(row.key, len(self.rows))
        if place == len(self.rows):
            content: dict[str, Any] = {"first": row.first, "last": row.last}
            if row.touching != NOBODY:
                content["touching"] = row.touching
            if row.divisor:
                content |= {"divisor": row.divisor, "jobs": row.members}
            shape = Shape(**content)
            while (narrower := self.delays.narrower(shape)) is not None:
                shape = narrower
            counted = self.delays.counted(shape)
            self.charges.rows.append(counted)
            steps = {"first": shape.first, "last": shape.last}
            self.rows.append(content | steps | {"limit": counted.limit, "starts": counted.starts})
        return place
