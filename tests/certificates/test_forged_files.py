"""Test that both commands answer each forged certificate file in one line with status 1 or 2."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instances import dump
from tests.certificates import vipr_check
from tests.certificates.readings import Case, telling
from tests.certificates.second import __main__ as second_command
from tests.commands import call

Forge = Callable[[Case], str | bytes]


def put(pattern: str, by: str) -> Forge:
    """Replace the first match in the text by a value that is not Python's JSON."""

    def forge(made: Case) -> str:
        text, count = re.subn(pattern, lambda _: by, made.certificate, count=1)
        assert count == 1, pattern
        return text

    return forge


def with_fields(change: Callable[[Any], Any]) -> Forge:
    """Return a forgery that changes the content, in place or by its return value."""

    def forge(made: Case) -> str:
        content = json.loads(made.certificate)
        return json.dumps(change(content) or content)

    return forge


def cut_short(content: Any) -> None:
    content["nodes"].pop()


def unbranched(content: Any) -> None:
    content.update(nodes=[{"branch": None, "without": 0}], stages=[])


def one_more(content: Any) -> None:
    content.update(bound=content["bound"] + 1, reach=content["reach"] + 1)


def long_tree(content: Any) -> None:
    """Build a tree ten thousand nodes deep whose last node is missing."""
    content["nodes"] = [{"branch": {"job": 0, "until": 0}, "children": [k + 1, k + 2]} for k in range(0, 20_000, 2)]


def primes(count: int) -> list[int]:
    """Numbers of 3,900 digits no two of which have much in common."""
    return [10**3899 + 2 * k + 1 for k in range(count)]


def derived(made: Case, claim: str, *lines: str) -> str:
    """Return the file with other derivations; {m} is the index of the first."""
    head = made.certificate[: made.certificate.index("RTP ")]
    m = int(re.search(r"^CON (\d+)", head, re.MULTILINE)[1])  # type: ignore[index]
    said = [
        f"d{k} {line} -1".replace("{m}", str(m)).replace("<", "{").replace(">", "}") for k, line in enumerate(lines)
    ]
    return head + f"RTP range {claim}\nSOL 0\nDER {len(lines)}\n" + "\n".join(said) + "\n"


def endless_sum(made: Case) -> str:
    """Combine a thousand coprime denominators, which would take minutes to add up."""
    many = primes(1000)
    m = int(re.search(r"^CON (\d+)", made.certificate, re.MULTILINE)[1])  # type: ignore[index]
    factors = " ".join(f"{m + k} 1/{p}" for k, p in enumerate(many))
    return derived(made, "9 inf", *["G 0 1 0 1 < lin 1 0 1 >"] * len(many), f"G 9 OBJ < lin {len(many)} {factors} >")


def endless_solution(made: Case) -> str:
    """Return a solution with a hundred coprime denominators."""
    point = " ".join(f"{k} 1/{p}" for k, p in enumerate(primes(100)))
    return re.sub(r"SOL 1\n\S+ .*", lambda _: f"SOL 1\ns 100 {point}", made.certificate)


def growing(made: Case) -> str:
    """Each row the square of a number of two thousand digits as much as the one before."""
    huge = "9" * 3900
    return derived(made, "9 inf", *[f"G 0 1 0 {huge} < lin 1 {{m}} {huge} >"] * 40)


