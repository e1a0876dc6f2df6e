"""Test that each VIPR file with a forged derivation is rejected in one line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from instances import CheckFailed
from instances.proofs.verify import read_result, see_bound
from tests.certificates.readings import HUGE, Case, refused, telling


def derived(made: Case, end: str, *lines: str) -> str:
    """Return a case's VIPR file with other lines from RTP on, and `lines` derived; {m} is the first of them."""
    head = made.certificate[: made.certificate.index("RTP ")]
    m = int(re.search(r"^CON (\d+)", head, re.MULTILINE).group(1))
    names = {"m": m, "n": m + 1, "o": m + 2, "p": m + 3}
    said = [f"d{k} {line.format_map(names)} -1" for k, line in enumerate(lines)]
    return (
        head
        + "\n".join([end, f"DER {len(lines)}", *(text.replace("<", "{").replace(">", "}") for text in said)])
        + "\n"
    )


NONE = "RTP range 99 inf\nSOL 0"
VIPR: list[tuple[str, Callable[[Case], str], str]] = [
    ("assumed and never discharged", lambda c: derived(c, NONE, "G 99 OBJ < asm >"), "rests on assumptions"),
    (
        "follows from an assumption",
        lambda c: derived(c, NONE, "G 99 OBJ < asm >", "G 99 OBJ < lin 1 {m} 1 >"),
        "rests on",
    ),
    ("absurd for no reason", lambda c: derived(c, NONE, "G 1 0 < lin 0 >"), "does not follow"),
    ("nothing at all", lambda c: derived(c, NONE), "nothing is claimed"),
    ("no bound", lambda c: derived(c, "RTP range -inf inf\nSOL 0", "G 0 OBJ < asm >"), "nothing is claimed"),
    ("bound inf", lambda c: derived(c, "RTP range inf inf\nSOL 0", "G 0 OBJ < asm >"), "must be a rational"),
    ("bound nan", lambda c: derived(c, "RTP range nan inf\nSOL 0", "G 0 OBJ < asm >"), "must be a rational"),
    ("forward reference", lambda c: derived(c, NONE, "G 99 OBJ < lin 1 {n} 1 >", "G 99 OBJ < asm >"), "an index below"),
    ("reference to itself", lambda c: derived(c, NONE, "G 99 OBJ < lin 1 {m} 1 >"), "an index below"),
    (
        "multiplier of the wrong sign",
        lambda c: derived(c, NONE, "G 99 0 < lin 2 0 -1 2 1 >"),
        "the wrong sign|does not",
    ),
    ("multiplier 1/0", lambda c: derived(c, NONE, "G 99 0 < lin 1 0 1/0 >"), "must be a rational"),
    ("multiplier 1e308", lambda c: derived(c, NONE, "G 99 0 < lin 1 0 1e308 >"), "must be a rational"),
    ("multiplier of another script", lambda c: derived(c, NONE, "G 99 0 < lin 1 0 ٣ >"), "must be a rational"),
    ("multiplier of 5000 digits", lambda c: derived(c, NONE, f"G 99 0 < lin 1 0 {'1' * 5000} >"), "must be a rational"),
    ("index twice", lambda c: derived(c, NONE, "G 99 0 < lin 2 0 1 0 1 >"), "named twice"),
    ("rounding of a half", lambda c: derived(c, NONE, "G 99 1 0 1/2 < rnd 1 0 1/2 >"), "cannot be rounded"),
    (
        "numbers between the sides",
        lambda c: derived(c, NONE, "L 0 1 0 1 < asm >", "G 2 1 0 1 < asm >", "G 99 OBJ < uns {m} {m} {n} {n} >"),
        "does not follow|do not cover",
    ),
    (
        "sides of two variables",
        lambda c: derived(c, NONE, "L 0 1 0 1 < asm >", "G 1 1 1 1 < asm >", "G 1 0 < uns {m} {m} {n} {n} >"),
        "does not follow|do not cover",
    ),
    (
        "one side for both",
        lambda c: derived(
            c, NONE, "L 0 1 0 1 < asm >", "G 1 1 0 1 < asm >", "G 99 OBJ < asm >", "G 99 OBJ < uns {o} {m} {o} {n} >"
        ),
        "rests on assumptions|do not cover",
    ),
    ("solution that breaks a row", lambda c: derived(c, "RTP range 0 9\nSOL 1\nx 1 0 -1", "G 0 OBJ < asm >"), "breaks"),
    (
        "half of a solution",
        lambda c: derived(c, "RTP range 0 9\nSOL 1\nx 1 0 1/2", "G 0 OBJ < asm >"),
        "no whole number|breaks",
    ),
    (
        "cut-off by no solution",
        lambda c: derived(c, NONE, "L 0 OBJ < sol >", "G 99 OBJ < lin 0 >"),
        "no solution is known|cut-off",
    ),
    (
        "weak bound of 400 digits",
        lambda c: derived(c, f"RTP range -{HUGE} inf\nSOL 0", f"G -{HUGE} OBJ < lin 0 >"),
        "does not follow|more follows",
    ),
    (
        "row left out",
        lambda c: re.sub(
            r"^CON (\d+) (\d+)\n.*\n", lambda m: f"CON {int(m[1]) - 1} {m[2]}\n", c.certificate, flags=re.MULTILINE
        ),
        "constraints, the instance|an index below",
    ),
    (
        "other right-hand side",
        lambda c: re.sub(r"_upper L \d+", "_upper L 0", c.certificate, count=1),
        "not the constraint",
    ),
    (
        "other objective",
        lambda c: re.sub(r"^OBJ (min|max)\n\d+.*$", r"OBJ \1\n0", c.certificate, flags=re.MULTILINE),
        "objective: not",
    ),
    ("other sense", lambda c: c.certificate.replace("OBJ min", "OBJ max"), "sense: not"),
    (
        "other integers",
        lambda c: re.sub(r"^INT \d+\n.*$", "INT 1\n0", c.certificate, flags=re.MULTILINE),
        "integers: not",
    ),
    (
        "instance named twice",
        lambda c: c.certificate.replace("% instance", "% instance 0\n% instance"),
        "instance: named twice",
    ),
    (
        "other instance",
        lambda c: re.sub("% instance .*", "% instance 2:" + "0" * 64, c.certificate),
        "of another instance",
    ),
    ("other problem", lambda c: re.sub("% problem .*", "% problem boa-allocation", c.certificate), "problem: must be"),
    ("version of another script", lambda c: c.certificate.replace("% gapwise 1", "% gapwise ١"), "gapwise: must be 1"),
    ("more after the end", lambda c: c.certificate + "d G 99 OBJ { asm } -1\n", "must end after"),
]
DERIVED = ("aryl reclaim", "aryl reclaim, lost hours", "aryl placement", "aryl mean jct", "sia oracle, fairness")


