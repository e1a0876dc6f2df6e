"""Read a cluster from the output of `kubectl get nodes,pods,... -A -o json`.

Nodes and pods suffice. DaemonSets, PodDisruptionBudgets, volumes with their claims, and CSINodes make the reading
exact. A file contains an object, a List, or Lists in a List, and may be compressed.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from instances.errors import InputError
from instances.kubernetes.part import JsonPart
from instances.kubernetes.pods import (
    ZONES,
    Amounts,
    DumpedPod,
    HostPort,
    add_amounts,
    amounts,
    demand_of,
    host_ports,
    label_selector,
    node_terms,
    placement_of,
    pod_of,
    requirements,
)
from instances.kubernetes.requirements import Placement, Taint, Term
from instances.reading import parse_json, read_bytes
from instances.validation import show

COMMAND = "kubectl get nodes,pods,daemonsets,pdb,pvc,pv,csinodes -A -o json"
OF_TOOLS = (
    "nodepools.karpenter.sh",
    "nodeclaims.karpenter.sh",
    "machinesets.cluster.x-k8s.io",
    "machinesets.machine.openshift.io",
)
COLLECT = (
    'kubectl get nodes,pods,daemonsets,pdb,pvc,pv,csinodes"$(kubectl api-resources -o name | grep -x'
    f"{''.join(f' -e {name}' for name in OF_TOOLS)} | sed 's/^/,/' | tr -d '\\n')\" -A -o json > dump.json"
)
"""The command that makes a dump with all kinds that are read and that the cluster has."""
NODE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""A DNS-1123 subdomain, which the API server requires for the name of a node."""
LONGEST_NODE_NAME = 253
MARKS = {BOM_UTF8: "utf-8", BOM_UTF16_LE: "utf-16-le", BOM_UTF16_BE: "utf-16-be"}  # PowerShell writes them
YAML = re.compile(r"\s*(---|#|-\s|[A-Za-z]+:(\s|$))")
TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
CAPACITY_TYPES = {  # labels of the capacity type, and the values for spot
    "karpenter.sh/capacity-type": ("spot",),
    "eks.amazonaws.com/capacityType": ("SPOT",),
    "cloud.google.com/gke-spot": ("true",),
    "cloud.google.com/gke-preemptible": ("true",),
    "kubernetes.azure.com/scalesetpriority": ("spot",),
}
ON_DEMAND, SPOT = "on-demand", "spot"
POOLS = (  # labels of node groups
    "karpenter.sh/nodepool",
    "karpenter.sh/provisioner-name",
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
)
PASSING = "node.kubernetes.io/"  # taints for temporary conditions of a node, set by Kubernetes
NEVER_MOVED_NODE = "karpenter.sh/do-not-disrupt"
NO_SCALE_DOWN = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
KARPENTER_POOL = POOLS[0]
OWNER = "cluster.x-k8s.io/owner-name"  # annotation of a node: its MachineSet, if the kind of the owner is that
OWNER_KIND = "cluster.x-k8s.io/owner-kind"
MACHINE = "machine.openshift.io/machine"  # annotation of a node: its machine, `NAMESPACE/MACHINESET-SUFFIX`
MAX_SIZES = tuple(
    f"{group}/cluster-api-autoscaler-node-group-max-size" for group in ("cluster.x-k8s.io", "machine.openshift.io")
)
"""Annotations of a MachineSet: the maximum number of its machines."""
SERVED = {  # versions of the API in which each kind is read, by group
    "Node": ("", ("v1",)),
    "Pod": ("", ("v1",)),
    "PersistentVolume": ("", ("v1",)),
    "PersistentVolumeClaim": ("", ("v1",)),
    "DaemonSet": ("apps", ("v1",)),
    "PodDisruptionBudget": ("policy", ("v1", "v1beta1")),
    "CSINode": ("storage.k8s.io", ("v1", "v1beta1")),
    "NodePool": ("karpenter.sh", ("v1", "v1beta1")),
    "NodeClaim": ("karpenter.sh", ("v1", "v1beta1")),
}
MACHINE_SETS = ("cluster.x-k8s.io", "machine.openshift.io")  # groups of the MachineSets that are read


