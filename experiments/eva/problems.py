"""The problems, workloads and studies of Eva."""

from __future__ import annotations

from pathlib import Path

from experiments.spec import PaperSpec, ProblemSpec, Recording, StudySpec

PAPER = PaperSpec(
    problems=[
        ProblemSpec(
            "eva-cloud", online="experiments.eva.simulation:ONLINE_OF", drawing="experiments.eva.reference:cloud"
        ),
        ProblemSpec(
            "eva-packing",
            methods="experiments.eva.methods:METHODS",
            literal="models.eva:build_literal",
            literal_names="models.eva:literal_names",
            certifier="models.eva.certificate:certificate",
            plan="experiments.eva.plan:plan",
            plot="experiments.eva.pictures:packing",
            next_best="experiments.eva.plan:NextBest",
            drawing="experiments.eva.reference:packing",
            spaces="experiments.eva.worst:SPACES",
        ),
        ProblemSpec(
            "eva-reconfiguration",
            methods="experiments.eva.methods:METHODS",
            literal="models.eva.reconfiguration:build_literal_reconfiguration",
            literal_names="models.eva.reconfiguration:literal_names_reconfiguration",
            certifier="models.eva.round_certificate:certificate",
            plot="experiments.eva.pictures:reconfiguration",
            drawing="experiments.eva.reference:rounds",
        ),
    ],
    studies=[
        StudySpec(
            "eva-benchmark",
            "experiments.eva.studies:benchmarks",
            [Recording("benchmark"), Recording("interference", {"net_saving": True})],
        ),
        StudySpec(
            "eva-moments",
            "experiments.eva.studies:moments",
            [
                Recording(
                    "moments",
                    {"trace": [Path("eva/trace_pai_200.csv"), Path("eva/trace_pai_full.csv")]},
                    {"trace": [Path("eva/trace_pai_full.csv")], "number": 5},
                )
            ],
        ),
        StudySpec("eva-choices", "experiments.eva.cloud_studies:choices"),
        StudySpec("eva-price-lists", "experiments.eva.studies:price_lists"),
        StudySpec(
            "eva-evolution",
            "experiments.eva.studies:evolution",
            [
                Recording("evolved", {"trace": [Path("eva/trace_pai_full.csv")]}, {"number": 3, "quick": True}),
                Recording("evolution", {"evolve": True}),
            ],
        ),
        StudySpec("eva-surrogate", "experiments.eva.cloud_studies:surrogate"),
        StudySpec("prism-ceiling", "experiments.eva.prism:ceiling", [Recording("prism")]),
        StudySpec("transactions-ceiling", "experiments.eva.transactions:ceiling", [Recording("transactions")]),
        StudySpec("judge-calls", "experiments.eva.judged:judge_calls", [Recording("judge", probe={"repeats": 1})]),
        StudySpec("eva-yardstick", "experiments.eva.cloud_studies:yardsticks"),
        StudySpec("eva-worst", "experiments.eva.worst:worst_cases", [Recording("worst")]),
        StudySpec("eva-peers", "experiments.eva.studies:peers", [Recording("peers")]),
        StudySpec("eva-growth", "experiments.eva.studies:growth", [Recording("growth")]),
        StudySpec("eva-ablation", "experiments.eva.ablation:ablation", [Recording("ablation")]),
        StudySpec(
            "eva-saving-ablation",
            "experiments.eva.ablation:saving_ablation",
            [Recording("ablation-saving"), Recording("ablation-rounds", {"rounds": True})],
        ),
    ],
    judged=dict.fromkeys(("eva-packing", "eva-rounds", "prism", "transactions"), "experiments.eva.judged:TASKS"),
    overview="experiments.eva.reference:OVERVIEW_ROW",
)
