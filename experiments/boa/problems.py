"""The problems, workloads and studies of BOA."""

from __future__ import annotations

from experiments.spec import PaperSpec, ProblemSpec, Recording, StudySpec

PAPER = PaperSpec(
    problems=[
        ProblemSpec(
            "boa-renting",
            online="experiments.boa.simulation:ONLINE_OF",
            drawing="experiments.boa.reference:renting",
        ),
        ProblemSpec(
            "boa-allocation",
            methods="experiments.boa.methods:METHODS",
            literal="models.boa:build_literal",
            literal_names="models.boa:literal_names",
            certifier="models.boa.certificate:certificate",
            plot="experiments.boa.pictures:widths",
            front="experiments.boa.front:front",
            trace="experiments.boa.front:read_trace",
            spaces="experiments.boa.worst:SPACES",
        ),
    ],
    studies=[
        StudySpec("boa-benchmark", "experiments.boa.studies:benchmarks", [Recording("benchmark")]),
        StudySpec("boa-genetic", "experiments.boa.studies:genetic"),
        StudySpec("boa-worst", "experiments.boa.worst:worst_cases", [Recording("worst")]),
        StudySpec("boa-peers", "experiments.boa.studies:peers", [Recording("peers")]),
        StudySpec("boa-growth", "experiments.boa.studies:growth", [Recording("growth")]),
        StudySpec("boa-ablation", "experiments.boa.ablation:ablation", [Recording("ablation")]),
    ],
    judged={"boa-widths": "experiments.boa.worst:TASKS"},
    overview="experiments.boa.reference:OVERVIEW_ROW",
)