@dataclass(frozen=True, eq=False)
class DumpedNode:
    """A node.

    - `room`: its allocatable resources.
    - `size`: its capacity, which counts towards the limits of NodePools.
    - `ready`: whether it is ready, not cordoned and not being deleted.
    - `no_scale_down`: an annotation forbids the cluster autoscaler to remove it.
    - `images`: the sizes of the images on it by name, in bytes.
    - `machine_set`: the MachineSet that made it.
    - `provider_id`: the cloud's name of the machine.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    room: Amounts
    size: Amounts
    ready: bool
    never_moved: bool
    no_scale_down: bool
    images: Mapping[str, int]
    machine_set: str | None = None
    provider_id: str = ""

    @property
    def type(self) -> str | None:
        return _find_first(self.labels, TYPES)

    @property
    def zone(self) -> str | None:
        return _find_first(self.labels, ZONES)

    @property
    def capacity_type(self) -> str:
        """Return the capacity type: spot, on-demand, or another value that Karpenter sets."""
        for label, spot in CAPACITY_TYPES.items():
            if label in self.labels:
                said = self.labels[label]
                return SPOT if said in spot else said.lower() if label.startswith("karpenter") else ON_DEMAND
        return ON_DEMAND

    @property
    def pool(self) -> str | None:
        """Return the pool of the node by the label of a tool, `None` if it has no such label."""
        return _find_first(self.labels, POOLS)

    @property
    def lasting_taints(self) -> tuple[Taint, ...]:
        return tuple(taint for taint in self.taints if not taint.key.startswith(PASSING))


def _find_first(labels: Mapping[str, str], keys: Sequence[str]) -> str | None:
    return next((labels[key] for key in keys if key in labels), None)


@dataclass(frozen=True, eq=False)
class DumpedDaemon:
    """A DaemonSet: the demand, the node constraints and the ports of one of its pods."""

    namespace: str
    name: str
    demand: Amounts
    placement: Placement
    ports: tuple[HostPort, ...]


@dataclass(frozen=True, eq=False)
class DumpedNodePool:
    """A NodePool of Karpenter: the labels and taints of its nodes, and the nodes that it may launch.

    - `requirements`: of the labels of a node, type and zone among them.
    - `limits`: of the capacity of all its nodes; `used`: their capacity by its status, empty if that says nothing.
    - `weight`: Karpenter tries NodePools of a larger weight first.
    - `launching`: the capacity of its NodeClaims without a node in the dump, which the limits include.
    - `budgets`: its disruption budgets as JSON, `None` if it states none.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    requirements: Term
    limits: Amounts
    used: Amounts
    weight: int
    launching: Amounts = field(default_factory=dict)
    budgets: str | None = None


@dataclass(frozen=True, eq=False)
class DumpedNodeClaim:
    """A node that Karpenter has ordered. `node`: its name once it has joined the cluster."""

    pool: str
    node: str
    size: Amounts


@dataclass(frozen=True, eq=False)
class DumpedMachineSet:
    """A MachineSet of the Cluster API or OpenShift. `max_nodes`: its maximum size, `None` if it states none."""

    namespace: str
    replicas: int
    max_nodes: int | None


@dataclass(frozen=True, eq=False)
class Budget:
    """A PodDisruptionBudget. `allowed`: how many pods may be disrupted now, `None` if it has no status."""

    namespace: str
    selector: Term | None
    allowed: int | None


@dataclass(frozen=True, eq=False)
class Volume:
    """A PersistentVolume: the nodes that can access it, its driver, and whether only one node at a time can."""

    terms: tuple[Term, ...] | None
    driver: str | None
    one_node: bool


