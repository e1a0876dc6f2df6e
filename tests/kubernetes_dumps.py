"""Build dumps by hand: nodes and pods as kubectl prints them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from instances.kubernetes.dump import read_dump
from instances.kubernetes.facts import Facts
from instances.kubernetes.prices import Prices, read_prices
from instances.kubernetes.readings import DumpReading, Reader

Json = dict[str, Any]
TYPES = """name,family,usd_per_hour,cpu,ram_gb,pods,gpu
small,s,0.1,2,4,20,0
large,l,0.4,8,16,50,0
gpus,g,3,8,16,50,4
"""
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def node(name: str = "n1", type: str = "large", zone: str = "a", **more: Any) -> Json:
    """Build a node of 8 CPUs and 16 GiB. `labels` and `room` add to it; other arguments belong to its `spec`."""
    labels = {"node.kubernetes.io/instance-type": type, ZONE: zone, HOSTNAME: name} | more.pop("labels", {})
    room = {"cpu": "8", "memory": "16Gi", "pods": "50"} | more.pop("room", {})
    meta = {"name": name, "labels": labels, "annotations": more.pop("annotations", {})}
    conditions = [{"type": "Ready", "status": more.pop("ready", "True")}]
    status = {"allocatable": room, "conditions": conditions}
    return {"kind": "Node", "metadata": meta, "spec": more, "status": status}


def pod(name: str = "p", on: str | None = "n1", cpu: str = "1", memory: str = "1Gi", **more: Any) -> Json:
    """Build a pod of a ReplicaSet in the namespace `default`. `meta` and `status` add to it, others to its `spec`."""
    owner = more.pop("owner", ("ReplicaSet", "app"))
    meta: Json = {"name": name, "namespace": "default", "labels": {"app": "web"}} | more.pop("meta", {})
    if owner is not None:
        meta["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    requests = more.pop("requests", {"cpu": cpu, "memory": memory})
    spec = {"containers": [{"name": "main", "resources": {"requests": requests}}], "nodeName": on} | more
    status = {"phase": "Running" if on else "Pending"} | more.pop("status", {})
    spec.pop("status", None)
    return {"kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def daemon_set(name: str = "logs", cpu: str = "500m", **spec: Any) -> Json:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    template = {"spec": {"containers": [container]} | spec}
    return {"kind": "DaemonSet", "metadata": {"name": name, "namespace": "kube-system"}, "spec": {"template": template}}


def budget(allowed: int | None, selector: Any, name: str = "budget") -> Json:
    status = {} if allowed is None else {"disruptionsAllowed": allowed}
    meta = {"name": name, "namespace": "default"}
    return {"kind": "PodDisruptionBudget", "metadata": meta, "spec": {"selector": selector}, "status": status}


def volume(name: str, terms: Sequence[Json] | None, **spec: Any) -> list[Json]:
    """Build a volume and its claim of the same name."""
    if terms is not None:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": list(terms)}]}}
    return [
        {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec},
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"volumeName": name},
        },
    ]


def mounting(*claims: str) -> list[Json]:
    return [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]


def required(*terms: Sequence[Json]) -> Json:
    """Build an affinity for nodes of one of these terms."""
    selector = {"nodeSelectorTerms": [{"matchExpressions": list(term)} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def beside(kind: str, topology: str = HOSTNAME, labels: Mapping[str, str] | None = None, **more: Any) -> Json:
    """Build an affinity, or anti-affinity, to the pods of these labels."""
    term = {"topologyKey": topology, "labelSelector": {"matchLabels": labels or {"app": "web"}}} | more
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(topology: str = HOSTNAME, skew: int = 1, **more: Any) -> list[Json]:
    chosen = {"labelSelector": {"matchLabels": {"app": "web"}}, "whenUnsatisfiable": "DoNotSchedule"}
    return [{"maxSkew": skew, "topologyKey": topology} | chosen | more]


def listed(*items: Json) -> Json:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def reader(folder: Path, items: Sequence[Json], types: str = TYPES) -> Reader:
    """Return the reader of a dump of these objects, via the files that the command reads."""
    (folder / "dump.json").write_text(json.dumps(listed(*items)))
    return Reader(Facts(read_dump([folder / "dump.json"])), prices(folder, types))


def prices(folder: Path, types: str = TYPES) -> Prices:
    (folder / "types.csv").write_text(types)
    return read_prices(folder / "types.csv")


def readings(folder: Path, *items: Json, types: str = TYPES) -> tuple[DumpReading, DumpReading]:
    """Return the readings for the bound and for the plan."""
    read = reader(folder, items, types).read
    return read("bound"), read("plan")