@pytest.mark.parametrize(("hole", "forge", "said"), VIPR, ids=[hole for hole, _, _ in VIPR])
def test_a_forged_derivation_is_refused(hole: str, forge: Callable[[Case], str], said: str):
    for reading in DERIVED:
        made = telling(reading)
        line = refused(made.instance.data, forge(made))
        assert re.search(said, line), f"{reading}: {line}"


@pytest.mark.parametrize("reach", ["0", "-1", "inf", "1/0", "٣", "1e9", "1" * 101, "1 \n% reach 2"])
def test_a_reach_that_is_none_is_refused(reach: str):
    made = telling("aryl mean jct")
    assert "reach: " in refused(made.instance.data, re.sub("% reach .*", f"% reach {reach}", made.certificate))


def test_a_weak_bound_of_400_digits_is_one_line():
    """What holds may be too weak to be shown as a float."""
    made = telling("aryl reclaim")
    rows = made.certificate[: made.certificate.index("RTP ")]
    lower = [k for k, line in enumerate(rows.split("CON ")[1].splitlines()[1:]) if "_lower " in line]
    costs = rows.split("OBJ min\n")[1].splitlines()[0].split()
    sums = " ".join(f"{lower[int(i)]} {c}" for i, c in zip(costs[1::2], costs[2::2], strict=True))
    text = f"{rows}RTP range -{HUGE} inf\nSOL 0\nDER 1\nd G 0 OBJ {{ lin {costs[0]} {sums} }} -1\n"
    content = json.loads(made.result)
    content |= {"bound": content["objective"], "gap": 0.0, "status": "optimal"}
    with pytest.raises(CheckFailed, match="is claimed, something too long to be shown is proved"):
        see_bound(made.instance, read_result(content), text)
