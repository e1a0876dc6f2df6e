"""Methods for pods on given nodes."""

from __future__ import annotations

from experiments.harness.entry import Entry
from instances.kubernetes import NodePlacement

LITERAL_PAIRS = 20_000  # The literal model is not built where there are more pairs of a pod entry and a node.


def _unfit_literal(data: NodePlacement) -> str | None:
    pairs = len(data.pods) * len(data.nodes)
    return f"{pairs:,} pairs of a pod and a node, more than {LITERAL_PAIRS:,}" if pairs > LITERAL_PAIRS else None


METHODS: dict[str, tuple[Entry, ...]] = {
    "node-placement": (
        Entry("exact", "models.kubernetes:exact"),
        Entry("literal", "models.kubernetes:literal", _unfit_literal),
        Entry("least-allocated", "heuristics.kubernetes:least_allocated"),
        Entry("most-allocated", "heuristics.kubernetes:most_allocated"),
        Entry("balanced-allocation", "heuristics.kubernetes:balanced_allocation"),
    ),
    "node-consolidation": (Entry("exact", "models.kubernetes.consolidation:exact_consolidation"),),
}
