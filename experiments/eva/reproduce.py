"""Eva's tables and figures of simulations, with claims in the paper's words, and our own comparisons with bounds.

The text of section 6 has no numbers for its curves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.canvas import save_all
from experiments.eva import grid
from experiments.eva.grid import (
    AS_ARTIFACT,
    FULL_TRACE,
    POINTS,
    Grid,
    PolicyRuns,
    Settings,
    claim_min,
    format_range,
    holds,
)
from experiments.eva.pictures import horizons, swept, uptimes
from experiments.eva.tables import ONE, POLICIES, TABLES, seeds
from experiments.harness.experiment import Claim, Context, Experiment
from experiments.harness.sample import Sample
from experiments.harness.task import HarnessTask
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounding
from heuristics.eva.online_eva import Eva, EvaParameters
from instances import Instance
from instances.eva import EvaCloud
from instances.eva.cloud_arrays import SECONDS, cloud_arrays

JOBS = 500  # jobs of each slice of the trace: they show the shapes, not the figures, of its 6,274 jobs
FIRSTS = range(0, 5_740, 577)  # The slices begin with these jobs and do not overlap.
ON = f"slices of {JOBS} jobs of the trace, Gavel's durations"
ON_ALL = "all 6,274 jobs of the trace, Gavel's durations; one run a rate"
FULL_ALONE = "eva-without-partial"
PACKING = ("stratus", "synergy", "owl", "eva")
Claims = Callable[[PolicyRuns], Sequence[Claim]]
Panels = Mapping[str, Callable[[PolicyRuns, str], list[float]]]
"""The measures of a figure: each maps the runs and a policy to a value per setting."""
BILL: Panels = {"bill, of No-Packing's": lambda found, policy: found.shares_line(policy)}


def _swept(
    name: str, title: str, axis: str, values: Mapping[str, Mapping[str, Any]], policies: tuple[str, ...],
    claims: Claims, panels: Panels = BILL, *, whole: bool = False,
) -> Experiment:  # fmt: skip
    """Return an experiment over settings of slices of a trace, or of the `whole`; in the picture, a line a policy."""
    jobs, firsts = (None, (0,)) if whole else (JOBS, FIRSTS)
    runs = Grid(
        lambda context: {
            label: [
                grid.sample(context, jobs, **({} if "slowdown" in said else AS_ARTIFACT), **said, first=first)
                for first in (firsts[:1] if context.quick else firsts)
            ]
            for label, said in values.items()
        },
        policies,
    )

    def draw(path: Path, context: Context, outcomes: Sequence[Simulated]) -> None:
        found = runs.runs(context, outcomes)
        lines = {what: {policy: line(found, policy) for policy in policies} for what, line in panels.items()}
        save_all(swept(lines, values, axis), path)

    def make_claims(context: Context, outcomes: Sequence[Simulated]) -> Sequence[Claim]:
        on = f"the first {grid.QUICK_JOBS} jobs of the trace" if context.quick else ON_ALL if whole else ON
        found = claims(runs.runs(context, outcomes))
        return [replace(claim, note="; ".join(filter(None, (claim.note, on)))) for claim in found]

    return Experiment(name, title, runs.tasks, make_claims, (FULL_TRACE,), draw)


def _less(line: Sequence[float]) -> list[float]:
    """Return the savings, given the shares of another policy's bill."""
    return [1 - share for share in line]


