"""Place models on GPUs to minimise the maximum pressure: Prism's placement (arXiv 2505.04021), from a leaderboard.

The leaderboard (UCB-ADRS/ADRS-Leaderboard at f856497, problems/prism/evaluator.py) draws fifty cases with numpy's seed
42: 5 to 9 GPUs of 80 GB, twice as many models of size s_j GB, request rate r_j and latency target t_j. The pressure of
a GPU is the sum of r_j / t_j on it, divided by 80 less the sum of s_j. The objective is to minimise the maximum
pressure. The score is 100 times the square root of the position between round-robin placement (0) and total load over
total free memory (100). The latter is a bound, not the optimum.

Give each model the weight r_j / t_j + v s_j. No placement is below a pressure v if the models do not fit with slack
into as many bins of capacity 80 v. This is `eva-packing` in integers with one type, and `exact` proves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import lcm, sqrt
from statistics import fmean
from typing import Annotated, Any

import numpy as np
import typer

from experiments.harness.experiment import Quick, Study, TextTable
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from experiments.judging.calls import Calls
from experiments.judging.judge import JudgedCase, JudgeTask
from instances import InputError, Instance, MalformedSolution, Options
from instances.eva import EvaPacking, InstanceType, Task
from instances.fields import refuse_seed
from instances.tables import read_packaged

GPU_GB = 80
NO_ROOM = Fraction(1_000_000)  # the pressure of a GPU whose memory is full
CASES, SEED = 50, 42


@dataclass
class Model:
    """A model with the fields that a program receives, named as in the leaderboard."""

    model_name: str
    model_size: int
    req_rate: int
    slo: int
    cur_gpu_id: int

    @property
    def load(self) -> Fraction:
        """Return the request rate over the latency target."""
        return Fraction(self.req_rate, self.slo)


@dataclass(frozen=True)
class PrismCase:
    """GPUs, and the models to be placed on them."""

    gpus: int
    models: tuple[Model, ...]

    @property
    def content(self) -> dict[str, Any]:
        """Return the case in JSON's types."""
        return {"gpus": self.gpus, "models": [vars(model) for model in self.models]}

    def pressure(self, on: Sequence[int]) -> Fraction:
        """Return the maximum pressure if model j is on GPU `on[j]`. Raises ValueError if a GPU exceeds 80 GB."""
        load, room = [Fraction(0)] * self.gpus, [GPU_GB] * self.gpus
        for model, gpu in zip(self.models, on, strict=True):
            load[gpu] += model.load
            room[gpu] -= model.model_size
        if min(room) < 0:
            raise ValueError(f"a GPU holds {GPU_GB - min(room)} GB")
        return max(of / left if left else NO_ROOM for of, left in zip(load, room, strict=True))

    @property
    def round_robin_pressure(self) -> Fraction:
        """Return the pressure of round-robin placement, the leaderboard's zero."""
        return self.pressure([i % self.gpus for i in range(len(self.models))])

    @property
    def spread_out(self) -> Fraction:
        """Return the total load over the total free memory, the leaderboard's hundred and a lower bound."""
        size = sum(model.model_size for model in self.models)
        return sum((model.load for model in self.models), Fraction(0)) / (self.gpus * GPU_GB - size)

    def score(self, pressure: Fraction) -> float:
        """Return the leaderboard's score of a pressure."""
        share = (self.round_robin_pressure - pressure) / (self.round_robin_pressure - self.spread_out)
        return 100 * sqrt(min(max(share, Fraction(0)), Fraction(1)))

    def below(self, pressure: Fraction) -> Instance[EvaPacking]:
        """Return the packing problem whose optimum is at most `gpus` if and only if a placement is below `pressure`."""
        unit = lcm(pressure.denominator, *(model.slo for model in self.models))
        weights = [int((model.load + pressure * model.model_size) * unit) for model in self.models]
        room = int(GPU_GB * pressure * unit) - 1
        tasks = tuple(
            Task(workload=model.model_name, count=1, demand={"default": {"weight": float(weight)}})
            for model, weight in zip(self.models, weights, strict=True)
        )
        gpu = InstanceType(name="gpu", family="gpu", capacity={"weight": float(room)}, usd_per_hour=1.0)
        data = EvaPacking(resources=("weight",), instance_types=(gpu,), tasks=tasks, objective="cost")
        return Instance.of(data, f"prism, below {pressure}", "UCB-ADRS/ADRS-Leaderboard, problems/prism")


