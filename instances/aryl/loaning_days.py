"""Generate workloads of days on a training cluster that borrows inference servers, with the moments of Aryl's trace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from instances.arrays import BoolArray, FloatArray
from instances.aryl.loaning import ArylLoaning, InferenceLoad
from instances.aryl.populations import HOUR, Bursts, JobPopulation, Moments
from instances.envelope import Instance
from instances.errors import InputError
from instances.fields import LONGEST_DAYS, refuse_outside, refuse_seed, refuse_too_many, refuse_unless_positive
from instances.validation import validate

CLUSTERS = (443, 520)  # training and inference servers of the paper
GPUS = 8
ELASTIC_GPUS = 2  # of a worker of an elastic job (Figure 3)
LEAST_WIDTH = 16  # GPUs of a job that every cluster allows: with fewer, no jobs have the paper's means
RUN_OUT_DAYS = 7.0  # of inference load after the last day of arrivals; then all servers go back
Workers = Literal["whole", "small"]


def loaning_days(
    days: float,
    seed: int,
    *,
    trace: Path | None = None,
    training_servers: int = 17,
    load: float = 0.78,
    bursts: float = 0.5,
    loaned_speed: float = 1 / 3,
    loaned_workers: Literal["slow", "wide"] = "slow",
    orchestrator_period_seconds: float = 1800.0,
    scheduling_period_seconds: float = 60.0,
    headroom: float = 0.02,
    elastic_share: float = 0.05,
    scaling_range: int = 2,
    scaling_loss: float = 0.0,
    any_gpu_share: float = 0.21,
    heterogeneous_share: float = 0.0,
    heterogeneous_speed: float = 0.7,
    checkpointed_share: float = 0.5,
    preemption_seconds: float = 63.0,
    wrong_predictions: float = 0.0,
    placement: Literal["grouped", "plain"] = "grouped",
    workers: Workers = "whole",
) -> Instance[ArylLoaning]:
    """Draw a workload of `days` days with the means of the paper's jobs (`Moments`), on clusters of the paper's ratio.

    Jobs are drawn with replacement from a trace, or from a distribution, with weights that give them the paper's means;
    5% are long and wide, and hold 36% of what is held: they are the first to be elastic. The same seed has the same
    jobs whatever the shares are. They arrive by the hours of the day and in bursts. The load and half of Philly's
    bursts are those under which strict FIFO on the paper's clusters has its use (0.72) and mean queueing (3,072 s):
    over ten seeds 0.72 and 3,168 s with Philly's jobs. The inference load has the shape of Figure 1, and goes on for a
    week after.

    - `days`: days within which jobs arrive.
    - `seed`: seed of all draws.
    - `trace`: a CSV file with `submit_s`, `duration_s` and `gpus`, as Philly's.
    - `training_servers`: servers of 8 GPUs; 443 in the paper.
    - `load`: GPU time that the jobs need on their base demand, as a share of that of the training cluster.
    - `bursts`: strength of the daily and hourly peaks (`Bursts`): 1 as in Philly's trace, 0 none.
    - `loaned_speed`: speed of a loaned GPU; 1 is a training GPU's.
    - `loaned_workers`: workers on loaned servers are slow, or have more GPUs.
    - `orchestrator_period_seconds`: seconds between decisions to lend.
    - `scheduling_period_seconds`: seconds between decisions to start jobs; 0: at events.
    - `headroom`: share of the inference servers that is never lent.
    - `elastic_share`: share of jobs that scale.
    - `scaling_range`: ratio of the maximum to the minimum number of workers of an elastic job.
    - `scaling_loss`: efficiency that each worker beyond the middle of the range loses.
    - `any_gpu_share`: share of jobs that may run on loaned servers; elastic ones all may.
    - `heterogeneous_share`: share of jobs that may run on both kinds at once.
    - `heterogeneous_speed`: speed of jobs that use both kinds at once, as a share of the ideal.
    - `checkpointed_share`: share of jobs that keep their progress when they are preempted.
    - `preemption_seconds`: cost of a preemption in addition to the lost progress, in seconds.
    - `wrong_predictions`: share of jobs whose running time is believed to be up to a quarter more or less than it is.
    - `placement`: placement of elastic jobs.
    - `workers`: `whole`, workers of inelastic jobs have as many GPUs as a server can give them, or `small`, one each.

    Raises InputError for a number out of range, a trace that cannot be read, or where no job arrives.
    """
    refuse_seed(seed)
    refuse_unless_positive("days", days, LONGEST_DAYS)
    refuse_unless_positive("training_servers", training_servers)
    refuse_unless_positive("load", load)
    shares = {
        "elastic_share": elastic_share,
        "any_gpu_share": any_gpu_share,
        "heterogeneous_share": heterogeneous_share,
        "checkpointed_share": checkpointed_share,
        "wrong_predictions": wrong_predictions,
    }
    for name, value in shares.items():
        refuse_outside(name, value, 0, 1)
    refuse_outside("scaling_range", scaling_range, 1)
    refuse_outside("bursts", bursts, 0)
    moments = Moments()
    expected = load * training_servers * GPUS * days * 24 * HOUR / moments.gpu_seconds
    refuse_too_many("load", expected)
    pool = JobPopulation.draw_default() if trace is None else JobPopulation.from_trace(trace)
    pool = pool.up_to(max(LEAST_WIDTH, training_servers * GPUS // 4))
    rng = np.random.default_rng(seed)
    n = round(expected)
    if n < 1:
        raise InputError(f"load: no job arrives in {days:g} days at a load of {load:g}")
    seconds, gpus, long = _draw(pool, moments, n, rng)
    arrivals = _arrivals(pool, n, days, bursts, rng)
    chance: dict[str, FloatArray] = {name: rng.random(n) for name in ("elastic", *shares)}
    error = rng.uniform(-0.25, 0.25, n)
    elastic = _chosen(long, elastic_share, moments.elastic_jobs, chance["elastic"])
    rest = max(0.0, any_gpu_share - elastic_share) / max(1e-9, 1 - elastic_share)
    any_gpu = elastic | (chance["any_gpu_share"] < rest)
    jobs = []
    for i in range(n):
        held = int(gpus[i])
        own = _gpus_per_worker(held, bool(elastic[i]), workers)
        least = held // own
        time = float(np.round(seconds[i], 3)) / (scaling_range if elastic[i] else 1)
        wrong = chance["wrong_predictions"][i] < wrong_predictions
        jobs.append(
            {
                "id": f"j{i}",
                "arrival_seconds": float(arrivals[i]),
                "min_workers": least,
                "max_workers": least * (scaling_range if elastic[i] else 1),
                "gpus_per_worker": own,
                "min_running_time": time,
                "any_gpu": bool(any_gpu[i]),
                "heterogeneous": bool(chance["heterogeneous_share"][i] < heterogeneous_share),
                "checkpointed": bool(chance["checkpointed_share"][i] < checkpointed_share),
                "predicted_running_time": float(np.round(time * (1 + error[i]), 3) + 1e-3) if wrong else None,
            }
        )
    content: dict[str, Any] = {
        "training_servers": training_servers,
        "inference_servers": round(training_servers * CLUSTERS[1] / CLUSTERS[0]),
        "gpus_per_server": GPUS,
        "loaned_speed": loaned_speed,
        "loaned_workers": loaned_workers,
        "inference_load": inference_load(math.ceil(days) + RUN_OUT_DAYS, rng),
        "headroom": headroom,
        "orchestrator_period_seconds": orchestrator_period_seconds,
        "scheduling_period_seconds": scheduling_period_seconds,
        "preemption_seconds": preemption_seconds,
        "scaling_loss": scaling_loss,
        "heterogeneous_speed": heterogeneous_speed,
        "placement": placement,
        "jobs": jobs,
    }
    what = "drawn" if trace is None else trace.name
    source = f"loaning_days({days:g}, seed {seed}): jobs {what}, load {load:g} of {training_servers} training servers"
    return Instance.of(validate(ArylLoaning, content), f"aryl-loaning-{days:g}d-seed-{seed}", source)


def _draw(
    pool: JobPopulation, moments: Moments, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Draw seconds and GPUs of `n` jobs, and return which of them are long and wide jobs, the first ones to scale."""
    long = rng.random(n) < moments.elastic_jobs
    elastic, others = pool.mix(moments)
    places, wide = (rng.choice(len(pool.gpus), n, p=weights) for weights in (others, elastic))
    chosen = np.where(long, wide, places)
    return pool.seconds[chosen], pool.gpus[chosen], long