def _figure_4(found: PolicyRuns) -> list[Claim]:
    where, rp, tnrp = "Figure 4", "eva-without-throughput", "eva"
    jct, bills = found.lines(rp, grid.jct_hours), found.shares_lines(rp)
    fast = zip(found.lines(tnrp, grid.throughput), found.lines("owl", grid.throughput), strict=True)
    apart = [min(own - owl for own, owl in zip(*both, strict=True)) for both in fast]
    below = [_less(line) for line in found.shares_lines(tnrp, "owl")]
    each = [max(found.line(policy, grid.tasks_of_all)) for policy in ("owl", tnrp)]
    share = found.shares_line(rp)
    return [
        claim_min(
            where,
            "Eva-RP: JCT at 0.8 over JCT at 1, less 1",
            "rises",
            [line[-1] / line[0] - 1 for line in jct],
            0.05,
            nearly=0.0,
            note=f"{jct[0][0]:.1f} to {jct[0][-1]:.1f} h on the first slice",
        ),
        claim_min(
            where,
            "Eva-RP: bill at 0.8 less bill at 1, of No-Packing's",
            "rises",
            [line[-1] - line[0] for line in bills],
            0.05,
            nearly=0.0,
            note=f"{share[0]:.1%} to {share[-1]:.1%}",
        ),
        claim_min(
            where,
            "Eva-TNRP: throughput less Owl's, where it is least",
            "similar",
            apart,
            -0.03,
            nearly=-0.06,
            note=f"Owl puts two tasks at most together, {each[0]:.2f} an instance, Eva {each[1]:.2f}, and tries "
            "pairs that it believes in at 0.95; figure-4-known has them known",
        ),
        claim_min(
            where,
            "Eva-TNRP: bill below Owl's, where it is least so",
            "lower",
            [min(line) for line in below],
            0.0,
            note=format_range([1 - one for one in found.shares_line(tnrp, "owl")]),
        ),
        claim_min(
            where,
            "Eva-TNRP: bill at 0.8 below No-Packing's",
            "no more, in the extreme the same",
            [1 - line[-1] for line in found.shares_lines(tnrp)],
            -0.001,
        ),
    ]


def _figure_4_known(found: PolicyRuns) -> list[Claim]:
    where = "Figure 4, pairs known"
    fast = zip(found.lines("eva", grid.throughput), found.lines("owl", grid.throughput), strict=True)
    apart = [min(own - owl for own, owl in zip(*both, strict=True)) for both in fast]
    moves, each = found.line("eva", grid.moves_a_job), found.line("eva", grid.tasks_of_all)
    shown = f"moves of a job {min(moves):.2f} to {max(moves):.2f}; tasks an instance {min(each):.2f} to {max(each):.2f}"
    return [
        claim_min(where, "Eva-TNRP: throughput less Owl's, where it is least", "similar", apart, -0.03, nearly=-0.06,
                  note=f"what is left is of larger sets than Owl's pairs; {shown}"),
        claim_min(where, "Eva-TNRP: bill below Owl's, where it is least so", "lower",
                  [1 - max(line) for line in found.shares_lines("eva", "owl")], 0.0,
                  note=format_range([1 - one for one in found.shares_line("eva", "owl")])),
    ]  # fmt: skip


def _figure_5(found: PolicyRuns) -> list[Claim]:
    where = "Figure 5"
    full, moves = found.lines("eva", grid.full_share), found.lines("eva", grid.moves_a_job)
    flat = found.shares_lines("stratus")
    below = [_less(line) for line in found.shares_lines("eva", "stratus")]
    return [
        claim_min(where, "share of rounds that are Full: 12% less the greatest", "less than 12%",
                  [0.12 - max(line) for line in full], 0.0, nearly=-0.02,
                  note=format_range(found.line("eva", grid.full_share))),
        claim_min(where, "share of rounds that are Full, at delays x1 less at x8", "falling",
                  [line[0] - line[-1] for line in full], 0.0),
        claim_min(where, "moves of a job, at delays x1 less at x8", "fall", [line[0] - line[-1] for line in moves], 0.0,
                  note=", ".join(f"{one:.1f}" for one in found.line("eva", grid.moves_a_job))),
        claim_min(where, "Stratus: its shares of No-Packing's bill are apart by, taken negative", "unaffected",
                  [min(line) - max(line) for line in flat], -0.02, nearly=-0.05,
                  note=format_range(found.shares_line("stratus"))),
        claim_min(where, "Eva: bill below Stratus's, where it is least so", "large at all delays",
                  [min(line) for line in below], 0.05, nearly=0.0),
    ]  # fmt: skip


def _figure_5_full(found: PolicyRuns) -> list[Claim]:
    where = "Figure 5, Full alone"
    alone = [[share - 1 for share in line] for line in found.shares_lines(FULL_ALONE, "eva")]
    mean = [share - 1 for share in found.shares_line(FULL_ALONE, "eva")]
    return [
        claim_min(where, "bill above Eva's, where it is least so", "noticeably", [min(line) for line in alone], 0.02,
                  nearly=0.0, note=", ".join(f"{one:.1%}" for one in mean)),
        claim_min(where, "bill above Eva's, at delays x4 less at x1", "growing", [line[-1] - line[0] for line in alone],
                  0.0),
        Claim(where, "bill above Eva's, at delays x8", "most noticeably", None, "not run",
              "on some slices no run would end: two instances of a type exchange their jobs in every round"),
    ]  # fmt: skip


