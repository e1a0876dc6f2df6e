"""Build the programs of the certificates of Aryl's problems from the data alone, and verify the certificates.

The program of the mean JCT is in `instances/proofs/aryl/event_intervals.py`, that of placement in `filling_program.py`.

A certificate is a VIPR file of the program. The verifier builds the program again and compares every number.
"""

from __future__ import annotations

import re
from fractions import Fraction

from instances.aryl.elastic import ArylElastic
from instances.aryl.placement import ArylPlacement
from instances.aryl.reclaim import ArylReclaim
from instances.errors import InputError
from instances.options import Solution
from instances.proofs.aryl.event_intervals import EventProgram
from instances.proofs.aryl.filling_program import FillingProgram
from instances.proofs.certificate import NoCertificate, Proven
from instances.proofs.derivation import proven_of
from instances.proofs.vipr import ONE, Program, ProgramBuilder, read_vipr

MOST = 200_000  # variables of a program that is written to a file


def prove_elastic(data: ArylElastic, text: str) -> Proven:
    """Return the bound for elastic jobs that the VIPR file `text` proves.

    Raises InputError, or CheckFailed if the derivation does not hold.
    """
    file = read_vipr(text)
    if data.objective == "jct-reduction":
        return proven_of(data, knapsack_program(data), file)
    reach = _reach(file.header.get("reach", ""))
    proven = proven_of(data, EventProgram(data, reach).program(), file)
    return Proven(min(proven.bound, reach), proven.how)


def _reach(text: str) -> Fraction:
    """Return the mean JCT in seconds up to which the program of a certificate is valid. Raises InputError."""
    if not re.fullmatch(r"[1-9]\d{0,99}(/[1-9]\d{0,99})?", text, re.ASCII):
        raise InputError(f"reach: must be a rational number > 0, got {text[:40]!r}")
    return Fraction(text)


def prove_reclaim(data: ArylReclaim, text: str) -> Proven:
    """Return the bound for reclaiming that the VIPR file `text` proves.

    Raises InputError, or CheckFailed if the derivation does not hold.
    """
    return proven_of(data, reclaim_program(data), read_vipr(text))


def prove_placement(data: ArylPlacement, text: str) -> Proven:
    """Return the bound for placement that the VIPR file `text` proves.

    Raises InputError, or CheckFailed if the derivation does not hold.
    """
    return proven_of(data, FillingProgram(data).program(), read_vipr(text))


def knapsack_program(data: ArylElastic) -> Program:
    """Build the multiple-choice knapsack: x_j_w is 1 if the job with index j runs on w workers, w^min_j included.

    Maximise the seconds saved in comparison with the base demand. Each job has one number of workers, and all jobs
    together use at most the available GPUs. Raises NoCertificate if there are too many variables.
    """
    choices = data.choices()
    if (count := sum(len(workers) for workers in choices)) > MOST:
        raise NoCertificate(f"{count:,} numbers of workers to choose from, more than {MOST:,}")
    program, used = ProgramBuilder(), dict[int, int]()
    for j, (job, workers) in enumerate(zip(data.jobs, choices, strict=True)):
        seconds = [job.exact_work / data.throughput(job, w) for w in workers]
        own = [
            program.add_variable(f"x_{j}_{w}", 1, seconds[0] - time) for w, time in zip(workers, seconds, strict=True)
        ]
        used |= {i: job.gpus_per_worker * w for i, w in zip(own, workers, strict=True)}
        program.add_row(f"one_{j}", "E", 1, dict.fromkeys(own, 1))
    program.add_row("gpus", "L", data.whole_gpus, used)
    return program.build("max")


def knapsack_point(data: ArylElastic, solution: Solution) -> dict[int, Fraction]:
    """Return a solution as a point of the knapsack."""
    point, first = {}, 0
    for job, workers in zip(data.jobs, data.choices(), strict=True):
        point[first + solution["workers"][job.id] - workers[0]] = ONE
        first += len(workers)
    return point


def reclaim_program(data: ArylReclaim) -> Program:
    """Build the program of section 4: z_j is 1 if job j is preempted, x_s is 1 if server s is returned.

    Minimise the number of preempted jobs or their loss. Exactly `reclaim` servers are returned. A job is preempted if
    a server of its base workers is returned, or if it loses more workers than its spare ones. Jobs and servers have
    their indices in the data.

    Raises NoCertificate if there are too many pairs of a job and a server.
    """
    needs = [job.needs() for job in data.jobs]
    if (count := sum(len(workers) for workers, _ in needs)) > MOST:
        raise NoCertificate(f"{count:,} pairs of a job and a server, more than {MOST:,}")
    program = ProgramBuilder()
    jobs = [program.add_variable(f"z_{j}", 1, loss) for j, loss in enumerate(data.losses())]
    place = {server: program.add_variable(f"x_{s}") for s, server in enumerate(data.servers)}
    program.add_row("reclaim", "E", data.reclaim, dict.fromkeys(place.values(), 1))
    for j, (workers, spare) in zip(jobs, needs, strict=True):
        for server, n in workers.items():
            if n > spare:
                program.add_row(f"hit_{j}_{place[server] - len(jobs)}", "G", 0, {j: 1, place[server]: -1})
        if 0 < spare < (every := sum(workers.values())):
            gone = {place[server]: n for server, n in workers.items()}
            program.add_row(f"few_{j}", "L", spare, gone | {j: spare - every})
    return program.build("min")


def reclaim_point(data: ArylReclaim, solution: Solution) -> dict[int, Fraction]:
    """Return a solution as a point of the program."""
    gone = set(solution["servers"])
    point = {}
    for j, job in enumerate(data.jobs):
        workers, spare = job.needs()
        if sum(n for server, n in workers.items() if server in gone) > spare:
            point[j] = ONE
    return point | {len(data.jobs) + s: ONE for s, server in enumerate(data.servers) if server in gone}
