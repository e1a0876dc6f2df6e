"""Splits of a cluster by a genetic algorithm, like Pollux's own, to separate the search from the objective.

The algorithm is pymoo's (`pip install gapwise[genetic]`), with Pollux's numbers of individuals and generations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.problem import Problem
from pymoo.core.repair import Repair
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.pm import PM
from pymoo.operators.sampling.rnd import IntegerRandomSampling
from pymoo.optimize import minimize

from instances.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class GeneticParameters:
    """The size of the search: as in Pollux's artifact, 100 individuals and 100 generations."""

    individuals: int = 100
    generations: int = 100
    seed: int = 0


class GeneticSplit:
    """A search for the widths of jobs with the maximum sum of gains; every call uses the same seed."""

    def __init__(self, parameters: GeneticParameters = GeneticParameters()) -> None:
        self.parameters = parameters

    def __call__(self, gains: FloatArray, gpus: int) -> IntArray:
        if gpus <= 0:
            return np.zeros(len(gains), dtype=np.int64)
        widest = gains.shape[1] - 1 - np.isfinite(gains)[:, ::-1].argmax(axis=1)
        p = self.parameters
        algorithm = GA(
            pop_size=p.individuals,
            sampling=IntegerRandomSampling(),
            crossover=SBX(repair=_FitRepair(gpus)),
            mutation=PM(repair=_FitRepair(gpus)),
            repair=_FitRepair(gpus),
            eliminate_duplicates=True,
        )
        problem = _Split(gains, np.minimum(widest, gpus))
        result = minimize(problem, algorithm, ("n_gen", p.generations), seed=p.seed, verbose=False)
        return np.asarray(result.X, dtype=np.int64)


class _Split(Problem):
    """The optimisation problem: widths (individuals, n) of all jobs that maximise the sum of their gains."""

    def __init__(self, gains: FloatArray, widest: IntArray) -> None:
        super().__init__(n_var=len(gains), n_obj=1, xl=np.zeros(len(gains)), xu=widest, vtype=int)
        self._gains = gains

    def _evaluate(self, x: IntArray, out: dict[str, FloatArray], *args: object, **kwargs: object) -> None:
        out["F"] = -self._gains[np.arange(x.shape[1]), x.astype(np.int64)].sum(axis=1)


class _FitRepair(Repair):
    """Round widths to integers; if their sum exceeds the cluster, scale all of them down."""

    def __init__(self, gpus: int) -> None:
        super().__init__()
        self._gpus = gpus

    def _do(self, problem: Problem, x: FloatArray, **kwargs: object) -> IntArray:
        width = np.clip(np.rint(x), 0, problem.xu)
        total = width.sum(axis=1, keepdims=True)
        shrunk = np.floor(width * np.minimum(1.0, self._gpus / np.maximum(total, 1)))
        return np.where(total > self._gpus, shrunk, width).astype(np.int64)
