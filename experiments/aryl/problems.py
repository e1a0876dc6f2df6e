"""The problems, workloads and studies of Aryl."""

from __future__ import annotations

from pathlib import Path

from experiments.spec import PaperSpec, ProblemSpec, Recording, StudySpec

SOLVED = {
    "methods": "experiments.aryl.methods:METHODS",
    "literal_names": "models.aryl:literal_names",
    "certifier": "models.aryl.certificate:certificate",
}
"""Parts of every problem with methods."""

PAPER = PaperSpec(
    problems=[
        ProblemSpec(
            "aryl-loaning",
            online="experiments.aryl.simulation:ONLINE_OF",
            drawing="experiments.aryl.draw:loaning",
        ),
        ProblemSpec(
            "aryl-elastic",
            **SOLVED,
            literal="models.aryl:build_elastic",
            plot="experiments.aryl.plot:elastic",
            spaces="experiments.aryl.worst:SPACES",
        ),
        ProblemSpec(
            "aryl-reclaim",
            **SOLVED,
            literal="models.aryl:build_reclaim",
            plot="experiments.aryl.plot:reclaim",
            front="experiments.aryl.front:front",
            front_certifier="experiments.aryl.front_certificates:certify",
            spaces="experiments.aryl.worst:SPACES",
        ),
        ProblemSpec(
            "aryl-placement",
            **SOLVED,
            literal="models.aryl:build_placement",
            plot="experiments.aryl.plot:placement",
        ),
    ],
    studies=[
        StudySpec("aryl-benchmark", "experiments.aryl.benchmark:benchmarks", [Recording("benchmark")]),
        StudySpec(
            "aryl-excess", "experiments.aryl.pools:excesses", [Recording("excess", probe={"seeds": 1, "servers": [50]})]
        ),
        StudySpec(
            "aryl-losses",
            "experiments.aryl.pools:losses",
            [Recording("losses", probe={"servers": 50, "reclaim": 8, "seeds": 1, "fronts": 1})],
        ),
        StudySpec(
            "aryl-rules", "experiments.aryl.rules:rules", [Recording("rules", probe={"seeds": 1, "instance_jobs": 4})]
        ),
        StudySpec(
            "aryl-snapshots",
            "experiments.aryl.reclaims:reclaims",
            [Recording("snapshots", {"trace": Path("traces/philly.csv")}, {"seeds": 1, "days": 2.0, "servers": [12]})],
        ),
        StudySpec(
            "aryl-forced",
            "experiments.aryl.reclaims:unavoidable",
            [Recording("forced", {"trace": Path("traces/philly.csv")}, {"seeds": 1, "days": 2.0, "servers": 12})],
        ),
        StudySpec("aryl-worst", "experiments.aryl.worst:worst_cases", [Recording("worst")]),
        StudySpec("aryl-peers", "experiments.aryl.peers:peers", [Recording("peers")]),
        StudySpec("aryl-growth", "experiments.aryl.growth:growth", [Recording("growth")]),
        StudySpec("aryl-ablation", "experiments.aryl.ablation:ablation", [Recording("ablation")]),
    ],
    judged=dict.fromkeys(("aryl-reclaim", "aryl-elastic"), "experiments.aryl.judged:TASKS"),
    overview="experiments.aryl.reference:OVERVIEW_ROW",
)