def cases(seed: int = SEED, count: int = CASES) -> list[PrismCase]:
    """Generate the cases that the leaderboard draws with a seed. Raises InputError for an invalid seed."""
    refuse_seed(seed)
    draw, found = np.random.RandomState(seed), []
    for _ in range(count):
        gpus = int(draw.randint(5, 10))
        models = []
        for j in range(2 * gpus):
            size, rate, target = (int(draw.randint(*ends)) for ends in ((10, 30), (1, 10), (5, 10)))
            models.append(Model(f"model_{j}", size, rate, target, j))
        found.append(PrismCase(gpus, tuple(models)))
    return found


def find_min_pressure(case: PrismCase, options: Options = Options()) -> tuple[Fraction, list[int]]:
    """Return the proven minimum pressure and a placement with it. Raises InputError if a proof takes too long.

    A packing problem decides whether a placement is below the best one, until there is no better one. A bisection
    towards `spread_out` comes first, because it needs fewer such problems.
    """
    from models.eva import exact

    on = _greedy(case)
    best, least = case.pressure(on), case.spread_out
    while True:
        asked = best if best - least < best / 1000 else ((best + least) / 2).limit_denominator(1000)
        asked = best if not least < asked < best else asked
        result = exact(case.below(asked).data, options)
        if result.status != "optimal" or result.objective is None:
            raise InputError(f"prism: not proven within {options.time_limit} s")
        if result.objective <= case.gpus:
            on = _list_placement(case, result.solution)
            best = case.pressure(on)
        elif asked == best:
            return best, on
        else:
            least = asked


def _greedy(case: PrismCase) -> list[int]:
    """Place each model, the most demanding first, on the GPU with the minimum resulting pressure."""
    on: dict[int, int] = {}
    load, room = [Fraction(0)] * case.gpus, [GPU_GB] * case.gpus
    order = sorted(range(len(case.models)), key=lambda j: (-case.models[j].load, -case.models[j].model_size))
    for j in order:
        model = case.models[j]
        fits = [g for g in range(case.gpus) if room[g] > model.model_size]
        if not fits:
            return [i % case.gpus for i in range(len(case.models))]
        gpu = min(fits, key=lambda g: (load[g] + model.load) / (room[g] - model.model_size))
        load[gpu], room[gpu] = load[gpu] + model.load, room[gpu] - model.model_size
        on[j] = gpu
    return [on[j] for j in range(len(case.models))]


def _list_placement(case: PrismCase, solution: Any) -> list[int]:
    bins = [dict(one["tasks"]) for one in solution["instances"] for _ in range(one["count"])]
    names = {name: gpu for gpu, tasks in enumerate(bins) for name in tasks}
    return [names[model.model_name] for model in case.models]


def calls() -> Calls:
    """Return the call `compute_model_placement(gpu_num, models)`, which returns the models on each GPU, as there."""

    def arguments(content: Any) -> tuple[Any, ...]:
        return content["gpus"], [Model(**model) for model in content["models"]]

    def answer(given: tuple[Any, ...], returned: Any) -> Any:
        places = {id(model): j for j, model in enumerate(given[1])}
        return {str(gpu): [places[id(model)] for model in models] for gpu, models in returned.items()}

    return Calls("compute_model_placement", arguments, answer)


