"""A simulation as a task of the harness: one policy on one workload, in a separate process, stored when it is done.

Its bound is another task: no policy, clairvoyant ones included, does better. Both give one row of the measures of every
world, relative to a baseline on the same workload.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from inspect import isclass
from typing import Any, Literal

import pandas as pd

from experiments.harness.entry import Entry
from experiments.harness.run import apply
from experiments.harness.task import Digests, ReportFile, Whole, WholeTask
from experiments.harness.user_functions import takes_data, user_function, users_first
from experiments.papers import METHODS, ONLINE
from experiments.simulator.kernel import simulate
from experiments.simulator.online import Nothing, Online, Replan, Snapshots
from experiments.simulator.simulated import Columns, Simulated, summarise_by_pool, summary
from instances import Answer, InputError, Instance, Options, ProblemData, Result, Stopwatch
from instances.gaps import gap
from instances.online import Policy
from instances.result import versions
from instances.text import meant

EFFORT = 200  # nodes and rounds per decision if neither effort nor time is limited, equal on every machine


def online_of(instance: Instance) -> Online:
    """Return the world of an instance's problem. Raises InputError if there is none."""
    if instance.problem not in ONLINE:
        raise InputError(f"{instance.name}: the simulator runs {', '.join(ONLINE)}, got {instance.problem}")
    return ONLINE[instance.problem]


def examples() -> list[Instance]:
    """Return a small example workload of each world that has one."""
    return [online.example() for online in ONLINE.values() if online.example is not None]


def policy_names(problem: str) -> list[str]:
    """Return the policies of a problem's world, and the methods that become policies by re-planning."""
    online = ONLINE[problem]
    methods = [entry.name for solved in online.problems for entry in METHODS[solved]]
    hosted = [f"{host}-{name}" for host in online.hosts for name in methods]
    further = [f"{name}-{entry.name}" for name, of in online.remembered.items() for entry in METHODS[of.problem]]
    return list(dict.fromkeys([*online.policies, *methods, *hosted, *further]))


