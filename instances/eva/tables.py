"""The tables of Eva, packaged in `data/`: instance types, workloads, co-location throughput, cloud delays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from instances.eva.cloud import CloudType
from instances.eva.packing import InstanceType, Throughput
from instances.tables import read_packaged

if TYPE_CHECKING:
    import pandas as pd

RESOURCES = ("gpu", "cpu", "ram_gb")
GPU_FAMILY = "p3"
CPU_COLUMNS = ("physical_cores", "vcpus")


def table(name: str) -> pd.DataFrame:
    """Read the table `data/<name>.csv`, whose columns `data/README.md` describes."""
    return read_packaged("instances.eva", name)


def ec2_types(cpu: str = "physical_cores") -> tuple[InstanceType, ...]:
    """Return the 21 EC2 instance types, with the column `cpu` as CPU capacity.

    `physical_cores` goes with the demands of Table 7, `vcpus` with those of the Alibaba pod list.
    """
    if cpu not in CPU_COLUMNS:
        raise ValueError(f"cpu: must be one of {', '.join(CPU_COLUMNS)}, got {cpu!r}")
    return tuple(
        InstanceType(
            name=row["name"],
            family=row["family"],
            capacity=dict(zip(RESOURCES, (float(row["gpus"]), float(row[cpu]), float(row["ram_gb"])), strict=True)),
            usd_per_hour=float(row["usd_per_hour"]),
        )
        for row in table("instance_types").to_dict("records")
    )


def cloud_types(cpu: str = "physical_cores") -> tuple[CloudType, ...]:
    """Return the types of `ec2_types` with the artifact's simulated delays; set-up is the start of the worker."""
    rows = table("instance_types").to_dict("records")
    return tuple(
        CloudType(
            name=kind.name,
            family=kind.family,
            capacity=kind.capacity,
            usd_per_hour=kind.usd_per_hour,
            acquisition_seconds=float(row["instantiate_delay_s"]),
            setup_seconds=float(row["run_worker_delay_s"] + row["worker_register_delay_s"]),
            termination_seconds=float(row["terminate_delay_s"]),
        )
        for kind, row in zip(ec2_types(cpu), rows, strict=True)
    )


def interference(workloads: dict[str, str], default: float = 0.95) -> Throughput:
    """Return Figure 1 for tasks named as the keys of `workloads`, whose workloads in Table 7 are the values.

    Pairs that Figure 1 does not have (those of ViT) get `default`; the paper sets it to 0.95 (section 4.3).
    """
    rows = table("colocation_throughput").set_index("workload").to_dict("index")
    measured = {(str(w), str(o)): float(value) for w, row in rows.items() for o, value in row.items()}
    pairs = (
        (name, beside, measured.get((_row_of(workload), _row_of(other))))
        for name, workload in workloads.items()
        for beside, other in workloads.items()
    )
    pairwise = tuple((name, beside, value) for name, beside, value in pairs if value is not None)
    return Throughput(default=default, pairwise=pairwise)


def _row_of(workload: str) -> str:
    """Return the row of a workload in Figure 1, which has one row for ResNet18, whatever the tasks in a job."""
    return workload.split("-")[0]
