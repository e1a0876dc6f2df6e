"""Certify the library: `python -m tests.certificates.study FOLDER [PROBLEM or SET...]`, with `--help`.

Every instance (of these problems and sets, `*` for anything) is solved and certified, and besides newTrace with real
widths, SIA's workloads with fairness and the fronts of the reclaimings that have them. Result and certificate are files
in the folder, verified from there, the certificate by the second checker of its format too. What is in the folder is
not done again, and what was begun there and cut off comes last. `--list` prints the order, of which `--from` and `--to`
do a part. Prints a row a problem and format in CPU seconds, and what both checkers make of certificates that are
tampered with.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Any

from experiments.aryl.front import state_front
from experiments.boa.reference import NEWTRACE_BUDGETS
from experiments.harness.certification import Certification, Certified
from experiments.harness.instance_set import InstanceSet
from experiments.harness.task import ReportFile
from experiments.output.folder import result_file, write_certified
from experiments.papers import CERTIFIERS, library_sets
from experiments.plan import plan
from instances import Instance, Options, dump
from instances.boa import newtrace
from instances.files import read_json
from instances.proofs.aryl.front import FrontProofs
from instances.proofs.verify import read_result, see_bound, see_none, see_result
from instances.sia import synthetic
from models.aryl import pareto_front
from models.aryl.front_certificate import front_certificates
from tests.certificates.agreement import AGREED, both, first
from tests.certificates.readings import Case
from tests.certificates.second.checker import proves
from tests.certificates.second.reading import GaveUp, Refused
from tests.certificates.tampering import tampered_json, tampered_vipr
from tests.certificates.vipr_check import Checker
from tests.certificates.vipr_check import Refused as RefusedVipr

ROWS = "study.jsonl"
OWN_UNITS = (
    "node-consolidation",
    "sia-oracle",
    "sia-local-oracle",
)  # the program counts in another unit than the objective
Row = dict[str, Any]
LARGE = 300_000  # characters, of a certificate that is not tampered with: there are smaller ones of every kind
Way = Callable[[Instance, Path, Options], Row]
clock = time.process_time


def real_widths() -> InstanceSet:
    """newTrace with real widths, which is not in the library."""
    made = [newtrace(budget) for budget in NEWTRACE_BUDGETS]
    real = [Instance.of(i.data.model_copy(update={"widths": "continuous"}), f"{i.name}-real") for i in made]
    return InstanceSet("newTrace, real widths", real, ("exact",))


def with_fairness() -> InstanceSet:
    """SIA's workloads with fairness in the objective, which is in no reference set."""
    made = [synthetic("base", seed, days=0.5, slot_minutes=5.0, fairness_weight=0.2) for seed in range(3, 9)]
    made += [synthetic("base", seed, days=0.25, fairness_weight=0.2) for seed in range(3, 7)]
    fair = [
        Instance.of(i.data.model_copy(update={"fair_share": share}), f"{i.name}-{share}")
        for i in made
        for share in ("all-use", "above-share")
    ]
    return InstanceSet("SIA's base workload with fairness", fair, ("exact",))


def of_instance(instance: Instance, folder: Path, options: Options) -> Row:
    """Make and verify a certificate; return the times and the outcome, with `reason` if there is none."""
    (run,) = plan([instance], ["exact"], options)
    report = ReportFile(folder / "report")
    begun = clock()
    result = run.outcome(run.work(report))
    solved = clock()
    task = Certification(run, result, CERTIFIERS.get(result.problem))
    found = task.outcome(task.work(report))
    row = {"solve": solved - begun, "certify": clock() - solved, "status": found.result.status}
    if found.kind is None or found.text is None:
        return {**row, "reason": found.reason}
    write_certified(folder, found.result, found.kind, found.text)
    return {**row, "format": found.kind, "characters": len(found.text), **verified(instance, found, folder)}


