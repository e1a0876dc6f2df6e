"""Instance sets: instances that are reported together, and the methods to run on them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from instances import InputError, Instance, load, parse
from instances.files import read_json
from instances.reading import is_folder
from instances.text import escape_text

SUFFIXES = (".json", ".json.gz")


@dataclass(frozen=True)
class InstanceSet:
    """Instances of one problem under one name; `methods` as on the command line."""

    name: str
    instances: Sequence[Instance]
    methods: tuple[str, ...] = ("all",)


def from_paths(paths: Sequence[Path], methods: tuple[str, ...]) -> list[InstanceSet]:
    """Return one set for each folder and problem, of the instances at `paths` (see `instances_at`).

    A set is called like its folder, with as much of the path as distinguishes it from the others.
    """
    found: dict[tuple[Path, str], list[Instance]] = {}
    for file, instance in instances_at(dict.fromkeys(paths)).items():
        found.setdefault((file.resolve().parent, instance.problem), []).append(instance)
    names = _find_distinct_ends(dict.fromkeys(folder for folder, _ in found))
    return [InstanceSet(names[folder], instances, methods) for (folder, _), instances in found.items()]


def instances_at(paths: Iterable[Path]) -> dict[Path, Instance]:
    """Return the instances by file: a path is an instance file, or a folder that contains such files.

    In a folder, JSON without the field `gapwise` is something else and is passed over, with a line on standard error.
    Raises InputError for a path that is not there, a folder without instance files or a bad file.
    """
    found: dict[Path, Instance] = {}
    for path in paths:
        if is_folder(path):
            found |= _instances_in(path)
        else:
            found[path] = load(path)
    return found


def _instances_in(folder: Path) -> dict[Path, Instance]:
    found, foreign = {}, []
    for file in sorted(p for p in folder.rglob("*") if p.name.endswith(SUFFIXES) and p.is_file()):
        content = read_json(file)
        if not isinstance(content, dict) or "gapwise" not in content:
            foreign.append(file)
            continue
        try:
            found[file] = parse(content)
        except InputError as error:
            raise InputError(f"{file}: {error}") from None
    if not found:
        raise InputError(f"{folder}: no instance files (.json, .json.gz) in this folder")
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        print(f"passed over, no instance file: {escape_text(str(foreign[0]))}{more}", file=sys.stderr)
    return found


def _find_distinct_ends(folders: Iterable[Path]) -> dict[Path, str]:
    """Return the shortest distinct ends of the paths."""
    left, names, length = list(folders), {}, 1
    while left:
        times = Counter(folder.parts[-length:] for folder in left)
        for folder in left:
            end = folder.parts[-length:]
            if times[end] == 1 or length >= len(folder.parts):
                names[folder] = escape_text(str(Path(*end)))  # a name may be no UTF-8
        left = [folder for folder in left if folder not in names]
        length += 1
    return names
