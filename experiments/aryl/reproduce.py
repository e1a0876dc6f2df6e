"""Aryl's tables and figures in the loaning world: the paper's figure, ours, and where the paper's own cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.aryl.findings import FINDINGS
from experiments.aryl.scenarios import Runs, Setting, mean, rows_experiment, total
from experiments.harness.experiment import Claim, compared
from instances.aryl.loaning_days import Moments

IDEAL = {"elastic_share": 1.0, "any_gpu_share": 1.0, "heterogeneous_share": 1.0, "heterogeneous_speed": 1.0}
ADVANCED = {"heterogeneous_share": 0.1, "heterogeneous_speed": 0.7}
BASELINE = (3072.0, 16_610.0)  # mean queueing and JCT, s
TABLE_5 = {
    "2 Basic": (2008.0, 11_089.0, 0.86, 0.1020),
    "3 Advanced": (1833.0, 10_402.0, 0.87, 0.0705),
    "4 Ideal": (1157.0, 8_874.0, 0.92, 0.0557),
    "5 Loans, Random": (2843.0, 14_657.0, 0.76, 0.2089),
    "6 Loans, SCF": (2791.0, 14_965.0, 0.76, 0.1874),
    "7 Loans, Algorithm 1": (2204.0, 12_414.0, 0.76, 0.1234),
    "8 Scaling, Gandiva": (3035.0, 15_912.0, 0.79, None),
    "9 Scaling, AFS": (2284.0, 15_045.0, 0.95, None),
    "11 Scaling, Aryl": (2275.0, 12_048.0, 0.92, None),
}
"""Mean queueing and JCT in s, use of training GPUs, preemptions a job. Rows 10 and 12 are of Pollux's job tuning."""
RUNNING = BASELINE[1] - BASELINE[0]
ROWS_5 = {
    "1 Baseline": Setting.of("fifo"),
    "2 Basic": Setting.of("aryl"),
    "3 Advanced": Setting.of("aryl", **ADVANCED),
    "4 Ideal": Setting.of("aryl", **IDEAL),
    "5 Loans, Random": Setting.of("sjf-loans-random"),
    "6 Loans, SCF": Setting.of("sjf-loans-scf"),
    "7 Loans, Algorithm 1": Setting.of("sjf-loans"),
    "8 Scaling, Gandiva": Setting.of("fifo-gandiva"),
    "9 Scaling, AFS": Setting.of("fifo-afs"),
    "11 Scaling, Aryl": Setting.of("sjf-two-phase"),
}
E1 = "nothing scales in this row, but mean JCT less mean queueing falls: running times would shrink by loans alone"


def cannot_be(row: str) -> str | None:
    """Why the paper's mean JCT of a row of Table 5 contradicts its mean queueing, `None` where it does not."""
    queueing, jct = TABLE_5[row][:2]
    if jct - queueing >= RUNNING:
        return None
    if "Loans" in row:
        return E1
    moments = Moments()
    most = moments.elastic_jobs * moments.elastic_seconds
    if row.startswith(("2", "3", "11")) and RUNNING - (jct - queueing) > most:
        fall = RUNNING - (jct - queueing)
        return f"JCT less queueing falls by {fall:.0f} s; 5% of jobs of 14.2 h are {most:.0f} s of it"
    return None


def table_5(runs: Runs) -> list[Claim]:
    base = runs["1 Baseline"]
    waited, took = mean(base, "delay"), mean(base, "jct")
    claims = [
        compared("Table 5, 1", "mean queueing, s", BASELINE[0], waited, note="strict FIFO"),
        compared("Table 5, 1", "mean JCT, s", BASELINE[1], took),
        compared("Table 5, 1", "use of training GPUs", 0.72, total(base, "use")),
    ]
    for row, (queueing, jct, use, preempted) in TABLE_5.items():
        mine, where = runs[row], f"Table 5, {row}"
        claims.append(compared(where, "queueing, of row 1's", queueing / BASELINE[0], mean(mine, "delay") / waited))
        ours, why = mean(mine, "jct") / took, cannot_be(row)
        if why is None:
            claims.append(compared(where, "JCT, of row 1's", jct / BASELINE[1], ours))
        else:
            claims.append(Claim(where, "JCT, of row 1's", jct / BASELINE[1], ours, "impossible", why))
        claims.append(compared(where, "use of training GPUs", use, total(mine, "use")))
        if preempted is not None:
            claims.append(compared(where, "preemptions a job", preempted, total(mine, "preemption_ratio")))
    return claims


