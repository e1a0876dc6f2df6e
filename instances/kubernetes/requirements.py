"""Evaluate requirements on labels, taints and other pods: true, false, or `None` if a label is unknown.

A dump contains all labels of a running node. For a new node only some labels are known, such as the type and the zone.
A requirement on an unknown label is neither satisfied nor violated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Answer3: TypeAlias = bool | None
Labels: TypeAlias = Mapping[str, str | None]
"""Labels of a node or a pod; `None`: it is unknown whether the label exists and which value it has."""
NAMESPACE = "kubernetes.io/metadata.name"  # a label that each namespace has
NODE_NAME = "field metadata.name"  # a field in affinity terms, stored among the labels
WHOLE = re.compile("[+-]?[0-9]{1,18}")
HARD = ("NoSchedule", "NoExecute")  # effects of taints that exclude pods; PreferNoSchedule is a preference


def are_all_true(answers: Iterable[Answer3]) -> Answer3:
    """Return whether all answers are true."""
    found: Answer3 = True
    for answer in answers:
        if answer is False:
            return False
        found = None if answer is None else found
    return found


def is_any_true(answers: Iterable[Answer3]) -> Answer3:
    """Return whether at least one answer is true."""
    found: Answer3 = False
    for answer in answers:
        if answer:
            return True
        found = None if answer is None else found
    return found


@dataclass(frozen=True)
class Requirement:
    """A requirement on one label: `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, or Karpenter's `Gte`, `Lte`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Labels) -> Answer3:
        """Return whether labels satisfy the requirement, `None` for an unknown operator.

        `NotIn` is true for a missing label.
        """
        value = labels.get(self.key)
        here = self.key in labels
        if here and value is None:
            return None
        match self.operator:
            case "In":
                return here and value in self.values
            case "NotIn":
                return not here or value not in self.values
            case "Exists":
                return here
            case "DoesNotExist":
                return not here
            case "Gt" | "Lt" | "Gte" | "Lte":
                return here and self._compares(value)
        return None

    def _compares(self, value: str | None) -> bool:
        if len(self.values) != 1 or not all(WHOLE.fullmatch(text) for text in (value or "", *self.values)):
            return False
        found, limit = int(value or ""), int(self.values[0])
        least, equal = self.operator.startswith("G"), self.operator.endswith("e")
        return (found > limit if least else found < limit) or (equal and found == limit)


Term: TypeAlias = tuple[Requirement, ...]


@dataclass(frozen=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class Toleration:
    """A toleration of a pod. An empty key matches every key, an empty effect every effect."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, taint: Taint) -> Answer3:
        if (self.effect and self.effect != taint.effect) or (self.key and self.key != taint.key):
            return False
        if self.operator == "Exists":
            return True
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return None  # Gt and Lt, which are behind a feature gate


@dataclass(frozen=True)
class Placement:
    """The node constraints of a pod.

    - `selector`: the requirements of its `nodeSelector`.
    - `terms`: for its required node affinity and for each volume, the alternatives. All requirements of one alternative
      must hold. An empty alternative, or an empty list of alternatives, matches no node.
    - `tolerations`: the taints that it tolerates.
    """

    selector: Term = ()
    terms: tuple[tuple[Term, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()

    def admits(self, labels: Labels, taints: Iterable[Taint]) -> Answer3:
        """Return whether a node with these labels and taints may hold the pod."""
        return are_all_true((self.selects(labels), *(self.tolerates(taint) for taint in taints)))

    def selects(self, labels: Labels) -> Answer3:
        """Return whether selector and affinity select a node with these labels."""
        selected = are_all_true(requirement.holds(labels) for requirement in self.selector)
        return are_all_true((selected, *(is_any_true(_holds(term, labels) for term in terms) for terms in self.terms)))

    def tolerates(self, taint: Taint) -> Answer3:
        """Return whether the pod tolerates a taint that excludes pods."""
        return taint.effect not in HARD or is_any_true(t.tolerates(taint) for t in self.tolerations)

    @property
    def keys(self) -> set[str]:
        """Return the labels that the requirements use."""
        terms = [self.selector, *(term for terms in self.terms for term in terms)]
        return {requirement.key for term in terms for requirement in term}

    def add_volume(self, terms: tuple[Term, ...]) -> Placement:
        """Return the constraints with those of a volume that only some nodes can access."""
        return replace(self, terms=(*self.terms, terms))

    def drop_name(self) -> Placement:
        """Return the constraints without the node name, which the controller adds to the pods of a DaemonSet."""
        terms = tuple(terms for terms in self.terms if {r.key for term in terms for r in term} != {NODE_NAME})
        return replace(self, terms=terms)


def _holds(term: Term, labels: Labels) -> Answer3:
    return bool(term) and are_all_true(requirement.holds(labels) for requirement in term)


TermKind = Literal["affinity", "anti-affinity", "spread"]


@dataclass(frozen=True)
class PodTerm:
    """A requirement on the selected pods of a domain, which is the nodes with one value of the label `topology`.

    - `kind`: affinity, anti-affinity, or a spread with at most `skew` more pods than in any other domain.
    - `namespaces`: of the selected pods; `None` if labels of namespaces select them, which a dump does not contain.
    - `selector`: the labels of the selected pods; `None` selects no pod.
    - `min_domains`: if there are fewer domains, the minimum count of a spread is 0.
    - `listed`, `chosen`: the namespaces by name, and the requirements on the labels of further ones.
    """

    kind: TermKind
    topology: str
    selector: Term | None
    namespaces: frozenset[str] | None
    skew: int = 0
    min_domains: int = 1
    listed: frozenset[str] = frozenset()
    chosen: Term | None = None

    def means(self, namespace: str, labels: Labels) -> Answer3:
        """Return whether the term selects a pod."""
        if self.selector is None:
            return False
        known = None if self.namespaces is None else namespace in self.namespaces
        return are_all_true((known, *(requirement.holds(labels) for requirement in self.selector)))

    def selects(self, namespace: str, labels: Labels, of_namespace: Labels | None) -> Answer3:
        """Return whether the term selects a pod. `of_namespace`: its labels, `None` if only its name is known."""
        if self.selector is None:
            return False
        own = are_all_true(requirement.holds(labels) for requirement in self.selector)
        if namespace in self.listed or own is False:
            return own
        if self.chosen is None:
            return False
        unknown: Labels = {requirement.key: None for requirement in self.chosen}
        known = {**(unknown if of_namespace is None else of_namespace), NAMESPACE: namespace}
        return are_all_true((own, *(requirement.holds(known) for requirement in self.chosen)))


@dataclass(frozen=True)
class SpreadRule:
    """A topology spread constraint: at most `skew` more pods in a domain than in any other, a preference if not `hard`.

    - `min_domains`: if there are fewer domains, the minimum count is 0.
    - `honours_affinity`, `honours_taints`: whether nodes that the pod does not select or tolerate do not count.
    """

    topology: str
    selector: Term | None
    skew: int
    hard: bool
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False

    def term(self, namespace: str) -> PodTerm:
        """Return the constraint of a pod in a namespace as a requirement on other pods."""
        own = frozenset([namespace])
        return PodTerm("spread", self.topology, self.selector, own, self.skew, self.min_domains, own)
