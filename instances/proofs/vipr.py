"""Read and write VIPR files: a program, solutions of it, and the derivation of a bound.

The format is from Cheung, Gleixner and Steffy, "Verifying integer programming results" (IPCO 2017). The version is 1.1
(Eifler and Gleixner 2024) without its incomplete reasons. Numbers are integers or p/q. Comments at the start of the
file name the instance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from instances.errors import InputError

Direction = Literal["E", "L", "G"]  # =, <=, >=
Coefficients = Mapping[int, Fraction]
Rational = int | Fraction
ONE = Fraction(1)


@dataclass(frozen=True)
class Row:
    """The constraint coefficients x =, <= or >= right, by `direction`; zero coefficients are omitted."""

    name: str
    direction: Direction
    right: Fraction
    coefficients: Coefficients

    def holds(self, point: Mapping[int, Fraction]) -> bool:
        """Return whether `point`, which may omit zeros, satisfies the constraint."""
        value = sum((a * point.get(i, 0) for i, a in self.coefficients.items()), Fraction(0))
        if self.direction == "E":
            return value == self.right
        return value <= self.right if self.direction == "L" else value >= self.right


@dataclass(frozen=True)
class Program:
    """Minimise (`min`) or maximise (`max`) `objective` x subject to the `rows`.

    Each of the first `bounds` rows bounds a single variable.

    `integers`: indices of the integer variables.
    """

    variables: tuple[str, ...]
    integers: frozenset[int]
    sense: Literal["min", "max"]
    objective: Coefficients
    rows: tuple[Row, ...]
    bounds: int

    def value(self, point: Mapping[int, Fraction]) -> Fraction:
        """Return the objective value of a point."""
        return sum((c * point.get(i, 0) for i, c in self.objective.items()), Fraction(0))


class ProgramBuilder:
    """A program under construction: variables and rows by name, in the order of addition.

    - `place`: the index of each variable by its key. Its name is the key or, for a tuple, its parts joined by `_`.
    - `lower`, `upper`: the bounds of each variable.
    - `cost`: the objective without zeros.
    - `rows`: the constraints, without the bounds.
    """

    def __init__(self) -> None:
        self.place: dict[Any, int] = {}
        self.lower: list[Any] = []  # numbers stay as given: integers are faster than fractions
        self.upper: list[Any] = []
        self.cost: dict[int, Any] = {}
        self.rows: list[Row] = []
        self._continuous: set[int] = set()

    def add_variable(
        self, key: Hashable, upper: Rational = 1, cost: Rational = 0, lower: Rational = 0, *, whole: bool = True
    ) -> int:
        """Add a variable, an integer if `whole`, and return its index."""
        i = self.place[key] = len(self.place)
        self.lower.append(lower)
        self.upper.append(upper)
        if cost:
            self.cost[i] = cost
        if not whole:
            self._continuous.add(i)
        return i

    def add_row(self, name: str, direction: Direction, right: Rational, terms: Mapping[int, Rational]) -> None:
        """Add a constraint with `terms` by index of the variable; zero coefficients are omitted."""
        self.rows.append(Row(name, direction, Fraction(right), {i: Fraction(a) for i, a in terms.items() if a}))

    def build(self, sense: Literal["min", "max"]) -> Program:
        """Return the program: first the bounds of every variable, then the rows."""
        names = tuple(key if isinstance(key, str) else "_".join(map(str, key)) for key in self.place)
        bounds = []
        for i, name in enumerate(names):
            bounds.append(Row(f"{name}_lower", "G", Fraction(self.lower[i]), {i: ONE}))
            bounds.append(Row(f"{name}_upper", "L", Fraction(self.upper[i]), {i: ONE}))
        objective = {i: Fraction(c) for i, c in self.cost.items()}
        integers = frozenset(range(len(names))) - self._continuous
        return Program(names, integers, sense, objective, (*bounds, *self.rows), len(bounds))


Kind = Literal["asm", "lin", "rnd", "uns", "sol"]
NUMBER = re.compile(r"[+-]?\d+(/\d+|\.\d+)?")
VERSIONS = ("1.0", "1.1")
LONGEST = 4000  # characters of a number
HEADER = ("gapwise", "problem", "instance", "reach")


@dataclass(frozen=True)
class Reason:
    """Why a constraint holds.

    - `asm`: it is assumed.
    - `lin`: it follows from the combination of constraints with `multipliers`.
    - `rnd`: it follows from such a combination by rounding.
    - `uns`: it follows from both `sides` of a disjunction, each a constraint and its assumption.
    - `sol`: it is a cutoff, because a solution at least as good is known.
    """

    kind: Kind
    multipliers: Coefficients | None = None
    sides: tuple[int, int, int, int] | None = None


@dataclass(frozen=True)
class Derived:
    """A derived constraint and its reason; `coefficients` are `None` if they are those of the objective."""

    name: str
    direction: Direction
    right: Fraction
    coefficients: Coefficients | None
    reason: Reason


@dataclass(frozen=True)
class Vipr:
    """The content of a VIPR file.

    - `header`: the fields in the comments of this project.
    - `lower`, `upper`: the claimed bounds on the optimum, `None` for no claim.
    """

    header: Mapping[str, str]
    program: Program
    lower: Fraction | None
    upper: Fraction | None
    solutions: tuple[Coefficients, ...]
    derivations: tuple[Derived, ...]


def write_vipr(file: Vipr) -> str:
    """Return the text of a VIPR file."""
    program = file.program
    lines = [f"% {name} {file.header[name]}" for name in HEADER if name in file.header]
    lines += ["VER 1.1", f"VAR {len(program.variables)}", *program.variables]
    lines += [f"INT {len(program.integers)}", " ".join(str(i) for i in sorted(program.integers))]
    lines += [f"OBJ {program.sense}", _terms(program.objective)]
    lines += [f"CON {len(program.rows)} {program.bounds}"]
    lines += [f"{row.name} {row.direction} {row.right} {_terms(row.coefficients)}" for row in program.rows]
    lower = "-inf" if file.lower is None else str(file.lower)
    upper = "inf" if file.upper is None else str(file.upper)
    lines += [f"RTP range {lower} {upper}", f"SOL {len(file.solutions)}"]
    lines += [f"sol{k} {_terms(solution)}" for k, solution in enumerate(file.solutions)]
    lines += [f"DER {len(file.derivations)}"]
    for derived in file.derivations:
        terms = "OBJ" if derived.coefficients is None else _terms(derived.coefficients)
        lines.append(f"{derived.name} {derived.direction} {derived.right} {terms} {{ {_reason(derived.reason)} }} -1")
    return "\n".join(lines) + "\n"


def _terms(coefficients: Coefficients) -> str:
    return " ".join([str(len(coefficients)), *(f"{i} {a}" for i, a in sorted(coefficients.items()))])


def _reason(reason: Reason) -> str:
    if reason.multipliers is not None:
        return f"{reason.kind} {_terms(reason.multipliers)}"
    return " ".join([reason.kind, *(str(i) for i in reason.sides or ())])


def read_vipr(text: str) -> Vipr:
    """Parse the text of a VIPR file. Raises InputError with a message of one line that names the section."""
    return _Reader(text).file()


class _Reader:
    """Read the words of a file in order; `place` is the section that an error names."""

    def __init__(self, text: str) -> None:
        self.header: dict[str, str] = {}
        lines = text.split("\n")
        first = 0
        while first < len(lines) and (lines[first].startswith("%") or not lines[first].strip()):
            words = lines[first].lstrip("%").split()
            if len(words) == 2 and words[0] in HEADER:
                if words[0] in self.header:
                    raise InputError(f"{words[0]}: named twice in the comments")
                self.header[words[0]] = words[1]
            first += 1
        self.words: Iterator[str] = iter("\n".join(lines[first:]).split())
        self.place = "VER"
        self.numbers: dict[str, Fraction] = {}  # cached, because most numbers occur many times

    def file(self) -> Vipr:
        self._section("VER")
        version = self._word()
        if version not in VERSIONS:
            raise self._bad(f"must be {' or '.join(VERSIONS)}", version)
        self._section("VAR")
        self.variables = tuple(self._word() for _ in range(self._count()))
        self._section("INT")
        self.integers = frozenset(self._index(len(self.variables)) for _ in range(self._count()))
        self._section("OBJ")
        sense = self._word()
        if sense not in ("min", "max"):
            raise self._bad("must be min or max", sense)
        objective = self._terms(len(self.variables))
        self._section("CON")
        count, bounds = self._count(), self._count()
        rows = []
        for _ in range(count):
            name, direction, right, coefficients = self._constraint()
            rows.append(Row(name, direction, right, objective if coefficients is None else coefficients))
        self._section("RTP")
        if (kind := self._word()) != "range":
            raise self._bad("must be range", kind)
        lower, upper = self._end("-inf"), self._end("inf")
        self._section("SOL")
        solutions = []
        for _ in range(self._count()):
            self._word()
            solutions.append(self._terms(len(self.variables)))
        self._section("DER")
        derivations = tuple(self._read_derived(count + k) for k in range(self._count()))
        self.place = "end"
        if (more := next(self.words, None)) is not None:
            raise self._bad("must end after the derivations", more)
        program = Program(self.variables, self.integers, sense, objective, tuple(rows), bounds)  # type: ignore[arg-type]
        return Vipr(self.header, program, lower, upper, tuple(solutions), derivations)

    def _bad(self, message: str, word: str | None = None) -> InputError:
        return InputError(f"{self.place}: {message}" + ("" if word is None else f", got {word[:40]!r}"))

    def _word(self) -> str:
        word = next(self.words, None)
        if word is None:
            raise self._bad("the file ends here")
        return word

    def _section(self, name: str) -> None:
        self.place = name
        if (word := self._word()) != name:
            raise self._bad("the section must begin here", word)

    def _count(self) -> int:
        word = self._word()
        if not (word.isascii() and word.isdigit() and len(word) < 10):
            raise self._bad("must be a number of entries", word)
        return int(word)

    def _index(self, end: int) -> int:
        word = self._word()
        if not (word.isascii() and word.isdigit() and len(word) < 10 and int(word) < end):
            raise self._bad(f"must be an index below {end}", word)
        return int(word)

    def _number(self, word: str) -> Fraction:
        if word in self.numbers:
            return self.numbers[word]
        if len(word) > LONGEST or not word.isascii() or not NUMBER.fullmatch(word):
            raise self._bad("must be a rational number", word)
        try:
            self.numbers[word] = Fraction(word)
        except ZeroDivisionError:
            raise self._bad("must be a rational number", word) from None
        return self.numbers[word]

    def _end(self, open_end: str) -> Fraction | None:
        word = self._word()
        return None if word == open_end else self._number(word)

    def _pairs(self, count: int, end: int) -> dict[int, Fraction]:
        found: dict[int, Fraction] = {}
        for _ in range(count):
            index = self._index(end)
            if index in found:
                raise self._bad("an index is named twice", str(index))
            found[index] = self._number(self._word())
        return {i: a for i, a in found.items() if a}

    def _terms(self, end: int) -> dict[int, Fraction]:
        return self._pairs(self._count(), end)

    def _constraint(self) -> tuple[str, Direction, Fraction, dict[int, Fraction] | None]:
        name = self._word()
        self.place = f"{self.place.split(' ')[0]} {name[:40]}"
        direction = self._word()
        if direction not in get_args(Direction):
            raise self._bad("must be E, L or G", direction)
        right = self._number(self._word())
        word = self._word()
        if word == "OBJ":
            return name, direction, right, None  # type: ignore[return-value]
        if not (word.isascii() and word.isdigit() and len(word) < 10):
            raise self._bad("must be a number of entries, or OBJ", word)
        return name, direction, right, self._pairs(int(word), len(self.variables))  # type: ignore[return-value]

    def _read_derived(self, place: int) -> Derived:
        name, direction, right, coefficients = self._constraint()
        self._brace("{")
        kind = self._word()
        if kind in ("asm", "sol"):
            reason = Reason(kind)  # type: ignore[arg-type]
        elif kind in ("lin", "rnd"):
            reason = Reason(kind, multipliers=self._terms(place))  # type: ignore[arg-type]
        elif kind == "uns":
            reason = Reason(
                "uns", sides=(self._index(place), self._index(place), self._index(place), self._index(place))
            )
        else:
            raise self._bad(f"must be {', '.join(get_args(Kind))}", kind)
        self._brace("}")
        last = self._word()
        if not re.fullmatch(r"-1|\d{1,9}", last, re.ASCII):
            raise self._bad("must be -1 or an index", last)
        return Derived(name, direction, right, coefficients, reason)

    def _brace(self, brace: str) -> None:
        if (word := self._word()) != brace:
            raise self._bad(f"must be {brace}", word)


MOST_BITS = 1 << 16
LONGEST = 4000  # digits; the reader rejects longer numbers
DENOMINATOR = re.compile(r"/(\d+)|\.(\d+)", re.ASCII)


def see_denominators(certificate: str) -> None:
    """Raise InputError if the common denominator of the numbers in a VIPR file has more than `MOST_BITS` bits."""
    known, common = set[str](), 1
    for found in DENOMINATOR.finditer(certificate):
        word = found[0]
        if word in known or len(word) > LONGEST:
            continue
        known.add(word)
        common = math.lcm(common, 10 ** len(found[2]) if found[1] is None else int(found[1]) or 1)
        if common.bit_length() > MOST_BITS:
            raise InputError(f"the denominators of all numbers have more than {MOST_BITS:,} bits together")
