"""SIA's oracle in CP-SAT: a start time a job, and one cumulative constraint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.peers.cp_sat import HONOURED, CpProgram, Values, solve_cp_sat
from instances import Answer, InputError, Options, Report, Solution
from instances.method import method
from instances.sia import SiaOracle

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar


def build_start_times(data: SiaOracle) -> CpProgram:
    """minimise Σ_j (t_j - s_j) over starts s_j <= t_j <= m_j of the jobs j."""
    from ortools.sat.python.cp_model import CpModel

    model = CpModel()
    start = {
        job.id: model.new_int_var(job.submit, cutoff, job.id)
        for job, cutoff in zip(data.jobs, data.cutoffs, strict=True)
    }
    model.minimize(sum(start[job.id] - job.submit for job in data.jobs))
    _limit_capacity(model, data, start)
    _alike_in_order(model, data, start)
    for job, cutoff in zip(data.jobs, data.cutoffs, strict=True):
        model.add_hint(start[job.id], cutoff)  # as without sharing, which is a schedule
    return CpProgram(model, start)


def _limit_capacity(model: CpModel, data: SiaOracle, start: dict[str, IntVar]) -> None:
    """State that the GPUs in use never exceed the capacity."""
    running = [model.new_fixed_size_interval_var(start[job.id], job.duration, job.id) for job in data.jobs]
    model.add_cumulative(running, [job.gpus for job in data.jobs], data.capacity)


def _alike_in_order(model: CpModel, data: SiaOracle, start: dict[str, IntVar]) -> None:
    """Order identical jobs: if a job has no later submission and no later cut-off than another, it starts no later.

    This holds for jobs of one width and duration, because two jobs in the opposite order can be exchanged.
    """
    last: dict[tuple[int, int], tuple[str, int]] = {}
    for i in sorted(range(len(data.jobs)), key=lambda i: (data.jobs[i].submit, data.cutoffs[i])):
        job, cutoff = data.jobs[i], data.cutoffs[i]
        before, earlier = last.get((job.gpus, job.duration), ("", cutoff + 1))
        if earlier <= cutoff:
            model.add(start[before] <= start[job.id])
        last[job.gpus, job.duration] = job.id, cutoff


def _read(data: SiaOracle, values: Values) -> Solution:
    return {"starts": {job.id: values[job.id] for job in data.jobs}}


@method("exact", honours=HONOURED)
def start_times(data: SiaOracle, options: Options, report: Report) -> Answer:
    """Solve the oracle by CP-SAT. Raises InputError where fairness has a weight."""
    if data.fairness_weight:
        raise InputError(f"data.fairness_weight: must be 0 for a peer, got {data.fairness_weight}")
    return solve_cp_sat(build_start_times, _read, data, options, report)