JSON: list[tuple[str, str, Forge, int]] = [
    # the file
    ("empty", "sia oracle", lambda c: "", 2),
    ("of spaces", "eva cost", lambda c: " \n\t ", 2),
    ("null", "boa continuous", lambda c: "null", 2),
    ("a number", "placements", lambda c: "7", 2),
    ("a text", "boa integer", lambda c: json.dumps(c.certificate), 2),
    ("twice, one after the other", "sia oracle", lambda c: c.certificate * 2, 2),
    ("a byte order mark", "eva cost", lambda c: b"\xef\xbb\xbf" + c.certificate.encode(), 2),
    ("UTF-16", "eva cost", lambda c: c.certificate.encode("utf-16"), 2),
    ("zeros at its end", "placements", lambda c: c.certificate.encode() + bytes(64), 2),
    ("a comma too many", "boa continuous", put(r"\}\s*$", ",}"), 2),
    ("a comment", "boa continuous", put(r"^\{", "{ // proof\n"), 2),
    # depth
    ("100,000 lists", "sia oracle", put(r'"bound": \d+', f'"bound": {"[" * 100_000}{"]" * 100_000}'), 2),
    ("100,000 lists, open", "sia oracle", put(r'"bound": \d+', f'"bound": {"[" * 100_000}'), 2),
    ("100,000 objects", "eva cost", put(r'"unit": \d+', f'"unit": {"{" + chr(34) + "a" + chr(34) + ":"}' * 100_000), 2),
    ("900 lists", "boa continuous", put(r'"price": "[^"]*"', f'"price": {"[" * 900}{"]" * 900}'), 2),
    ("900 lists as another field", "placements", put(r"^\{", f'{{"note": {"[" * 900}{"]" * 900}, '), 2),
    ("a tree of 10,000 nodes below each other", "sia oracle", with_fields(long_tree), 1),
    # numbers
    ("1e999999", "sia oracle", put(r'"reach": \d+', '"reach": 1e999999'), 2),
    ("-1e999999", "eva cost", put(r'"unit": \d+', '"unit": -1e999999'), 2),
    ("1e-999999", "placements", put(r'"scale": \d+', '"scale": 1e-999999'), 2),
    ("1e999999 as a text", "boa continuous", put(r'"price": "[^"]*"', '"price": "1e999999"'), 2),
    ("1/1e999999 as a text", "boa continuous", put(r'"bound": "[^"]*"', '"bound": "1/1e999999"'), 2),
    ("an exponent of a million digits", "eva cost", put(r'"unit": \d+', f'"unit": 1e{"9" * 1_000_000}'), 2),
    ("a million digits", "sia oracle", put(r'"bound": \d+', f'"bound": {"9" * 1_000_000}'), 2),
    ("4,299 digits", "sia oracle", put(r'"bound": \d+', f'"bound": {"9" * 4_299}'), 2),
    ("p/q of 4,000 digits", "boa continuous", put(r'"bound": "[^"]*"', f'"bound": "1{"0" * 1999}/{"3" * 2000}"'), 1),
    ("p/q/r", "boa real widths, two types", put(r'"price": "[^"]*"', '"price": "1/2/3"'), 2),
    ("p over -q", "boa real widths, two types", put(r'"price": "[^"]*"', '"price": "-1/-3"'), 2),
    ("p/q with a line end", "boa continuous", put(r'"price": "[^"]*"', r'"price": "0\n"'), 2),
    ("underscores", "boa continuous", put(r'"price": "[^"]*"', '"price": "1_0"'), 2),
    ("NaN deep inside", "sia oracle", put(r'"first": \d+', '"first": NaN'), 2),
    ("Infinity deep inside", "eva cost", put(r'"scale": \d+', '"scale": Infinity'), 2),
    ("a whole number with a point", "placements", put(r'"scale": \d+', '"scale": 0.0'), 2),
    ("a whole number as a text", "sia oracle", put(r'"limit": \d+', '"limit": "2"'), 2),
    ("a truth in a list", "sia oracle", put(r'"prices": \[\[\d+', '"prices": [[true'), 2),
    ("2^64 and what it wraps to", "sia oracle", put(r'"last": \d+', f'"last": {(1 << 64) + 4}'), 2),
    ("2^62 - 1 of the price of a row", "sia oracle", put(r'\[\[0, \d+', f"[[0, {(1 << 62) - 1}"), 1),
    ("a row up to the end of 62 bits", "sia oracle", put(r'"last": 4', f'"last": {(1 << 62) - 1}'), 1),
    # fields
    ("a field twice, once by its code", "sia oracle", put(r'"bound"', r'"\u0062ound": 9, "bound"'), 2),
    ("a field twice in a node", "eva cost", put(r'"scale"', '"scale": 1, "scale"'), 2),
    ("half a pair of a name", "placements", put(r'"duals"', r'"\ud800": 1, "duals"'), 2),
    ("a name of a million letters", "eva cost", put(r"^\{", f'{{"{"x" * 1_000_000}": 1, '), 2),
    ("a name of lines", "sia oracle", put(r"^\{", '{"a\\nb\\u001b[31m": 1, '), 2),
    # trees and bounds
    ("a branch without its second child", "boa real widths, two types", with_fields(cut_short), 1),
    ("both children one", "boa real widths, two types", put(r'"children": \[\s*1,\s*2', '"children": [2, 2'), 1),
    ("the first child alone", "boa real widths, two types", put(r'"children": \[\s*1,\s*2', '"children": [1'), 2),
    ("a leaf for a branch", "sia oracle", with_fields(unbranched), 1),
    ("one step more than the leaves", "sia oracle", with_fields(one_more), 1),
    ("a bound below what is proved", "sia oracle", with_fields(lambda c: c.update(bound=0)), 1),
    ("the digest in capitals", "placements", with_fields(lambda c: c.update(instance=c["instance"].upper())), 2),
]  # fmt: skip
VIPR: list[tuple[str, str, Forge, int]] = [
    ("empty", "aryl reclaim", lambda c: "", 2),
    ("comments alone", "aryl reclaim", lambda c: "% gapwise 1\n" * 1000, 2),
    ("1e999999", "aryl reclaim", put(r"RTP range \S+", "RTP range 1e999999"), 2),
    ("a billion variables", "aryl reclaim", put(r"VAR \d+", "VAR 999999999"), 2),
    ("as many as 10^20 lines", "aryl reclaim", put(r"DER \d+", "DER 99999999999999999999"), 2),
    ("sums of coprime denominators", "aryl reclaim", endless_sum, 2),
    ("a solution of coprime denominators", "aryl mean jct", endless_solution, 2),
    ("numbers that grow", "aryl reclaim", growing, 2),
    ("an assumption discharged twice", "aryl reclaim", lambda c: derived(
        c, "9 inf", "L 0 1 0 1 < asm >", "G 1 1 0 1 < asm >", "G 9 OBJ < asm >", "G 9 OBJ < uns {m} {m} {m} {m} >"), 1),
    ("a bound beside the objective", "aryl reclaim", lambda c: derived(c, "9 inf", "G 9 1 0 1 < lin 1 0 1 >"), 1),
    ("JSON", "aryl reclaim", lambda c: telling("sia oracle").certificate, 2),
    ("bytes", "aryl reclaim", lambda c: bytes(range(256)), 2),
]  # fmt: skip


