"""Mutate certificates and results: `python -m tests.certificates.mutants [COUNT] [SEED]`.

A mutant is refused in one line, or what it proves is true: not beyond the optimum, which is known from outside. Prints
a row a reading, and every mutant that is accepted with a false bound or ends in another error.
"""

from __future__ import annotations

import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.certificates.readings import READINGS, Case, cases
from tests.certificates.tampering import HEAD, at, places

CASES = 8  # of a reading
HUGE = (2**31, 2**53 + 1, 2**60, 2**61, 2**62, 2**62 - 1, 2**63 - 1, 2**63, 2**64, 2**64 + 1, 10**400)
WHOLE = (0, 1, -1, 2, 3, 1000, -(2**63), *HUGE)
ODD: tuple[Any, ...] = (True, False, None, "", "0", "1/0", "inf", "-inf", "nan", "1e308", "٣", "²", "1_0", [], {}, [[]])
FLOATS = (0.5, -0.0, 1e308, -1e308, 1e-324, 5e-324, 1.0)
TEXTS = ("NaN", "Infinity", "-Infinity", "1e999", "1e-999", "1" + "0" * 5000, "[" * 3000 + "]" * 3000)
WORDS = ("0", "1", "-1", "1/2", "-1/3", "1/0", "0/0", "inf", "-inf", "nan", "NaN", "1e308", "1.5", "0x1", "٣", "-0")
WORDS += (*map(str, HUGE), "1" + "0" * 3900, "1/1" + "0" * 3900, "1" * 5000, "OBJ", "{", "}", "asm", "E", "L", "G")
PLACE = "@number@"


def mutant(text: str, rng: random.Random) -> str:
    """Change a file, JSON or VIPR, in one to three places."""
    change = _changed_json if text.startswith("{") else _changed_vipr
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        try:
            text = change(text, rng)
        except (ValueError, RecursionError):  # it is not that kind of file any more
            break
    return text


def _changed_json(text: str, rng: random.Random) -> str:
    content = json.loads(text)
    every = [place for place in places(content) if place[0] not in HEAD or rng.random() < 0.02]
    if not every:
        return text
    *way, last = rng.choice(every)
    holder = at(content, way)
    kind = rng.randrange(12)
    old = holder[last]
    lists = [place for place in every if isinstance(at(content, place), list)]
    if kind < 4:
        holder[last] = _other_number(old, rng)
    elif kind == 4:
        holder[last] = rng.choice(ODD + FLOATS)
    elif kind == 5:
        del holder[last]
    elif kind == 6 and isinstance(holder, dict):
        holder[rng.choice(("x", "bound", "price", "leaf", "children"))] = holder.pop(last)
    elif kind == 7:
        holder[last] = at(content, rng.choice(every))
    elif kind in (8, 9) and lists:
        listed = at(content, rng.choice(lists))
        rng.choice((rng.shuffle, lambda one: one.extend(one[:3]), lambda one: one.reverse(), lambda one: one.clear()))(
            listed
        )
    elif kind == 10:
        holder[last] = PLACE
        return json.dumps(content).replace(f'"{PLACE}"', rng.choice(TEXTS))
    else:
        name = json.dumps(str(last))
        return json.dumps(content).replace(f"{name}: ", f"{name}: {rng.choice(('0', '1', 'null'))}, {name}: ", 1)
    return json.dumps(content)


def _other_number(value: Any, rng: random.Random) -> Any:
    """Another number in the form of `value`."""
    if isinstance(value, str):
        top, _, under = value.partition("/")
        changed = str(_other_number(int(top), rng)) if top.lstrip("-").isdigit() else rng.choice(WORDS)
        return changed + (f"/{under}" if under and rng.random() < 0.7 else "")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return rng.choice(WHOLE)
    near = (
        value + 1,
        value - 1,
        -value,
        2 * value,
        value // 2,
        value * 1000,
        value + 2**32,
        value + 2**62,
        value + 2**64,
    )
    return rng.choice(near if rng.random() < 0.6 else WHOLE)


def _changed_vipr(text: str, rng: random.Random) -> str:
    lines = text.splitlines()
    first = next((k for k, line in enumerate(lines) if line.startswith("OBJ ")), 0)
    der = next((k for k, line in enumerate(lines) if line.startswith("DER ")), len(lines) - 1)
    end = rng.random() < 0.8
    k = (
        rng.randrange(der if end else first, len(lines))
        if not end or der + 1 >= len(lines)
        else rng.randrange(der - 2, len(lines))
    )
    words = lines[k].split() or ["x"]
    kind = rng.randrange(10)
    w = rng.randrange(len(words))
    if kind < 4:
        numbers = [i for i, word in enumerate(words) if word.lstrip("-").replace("/", "").isdigit()]
        w = rng.choice(numbers) if numbers else w
        words[w] = str(_other_number(words[w], rng))
    elif kind == 4:
        words[w] = rng.choice(WORDS)
    elif kind == 5:
        swapped = {"asm": "sol", "lin": "rnd", "rnd": "lin", "uns": "lin", "sol": "asm", "G": "L", "L": "G", "E": "G"}
        words = [swapped.get(word, word) for word in words]
    elif kind == 6 and k > der:
        return _with_lines([*lines[:k], *lines[k + 1 :]], der)
    elif kind == 7 and k > der:
        return _with_lines([*lines[:k], lines[k], *lines[k:]], der)
    elif kind == 8 and k > der:
        other = rng.randrange(der + 1, len(lines))
        lines[k], lines[other] = lines[other], lines[k]
        return "\n".join(lines) + "\n"
    else:
        words = (
            [word for i, word in enumerate(words) if i != w]
            if rng.random() < 0.5
            else [*words[:w], words[w], *words[w:]]
        )
    lines[k] = " ".join(words)
    return "\n".join(lines) + "\n"


def _with_lines(lines: list[str], der: int) -> str:
    lines[der] = f"DER {len(lines) - der - 1}"
    return "\n".join(lines) + "\n"


def of(case: Case, rng: random.Random) -> tuple[str, str]:
    """Mutate a certificate or result, and return the outcome and the mutant."""
    if rng.random() < 0.8:
        text = mutant(case.certificate, rng)
        return case.proves(text), text
    text = mutant(case.result, rng)
    return case.outcome(result=text), text


def run(count: int, seed: int, report: Callable[[str], None]) -> Counter[str]:
    """Return the outcomes of `count` mutants, distributed over the readings."""
    total = Counter[str]()
    share = -(-count // len(READINGS))
    for reading in READINGS:
        made, outcomes, begin = cases(reading, CASES), Counter[str](), time.process_time()
        for i in range(share):
            rng = random.Random(f"{reading} {seed} {i}")
            case = made[i % len(made)]
            try:
                outcome, text = of(case, rng)
            except Exception:
                outcome, text = "traceback", traceback.format_exc()
            outcomes[outcome] += 1
            if outcome in ("false", "traceback"):
                report(f"{case.instance.name}, mutant {i}: {outcome}: {text[-2000:]}")
        total += outcomes
        report(f"{reading}: {dict(outcomes)}, {time.process_time() - begin:.1f} CPU s")
    return total


def main(count: int, seed: int) -> int:
    """Print the rows. Returns 1 where a mutant was accepted with a false bound or ended in another error."""
    total = run(count, seed, lambda line: print(line, flush=True))
    print(f"{total.total()} mutants: {dict(total)}")
    return int(total["false"] + total["traceback"] > 0)


if __name__ == "__main__":
    sys.exit(main(*(int(number) for number in [*sys.argv[1:], *("1000", "0")[len(sys.argv) - 1 :]])))
