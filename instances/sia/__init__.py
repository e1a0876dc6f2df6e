"""SIA (Anticipatory Resource Allocation for ML Training, SoCC'23): data, checker, generators and traces."""

from instances.sia.checker import check_local_oracle, check_oracle
from instances.sia.examples import five_jobs, six_jobs
from instances.sia.generators import VARIANTS, SyntheticWorkload, synthetic
from instances.sia.local_oracle import LocalJob, SiaLocalOracle
from instances.sia.oracle import Job, Pool, SiaOracle, fcfs_starts, pool_loads
from instances.sia.traces import gavel, helios_log, philly, trace_instance

__all__ = [
    "VARIANTS",
    "Job",
    "LocalJob",
    "Pool",
    "SiaLocalOracle",
    "SiaOracle",
    "SyntheticWorkload",
    "check_local_oracle",
    "check_oracle",
    "fcfs_starts",
    "five_jobs",
    "gavel",
    "helios_log",
    "philly",
    "pool_loads",
    "six_jobs",
    "synthetic",
    "trace_instance",
]