def build_task(seed: int) -> JudgeTask:
    """Build the task of the leaderboard's fifty cases, or of ten cases with a seed other than 0."""
    drawn = cases() if seed == 0 else cases(seed, 10)
    known = read_packaged("experiments.eva", "prism").least_pressure.map(Fraction) if seed == 0 else None
    least = [find_min_pressure(case)[0] for case in drawn] if known is None else list(known)
    made = [
        JudgedCase(f"prism {i}", case.content, float(optimum), partial(_value, case))
        for i, (case, optimum) in enumerate(zip(drawn, least, strict=True))
    ]
    return JudgeTask("prism", "models on GPUs, by the largest pressure", f"{__name__}:calls", made)


def _value(case: PrismCase, answer: Any) -> tuple[float | None, Sequence[str]]:
    if not isinstance(answer, dict):
        raise MalformedSolution(f"must return the models on each GPU, got {type(answer).__name__}")
    on: dict[int, int] = {}
    for gpu, models in answer.items():
        if gpu not in map(str, range(case.gpus)):
            raise MalformedSolution(f"{gpu}: is none of {case.gpus} GPUs")
        for j in models if isinstance(models, list) else [None]:
            if type(j) is not int or not 0 <= j < len(case.models) or j in on:
                raise MalformedSolution(f"{gpu}: {j!r} is no model, or on two GPUs")
            on[j] = int(gpu)
    missing = [model.model_name for j, model in enumerate(case.models) if j not in on]
    if missing:
        return None, [f"{missing[0]} is on no GPU"]
    try:
        return float(case.pressure([on[j] for j in range(len(case.models))])), ()
    except ValueError as error:
        return None, [str(error)]


def ceiling(
    options: Options, quick: Quick = False, draw: Annotated[int, typer.Option(help="numpy's seed of the cases.")] = SEED
) -> Study:
    """Prove the minimum pressure of each of Prism's cases, which bounds the score of any placement."""
    drawn = cases(draw)[: 3 if quick else CASES]
    tasks = [Measurement.of(proven, options, None, case=i, draw=draw) for i in range(len(drawn))]

    def tables(outcomes: Sequence[Measured]) -> Iterator[TextTable | str]:
        rows = []
        for i, (case, least, outcome) in enumerate(zip(drawn, _read_min_pressures(outcomes), outcomes, strict=True)):
            figures = f"{float(least):.6f}", f"{case.score(least):.2f}", f"{outcome.cpu_s:.2f}"
            rows.append([str(i), str(case.gpus), str(least), *figures])
        yield TextTable(["case", "GPUs", "least pressure", "as a number", "its score", "CPU s"], rows)
        yield f"no placement scores more than {_highest(drawn, _read_min_pressures(outcomes)):.4f} on average"

    def values(outcomes: Sequence[Measured]) -> dict[str, Sample | float | str]:
        least = _read_min_pressures(outcomes)
        above = [float(own / case.spread_out - 1) for case, own in zip(drawn, least, strict=True)]
        return {
            "highest score": _highest(drawn, least),
            "least pressure above the load of all over the room of all": Sample.of(above),
            "CPU s": Sample.of([outcome.cpu_s or 0.0 for outcome in outcomes]),
        }

    return Study(tasks, lambda outcomes: list(tables(outcomes)), values=values)


def proven(case: int, draw: int, options: Options) -> dict[str, Any]:
    """Return the proven minimum pressure of a case, and a placement."""
    least, on = find_min_pressure(cases(draw)[case], options)
    return {"least_pressure": str(least), "on": on}


def _read_min_pressures(outcomes: Sequence[Measured]) -> list[Fraction]:
    return [Fraction(outcome.figures["least_pressure"]) for outcome in outcomes]


def _highest(drawn: Sequence[PrismCase], least: Sequence[Fraction]) -> float:
    return fmean(case.score(own) for case, own in zip(drawn, least, strict=True))
