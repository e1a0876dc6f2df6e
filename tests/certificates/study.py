"""Certificates of the library, and 200 that are tampered with: `python -m tests.certificates.study [PROBLEM...]`.

Every instance (of these problems) is solved and certified, and newTrace with real widths, SIA's workloads with fairness
and the fronts of the reclaimings that have them besides. Result and certificate are written to files and verified from
there. Prints a row a set in CPU seconds, and every tampered certificate that is accepted.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from experiments.aryl.front_certificates import stated_front
from experiments.boa.reference import NEWTRACE_BUDGETS
from experiments.harness.certification import Certification, Certified
from experiments.harness.instance_set import InstanceSet
from experiments.harness.task import ReportFile
from experiments.output.folder import result_file, write_certified
from experiments.papers import CERTIFIERS, library_sets
from experiments.plan import plan
from instances import CheckFailed, InputError, Instance, Options
from instances.boa import newtrace
from instances.files import read_json
from instances.proofs import NoCertificate
from instances.proofs.aryl.front import FrontProofs
from instances.proofs.verify import Verified, read_result, see_bound, see_result
from instances.sia import synthetic
from models.aryl import pareto_front
from models.aryl.front_certificate import front_certificates
from tests.certificates.tampering import tampered_json, tampered_vipr

OPTIONS = Options(time_limit=60)
LARGE = 300_000  # characters, of a certificate that is not tampered with: there are smaller ones of every kind


def certified(instance: Instance, folder: Path) -> tuple[float, float, Certified]:
    """CPU seconds of solving and of certifying, and the outcome."""
    (run,) = plan([instance], ["exact"], OPTIONS)
    report = ReportFile(folder / "report")
    begin = time.process_time()
    result = run.outcome(run.work(report))
    solved = time.process_time()
    task = Certification(run, result, CERTIFIERS.get(result.problem))
    found = task.outcome(task.work(report))
    return solved - begin, time.process_time() - solved, found


def verified(instance: Instance, found: Certified, folder: Path) -> tuple[float, Verified]:
    """CPU seconds of verifying from files, and what holds."""
    assert found.kind is not None
    assert found.text is not None
    write_certified(folder, found.result, found.kind, found.text)
    name = found.result.instance
    ending = "vipr" if found.kind == "vipr" else "certificate.json"
    begin = time.process_time()
    result = read_result(read_json(folder / result_file(name, "exact")))
    see_result(instance, result)
    seen = see_bound(instance, result, (folder / result_file(name, "exact", ending)).read_text())
    return time.process_time() - begin, seen


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


def fronts(sets: Sequence[InstanceSet]) -> int:
    """Print a row for the fronts of all reclaimings whose jobs have GPU-hours; the number that are not complete."""
    seconds: dict[str, float] = defaultdict(float)
    done, complete, points, size, clock = 0, 0, 0, 0, time.process_time
    for instance in (i for s in sets for i in s.instances if i.problem == "aryl-reclaim"):
        if any(job.gpu_hours is None for job in instance.data.jobs):
            continue
        begin = clock()
        front = pareto_front(instance.data, OPTIONS)
        solved = clock()
        certificates = front_certificates(instance.data, front, OPTIONS)
        stated = stated_front(instance, front, certificates).model_dump(mode="json")
        certified = clock()
        proofs = FrontProofs(instance)
        for one in certificates:
            proofs.add(one.text)
        proofs.see(json.loads(json.dumps(stated)))
        seconds["solve"] += solved - begin
        seconds["certify"] += certified - solved
        seconds["verify"] += clock() - certified
        done, complete, points = done + 1, complete + stated["complete"], points + len(front.points)
        size += sum(len(one.text) for one in certificates)
    spent = ", ".join(f"{step} {s / done:.2f}" for step, s in seconds.items())
    print(
        f"fronts: {complete} of {done} complete, {points} points, {size / done / 1000:.0f} kB each; CPU s each: {spent}"
    )
    return done - complete


def main(problems: Sequence[str], tampered: int = 200) -> int:
    """Print the rows. Returns the number of certificates that are missing, refused, or tampered with and accepted."""
    wrong, kept = 0, []
    sets = [*library_sets(), real_widths(), with_fairness()]
    if not problems or "aryl-reclaim" in problems:
        wrong += fronts(sets)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for s in sets:
            datas = [i for i in s.instances if not problems or i.problem in problems]
            if not datas:
                continue
            seconds: dict[str, float] = defaultdict(float)
            widest, done, optimal, size = 0.0, 0, 0, 0
            for instance in datas:
                solve, certify, found = certified(instance, folder)
                seconds["solve"] += solve
                seconds["certify"] += certify
                if found.text is None:
                    print(f"{instance.name}: no certificate: {found.reason}")
                    continue
                verify, seen = verified(instance, found, folder)
                seconds["verify"] += verify
                widest, done = max(widest, seen.gap), done + 1
                optimal, size = optimal + (found.result.status == "optimal"), size + len(found.text)
                if len(found.text) < LARGE:
                    kept.append((instance, found))
            wrong += len(datas) - done
            spent = ", ".join(f"{step} {s / len(datas):.2f}" for step, s in seconds.items())
            told = f"{done} of {len(datas)} verified, {optimal} optimal, largest gap {widest:.1e}"
            print(f"{s.name}: {told}, {size / max(done, 1) / 1000:.0f} kB each; CPU s each: {spent}", flush=True)
    accepted = 0
    for seed in range(tampered):
        instance, found = kept[seed * 7 % len(kept)]
        assert found.text is not None
        change = tampered_vipr if found.kind == "vipr" else tampered_json
        try:
            see_bound(instance, found.result, change(found.text, seed))
        except (CheckFailed, InputError, NoCertificate):
            continue
        accepted += 1
        print(f"{instance.name}: accepted though tampered with, seed {seed}")
    print(f"{tampered - accepted} of {tampered} tampered certificates refused")
    return wrong + accepted


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1:])))
