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
TRACE = {"trace": Path("traces/philly.csv")}
EXCESS = Recording("excess", probe={"seeds": 1, "servers": [50]})
LOSSES = Recording("losses", probe={"servers": 50, "reclaim": 8, "seeds": 1, "fronts": 1})
RULES = Recording("rules", probe={"seeds": 1, "instance_jobs": 4})
SNAPSHOTS = Recording("snapshots", TRACE, {"seeds": 1, "days": 2.0, "servers": [12]})
FORCED = Recording("forced", TRACE, {"seeds": 1, "days": 2.0, "servers": 12})

PAPER = PaperSpec(
    problems=[
        ProblemSpec(
            "aryl-loaning", online="experiments.aryl.simulation:ONLINE_OF", drawing="experiments.aryl.reference:loaning"
        ),
        ProblemSpec(
            "aryl-elastic",
            **SOLVED,
            literal="models.aryl:build_elastic",
            plot="experiments.aryl.pictures:elastic",
            spaces="experiments.aryl.worst:SPACES",
        ),
        ProblemSpec(
            "aryl-reclaim",
            **SOLVED,
            literal="models.aryl:build_reclaim",
            plot="experiments.aryl.pictures:reclaim",
            front="experiments.aryl.front:front",
            front_certifier="experiments.aryl.front:certify",
            spaces="experiments.aryl.worst:SPACES",
        ),
        ProblemSpec(
            "aryl-placement",
            **SOLVED,
            literal="models.aryl:build_placement",
            plot="experiments.aryl.pictures:placement",
        ),
    ],
    studies=[
        StudySpec("aryl-benchmark", "experiments.aryl.studies:benchmarks", [Recording("benchmark")]),
        StudySpec("aryl-excess", "experiments.aryl.reclaims:excesses", [EXCESS]),
        StudySpec("aryl-losses", "experiments.aryl.reclaims:losses", [LOSSES]),
        StudySpec("aryl-rules", "experiments.aryl.studies:rules", [RULES]),
        StudySpec("aryl-snapshots", "experiments.aryl.reclaims:reclaims", [SNAPSHOTS]),
        StudySpec("aryl-forced", "experiments.aryl.reclaims:unavoidable", [FORCED]),
        StudySpec("aryl-worst", "experiments.aryl.worst:worst_cases", [Recording("worst")]),
        StudySpec("aryl-peers", "experiments.aryl.studies:peers", [Recording("peers")]),
        StudySpec("aryl-growth", "experiments.aryl.studies:growth", [Recording("growth")]),
        StudySpec("aryl-ablation", "experiments.aryl.ablation:ablation", [Recording("ablation")]),
    ],
    judged=dict.fromkeys(("aryl-reclaim", "aryl-elastic"), "experiments.aryl.worst:TASKS"),
    overview="experiments.aryl.reference:OVERVIEW_ROW",
)
