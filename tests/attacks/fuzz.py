"""Mutate instance files and traces: each is rejected in one line, or every applicable method has a checked answer.

`python -m tests.attacks.fuzz --files 1200 --traces 420 --seed 0 --out DIR` prints a summary and keeps what failed.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
import resource
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.harness.run import Run, load_method
from experiments.harness.runner import run_all
from experiments.plan import methods_for
from instances import InputError, Instance, Options, Result, better, check, dump, load, parse
from instances.boa import from_trace
from instances.eva import alibaba, alive
from instances.sia import gavel, philly, trace_instance
from tests.attacks.mutants import bases, csv_mutant, mutant

LIMIT_S = 2.0
MEMORY = 8 * 2**30
OVERRAN = "overran the time limit and was ended from outside"
LONGEST = 900  # characters of a message that is still one line


@dataclass(frozen=True)
class Failure:
    """What went wrong with one file, and with which method."""

    source: str
    method: str
    symptom: str
    text: str


@dataclass(frozen=True)
class Accepted:
    """A mutated file that was read, and its text."""

    source: str
    text: str
    instance: Instance


def unclear(message: str) -> str | None:
    """Describe the fault of a refusal: it must be one line that names the place."""
    if len(message.splitlines()) != 1:
        return f"not one line: {message!r}"
    if len(message) > LONGEST:
        return f"{len(message)} characters: {message[:200]}"
    if not re.match(r"[^:]+: .", message):
        return f"no path: {message}"
    return None


def read_files(files: int, seed: int, folder: Path) -> tuple[list[Accepted], list[str], list[Failure]]:
    """Read the mutated files, and return the accepted ones, the refusals, and the failures to do either."""
    sources = bases()
    return read_texts({f"file {i}": mutant(sources, seed, i) for i in range(files)}, folder)


def read_texts(texts: Mapping[str, str], folder: Path) -> tuple[list[Accepted], list[str], list[Failure]]:
    """As `read_files`, for these texts by name."""
    path = folder / "f.json"
    accepted, refused, failures = [], [], []
    for name, text in texts.items():
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            instance = load(path)
            assert parse(dump(instance)) == instance
        except InputError as error:
            refused.append(str(error))
            symptom = unclear(str(error))
        except BaseException as error:
            symptom = f"{type(error).__name__}: {error}"
        else:
            accepted.append(Accepted(name, text, instance.model_copy(update={"name": name, "reference": None})))
            continue
        if symptom is not None:
            failures.append(Failure(name, "load", symptom, text))
    return accepted, refused, failures


def planned(case: Accepted) -> tuple[list[Run], list[Failure]]:
    """Plan the runs of all applicable methods that are not costly."""
    try:
        methods = methods_for(case.instance, ["all"])
    except Exception as error:
        return [], [Failure(case.source, "methods_for", f"{type(error).__name__}: {error}", case.text)]
    return [Run(case.instance, method, Options(time_limit=LIMIT_S)) for method in methods], []


def judge(case: Accepted, results: Sequence[tuple[Run, Result]]) -> Iterator[Failure]:
    """Describe the errors in the results of one instance, alone and together."""
    data = case.instance.data
    for _, result in results:
        for symptom in wrong(data, result):
            yield Failure(case.source, result.method, symptom, case.text)
    proved = [r for _, r in results if r.bound is not None]
    found = [r for _, r in results if r.solved]
    for claim in proved:
        for other in found:
            if other is not claim and better(other.objective, claim.bound, data.sense):
                symptom = f"bound {claim.bound!r}, {claim.status}, but {other.method} has {other.objective!r}"
                yield Failure(case.source, claim.method, symptom, case.text)
    for run, result in results:
        stuck = result.status == "infeasible" or (result.status, result.termination) == ("no_solution", "finished")
        if load_method(run.entry).kind == "exact" and stuck and found:
            symptom = f"{result.status}, {result.reason}, but {found[0].method} has {found[0].objective!r}"
            yield Failure(case.source, result.method, symptom, case.text)


def wrong(data: Any, result: Result) -> Iterator[str]:
    """Describe the errors in one result."""
    reason = result.reason or ""
    if len(reason.splitlines()) > 1:
        yield f"reason is not one line: {reason!r}"
    if result.status == "error" and not reason.startswith("InputError: "):
        yield f"error: {reason}"
    if result.termination == "killed":
        yield OVERRAN
    if result.status == "no_solution" and not reason:
        yield f"no solution, {result.termination}, and no reason"
    if result.solution is not None and result.status != "error":
        verdict = check(data, result.solution)
        if verdict.objective != result.objective or verdict.violations != result.violations:
            yield f"the checker says {verdict}, the result {result.objective!r} with {result.violations}"
    if result.solved and result.bound is not None and better(result.objective, result.bound, data.sense):
        yield f"objective {result.objective!r} is better than its own bound {result.bound!r}"


def run_files(cases: Sequence[Accepted], jobs: int, limit_s: float = LIMIT_S) -> tuple[list[Failure], Counter[str]]:
    """Run every method on every file that was read, in processes that are ended when they overrun."""
    failures: list[Failure] = []
    runs: list[Run] = []
    counts: Counter[str] = Counter()
    for case in cases:
        fitting, unfit = planned(case)
        runs += fitting
        failures += unfit
    by_source: dict[str, list[tuple[Run, Result]]] = {}
    for run, result in run_all(runs, jobs):
        by_source.setdefault(run.instance.name, []).append((run, result))
        counts[result.status] += 1
        counts["refused by a method"] += result.status == "error" and (result.reason or "").startswith("InputError: ")
    for case in cases:
        failures += judge(case, by_source.get(case.source, []))
    return failures, counts


def lasting(cases: Sequence[Accepted], failures: Sequence[Failure], jobs: int) -> list[Failure]:
    """Return the failures; a method that was ended from outside is first repeated with five times the limit."""
    late = {(f.source, f.method) for f in failures if f.symptom == OVERRAN}
    slow = [
        Run(run.instance, run.entry, Options(time_limit=5 * LIMIT_S))
        for case in cases
        if any(case.source == source for source, _ in late)
        for run in planned(case)[0]
        if (case.source, run.entry.name) in late
    ]
    still = {(run.instance.name, r.method) for run, r in run_all(slow, jobs) if OVERRAN in wrong(run.instance.data, r)}
    return [f for f in failures if f.symptom != OVERRAN or (f.source, f.method) in still]


PHILLY = """job_id,pool,submit_s,duration_s,gpus
0,p,0,600,2
1,q,30,90,1
2,p,95,10,4
3,p,172800,10,1
4,q,200,5000,2
"""
GAVEL = """job_id,pool,submit_s,duration_v100_s,gpus
a,p,0,60,1
b,p,5,,1
c,q,400,86400,2
d,q,500,120.5,1
"""
PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,pod_phase
a,12000,16384,1,1000,Running
b,6500,12289,1,460,Running
c,6500,12289,1,460,Failed
e,1000,1024,0,0,Running
f,900000,1024,0,0,Running
"""
ALIVE = """job_id,arrival_s,duration_s,workload_class,workload,gpus,vcpus,ram_gb
0,0,100,resnet18[0],ResNet18,1,12,16
1,50,100,resnet18[0],ResNet18,1,12,16
2,60,10,a3c[0],A3C,0,4,8
3,60.5,1e5,gcn[1],GCN,0,6,60
"""
JOBS = "name,time,application\nx,0,a\ny,1800,b\nz,7200,a\nw,7300,b\n"
SPEEDUPS = """app,epoch_index,epoch_size_gpu_seconds,k,speedup
a,0,3600,1,1
a,0,3600,2,1.5
a,1,1800,1,1
a,1,1800,4,3.1
b,0,7200,1,1
"""


