"""Check the derivation of a bound in rational arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from instances.errors import CheckFailed
from instances.fields import ProblemData
from instances.proofs.certificate import Proven, see_instance, see_version
from instances.proofs.vipr import Coefficients, Derived, Direction, Program, Reason, Vipr
from instances.validation import show

SIGN: dict[Direction, int] = {"E": 0, "L": -1, "G": 1}
DIRECTION: dict[int, Direction] = {sign: direction for direction, sign in SIGN.items()}


@dataclass(frozen=True)
class _Known:
    """A constraint that holds under its assumptions, which are indices of constraints."""

    direction: Direction
    right: Fraction
    coefficients: Coefficients
    assumed: frozenset[int] = frozenset()

    @property
    def absurd(self) -> bool:
        if self.coefficients:
            return False
        return (self.direction != "G" and self.right < 0) or (self.direction != "L" and self.right > 0)

    def dominates(self, other: _Known) -> bool:
        """Return whether `other` follows, ignoring assumptions: `self` is a contradiction or at least as strong."""
        if self.absurd:
            return True
        if self.coefficients != other.coefficients:
            return False
        if other.direction == "E":
            return self.direction == "E" and self.right == other.right
        if self.direction not in ("E", other.direction):
            return False
        return self.right >= other.right if other.direction == "G" else self.right <= other.right


def proven_of(data: ProblemData, program: Program, file: Vipr) -> Proven:
    """Return the bound that a VIPR file proves for `data` with its `program`.

    Every derived constraint must state the strongest inequality that follows from its reason. Raises InputError for a
    file of another instance or version. Raises CheckFailed if its program is not that of the instance, or if a
    constraint does not follow.
    """
    version = file.header.get("gapwise", "")
    see_version(int(version) if version.isascii() and version.isdigit() and len(version) < 10 else version)
    see_instance(data, file.header.get("problem"), file.header.get("instance"))
    for part in ("variables", "integers", "sense", "objective", "bounds"):
        if getattr(file.program, part) != getattr(program, part):
            raise CheckFailed(f"{part}: not those of the instance")
    if len(file.program.rows) != len(program.rows):
        raise CheckFailed(f"CON: {len(file.program.rows)} constraints, the instance has {len(program.rows)}")
    for row, own in zip(file.program.rows, program.rows, strict=True):
        if row != own:
            raise CheckFailed(f"CON {row.name[:40]}: not the constraint {own.name} of the instance")
    bound = proven_by(file, all_that_follows=True)
    values = [program.value(solution) for solution in file.solutions]
    reached = file.upper if program.sense == "min" else file.lower
    if reached not in values and (values or reached is not None):
        raise CheckFailed(f"RTP: {show(reached)} is not the objective of a solution in the file")
    leaves = sum(derived.reason.kind == "uns" for derived in file.derivations) + 1
    return Proven(bound, f"VIPR derivation, {leaves} {'leaf' if leaves == 1 else 'leaves'}")


def proven_by(file: Vipr, all_that_follows: bool = False) -> Fraction:
    """Return the bound that a file proves: a lower bound of a minimisation, an upper bound of a maximisation.

    - `file`: the content of a VIPR file; its solutions are checked as well.
    - `all_that_follows`: reject a derived constraint that is weaker than its reason allows.

    Raises CheckFailed with a message of one line if a constraint does not follow.
    """
    program = file.program
    least = program.sense == "min"
    for k, solution in enumerate(file.solutions):
        _see_solution(program, k, solution)
    values = [program.value(solution) for solution in file.solutions]
    best = None if not values else min(values) if least else max(values)
    claimed = file.upper if least else file.lower
    if claimed is not None and (best is None or (best > claimed if least else best < claimed)):
        raise CheckFailed(f"SOL: no solution reaches {show(claimed)}")
    bound = file.lower if least else file.upper
    if bound is None or not file.derivations:
        raise CheckFailed("RTP: nothing is claimed of the bound")
    known = [_Known(row.direction, row.right, row.coefficients) for row in program.rows]
    for derived in file.derivations:
        known.append(_derive(program, known, derived, best, all_that_follows))
    last = file.derivations[-1].name[:40]
    if known[-1].assumed:
        raise CheckFailed(f"DER {last}: the last constraint rests on assumptions")
    if not known[-1].dominates(_Known("G" if least else "L", bound, program.objective)):
        raise CheckFailed(f"DER {last}: the last constraint does not prove the bound {show(bound)}")
    if any(derived.reason.kind == "sol" for derived in file.derivations) and (best is None or bound > best):
        raise CheckFailed(f"RTP: a cut-off by a solution of {show(best)} proves no bound of {show(bound)}")
    return bound


def _see_solution(program: Program, k: int, solution: Coefficients) -> None:
    for i, value in solution.items():
        if i in program.integers and value.denominator != 1:
            raise CheckFailed(f"SOL {k}: {program.variables[i][:40]} is {show(value)}, no whole number")
    for row in program.rows:
        if not row.holds(solution):
            raise CheckFailed(f"SOL {k}: breaks {row.name[:40]}")


def _derive(
    program: Program, known: Sequence[_Known], derived: Derived, best: Fraction | None, all_that_follows: bool
) -> _Known:
    coefficients = program.objective if derived.coefficients is None else derived.coefficients
    claim = _Known(derived.direction, derived.right, coefficients)
    reason, where = derived.reason, f"DER {derived.name[:40]}"
    if reason.kind == "asm":
        return _Known(claim.direction, claim.right, claim.coefficients, frozenset({len(known)}))
    if reason.kind == "sol":
        _see_cutoff(program, claim, best, where)
        return claim
    if reason.kind == "uns":
        assumed = _unsplit(program, known, claim, reason, where)
        sides = [known[side] for side in (reason.sides or ())[::2] if not known[side].absurd]
        if all_that_follows and not claim.absurd and all(side.right != claim.right for side in sides):
            raise CheckFailed(f"{where}: more follows than it says")
        return _Known(claim.direction, claim.right, claim.coefficients, assumed)
    found = _combine(known, reason.multipliers or {}, where)
    if reason.kind == "rnd":
        found = _round(program, found, where)
    if not found.dominates(claim):
        raise CheckFailed(f"{where}: does not follow from the constraints that it names")
    if all_that_follows and (found.right, found.coefficients) != (claim.right, claim.coefficients):
        raise CheckFailed(f"{where}: more follows than it says")
    return _Known(claim.direction, claim.right, claim.coefficients, found.assumed)


def _combine(known: Sequence[_Known], multipliers: Coefficients, where: str) -> _Known:
    total: dict[int, Fraction] = {}
    right = Fraction(0)
    signs: set[int] = set()
    assumed: set[int] = set()
    for k, factor in multipliers.items():
        row = known[k]
        signs.add(SIGN[row.direction] * (1 if factor > 0 else -1))
        right += factor * row.right
        assumed |= row.assumed
        for i, a in row.coefficients.items():
            product = factor if a == 1 else factor * a
            total[i] = total[i] + product if i in total else product
    signs.discard(0)
    if len(signs) > 1:
        raise CheckFailed(f"{where}: a multiplier has the wrong sign")
    direction = DIRECTION[signs.pop() if signs else 0]
    return _Known(direction, right, {i: a for i, a in total.items() if a}, frozenset(assumed))


def _round(program: Program, found: _Known, where: str) -> _Known:
    for i, a in found.coefficients.items():
        if i not in program.integers or a.denominator != 1:
            raise CheckFailed(f"{where}: cannot be rounded for {show(a)} {program.variables[i][:40]}")
    if found.direction == "E":
        return found
    right = Fraction(math.floor(found.right) if found.direction == "L" else math.ceil(found.right))
    return _Known(found.direction, right, found.coefficients, found.assumed)


def _see_cutoff(program: Program, claim: _Known, best: Fraction | None, where: str) -> None:
    """Check a cutoff: a search for a better solution may assume an objective below that of the best given solution."""
    whole = all(i in program.integers and c.denominator == 1 for i, c in program.objective.items())
    if program.sense != "min" or claim.direction != "L" or claim.coefficients != program.objective:
        raise CheckFailed(f"{where}: a cut-off must bound an objective that is minimised from above")
    if best is None or claim.right < best - (1 if whole else 0):
        raise CheckFailed(f"{where}: no solution is known that is so good")


def _unsplit(program: Program, known: Sequence[_Known], claim: _Known, reason: Reason, where: str) -> frozenset[int]:
    first, under, second, beside = reason.sides or (0, 0, 0, 0)
    for side in (first, second):
        if not known[side].dominates(claim):
            raise CheckFailed(f"{where}: does not follow from constraint {side}")
    below, above = known[under], known[beside]
    if (below.direction, above.direction) == ("G", "L"):
        below, above = above, below
    whole = all(i in program.integers and a.denominator == 1 for i, a in below.coefficients.items())
    if (
        (below.direction, above.direction) != ("L", "G")
        or below.coefficients != above.coefficients
        or not whole
        or below.right.denominator != 1
        or above.right != below.right + 1
    ):
        raise CheckFailed(f"{where}: constraints {under} and {beside} do not cover every whole number")
    return (known[first].assumed - {under}) | (known[second].assumed - {beside})
