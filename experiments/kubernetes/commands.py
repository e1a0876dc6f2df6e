"""The kubectl commands of a plan's steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import join
from typing import Any


def join_kubectl(*words: str) -> str:
    """Return a command for a shell; names of new nodes have blanks and are quoted."""
    return join(["kubectl", *words])


def list_commands(step: Mapping[str, Any], new: Sequence[str]) -> dict[str, Any]:
    """Return the kubectl commands of a step; each waits until every evicted pod has started."""
    onto, then = list(step["onto"] or ()), list[str]()
    if new:
        then.append(join_kubectl("cordon", *new))
    if onto:
        then += [join_kubectl("uncordon", place) for place in onto]
    command = None
    if step["drain"] is not None:
        command = join_kubectl("drain", step["drain"], "--ignore-daemonsets", "--delete-emptydir-data")
        then.insert(min(1, len(onto)), command)
    if onto:
        then.append(join_kubectl("cordon", *onto))
    return {"command": command, "commands": then}
