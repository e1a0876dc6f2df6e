"""Heuristics as a user would bring them: good, slow and broken ones."""

from __future__ import annotations

import os
import time

from instances import Answer, Options
from instances.eva import EvaPacking


def one_each(data: EvaPacking) -> dict:
    """Every task on the most expensive type."""
    kind = max(data.instance_types, key=lambda k: k.usd_per_hour).name
    return {"instances": [{"type": kind, "count": t.count, "tasks": {t.key: 1}} for t in data.tasks]}


def seeded(data: EvaPacking, options: Options) -> dict:
    """As `one_each`, and as many idle instances as the seed says."""
    kind = max(data.instance_types, key=lambda k: k.usd_per_hour).name
    idle = {"type": kind, "count": options.seed, "tasks": {}}
    return {"instances": [*one_each(data)["instances"], idle]}


def with_bound(data: EvaPacking) -> Answer:
    return Answer(one_each(data), bound=1.0)


def overfull(data: EvaPacking) -> dict:
    kind = data.instance_types[0].name
    return {"instances": [{"type": kind, "count": 1, "tasks": {t.key: t.count for t in data.tasks}}]}


def sleeps(data: EvaPacking) -> dict:
    time.sleep(600)
    return {}


def raises(data: EvaPacking) -> dict:
    raise RuntimeError("no luck\ntoday")


def dies(data: EvaPacking) -> dict:
    os._exit(7)


def nonsense(data: EvaPacking) -> int:
    return 3


def malformed(data: EvaPacking) -> dict:
    return {"instances": [{"type": "nowhere", "count": 1, "tasks": {}}]}


def chatty(data: EvaPacking) -> dict:
    """Prints as Python does and as a solver library does."""
    print("said by Python")
    os.write(1, b"said by a library\n")
    return one_each(data)
