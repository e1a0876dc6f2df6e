"""BOA's whole widths in HiGHS: a path through a network for each class, and one row for the budget of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from experiments.peers.highs import solve_highs
from instances import Answer, InputError, Options, Report, Solution
from instances.arrays import FloatArray, IntArray
from instances.boa import BoaAllocation, WidthArrays, compute_plan_limit, width_arrays
from instances.method import method
from models.core.highs import LinearModel

IN_BUDGET = 1000.0  # scaled budget in its row, because the tolerance of HiGHS is absolute


@dataclass(frozen=True)
class PathNetwork:
    """The nodes of all classes, by what comes to each, and the arcs (n,): where, of which class, hours, cost an hour.

    A class has a node for each epoch and width, where the epoch has been run at that width, and a hub before each
    epoch and behind the last. A run comes from the same width, or from the hub, which takes the time to rescale; to
    the next hub it is free. `epoch`, `choice`: of what an arc runs, less than 0 for those to hubs.
    """

    supply: FloatArray
    tail: IntArray
    head: IntArray
    of_class: IntArray
    hours: FloatArray
    rate: FloatArray
    epoch: IntArray
    choice: IntArray


def path_network(a: WidthArrays) -> PathNetwork:
    """Build the network of the classes."""
    parts, supply = [], [np.zeros(0)]
    widths, nodes = len(a.rate), 0
    for i, epochs in enumerate(a.epochs.tolist()):
        run, hub = np.arange(epochs * widths) + nodes, np.arange(epochs + 1) + nodes + epochs * widths
        epoch, choice = np.divmod(np.arange(epochs * widths), widths)
        hours = a.hours[:epochs, i].ravel()
        there = np.isfinite(hours)
        stays = there & (epoch > 0) & np.roll(there, widths)
        nothing = np.zeros(len(run))
        for kept, tail, head, time, rate, which in (
            (there, hub[epoch], run, hours + a.rescale[i], a.rate[choice], epoch),
            (stays, run - widths, run, hours, a.rate[choice], epoch),
            (there, run, hub[epoch + 1], nothing, nothing, np.full(len(run), -1)),
        ):
            parts.append(
                (tail[kept], head[kept], np.full(kept.sum(), i), time[kept], rate[kept], which[kept], choice[kept])
            )
        balance = np.zeros(len(run) + len(hub))
        balance[[len(run), -1]] = -1, 1
        supply.append(balance)
        nodes += len(balance)
    return PathNetwork(np.concatenate(supply), *(np.concatenate(part) for part in zip(*parts, strict=True)))


def build_network(data: BoaAllocation) -> tuple[LinearModel, Callable[[FloatArray], Solution]]:
    """minimise Σ_a w_a t_a y_a over arcs a of time t_a, of a class of share w_a in the mean, y_a in {0, 1}."""
    a = width_arrays(data)
    network = path_network(a)
    flow, cost = _balance_paths(network), _cost(network, a, data)
    model = LinearModel(
        cost=a.share[network.of_class] * network.hours,
        matrix=sparse.vstack([flow, cost]),
        row_lower=np.append(network.supply, -np.inf),
        row_upper=np.append(network.supply, IN_BUDGET * compute_plan_limit(data.budget) / data.budget),
        upper=1.0,
        integer=True,
    )

    def read(x: FloatArray) -> Solution:
        widths = {c.name: [0] * len(c.epochs) for c in data.classes}
        for arc in np.flatnonzero((x > 0.5) & (network.epoch >= 0)):
            run = int(a.width[network.choice[arc]])
            widths[data.classes[network.of_class[arc]].name][network.epoch[arc]] = run
        return {"widths": widths}

    return model, read


def _balance_paths(network: PathNetwork) -> sparse.csr_array:
    """Inflow less outflow of a node: 1 at the last hub of a class, -1 at the first, else 0."""
    arcs = np.arange(len(network.tail))
    entries = np.concatenate([np.ones(len(arcs)), -np.ones(len(arcs))])
    rows, columns = np.concatenate([network.head, network.tail]), np.concatenate([arcs, arcs])
    return sparse.csr_array((entries, (rows, columns)), shape=(len(network.supply), len(arcs)))


def _cost(network: PathNetwork, a: WidthArrays, data: BoaAllocation) -> sparse.csr_array:
    """Hourly cost of all classes, relative to the budget."""
    cost = a.arrivals[network.of_class] * network.rate * network.hours
    return sparse.csr_array(IN_BUDGET / data.budget * cost[None, :])


@method("exact")
def network(data: BoaAllocation, options: Options, report: Report) -> Answer:
    """Solve the widths by HiGHS. Raises InputError unless they are integers of one GPU type."""
    if data.widths != "integer" or data.heterogeneous:
        raise InputError("data.widths: must be integer, of one GPU type, for this peer")
    return solve_highs(build_network, data, options, report)
