"""Generate instances for SIA: the oracle's problem, without and with locality."""

from __future__ import annotations

from experiments.drawing import Drawing, Flag
from instances import InputError, Instance
from instances.sia import VARIANTS, SiaLocalOracle, synthetic
from instances.text import meant


def on_servers(
    variant: str = "base", seed: int = 0, *, days: float = 0.25, slot_minutes: float = 1.0
) -> Instance[SiaLocalOracle]:
    """A synthetic workload with locality.

    - `seed`: seed of all that is drawn.
    - `days`: days within which jobs are submitted.
    - `slot_minutes`: length of a slot.
    """
    drawn = synthetic(variant, seed, days=days, slot_minutes=slot_minutes)
    return Instance.of(SiaLocalOracle.of(drawn.data), f"local-{drawn.name}", drawn.source)


def _known(variant: str) -> str:
    if variant not in VARIANTS:
        raise InputError(f"--variant: must be one of {', '.join(VARIANTS)}, got {variant!r}{meant(VARIANTS, variant)}")
    return variant


FLAGS = {
    "variant": Flag(kind=str, help="Workload: " + ", ".join(VARIANTS) + ".", value=_known),
    "slot_minutes": Flag(help="Minutes of a slot."),
}
oracle = Drawing(
    "A workload of SIA's Appendix A.1 or C: bursts of jobs that come to pools of 8 GPUs.",
    synthetic,
    flags=FLAGS,
    left_out=("fairness_weight",),
)
local_oracle = Drawing(
    "The same workload on servers of 8 GPUs, each pool a server, jobs on one server.", on_servers, flags=FLAGS
)
