"""Write a small instance of each problem, for every method: `python -m tests.smallest DIR`."""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.papers import reference_sets
from instances import PROBLEMS, Instance, dump, save


def smallest() -> list[Instance]:
    """Of each problem the shortest file of the quick reference study."""
    found = [instance for one in reference_sets(quick=True) for instance in one.instances]
    return [
        min((i for i in found if i.problem == problem), key=lambda i: len(str(dump(i))))
        for problem in dict.fromkeys(i.problem for i in found)
        if problem in PROBLEMS
    ]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir()
    for instance in smallest():
        save(instance, folder / f"{instance.name}.json")
        print(f"{instance.problem}: {instance.name}")