@dataclass(frozen=True)
class Simulation(WholeTask[Simulated]):
    """One policy on one workload. The time limit of the options is for each decision, or for the oracle to plan.

    `code`: a policy of the user's that was handed over itself, pickled.
    """

    outcome_type = Simulated

    workload: Instance
    policy: str
    options: Options = Options()
    code: bytes | None = field(default=None, repr=False)

    @property
    def is_by_user(self) -> bool:
        """Return whether the policy is the user's own."""
        return self.code is not None or ":" in self.policy

    @property
    def modules(self) -> tuple[str, ...]:
        """Return the modules of the policy's methods, whose import does not count as part of the run."""
        online = online_of(self.workload)
        problems = [*online.problems, *(of.problem for of in online.remembered.values())]
        entries = [entry for problem in problems for entry in METHODS[problem]]
        named = [e for e in entries if self.policy == e.name or self.policy.endswith(f"-{e.name}")]
        return tuple(sorted({entry.target.partition(":")[0] for entry in named}))

    @property
    def effective(self) -> Options:
        """Return the options in effect: without any requested limit, a method that re-plans has an effort limit."""
        options = self.options
        if self.policy in online_of(self.workload).policies or options.effort or options.time_limit:
            return options
        return replace(options, effort=EFFORT)

    def label(self) -> tuple[str, str]:
        return self.workload.name, self.policy

    def work(self, report: ReportFile) -> Simulated:
        """Run the policy to the end. Raises RuleBroken, and any exception of the policy."""
        data, online = self.workload.data, online_of(self.workload)
        world = online.world(data)
        solving: list[Replan] = []
        with Stopwatch() as clock:
            policy = self.make_policy(online, data, solving)
            simulate(world, policy)
        decisions = [asdict(entry) for replan in solving for entry in replan.log]
        found = {
            "jobs": _columns(world.jobs_table()),
            "timeline": _columns(world.timeline_table()),
            "lives": _columns(world.records.lives_table()),
            "totals": world.totals() | (policy.totals() if hasattr(policy, "totals") else {}),
            "decisions": _columns(pd.DataFrame(decisions)),
            "cpu_s": clock.cpu_s,
        }
        return self.build_outcome("finished", **found)

    def content(self, digests: Digests) -> dict[str, Any]:
        return {
            "workload": digests.instance(self.workload),
            "policy": self.policy,
            "versions": versions(),
            "source": digests.source(self.policy, self.code) if self.is_by_user else None,
        }

    def make_policy(self, online: Online, data: ProblemData, solving: list[Replan] | None = None) -> Policy[Any, Any]:
        """Build the policy, and add its re-planning parts to `solving`."""
        solving = [] if solving is None else solving
        if self.is_by_user:
            return self._own(online, data, solving)
        why = online.unfit(self.policy, data)
        if why is not None:
            raise InputError(why)
        if self.policy in online.policies:
            return online.policies[self.policy](data, self.options)
        for name, of in online.remembered.items():
            if self.policy.startswith(f"{name}-"):
                entry = _entry(of.problem, self.policy.removeprefix(f"{name}-"))
                return self._replan(of.moments(data), {of.problem: entry}, online.fallback(), solving)
        host = next((name for name in online.hosts if self.policy.startswith(f"{name}-")), None)
        method = self.policy if host is None else self.policy.removeprefix(f"{host}-")
        fallback = online.fallback() if host is None else Nothing()
        entries = {problem: _entry(problem, method) for problem in online.problems}
        replan = self._replan(online, entries, fallback, solving)
        return replan if host is None else online.hosts[host](data, replan.decide)

    def _own(self, online: Online, data: ProblemData, solving: list[Replan]) -> Policy[Any, Any]:
        """Build the policy from the user's function, called with a copy of the data if it takes an argument.

        If the function returns a solution, it is a method that re-plans. If it is an object with `decide`, a copy of
        the object is the policy.
        """
        make = user_function(self.policy, self.code, "policy")
        with users_first():
            given = callable(getattr(make, "decide", None)) and not isclass(make)
            if given:
                made = deepcopy(make)
            else:
                made = make(data.model_copy(deep=True)) if takes_data(make) else make()
        if isinstance(made, Mapping | Answer | Result):
            entries = dict.fromkeys(online.problems, Entry(self.policy, self.policy, code=self.code))
            return self._replan(online, entries, online.fallback(), solving)
        if not callable(getattr(made, "decide", None)):
            name = type(made).__name__
            raise InputError(f"must return an object with decide(view), or a solution as a method does, got {name}")
        policy: Policy[Any, Any] = made
        return policy

    def _replan(
        self,
        moments: Online | Snapshots,
        entries: Mapping[str, Entry],
        fallback: Policy[Any, Any],
        solving: list[Replan],
    ) -> Replan:
        def solve(data: ProblemData) -> Result:
            return apply(entries[data.problem], Instance.of(data, self.workload.name), self.effective)

        solving.append(Replan(solve, moments.snapshot, moments.decision, fallback))
        return solving[-1]

    def build_outcome(self, status: Literal["finished", "error"], **fields: Any) -> Simulated:
        """Build the simulation under the names of its problem and its policy."""
        named = {"problem": self.workload.problem, "policy": self.policy, "versions": versions()}
        return super().build_outcome(status, **named | fields)


def _entry(problem: str, name: str) -> Entry:
    """Return the method of this name; `exact` if the problem has no such method, but another one of the world does."""
    known = {entry.name: entry for entry in METHODS[problem]}
    return known.get(name, known["exact"])


@dataclass(frozen=True)
class ChosenPolicies:
    """The policies to run in one world, the baseline first, and the measures of its table with their headings.

    `code`: the user's policies that were passed as objects, pickled, by name.
    """

    policies: tuple[str, ...]
    baseline: str
    columns: Mapping[str, str]
    code: Mapping[str, bytes] = field(default_factory=dict)


def chosen_policies(
    workloads: Sequence[Instance],
    given: Sequence[str] | None,
    baseline: str | None,
    code: Mapping[str, bytes] | None = None,
) -> dict[str, ChosenPolicies]:
    """Return the policies to run on the workloads of each problem. Raises InputError for an unknown policy.

    `all` stands for all policies of the world except the slow ones. `code`: the user's policies that are passed as
    objects, pickled, by name.
    """
    code = {} if code is None else code
    worlds = {workload.problem: online_of(workload) for workload in workloads}
    known = {problem: policy_names(problem) for problem in worlds}
    for name in [*(given or ()), *([baseline] if baseline else ())]:
        if name in code or ":" in name:
            user_function(name, code.get(name), "policy")  # before anything is run
        elif name != "all" and not any(name in names for names in known.values()):
            names = list(dict.fromkeys(name for names in known.values() for name in names))
            line = f"policy: must be all, {', '.join(names)} or package.module:function, got {name!r}"
            raise InputError(line + meant(names, name))
    return {problem: _choice(online, known[problem], given, baseline, code) for problem, online in worlds.items()}


