"""The papers' own examples of `boa-allocation`."""

from __future__ import annotations

from instances.boa.allocation import BoaAllocation, Epoch, JobClass
from instances.boa.speedup import Speedup
from instances.boa.traces import HOUR, allocation_of, epochs_of, table
from instances.envelope import Instance, Reference

FIGURE_1_LEAST = 0.88  # From this budget on, both widths of Figure 1 are above 1.


def figure_1(budget: float) -> Instance[BoaAllocation]:
    """Build the two job types of Figure 1 of "How to Rent GPUs on a Budget", with the closed form of the optimum.

    Type 1 follows Amdahl's law with 0.8 parallel, type 2 the square root; arrival rates 0.4, sizes 1. With the
    multiplier 1/t² the widths are 2t and t², which cost 0.32 + 0.56 t and take 0.1 + 0.7/t on average.
    """
    epoch = {"amdahl": Speedup(amdahl=0.8), "root": Speedup(power=0.5)}
    classes = tuple(
        JobClass(name=name, arrivals_per_hour=0.4, rescale_hours=0.0, epochs=(Epoch(size_hours=1.0, speedup=speedup),))
        for name, speedup in epoch.items()
    )
    data = BoaAllocation(budget=budget, classes=classes, widths="continuous")
    known = None
    if budget >= FIGURE_1_LEAST:
        optimum = 0.1 + 0.7 * 0.56 / (budget - 0.32)
        known = Reference(objective=optimum, bound=optimum, proved_by="closed form t = (b - 0.32)/0.56, 0.1 + 0.7/t")
    return Instance.of(data, f"figure-1-budget-{budget:g}", "How to Rent GPUs on a Budget, Figure 1", known)


def newtrace(budget_over_load: float = 2.0, *, rescale_seconds: float | None = None) -> Instance[BoaAllocation]:
    """Build newTrace (Table 1 of BOA): 960 jobs of five applications in 48 h, with speedups measured on NVIDIA T4.

    The budget is a multiple of the load; `rescale_seconds` replaces the measured times of a rescaling.
    """
    rows = table("traces").query("trace == 'newtrace'")
    counts = {str(row["application"]): int(row["jobs"]) for row in rows.to_dict("records")}
    hours = float(rows["last_submission_s"].iloc[0]) / HOUR
    data = allocation_of(counts, hours, epochs_of(), rescale_seconds, budget_over_load)
    source = "newTrace of Sia (SOSP'23), workload-1, as in Table 1 of BOA; speedups measured on NVIDIA T4"
    return Instance.of(data, f"newtrace-budget-{budget_over_load:g}", source)
