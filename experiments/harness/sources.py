"""Locate the project's own files, and compute one digest of all their code."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import instances

ROOT = Path(instances.__file__).resolve().parents[1]
LAYERS = ("instances", "models", "heuristics", "experiments")


@cache
def files() -> dict[str, Path]:
    """Return the file of every module of the project, by module name."""
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for layer in LAYERS
        for file in sorted((ROOT / layer).rglob("*.py"))
    }


@cache
def code_digest() -> str:
    """Return the digest of all modules and of the tables in their `data` folders."""
    tables = [table for layer in LAYERS for table in sorted((ROOT / layer).rglob("data/*.csv"))]
    found = hashlib.sha256()
    for file in (*files().values(), *tables):
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()