@dataclass
class Dump:
    """Nodes and pods by name, and the other objects that they need; `None` if a kind was not in the dump."""

    nodes: dict[str, DumpedNode] = field(default_factory=dict)
    pods: dict[tuple[str, str], DumpedPod] = field(default_factory=dict)
    daemons: dict[tuple[str, str], DumpedDaemon] | None = None
    budgets: dict[tuple[str, str], Budget] | None = None
    node_pools: dict[str, DumpedNodePool] = field(default_factory=dict)
    namespaces: dict[str, Mapping[str, str]] = field(default_factory=dict)
    services: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    node_claims: dict[str, DumpedNodeClaim] = field(default_factory=dict)
    machine_sets: dict[str, DumpedMachineSet] = field(default_factory=dict)
    claims: dict[tuple[str, str], str] = field(default_factory=dict)
    volumes: dict[str, Volume] = field(default_factory=dict)
    attachable: dict[str, dict[str, int]] = field(default_factory=dict)

    def take(self, kind: str, item: JsonPart) -> None:
        """Add an object of the cluster if its kind is supported. Raises InputError, also for an unknown version."""
        group, _, version = item.at("apiVersion").text().rpartition("/")
        own, served = SERVED.get(kind, (group, (version,)))
        if version and group != own:
            return  # another API has a kind of the same name
        if version and version not in served:
            item.at("apiVersion").refuse(f"{kind} in version {' or '.join(served)}", item.at("apiVersion").text())
        name = item.at("metadata", "name").text()
        key = (item.at("metadata", "namespace").text("default"), name)
        match kind:
            case "Node":
                _keep(self.nodes, name, _node(item), item)
            case "Pod":
                _keep(self.pods, key, pod_of(item), item)
            case "DaemonSet":
                self.daemons = {} if self.daemons is None else self.daemons
                _keep(self.daemons, key, _daemon(item), item)
            case "PodDisruptionBudget":
                self.budgets = {} if self.budgets is None else self.budgets
                _keep(self.budgets, key, _budget(item), item)
            case "NodePool" if group:
                _keep(self.node_pools, name, _node_pool(item), item)
            case "Namespace":
                _keep(self.namespaces, name, item.at("metadata", "labels").texts(), item)
            case "Service":
                _keep(self.services, key, item.at("spec", "selector").texts(), item)
            case "NodeClaim" if group:
                _keep(self.node_claims, name, _node_claim(item), item)
            case "MachineSet" if group in MACHINE_SETS:
                _keep(self.machine_sets, name, _machine_set(item), item)
            case "PersistentVolumeClaim":
                _keep(self.claims, key, item.at("spec", "volumeName").text(), item)
            case "PersistentVolume":
                _keep(self.volumes, name, _volume(item), item)
            case "CSINode":
                drivers = item.at("spec", "drivers").entries()
                limits = {d.at("name").text(): d.at("allocatable", "count") for d in drivers}
                _keep(self.attachable, name, {d: count.number() for d, count in limits.items() if count}, item)


def _keep(found: dict[Any, Any], key: Any, one: Any, item: JsonPart) -> None:
    if key in found:
        raise InputError(f"{item.path}: {'/'.join(key) if isinstance(key, tuple) else key} is there twice")
    found[key] = one


def read_dump(paths: Sequence[str | Path]) -> Dump:
    """Read a cluster from files. Raises InputError of one line with the file, the path in it and the value."""
    dump = Dump()
    for path in paths:
        content = _content(path)
        try:
            for kind, item in _objects(JsonPart(content), ""):
                dump.take(kind, item)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    _add_launching(dump)
    where = ", ".join(map(str, paths))
    for what, there in (("node", dump.nodes), ("pod", dump.pods)):
        if not there:
            raise InputError(f"{where}: no {what} in it; it is made by {COMMAND}")
    return dump


def _content(path: str | Path) -> Any:
    """Return the parsed JSON of a file in the encoding of its byte order mark. Raises InputError, also for YAML."""
    raw = read_bytes(path)
    mark, encoding = next((m for m in MARKS.items() if raw.startswith(m[0])), (b"", "utf-8"))
    raw = raw[len(mark) :]
    try:
        text = raw.decode(encoding)
        if not YAML.match(text):
            return parse_json(text)
    except (InputError, UnicodeDecodeError) as error:
        said = str(error).removeprefix("not valid JSON: ")
        raise InputError(f"{path}: not valid JSON: {said}; a dump is made by {COMMAND}") from None
    raise InputError(f"{path}: is YAML; a dump is JSON: {COMMAND}")


def _objects(part: JsonPart, of: str) -> Iterator[tuple[str, JsonPart]]:
    """Yield the kinds and objects of a dump. `of`: the kind of list entries that have none."""
    if not isinstance(part.value, Mapping):
        raise InputError(f"{part.path or 'file'}: must be an object of Kubernetes, got {show(part.value)}")
    kind, version = part.at("kind").text(of), part.at("apiVersion")
    if kind == "List" and version.text("v1") != "v1":
        version.refuse("a List in version v1", version.text())
    if kind.endswith("List") or (not kind and "items" in part.value):
        for item in part.at("items").entries():
            yield from _objects(item, kind.removesuffix("List"))
    else:
        yield kind, part


