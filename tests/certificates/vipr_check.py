"""Check VIPR files from the format alone: `python -m tests.certificates.vipr_check FILE...`.

It follows `cert_spec_v1_1.md` of GitHub `scipopt/vipr` at commit `2e2bb52`, shares no line with `instances/proofs`,
imports nothing of the project, and knows no instance: it says whether a file proves what it claims. Incomplete reasons
are refused.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

SLOPE = {"E": 0, "L": -1, "G": 1}
MOST_BITS = 1 << 16  # of a common denominator
Terms = dict[int, Fraction]  # those that are not 0
Row = tuple[str, Fraction, Terms]  # direction, right side, coefficients


class Refused(Exception):
    """What is wrong with a file."""


class Checker:
    """Reads a file word by word, and sees each thing as it comes."""

    def __init__(self, text: str) -> None:
        lines = text.splitlines()
        while lines and (not lines[0].strip() or lines[0].startswith("%")):
            del lines[0]
        self.words, self.at = " ".join(lines).split(), 0
        self.rows: list[Row] = []
        self.assumed: list[frozenset[int]] = []  # of each row the assumptions that it rests on

    def check(self) -> str:
        """Return the bound that the file proves. Raises Refused."""
        for word in ("VER", "1.1", "VAR"):
            self.one_of(word)
        self.variables = self.whole_number()
        for _ in range(self.variables):
            self.word()
        self.one_of("INT")
        self.integers = {self.whole_number(self.variables) for _ in range(self.whole_number())}
        self.one_of("OBJ")
        self.sign = 1 if self.one_of("min", "max") == "min" else -1
        self.objective = self.terms(self.variables)
        self.one_of("CON")
        count, _bounds = self.whole_number(), self.whole_number()
        self.rows = [self.row() for _ in range(count)]
        self.assumed = [frozenset()] * count
        self.one_of("RTP")
        infeasible = self.one_of("infeas", "range") == "infeas"
        ends = [None if infeasible or (w := self.word()) == free else self.value(w) for free in ("-inf", "inf")]
        self.best = self.solutions()
        wanted, reached = ends[:: self.sign]
        if reached is not None and (self.best is None or self.sign * (reached - self.best) < 0):
            raise Refused(f"no solution has {reached}")
        self.one_of("DER")
        for _ in range(self.whole_number()):
            self.derive()
        if self.at < len(self.words) or not self.rows or (wanted is None and not infeasible):
            raise Refused("words after the derivations, or nothing claimed")
        goal = ("L.G"[self.sign + 1], wanted or Fraction(0), self.objective)
        if self.assumed[-1] or not (absurd(self.rows[-1]) if infeasible else dominates(self.rows[-1], goal)):
            raise Refused(f"the last row does not say {'that there is no point' if infeasible else wanted}")
        return "infeasible" if infeasible else f"{'at least' if self.sign > 0 else 'at most'} {wanted}"

    def solutions(self) -> Fraction | None:
        """Return the best value of the solutions, all of which must be feasible."""
        self.one_of("SOL")
        values = []
        for _ in range(self.whole_number()):
            name, point = self.word(), self.terms(self.variables)
            together(point.values())
            if any(value.denominator != 1 for i, value in point.items() if i in self.integers):
                raise Refused(f"solution {name} is not whole")
            for direction, right, coefficients in self.rows:
                off = dot(coefficients, point) - right
                if (off < 0 and direction != "L") or (off > 0 and direction != "G"):
                    raise Refused(f"solution {name} breaks a constraint")
            values.append(dot(self.objective, point))
        return min(values, key=lambda value: self.sign * value, default=None)

    def derive(self) -> None:
        """Derive the next row from its reason."""
        here, row = len(self.rows), self.row()
        self.one_of("{")
        reason = self.one_of("asm", "lin", "rnd", "uns", "sol")
        rests, follows = frozenset([here]), True
        if reason in ("lin", "rnd"):
            factors = self.terms(here)
            found = self.combination(factors)
            follows = dominates(self.rounded(found) if reason == "rnd" else found, row)
            rests = frozenset().union(*(self.assumed[i] for i in factors))
        elif reason == "uns":
            one, under, other, beside = (self.whole_number(here) for _ in range(4))
            sides = dominates(self.rows[one], row) and dominates(self.rows[other], row)
            follows = sides and self.disjunct(self.rows[under], self.rows[beside])
            rests = (self.assumed[one] - {under}) | (self.assumed[other] - {beside})
        elif reason == "sol":
            no_worse = ("G.L"[self.sign + 1], self.best or Fraction(0), self.objective)
            rests, follows = frozenset(), self.best is not None and dominates(no_worse, row)
        self.one_of("}")
        self.word()  # until when it is used, which is of no matter here
        if not follows:
            raise Refused(f"row {here} does not follow")
        self.rows.append(row)
        self.assumed.append(rests)

    def combination(self, factors: Terms) -> Row:
        slopes = {SLOPE[self.rows[i][0]] * (1 if factor > 0 else -1) for i, factor in factors.items()} - {0}
        if len(slopes) > 1:
            raise Refused("a combination of rows that point both ways")
        sides, total = [f * self.rows[i][1] for i, f in factors.items()], dict[int, Fraction]()
        together(sides)
        right = sum(sides, Fraction(0))
        for i, factor in factors.items():
            for j, value in self.rows[i][2].items():
                total[j] = total.get(j, Fraction(0)) + factor * value
                together([total[j]])
        return "G" if 1 in slopes else "L" if slopes else "E", right, {j: v for j, v in total.items() if v}

    def rounded(self, row: Row) -> Row:
        direction, right, coefficients = row
        if direction == "E" or not self.whole(coefficients):
            raise Refused("a row is rounded that cannot be")
        return direction, Fraction(math.ceil(right) if direction == "G" else math.floor(right)), coefficients

    def disjunct(self, one: Row, other: Row) -> bool:
        """Return whether one of two rows holds wherever the variables are whole that are to be."""
        low, high = (one, other) if one[0] == "L" else (other, one)
        next_to = low[1].denominator == 1 and high[1] == low[1] + 1
        return (low[0], high[0]) == ("L", "G") and low[2] == high[2] and next_to and self.whole(low[2])

    def whole(self, coefficients: Terms) -> bool:
        return all(i in self.integers and value.denominator == 1 for i, value in coefficients.items())

    def word(self) -> str:
        if self.at == len(self.words):
            raise Refused("the file ends too soon")
        self.at += 1
        return self.words[self.at - 1]

    def one_of(self, *words: str) -> str:
        if (word := self.word()) not in words:
            raise Refused(f"{word[:40]} where {' or '.join(words)} should be")
        return word

    def whole_number(self, end: float = math.inf) -> int:
        word = self.word()
        if not (word.isascii() and word.isdigit() and len(word) < 12 and int(word) < end):
            raise Refused(f"{word[:40]} is no whole number below {end}")
        return int(word)

    def value(self, word: str) -> Fraction:
        top, mark, under = word.removeprefix("-").partition("/" if "/" in word else ".")
        digits = all(part.isascii() and part.isdigit() for part in ([top, under] if mark else [top]))
        if not digits or len(word) > 4000 or (mark == "/" and not int(under)):
            raise Refused(f"{word[:40]} is no rational number")
        return Fraction(word)

    def terms(self, end: int) -> Terms:
        found: Terms = {}
        for _ in range(self.whole_number()):
            i = self.whole_number(end)
            if i in found:
                raise Refused(f"index {i} twice")
            found[i] = self.value(self.word())
        return {i: value for i, value in found.items() if value}

    def row(self) -> Row:
        self.word()
        direction, right = self.one_of(*SLOPE), self.value(self.word())
        if self.words[self.at : self.at + 1] == ["OBJ"]:
            self.at += 1
            return direction, right, self.objective
        return direction, right, self.terms(self.variables)


def dot(one: Terms, other: Terms) -> Fraction:
    return sum((value * other[i] for i, value in one.items() if i in other), Fraction(0))


def together(numbers: Iterable[Fraction]) -> None:
    """See that numbers can be added up: over one denominator that is not too long."""
    common = 1
    for number in numbers:
        common = math.lcm(common, number.denominator)
        if common.bit_length() > MOST_BITS:
            raise Refused("numbers of too many digits to be added up")


def absurd(row: Row) -> bool:
    direction, right, coefficients = row
    return not coefficients and ((right > 0 and direction != "L") or (right < 0 and direction != "G"))


def dominates(row: Row, other: Row) -> bool:
    """Return whether the second row follows from the first, by the restricted rule of the format."""
    if row[2] != other[2] or row[0] not in ("E", other[0]):
        return absurd(row)
    return absurd(row) or row[1] == other[1] or (other[0] != "E" and (row[1] > other[1]) == (other[0] == "G"))


def main(paths: Sequence[str]) -> int:
    """Print what each file proves, up to one that is refused, status 1, or cannot be read, status 2."""
    for path in paths:
        try:
            print(f"{path}: {Checker(Path(path).read_text()).check()}")
        except Refused as why:
            print(f"{path}: refused: {why}", file=sys.stderr)
            return 1
        except (OSError, ValueError) as error:
            print(f"{path!r}: cannot be read: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