def _figure_6(found: PolicyRuns) -> list[Claim]:
    where = "Figure 6"
    without = [max(share - 1 for share in line) for line in found.shares_lines("eva-without-full", "eva")]
    bills = found.shares_lines("eva")
    return [
        _below(where, found, ("stratus", "synergy"), 0.1, 0.15),
        grid.claim_within(where, "Eva without Full: bill above Eva's, at most", 0.08, Sample.of(without), by=0.05),
        claim_min(where, "Eva: bill of No-Packing's, at 60% less at none", "rises",
                  [line[-1] - line[0] for line in bills], 0.0, note=format_range(found.shares_line("eva"))),
    ]  # fmt: skip


def _figure_7(found: PolicyRuns) -> list[Claim]:
    single = [max(share - 1 for share in line) for line in found.shares_lines("eva-single", "eva")]
    return [
        _below("Figure 7", found, ("stratus", "synergy", "owl"), 0.1, 0.37),
        grid.claim_within("Figure 7", "Eva-Single: bill above Eva's, at most", 0.13, Sample.of(single), by=0.08),
    ]


def _figure_8(found: PolicyRuns) -> list[Claim]:
    where = "Figure 8"
    return [
        _below(where, found, ("stratus", "synergy", "owl"), 0.1, 0.16),
        *(
            claim_min(where, f"{policy}: bill of No-Packing's, at arrivals x0.5 less at x3", "falls",
                      [line[0] - line[-1] for line in found.shares_lines(policy)], 0.0,
                      note=format_range(found.shares_line(policy)))
            for policy in PACKING
        ),
    ]  # fmt: skip


def _below(where: str, found: PolicyRuns, others: Sequence[str], low: float, high: float) -> Claim:
    """Compare Eva's saving over other policies at all settings with the paper's range, within 3 percentage points.

    The claim is near if Eva's bill is lower, but the saving is outside the range. The sample is of the smallest saving.
    """
    lines = zip(*(found.shares_lines("eva", other) for other in others), strict=True)
    least = Sample.of([1 - max(share for line in draw for share in line) for draw in lines])
    mean = [1 - share for other in others for share in found.shares_line("eva", other)]
    what = f"Eva: bill below that of {', '.join(others)}; least of all"
    inside = low - POINTS <= min(mean) and max(mean) <= high + POINTS
    claim = holds(where, what, f"{low:.0%} to {high:.0%}", "", inside, nearly=least.mean > 0)
    claim = replace(claim, ours=round(least.mean, 4), sample=least, note=f"means {format_range(mean)}")
    return claim if grid.speaks(least, 0.0) else claim.when_cut()


def _uptimes() -> Experiment:
    """Build the experiment of Figure 3: the uptimes of instances."""
    policies = ("no-packing", "stratus", "eva")
    runs = Grid(partial(seeds, 120), policies)

    def hours(found: PolicyRuns, policy: str) -> list[float]:
        return sorted(seconds / grid.HOUR for run in found.found[ONE, policy] for seconds in run.lives["seconds"])

    def claims(context: Context, outcomes: Sequence[Simulated]) -> list[Claim]:
        found = runs.runs(context, outcomes)
        median = {policy: float(np.median(hours(found, policy))) for policy in policies}
        mean = {policy: float(np.mean(hours(found, policy))) for policy in policies}
        shown = ", ".join(f"{policy} {median[policy]:.2f}" for policy in policies)
        shorter = median["eva"] < min(median["no-packing"], median["stratus"])
        nearly = mean["eva"] < mean["stratus"]
        what = "Eva's instances are up for less time; medians, h"
        note = "simulated, 10 seeds; means " + ", ".join(f"{policy} {mean[policy]:.2f}" for policy in policies)
        return [holds("Figure 3", what, "shorter", shown, shorter, nearly=nearly, note=note)]

    def draw(path: Path, context: Context, outcomes: Sequence[Simulated]) -> None:
        found = runs.runs(context, outcomes)
        save_all(uptimes({policy: hours(found, policy) for policy in policies}), path)

    return Experiment("figure-3", "Figure 3: uptimes of instances, 120 jobs, simulated", runs.tasks, claims, (), draw)


