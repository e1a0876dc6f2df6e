"""Aryl's tables and figures in the loaning world, and what the paper does not show: order, loans and scaling apart.

Arrivals in bursts are fitted to the jobs an hour in Philly's trace, with the demand of Helios as a check.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.aryl.scenarios import (
    FULL,
    HELD,
    JCT,
    LOADS,
    PAPERS,
    QUICK_LOANS,
    TRACE,
    WAIT,
    Runs,
    Setting,
    Statement,
    exclude_comparison,
    level,
    ratio,
    read_total,
    rows_experiment,
)
from experiments.harness.experiment import Claim, Context, Experiment, chunks, compare_mean
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from instances import Options
from instances.aryl import loaning_days
from instances.aryl.populations import HOUR, Bursts, Moments
from instances.tables import read_numbers, read_rows

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
    "9 Scaling, AFS, first in first out": (2284.0, 15_045.0, 0.95, None),
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
    "9 Scaling, AFS": Setting.of("sjf-afs"),
    "9 Scaling, AFS, first in first out": Setting.of("fifo-afs"),
    "11 Scaling, Aryl": Setting.of("sjf-two-phase"),
}


def cannot_be(row: str) -> str | None:
    """Why the paper's mean queueing and JCT of a row of Table 5 cannot both be means over all jobs, else `None`."""
    queueing, jct = TABLE_5[row][:2]
    fall = RUNNING - (jct - queueing)
    if fall <= 0:
        return None
    moments = Moments()
    most = 0.0 if "Loans" in row else moments.elastic_jobs * moments.elastic_seconds
    if fall <= most or row.startswith(("4", "8", "9")):
        return None
    return (
        f"cannot both be means over all jobs: JCT less queueing falls by {fall:.0f} s, of {most:.0f} s that could scale"
    )


PREEMPTED, USE_LOANED = read_total("preemption_ratio"), read_total("use_loaned")


def table_5(*rows: str) -> Iterator[Statement]:
    """Queueing and JCT of some rows, as shares of the baseline's, use and preemptions."""
    for row in rows:
        (queueing, jct, use, preempted), where, base = TABLE_5[row], f"Table 5, {row}", "1 Baseline"
        yield ratio(where, "queueing, of row 1's", queueing / BASELINE[0], row, base, WAIT)
        yield exclude_comparison(ratio(where, "JCT, of row 1's", jct / BASELINE[1], row, base), cannot_be(row))
        yield level(where, "use of training GPUs", use, row, read_total("use"))
        if preempted is not None:
            yield level(where, "preemptions a job", preempted, row, PREEMPTED)


def baseline() -> Iterator[Statement]:
    """Row 1: load and bursts are chosen for its mean queueing and use, the rest says how near the workload is."""
    row, why = "1 Baseline", "of the workload that is drawn, not of the paper"
    total = {"median_wait_s": 55, "p95_wait_s": 8357, "median_jct_s": 791, "p95_jct_s": 82_933, "use": 0.72}
    rows = [("mean queueing, s", BASELINE[0], WAIT), ("mean JCT, s", BASELINE[1], JCT)]
    rows += [(name.replace("_s", ", s").replace("_", " "), of, read_total(name)) for name, of in total.items()]
    for what, paper, by in rows:
        yield exclude_comparison(level(f"Table 5, {row}", what, paper, row, by), why)


def table_6() -> Iterator[Statement]:
    measures = ("queueing", WAIT), ("JCT", JCT), ("preemptions", PREEMPTED)
    for name, paper in (
        ("Basic", (2231 / 2008, 13_864 / 11_089, 0.1256 / 0.1020)),
        ("Ideal", (1257 / 1157, 9_751 / 8_874, 0.1189 / 0.0557)),
    ):
        for (what, by), figure in zip(measures, paper, strict=True):
            said = f"{name}: {what} without special placement, of that with"
            yield ratio("Table 6", said, figure, f"{name}, plain", f"{name}, grouped", by)