def table_6(runs: Runs) -> list[Claim]:
    paper = {
        "Basic": (2231 / 2008, 13_864 / 11_089, 0.1256 / 0.1020),
        "Ideal": (1257 / 1157, 9_751 / 8_874, 0.1189 / 0.0557),
    }
    claims = []
    for name, figures in paper.items():
        plain, grouped = runs[f"{name}, plain"], runs[f"{name}, grouped"]
        ours = [mean(plain, column) / mean(grouped, column) for column in ("delay", "jct")]
        ours.append(total(plain, "preemption_ratio") / max(1e-9, total(grouped, "preemption_ratio")))
        for what, figure, found in zip(("queueing", "JCT", "preemptions"), figures, ours, strict=True):
            claims.append(compared("Table 6", f"{name}: {what} without special placement, of that with", figure, found))
    return claims


def table_7(runs: Runs) -> list[Claim]:
    found = []
    for aryl, fifo in zip(runs["aryl"], runs["fifo"], strict=True):
        there = np.array(aryl.jobs["loaned"], dtype=bool)
        for name in ("delay", "jct"):
            found += [float(np.mean(np.array(run.jobs[name], dtype=float)[there])) for run in (fifo, aryl)]
    waited, wait, took, take = np.array(found).reshape(-1, 4).mean(axis=0)
    why = "JCT less queueing of these jobs falls from 6,974 to 5,803 s, on slower GPUs"
    return [
        compared("Table 7", "jobs on loaned servers: queueing, of the baseline's", 1029 / 4573, wait / waited),
        Claim(
            "Table 7", "jobs on loaned servers: JCT, of the baseline's", 6832 / 11_547, take / took, "impossible", why
        ),
        compared("Table 7", "the same: running time, of the baseline's", 5803 / 6974, (take - wait) / (took - waited)),
    ]


def table_9(runs: Runs) -> list[Claim]:
    paper = {"0%": (2.37, 1.57), "20%": (2.21, 1.52), "40%": (2.17, 1.49), "60%": (1.76, 1.38)}
    fifo, why = runs["fifo"], "the gains without errors are 1.53 and 1.50 in Table 5 and 1.38 and 1.22 in Table 8"
    claims = []
    for share, (queueing, jct) in paper.items():
        ours = mean(fifo, "delay") / mean(runs[share], "delay"), mean(fifo, "jct") / mean(runs[share], "jct")
        claims.append(Claim("Table 9", f"{share} wrong: queueing gain", queueing, ours[0], "impossible", why))
        claims.append(Claim("Table 9", f"{share} wrong: JCT gain", jct, ours[1], "impossible", why))
    lost = mean(runs["60%"], "jct") / mean(runs["0%"], "jct")
    claims.append(compared("Table 9", "JCT at 60% wrong, of that at 0%", 1.57 / 1.38, lost))
    return claims


def table_12(runs: Runs) -> list[Claim]:
    paper = {"Static": 0.3675, "SSF": 0.1434, "LSF": 0.2858}
    note = "the text does not define it"
    claims = [
        Claim("Table 12", f"{name}: preemptions a job", figure, None, "not run", note) for name, figure in paper.items()
    ]
    ours = total(runs["7 Loans, Algorithm 1"], "preemption_ratio")
    return [*claims, compared("Table 12", "Aryl: preemptions a job", 0.1234, ours)]


def figure_7(runs: Runs) -> list[Claim]:
    ours = total(runs["aryl"], "use_loaned")
    return [compared("Figure 7", "use of loaned servers, Basic", 0.93, ours, note="the paper: above 93% every day")]


def figure_8(runs: Runs) -> list[Claim]:
    claims = []
    for name, row, fewer, less in (("SCF", "scf", 1.5, 1.37), ("Random", "random", 1.67, 1.59)):
        mine, aryl = runs[row], runs["greedy"]
        ratio = total(mine, "preemptions") / max(1e-9, total(aryl, "preemptions"))
        claims.append(compared("Figure 8", f"{name}: preemptions, of Algorithm 1's", fewer, ratio))
        ratio = total(mine, "collateral_gpus") / max(1e-9, total(aryl, "collateral_gpus"))
        claims.append(compared("Figure 8", f"{name}: collateral damage, of Algorithm 1's", less, ratio))
    for name, figure in (("Basic", 0.526), ("Ideal", 0.824)):
        met = total(runs[name], "met_without_preemption")
        claims.append(compared("Section 7.3", f"{name}: share of reclaims met without preemption", figure, met))
    return claims


