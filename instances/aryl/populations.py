"""Draw jobs with the moments of Aryl's trace: reweight the jobs of a public trace or of a distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from instances.arrays import FloatArray, exponentials
from instances.errors import InputError
from instances.tables import read_numbers

HOUR = 3600.0
LONGEST_S = 5 * 24 * HOUR  # jobs take "minutes to days" (section 2.2)
COLUMNS = ("submit_s", "duration_s", "gpus")
WIDTHS = ((1, 0.70), (2, 0.10), (4, 0.08), (8, 0.09), (16, 0.03))
"""The GPUs of a job and the share of jobs, if there is no trace."""
POOL = 20_000


@dataclass(frozen=True)
class Moments:
    """The statistics of the paper's jobs (sections 2.2 and 7.1) on their requested GPUs.

    - `jobs`, `days`, `training_gpus`: the number of jobs, the days of the trace, and the GPUs of the cluster.
    - `use`: the share of the GPUs that jobs hold under the baseline (Table 5).
    - `mean_seconds`: the mean of JCT less queueing under the baseline.
    - `quantiles`: pairs of seconds and the share of jobs with at most this running time. They are the median and the
      95th percentile of JCT, less the median and the mean wait.
    - `elastic_jobs`, `elastic_use`, `elastic_seconds`: of elastic jobs, the share of jobs, the share of the GPU time
      and the running time.
    """

    jobs: int = 50_390
    days: float = 15.0
    training_gpus: int = 3544
    use: float = 0.72
    mean_seconds: float = 13_538.0
    quantiles: tuple[tuple[float, float], ...] = ((736.0, 0.50), (79_861.0, 0.95))
    elastic_jobs: float = 0.05
    elastic_use: float = 0.36
    elastic_seconds: float = 14.2 * HOUR

    @property
    def gpu_seconds(self) -> float:
        """Return the mean GPU-seconds of a job."""
        return self.use * self.training_gpus * self.days * 24 * HOUR / self.jobs

    @property
    def elastic_gpu_seconds(self) -> float:
        """Return the mean GPU-seconds of an elastic job."""
        return self.elastic_use * self.gpu_seconds / self.elastic_jobs

    @property
    def others(self) -> tuple[float, float]:
        """Return the mean seconds and GPU-seconds of the other jobs."""
        s = self.elastic_jobs
        seconds = (self.mean_seconds - s * self.elastic_seconds) / (1 - s)
        return seconds, (self.gpu_seconds - s * self.elastic_gpu_seconds) / (1 - s)


@dataclass(frozen=True)
class Bursts:
    """The variation of the arrivals per hour around the mean of the hour of the day, as the logarithm of a factor.

    - `hour_sd`, `memory`: the standard deviation of hourly noise, and its correlation over one hour.
    - `day_sd`: the standard deviation of daily noise.

    The values are fitted to the covariances of the jobs per hour of Philly's trace from October 1, 2017 on. These are
    relative to the means of the hours of the day, without the share of pure chance. Their logarithms are 1.53, 0.96,
    0.69, 0.57 and 0.36 at lags of 0, 1, 2, 3 and 6 hours. At lags of one to seven days, they are 0.16 to 0.35.
    """

    hour_sd: float = 1.15
    memory: float = 0.62
    day_sd: float = 0.45

    def factors(self, hours: int, scale: float, rng: np.random.Generator) -> FloatArray:
        """Draw the factors of `hours` hours, with `scale` times the standard deviations."""
        from scipy.signal import lfilter

        shocks = rng.standard_normal(hours) * math.sqrt(1 - self.memory**2)
        shocks[0] = rng.standard_normal()
        days = np.repeat(rng.standard_normal(math.ceil(hours / 24)), 24)[:hours]
        noise: FloatArray = self.hour_sd * lfilter([1.0], [1.0, -self.memory], shocks) + self.day_sd * days
        return exponentials(scale * noise)


@dataclass(frozen=True)
class JobPopulation:
    """Running times and GPUs of jobs to draw from, and the probability of an arrival in each hour of the day."""

    seconds: FloatArray
    gpus: FloatArray
    hours: FloatArray

    @classmethod
    def from_trace(cls, path: Path) -> JobPopulation:
        """Return the jobs of a trace with the columns of COLUMNS. Raises InputError for an invalid file or value."""
        rows = read_numbers(path, COLUMNS, least=0)
        rows = rows[(rows["duration_s"] > 0) & (rows["gpus"] >= 1)]
        if rows.empty:
            raise InputError(f"{path}: no job has a duration and GPUs")
        hour = (rows["submit_s"] / HOUR % 24).astype(int)
        shares = np.bincount(hour, minlength=24) / len(rows)
        return cls(rows["duration_s"].to_numpy(float).clip(1, LONGEST_S), rows["gpus"].to_numpy(float).round(), shares)

    @classmethod
    def draw_default(cls) -> JobPopulation:
        """Return jobs with log-normal running times with the median of Table 5's baseline, and the widths of WIDTHS."""
        from scipy.special import ndtri

        median, spread = 740.0, 2.41  # of JCT less queueing; with this spread the mean is that of the paper
        quantiles = (np.arange(POOL) + 0.5) / POOL
        seconds = exponentials(math.log(median) + spread * ndtri(quantiles)).clip(1, LONGEST_S)
        gpus, shares = zip(*WIDTHS, strict=True)
        rng = np.random.default_rng(0)
        return cls(seconds, rng.choice(np.array(gpus, dtype=float), POOL, p=np.array(shares)), np.full(24, 1 / 24))

    def up_to(self, gpus: int) -> JobPopulation:
        """Return the jobs with at most `gpus` GPUs."""
        kept = self.gpus <= gpus
        return JobPopulation(self.seconds[kept], self.gpus[kept], self.hours)

    def mix(self, moments: Moments) -> tuple[FloatArray, FloatArray]:
        """Return weights of elastic jobs and of the others that give the moments. Raises InputError if none exist."""
        wide = self.weights(moments.elastic_seconds, moments.elastic_gpu_seconds, elastic=True)
        share = moments.elastic_jobs
        at_most = [(s, (of - share * wide[self.seconds <= s].sum()) / (1 - share)) for s, of in moments.quantiles]
        return wide, self.weights(*moments.others, at_most)

    def weights(
        self,
        seconds: float,
        gpu_seconds: float,
        at_most: Sequence[tuple[float, float]] = (),
        *,
        elastic: bool = False,
    ) -> FloatArray:
        """Return the most even weights under which jobs have these means; short or narrow jobs are not `elastic`.

        - `seconds`, `gpu_seconds`: the means.
        - `at_most`: pairs of seconds and the share of jobs with at most this running time.

        Raises InputError if no such weights exist.
        """
        from scipy.optimize import minimize  # slow to import, and only needed to draw jobs
        from scipy.special import logsumexp

        fit = (self.gpus >= 2) & (self.seconds >= HOUR) if elastic else self.gpus >= 1
        here = np.flatnonzero(fit)
        if not len(here):
            raise InputError("no job is long and wide enough to be elastic: 2 GPUs for an hour")
        means = [self.seconds[here] / seconds - 1, self.seconds[here] * self.gpus[here] / gpu_seconds - 1]
        features = np.stack([*means, *((self.seconds[here] <= s) - share for s, share in at_most)], axis=1)

        def dual(x: FloatArray) -> tuple[float, FloatArray]:
            exponents = features @ x
            total = logsumexp(exponents)
            return float(total), np.exp(exponents - total) @ features

        with np.errstate(all="ignore"):  # an unbounded search means that no weights exist, see below
            found = minimize(
                dual, np.zeros(features.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 500}
            )
        exponents = features @ found.x
        share = np.exp(exponents - logsumexp(exponents))
        if not np.abs(share @ features).max() <= 1e-3:
            raise InputError(f"no mix of these jobs takes {seconds:g} s and {gpu_seconds:g} GPU-seconds on average")
        weights = np.zeros(len(self.gpus))
        weights[here] = share
        return weights
