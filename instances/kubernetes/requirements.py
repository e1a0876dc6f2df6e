"""What pods require of labels, taints and each other, answered yes, no, or, where a label is not known, `None`.

A node that runs has all its labels in a dump. Of one that is still to be rented some are known, the type and the zone
say, and some are not: there a requirement is neither met nor broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Answer3: TypeAlias = bool | None
Labels: TypeAlias = Mapping[str, str | None]
"""Labels of a node or a pod; `None`: whether there is such a label, and its value, is not known."""
NODE_NAME = "field metadata.name"  # a field that terms of affinity name, among the labels
WHOLE = re.compile("[+-]?[0-9]{1,18}")
HARD = ("NoSchedule", "NoExecute")  # effects of taints that keep pods away; PreferNoSchedule is a wish


def every(answers: Iterable[Answer3]) -> Answer3:
    """Whether all hold."""
    found: Answer3 = True
    for answer in answers:
        if answer is False:
            return False
        found = None if answer is None else found
    return found


def some(answers: Iterable[Answer3]) -> Answer3:
    """Whether one at least holds."""
    found: Answer3 = False
    for answer in answers:
        if answer:
            return True
        found = None if answer is None else found
    return found


@dataclass(frozen=True)
class Requirement:
    """Of one label: `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, and Karpenter's `Gte`, `Lte`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Labels) -> Answer3:
        """`NotIn` is true of a label that is missing. An operator that is none of these says nothing."""
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
    """A toleration of a pod. An empty key is any, an empty effect all of them."""

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
    """On which nodes a pod may be.

    - `selector`: what its `nodeSelector` requires.
    - `terms`: alternatives, each of requirements that all hold: those of its required node affinity and of each of its
      volumes. An alternative that requires nothing, and no alternative at all, match no node.
    """

    selector: Term = ()
    terms: tuple[tuple[Term, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()

    def admits(self, labels: Labels, taints: Iterable[Taint]) -> Answer3:
        """Whether a node of these labels and taints may hold the pod."""
        return every((self._selects(labels), *(self._tolerates(taint) for taint in taints)))

    def _selects(self, labels: Labels) -> Answer3:
        selected = every(requirement.holds(labels) for requirement in self.selector)
        return every((selected, *(some(_holds(term, labels) for term in terms) for terms in self.terms)))

    def _tolerates(self, taint: Taint) -> Answer3:
        return taint.effect not in HARD or some(t.tolerates(taint) for t in self.tolerations)

    @property
    def keys(self) -> set[str]:
        """The labels that it asks for."""
        terms = [self.selector, *(term for terms in self.terms for term in terms)]
        return {requirement.key for term in terms for requirement in term}

    def with_volume(self, terms: tuple[Term, ...]) -> Placement:
        """The same of a pod with a volume that can be reached from some nodes alone."""
        return replace(self, terms=(*self.terms, terms))

    def without_name(self) -> Placement:
        """The same for any node: a DaemonSet's pod names its own, which is no wish of anybody's."""
        terms = tuple(terms for terms in self.terms if {r.key for term in terms for r in term} != {NODE_NAME})
        return replace(self, terms=terms)


def _holds(term: Term, labels: Labels) -> Answer3:
    return bool(term) and every(requirement.holds(labels) for requirement in term)


TermKind = Literal["affinity", "anti-affinity", "spread"]


@dataclass(frozen=True)
class PodTerm:
    """What a pod requires of the other pods of a domain, the nodes with one value of the label `topology`.

    - `kind`: affinity to the pods that are meant, anti-affinity, or a spread with at most `skew` more than elsewhere.
    - `namespaces`: of the pods that are meant; `None` where they are chosen by labels of theirs, which no dump has.
    - `selector`: labels of these pods; `None` means no pod.
    - `min_domains`: a spread counts 0 pods in the emptiest domain if there are fewer domains than that.
    """

    kind: TermKind
    topology: str
    selector: Term | None
    namespaces: frozenset[str] | None
    skew: int = 0
    min_domains: int = 1

    def means(self, namespace: str, labels: Labels) -> Answer3:
        """Whether a pod is meant."""
        if self.selector is None:
            return False
        known = None if self.namespaces is None else namespace in self.namespaces
        return every((known, *(requirement.holds(labels) for requirement in self.selector)))
