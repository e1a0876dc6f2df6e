"""Certificates of SIA's problems: multipliers of rows with a tree over starts, or branch and bound in rationals.

Multipliers prove a delay without fairness, on pools of moderate size. With locality, the delay without locality is a
bound too, and mostly the best one, so it is proven first. The fields of the file call multipliers `prices`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from instances import Options, Solution, Stopwatch
from instances.arrays import BoolArray, IntArray
from instances.proofs import Certificate, NoCertificate, digest
from instances.proofs.certificate import VERSION
from instances.proofs.sia import Charges, Delays, Shape, proof_of
from instances.proofs.sia.start_program import StartProgram
from instances.sia import SiaLocalOracle, SiaOracle
from instances.sia.arrays import OracleArrays, oracle_arrays
from models.core.derivation import certify
from models.sia.parameters import DEFAULTS, OracleParameters
from models.sia.relaxation import StartRelaxation
from models.sia.rows import NO_JOB, SCALE, IntervalRow, Multipliers, StartColumns, round_up
from models.sia.start_tree import StartTree

NO_LOCALITY_SHARE = 0.5  # time share of the proof without locality; the rest is for the start program


class RangeTooLarge(NoCertificate):
    """Times or GPUs that multipliers of fixed precision cannot represent."""


def certificate(data: SiaOracle, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """Prove `bound`, or the best bound within the limits of `options`.

    - `data`: the problem.
    - `solution`: a feasible solution, if one is known.
    - `bound`: the bound to prove.
    - `options`: limits.

    Raises NoCertificate if no bound can be proven.
    """
    if data.fairness_weight:
        return _certify_by_start_program(data, solution, bound, options)
    try:
        return certify_by_multipliers(data, solution, bound, options)
    except RangeTooLarge:
        return _certify_by_start_program(data, solution, bound, options)


def local_certificate(data: SiaLocalOracle, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """Prove `bound` with locality, or the best bound within the limits; see `certificate`."""
    clock, proofs = Stopwatch(options.time_limit), list[Certificate]()

    def limit(share: float) -> Options:
        time_limit = None if options.time_limit is None else max(share * clock.remaining_s, 1e-3)
        return replace(options, time_limit=time_limit)

    def certify_without_locality() -> Certificate:
        proof = certify_by_multipliers(data.without_locality, solution, bound, limit(NO_LOCALITY_SHARE))
        content = json.loads(proof.text) | {"problem": data.problem, "instance": digest(data)}
        return replace(proof, text=json.dumps(content) + "\n", how=f"{proof.how}, without locality")

    error = NoCertificate("the time limit ended the proof")
    writers: tuple[Callable[[], Certificate], ...] = (
        certify_without_locality,
        lambda: _certify_by_start_program(data, solution, bound, limit(1.0)),
    )
    for write in writers:
        if not any(proof.bound >= bound for proof in proofs) and not clock.has_expired:
            try:
                proofs.append(write())
            except NoCertificate as cause:
                error = cause
    if not proofs:
        raise error
    return max(proofs, key=lambda proof: proof.bound)


def _certify_by_start_program(
    data: SiaOracle | SiaLocalOracle, solution: Solution | None, bound: float, options: Options
) -> Certificate:
    """Prove a bound by branch and bound in rational arithmetic over the program of starts."""
    starts = StartProgram(data)
    program = starts.program()
    point = None if solution is None else starts.point(solution)
    proof = certify(data, program, point, Fraction(bound) / starts.slots, options)
    return replace(proof, bound=proof.bound * starts.slots)


def certify_by_multipliers(
    data: SiaOracle,
    solution: Solution | None,
    bound: float,
    options: Options,
    parameters: OracleParameters = DEFAULTS,
) -> Certificate:
    """Prove `bound`, or the best bound within the limits, by multipliers of rows and a tree over starts.

    - `data`: the problem; fairness is ignored.
    - `solution`: a feasible solution.
    - `bound`: the bound to prove.
    - `options`: limits of time and of nodes.
    - `parameters`: parameters of relaxation and tree.

    Raises NoCertificate if no bound can be proven, and RangeTooLarge if the numbers are too large.
    """
    delays, arrays = Delays(data), oracle_arrays(data)
    if solution is None:
        raise NoCertificate("without a schedule no start is excluded")
    if len(arrays.idle[0]) or arrays.capacity > parameters.max_units:
        raise RangeTooLarge("times or GPUs are too far apart to be listed")
    writer = _CertificateWriter(delays, arrays, arrays.starts_of(data, solution), options, parameters)
    tree = writer.grow_tree(min(writer.cutoff, math.ceil(bound / arrays.slot - 1e-9)))
    nodes, proven = writer.write_nodes(tree)
    head = {"gapwise_certificate": VERSION, "problem": data.problem, "instance": digest(data)}
    body = {
        "slots": delays.slots,
        "reach": writer.cutoff,
        "rows": writer.rows,
        "stages": writer.stages,
        "nodes": nodes,
        "bound": proven,
    }
    text = json.dumps(head | body) + "\n"
    return Certificate("json", text, Fraction(proven * delays.slots), proof_of(len(nodes)))


class _CertificateWriter:
    """The content of the file: `rows`, and `stages` of multipliers, after which the starts `root_open` remain.

    `cutoff` is the delay of the given schedule, in steps.
    """

    def __init__(
        self, delays: Delays, arrays: OracleArrays, starts: IntArray, options: Options, parameters: OracleParameters
    ) -> None:
        self.delays, self.options, self.parameters = delays, options, parameters
        self.charges = Charges(delays)
        self.clock, self.cutoff = Stopwatch(options.time_limit), arrays.delay(starts)
        self.columns = StartColumns(arrays)
        self.relaxation = StartRelaxation(self.columns, starts, parameters)
        self.rows: list[dict[str, Any]] = []
        self.stages: list[dict[str, Any]] = []
        self._indices: dict[object, int] = {}

    def grow_tree(self, target: int) -> StartTree:
        """Return a tree that is grown until its bound is `target` steps or a limit is reached."""
        self._write_stages(target)
        effort = self.options.effort
        limit = self.parameters.max_proof_nodes
        max_nodes = limit if effort is None else min(effort, limit)
        self.root_open = self.columns.open.copy()
        tree = StartTree(self.relaxation, self.cutoff, self.parameters)
        has_leaves = True
        while has_leaves and tree.proven < target and len(tree.nodes) < max_nodes and not self.clock.has_expired:
            has_leaves = tree.expand(self.cutoff, target, self.clock)
        return tree

    def _write_stages(self, target: int) -> None:
        """Solve the relaxation with cuts; write a stage of multipliers whenever starts are excluded."""
        p, relaxation, values = self.parameters, self.relaxation, list[float]()
        before, accuracy = self.columns.open.copy(), p.bound_accuracy
        while relaxation.converge(self.cutoff, self.clock, accuracy):
            if (before != self.columns.open).any():
                self.stages.append(self._write_multipliers(relaxation.multipliers, before)[0])
                before = self.columns.open.copy()
            values.append(relaxation.value)
            gain = values[-1] - values[-1 - p.cut_patience] if len(values) > p.cut_patience else float("inf")
            if round_up(relaxation.last_bound) >= target or not self.columns.has_open_starts():
                break
            if relaxation.choose_branching() is None and accuracy:
                accuracy = 0.0
            elif gain < p.cut_patience_gain * (self.cutoff - values[-1]) or not relaxation.add_cuts():
                break
        if not values:
            raise NoCertificate("the time limit ended the first linear program")

    def write_nodes(self, tree: StartTree) -> tuple[list[dict[str, Any]], int]:
        """Return the nodes of the tree and the bound in steps that they prove."""
        contents: list[dict[str, Any]] = [{} for _ in tree.nodes]
        waiting, bound = [(0, self.root_open)], self.cutoff
        while waiting:
            index, is_open = waiting.pop()
            node, has_starts = tree.nodes[index], np.logical_or.reduceat(is_open, self.columns.offset[:-1])
            if not has_starts.all():
                contents[index] = {"without": int(has_starts.argmin())}
                continue
            prices, node_bound, below = self._write_multipliers(node.proof or [], is_open)
            contents[index] = {"prices": prices}
            if not node.children:
                bound = min(bound, round_up(node_bound))
                continue
            job, until, _ = tree.nodes[node.children[0]].decisions[-1]
            contents[index] |= {"branch": {"job": job, "until": until}, "children": node.children}
            own, early = self.columns.job == job, self.columns.delay <= until
            waiting += [(node.children[0], below & (~own | early)), (node.children[1], below & ~(own & early))]
        written = [index for index, content in enumerate(contents) if content]
        renumbered = {index: k for k, index in enumerate(written)}
        for index in written:
            if "children" in contents[index]:
                contents[index]["children"] = [renumbered[child] for child in contents[index]["children"]]
        return [contents[index] for index in written], bound

    def _write_multipliers(self, multipliers: Multipliers, is_open: BoolArray) -> tuple[dict[str, Any], int, BoolArray]:
        """Return the content, the bound in units of 1/SCALE that it proves, and the starts that stay open, (K,)."""
        prices = [(self._index_row(row), value) for row, value in multipliers]
        least, spent, excess = self.charges.of(is_open, prices)
        below: BoolArray = is_open & (excess <= (self.cutoff - 1) * SCALE - (least - spent))
        return {"prices": prices, "least": least, "spent": spent}, least - spent, below

    def _index_row(self, row: IntervalRow) -> int:
        """Return the index of a row in `rows`, and add the row if it is new."""
        index = self._indices.setdefault(row.key, len(self.rows))
        if index == len(self.rows):
            content: dict[str, Any] = {"first": row.first, "last": row.last}
            if row.overlapping != NO_JOB:
                content["touching"] = row.overlapping
            if row.divisor:
                content |= {"divisor": row.divisor, "jobs": row.members}
            shape = Shape(**content)
            while (narrower := self.delays.narrower(shape)) is not None:
                shape = narrower
            counted = self.delays.count_starts(shape)
            self.charges.rows.append(counted)
            steps = {"first": shape.first, "last": shape.last}
            self.rows.append(content | steps | {"limit": counted.limit, "starts": counted.starts})
        return index