def _choice(
    online: Online, known: Sequence[str], given: Sequence[str] | None, baseline: str | None, code: Mapping[str, bytes]
) -> ChosenPolicies:
    def runs(name: str) -> bool:
        return name in code or name in known or ":" in name

    base = baseline if baseline is not None and runs(baseline) else online.baseline
    names = [base]
    for name in given or online.defaults:
        if name == "all":
            names += [n for n in online.policies if n not in online.slow]
        elif runs(name):
            names.append(name)
    return ChosenPolicies(tuple(dict.fromkeys(names)), base, online.columns, code)


def simulations(
    workloads: Sequence[Instance], choices: Mapping[str, ChosenPolicies], options: Options
) -> list[Simulation]:
    """Return the simulations of the chosen policies on every workload. Raises InputError for a duplicate name."""
    for name, times in Counter(workload.name for workload in workloads).items():
        if times > 1:
            raise InputError(f"{times} workloads are called {name!r}: names must be unique")
    return [
        Simulation(workload, policy, options, choice.code.get(policy))
        for workload in workloads
        for choice in [choices[workload.problem]]
        for policy in choice.policies
    ]


def _columns(table: pd.DataFrame) -> Columns:
    return {str(name): table[name].astype(object).where(table[name].notna(), None).tolist() for name in table}


class Bounds(Whole):
    """Lower bounds on the objective of one workload's runs, in the unit of the row's measure; `None` where unknown."""

    policies: tuple[str, ...]
    values: list[float | None]

    def line(self) -> str:
        """Describe the bounds in one line."""
        known = [value for value in self.values if value is not None]
        least = f" {min(known):.6g}" if known else ""
        return f"{self.workload} bound {self.status}{least}" + (f" ({self.reason})" if self.reason else "")


@dataclass(frozen=True)
class Bounding(WholeTask[Bounds]):
    """Compute the bounds of the runs of one workload; `totals` are those of each run, which a bound may depend on."""

    outcome_type = Bounds

    workload: Instance
    policies: tuple[str, ...]
    totals: tuple[Mapping[str, Any], ...]
    options: Options = Options()

    def label(self) -> tuple[str, str]:
        return self.workload.name, "bound"

    def work(self, report: ReportFile) -> Bounds:
        bound = online_of(self.workload).bound
        assert bound is not None
        return self.build_outcome("finished", values=list(bound(self.workload.data, self.totals)))

    def content(self, digests: Digests) -> dict[str, Any]:
        return {
            "bounded": digests.instance(self.workload),
            "policies": self.policies,
            "totals": [dict(totals) for totals in self.totals],
            "versions": versions(),
        }

    def build_outcome(self, status: Literal["finished", "error"], **fields: Any) -> Bounds:
        """Build the bounds under the names of the policies; unknown if `fields` has none."""
        unknown = {"policies": self.policies, "values": [None] * len(self.totals)}
        return super().build_outcome(status, **unknown | {"workload": self.workload.name} | fields)


def boundings(tasks: Sequence[Simulation], done: Sequence[Simulated]) -> list[Bounding]:
    """Return the tasks that compute bounds: one per workload with a finished run, if its world has a bound."""
    found: dict[str, list[tuple[Simulation, Simulated]]] = {}
    for task, run in zip(tasks, done, strict=True):
        if run.status == "finished" and online_of(task.workload).bound is not None:
            found.setdefault(run.workload, []).append((task, run))
    return [
        Bounding(
            runs[0][0].workload,
            tuple(run.policy for _, run in runs),
            tuple(run.totals for _, run in runs),
            runs[0][0].options,
        )
        for runs in found.values()
    ]