def _values(option: str, values: Sequence[float]) -> dict[str, dict[str, float]]:
    return {f"{value:g}": {option: value} for value in values}


FIGURES = (
    _uptimes(),
    _swept(
        "figure-4", "Figure 4: co-location interference", "throughput of a pair",
        _values("slowdown", (1.0, 0.95, 0.9, 0.85, 0.8)), ("no-packing", "owl", "eva-without-throughput", "eva"),
        _figure_4,
        {
            **BILL,
            "throughput of a job": lambda found, policy: found.line(policy, grid.throughput),
            "mean JCT, h": lambda found, policy: found.line(policy, grid.jct_hours),
        },
    ),
    _swept(
        "figure-4-known", "Figure 4 with what pairs cost known from the start, and not learned from 0.95",
        "throughput of a pair",
        {f"{value:g}": {"slowdown": value, "believed": value} for value in (0.95, 0.9, 0.85, 0.8)},
        ("no-packing", "owl", "eva"), _figure_4_known,
        {**BILL, "throughput of a job": lambda found, policy: found.line(policy, grid.throughput)},
    ),
    _swept(
        "figure-5", "Figure 5: migration overhead", "delays of jobs, multiplied",
        _values("delay_factor", (1.0, 2.0, 4.0, 8.0)), ("no-packing", "stratus", "eva"), _figure_5,
        {**BILL, "moves of a job": lambda found, policy: found.line(policy, grid.moves_a_job)},
    ),
    _swept(
        "figure-5-full", "Figure 5: Full Reconfiguration alone", "delays of jobs, multiplied",
        _values("delay_factor", (1.0, 2.0, 4.0)), ("no-packing", FULL_ALONE, "eva"), _figure_5_full,
    ),
    _swept(
        "figure-6", "Figure 6: jobs with several GPUs", "share of the jobs that have several GPUs",
        _values("multi_gpu", (0.0, 0.2, 0.4, 0.6)),
        ("no-packing", "stratus", "synergy", "owl", "eva-without-full", "eva"), _figure_6,
    ),
    _swept(
        "figure-7", "Figure 7: jobs with several tasks", "share of the jobs that have several tasks",
        _values("multi_task", (0.0, 0.2, 0.4, 0.6)),
        ("no-packing", "stratus", "synergy", "owl", "eva-single", "eva"), _figure_7,
    ),
    _swept(
        "figure-8", "Figure 8: arrival rate", "arrivals, multiplied", _values("arrival_rate", (0.5, 1.0, 2.0, 3.0)),
        ("no-packing", *PACKING), _figure_8, whole=True,
    ),
)  # fmt: skip


TRACES: Mapping[str, Mapping[str, Any]] = {
    "200 jobs": {"jobs": 200},
    "6,274 jobs, Gavel": {"jobs": None},
    "6,274 jobs, pods' lives": {"jobs": None, "durations": "alibaba", "shuffle": 2},
}
SLICE = 200  # jobs of a slice of the trace, as in the artifact's own experiment
SLICES = range(0, 6_000, 600)  # The slices begin with these jobs, and overlap nowhere.
EXACT = ("eva-with-exact", "reconfiguration-exact")
PATIENT = "experiments.eva.patient:Patient"


def _traces(context: Context) -> dict[str, list[Instance]]:
    """Return the traces; a quick run omits the first, because its few jobs equal those of the second."""
    labels = list(TRACES)[1:] if context.quick else TRACES
    return {label: [grid.sample(context, **TRACES[label])] for label in labels}


def _slices(context: Context) -> dict[str, list[Instance]]:
    firsts = SLICES[:1] if context.quick else SLICES
    return {ONE: [grid.sample(context, SLICE, first=first) for first in firsts]}


def _label_runs(context: Context, label: str) -> str:
    return f"few of {label}" if context.quick else label