def table_7(name: str, column: str, paper: float) -> Statement:
    """State a total of the jobs that were on loaned servers under Aryl, under both, of all seeds: some have none."""
    said = f"jobs on loaned servers: {name}, of the baseline's"

    def claim(runs: Runs) -> Claim:
        sums = []
        for aryl, fifo in zip(runs["aryl"], runs["fifo"], strict=True):
            there = np.array(aryl.jobs["loaned"], dtype=bool)
            if there.any():
                mine, base = (float(np.sum(np.array(run.jobs[column], dtype=float)[there])) for run in (aryl, fifo))
                sums.append((mine, base))
        if not sums:
            return Claim("Table 7", said, paper, None, "not run", "no job was on one")
        return compare_mean("Table 7", said, paper, Sample.bootstrap(sums, range(len(sums)), _divide_by_baseline))

    return claim


def _divide_by_baseline(sums: Sequence[tuple[float, float]]) -> float:
    mine, base = (sum(column) for column in zip(*sums, strict=True))
    return mine / base if base > 0 else math.inf if mine > 0 else 1.0


def table_9() -> Iterator[Statement]:
    why = "the text names no scenario: the gains without errors are those of neither Table 5 nor Table 8"
    paper = {"0%": (2.37, 1.57), "20%": (2.21, 1.52), "40%": (2.17, 1.49), "60%": (1.76, 1.38)}
    for share, gains in paper.items():
        for what, gain, by in zip(("queueing", "JCT"), gains, (WAIT, JCT), strict=True):
            said = f"{share} wrong: {what} gain"
            yield exclude_comparison(ratio("Table 9", said, gain, "fifo", share, by), why, unless=())
    yield ratio("Table 9", "JCT at 60% wrong, of that at 0%", 1.57 / 1.38, "60%", "0%")


def figure_8() -> Iterator[Statement]:
    for row, fewer, less in (("6 Loans, SCF", 1.5, 1.37), ("5 Loans, Random", 1.67, 1.59)):
        for what, figure in (("preemptions", fewer), ("collateral_gpus", less)):
            said = f"{row[9:]}: {what.replace('_', ' ')}, of Algorithm 1's"
            yield ratio("Figure 8", said, figure, row, "7 Loans, Algorithm 1", read_total(what))


def flexible_group() -> Iterator[Statement]:
    """State the share of returned servers in use that had only flexible workers; idle servers are excluded."""
    where = "Section 7.2, flexible server group"
    for row, figure in (("2 Basic", 0.526), ("4 Ideal", 0.824)):
        yield level(where, f"{row[2:]}: of the servers in use", figure, row, read_total("met_by_flexible"))
        yield level(where, f"{row[2:]}: servers that were idle", None, row, read_total("reclaimed_idle"))
        yield level(where, f"{row[2:]}: servers that went back", None, row, read_total("reclaimed_servers"))


def draw_table_5(path: Path, runs: Runs) -> None:
    """Use, loans and queueing of the first seed."""
    from experiments.aryl.pictures import three_in_one  # with matplotlib, only where it is drawn
    from experiments.canvas import save_all

    save_all(three_in_one([(name, of[0]) for name, of in runs.items()]), path)


FIFO, ARYL, LOANS = Setting.of("fifo"), Setting.of("aryl"), Setting.of("sjf-loans")
PAIRS = {"fifo": "fifo-loans", "sjf": "sjf-loans", "fifo-two-phase": "fifo-loans-two-phase", "sjf-two-phase": "aryl"}
"""Policies without loans, and the same with."""
RECLAIMERS = ("", "-scf", "-random", "-exact", "-weighted")
OWN = "not in the paper"


def _pick(*rows: str) -> dict[str, Setting]:
    return {row: ROWS_5[row] for row in ("1 Baseline", *rows)}


def loans(name: str, title: str, load: float, *pairs: str, **more: Any) -> Experiment:
    """Policies with and without loans at a load."""
    rows = {"fifo": FIFO} | {alone: Setting.of(alone) for alone in pairs}
    rows |= {PAIRS[alone]: Setting.of(PAIRS[alone], **more) for alone in pairs}
    found = []
    for policy in rows:
        found.append(level(OWN, f"{policy}: mean queueing, s", None, policy, WAIT))
        found.append(level(OWN, f"{policy}: mean JCT, s", None, policy, JCT))
        if policy != "fifo":
            found.append(ratio(OWN, f"{policy}: JCT, of fifo's", None, policy, "fifo"))
    for alone in pairs:
        loaned = PAIRS[alone]
        if alone != "fifo":
            found.append(ratio(OWN, f"{loaned}: JCT, of {alone}'s", None, loaned, alone))
        found.append(level(OWN, f"{loaned}: preemptions a job", None, loaned, PREEMPTED))
        found.append(level(OWN, f"{loaned}: use of loaned servers", None, loaned, USE_LOANED))
    return rows_experiment(f"{name}-{load:g}", f"{title}, load {load:g}", rows, found, scale=replace(FULL, load=load))