def map_bounds_to_runs(bounds: Sequence[Bounds]) -> dict[tuple[str, str], float | None]:
    """Return the bound of each run, by the names of its workload and its policy."""
    return {
        (one.workload, policy): value for one in bounds for policy, value in zip(one.policies, one.values, strict=True)
    }


TIMES = ("delay", "jct", "slowdown")  # measures that end in these are times


def rows_of(
    tasks: Sequence[Simulation],
    done: Sequence[Simulated],
    baselines: Mapping[str, str],
    warm_up_days: float = 0.0,
    bounds: Mapping[tuple[str, str], float | None] | None = None,
) -> list[dict[str, Any]]:
    """Return one row per simulation, with times in minutes, and in hours for the measures that all worlds share.

    The row of a failed policy has only the error. Raises InputError if no job is left after the warm-up.

    - `baselines`: the policy that others are compared with, by problem.
    - `warm_up_days`: jobs submitted earlier do not count. Bounds are then omitted, because they are over all jobs.
    - `bounds`: bounds on every policy, by workload and policy.
    """
    bases = {run.workload: run for run in done if run.policy == baselines[run.problem] and run.status == "finished"}
    known = {} if bounds is None or warm_up_days else bounds
    return [
        _row(task, run, bases.get(run.workload), warm_up_days, known.get((run.workload, run.policy)))
        for task, run in zip(tasks, done, strict=True)
    ]


def _row(
    task: Simulation, run: Simulated, base: Simulated | None, warm_up_days: float, bound: float | None
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "workload": run.workload,
        "problem": run.problem,
        "policy": run.policy,
        "seed": task.options.seed,
    }
    if run.status == "error":
        return row | {"error": run.reason}
    jobs, hours = run.jobs_table(), online_of(task.workload).hours(task.workload.data)
    found = summary(jobs, None if base is None else base.jobs_table(), warm_up=warm_up_days * 24 / hours)
    if not found["jobs"]:
        raise InputError(f"--warm-up-days: {run.workload} has no job after {warm_up_days:g} days")
    row |= {
        "jobs": found["jobs"],
        "finished": int(jobs["end"].notna().sum()),
        "mean_jct_h": found["mean_jct"] * hours,
        "p95_jct_h": found["p95_jct"] * hours,
        "mean_wait_h": found["mean_delay"] * hours,
    }
    row |= _convert_to_minutes(found, hours)
    row |= run.totals
    if base is not None and base.totals.get("cost_usd"):
        row["cost_share"] = run.totals["cost_usd"] / base.totals["cost_usd"]
    decisions = len(run.decisions.get("time", ()))
    return row | {
        "bound": bound,
        "gap_to_bound": gap(row.get(online_of(task.workload).objective), bound, "minimize"),
        "cpu_s": run.cpu_s,
        "decisions": decisions,
        "fallbacks": run.fallbacks,
        "options": run.options,
        "versions": run.versions,
    }


def pool_rows(
    tasks: Sequence[Simulation], done: Sequence[Simulated], baselines: Mapping[str, str], warm_up_days: float = 0.0
) -> list[dict[str, Any]]:
    """Return one row per simulation and pool, for worlds with pools: the load of the pool and its jobs' measures."""
    bases = {run.workload: run for run in done if run.policy == baselines[run.problem] and run.status == "finished"}
    rows: list[dict[str, Any]] = []
    for task, run in zip(tasks, done, strict=True):
        online, base, data = online_of(task.workload), bases.get(run.workload), task.workload.data
        if online.loads is None or run.status == "error":
            continue
        hours, loads = online.hours(data), online.loads(data)
        before = None if base is None else base.jobs_table()
        table = summarise_by_pool(run.jobs_table(), before, warm_up=warm_up_days * 24 / hours)
        for found in table.to_dict("records"):
            named = {"workload": run.workload, "policy": run.policy, "pool": found.pop("pool")}
            rows.append(named | {"load": loads[named["pool"]]} | _convert_to_minutes(found, hours))
    return rows


def _convert_to_minutes(found: Mapping[Any, Any], hours: float) -> dict[str, Any]:
    """Convert times to minutes and add `_min` to their names; `hours`: hours per unit of the world's clock."""
    timed = {key: key.endswith(TIMES) for key in found}
    return {f"{key}_min" if timed[key] else key: v * hours * 60 if timed[key] else v for key, v in found.items()}
