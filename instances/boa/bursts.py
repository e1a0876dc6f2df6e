"""Draw bursty arrivals: a Poisson process whose rate alternates between two values (BOA, section 6.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from instances.arrays import FloatArray
from instances.errors import InputError

SHORTEST = 2.0**-60  # smallest share of the time in a burst that floating-point sums can represent


@dataclass(frozen=True)
class BurstParameters:
    """Parameters of the synthetic trace of section 6.4 that the paper does not state.

    - `low`: the low rate as a share of the mean rate.
    - `cycle_hours`: mean time from a burst to the next.
    """

    low: float = 0.04
    cycle_hours: float = 1.0


@dataclass(frozen=True)
class TwoRates:
    """A Poisson process with two `rates` per hour; `leaving` are the rates at which it leaves each state."""

    rates: tuple[float, float]
    leaving: tuple[float, float]

    @property
    def c2(self) -> float:
        """Return the squared coefficient of variation of the times between arrivals."""
        (l1, l2), (s1, s2) = self.rates, self.leaving
        return 1 + 2 * s1 * s2 * (l1 - l2) ** 2 / ((s1 + s2) ** 2 * (l1 * l2 + l1 * s2 + l2 * s1))

    @classmethod
    def of(cls, rate: float, c2: float, parameters: BurstParameters = BurstParameters()) -> TwoRates:
        """Return the process with a mean rate and a C²: the larger C², the shorter and more intense the bursts.

        Raises InputError if C² is below 1 or above that of every process.
        """
        if not np.isfinite(c2) or c2 < 1:
            raise InputError(f"c2: must be a number >= 1, got {c2}")
        if c2 > (greatest := cls.greatest_c2(rate, parameters)):
            raise InputError(f"c2: must be <= {greatest:.4g} at {rate:g} arrivals an hour, got {c2}")
        least, most = 0.0, 1.0  # share of the time in a burst
        for _ in range(200):
            share = (least + most) / 2
            if _fit_share(rate, share, parameters).c2 > c2:
                least = share
            else:
                most = share
        return _fit_share(rate, most, parameters)

    @staticmethod
    def greatest_c2(rate: float, parameters: BurstParameters = BurstParameters()) -> float:
        """Return the supremum of C² for a mean rate, which belongs to bursts of zero length."""
        return _fit_share(rate, SHORTEST, parameters).c2

    def path(self, hours: float, rng: np.random.Generator) -> RatePath:
        """Draw the path of the rate over `hours` hours."""
        s1, s2 = self.leaving
        state, now = int(rng.random() < s1 / (s1 + s2)), 0.0  # drawn from the stationary distribution
        edges, mass = [0.0], [0.0]
        while now < hours:
            passed = min(rng.exponential(1 / self.leaving[state]), hours - now)
            now += passed
            edges.append(now)
            mass.append(mass[-1] + self.rates[state] * passed)
            state = 1 - state
        return RatePath(np.array(edges), np.array(mass))


@dataclass(frozen=True, eq=False)
class RatePath:
    """A path of the rate: the expected arrivals `masses` up to each of the hours `edges`, linear in between."""

    edges: FloatArray
    masses: FloatArray

    @property
    def mass(self) -> float:
        """Return the expected number of arrivals."""
        return float(self.masses[-1])

    def times(self, number: int, rng: np.random.Generator) -> FloatArray:
        """Draw `number` sorted arrivals in hours: the Poisson process conditional on this number."""
        return np.interp(np.sort(rng.uniform(0, self.mass, number)), self.masses, self.edges)


def _fit_share(rate: float, share: float, p: BurstParameters) -> TwoRates:
    low = p.low * rate
    high = low + (rate - low) / share
    return TwoRates((high, low), (1 / (share * p.cycle_hours), 1 / ((1 - share) * p.cycle_hours + 1e-12)))
