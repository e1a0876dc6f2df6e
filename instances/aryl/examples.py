"""The paper's own examples as instances: Tables 2 and 4, Figure 5 with Table 1; and one of section 5.3."""

from __future__ import annotations

from typing import Literal

from instances.aryl.elastic import ArylElastic, ElasticJob
from instances.aryl.placement import ArylPlacement, HostServer, PlacedJob
from instances.aryl.reclaim import ArylReclaim, LoanedJob
from instances.envelope import Instance, Reference

Objective = Literal["jct-reduction", "mean-jct"]
SOURCE = "Aryl (arXiv:2202.07896)"


def table_2(objective: Objective = "mean-jct") -> Instance[ArylElastic]:
    """Build two elastic jobs on eight GPUs; the best mean JCT is solution 2 of Table 3, 41.67 s."""
    jobs = (_job("A", 2, 6, 50.0), _job("B", 2, 6, 20.0))
    if objective == "mean-jct":
        best, proof, name = 125 / 3, "Table 3, solution 2; enumeration", "aryl-table-2"
    else:
        best, proof, name = 110.0, "enumeration", "aryl-table-2-knapsack"
    data = ArylElastic(capacity_gpus=8.0, jobs=jobs, objective=objective)
    return Instance.of(data, name, f"{SOURCE}, Tables 2 and 3", Reference(objective=best, bound=best, proved_by=proof))


def table_4(objective: Objective = "mean-jct") -> Instance[ArylElastic]:
    """Build the counter-example to shortest job first: favouring the longer job A gives 62 s, favouring B 63.33 s."""
    jobs = (_job("A", 2, 3, 100.0), _job("B", 2, 6, 20.0))
    if objective == "mean-jct":
        best, proof, name = 62.0, "Table 4; enumeration", "aryl-table-4"
    else:
        best, proof, name = 86.0, "enumeration", "aryl-table-4-knapsack"
    data = ArylElastic(capacity_gpus=8.0, jobs=jobs, objective=objective)
    return Instance.of(data, name, f"{SOURCE}, Table 4", Reference(objective=best, bound=best, proved_by=proof))


def figure_5() -> Instance[ArylReclaim]:
    """Build six servers, four jobs, and two servers to reclaim: servers s1 and s2 cost one preemption.

    The GPUs are those of Table 1's fractions: job c has 80% of its GPUs on s4, job d 80% on s6, 20% each on s5.
    """
    jobs = (
        LoanedJob(id="a", servers=("s1", "s2"), gpus=(4, 4)),
        LoanedJob(id="b", servers=("s3",), gpus=(8,)),
        LoanedJob(id="c", servers=("s4", "s5"), gpus=(8, 2)),
        LoanedJob(id="d", servers=("s5", "s6"), gpus=(2, 8)),
    )
    data = ArylReclaim(servers=tuple(f"s{i}" for i in range(1, 7)), jobs=jobs, reclaim=2)
    reference = Reference(objective=1.0, bound=1.0, proved_by="enumeration")
    return Instance.of(data, "aryl-figure-5", f"{SOURCE}, Figure 5 and Table 1", reference)


def five_servers() -> Instance[ArylPlacement]:
    """Build our own example for section 5.3, in which best-fit decreasing opens four servers and three suffice.

    It puts both workers of 4 GPUs on one training server of 10, and then needs two more for the four workers of 3 GPUs;
    one of 4 and two of 3 fill a server each. The elastic job opens a loaned server for its base workers, for the one in
    use hosts flexible workers.
    """
    servers = (
        *(HostServer(id=f"t{i}", kind="training", gpus=10, free_gpus=10) for i in (1, 2, 3)),
        HostServer(id="l1", kind="loaned", gpus=10, free_gpus=4, group="flexible"),
        HostServer(id="l2", kind="loaned", gpus=10, free_gpus=10),
    )
    jobs = (
        PlacedJob(id="wide", gpus_per_worker=4, base_workers=2),
        PlacedJob(id="thin", gpus_per_worker=3, base_workers=4),
        PlacedJob(
            id="grows",
            gpus_per_worker=2,
            base_workers=2,
            flexible_workers=2,
            elastic=True,
            kinds=("training", "loaned"),
        ),
    )
    data = ArylPlacement(servers=servers, jobs=jobs)
    reference = Reference(objective=3.0, bound=3.0, proved_by="enumeration")
    return Instance.of(data, "aryl-five-servers", f"after section 5.3 of {SOURCE}", reference)


def _job(name: str, least: int, most: int, seconds: float) -> ElasticJob:
    return ElasticJob(id=name, min_workers=least, max_workers=most, gpus_per_worker=1, min_running_time=seconds)
