"""The study, the simulator and the pictures as functions of Python, for scripts and notebooks.

Every run is a process of its own, as on the command line: it can be interrupted, is ended at its time limit, and a
script needs no main guard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.harness.entry import Entry
from experiments.harness.gaps import score
from experiments.harness.instance_set import instances_at
from experiments.harness.run import Run
from experiments.harness.runner import as_finished, compile_first
from experiments.harness.store import Store
from experiments.harness.user_functions import own_name, pickle_function, resolve, user_method
from experiments.output.columns import FRAME_COLUMNS
from experiments.output.terminal import err, follow, line
from experiments.papers import CLUSTER, METHODS, ONLINE, PLOTS
from experiments.plan import methods_for, plan, sets_of, study_runs
from experiments.session import Session, run_tasks
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import (
    Bounds,
    boundings,
    chosen_policies,
    map_bounds_to_runs,
    policy_names,
    rows_of,
    simulations,
)
from instances import InputError, Instance, MalformedSolution, Options, ProblemData, Result, Solution, check
from instances.method import Method as Known

Source = Instance[Any] | ProblemData | str | Path
Method = str | Callable[..., Any]
Methods = Method | Sequence[Method] | Mapping[str, Method]
Policies = Any
"""A name, a function that makes a policy of the workload, its class, an object with `decide(view)`; several of them; or
a dict of such by names of your own."""
SOURCES = (Instance, ProblemData, str, Path)


def solve(instance: Source, method: Method = "exact", **options: Any) -> Result:
    """Solve an instance with a method: a name, `package.module:function`, or a function of your own.

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


def cluster(
    dump: str | Path | Sequence[str | Path],
    types: str | Path | None = None,
    rules: Sequence[str] = ("karpenter-1.14",),
    *,
    prices: str | None = None,
    max_evictions: str | None = None,
    anonymous: bool = False,
    time_limit: float | None = 5.0,
    jobs: int = 1,
    **options: Any,
) -> Any:
    """Return the cost of a Kubernetes cluster, a bound on the savings, and a plan, like `gapwise cluster`.

    `dump`: the files of a dump. `types`: a table of what can be rented. `prices`: cloud and region of the catalogue,
    such as `aws/us-east-1`. `rules`: heuristics of `node-consolidation` to compare with. `max_evictions`: a number of
    pods, or a share such as `10%`. `anonymous`: with numbers for names. `options`: the others of `instances.Options`.
    The answer is printed as on the command line, and has `content()`, all of it as plain data. Raises InputError.
    """
    dumps = [Path(dump)] if isinstance(dump, str | Path) else [Path(path) for path in dump]
    table = None if types is None else Path(types)
    asked = resolve(f"{CLUSTER}:ClusterQuestion")(dumps, table, tuple(rules), max_evictions, None, anonymous, prices)
    session = Session(Options(time_limit=time_limit, **options), jobs)
    return resolve(f"{CLUSTER}:solve")(asked, session, methods_for)


