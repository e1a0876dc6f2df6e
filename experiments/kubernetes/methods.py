"""Methods for pods on given nodes, and for nodes to give up and rent."""

from __future__ import annotations

from experiments.harness.entry import Entry
from instances.kubernetes import NodeConsolidation, NodePlacement

LITERAL_PAIRS = 20_000  # The literal model is not built where there are more pairs of a pod entry and a node.
MOST_PODS = 1_000_000  # The rules move pods one by one.


def _unfit_rule(data: NodePlacement | NodeConsolidation) -> str | None:
    pods = sum(pod.count for pod in data.pods)
    return f"{pods:,} pods, more than {MOST_PODS:,}" if pods > MOST_PODS else None


def _unfit_literal(data: NodePlacement) -> str | None:
    pairs = len(data.pods) * len(data.nodes)
    return f"{pairs:,} pairs of a pod and a node, more than {LITERAL_PAIRS:,}" if pairs > LITERAL_PAIRS else None


def _unfit_literal_consolidation(data: NodeConsolidation) -> str | None:
    moving = sum(pod.count for pod in data.pods)
    new = sum(moving if kind.max_new is None else min(moving, kind.max_new) for kind in data.instance_types)
    pairs = len(data.pods) * (len(data.nodes) + new)
    return f"{pairs:,} pairs of a pod entry and a node, more than {LITERAL_PAIRS:,}" if pairs > LITERAL_PAIRS else None


RULES = (
    Entry("karpenter-1.14", "heuristics.kubernetes:karpenter_1_14", _unfit_rule),
    Entry("karpenter-1.14-balanced", "heuristics.kubernetes:karpenter_1_14_balanced", _unfit_rule),
    Entry("karpenter-1.13", "heuristics.kubernetes:karpenter_1_13", _unfit_rule),
    Entry("ca-least-waste", "heuristics.kubernetes:ca_least_waste", _unfit_rule),
    Entry("ca-most-pods", "heuristics.kubernetes:ca_most_pods", _unfit_rule),
    Entry("kube-least", "heuristics.kubernetes:kube_least", _unfit_rule),
    Entry("kube-most", "heuristics.kubernetes:kube_most", _unfit_rule),
)
METHODS: dict[str, tuple[Entry, ...]] = {
    "node-placement": (
        Entry("exact", "models.kubernetes:exact"),
        Entry("literal", "models.kubernetes:literal", _unfit_literal),
        Entry("least-allocated", "heuristics.kubernetes:least_allocated", _unfit_rule),
        Entry("most-allocated", "heuristics.kubernetes:most_allocated", _unfit_rule),
        Entry("balanced-allocation", "heuristics.kubernetes:balanced_allocation", _unfit_rule),
    ),
    "node-consolidation": (
        Entry("exact", "models.kubernetes:exact_consolidation", starts=RULES[:4]),
        Entry("literal", "models.kubernetes:literal_consolidation", _unfit_literal_consolidation),
        *RULES,
    ),
}
