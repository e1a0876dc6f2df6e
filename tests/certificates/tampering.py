"""Tampered certificates: what a proof must not survive."""

from __future__ import annotations

import random


def tampered_vipr(text: str, seed: int) -> str:
    """A VIPR file in which one number after the variables is off by one, or one derived constraint is missing."""
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
