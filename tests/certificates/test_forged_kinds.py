"""Test that forty forgeries are rejected in one line for every kind of certificate."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from instances.proofs import digest
from tests.certificates.readings import READINGS, Case, cases, refused, telling

LONG = "1" + "0" * 5000
DEEP = "[" * 3000 + "]" * 3000
OTHER = "2:" + "0" * 64


def said(text: str) -> Callable[[Case], str]:
    """Write the bound of the certificate as `text`."""
    return lambda made: json.dumps(json.loads(made.certificate) | {"bound": "@"}).replace('"@"', text)


def changed(**changes: Any) -> Callable[[Case], str]:
    return lambda made: json.dumps(json.loads(made.certificate) | changes)


def better(made: Case) -> str:
    """Claim a bound that is one better than the proven one."""
    content = json.loads(made.certificate)
    bound = content["bound"]
    top, _, under = str(bound).partition("/")
    more = int(top) + (int(under) if under else 1)
    return json.dumps(content | {"bound": more if isinstance(bound, int) else f"{more}/{under or 1}"})


def other_form(made: Case) -> str:
    """Write the bound as a text instead of a number, and vice versa."""
    content = json.loads(made.certificate)
    bound = content["bound"]
    return json.dumps(content | {"bound": str(bound) if isinstance(bound, int) else 7})


def emptied(made: Case) -> str:
    """Every list is empty: trees without nodes, proofs without rows."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: without(inner) for name, inner in value.items()}
        return [] if isinstance(value, list) else value

    content = json.loads(made.certificate)
    empty = without(content)
    return json.dumps(empty if empty != content else empty | {"nodes": []})


def of_another(made: Case) -> str:
    """Return the whole certificate of another instance of the kind."""
    reading = next(name for name in READINGS if made.instance.name.startswith(f"{name} "))
    return next(other for other in cases(reading, 6) if other.certificate != made.certificate).certificate


JSON: dict[str, Callable[[Case], str]] = {
    "bound NaN": said("NaN"),
    "bound Infinity": said("Infinity"),
    "bound -Infinity": said("-Infinity"),
    "bound negative zero": said("-0.0"),
    "bound true": said("true"),
    "bound in the other form": other_form,
    "bound 1/0": said('"1/0"'),
    "bound 0/0": said('"0/0"'),
    "bound of an exponent": said("1e999"),
    "bound of 5000 digits": said(LONG),
    "bound of 5000 digits as text": said(f'"{LONG}"'),
    "bound of depth 3000": said(DEEP),
    "bound an object": said("{}"),
    "bound a list": said("[0]"),
    "bound one better": better,
    "bound twice": lambda c: c.certificate.replace('"bound"', '"bound": 0, "bound"', 1),
    "every list empty": emptied,
    "a field that is none": changed(note=1),
    "version 2": changed(gapwise_certificate=2),
    "version true": changed(gapwise_certificate=True),
    "another problem": changed(problem="eva"),
    "another digest": changed(instance=OTHER),
    "of another instance": of_another,
    "in a list": lambda c: f"[{c.certificate}]",
    "half of it": lambda c: c.certificate[: len(c.certificate) // 2],
    "nothing": lambda c: "",
}


def rewritten(pattern: str, by: str) -> Callable[[Case], str]:
    def forge(made: Case) -> str:
        text, count = re.subn(pattern, by, made.certificate, count=1, flags=re.MULTILINE)
        assert count == 1
        return text

    return forge


def stronger(made: Case) -> str:
    """Improve the claimed bound by one."""
    least = made.instance.data.sense == "minimize"

    def more(match: re.Match[str]) -> str:
        low, high = match[1], match[2]
        return f"RTP range {Fraction(low) + 1} {high}" if least else f"RTP range {low} {Fraction(high) - 1}"

    return re.sub(r"^RTP range (\S+) (\S+)$", more, made.certificate, count=1, flags=re.MULTILINE)


def without_last(made: Case) -> str:
    """Remove the last derived row, which is the bound, and count it as missing."""
    lines = made.certificate.rstrip("\n").split("\n")[:-1]
    der = next(k for k, line in enumerate(lines) if line.startswith("DER "))
    lines[der] = f"DER {len(lines) - der - 1}"
    return "\n".join(lines) + "\n"


def disguised(made: Case) -> str:
    """Label the certificate of another instance with the digest of this one."""
    return re.sub(r"^% instance \S+$", f"% instance {digest(made.instance.data)}", of_another(made), flags=re.MULTILINE)


VIPR: dict[str, Callable[[Case], str]] = {
    "stronger than derived": stronger,
    "last row missing": without_last,
    "more rows than there are": rewritten(r"^DER (\d+)$", r"DER \g<1>9"),
    "last row assumed": rewritten(r"\{[^{}]*\} -1\n\Z", "{ asm } -1\n"),
    "last row for no reason": rewritten(r"\{[^{}]*\} -1\n\Z", "{ lin 0 } -1\n"),
    "last row by a solution": rewritten(r"\{[^{}]*\} -1\n\Z", "{ sol } -1\n"),
    "last row from itself": rewritten(r"\{[^{}]*\} -1\n\Z", "{ lin 1 999999999 1 } -1\n"),
    "bound 1/0": rewritten(r"^RTP range \S+ \S+", "RTP range 1/0 1/0"),
    "bound NaN": rewritten(r"^RTP range \S+ \S+", "RTP range nan nan"),
    "bound true": rewritten(r"^RTP range \S+ \S+", "RTP range true true"),
    "bound of 5000 digits": rewritten(r"^RTP range \S+ \S+", f"RTP range {LONG} {LONG}"),
    "bound of an exponent": rewritten(r"^RTP range \S+ \S+", "RTP range 1e9 1e9"),
    "bound in hexadecimal": rewritten(r"^RTP range \S+ \S+", "RTP range 0x1 0x1"),
    "no solution claimed": rewritten(r"^RTP range \S+ \S+", "RTP infeas"),
    "no whole numbers": rewritten(r"^INT \d+\n.*$", "INT 0\n"),
    "other objective": rewritten(r"^(OBJ \w+)\n.*$", r"\1\n0"),
    "index below 0": rewritten(r"\{ (lin|rnd) (\d+) \d+ ", r"{ \1 \2 -1 "),
    "of another instance": of_another,
    "of another instance, disguised": disguised,
    "digest twice": rewritten(r"^(% instance \S+)$", r"\1\n\1"),
    "no digest": rewritten(r"^% instance \S+\n", ""),
    "version 2": rewritten(r"^% gapwise \S+", "% gapwise 2"),
    "another problem": rewritten(r"^% problem \S+", "% problem eva"),
    "format of another version": rewritten(r"^VER \S+", "VER 2.0"),
    "half of it": lambda c: c.certificate[: len(c.certificate) // 2],
    "nothing": lambda c: "",
}


@pytest.mark.parametrize("reading", READINGS)
def test_every_forgery_of_every_kind_is_refused(reading: str):
    made = telling(reading)
    for hole, forge in (VIPR if made.vipr else JSON).items():
        text = forge(made)
        assert text != made.certificate, hole
        try:
            refused(made.instance.data, text)
        except BaseException as error:
            raise AssertionError(f"{reading}: {hole}: {error!r}") from error


def test_there_are_forty():
    assert len(JSON | {f"VIPR: {hole}": forge for hole, forge in VIPR.items()}) >= 40