def _node(item: JsonPart) -> DumpedNode:
    meta, spec, status = item.at("metadata"), item.at("spec"), item.at("status")
    conditions = {c.at("type").text(): c.at("status").text() for c in status.at("conditions").entries()}
    leaving = bool(meta.at("deletionTimestamp")) or spec.at("unschedulable").flag()
    name = meta.at("name").text()
    if not name:
        meta.at("name").refuse("a name", None)
    if len(name) > LONGEST_NODE_NAME or not NODE_NAME.fullmatch(name):
        meta.at("name").refuse(f"a DNS-1123 subdomain of at most {LONGEST_NODE_NAME} characters", name)
    return DumpedNode(
        name=name,
        labels=meta.at("labels").texts(),
        taints=_taints(spec),
        room=amounts(status.at("allocatable")),
        size=amounts(status.at("capacity")),
        ready=not leaving and conditions.get("Ready", "True") == "True",
        never_moved=meta.at("annotations").at(NEVER_MOVED_NODE).text() not in ("", "false"),
        no_scale_down=meta.at("annotations").at(NO_SCALE_DOWN).text() == "true",
        images={
            name.word(): image.at("sizeBytes").number()
            for image in status.at("images").entries()
            for name in image.at("names").entries()
        },
        machine_set=_find_machine_set(meta.at("annotations")),
        provider_id=spec.at("providerID").text(),
    )


def _find_machine_set(annotations: JsonPart) -> str | None:
    if annotations.at(OWNER_KIND).text() == "MachineSet":
        return annotations.at(OWNER).text() or None
    return annotations.at(MACHINE).text().rpartition("/")[2].rpartition("-")[0] or None


def _taints(spec: JsonPart) -> tuple[Taint, ...]:
    names = "key", "value", "effect"
    return tuple(Taint(*(taint.at(name).text() for name in names)) for taint in spec.at("taints").entries())


def _node_pool(item: JsonPart) -> DumpedNodePool:
    name, spec = item.at("metadata", "name").text(), item.at("spec")
    template = spec.at("template")
    required = tuple(requirements(template.at("spec", "requirements")))
    # Karpenter adds a label to a node if a requirement permits exactly one value
    own = {one.key: one.values[0] for one in required if one.operator == "In" and len(one.values) == 1}
    return DumpedNodePool(
        name=name,
        labels=own | template.at("metadata", "labels").texts() | {KARPENTER_POOL: name},
        taints=_taints(template.at("spec")),
        requirements=required,
        limits=amounts(spec.at("limits")),
        used=amounts(item.at("status", "resources")),
        weight=spec.at("weight").number(),
        budgets=json.dumps(budgets.value) if (budgets := spec.at("disruption", "budgets")) else None,
    )


def _node_claim(item: JsonPart) -> DumpedNodeClaim:
    status = item.at("status")
    return DumpedNodeClaim(
        pool=item.at("metadata", "labels").at(KARPENTER_POOL).text(),
        node=status.at("nodeName").text(),
        size=amounts(status.at("capacity")),
    )


def _machine_set(item: JsonPart) -> DumpedMachineSet:
    annotations = item.at("metadata", "annotations")
    stated = next((annotations.at(key) for key in MAX_SIZES if annotations.at(key)), None)
    if stated is not None and not re.fullmatch("[0-9]{1,9}", stated.text()):
        stated.refuse("a number of machines", stated.text())
    return DumpedMachineSet(
        namespace=item.at("metadata", "namespace").text("default"),
        replicas=item.at("spec", "replicas").number(),
        max_nodes=None if stated is None else int(stated.text()),
    )


def _add_launching(dump: Dump) -> None:
    """Add the capacity of NodeClaims that have no node in the dump to their NodePools."""
    for name, pool in dump.node_pools.items():
        ordered = [claim for claim in dump.node_claims.values() if claim.pool == name and claim.node not in dump.nodes]
        sizes = [{**claim.size, "nodes": 1} for claim in ordered]
        dump.node_pools[name] = replace(pool, launching=add_amounts(sizes))


def _daemon(item: JsonPart) -> DumpedDaemon:
    meta, spec = item.at("metadata"), item.at("spec", "template", "spec")
    return DumpedDaemon(
        namespace=meta.at("namespace").text("default"),
        name=meta.at("name").text(),
        demand=demand_of(spec, JsonPart(None)),
        placement=placement_of(spec),
        ports=host_ports(spec),
    )


def _budget(item: JsonPart) -> Budget:
    allowed = item.at("status", "disruptionsAllowed")
    return Budget(
        namespace=item.at("metadata", "namespace").text("default"),
        selector=label_selector(item.at("spec", "selector")),
        allowed=allowed.number() if allowed else None,
    )


def _volume(item: JsonPart) -> Volume:
    required, driver = item.at("spec", "nodeAffinity", "required"), item.at("spec", "csi", "driver").text()
    modes = {mode.text() for mode in item.at("spec", "accessModes").entries()}
    return Volume(
        node_terms(required) if required else None, driver or None, modes <= {"ReadWriteOnce", "ReadWriteOncePod"}
    )