def read_trace(kind: str, path: Path, folder: Path, rng: random.Random) -> Instance:
    """Read the file at `path` with the trace reader `kind`; a second table is written to `folder`."""
    if kind in ("philly", "gavel"):
        jobs = (philly if kind == "philly" else gavel)(path)
        if rng.random() < 0.5:
            return trace_instance(jobs, slot_minutes=rng.choice((1.0, 5.0)), seed=1)
        return trace_instance(jobs, {"p": 4, "q": 2}, days=rng.choice((None, 1)))
    if kind == "alibaba":
        return alibaba(path, gpus=rng.choice(("rounded", "fractional")), perturb=rng.choice((0.0, 0.1)))
    if kind == "alive":
        return alive(path, 65, objective=rng.choice(("cost", "net-saving")))
    beside = folder / "beside.csv"
    beside.write_text(SPEEDUPS if kind == "boa jobs" else JOBS)
    trace, speedups = (path, beside) if kind == "boa jobs" else (beside, path)
    return from_trace(trace, speedups=speedups, budget_over_load=3, rescale_seconds=36)


TRACES = {"philly": PHILLY, "gavel": GAVEL, "alibaba": PODS, "alive": ALIVE, "boa jobs": JOBS, "boa speedups": SPEEDUPS}


def read_traces(traces: int, seed: int, folder: Path) -> tuple[list[Accepted], list[str], list[Failure]]:
    """As `read_files`, for traces of all formats in turn."""
    accepted, refused, failures = [], [], []
    for i in range(traces):
        kind = list(TRACES)[i % len(TRACES)]
        rng = random.Random(f"trace {seed} {i}")
        name, text = f"trace {i} ({kind})", csv_mutant(TRACES[kind], rng)
        instance, refusal, symptom = try_trace(kind, text, folder, rng)
        if instance is not None:
            accepted.append(Accepted(name, text, instance))
        if refusal is not None:
            refused.append(refusal)
        if symptom is not None:
            failures.append(Failure(name, kind, symptom, text))
    return accepted, refused, failures


