"""Write the steps of a plan to a file: as JSON with commands, or as CSV with a row per step."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import join
from typing import Any

from experiments.kubernetes.steps import DRAIN, DRAIN_S, RunbookStep


@dataclass(frozen=True)
class PlanFile:
    """The content of the file.

    - `figures`: the bills and the evictions.
    - `steps`: those of the answer; `runbook`: those for a person.
    - `first`: the nodes that are cordoned first; `last`: those that are uncordoned at the end; `new`: the new nodes.
    """

    figures: Mapping[str, float | None]
    steps: Sequence[Mapping[str, Any]]
    runbook: Sequence[RunbookStep]
    first: Sequence[str]
    last: Sequence[str]
    new: Sequence[str]

    def write_json(self) -> str:
        """Return the plan with its commands."""
        kept = {
            **self.figures,
            "first": _kubectl("cordon", *self.first) if self.first else None,
            "steps": [{**s, **_commands(s, self.new if s["rent"] and self.last else [])} for s in self.steps],
            "last": _kubectl("uncordon", *self.last) if self.last else None,
            "runbook": [step.content() for step in self.runbook],
        }
        return json.dumps(kept, indent=1) + "\n"

    def write_csv(self) -> str:
        """Return the plan with one row per step."""
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(["step", "rent", "drain", "evictions", "usd_per_hour", "onto"])
        for i, s in enumerate(self.steps, 1):
            rent = ", ".join(f"{n} x {name}" for name, n in s["rent"].items())
            onto = " then ".join(s["onto"] or ())
            writer.writerow([i, rent, s["drain"] or "", s["evictions"], s["usd_per_hour"], onto])
        return table.getvalue()


def _kubectl(*words: str) -> str:
    """Return a command for a shell; names of new nodes have blanks and are quoted."""
    return join(["kubectl", *words])


def _commands(step: Mapping[str, Any], new: Sequence[str]) -> dict[str, Any]:
    """Return the kubectl commands of a step; each waits until every evicted pod has started."""
    onto, then = list(step["onto"] or ()), list[str]()
    if new:
        then.append(_kubectl("cordon", *new))
    if onto:
        then += [_kubectl("uncordon", place) for place in onto]
    command = None
    if step["drain"] is not None:
        command = _kubectl("drain", step["drain"], *DRAIN, f"--timeout={DRAIN_S}s")
        then.insert(min(1, len(onto)), command)
    if onto:
        then.append(_kubectl("cordon", *onto))
    return {"command": command, "commands": then}