def verified(instance: Instance, found: Certified, folder: Path) -> Row:
    """CPU seconds of either checker, from files, and the gap that holds."""
    begun = clock()
    ending = "vipr" if found.kind == "vipr" else "certificate.json"
    result = read_result(read_json(folder / result_file(instance.name, "exact")))
    text = (folder / result_file(instance.name, "exact", ending)).read_text()
    see_result(instance, result)
    if result.status == "infeasible":
        see_none(instance, text)
        gap, proven = 0.0, None
    else:
        seen = see_bound(instance, result, text)
        gap, proven = seen.gap, seen.proven
    return {"gap": gap, "proven": None if proven is None else str(proven), "verify": clock() - begun}


def of_front(instance: Instance, folder: Path, options: Options) -> Row:
    """Certify the front of a reclaiming, with a certificate for each bound."""
    begun = clock()
    front = pareto_front(instance.data, options)
    solved = clock()
    certificates = front_certificates(instance.data, front, options)
    stated = state_front(instance, front, certificates).model_dump(mode="json")
    certified = clock()
    proofs = FrontProofs(instance)
    for one in certificates:
        proofs.add(one.text)
    proofs.see(json.loads(json.dumps(stated)))
    seen = clock()
    for one in certificates:
        Checker(one.text).check()
    return {
        "solve": solved - begun,
        "certify": certified - solved,
        "status": "optimal" if stated["complete"] else "feasible",
        "format": "vipr",
        "characters": sum(len(one.text) for one in certificates),
        "gap": 0.0,
        "verify": seen - certified,
        "second": clock() - seen,
    }


def wanted(patterns: Sequence[str]) -> Iterator[tuple[str, Instance, Way]]:
    """List the work: set, instance and way of certification."""
    for s in (*library_sets(), real_widths(), with_fairness()):
        for instance in s.instances:
            ways: dict[str, Way] = {s.name: of_instance}
            if instance.problem == "aryl-reclaim" and all(j.gpu_hours is not None for j in instance.data.jobs):
                ways[f"fronts, {s.name}"] = of_front
            for name, way in ways.items():
                if not patterns or any(
                    fnmatchcase(word, p) for p in patterns for word in (name, s.name, instance.problem)
                ):
                    yield name, instance, way


def rows_of(file: Path) -> dict[tuple[str, str], Row]:
    """Return the last row of each set and instance; a row that was only begun has no `solve`."""
    lines = map(json.loads, file.read_text().splitlines()) if file.exists() else ()
    return {(line["set"], line["instance"]): line for line in lines}


def told(name: str, rows: Iterable[Row]) -> str:
    """Format a row: certified of all, mean and maximum kB, and CPU seconds per instance."""
    rows = list(rows)
    done = [row for row in rows if "format" in row]
    size = [row["characters"] / 1000 for row in done]
    spent = {part: sum(row.get(part, 0.0) for row in rows) for part in ("solve", "certify", "verify", "second")}
    means = ", ".join(f"{part} {seconds / max(len(done), 1):.2f}" for part, seconds in spent.items())
    optimal = sum(row["status"] in ("optimal", "infeasible") for row in done)
    kb = f"{sum(size) / max(len(size), 1):.1f} kB each, {max(size, default=0):.0f} at most"
    return f"{name}: {len(done)} of {len(rows)} certified, {optimal} optimal, {kb}; CPU s each: {means}"


def second(row: Row, instance: Instance, folder: Path) -> Row:
    """Return what the second checker of its format says of a certificate in the folder, and the CPU seconds."""
    ending = "vipr" if row["format"] == "vipr" else "certificate.json"
    text = (folder / result_file(instance.name, "exact", ending)).read_text()
    begun = clock()
    try:
        if row["format"] == "vipr":
            said: Any = Fraction(Checker(text).check().split()[-1])
        else:
            said = proves(dump(instance), text)
    except (Refused, RefusedVipr) as why:
        said = "given up" if isinstance(why, GaveUp) else "refused"
        return {"second": clock() - begun, "refused": f"{said}: {why}"}
    said = None if said is None else str(said)
    agree = said == row["proven"] or (row["format"] == "vipr" and instance.problem in OWN_UNITS)
    return {
        "second": clock() - begun,
        "says": said,
        **({} if agree else {"refused": f"proved: {said}, not {row['proven']}"}),
    }