def _arrivals(pool: JobPopulation, n: int, days: float, bursts: float, rng: np.random.Generator) -> FloatArray:
    """Draw sorted arrivals in integer seconds, by the hours of the day and with bursts."""
    hours = np.arange(math.ceil(days * 24))
    length = np.minimum(1.0, days * 24 - hours)
    weights = pool.hours[hours % 24] * length * Bursts().factors(len(hours), bursts, rng)
    hour = rng.choice(hours, n, p=weights / weights.sum())
    return np.sort(np.floor((hour + rng.random(n) * length[hour]) * HOUR))


def _chosen(long: BoolArray, share: float, longs: float, chance: FloatArray) -> BoolArray:
    """Return which jobs belong to a share of the jobs, long ones first."""
    if share <= longs:
        return long & (chance < share / longs)
    return long | (chance < (share - longs) / (1 - longs))


def _gpus_per_worker(gpus: int, elastic: bool, workers: Workers) -> int:
    """Return the GPUs of a worker of a job that holds `gpus`, a divisor of this number."""
    if elastic:
        return ELASTIC_GPUS if gpus % ELASTIC_GPUS == 0 else 1
    return 1 if workers == "small" else max(d for d in range(1, GPUS + 1) if gpus % d == 0)


DAY_S = 86_400.0
DAY = (
    (0, 0.80),
    (3, 0.49),
    (5, 0.43),
    (8, 0.52),
    (10, 0.61),
    (12, 0.66),
    (14, 0.65),
    (16, 0.64),
    (18, 0.71),
    (20, 0.94),
    (22, 0.95),
    (23.5, 0.92),
    (24, 0.80),
)
"""Hour and share of inference servers in use, with the trough, the peak, its length and the mean of Figure 1."""


