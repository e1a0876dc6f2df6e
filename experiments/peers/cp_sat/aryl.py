"""Aryl's reclaim in CP-SAT: which servers go back, and the jobs that this preempts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.peers.cp_sat import HONOURED, CpProgram, Values, solve_cp_sat
from instances import Answer, InputError, Options, Report, Solution
from instances.aryl import ArylReclaim
from instances.method import method

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar


def build_reclaimed(data: ArylReclaim) -> CpProgram:
    """minimise Σ_j z_j over x_s, server s goes back, and z_j, job j is preempted."""
    from ortools.sat.python.cp_model import CpModel

    model = CpModel()
    back = {server: model.new_bool_var(server) for server in data.servers}
    preempted = [model.new_bool_var(job.id) for job in data.jobs]
    model.minimize(sum(preempted))
    _require_count(model, data, back)
    _enough_remain(model, data, back, preempted)
    return CpProgram(model, back)


def _require_count(model: CpModel, data: ArylReclaim, back: dict[str, IntVar]) -> None:
    """Σ_s x_s = k."""
    model.add(sum(back.values()) == data.reclaim)


def _enough_remain(model: CpModel, data: ArylReclaim, back: dict[str, IntVar], preempted: list[Any]) -> None:
    """State that a job that is not preempted keeps all its servers, or as many workers as it needs."""
    for job, lost in zip(data.jobs, preempted, strict=True):
        workers, spare = job.needs()
        if spare:
            gone = sum(n * back[server] for server, n in workers.items())
            model.add(gone <= spare).only_enforce_if(~lost)
        else:
            for server in workers:
                model.add_implication(back[server], lost)


def _read(data: ArylReclaim, values: Values) -> Solution:
    return {"servers": [server for server in data.servers if values[server]]}


@method("exact", honours=HONOURED)
def reclaimed(data: ArylReclaim, options: Options, report: Report) -> Answer:
    """Solve the reclaim by CP-SAT. Raises InputError for another objective than the number of jobs."""
    if data.objective != "preempted-jobs":
        raise InputError(f"data.objective: must be preempted-jobs for this peer, got {data.objective}")
    return solve_cp_sat(build_reclaimed, _read, data, options, report)
