"""The study, the simulator and the pictures as functions of Python, for scripts and notebooks.

Every run is a process of its own, as on the command line: it can be interrupted, is ended at its time limit, and a
script needs no main guard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.harness.entry import Entry
from experiments.harness.gaps import score
from experiments.harness.instance_set import instances_at
from experiments.harness.run import Run
from experiments.harness.runner import as_finished
from experiments.harness.store import Store
from experiments.harness.user_functions import pickled, resolve, user_function
from experiments.harness.warmup import compile_first
from experiments.output.folder import ready_folder
from experiments.output.terminal import follow, line
from experiments.papers import PLOTS
from experiments.plan import plan, sets_of, study_runs
from experiments.session import finished
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds, boundings, by_run, chosen_policies, rows_of, simulations
from instances import InputError, Instance, MalformedSolution, Options, ProblemData, Result, Solution, check
from instances.method import Method as Known

Source = Instance[Any] | ProblemData | str | Path
Method = str | Callable[..., Any]
SOURCES = (Instance, ProblemData, str, Path)
KEPT = ("status", "objective", "bound", "gap", "unit", "build_s", "solve_s", "reason")


def solve(instance: Source, method: Method = "exact", **options: Any) -> Result:
    """The result of a method: a name, `package.module:function`, or a function of your own.

    `options`: those of `instances.Options`. An interrupt ends the run, and the result is what it had found by then.
    Raises InputError.
    """
    (given,) = _instances(instance)
    (run,) = _runs([given], method, Options(**options))
    result: list[Result] = []
    try:
        compile_first([run])
        for _, outcome in as_finished([run], ended=lambda _, outcome: result.append(outcome)):
            return outcome
    except KeyboardInterrupt:
        if not result:
            raise
    return result[0]


def study(
    instances: Source | Sequence[Source],
    methods: Method | Sequence[Method] = "all",
    *,
    time_limit: float | None = 60.0,
    jobs: int = 1,
    folder: str | Path | None = None,
    resume: bool = False,
    cluster: str | None = None,
    progress: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """One row a run, with its gap to the proven optimum or to the best bound, and the result itself.

    `instances`: instances, data, files or folders. `methods`: names, `all`, `package.module:function` or functions of
    your own; `exact` runs too, asked for or not. With a `folder` finished runs are kept there, and `resume` does not
    repeat them; without one an interrupt loses them. `cluster`: address of a Dask scheduler to run on. `progress`: a
    line on standard error for each run that is finished. `options`: the others of `instances.Options`. Raises
    InputError.
    """
    given = _instances(instances)
    wanted = [_known(m) for m in ([methods] if isinstance(methods, str) or callable(methods) else methods)]
    named, own = [m for m in wanted if isinstance(m, str)], [m for m in wanted if not isinstance(m, str)]
    said = Options(time_limit=time_limit, **options)
    sets = sets_of(given)
    runs = study_runs(sets, named or ["exact"], said)
    runs += [run for s in sets for function in own for run in _runs(s.instances, function, said, s.name)]
    place = {(i.problem, i.name): k for k, i in enumerate(given)}
    runs.sort(key=lambda run: place[run.instance.problem, run.instance.name])  # the methods of an instance together
    with _store(folder, resume) as store:
        if cluster is None:
            compile_first(runs)
        outcomes = dict(follow(finished(runs, jobs, store, cluster=cluster), len(runs), line, not progress))
    scored = score([(run, outcomes[i]) for i, run in enumerate(runs)])
    return pd.DataFrame(
        [
            {
                "instance": s.result.instance,
                "problem": s.result.problem,
                "method": s.result.method,
                "gap_to_optimum": s.gap_to_optimum,
                "gap_to_bound": s.gap_to_bound,
                "proven": s.proven,
                "bound_by": s.bound_by,
                **{name: getattr(s.result, name) for name in KEPT},
                "result": s.result,
            }
            for s in scored
        ]
    )


def simulate(
    workloads: Source | Sequence[Source],
    policies: str | Sequence[str] | None = None,
    *,
    baseline: str | None = None,
    warm_up_days: float = 0.0,
    bound: bool = True,
    jobs: int = 1,
    folder: str | Path | None = None,
    resume: bool = False,
    cluster: str | None = None,
    progress: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """One row a policy and workload: what every world measures, against the baseline of the world.

    `workloads`: instances, data or files. `policies`: as `--policy` of `gapwise simulate`, of the world's own selection
    unless named. `bound`: also what no policy does better than, where the world has such a bound. `folder`, `resume`,
    `cluster` and `progress`: as of `study`. The columns are those of `gapwise simulate --format json`. Raises
    InputError.
    """
    given = _instances(workloads)
    choices = chosen_policies(given, [policies] if isinstance(policies, str) else policies, baseline)
    tasks = simulations(given, choices, Options(**options))
    with _store(folder, resume) as store:
        outcomes = dict(follow(finished(tasks, jobs, store, cluster=cluster), len(tasks), Simulated.line, not progress))
        done = [outcomes[i] for i in range(len(tasks))]
        further = boundings(tasks, done) if bound else []
        bounds = dict(follow(finished(further, jobs, store, cluster=cluster), len(further), Bounds.line, not progress))
    baselines = {problem: choice.baseline for problem, choice in choices.items()}
    return pd.DataFrame(rows_of(tasks, done, baselines, warm_up_days, by_run(list(bounds.values()))))


def plot(data: Source, solution: Result | Solution, path: str | Path | None = None) -> Any:
    """The picture of a solution, a Figure of matplotlib: what is rented and holds what, who runs when and how wide.

    With a `path` (.svg, .png, .pdf) it is written there too. Raises InputError where there is no solution, and for a
    problem that has no picture.
    """
    (given,) = _instances(data)
    found = solution.solution if isinstance(solution, Result) else solution
    if found is None:
        raise InputError(f"plot: {given.name}: there is no solution to draw")
    if given.problem not in PLOTS:
        raise InputError(f"plot: there are pictures of {', '.join(PLOTS)}, got {given.problem}")
    try:
        check(given.data, found)
    except MalformedSolution as error:
        raise InputError(f"plot: {given.name}: the solution is not of the form of {given.problem}: {error}") from None
    figure = resolve(PLOTS[given.problem])(given.data, found)
    if path is not None:
        from experiments.simulator.plots import save_figure  # with matplotlib

        save_figure(figure, Path(path))
    return figure


def _instances(given: Source | Sequence[Source]) -> list[Instance[Any]]:
    """The instances, one or several, from wherever they come. Raises InputError."""
    sources = list(given) if isinstance(given, Iterable) and not isinstance(given, SOURCES) else [given]
    found: list[Instance[Any]] = []
    for source in sources:
        if isinstance(source, str | Path):
            found += instances_at([Path(source)]).values()
        elif isinstance(source, ProblemData):
            found.append(Instance.of(source, f"data-{len(found) + 1}" if len(sources) > 1 else "data"))
        elif isinstance(source, Instance):
            found.append(source)
        else:
            raise InputError(f"instances: must be an instance, its data or a file, got {type(source).__name__}")
    return found


def _runs(instances: Sequence[Instance[Any]], method: Method, options: Options, name: str = "") -> list[Run]:
    """The runs of one method, which may be a function itself."""
    method = _known(method)
    if isinstance(method, str):
        return plan(instances, [method], options, name)
    if not callable(method):
        raise InputError(f"methods: must be names or functions, got {type(method).__name__}")
    called = str(getattr(method, "__name__", type(method).__name__))
    entry = Entry(called, called, code=pickled(method))
    user_function(called, entry.code)  # before anything is run
    return [Run(instance, entry, options, name) for instance in instances]


def _known(method: Method) -> Method:
    """The name of a method of this project that is given as the function it is; any other as it is."""
    known = getattr(method, "method", None)
    return known.name if isinstance(known, Known) else method


@contextmanager
def _store(folder: str | Path | None, resume: bool) -> Iterator[Store | None]:
    if folder is None:
        if resume:
            raise InputError("resume: needs a folder, the one with the finished runs")
        yield None
        return
    with Store(ready_folder(Path(folder)) / "runs.sqlite", resume=resume) as store:
        yield store
