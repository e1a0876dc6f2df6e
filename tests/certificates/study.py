"""Certificates of the library, and 200 that are tampered with: `python -m tests.certificates.study [TAMPERED]`.

Every instance of Eva's packing, of BOA and of Aryl is solved and certified, and newTrace with real widths besides.
Result and certificate are written to files and verified from there. Prints a row a set in CPU seconds, and every
tampered certificate that is accepted.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

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
from instances.proofs.verify import Verified, read_result, see_bound, see_result
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


def main(tampered: int) -> int:
    """Print the rows. Returns the number of certificates that are missing, refused, or tampered with and accepted."""
    wrong, kept = 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for s in [*library_sets(), real_widths()]:
            datas = [i for i in s.instances if i.problem in CERTIFIERS]
            if not datas:
                continue
            seconds: dict[str, float] = defaultdict(float)
            widest, done = 0.0, 0
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
                if len(found.text) < LARGE:
                    kept.append((instance, found))
            wrong += len(datas) - done
            spent = ", ".join(f"{step} {s / len(datas):.2f}" for step, s in seconds.items())
            print(
                f"{s.name}: {done} of {len(datas)} verified, largest gap {widest:.1e}; CPU s each: {spent}", flush=True
            )
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
    sys.exit(min(1, main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)))