def reclaiming(period: int, workers: str) -> Experiment:
    """Who goes back, by the orchestrator's period and the width of workers; 60% of the jobs are free of type."""
    more = {"orchestrator_period_seconds": float(period), "workers": workers, "any_gpu_share": 0.6}
    rows = {f"sjf-loans{name}": Setting.of(f"sjf-loans{name}", **more) for name in RECLAIMERS}
    scaling = ("aryl", "aryl-exact", "aryl-threshold")
    rows |= {name: Setting.of(name, elastic_share=0.3, **more) for name in scaling}
    measures = {"preemptions": read_total("preemptions"), "lost GPU-hours": read_total("lost_gpu_h"), "mean JCT": JCT}
    found = []
    for name, (what, measure) in product(rows, measures.items()):
        first = "aryl" if name in scaling else "sjf-loans"
        if name == first:
            found.append(level(OWN, f"{name}: {what}", None, name, measure))
        else:
            found.append(ratio(OWN, f"{name}: {what}, of {first}'s", None, name, first, measure))
    title = f"Reclaiming every {period} s, {workers} workers; with aryl 30% of the jobs are elastic"
    return rows_experiment(f"reclaiming-{period}-{workers}", title, rows, found)


HELIOS = "traces/helios_earth_vc_demand_10min.csv"
FIRST_DAY = 27
"""October 1, 2017 in Philly's trace, which is thin before."""
LAGS = (0, 1, 2, 3, 6, 24, 48, 72, 168)
SCALES = (0.0, 0.5, 1.0)
SERVERS, DAYS, WARM_DAYS, SEEDS = 98, 31, 5, 10
"""Of Helios' Earth cluster, of 784 GPUs; days until long jobs are there; and seeds."""