def _build_bounded(
    name: str, title: str, settings: Callable[[Context], Settings], policies: tuple[str, ...],
    claims: Callable[[Context, PolicyRuns, Mapping[str, list[float]]], list[Claim]],
) -> Experiment:  # fmt: skip
    """Return an experiment whose claims take the runs, and the bound on any policy's bill of each workload."""
    runs = Grid(settings, policies)

    def tasks(context: Context) -> list[HarnessTask[Any]]:
        workloads = [one for some in settings(context).values() for one in some]
        return [*runs.tasks(context), *(Bounding(one, ("any",), ({},), context.options) for one in workloads)]

    def make_claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
        drawn = settings(context)
        number = sum(map(len, drawn.values()))
        proven = iter(outcomes[-number:])
        bounds = {label: [next(proven).values[0] for _ in workloads] for label, workloads in drawn.items()}
        return claims(context, runs.runs(context, outcomes[:-number]), bounds)

    return Experiment(name, title, tasks, make_claims, (FULL_TRACE,))


def _gaps(bounds: Sequence[float], bills: Sequence[float]) -> list[float]:
    return [1 - bound / bill for bound, bill in zip(bounds, bills, strict=True)]


def _list_unpublished(where: str, policy: str, measured: Mapping[str, Sequence[float]]) -> list[Claim]:
    """Return claims without a figure of the paper."""
    return [
        Claim(where, f"{policy}: {what}", None, None, "no figure", "", Sample.of(values))
        for what, values in measured.items()
    ]


def _bounds(context: Context, found: PolicyRuns, bounds: Mapping[str, list[float]]) -> list[Claim]:
    made = []
    for label, (bound,) in bounds.items():
        base = found.mean(label, "no-packing", grid.bill)
        gaps = {policy: 1 - bound / found.mean(label, policy, grid.bill) for policy in POLICIES}
        shown = ", ".join(f"{policy} {gap:.1%}" for policy, gap in gaps.items())
        where, note = (
            f"bound, {_label_runs(context, label)}",
            "Eva is at 58% in the paper's Table 14, at 60% in Table 13",
        )
        what, below = "no policy is below it; gaps", min(gaps.values()) >= 0
        made += [
            Claim(where, "of No-Packing's bill", None, round(bound / base, 4), "no figure", note),
            holds(where, what, "-", shown, below, note=f"{bound:,.2f} USD"),
        ]
    return made


def _exact_in_the_loop(context: Context, found: PolicyRuns, bounds: Mapping[str, list[float]]) -> list[Claim]:
    """Compare Eva with the packer or the whole round solved to proof."""
    made = []
    for policy in ("eva", *EXACT):
        measured = {
            "bill, of No-Packing's": found.shares(ONE, policy),
            "bill above the bound, of the bill": _gaps(bounds[ONE], found.measure_draws(ONE, policy, grid.bill)),
            "moves of a job": found.measure_draws(ONE, policy, grid.moves_a_job),
        }
        if policy != "eva":
            jct, of_eva = (found.measure_draws(ONE, name, grid.jct_hours) for name in (policy, "eva"))
            measured |= {
                "bill below Eva's, of Eva's": _less(found.shares(ONE, policy, "eva")),
                "mean JCT below Eva's, of Eva's": [1 - own / eva for own, eva in zip(jct, of_eva, strict=True)],
                "problems proven optimal": found.measure_draws(ONE, policy, grid.proven_share),
            }
        made += _list_unpublished("exact in the loop", policy, measured)
    return made


def _starts(data: EvaCloud) -> float:
    """Return the cost in USD of fetching and starting every task once, alone on its cheapest type."""
    arrays = cloud_arrays(data)
    seconds = {c.name: c.fetch_seconds + c.init_seconds for c in data.classes}
    price = dict(zip(arrays.classes, arrays.reservation_price.tolist(), strict=True))
    return sum(k * seconds[name] * price[name] for job in data.jobs for name, k in job.tasks.items()) / SECONDS


def _patient_settings(context: Context) -> dict[str, list[Instance]]:
    return _slices(context) | ({} if context.quick else dict(list(_traces(context).items())[1:]))


