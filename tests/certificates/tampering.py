"""Tamper with certificates so that their proofs must fail."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

HEAD = ("gapwise_certificate", "problem", "instance")


def tampered_vipr(text: str, seed: int) -> str:
    """Change one number after the variables of a VIPR file, or remove one derived constraint."""
    chance = random.Random(seed)
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("OBJ "))
    der = next(k for k, line in enumerate(lines) if line.startswith("DER "))
    if seed % 4 == 0:  # a leaf, or an assumption, or a node
        lines.pop(chance.randrange(der + 1, len(lines)))
        lines[der] = f"DER {len(lines) - der - 1}"
        return "\n".join(lines) + "\n"
    wanted = range(der + 1, len(lines)) if seed % 4 < 3 else range(start + 1, der)
    places = [
        (k, w)
        for k in wanted
        for w, word in enumerate(lines[k].split())
        if word.lstrip("-").replace("/", "").isdigit() and not (k > der and w == len(lines[k].split()) - 1)
    ]
    k, w = chance.choice(places)
    words = lines[k].split()
    top, _, under = words[w].partition("/")
    words[w] = str(int(top) + chance.choice((-1, 1))) + (f"/{under}" if under else "")
    lines[k] = " ".join(words)
    return "\n".join(lines) + "\n"


def tampered_json(text: str, seed: int) -> str:
    """Change one number of a JSON certificate by one, or remove one entry of a list."""
    chance = random.Random(seed)
    content = json.loads(text)
    every = [place for place in places(content) if place[0] not in HEAD]
    lists = [place for place in every if place and isinstance(place[-1], int)]
    if seed % 4 == 0 and lists:
        *way, last = chance.choice(lists)
        at(content, way).pop(last)
        return json.dumps(content)
    *way, last = chance.choice([place for place in every if _number(at(content, place))])
    holder = at(content, way)
    holder[last] = _off_by_one(holder[last], chance)
    return json.dumps(content)


def places(content: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Enumerate the paths to everything in lists and objects."""
    pairs = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [place for key, value in pairs for place in ((*way, key), *places(value, (*way, key)))]


def at(content: Any, way: Sequence[Any]) -> Any:
    for key in way:
        content = content[key]
    return content


def _number(value: Any) -> bool:
    return isinstance(value, int | str) and str(value).lstrip("-").replace("/", "").isdigit()


def _off_by_one(value: Any, chance: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + chance.choice((-1, 1))
    top, _, under = value.partition("/")
    return str(int(top) + chance.choice((-1, 1))) + (f"/{under}" if under else "")
