"""Verify a certificate of `eva-reconfiguration`: a VIPR file over patterns, which are enumerated again."""

from __future__ import annotations

import re
from fractions import Fraction

from instances.errors import CheckFailed, InputError
from instances.eva.reconfiguration import EvaReconfiguration
from instances.proofs.certificate import NoCertificate, Proven, see_instance
from instances.proofs.derivation import proven_of
from instances.proofs.eva.round_program import ClassedRound, RoundDuals, RoundProgram
from instances.proofs.vipr import read_vipr

DIGITS = 40  # of a dual, as an integer multiple of 1 / scale


def prove_reconfiguration(data: EvaReconfiguration, text: str) -> Proven:
    """Return the bound on a round that the VIPR file `text` proves.

    Raises InputError, NoCertificate, or CheckFailed.
    """
    file, round_ = read_vipr(text), ClassedRound(data)
    see_instance(data, file.header.get("problem"), file.header.get("instance"))  # before the enumeration, which is slow
    reach, duals = read_duals(round_, file.header.get("reach", ""), text)
    proven = proven_of(data, RoundProgram(round_, duals, reach).program(), file)
    return Proven(max(proven.bound, reach), proven.how)


def read_duals(round_: ClassedRound, reach: str, text: str) -> tuple[Fraction, RoundDuals]:
    """Return `reach` and the duals from the comments of a file.

    Raises InputError, and CheckFailed if the duals do not match the rows.
    """
    comments = re.findall(r"^% duals (.*)$", text, re.MULTILINE)
    if len(comments) > 1:
        raise InputError("duals: named twice in the comments")
    duals = comments[0] if comments else ""
    if not re.fullmatch(r"-?\d{1,100}(/[1-9]\d{0,99})?", reach, re.ASCII):
        raise InputError(f"reach: must be a rational number, got {reach[:40]!r}")
    whole = rf"-?\d{{1,{DIGITS}}}"
    if not re.fullmatch(rf"[1-9]\d{{0,{DIGITS - 1}}}:{whole}(,{whole})*", duals, re.ASCII):
        raise InputError(f"duals: must be a scale and whole numbers, got {duals[:40]!r}")
    scale, _, each = duals.partition(":")
    found = [Fraction(int(number), int(scale)) for number in each.split(",")]
    tasks, groups = len(round_.members), len(round_.groups)
    if len(found) != tasks + groups + len(round_.rows):
        raise CheckFailed(f"duals: {len(found)} are stated, for {tasks + groups + len(round_.rows)} rows")
    both = tasks + groups
    return Fraction(reach), RoundDuals(tuple(found[:tasks]), tuple(found[tasks:both]), tuple(found[both:]))


def with_duals(text: str, duals: RoundDuals, scale: int) -> str:
    """Return a VIPR file with the duals in front of it. Raises NoCertificate, see `written_duals`."""
    return f"% duals {written_duals(duals, scale)}\n{text}"


def written_duals(duals: RoundDuals, scale: int) -> str:
    """Return the duals in the format of the comments, as multiples of 1 / `scale`.

    Raises NoCertificate if a multiple has more than `DIGITS` characters.
    """
    each = [str(int(usd * scale)) for usd in (*duals.tasks, *duals.groups, *duals.kept)]
    if max(map(len, each)) > DIGITS:
        raise NoCertificate(f"a dual of more than {DIGITS} digits")
    return f"{scale}:" + ",".join(each)