def _patience(context: Context, found: PolicyRuns, bounds: Mapping[str, list[float]]) -> list[Claim]:
    """Limit the gain of a better bound: a clairvoyant policy compared with the bound."""
    made = []
    for label, workloads in _patient_settings(context).items():
        alone = zip(workloads, found.measure_draws(label, "no-packing", grid.bill), strict=True)
        measured = {
            "bill above the bound, of the bill": _gaps(bounds[label], found.measure_draws(label, PATIENT, grid.bill)),
            "bill, of No-Packing's": found.shares(label, PATIENT),
            "mean JCT, h": found.measure_draws(label, PATIENT, grid.jct_hours),
            "mean JCT of No-Packing, h": found.measure_draws(label, "no-packing", grid.jct_hours),
            "moves of a job": found.measure_draws(label, PATIENT, grid.moves_a_job),
            "first starts of all tasks, of No-Packing's bill": [_starts(one.data) / base for one, base in alone],
        }
        made += _list_unpublished("patience" if label == ONE else f"patience, {label}", "patient", measured)
    return made


def lasting(seconds: float, data: EvaCloud) -> Eva:
    """Return the policy `eva` with a fixed D; 0 is Partial Reconfiguration alone."""
    return Eva(data, EvaParameters(horizon_seconds=seconds))


never = partial(lasting, 0.0)
minutes_5 = partial(lasting, 300.0)
minutes_15 = partial(lasting, 900.0)
minutes_30 = partial(lasting, 1_800.0)
hours_1 = partial(lasting, 3_600.0)
hours_2 = partial(lasting, 7_200.0)
hours_4 = partial(lasting, 14_400.0)
hours_8 = partial(lasting, 28_800.0)
hours_24 = partial(lasting, 86_400.0)
ever = partial(lasting, 1e12)  # s; infinite promises could not be compared
HORIZONS = {
    "0": "never",
    "5 min": "minutes_5",
    "15 min": "minutes_15",
    "30 min": "minutes_30",
    "1 h": "hours_1",
    "2 h": "hours_2",
    "4 h": "hours_4",
    "8 h": "hours_8",
    "24 h": "hours_24",
    "infinite": "ever",
}
"""How long, and the name of the policy in this module."""
FIXED = {label: f"{__name__}:{name}" for label, name in HORIZONS.items()}


def _horizons() -> Experiment:
    runs = Grid(_traces, ("no-packing", "eva", *FIXED.values()))

    def shares(context: Context, outcomes: Sequence[Simulated]) -> dict[str, tuple[dict[str, float], float]]:
        """Return the bills for each fixed D and for Eva's own, of No-Packing's, by trace."""
        found = runs.runs(context, outcomes)
        return {
            label: ({d: found.share(label, policy) for d, policy in FIXED.items()}, found.share(label, "eva"))
            for label in found.settings
        }

    def claims(context: Context, outcomes: Sequence[Simulated]) -> list[Claim]:
        made = []
        for label, (fixed, own) in shares(context, outcomes).items():
            best = min(fixed, key=fixed.__getitem__)
            above, where = own / fixed[best] - 1, f"D, {_label_runs(context, label)}"
            shown = f"{own:.1%} of No-Packing's; best fixed {best}, {fixed[best]:.1%}"
            what = "D-hat is near the best D (section 4.5)"
            made.append(holds(where, what, "adapts", shown, above < 0.02, nearly=above < 0.04))
        return made

    def draw(path: Path, context: Context, outcomes: Sequence[Simulated]) -> None:
        save_all(horizons(shares(context, outcomes)), path)

    return Experiment("horizon", "How long a configuration lasts: D fixed", runs.tasks, claims, (FULL_TRACE,), draw)


EXPERIMENTS = (
    *TABLES,
    *FIGURES,
    _build_bounded("bound", "A bound that no policy beats, and the policies' gaps", _traces, POLICIES, _bounds),
    _build_bounded(
        "exact-in-the-loop", f"Eva with exact methods, on slices of {SLICE} jobs of the trace",
        _slices, ("no-packing", "eva", *EXACT), _exact_in_the_loop,
    ),
    _build_bounded(
        "patience", f"What a better bound could gain at most, on slices of {SLICE} jobs of the trace and on all of it",
        _patient_settings, ("no-packing", PATIENT), _patience,
    ),
    _horizons(),
)  # fmt: skip
