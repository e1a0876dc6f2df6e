"""Test that two independent checkers of VIPR files agree, and SCIP's own if it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from instances import CheckFailed, InputError
from instances.proofs import proven_by, read_vipr
from instances.registry import PROBLEMS
from tests.certificates.kept import kept, run
from tests.certificates.readings import READINGS, Case, telling
from tests.certificates.tampering import tampered_vipr
from tests.certificates.vipr_check import Checker, Refused
from tests.sampling import sample

OWN = shutil.which("viprchk")
OWN_UNITS = ("node-consolidation",)  # problems whose program does not count in the unit of the objective


def second(text: str) -> Fraction | None:
    """Return the bound that the second checker sees, `None` if it refuses the file."""
    try:
        said = Checker(text).check()
    except Refused:
        return None
    found = re.fullmatch(r"at (?:least|most) (\S+)", said)
    assert found is not None, said
    return Fraction(found[1])


def first(text: str) -> Fraction | None:
    try:
        return proven_by(read_vipr(text))
    except (CheckFailed, InputError):
        return None


def vipr_cases() -> list[Case]:
    return [*(case for case in map(telling, READINGS) if case.vipr), *(case for case in kept() if case.vipr)]


def test_both_see_the_same_proved_and_agree_on_what_is_tampered_with():
    outcomes = Counter[str]()
    for i, case in enumerate(vipr_cases()):
        proved = PROBLEMS[case.instance.problem].prove(case.instance.data, case.certificate).bound
        seen = first(case.certificate)
        assert second(case.certificate) == seen is not None
        assert seen == proved or case.instance.problem in OWN_UNITS
        for number in range(4 * i, 4 * i + sample(1, 40)):
            text = tampered_vipr(case.certificate, number)
            assert second(text) == first(text), f"{case.instance.name}: {number}"
            outcomes["refused" if first(text) is None else "accepted"] += 1
    assert outcomes["refused"] > 3 * outcomes["accepted"]


@pytest.mark.skipif(OWN is None, reason="scipopt's viprchk is not installed")
def test_scipopts_own_checker_accepts_them_all(tmp_path: Path):
    file = tmp_path / "one.vipr"
    for case in vipr_cases():
        file.write_text(case.certificate)
        done = subprocess.run([str(OWN), str(file)], capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, "Successfully verified" in done.stdout) == (0, True), case.instance.name


EXAMPLE = """VER 1.1
VAR 2 x y
INT 2 0 1
OBJ min 2 0 1 1 1
CON 2 0
C1 G 1 2 0 4 1 1
C2 L 2 2 0 4 1 -1
RTP range 1 1
SOL 1
opt 1 1 1
DER 4
C3 G -1/2 1 1 1 { lin 2 0 1/2 1 -1/2 } 3
C4 G 0 1 1 1 { rnd 1 2 1 } 4
C5 G 1/4 OBJ { lin 2 0 1/4 3 3/4 } 5
C6 G 1 OBJ { rnd 1 4 1 } 0
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("range 1 1", "range 2 1"),
        ("range 1 1", "range 1 1/2"),
        ("range 1 1", "range -inf 1"),
        ("opt 1 1 1", "opt 1 1 1/2"),
        ("opt 1 1 1", "opt 1 0 1"),
        ("INT 2 0 1", "INT 1 0"),
        ("1 -1/2 }", "1 1/2 }"),
        ("lin 2 0 1/4 3 3/4", "lin 2 0 1/4 3 1"),
        ("lin 2 0 1/4 3 3/4", "lin 2 0 1/0 3 3/4"),
        ("lin 2 0 1/4 3 3/4", "lin 2 0 1/4 5 3/4"),
        ("lin 2 0 1/4 3 3/4", "lin 2 0 1/4 0 3/4"),
        ("{ rnd 1 4 1 }", "{ asm }"),
        ("{ rnd 1 4 1 }", "{ lin 1 4 1 }"),
        ("{ rnd 1 4 1 }", "{ sol }"),
        ("{ rnd 1 4 1 }", "{ uns 4 2 4 3 }"),
        ("{ rnd 1 4 1 }", "{ lin weak { 0 } 1 4 1 }"),
        ("DER 4", "DER 3"),
        ("VER 1.1", "VER 1.0"),
        ("{ rnd 1 4 1 } 0\n", "{ rnd 1 4 1 } 0\nmore"),
    ],
)
def test_the_second_refuses_what_does_not_follow(old: str, new: str):
    assert second(EXAMPLE) == 1
    assert EXAMPLE.count(old) == 1
    assert second(EXAMPLE.replace(old, new)) is None


def test_certificates_of_the_library_that_are_tampered_with_prove_nothing_false():
    seen: list[str] = []
    total = run(sample(12, 300), 0, seen.append)
    assert total["false"] == 0, seen
    assert total["refused"] > 0.8 * total.total()
