"""Verify a result with its certificate: the solution by its checker, the bound in rational arithmetic."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from instances.envelope import Instance
from instances.errors import CheckFailed, InputError, MalformedSolution
from instances.gaps import agree, gap, is_gap_reached
from instances.options import Options, Solution
from instances.proofs.certificate import Certificate, NoCertificate, NoSolution, Proven
from instances.proofs.vipr import see_denominators
from instances.registry import PROBLEMS, check
from instances.result import UNSOLVED, Result
from instances.validation import show, validate

FIGURES = ("objective", "bound", "gap")


@dataclass(frozen=True)
class Verified:
    """The verified figures of a result.

    - `objective`: of the solution.
    - `bound`: as the result states it.
    - `gap`: the relative gap of the two.
    - `how`: a short description of the proof of the bound.
    - `proven`: the bound that the certificate proves, at least as strong as `bound`.
    """

    objective: float
    bound: float
    gap: float
    how: str
    proven: Fraction


def read_result(content: Any) -> Result:
    """Return the result in `content`, the parsed JSON of a result file; all its numbers are finite.

    Raises InputError.
    """
    if not isinstance(content, Mapping):
        raise InputError("must be an object with the fields of a result")
    for name in FIGURES:
        value = content.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise InputError(f"{name}: must be a number, got {show(value)}")
    _refuse_infinite(content)
    return validate(Result, content, root="")


def _refuse_infinite(content: Any) -> None:
    """Raise InputError if `content` contains NaN or a number that a finite float cannot represent."""
    waiting: list[tuple[str, Any]] = [("", content)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(f"{path}.{name}" if path else str(name), inner) for name, inner in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(f"{path}[{i}]", inner) for i, inner in enumerate(value)]
        elif isinstance(value, int | float) and not -sys.float_info.max <= value <= sys.float_info.max:
            raise InputError(f"{path[:60]}: must be a finite number, got {show(value)}")


def see_result(instance: Instance, result: Result) -> None:
    """Check that a result is of the instance, that the checker accepts its solution, and that its figures agree.

    Raises InputError for a result of another instance or without what could be verified, and CheckFailed.
    """
    for name, stated, own in (
        ("problem", result.problem, instance.problem),
        ("instance", result.instance, instance.name),
    ):
        if stated != own:
            raise InputError(f"{name}: must be {own!r}, as in the instance, got {show(stated)}")
    data = instance.data
    if (result.sense, result.unit) != (data.sense, data.unit):
        raise CheckFailed(f"the objective is to {data.sense}, in {data.unit}")
    if result.status == "infeasible" and result.solution is None and result.termination == "infeasible":
        return _see_nothing_claimed(result)
    if result.solution is None or result.bound is None or result.objective is None:
        raise InputError("must have a solution, an objective and a bound: there is nothing else to verify")
    objective = see_solution(instance, result.solution)
    if objective != result.objective:
        raise CheckFailed(f"objective: {result.objective!r} is claimed, the solution has {objective!r}")
    try:
        closed = gap(result.objective, result.bound, data.sense)
    except ValueError as error:
        raise CheckFailed(str(error)) from error
    if closed is None or result.gap is None or not agree(closed, result.gap):
        raise CheckFailed(f"gap: {result.gap!r} is claimed, objective and bound make it {closed!r}")
    _see_status(result, closed)


def see_solution(instance: Instance, solution: Solution) -> float:
    """Return the objective of a solution. Raises CheckFailed if the checker rejects it."""
    try:
        verdict = check(instance.data, solution)
    except MalformedSolution as error:
        raise CheckFailed(f"solution: {error}") from error
    if verdict.violations or verdict.objective is None:
        raise CheckFailed(f"solution: {next(iter(verdict.violations), 'has no objective')}")
    return verdict.objective


def _see_nothing_claimed(result: Result) -> None:
    """Check that a result claims only infeasibility, which the certificate proves."""
    for name in (*FIGURES, "violations"):
        claimed = getattr(result, name)
        if claimed not in (None, ()):
            said = claimed[0] if name == "violations" else claimed
            raise CheckFailed(f"{name}: {show(said)} is claimed, where there is no solution")


def _see_status(result: Result, closed: float) -> None:
    """Check that the status fits a solution whose gap is `closed`, by the requested gap."""
    asked = result.options.get("gap", Options.gap)
    if isinstance(asked, bool) or not isinstance(asked, int | float) or not 0 <= asked < 1:
        raise InputError(f"options.gap: must be a number in [0, 1), got {show(asked)}")
    own = "optimal" if is_gap_reached(closed, asked) else "feasible"
    if result.status != own:
        raise CheckFailed(f"status: {result.status!r} is claimed, with a gap of {closed!r} it is {own!r}")
    if result.violations:
        raise CheckFailed(f"violations: {show(result.violations[0])} is claimed, the solution has none")
    if result.termination in UNSOLVED:
        raise CheckFailed(f"termination: {result.termination!r} is claimed, where there is a solution")


def see_none(instance: Instance, certificate: str) -> str:
    """Verify that the text `certificate` proves the instance infeasible, and return a short description of the proof.

    Raises InputError for an invalid certificate or one of another instance, and CheckFailed for one that proves less.
    """
    proven = _proven(instance, certificate)
    if not isinstance(proven, NoSolution):
        raise CheckFailed(f"no solution is claimed, a bound of {show(proven.bound)} is proved")
    return proven.how


def _proven(instance: Instance, certificate: str) -> Proven:
    prove = PROBLEMS[instance.problem].prove
    if prove is None:
        raise InputError(f"no certificates are written for {instance.problem}")
    if not certificate.startswith("{"):
        see_denominators(certificate)
    try:
        return prove(instance.data, certificate)
    except NoCertificate as error:
        raise InputError(str(error)) from error


def see_certificate(instance: Instance, made: Certificate, *, empty: bool) -> None:
    """Check that a certificate proves its claim: infeasibility if `empty`, otherwise its bound.

    Raises InputError or CheckFailed, as `see_none` and `see_bound` do.
    """
    if empty:
        see_none(instance, made.text)
        return
    bound = _proven(instance, made.text).bound
    if bound < made.bound if instance.data.sense == "minimize" else bound > made.bound:
        raise CheckFailed(f"bound: {show(made.bound)} is claimed, {show(bound)} is proved")


def see_bound(instance: Instance, result: Result, certificate: str) -> Verified:
    """Verify the bound of a result with the text `certificate`; the solution must have been checked before.

    Raises InputError for an invalid certificate or one of another instance, and CheckFailed for one that proves less
    than the result claims.
    """
    proven, data = _proven(instance, certificate), instance.data
    assert result.bound is not None
    assert result.objective is not None
    assert result.gap is not None
    claimed = Fraction(repr(result.bound))
    if claimed > proven.bound if data.sense == "minimize" else claimed < proven.bound:
        raise CheckFailed(f"bound: {result.bound!r} is claimed, {show(proven.bound)} is proved")
    return Verified(result.objective, result.bound, result.gap, proven.how, proven.bound)