def study(
    instances: Source | Sequence[Source],
    methods: Methods = "all",
    *,
    time_limit: float | None = 60.0,
    jobs: int = 1,
    folder: str | Path | None = None,
    resume: bool = False,
    cluster: str | None = None,
    progress: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """Return one row per run, with its gap to the proven optimum or to the best bound, and the result itself.

    `instances`: instances, data, files or folders. `methods`: names, `all`, `package.module:function`, functions,
    classes or objects of your own, or a dict of them by names of your own; `exact` runs too, asked for or not. With a
    `folder` finished runs are kept there, and `resume` does not repeat them. An interrupt ends the study with the rows
    of the runs that are finished, if there are any. `cluster`: address of a Dask scheduler to run on. `progress`: a
    line on standard error for each run that is finished. `options`: the others of `instances.Options`. Raises
    InputError.
    """
    given = _instances(instances)
    wanted = _pair_with_names(methods)
    named, own = [m for _, m in wanted if isinstance(m, str)], [m for m in wanted if not isinstance(m[1], str)]
    said = Options(time_limit=time_limit, **options)
    sets = sets_of(given)
    runs = study_runs(sets, named or ["exact"], said)
    for name, function in own:
        if any(name == entry.name for i in given for entry in METHODS[i.problem]):
            raise InputError(f"methods: {name!r} is a method of this project, name yours: {{name: function}}")
        runs += [run for s in sets for run in _own_runs(s.instances, name, function, said, s.name)]
    place = {(i.problem, i.name): k for k, i in enumerate(given)}
    runs.sort(key=lambda run: place[run.instance.problem, run.instance.name])  # the methods of an instance together
    outcomes: dict[int, Result] = {}
    with _store(folder, resume) as store:
        if cluster is None:
            compile_first(runs)
        try:
            outcomes.update(follow(run_tasks(runs, jobs, store, cluster=cluster), len(runs), line, not progress))
        except KeyboardInterrupt:
            if not outcomes:
                raise
            err.print(f"interrupted: {len(outcomes)} of {len(runs)} runs are finished")
    scored = score([(run, outcomes[i]) for i, run in enumerate(runs) if i in outcomes])
    return pd.DataFrame(
        [{column.name: column.value(s) for column in FRAME_COLUMNS} | {"result": s.result} for s in scored]
    )


def simulate(
    workloads: Source | Sequence[Source],
    policies: Policies = None,
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
    """Simulate policies and return one row per policy and workload, with measures relative to the world's baseline.

    `workloads`: instances, data or files. `policies`: as `--policy` of `gapwise simulate`, or a function that gets the
    workload and returns a policy, its class, or an object with `decide(view)`; several, or a dict of them by names of
    your own; the world's own selection unless given. `bound`: also what no policy does better than, where the world
    has such a bound. `folder`, `resume`, `cluster` and `progress`: as of `study`. The columns are those of
    `gapwise simulate --format json`. Raises InputError.
    """
    given = _instances(workloads)
    wanted = [] if policies is None else _pair_with_names(policies, "policies")
    code = {name: pickle_function(policy, "policy") for name, policy in wanted if not isinstance(policy, str)}
    for name in code:
        if any(name in policy_names(workload.problem) for workload in given if workload.problem in ONLINE):
            raise InputError(f"policies: {name!r} is a policy of this project, name yours: {{name: policy}}")
    choices = chosen_policies(given, [name for name, _ in wanted] or None, baseline, code)
    tasks = simulations(given, choices, Options(**options))
    with _store(folder, resume) as store:
        outcomes = dict(
            follow(run_tasks(tasks, jobs, store, cluster=cluster), len(tasks), Simulated.line, not progress)
        )
        done = [outcomes[i] for i in range(len(tasks))]
        further = boundings(tasks, done) if bound else []
        bounds = dict(follow(run_tasks(further, jobs, store, cluster=cluster), len(further), Bounds.line, not progress))
    baselines = {problem: choice.baseline for problem, choice in choices.items()}
    return pd.DataFrame(rows_of(tasks, done, baselines, warm_up_days, map_bounds_to_runs(list(bounds.values()))))


def plot(data: Source, solution: Result | Solution, path: str | Path | None = None) -> Any:
    """Plot a solution as a Figure of matplotlib: rented instances and their tasks, or jobs with their times and widths.

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
    from experiments.canvas import add_subject, save_figure  # with matplotlib

    method = f", {solution.method}" if isinstance(solution, Result) else ""
    figure = add_subject(resolve(PLOTS[given.problem])(given.data, found), f"{given.name}{method}")
    if path is not None:
        save_figure(figure, Path(path))
    return figure


def figure(table: pd.DataFrame | str | Path, kind: str = "box", ax: Any = None, *, to: str | None = None) -> Any:
    """Draw the gaps of a study of one problem as a Figure of matplotlib: a `box`, a `profile` or the `gaps`.

    `table`: the result of `study`, or the file `results.csv` of `gap_study`. `ax`: axes to draw on. `to`: `optimum` or
    `bound`, never both; unless given the proven optima, where there are any. In a `box` a method with gaps on fewer
    instances than others is pale, and says on how many; a `profile` is the share of the instances with a proven optimum
    on which a method is within a gap; in `gaps` each point is a run. Raises InputError.
    """
    from experiments.output import paper  # with matplotlib

    return paper.figure(table, kind, ax, to)


def latex(table: pd.DataFrame | str | Path) -> str:
    """Return the summary of a study in LaTeX with booktabs, one `tabular` per problem; `table` as of `figure`.

    Means in it are over the same instances, as in the table of `gap_study`. Raises InputError.
    """
    from experiments.output import paper

    return paper.latex(table)


def _instances(given: Source | Sequence[Source]) -> list[Instance[Any]]:
    """Return the given instances. Raises InputError."""
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


def _runs(instances: Sequence[Instance[Any]], method: Method, options: Options) -> list[Run]:
    """Return the runs of one method, which may be a function itself."""
    ((name, found),) = _pair_with_names([method])
    if isinstance(found, str):
        return plan(instances, [found], options, "")
    return _own_runs(instances, name, found, options, "")


def _own_runs(
    instances: Sequence[Instance[Any]], name: str, method: Callable[..., Any], options: Options, set_name: str
) -> list[Run]:
    entry = Entry(name, name, code=pickle_function(method))
    user_method(name, entry.code)  # before anything is run
    return [Run(instance, entry, options, set_name) for instance in instances]


def _pair_with_names(given: Any, what: str = "methods") -> list[tuple[str, Any]]:
    """Return methods or policies with their names: text for this project's and for `package.module:function`.

    Raises InputError where two have one name, and for what is neither text nor a function.
    """
    if isinstance(given, Mapping):
        pairs = [(name, _load(name, one, what)) for name, one in given.items()]
    else:
        several = isinstance(given, Iterable) and not isinstance(given, str) and not _usable(given)
        listed = [_name_known(one) for one in (given if several else [given])]
        pairs = [(one if isinstance(one, str) else own_name(one), one) for one in listed]
    for _, one in pairs:
        if not (isinstance(one, str) or _usable(one)):
            raise InputError(f"{what}: must be names or functions, got {type(one).__name__}")
    for name, times in Counter(name for name, one in pairs if not isinstance(one, str)).items():
        if times > 1:
            raise InputError(f"{what}: {times} are called {name!r}: name them, {{name: function}}")
    return pairs


def _load(name: Any, one: Any, what: str) -> Any:
    """Return the object for a name of the user's own; `package.module:function` is loaded."""
    if not isinstance(name, str) or not name or ":" in name or not name.isprintable():
        raise InputError(f"{what}: a name must be text without a colon, got {name!r}")
    if not isinstance(one, str) or one == name:
        return one
    if ":" not in one:
        raise InputError(f"{what}: {name!r} stands for {one!r}, which has a name: give it by that")
    return resolve(one, what)


def _usable(one: Any) -> bool:
    """Return whether an object is callable, or has `decide`."""
    return callable(one) or callable(getattr(one, "decide", None))


def _name_known(method: Method) -> Method:
    """Return the name of a method of this project that is given as a function; any other unchanged."""
    known = getattr(method, "method", None)
    return known.name if isinstance(known, Known) else method


def _store(folder: str | Path | None, resume: bool) -> AbstractContextManager[Store | None]:
    if folder is None and resume:
        raise InputError("resume: needs a folder, the one with the finished runs")
    return Session(folder=None if folder is None else Path(folder), resume=resume).store()
