"""Compare Eva's policies with a bound on every policy, with exact methods, and with every fixed D."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.canvas import save_all
from experiments.eva import grid
from experiments.eva.grid import FULL_TRACE, Grid, PolicyRuns, holds
from experiments.eva.pictures import horizons
from experiments.eva.tables import ONE, POLICIES
from experiments.harness.experiment import Claim, Context, Experiment
from experiments.harness.sample import Sample
from experiments.harness.task import HarnessTask
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounding, Bounds
from heuristics.eva.online_eva import Eva, EvaParameters
from instances import Instance
from instances.eva import EvaCloud
from instances.eva.cloud_arrays import SECONDS, cloud_arrays

TRACES: Mapping[str, Mapping[str, Any]] = {
    "200 jobs": {"limit": 200},
    "6,274 jobs, Gavel": {},
    "6,274 jobs, pods' lives": {"durations": "alibaba", "shuffle": 2},
}


def _workload(context: Context, label: str) -> Instance:
    said = dict(TRACES[label])
    return grid.sample(context, said.pop("limit", None), **said)


def _labels(context: Context) -> tuple[str, ...]:
    """Return the labels of the traces; a quick run omits the first, because its few jobs equal those of the second."""
    return tuple(TRACES)[1:] if context.quick else tuple(TRACES)


def _said(context: Context, label: str) -> str:
    return f"few of {label}" if context.quick else label


def _bounds() -> Experiment:
    runs = Grid(lambda context: {label: [_workload(context, label)] for label in _labels(context)}, POLICIES)

    def tasks(context: Context) -> list[HarnessTask[Any]]:
        bounds = [Bounding(_workload(context, label), ("any",), ({},), context.options) for label in _labels(context)]
        return [*runs.tasks(context), *bounds]

    def claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
        labels = _labels(context)
        bounds: list[Bounds] = list(outcomes[-len(labels) :])
        found = runs.runs(context, outcomes[: -len(labels)])
        made = []
        for label, proven in zip(labels, bounds, strict=True):
            (bound,) = proven.values
            assert bound is not None
            base = found.mean(label, "no-packing", grid.bill)
            gaps = {policy: 1 - bound / found.mean(label, policy, grid.bill) for policy in POLICIES}
            where = f"bound, {_said(context, label)}"
            note = "Eva is at 58% in the paper's Table 14, at 60% in Table 13"
            made.append(Claim(where, "of No-Packing's bill", None, round(bound / base, 4), "no figure", note))
            shown = ", ".join(f"{policy} {gap:.1%}" for policy, gap in gaps.items())
            made.append(
                holds(
                    where, "no policy is below it; gaps", "-", shown, min(gaps.values()) >= 0, note=f"{bound:,.2f} USD"
                )
            )
        return made

    return Experiment("bound", "A bound that no policy beats, and the policies' gaps", tasks, claims, (FULL_TRACE,))


SLICE = 200  # jobs of a slice of the trace, as in the artifact's own experiment
SLICES = range(0, 6_000, 600)  # The slices begin with these jobs, and overlap nowhere.
EXACT = ("eva-with-exact", "reconfiguration-exact")


PATIENT = "experiments.eva.patient:Patient"


def _slices(context: Context) -> list[Instance]:
    return [grid.sample(context, SLICE, first=first) for first in (SLICES[:1] if context.quick else SLICES)]


def _with_bounds(runs: Grid, context: Context) -> list[HarnessTask[Any]]:
    """The runs, and the bound of each workload."""
    workloads = chain(*runs.settings(context).values())
    return [*runs.tasks(context), *(Bounding(one, ("any",), ({},), context.options) for one in workloads)]


def _bounded(context: Context, runs: Grid, outcomes: Sequence[Any]) -> tuple[PolicyRuns, dict[str, list[float]]]:
    """The outcomes of `_with_bounds`: the runs, and the bounds by setting."""
    settings = runs.settings(context)
    number = sum(map(len, settings.values()))
    proven = iter(outcomes[-number:])
    bounds = {label: [next(proven).values[0] for _ in workloads] for label, workloads in settings.items()}
    return runs.runs(context, outcomes[:-number]), bounds


def _proven(run: Simulated) -> float:
    """Share of the decisions that are proven optimal."""
    return fmean(status == "optimal" for status in run.decisions["status"])


def _exact_in_the_loop() -> Experiment:
    """Eva, with the packer or the whole round solved to proof, on slices of the trace."""

    runs = Grid(lambda context: {ONE: _slices(context)}, ("no-packing", "eva", *EXACT))

    def claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
        found, bounds = _bounded(context, runs, outcomes)

        def measured(policy: str, what: str, values: Sequence[float], note: str = "") -> Claim:
            return Claim("exact in the loop", f"{policy}: {what}", None, None, "no figure", note, Sample.of(values))

        made = []
        for policy in ("eva", *EXACT):
            bills, jct = (found.each(ONE, policy, measure) for measure in (grid.bill, grid.jct_hours))
            gaps = [1 - bound / own for bound, own in zip(bounds[ONE], bills, strict=True)]
            made.append(measured(policy, "bill, of No-Packing's", found.shares(ONE, policy)))
            made.append(measured(policy, "bill above the bound, of the bill", gaps))
            made.append(measured(policy, "moves of a job", found.each(ONE, policy, grid.moves_a_job)))
            if policy != "eva":
                sooner = [1 - own / eva for own, eva in zip(jct, found.each(ONE, "eva", grid.jct_hours), strict=True)]
                below = [1 - share for share in found.shares(ONE, policy, "eva")]
                made.append(measured(policy, "bill below Eva's, of Eva's", below))
                made.append(measured(policy, "mean JCT below Eva's, of Eva's", sooner))
                made.append(measured(policy, "problems proven optimal", found.each(ONE, policy, _proven)))
        return made

    title = f"Eva with exact methods, on slices of {SLICE} jobs of the trace"
    return Experiment("exact-in-the-loop", title, partial(_with_bounds, runs), claims, (FULL_TRACE,))


def _starts(data: EvaCloud) -> float:
    """Return the cost in USD of fetching and starting every task once, alone on its cheapest type."""
    arrays = cloud_arrays(data)
    seconds = {c.name: c.fetch_seconds + c.init_seconds for c in data.classes}
    price = dict(zip(arrays.classes, arrays.reservation_price.tolist(), strict=True))
    return sum(k * seconds[name] * price[name] for job in data.jobs for name, k in job.tasks.items()) / SECONDS


def _patience() -> Experiment:
    """Build the experiment that limits the gain of a better bound: a clairvoyant policy compared with the bound."""

    def settings(context: Context) -> dict[str, list[Instance]]:
        whole = () if context.quick else _labels(context)[1:]
        return {ONE: _slices(context), **{label: [_workload(context, label)] for label in whole}}

    runs = Grid(settings, ("no-packing", PATIENT))

    def claims(context: Context, outcomes: Sequence[Any]) -> list[Claim]:
        found, bounds = _bounded(context, runs, outcomes)
        made = []
        for label, workloads in settings(context).items():
            bills = found.each(label, PATIENT, grid.bill)
            alone = zip(workloads, found.each(label, "no-packing", grid.bill), strict=True)
            measured = {
                "bill above the bound, of the bill": [1 - b / own for b, own in zip(bounds[label], bills, strict=True)],
                "bill, of No-Packing's": found.shares(label, PATIENT),
                "mean JCT, h": found.each(label, PATIENT, grid.jct_hours),
                "mean JCT of No-Packing, h": found.each(label, "no-packing", grid.jct_hours),
                "moves of a job": found.each(label, PATIENT, grid.moves_a_job),
                "first starts of all tasks, of No-Packing's bill": [_starts(one.data) / base for one, base in alone],
            }
            where = "patience" if label == ONE else f"patience, {label}"
            made += [
                Claim(where, f"patient: {what}", None, None, "no figure", "", Sample.of(values))
                for what, values in measured.items()
            ]
        return made

    title = f"What a better bound could gain at most, on slices of {SLICE} jobs of the trace and on all of it"
    return Experiment("patience", title, partial(_with_bounds, runs), claims, (FULL_TRACE,))


def lasting(seconds: float, data: EvaCloud) -> Eva:
    """The policy `eva` with a fixed D; 0 is Partial Reconfiguration alone."""
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
    runs = Grid(
        lambda context: {label: [_workload(context, label)] for label in _labels(context)},
        ("no-packing", "eva", *FIXED.values()),
    )

    def claims(context: Context, outcomes: Sequence[Simulated]) -> list[Claim]:
        found = runs.runs(context, outcomes)
        made = []
        for label in _labels(context):
            shares = {d: found.share(label, policy) for d, policy in FIXED.items()}
            best = min(shares, key=shares.__getitem__)
            own = found.share(label, "eva")
            above = own / shares[best] - 1
            shown = f"{own:.1%} of No-Packing's; best fixed {best}, {shares[best]:.1%}"
            what = "D-hat is near the best D (section 4.5)"
            made.append(holds(f"D, {_said(context, label)}", what, "adapts", shown, above < 0.02, nearly=above < 0.04))
        return made

    def draw(path: Path, context: Context, outcomes: Sequence[Simulated]) -> None:
        found = runs.runs(context, outcomes)
        shares = {
            label: ({d: found.share(label, policy) for d, policy in FIXED.items()}, found.share(label, "eva"))
            for label in _labels(context)
        }
        save_all(horizons(shares), path)

    return Experiment("horizon", "How long a configuration lasts: D fixed", runs.tasks, claims, (FULL_TRACE,), draw)


LIMITS = (_bounds(), _exact_in_the_loop(), _patience(), _horizons())
