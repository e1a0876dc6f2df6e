"""Plan the runs of a study: select methods and instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from experiments.entry import refuse_unknown
from experiments.harness.entry import GROUPS, Entry
from experiments.harness.instance_set import InstanceSet, from_paths
from experiments.harness.run import Run
from experiments.harness.user_functions import user_method
from experiments.papers import METHODS, reference_sets
from instances import PROBLEMS, InputError, Instance, Options
from instances.text import meant


def methods_for(instance: Instance, names: Sequence[str]) -> list[Entry]:
    """Return the methods called `names` on `instance`.

    `all` and `heuristics` stand for every method of that kind that fits it, `a.b:f` for a user's own.

    Raises InputError for an unknown name, for a method that is asked for but cannot take the instance, and for a
    workload.
    """
    known = {entry.name: entry for entry in _methods_of(instance)}
    chosen: dict[str, Entry] = {}
    for name in names:
        if (belongs := GROUPS.get(name)) is not None:
            here = {n: e for n, e in known.items() if belongs(e)}
            chosen |= {n: e for n, e in here.items() if e.unfit(instance.data) is None and not e.costly(instance.data)}
        elif ":" in name:
            user_method(name)
            chosen[name] = Entry(name, name)
        elif name not in known:
            raise report_unknown_method([*GROUPS, *known], name)
        else:
            why = known[name].unfit(instance.data)
            if why is not None:
                raise InputError(f"method: {name} cannot take {instance.name}: {why}")
            chosen[name] = known[name]
    return list(chosen.values())


def _methods_of(instance: Instance) -> tuple[Entry, ...]:
    """Return the methods of an instance's problem. Raises InputError for a workload, which no method solves."""
    if instance.problem not in METHODS:
        solved = ", ".join(METHODS)
        raise InputError(f"{instance.name}: {instance.problem} is a workload, for simulate; methods solve {solved}")
    return METHODS[instance.problem]


def plan(instances: Sequence[Instance], names: Sequence[str], options: Options, instance_set: str = "") -> list[Run]:
    """Return the runs of the methods called `names` on `instances`.

    Raises InputError for an unknown method, for one that cannot take its instance, for two instances of one name, and
    if no method fits any of the instances.
    """
    for name, times in Counter(instance.name for instance in instances).items():
        if times > 1:
            raise InputError(f"{times} instances are called {name!r}: names must be unique")
    runs = [Run(i, entry, options, instance_set) for i in instances for entry in methods_for(i, names)]
    if not runs:
        raise InputError("method: none of the methods fits any of the instances")
    return runs


def sets_at(
    paths: Sequence[Path], problems: Sequence[str] = (), quick: bool = False, names: Sequence[str] = ()
) -> list[InstanceSet]:
    """Return the instance sets of a study: those at `paths`, or the reference sets.

    `problems` and `names` restrict the sets, if given; `*` in a name matches any text. Raises InputError for an unknown
    problem or set, and if no instance remains.
    """
    return chosen_sets(from_paths(paths, ("all",)) if paths else reference_sets(quick, problems), problems, names)


def report_unknown_method(known: Iterable[str], name: str) -> InputError:
    """Return the error for a name that is none of the `known` ones."""
    known = list(known)
    line = f"method: must be {', '.join(known)} or package.module:function, got {name!r}"
    return InputError(line + meant(known, name))


def chosen_sets(sets: Sequence[InstanceSet], problems: Sequence[str], names: Sequence[str]) -> list[InstanceSet]:
    """Select the sets of `problems` and with `names`, if given. Raises InputError if no set remains."""
    for problem in problems:
        refuse_unknown("--problem", problem, PROBLEMS)
    if problems:
        sets = [s for s in sets if s.instances[0].problem in problems]
        if not sets:
            raise InputError(f"--problem: no instance is of {' or '.join(problems)}")
    for name in names:
        if not any(fnmatchcase(s.name, name) for s in sets):
            known = [s.name for s in sets]
            raise InputError(f"--set: no set is called {name!r}{meant(known, name)}; gapwise list sets prints all")
    return [s for s in sets if not names or any(fnmatchcase(s.name, name) for name in names)]


def sets_of(instances: Sequence[Instance]) -> list[InstanceSet]:
    """Return one nameless set per problem."""
    problems = dict.fromkeys(instance.problem for instance in instances)
    return [InstanceSet("", [i for i in instances if i.problem == problem]) for problem in problems]


def study_runs(sets: Sequence[InstanceSet], names: Sequence[str] | None, options: Options) -> list[Run]:
    """Return the runs of a study of `sets`.

    `names` replaces the methods of each set, save for `exact`. A method of another problem is passed over, one that no
    problem has raises InputError.
    """
    if names:
        known = {entry.name for s in sets for entry in _methods_of(s.instances[0])}
        for name in names:
            if name not in GROUPS and ":" not in name and name not in known:
                raise report_unknown_method([*GROUPS, *sorted(known)], name)
    return [run for s in sets for run in _runs_of(s, names, options)]


def _runs_of(s: InstanceSet, names: Sequence[str] | None, options: Options) -> list[Run]:
    wanted = list(names or s.methods)
    here = {entry.name for entry in _methods_of(s.instances[0])}
    wanted = [name for name in wanted if name in GROUPS or ":" in name or name in here]
    if not wanted:
        return []
    wanted = list(dict.fromkeys(["exact", *wanted]))  # a gap needs an optimum
    return plan(s.instances, wanted, options, s.name)