def figure_10(runs: Runs) -> list[Claim]:
    claims = []
    for name, queueing, jct in (("Basic", 1.04, 1.12), ("Ideal", None, 1.19)):
        lossy, linear = runs[f"{name}, loss"], runs[name]
        ratio = mean(lossy, "delay") / mean(linear, "delay")
        if queueing is not None:
            claims.append(compared("Figure 10", f"{name}: queueing with a loss, of that without", queueing, ratio))
        ratio = mean(lossy, "jct") / mean(linear, "jct")
        claims.append(compared("Figure 10", f"{name}: JCT with a loss, of that without", jct, ratio))
    return claims


def figure_13(runs: Runs) -> list[Claim]:
    base = runs["fifo"]
    return [
        Claim(
            "Figures 13, 14",
            f"{row} elastic: JCT, of the baseline's",
            None,
            mean(mine, "jct") / mean(base, "jct"),
            "no figure",
        )
        for row, mine in runs.items()
        if row != "fifo"
    ]


def draw_table_5(path: Path, runs: Runs) -> None:
    """Use, loans and queueing of the first seed."""
    from experiments.aryl.pictures import three_in_one  # with matplotlib, only where it is drawn
    from experiments.simulator.plots import save_figure

    rows = ("1 Baseline", "2 Basic", "7 Loans, Algorithm 1", "11 Scaling, Aryl")
    save_figure(three_in_one([(name, runs[name][0]) for name in rows]), path)


def _only(*rows: str) -> dict[str, Setting]:
    return {row: ROWS_5[row] for row in rows}


FIFO, ARYL = Setting.of("fifo"), Setting.of("aryl")
EXPERIMENTS = (
    rows_experiment("table-5", "Queueing, JCT, use and preemptions", ROWS_5, table_5, draw=draw_table_5),
    rows_experiment(
        "table-6",
        "Without special placement of elastic jobs",
        {
            "Basic, grouped": ARYL,
            "Basic, plain": Setting.of("aryl", placement="plain"),
            "Ideal, grouped": Setting.of("aryl", **IDEAL),
            "Ideal, plain": Setting.of("aryl", placement="plain", **IDEAL),
        },
        table_6,
    ),
    rows_experiment("table-7", "Jobs on loaned servers", {"fifo": FIFO, "aryl": ARYL}, table_7),
    rows_experiment(
        "table-9",
        "Errors of predicted running times",
        {"fifo": FIFO, "0%": ARYL} | {f"{k}%": Setting.of("aryl", wrong_predictions=k / 100) for k in (20, 40, 60)},
        table_9,
    ),
    rows_experiment("table-12", "Reclaiming by other orders", _only("7 Loans, Algorithm 1"), table_12),
    rows_experiment("figure-7", "Use of loaned servers", {"aryl": ARYL}, figure_7),
    rows_experiment(
        "figure-8",
        "Preemptions and collateral damage of reclaiming",
        {
            name: Setting.of(f"sjf-loans{more}")
            for name, more in (("greedy", ""), ("scf", "-scf"), ("random", "-random"))
        }
        | {"Basic": ARYL, "Ideal": Setting.of("aryl", **IDEAL)},
        figure_8,
    ),
    rows_experiment(
        "figure-10",
        "Imperfect scaling",
        {
            "Basic": ARYL,
            "Basic, loss": Setting.of("aryl", scaling_loss=0.1),
            "Ideal": Setting.of("aryl", **IDEAL),
            "Ideal, loss": Setting.of("aryl", scaling_loss=0.1, **IDEAL),
        },
        figure_10,
    ),
    rows_experiment(
        "figure-13",
        "Shares of elastic jobs, all free of type",
        {"fifo": FIFO} | {f"{k}%": Setting.of("aryl", elastic_share=k / 100, any_gpu_share=1.0) for k in (20, 60, 100)},
        figure_13,
    ),
    *FINDINGS,
)