@dataclass(frozen=True)
class Noise:
    """The deviation of a day from that of Figure 1, as shares of the servers.

    - `step_sd`, `memory`: the standard deviation of noise per step, and its correlation over one step. The paper shows
      spikes without figures.
    - `day_sd`: the standard deviation of daily noise.
    """

    step_sd: float = 0.012
    memory: float = 0.9
    day_sd: float = 0.02


def inference_load(
    days: float, rng: np.random.Generator, *, step_seconds: float = 300.0, noise: Noise = Noise()
) -> InferenceLoad:
    """Draw an inference load of `days` days from midnight on."""
    from scipy.interpolate import PchipInterpolator  # slow to import, and only needed to draw a load
    from scipy.signal import lfilter

    hours, use = zip(*DAY, strict=True)
    times = np.arange(math.ceil(days * DAY_S / step_seconds)) * step_seconds
    shocks = rng.standard_normal(len(times)) * noise.step_sd * math.sqrt(1 - noise.memory**2)
    offsets = rng.standard_normal(math.ceil(days)) * noise.day_sd
    smooth = PchipInterpolator(hours, use)(times / 3600 % 24)
    noisy = smooth + lfilter([1.0], [1.0, -noise.memory], shocks) + offsets[(times // DAY_S).astype(int)]
    return InferenceLoad(step_seconds=step_seconds, use=tuple(np.round(noisy.clip(0, 1), 4).tolist()))
