"""Instance sets: instances that are reported together, and the methods to run on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from instances import InputError, Instance, load

SUFFIXES = (".json", ".json.gz")


@dataclass(frozen=True)
class InstanceSet:
    """Instances of one problem under one name; `methods` as on the command line."""

    name: str
    instances: Sequence[Instance]
    methods: tuple[str, ...] = ("all",)


def from_paths(paths: Sequence[Path], methods: tuple[str, ...]) -> list[InstanceSet]:
    """One set for each folder and problem: a path is an instance file or a folder with such files, however deep.

    Raises InputError for a path that is not there, a folder without instance files or a bad file.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.name.endswith(SUFFIXES))
            if not inside:
                raise InputError(f"{path}: no instance files (.json, .json.gz) in this folder")
            files += inside
        else:
            files.append(path)
    found: dict[tuple[str, str], list[Instance]] = {}
    for file in dict.fromkeys(files):
        instance = load(file)
        found.setdefault((file.parent.name or ".", instance.problem), []).append(instance)
    return [InstanceSet(name, instances, methods) for (name, _), instances in found.items()]
