"""Test VIPR files: the format's own examples, invalid derivations and invalid files."""

from __future__ import annotations

from fractions import Fraction

import pytest

from instances import CheckFailed, InputError
from instances.proofs import proven_by, read_vipr, write_vipr

ROUNDED = """% min x + y over 4 x + y >= 1, 4 x - y <= 2, whole
VER 1.1
VAR 2
x y
INT 2
0 1
OBJ min
2  0 1  1 1
CON 2 0
C1 G 1  2  0 4  1 1
C2 L 2  2  0 4  1 -1
RTP range 1 1
SOL 2
feas 2  0 1  1 2
opt 1  1 1
DER 4
C3 G -1/2  1  1 1   { lin 2  0 1/2  1 -1/2 } 3
C4 G 0     1  1 1   { rnd 1  2 1 } 4
C5 G 1/4   OBJ     { lin 2  0 1/4  3 3/4 } 5
C6 G 1     OBJ     { rnd 1  4 1 } 0
"""
SPLIT = """VER 1.0
VAR 2
x1 x2
INT 2
0 1
OBJ min
1  1 1
CON 2 0
C1 G 1  2  0 2  1 1
C2 L 1  2  0 2  1 -3
RTP range 1 inf
SOL 1
opt 1  1 1
DER 5
s1 L 0  1  0 1 { asm } -1
s2 G 1  1  0 1 { asm } -1
d1 G 1  OBJ { lin 2  0 1  2 -2 } 6
u1 G 1  OBJ { rnd 2  1 -1/3 3 2/3 } 6
obj G 1  OBJ { uns 4 2  5 3 } -1
"""
CUT_OFF = """VER 1.1
VAR 1
x
INT 1
0
OBJ min
1 0 1
CON 1 1
low G 1/2 1 0 1
RTP range 1 1
SOL 1
one 1 0 1
DER 2
cut L 0 OBJ { sol } -1
end G 1 OBJ { lin 2 0 2 1 -2 } -1
"""


@pytest.mark.parametrize("text", [ROUNDED, SPLIT, CUT_OFF], ids=["rounding", "disjunction", "cut-off"])
def test_a_derivation_that_holds_proves_its_bound(text: str):
    assert proven_by(read_vipr(text)) == 1


@pytest.mark.parametrize("text", [ROUNDED, SPLIT, CUT_OFF])
def test_a_file_that_is_written_again_is_the_same_file(text: str):
    file = read_vipr(text)
    assert read_vipr(write_vipr(file)) == file


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (ROUNDED, "{ rnd 1  4 1 }", "{ lin 1  4 1 }"),  # 1/4 is no 1 without rounding
        (ROUNDED, "0 1/4  3 3/4", "0 1/4  3 1/4"),
        (ROUNDED, "{ lin 2  0 1/2  1 -1/2 }", "{ lin 2  0 1/2  1 1/2 }"),  # >= and <= do not add up
        (ROUNDED, "INT 2\n0 1", "INT 1\n0"),  # y is not whole: no rounding
        (ROUNDED, "RTP range 1 1", "RTP range 2 2"),
        (ROUNDED, "opt 1  1 1", "opt 1  1 0"),  # breaks C1
        (ROUNDED, "opt 1  1 1", "opt 1  1 3/2"),
        (SPLIT, "s1 L 0", "s1 L -1"),  # leaves x1 = 0 out
        (SPLIT, "uns 4 2  5 3", "uns 4 2  4 3"),  # the second side is assumed, not proved
        (SPLIT, "obj G 1  OBJ { uns 4 2  5 3 }", "obj G 1  OBJ { lin 1 4 1 }"),  # an assumption is left
        (SPLIT, "INT 2\n0 1", "INT 1\n1"),  # no disjunction on x1
        (CUT_OFF, "cut L 0", "cut L -1"),  # nobody knows a solution of 0
        (CUT_OFF, "RTP range 1 1", "RTP range 2 inf"),
    ],
)
def test_what_does_not_follow_is_refused(text: str, old: str, new: str):
    assert old in text
    with pytest.raises(CheckFailed):
        proven_by(read_vipr(text.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("VER 1.1", "VER 2.0", "VER: must be 1.0 or 1.1, got '2.0'"),
        ("0 4  1 1\nC2", "2 4  1 1\nC2", "CON C1: must be an index below 2, got '2'"),
        ("G -1/2", "G -1/0", "DER C3: must be a rational number, got '-1/0'"),
        ("G -1/2", "G 1e999999999", "DER C3: must be a rational number, got '1e999999999'"),
        ("{ rnd 1  4 1 }", "{ rnd 1  5 1 }", "DER C6: must be an index below 5, got '5'"),
        ("{ rnd 1  4 1 } 0\n", "{ rnd 1", "DER C6: the file ends here"),
        ("DER 4", "DER 3", "end: must end after the derivations, got 'C6'"),
        ("RTP range", "RTP infeas", "RTP: must be range, got 'infeas'"),
    ],
)
def test_what_is_no_such_file_is_refused_in_one_line(old: str, new: str, said: str):
    with pytest.raises(InputError) as refused:
        read_vipr(ROUNDED.replace(old, new))
    assert str(refused.value) == said


def test_numbers_are_exact():
    file = read_vipr(ROUNDED.replace("G 1/4", "G 0.25"))
    assert file.derivations[2].right == Fraction(1, 4)


def test_a_derived_constraint_that_says_less_than_follows_is_refused_where_all_is_asked_for():
    weaker = ROUNDED.replace("C5 G 1/4   OBJ", "C5 G 1/5   OBJ")
    assert proven_by(read_vipr(weaker)) == proven_by(read_vipr(ROUNDED), all_that_follows=True) == 1
    with pytest.raises(CheckFailed, match="DER C5: more follows than it says"):
        proven_by(read_vipr(weaker), all_that_follows=True)
