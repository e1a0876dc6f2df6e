"""What can be drawn for SIA: the oracle's problem, and the same with locality."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from instances import InputError, Instance
from instances.sia import VARIANTS, SiaLocalOracle, synthetic

Variant = Annotated[str, typer.Option(help="Workload: " + ", ".join(VARIANTS) + ".")]
Days = Annotated[float, typer.Option(help="Days within which jobs are submitted.")]
SlotMinutes = Annotated[float, typer.Option(help="Minutes of a slot.")]
Seed = Annotated[int, typer.Option(help="Seed of all draws.")]


def oracle(
    variant: Variant = "base", days: Days = 3.0, slot_minutes: SlotMinutes = 1.0, seed: Seed = 0
) -> Instance[Any]:
    """A workload of SIA's Appendix A.1 or C: bursts of jobs that come to pools of 8 GPUs."""
    return synthetic(_known(variant), seed, days=days, slot_minutes=slot_minutes)


def local_oracle(
    variant: Variant = "base", days: Days = 0.25, slot_minutes: SlotMinutes = 1.0, seed: Seed = 0
) -> Instance[Any]:
    """The same workload on servers of 8 GPUs, each pool a server, jobs on one server."""
    drawn = synthetic(_known(variant), seed, days=days, slot_minutes=slot_minutes)
    return Instance.of(SiaLocalOracle.of(drawn.data), f"local-{drawn.name}", drawn.source)


def _known(variant: str) -> str:
    if variant not in VARIANTS:
        raise InputError(f"--variant: must be one of {', '.join(VARIANTS)}, got {variant!r}")
    return variant
