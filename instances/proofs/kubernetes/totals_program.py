"""Build the aggregated relaxation of `node-consolidation`, in integers and from the data alone, and verify with it.

The bounds of the problem are bounds of this program. Each pod is on a kept node, where it stays or to which it comes,
or on a new node of some type. Pods that come, and pods on each type, are only counted by class. They satisfy the total
capacity of all nodes. Pods that fit on some nodes only satisfy the total capacity of these. The count of each class is
at most the sum of the counts that fit on each node alone. So every plan is a feasible point of this program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import groupby, pairwise
from types import MappingProxyType

import numpy as np

from instances.fields import STEPS
from instances.kubernetes.arrays import ClusterArrays, cluster_arrays
from instances.kubernetes.node_consolidation import NodeConsolidation
from instances.proofs.certificate import NoCertificate, Proven
from instances.proofs.derivation import proven_of
from instances.proofs.vipr import Direction, Program, ProgramBuilder, read_vipr

MOST = 200_000  # variables of a program that is written to a file


class TotalsProgram(ProgramBuilder):
    """The program of `data`, in price units.

    Minimise the price of all nodes, less the eviction cost of the pods that stay; `constant` is the cost of evicting
    all pods. The variables are:

    - `keep_m`: 1 if node m is kept.
    - `rent_k`: the number of new nodes of type k.
    - `come_c`: the number of pods of class c that come to kept nodes.
    - `new_k_c`: the number of pods of class c on new nodes of type k.
    - `stay_m_c`: the number of pods of class c that stay on node m, if pods move one by one.
    - `come_m_c`: with `by_node`, the number of pods of class c that come to node m, within its own capacity.
    - `rent_k_j`, `new_k_j_c`: the same for single nodes of type k, of which `copies` gives the number.
    """

    def __init__(
        self,
        data: NodeConsolidation,
        arrays: ClusterArrays | None = None,
        by_node: bool = False,
        copies: Mapping[int, int] = MappingProxyType({}),
        most: int = MOST,
    ) -> None:
        """Build the program. Raises NoCertificate if it has more than `most` variables."""
        super().__init__()
        self.arrays = a = cluster_arrays(data) if arrays is None else arrays
        self.whole_nodes, self.by_node = data.moves == "nodes", by_node
        self.room = a.free if self.whole_nodes else a.room
        self.usable = (a.need[:, None] <= self.room[None]).all(axis=2) & a.comes.T
        self.nodes, self.classes = range(len(a.held_price)), range(len(a.count))
        self.batches: list[tuple[str, int]] = []  # groups of new nodes with joint capacity: name and type
        for k in range(len(a.price)):
            if a.fits_type[k].any():
                self.batches += [(f"{k}_{j}", k) for j in range(copies.get(k, 0))] + [(f"{k}", k)]
        coming = int(self.usable.sum()) if by_node else len(self.classes)
        staying = 0 if self.whole_nodes else int(np.count_nonzero(a.now))
        new = sum(1 + int(a.fits_type[k].sum()) for _, k in self.batches)
        if (size := len(self.nodes) + coming + staying + new) > most:
            raise NoCertificate(f"{size:,} numbers in the program of totals, more than {most:,}")
        self.constant = a.eviction_price * int(a.on_node.sum())
        self._variables()
        self._flows()
        if by_node:
            self._add_node_capacities()
        else:
            self._add_total_capacity()
        for name, k in self.batches:
            self._type_room(name, k)
        self._limits()

    def program(self) -> Program:
        """Return the program in the form of a VIPR file."""
        return self.build("min")

    def usd_per_hour(self, value: Fraction) -> Fraction:
        """Convert an objective value of the program to the cost of the plan in USD/h."""
        return (value + self.constant) * self.arrays.unit / STEPS

    def _row(self, name: str, direction: Direction, right: int, terms: Mapping[str, int]) -> None:
        if any(terms.values()):
            self.add_row(name, direction, right, {self.place[key]: a for key, a in terms.items()})

    def _variables(self) -> None:
        a = self.arrays
        for m in self.nodes:
            saved = a.eviction_price * int(a.on_node[m]) if self.whole_nodes else 0
            self.add_variable(f"keep_{m}", 1, int(a.held_price[m]) - saved, int(not a.leaves[m]))
        everybody = int(a.count.sum())
        for name, k in self.batches:
            most = 1 if "_" in name else int(a.most_new[k])
            self.add_variable(f"rent_{name}", everybody if most < 0 else min(most, everybody), int(a.price[k]))
        if not self.whole_nodes:
            for m in self.nodes:
                for c in np.flatnonzero(a.now[m]).tolist():
                    n = int(a.now[m, c])
                    self.add_variable(f"stay_{m}_{c}", n, -a.eviction_price, n if a.pinned[c] else 0)
        for c in self.classes:
            for name in self._come(c):
                self.add_variable(name, int(a.count[c]))
        for name, k in self.batches:
            for c in np.flatnonzero(a.fits_type[k]).tolist():
                self.add_variable(f"new_{name}_{c}", int(a.count[c]))

    def _stay(self, m: int, c: int) -> tuple[str, int]:
        """Return the variable and the coefficient that give how many pods of a class stay on a node."""
        return (f"keep_{m}", int(self.arrays.now[m, c])) if self.whole_nodes else (f"stay_{m}_{c}", 1)

    def _come(self, c: int) -> list[str]:
        """Return the variables of the pods of a class that come to kept nodes."""
        return [f"come_{m}_{c}" for m in np.flatnonzero(self.usable[c])] if self.by_node else [f"come_{c}"]

    def _flows(self) -> None:
        """Add the rows that place each pod, and the row that limits evictions."""
        a = self.arrays
        for c in self.classes:
            on = np.flatnonzero(a.now[:, c]).tolist()
            terms = dict(self._stay(m, c) for m in on)
            terms |= dict.fromkeys(self._come(c), 1)
            terms |= {f"new_{name}_{c}": 1 for name, k in self.batches if a.fits_type[k, c]}
            self._row(f"placed_{c}", "E", int(a.count[c]), terms)
        staying: dict[str, int] = {}
        for m in self.nodes:
            for c in np.flatnonzero(a.now[m]).tolist():
                name, n = self._stay(m, c)
                staying[name] = staying.get(name, 0) + n
                if not self.whole_nodes:
                    self._row(f"kept_{m}_{c}", "L", 0, {name: 1, f"keep_{m}": -int(a.now[m, c])})
        here = int(a.on_node.sum())
        if a.most_evictions < here:
            self._row("evictions", "G", here - a.most_evictions, staying)

    def _add_total_capacity(self) -> None:
        """Add the rows by which pods that come fit into the total capacity of the kept nodes."""
        a, room, usable = self.arrays, self.room, self.usable
        for i, area in enumerate(np.unique(usable, axis=0)):
            nodes = np.flatnonzero(area).tolist()
            inside = np.flatnonzero(~(usable & ~area).any(axis=1)).tolist()
            for r in range(a.need.shape[1]):
                if any(a.need[c, r] for c in inside):
                    terms = {f"come_{c}": int(a.need[c, r]) for c in inside}
                    terms |= {f"keep_{m}": -int(room[m, r]) for m in nodes} | self._sum_held_demand(nodes, r)
                    self._row(f"room_{i}_{r}", "L", 0, terms)
        for c in self.classes:
            holds = _copies(room, a.need[c], int(a.count[c]))
            self._row(f"each_{c}", "L", 0, {f"come_{c}": 1} | {f"keep_{m}": -holds[m] for m in self.nodes})

    def _add_node_capacities(self) -> None:
        """Add the rows by which pods that come to a kept node fit into its capacity."""
        a = self.arrays
        for m in self.nodes:
            coming = np.flatnonzero(self.usable[:, m]).tolist()
            for r in range(a.need.shape[1]):
                if any(a.need[c, r] for c in coming):
                    terms = {f"come_{m}_{c}": int(a.need[c, r]) for c in coming}
                    terms |= {f"keep_{m}": -int(self.room[m, r])} | self._sum_held_demand([m], r)
                    self._row(f"room_{m}_{r}", "L", 0, terms)
            for c in coming:
                if not a.need[c].any():
                    self._row(f"none_{m}_{c}", "L", 0, {f"come_{m}_{c}": 1, f"keep_{m}": -int(a.count[c])})

    def _sum_held_demand(self, nodes: Iterable[int], r: int) -> dict[str, int]:
        """Return the demand of the pods that stay, if the capacities of the nodes include it."""
        if self.whole_nodes:
            return {}
        a = self.arrays
        return {f"stay_{m}_{c}": int(a.need[c, r]) for m in nodes for c in np.flatnonzero(a.now[m]).tolist()}

    def _type_room(self, name: str, k: int) -> None:
        """Add the rows by which pods fit into the total capacity of a group of new nodes."""
        a = self.arrays
        inside = np.flatnonzero(a.fits_type[k]).tolist()
        for r in range(a.need.shape[1]):
            if not any(a.need[c, r] for c in inside):
                continue
            room = int(a.capacity[k, r])
            terms = {f"new_{name}_{c}": int(a.need[c, r]) for c in inside}
            self._row(f"new_room_{name}_{r}", "L", 0, terms | {f"rent_{name}": -room})
        for c in inside:
            if not a.need[c].any():
                self._row(f"new_none_{name}_{c}", "L", 0, {f"new_{name}_{c}": 1, f"rent_{name}": -int(a.count[c])})

    def _limits(self) -> None:
        """Add the rows that order the single nodes of a type, and those that limit its new nodes."""
        a = self.arrays
        for k, batches in groupby(self.batches, key=lambda batch: batch[1]):
            names = [name for name, _ in batches]
            for before, name in pairwise(names):
                self._row(f"order_{name}", "L", 0, {f"rent_{name}": 1, f"rent_{before}": -int(a.count.sum())})
            if a.most_new[k] >= 0 and len(names) > 1:
                self._row(f"limit_{k}", "L", int(a.most_new[k]), {f"rent_{name}": 1 for name in names})


def _copies(room: np.ndarray, need: np.ndarray, most: int) -> list[int]:
    """Return how many pods of one class each node holds, at most `most`."""
    found = [most] * len(room)
    for r in np.flatnonzero(need).tolist():
        found = [min(n, int(q) // int(need[r])) for n, q in zip(found, room[:, r], strict=True)]
    return found


def prove_consolidation(data: NodeConsolidation, text: str) -> Proven:
    """Return the bound on the minimum cost that the VIPR file `text` proves.

    Raises InputError, or CheckFailed if the derivation does not hold.
    """
    file = read_vipr(text)
    totals = TotalsProgram(data)
    if file.program.variables != tuple(totals.place):  # variable names show which program it is
        totals = TotalsProgram(data, by_node=True)
    proven = proven_of(data, totals.program(), file)
    return Proven(totals.usd_per_hour(proven.bound), proven.how)
