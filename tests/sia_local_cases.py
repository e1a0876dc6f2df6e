"""Draw small instances of the oracle with locality."""

from __future__ import annotations

import random

from instances.sia import LocalJob, Pool, SiaLocalOracle


def crowded(seed: int, jobs: int, pools: int | None = None) -> SiaLocalOracle:
    """Pools of one server each, and jobs of up to 9 slots that come within 4."""
    rng = random.Random(seed)
    owned = [Pool(name=f"p{i}", gpus=8) for i in range(rng.choice((2, 3)) if pools is None else pools)]
    return SiaLocalOracle(
        slot_minutes=1.0,
        pools=tuple(owned),
        jobs=tuple(
            LocalJob(
                id=f"j{k}",
                pool=rng.choice(owned).name,
                submit=rng.randint(0, 3),
                duration=rng.randint(1, 9),
                gpus=rng.choice((2, 4, 4, 8, 1)),
            )
            for k in range(jobs)
        ),
    )
