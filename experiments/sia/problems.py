"""The problems, workloads and studies of SIA."""

from __future__ import annotations

from pathlib import Path

from experiments.spec import PaperSpec, ProblemSpec, Recording, StudySpec

PAPER = PaperSpec(
    problems=[
        ProblemSpec(
            "sia-oracle",
            methods="experiments.sia.methods:METHODS",
            literal="models.sia:build_literal",
            literal_names="models.sia:literal_names",
            certifier="models.sia.certificate:certificate",
            vipr="models.sia.price_derivation:convert_to_vipr",
            plot="experiments.sia.pictures:schedule",
            online="experiments.sia.simulation:ONLINE_OF",
            drawing="experiments.sia.reference:oracle",
            spaces="experiments.sia.worst:SPACES",
        ),
        ProblemSpec(
            "sia-local-oracle",
            methods="experiments.sia.methods:METHODS",
            literal="models.sia:build_local_literal",
            literal_names="models.sia:literal_names",
            certifier="models.sia.certificate:local_certificate",
            vipr="models.sia.price_derivation:convert_to_vipr",
            plot="experiments.sia.pictures:schedule",
            drawing="experiments.sia.reference:local_oracle",
        ),
    ],
    studies=[
        StudySpec(
            "sia-benchmark",
            "experiments.sia.studies:benchmarks",
            [Recording("benchmark", {"trace": Path("traces/philly.csv")})],
        ),
        StudySpec("sia-horizons", "experiments.sia.studies:horizons", [Recording("horizons")]),
        StudySpec("sia-worst", "experiments.sia.worst:worst_cases", [Recording("worst")]),
        StudySpec("sia-peers", "experiments.sia.studies:peers", [Recording("peers")]),
        StudySpec("sia-growth", "experiments.sia.studies:growth", [Recording("growth")]),
        StudySpec(
            "sia-ablation",
            "experiments.sia.ablation:ablation",
            [Recording("ablation"), Recording("ablation-servers", {"local": True})],
        ),
    ],
    judged={"sia-starts": "experiments.sia.judged:TASKS"},
    overview="experiments.sia.reference:OVERVIEW_ROW",
)