def covariances(trace: Path, options: Options) -> dict[str, Any]:
    """Return log(1 + covariance) by lag of the jobs per hour, relative to the means of the hours of the day."""
    hours = read_numbers(trace, ("submit_s",), least=0)["submit_s"].to_numpy(float) // HOUR - FIRST_DAY * 24
    whole = int(hours.max() + 1) // 24 * 24
    counts = np.bincount(hours[(hours >= 0) & (hours < whole)].astype(int), minlength=whole)
    factor = counts / np.tile(counts.reshape(-1, 24).mean(axis=0), whole // 24)
    off = factor / factor.mean() - 1
    found = [float(np.mean(off[: whole - lag] * off[lag:])) for lag in LAGS]
    found[0] -= 1 / float(counts.mean())  # subtract the variance of a Poisson process
    return {"logs": np.log1p(found).tolist()}


def compute_fitted(lag: int) -> float:
    """Return the theoretical value at a lag for the factors that `Bursts` draws."""
    bursts = Bursts()
    return bursts.hour_sd**2 * bursts.memory**lag + bursts.day_sd**2 * max(0.0, 1 - lag / 24)


def demand(path: Path, options: Options) -> dict[str, Any]:
    """Return the coefficient of variation of the demanded GPUs."""
    rows = read_rows(path, ("time",))
    gpus = rows[[name for name in rows if str(name).endswith("_demand_gpus")]].sum(axis=1).to_numpy(float)
    return {"variation": float(gpus.std() / gpus.mean())}


def measure_drawn_demand(trace: Path, seed: int, bursts: float, options: Options) -> dict[str, Any]:
    """Return the same of a workload whose jobs all run at once on their base demand, by the hour."""
    jobs = loaning_days(DAYS, seed, trace=trace, training_servers=SERVERS, bursts=bursts).data.jobs
    begin = np.array([job.arrival_seconds for job in jobs])
    end = begin + np.array([job.work / job.min_workers for job in jobs])
    gpus = np.array([job.min_workers * job.gpus_per_worker for job in jobs])
    change = np.zeros(DAYS * 24 + 1)
    for times, sign in ((begin, 1), (end, -1)):
        np.add.at(change, np.ceil(times / HOUR).astype(int).clip(0, DAYS * 24), sign * gpus)
    held = np.cumsum(change)[WARM_DAYS * 24 : DAYS * 24]
    return {"variation": float(held.std() / held.mean())}


def _arrivals(context: Context) -> list[Measurement]:
    trace, seeds = context.trace(TRACE), range(1 if context.quick else SEEDS)
    return [
        Measurement.of(covariances, context.options, trace=trace),
        Measurement.of(demand, context.options, path=context.trace(HELIOS)),
        *(
            Measurement.of(measure_drawn_demand, context.options, trace=trace, seed=seed, bursts=scale)
            for scale in SCALES
            for seed in seeds
        ),
    ]


def _fits(context: Context, outcomes: Sequence[Measured]) -> list[Claim]:
    philly, helios, *drawn = outcomes
    found = []
    for lag, log in zip(LAGS, philly.figures["logs"], strict=True):
        what = f"Philly: log-covariance of jobs an hour, lag {lag} h"
        found.append(Claim(OWN, what, None, log, "no figure", f"{compute_fitted(lag):.2f} drawn"))
    what = "standard deviation of the demand of GPUs, of its mean"
    found.append(Claim(OWN, f"Helios Earth: {what}", None, helios.figures["variation"], "no figure"))
    for scale, of in zip(SCALES, chunks(drawn, len(drawn) // len(SCALES)), strict=True):
        sample = Sample.of([one.figures["variation"] for one in of])
        found.append(Claim(OWN, f"drawn, bursts {scale:g}: {what}", None, sample.mean, "no figure", sample=sample))
    return found


ARRIVALS = Experiment("arrivals", "Arrivals in bursts, and how they were fitted", _arrivals, _fits, (TRACE, HELIOS))


def _state_undefined(name: str, paper: float) -> Statement:
    claim = Claim("Table 12", f"{name}: preemptions a job", paper, None, "not run", "the text does not define it")
    return lambda runs: claim


TABLE_7_JCT = exclude_comparison(
    table_7("JCT", "jct", 6832 / 11_547),
    "cannot both be means over all of these jobs: JCT less queueing falls from 6,974 to 5,803 s, by loans alone",
    unless=(*HELD, "not run"),
)
TABLE_12 = (
    *(_state_undefined(name, paper) for name, paper in (("Static", 0.3675), ("SSF", 0.1434), ("LSF", 0.2858))),
    level("Table 12", "Aryl: preemptions a job", 0.1234, "7 Loans, Algorithm 1", PREEMPTED),
)
ARYL_ROWS = ("2 Basic", "3 Advanced", "4 Ideal")
LOAN_ROWS = ("5 Loans, Random", "6 Loans, SCF", "7 Loans, Algorithm 1")
SCALING_ROWS = tuple(row for row in TABLE_5 if "Scaling" in row)
IMPROVES = "section 7.2: Basic improves queueing and JCT by 1.53 and 1.50 times, Advanced by 1.68 and 1.60"
EXPERIMENTS = (
    ARRIVALS,
    rows_experiment("table-5-baseline", "The baseline, whose queueing the load is chosen for", _pick(), baseline()),
    rows_experiment(
        "table-5", "Queueing, JCT, use and preemptions of Aryl", _pick(*ARYL_ROWS), table_5(*ARYL_ROWS),
        says=IMPROVES, draw=draw_table_5,
    ),
    rows_experiment(
        "table-5-loans", "The same, of loans alone", _pick(*LOAN_ROWS), table_5(*LOAN_ROWS),
        says="section 7.2: loans alone improve queueing and JCT by 1.39 and 1.34 times and leave running times as they "
        "are",
    ),
    rows_experiment(
        "table-5-scaling", "The same, of scaling alone", _pick(*SCALING_ROWS), table_5(*SCALING_ROWS),
        says="section 7: scaling alone improves queueing and JCT by 1.35 and 1.38 times; 7.4: AFS has 1.2 times Aryl's "
        "JCT",
    ),
    rows_experiment(
        "full-size", "Rows of Table 5 on clusters of the paper's size", _pick(*ARYL_ROWS),
        [*baseline(), *table_5(*ARYL_ROWS)], scale=PAPERS, says=IMPROVES,
    ),
    rows_experiment(
        "table-6", "Without special placement of elastic jobs",
        {
            "Basic, grouped": ARYL,
            "Basic, plain": Setting.of("aryl", placement="plain"),
            "Ideal, grouped": Setting.of("aryl", **IDEAL),
            "Ideal, plain": Setting.of("aryl", placement="plain", **IDEAL),
        },
        table_6(),
        says="section 7.2: without grouping preemptions rise by up to 113%, queueing and JCT by up to 10% and 20%",
    ),
    rows_experiment(
        "table-7", "Jobs on loaned servers", {"fifo": FIFO, "aryl": LOANS},
        [table_7("queueing", "delay", 1029 / 4573), TABLE_7_JCT], quick=QUICK_LOANS,
        says="section 7.3: the JCT improves mainly because jobs wait less",
    ),
    rows_experiment(
        "table-9", "Errors of predicted running times",
        {"fifo": FIFO, "0%": ARYL} | {f"{k}%": Setting.of("aryl", wrong_predictions=k / 100) for k in (20, 40, 60)},
        table_9(), says="section 7.5: the gain holds with less than 60% wrong predictions",
    ),
    rows_experiment("table-12", "Reclaiming by other orders", _pick("7 Loans, Algorithm 1"), TABLE_12),
    rows_experiment(
        "figure-7", "Use of loaned servers", {"without scaling": LOANS, "Basic": ARYL},
        [level("Figure 7", f"use of loaned servers, {k}", 0.93, k, USE_LOANED) for k in ("without scaling", "Basic")],
        says="section 7.3: loaned servers are always in use for more than 93%",
    ),
    rows_experiment(
        "figure-8", "Preemptions and collateral damage of reclaiming", _pick(*LOAN_ROWS), figure_8(), quick=QUICK_LOANS,
        says="section 7.3: Algorithm 1 has 1.5 and 1.67 times fewer preemptions than SCF and Random",
    ),
    rows_experiment(
        "flexible-group", "Reclaims met by flexible workers", _pick("2 Basic", "4 Ideal"), flexible_group(),
        says="section 7.2: servers with flexible workers alone meet 52.6% of what goes back, in Ideal 82.4%",
    ),
    rows_experiment(
        "figure-10", "Imperfect scaling",
        {
            "Basic": ARYL,
            "Basic, loss": Setting.of("aryl", scaling_loss=0.1),
            "Ideal": Setting.of("aryl", **IDEAL),
            "Ideal, loss": Setting.of("aryl", scaling_loss=0.1, **IDEAL),
        },
        [
            ratio("Figure 10", f"{row}: {what} with a loss, of that without", paper, f"{row}, loss", row, by)
            for row, what, paper, by in (
                ("Basic", "queueing", 1.04, WAIT), ("Basic", "JCT", 1.12, JCT), ("Ideal", "JCT", 1.19, JCT)
            )
        ],
        says="section 7.2: with a loss queueing and JCT are 4% and 12% higher, JCT 19% in Ideal",
    ),
    rows_experiment(
        "figure-13", "Shares of elastic jobs, all free of type",
        {"fifo": FIFO} | {f"{k}%": Setting.of("aryl", elastic_share=k / 100, any_gpu_share=1.0) for k in (20, 60, 100)},
        [
            ratio("Figures 13, 14", f"{row} elastic: JCT, of the baseline's", None, row, "fifo")
            for row in ("20%", "60%", "100%")
        ],
    ),
    *(loans("loans", "Loans without scaling", load, "fifo", "sjf") for load in LOADS),
    *(loans("scaling", "Loans with scaling", load, "fifo-two-phase", "sjf-two-phase") for load in LOADS),
    loans("equal", "Loaned GPUs as fast as the others", LOADS[-1], *PAIRS, loaned_speed=1.0),
    *(reclaiming(period, workers) for period in (1800, 3600) for workers in ("whole", "small")),
)  # fmt: skip
