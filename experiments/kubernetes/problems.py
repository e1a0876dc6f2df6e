"""The problems, workloads and studies of Kubernetes."""

from __future__ import annotations

from experiments.spec import PaperSpec, ProblemSpec, Recording, StudySpec

SOON_DECIDED = ["planted", "drawn", "halves", "thirds", "rooms", "crossed", "zones", "apart"]
"""Rows of the study `node-placement` whose first cluster is decided long before the time limit."""
PLACEMENT = Recording("placement", probe={"seeds": 1, "row": SOON_DECIDED})

PAPER = PaperSpec(
    problems=[
        ProblemSpec(
            "node-placement",
            methods="experiments.kubernetes.methods:METHODS",
            literal="models.kubernetes:build_literal",
            literal_names="models.kubernetes:literal_names",
            certifier="models.kubernetes.certificate:certificate",
            plot="experiments.kubernetes.pictures:nodes",
            drawing="experiments.kubernetes.reference:placement",
            spaces="experiments.kubernetes.worst:SPACES",
        ),
        ProblemSpec(
            "node-consolidation",
            methods="experiments.kubernetes.methods:METHODS",
            literal="models.kubernetes:build_consolidation",
            literal_names="models.kubernetes:consolidation_names",
            certifier="models.kubernetes.consolidation_certificate:certificate",
            plot="experiments.kubernetes.pictures:plot_consolidation",
            drawing="experiments.kubernetes.reference:consolidation",
            spaces="experiments.kubernetes.worst:SPACES",
        ),
        ProblemSpec("kubernetes-dump", drawing="experiments.kubernetes.reference:dump"),
    ],
    studies=[
        StudySpec("cluster-rules", "experiments.kubernetes.studies:rules", [Recording("rules", {"rows": 3})]),
        StudySpec("node-placement", "experiments.kubernetes.studies:decide", [PLACEMENT]),
        StudySpec("kubernetes-worst", "experiments.kubernetes.worst:worst_cases", [Recording("worst")]),
        StudySpec("kubernetes-peers", "experiments.kubernetes.studies:peers", [Recording("peers")]),
        StudySpec("kubernetes-growth", "experiments.kubernetes.studies:growth", [Recording("growth")]),
        StudySpec("kubernetes-ablation", "experiments.kubernetes.ablation:ablation", [Recording("ablation")]),
    ],
    judged={"node-placement": "experiments.kubernetes.worst:TASKS"},
)