def try_trace(kind: str, text: str, folder: Path, rng: random.Random) -> tuple[Instance | None, str | None, str | None]:
    """Return the instance of `text` or the refusal, and the errors in either."""
    path = folder / "t.csv"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            instance = read_trace(kind, path, folder, rng)
        assert parse(dump(instance)) == instance
    except InputError as error:
        return None, str(error), unclear(str(error))
    except BaseException as error:
        return None, None, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return instance, None, "read, although a row has more cells than the header" if _overfull(text) else None


def _overfull(text: str) -> bool:
    rows = [row for row in csv.reader(text.splitlines()) if row]
    return any(len(row) > len(rows[0]) for row in rows)


def main() -> int:
    """Attack, print a summary and keep what failed; the exit status is 1 where anything did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--traces", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="folder for the files that failed")
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # also of the processes that run the methods
    with tempfile.TemporaryDirectory() as folder:
        cases, refused, failures = read_files(asked.files, asked.seed, Path(folder))
        traces, refused_traces, of_traces = read_traces(asked.traces, asked.seed, Path(folder))
    ran, counts = run_files(cases, asked.jobs)
    failures += of_traces + lasting(cases, ran, asked.jobs)
    for number, failure in enumerate(failures):
        print(f"{failure.source}, {failure.method}: {failure.symptom[:400]!r}")
        if asked.out is not None:
            asked.out.mkdir(parents=True, exist_ok=True)
            place = asked.out / f"{number:03}-{re.sub(r'[^a-z0-9]+', '-', failure.source.lower())}.txt"
            place.write_bytes(f"{failure.method}: {failure.symptom}\n{failure.text}".encode("utf-8", "surrogatepass"))
    print(f"{asked.files} files: {len(refused)} refused, {len(cases)} read, {counts.total()} results {dict(counts)}")
    print(f"{asked.traces} traces: {len(refused_traces)} refused, {len(traces)} read")
    print(f"{len(failures)} failures in {len({f.source for f in failures})} files")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