def tampered(found: Sequence[tuple[Instance, Row]], folder: Path, count: int) -> int:
    """Print what becomes of so many that are off by one. Returns how many are false, or part the two checkers."""
    small = [(i, row) for i, row in found if row.get("proven") and row["characters"] < LARGE]
    outcomes = Counter[str]()
    for seed in range(count if small else 0):
        instance, row = small[seed * 7 % len(small)]
        vipr = row["format"] == "vipr"
        text = (folder / result_file(instance.name, "exact", "vipr" if vipr else "certificate.json")).read_text()
        case = Case(instance, "{}", text, float(Fraction(row["proven"])))
        text = (tampered_vipr if vipr else tampered_json)(text, seed)
        one = first(case, text)
        outcome = (
            "false" if isinstance(one, Fraction) and case.beyond(one) else "refused" if one == "refused" else "true"
        )
        said = outcome if vipr else both(case, text)
        outcomes[outcome if said in (*AGREED, outcome) else "disagreed"] += 1
        if one != "refused":
            print(f"{instance.name}: {outcome} though tampered with, seed {seed}: {said}")
    print(f"{outcomes.total()} tampered with: {dict(outcomes)}")
    return outcomes["false"] + outcomes["disagreed"]


def main(folder: Path, work: Sequence[tuple[str, Instance, Way]], options: Options, tampers: int = 200) -> int:
    """Do what is left, and print the rows. Returns how many have no certificate, or one of which something is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / ROWS
    known = rows_of(file)
    begun = [(name, instance.name) in known for name, instance, _ in work]
    with file.open("a") as out:

        def write(row: Row) -> None:
            known[row["set"], row["instance"]] = row
            print(json.dumps(row), file=out, flush=True)

        for again in (False, True):
            for (name, instance, how), before in zip(work, begun, strict=True):
                row = known.get((name, instance.name), {})
                if before is again and "solve" not in row:
                    write({"set": name, "instance": instance.name, "problem": instance.problem})
                    row = known[name, instance.name] | how(instance, folder, options)
                    write(row)
                    print(told(instance.name, [row]), row.get("reason", ""), flush=True)
                if row.get("proven", "") != "" and "second" not in row:
                    write(row | second(row, instance, folder))
    rows = [known[name, instance.name] for name, instance, _ in work]
    for one in dict.fromkeys((row["problem"], row["set"].startswith("fronts"), row.get("format")) for row in rows):
        same = [r for r in rows if (r["problem"], r["set"].startswith("fronts"), r.get("format")) == one]
        print(told(f"{one[0]}{', fronts' * one[1]}, {one[2]}", same))
    print(told("all", rows))
    wrong = [row for row in rows if "format" not in row or "refused" in row]
    for row in wrong:
        print(f"{row['instance']}: {row.get('reason') or 'by the second checker ' + row['refused']}")
    found = [(instance, row) for (_, instance, _), row in zip(work, rows, strict=True)]
    return len(wrong) + tampered(found, folder, tampers)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("patterns", nargs="*", metavar="PROBLEM or SET", help="with * for anything; all without any")
    parser.add_argument("--from", dest="first", type=int, default=0, help="of the order the place to begin at, from 0")
    parser.add_argument("--to", dest="end", type=int, help="the place before which to end")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds of each solve and each proof")
    parser.add_argument("--tampered", type=int, default=200, help="how many to tamper with")
    parser.add_argument("--list", action="store_true", help="print the order, and do nothing")
    given = parser.parse_intermixed_args()
    order = list(enumerate(wanted(given.patterns)))[given.first : given.end]
    if given.list:
        for place, (name, instance, _) in order:
            print(f"{place}: {name}: {instance.name}, {instance.problem}")
        sys.exit()
    options = Options(time_limit=given.limit)
    sys.exit(min(1, main(given.folder, [one for _, one in order], options, given.tampered)))
