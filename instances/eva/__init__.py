"""Eva: Chang and Venkataraman, "Eva: Cost-Efficient Cloud-Based Cluster Scheduling", EuroSys'25.

doi 10.1145/3689031.3717483. The problems `eva-packing` and `eva-reconfiguration`, and the workload `eva-cloud`:
data, examples, generators, traces and checker.
"""

from typing import TYPE_CHECKING

from instances.eva.arrays import PackingArrays, packing_arrays
from instances.eva.checker import check_packing, check_reconfiguration
from instances.eva.cloud import CloudJob, CloudType, EvaCloud, TaskClass
from instances.eva.constraints import Running, Spread
from instances.eva.examples import table_3, table_3_round
from instances.eva.generators import distinct_tasks, random_round, random_workloads, synthetic_cloud, table_7
from instances.eva.online import RentedInstance, continue_instances, keep_most_tasks
from instances.eva.packing import EvaPacking, InstanceType, Task, Throughput, constraints_of
from instances.eva.price_lists import price_list
from instances.eva.reconfiguration import EvaReconfiguration, ExistingInstance, MovableTask, StartedType
from instances.eva.tables import ec2_types, interference, table
from instances.eva.traces import alibaba, alive, pod_requests, trace_cloud
from instances.eva.vector_packing import caprara_toth
from instances.renamed import find_old_names

__all__ = [
    "CloudJob",
    "CloudType",
    "EvaCloud",
    "EvaPacking",
    "EvaReconfiguration",
    "ExistingInstance",
    "InstanceType",
    "MovableTask",
    "PackingArrays",
    "RentedInstance",
    "Running",
    "Spread",
    "StartedType",
    "Task",
    "TaskClass",
    "Throughput",
    "alibaba",
    "alive",
    "caprara_toth",
    "check_packing",
    "check_reconfiguration",
    "constraints_of",
    "continue_instances",
    "distinct_tasks",
    "ec2_types",
    "interference",
    "keep_most_tasks",
    "packing_arrays",
    "pod_requests",
    "price_list",
    "random_round",
    "random_workloads",
    "synthetic_cloud",
    "table",
    "table_3",
    "table_3_round",
    "table_7",
    "trace_cloud",
]

if not TYPE_CHECKING:  # names of the previous version
    __getattr__ = find_old_names(
        __name__,
        {
            "continued": "continue_instances",
            "most_kept": "keep_most_tasks",
        },
    )