def files(made: Case, forged: str | bytes, folder: Path) -> list[str]:
    """Instance, result and the certificate, as files."""
    texts = {"i.json": json.dumps(dump(made.instance)), "r.json": made.result, "forged": forged}
    for name, text in texts.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return [str(folder / name) for name in texts]


ALL = [(*one, True) for one in JSON] + [(*one, False) for one in VIPR]


@pytest.mark.parametrize(("hole", "reading", "forge", "status", "in_json"), ALL, ids=[f"{r}: {h}" for h, r, *_ in ALL])
def test_a_forged_file_is_refused_in_one_line(
    hole: str,
    reading: str,
    forge: Forge,
    status: int,
    in_json: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    made = telling(reading)
    forged = forge(made)
    assert forged != made.certificate
    paths = files(made, forged, tmp_path)
    done = call("verify", *paths)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1), done.stderr[:500]
    assert len(done.stderr) < 900
    other = second_command.main([paths[0], paths[2]]) if in_json else vipr_check.main(paths[2:])
    out, err = capsys.readouterr()
    assert (other in (1, 2), out, err.count("\n")) == (True, "", 1), (out, err[:500])
    assert len(err) < 900


def test_there_are_forty():
    assert len(ALL) >= 40


@pytest.mark.parametrize(
    "text", ["", "[]", "7", '{"problem": "sia-oracle"}', "[" * 100_000, '{"problem": 1, "data": NaN}']
)
def test_an_instance_that_is_none_is_one_line_of_the_second_checker(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    paths = files(telling("sia oracle"), "{}", tmp_path)
    Path(paths[0]).write_text(text)
    status = second_command.main([paths[0], paths[2]])
    out, err = capsys.readouterr()
    assert (status in (1, 2), out, err.count("\n")) == (True, "", 1), err[:500]


def test_the_same_with_other_line_ends_is_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for reading in ("boa continuous", "aryl reclaim"):
        made = telling(reading)
        paths = files(made, made.certificate.replace("\n", "\r\n"), tmp_path)
        assert call("verify", *paths).returncode == 0
        other = vipr_check.main(paths[2:]) if made.vipr else second_command.main([paths[0], paths[2]])
        assert (other, capsys.readouterr().err) == (0, "")
