"""Read the pods of a dump: their demand, their placement constraints and the reasons against a move.

The reader ignores all other fields, such as environment and arguments, and all annotations that are not named here.

Quantities such as `100m`, `1e3`, `129M` and `123Mi` are exact fractions. The grammar is that of `resource.Quantity` of
apimachinery: a signed decimal number, then a binary suffix, a decimal suffix or a decimal exponent. Fractions finer
than a billionth are rounded away from zero, as in apimachinery. Amounts over 2^63 - 1 are rejected, while apimachinery
caps some of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

from instances.errors import InputError
from instances.kubernetes.part import JsonPart
from instances.kubernetes.requirements import Placement, PodTerm, Requirement, SpreadRule, Term, TermKind, Toleration
from instances.text import brief

Amounts = Mapping[str, int]
"""Amounts by resource: thousandths of a CPU, bytes of memory, units of others; the pod counts as one of `pods`."""
HOSTNAME = "kubernetes.io/hostname"
ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
SCHEDULER = "default-scheduler"
MIRROR = "kubernetes.io/config.mirror"
NEVER_MOVED = {  # annotations that forbid moves, with the value that does; None: any value except false
    "karpenter.sh/do-not-disrupt": None,
    "karpenter.sh/do-not-evict": "true",
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
}
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NO_REQUEST = {"cpu": 100, "memory": 200 * 2**20}  # what scores assume for a container without a request
OF_A_POD = ("cpu", "memory")  # resources of a request at pod level, in addition to hugepages of each size
VOLUMES_OF_PODS = {"configMap", "downwardAPI", "emptyDir", "ephemeral", "hostPath", "image", "projected", "secret"}
"""Volumes that exist on the node of their pod."""
ELSEWHERE = {"cephfs", "csi", "flexVolume", "gitRepo", "glusterfs", "iscsi", "nfs", "fc", "rbd", "azureFile"}
"""Volumes that any node can access."""


@dataclass(frozen=True)
class HostPort:
    """A port of the node that a pod occupies; an empty address means all addresses."""

    protocol: str
    port: int
    address: str

    def meets(self, other: HostPort) -> bool:
        """Return whether both ports conflict on a node."""
        same = (self.protocol, self.port) == (other.protocol, other.port)
        return same and (self.address == other.address or "" in (self.address, other.address))


@dataclass(frozen=True, eq=False)
class DumpedPod:
    """A pod of the dump.

    - `owner`: kind and name of its controller, if it has one; `workload` is the name that users know.
    - `terms`: its requirements on other pods.
    - `claims`: the volume claims that it mounts.
    - `unclear`: the features that this reader does not support.
    - `wishes`: the number of preferences and soft spreads, which the readings ignore.

    The fields after these are for kube-scheduler alone:

    - `scored`: the demand that scores count, with an assumed request for each container without one.
    - `spreads`: all spread constraints, hard and soft.
    - `preferred`: the preferred node affinity, as pairs of weight and term.
    - `wished_terms`: the preferred affinity to pods, as pairs of weight and term; anti-affinity has a negative weight.
    - `preempts`: whether it may take the place of pods of lower `priority`.
    """

    namespace: str
    name: str
    labels: Mapping[str, str]
    owner: tuple[str, str] | None
    node: str | None
    phase: str
    terminating: bool
    gated: bool
    mirror: bool
    scheduler: str
    demand: Amounts
    placement: Placement
    terms: tuple[PodTerm, ...]
    ports: tuple[HostPort, ...]
    claims: tuple[str, ...]
    never_moved: bool
    local_storage: bool
    eviction_cost: float
    unclear: tuple[str, ...]
    wishes: int
    scored: Amounts
    spreads: tuple[SpreadRule, ...]
    preferred: tuple[tuple[int, Term], ...]
    wished_terms: tuple[tuple[int, PodTerm], ...]
    images: tuple[str, ...]
    priority: int
    preempts: bool

    @property
    def is_of_daemon(self) -> bool:
        return self.owner is not None and self.owner[0] == "DaemonSet"

    @property
    def workload(self) -> str:
        """Return the name of the controller; for a ReplicaSet, that of its Deployment without the template hash."""
        if self.owner is None:
            return self.name
        kind, name = self.owner
        digest = self.labels.get("pod-template-hash")
        return name.removesuffix(f"-{digest}") if kind == "ReplicaSet" and digest else name


def pod_of(item: JsonPart) -> DumpedPod:
    """Read a pod from a dump. Raises InputError."""
    meta, spec, status = item.at("metadata"), item.at("spec"), item.at("status")
    namespace, annotations = meta.at("namespace").text("default"), meta.at("annotations")
    labels = meta.at("labels").texts()
    owner = next((o for o in meta.at("ownerReferences").entries() if o.at("controller").flag()), None)
    named = None if owner is None else (owner.at("kind").text(), owner.at("name").text())
    volumes = [v.at("persistentVolumeClaim") for v in spec.at("volumes").entries()]
    terms = [term for _, term in _terms(spec.at("affinity"), namespace, REQUIRED)]
    spreads = [_spread(spread, labels) for spread in spec.at("topologySpreadConstraints").entries()]
    terms += [rule.term(namespace) for rule in spreads if rule.hard]
    return DumpedPod(
        namespace=namespace,
        name=meta.at("name").text(),
        labels=labels,
        owner=named,
        node=spec.at("nodeName").text() or None,
        phase=status.at("phase").text("Pending"),
        terminating=bool(meta.at("deletionTimestamp")),
        gated=any(spec.at("schedulingGates").entries()),
        mirror=bool(annotations.at(MIRROR)) or (named is not None and named[0] == "Node"),
        scheduler=spec.at("schedulerName").text(SCHEDULER),
        demand=demand_of(spec, status),
        placement=placement_of(spec),
        terms=tuple(terms),
        ports=host_ports(spec),
        claims=tuple(v.at("claimName").text() for v in volumes if v),
        never_moved=any(_forbids(annotations.at(key), value) for key, value in NEVER_MOVED.items()),
        local_storage=any(v.at("emptyDir") or v.at("hostPath") for v in spec.at("volumes").entries()),
        eviction_cost=_eviction_cost(annotations.at(DELETION_COST), spec.at("priority").number()),
        unclear=tuple(_unclear(spec)),
        wishes=sum(1 for _ in _wishes(spec)),
        scored=demand_of(spec, status, NO_REQUEST),
        spreads=tuple(spreads),
        preferred=tuple(_list_preferences(spec.at("affinity", "nodeAffinity"))),
        wished_terms=tuple(_terms(spec.at("affinity"), namespace, PREFERRED)),
        images=tuple(c.at("image").word() for c in _containers(spec)),
        priority=spec.at("priority").number(),
        preempts=spec.at("preemptionPolicy").text() != "Never",
    )


def placement_of(spec: JsonPart) -> Placement:
    """Return the node constraints of a pod with this spec."""
    required = spec.at("affinity", "nodeAffinity", REQUIRED)
    return Placement(
        selector=tuple(Requirement(key, "In", (value,)) for key, value in spec.at("nodeSelector").texts().items()),
        terms=(node_terms(required),) if required else (),
        tolerations=tuple(
            Toleration(*(t.at(name).text() for name in ("key", "operator", "value", "effect")))
            for t in spec.at("tolerations").entries()
        ),
    )


def node_terms(selector: JsonPart) -> tuple[Term, ...]:
    """Return the alternatives of a node selector."""
    return tuple(_term(term) for term in selector.at("nodeSelectorTerms").entries())


def _term(term: JsonPart) -> Term:
    return *requirements(term.at("matchExpressions")), *(
        replace(f, key=f"field {f.key}") for f in requirements(term.at("matchFields"))
    )


def requirements(part: JsonPart) -> Iterator[Requirement]:
    """Yield the requirements of a list."""
    for one in part.entries():
        yield Requirement(
            one.at("key").text(), one.at("operator").text(), tuple(v.text() for v in one.at("values").entries())
        )


def label_selector(part: JsonPart) -> Term | None:
    """Return the requirements of a label selector; `None` for a missing one, which selects no pod."""
    if not part:
        return None
    plain = [Requirement(key, "In", (value,)) for key, value in part.at("matchLabels").texts().items()]
    return (*plain, *requirements(part.at("matchExpressions")))


def _terms(affinity: JsonPart, namespace: str, when: str) -> Iterator[tuple[int, PodTerm]]:
    """Yield the weights and terms of the affinity to pods; required terms have the weight 0."""
    kinds: tuple[tuple[str, TermKind, int], ...] = (
        ("podAffinity", "affinity", 1),
        ("podAntiAffinity", "anti-affinity", -1),
    )
    for field, kind, sign in kinds:
        for part in affinity.at(field, when).entries():
            term = part.at("podAffinityTerm") if when == PREFERRED else part
            chosen, listed = term.at("namespaceSelector"), [n.text() for n in term.at("namespaces").entries()]
            known = frozenset(listed) if listed or chosen else frozenset([namespace])
            yield (
                sign * part.at("weight").number(),
                PodTerm(
                    kind,
                    term.at("topologyKey").text(),
                    label_selector(term.at("labelSelector")),
                    None if chosen else known,
                    listed=known,
                    chosen=label_selector(chosen),
                ),
            )


def _list_preferences(affinity: JsonPart) -> Iterator[tuple[int, Term]]:
    for part in affinity.at(PREFERRED).entries():
        yield part.at("weight").number(), _term(part.at("preference"))


def _spread(spread: JsonPart, labels: Mapping[str, str]) -> SpreadRule:
    """Return a spread constraint; with `matchLabelKeys` it counts only pods of the same revision."""
    selector = label_selector(spread.at("labelSelector"))
    keys = [key.text() for key in spread.at("matchLabelKeys").entries()]
    if selector is not None:
        selector = (*selector, *(Requirement(key, "In", (labels[key],)) for key in keys if key in labels))
    return SpreadRule(
        topology=spread.at("topologyKey").text(),
        selector=selector,
        skew=spread.at("maxSkew").number(1),
        hard=spread.at("whenUnsatisfiable").text() != "ScheduleAnyway",
        min_domains=spread.at("minDomains").number(1),
        honours_affinity=spread.at("nodeAffinityPolicy").text() != "Ignore",
        honours_taints=spread.at("nodeTaintsPolicy").text() == "Honor",
    )


def host_ports(spec: JsonPart) -> tuple[HostPort, ...]:
    """Return the ports of the node that a pod with this spec occupies."""
    return tuple(_ports(spec))


def _ports(spec: JsonPart) -> Iterator[HostPort]:
    host = spec.at("hostNetwork").flag()
    for container in [*spec.at("containers").entries(), *_sidecars(spec)]:
        for port in container.at("ports").entries():
            number = port.at("hostPort").number() or (port.at("containerPort").number() if host else 0)
            if number:
                address = port.at("hostIP").text()
                yield HostPort(port.at("protocol").text("TCP"), number, "" if address in ("0.0.0.0", "::") else address)


def _containers(spec: JsonPart) -> list[JsonPart]:
    return [*spec.at("initContainers").entries(), *spec.at("containers").entries()]


def _sidecars(spec: JsonPart) -> list[JsonPart]:
    return [c for c in spec.at("initContainers").entries() if c.at("restartPolicy").text() == "Always"]


def _unclear(spec: JsonPart) -> Iterator[str]:
    if any(spec.at("resourceClaims").entries()):
        yield "resource claims (DRA)"
    for volume in spec.at("volumes").entries():
        kinds = {name for name, _ in volume.members()} - {"name", "persistentVolumeClaim"}
        if kinds - VOLUMES_OF_PODS - ELSEWHERE:
            yield "volume of a cloud's own kind"


def _wishes(spec: JsonPart) -> Iterator[JsonPart]:
    for kind in ("nodeAffinity", "podAffinity", "podAntiAffinity"):
        yield from spec.at("affinity", kind, PREFERRED).entries()
    for spread in spec.at("topologySpreadConstraints").entries():
        if spread.at("whenUnsatisfiable").text() == "ScheduleAnyway":
            yield spread


def _forbids(annotation: JsonPart, value: str | None) -> bool:
    said = annotation.text()
    return said == value if value is not None else said not in ("", "false")


def _eviction_cost(deletion: JsonPart, priority: int) -> float:
    try:
        cost = int(deletion.text() or 0)
    except ValueError:
        cost = 0  # Karpenter ignores a value that is not a number, too
    return float(max(Fraction(-10), min(Fraction(10), 1 + Fraction(cost, 2**27) + Fraction(priority, 2**25))))


def amounts(part: JsonPart) -> dict[str, int]:
    """Return the amounts of an object of quantities, as kube-scheduler counts them. Raises InputError."""
    found = {}
    for name, value in part.members():
        try:
            found[name] = whole(parse_request(value.value), name)
        except InputError as error:
            raise InputError(f"{value.path}: {error}") from None
    return found


def add_amounts(parts: Iterable[Amounts]) -> Amounts:
    """Return the sum of amounts."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return total


def max_amounts(*parts: Amounts) -> Amounts:
    """Return the maximum of amounts for each resource."""
    return {name: max(part.get(name, 0) for part in parts) for name in dict.fromkeys(n for p in parts for n in p)}


def demand_of(spec: JsonPart, status: JsonPart, assumed: Amounts | None = None) -> Amounts:
    """Return the demand of a pod, as kube-scheduler counts it. `assumed`: requests of containers without a request.

    It is the maximum of the sum of all containers and of each init container plus the sidecars before it. Requests at
    pod level replace it, and the overhead is added. A container that is being resized counts with the maximum of its
    present and its requested amounts. If the node can never provide the request, only the present amounts count.
    """
    known = dict(assumed or {})
    running, first, beside = [], [], []  # demands of containers, of init containers, of sidecars so far
    statuses = {
        s.at("name").text(): s
        for s in (*status.at("containerStatuses").entries(), *status.at("initContainerStatuses").entries())
    }
    infeasible = any(
        c.at("type").text() == "PodResizePending" and c.at("reason").text() == "Infeasible"
        for c in status.at("conditions").entries()
    )
    for container in spec.at("containers").entries():
        running.append(known | _request_of(container, statuses, infeasible))
    for container in spec.at("initContainers").entries():
        if container.at("restartPolicy").text() == "Always":
            own = known | _request_of(container, statuses, infeasible)
            running.append(own)
            beside.append(own)
            first.append(add_amounts(beside))
        else:
            first.append(add_amounts([known | _requests(container.at("resources")), *beside]))
    total = dict(max_amounts(add_amounts(running), *first))
    for name, amount in _requests(spec.at("resources")).items():
        if name in OF_A_POD or name.startswith("hugepages-"):
            total[name] = amount
    return add_amounts([total, amounts(spec.at("overhead")), {"pods": 1}])


def _request_of(container: JsonPart, statuses: Mapping[str, Any], infeasible: bool) -> dict[str, int]:
    asked, status = _requests(container.at("resources")), statuses.get(container.at("name").text())
    if status is None:
        return asked
    has = max_amounts(amounts(status.at("allocatedResources")), amounts(status.at("resources", "requests")))
    if not has:
        return asked
    return dict(has if infeasible else max_amounts(asked, has))


def _requests(resources: JsonPart) -> dict[str, int]:
    """Return the requests; a resource with only a limit requests the limit.

    The API server adds such requests to pods, but not to templates.
    """
    return amounts(resources.at("limits")) | amounts(resources.at("requests"))


NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?P<suffix>[A-Za-z]*)(?P<power>[+-]?[0-9]*)"
)
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
FINEST = 10**9  # parts of a unit
LONGEST = 64  # characters of a quantity
LARGEST = 2**63 - 1
MILLI = 1000


def quantity(value: Any) -> Fraction:
    """Return the amount of a JSON value. Raises InputError if the value is not a quantity."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"must be a quantity such as 100m or 123Mi, got {brief(repr(value), LONGEST)}")
    text = value if isinstance(value, str) else repr(value)
    if len(text) > LONGEST:
        raise InputError(f"must be a quantity of at most {LONGEST} characters, got {brief(repr(text), LONGEST)}")
    return _parse(text)


@lru_cache(maxsize=1 << 14)  # a cluster has few different quantities
def _parse(text: str) -> Fraction:
    found = NUMBER.fullmatch(text) if text.isascii() else None
    scale = None if found is None else _scale(found["suffix"], found["power"])
    if found is None or scale is None or not (found["whole"] or found["part"]):
        raise InputError(f"must be a quantity such as 100m or 123Mi, got {text!r}")
    digits, part = found["whole"] + (found["part"] or ""), found["part"] or ""
    base, power = scale
    amount = Fraction(int(digits))
    if amount and power > LONGEST:  # the power would not fit in memory
        raise _beyond(text)
    if amount:
        amount *= Fraction(base) ** max(power, -2 * LONGEST) / 10 ** len(part)
    amount = Fraction(ceil(amount * FINEST), FINEST)
    if amount > LARGEST:
        raise _beyond(text)
    return -amount if found["sign"] == "-" else amount


def _scale(suffix: str, power: str) -> tuple[int, int] | None:
    """Return the base and the power of a suffix and the digits after it; `None` if the suffix is unknown."""
    if suffix in ("e", "E") and power.strip("+-"):
        return 10, int(power)
    if power:
        return None
    if suffix in BINARY:
        return 2, BINARY[suffix]
    return (10, DECIMAL[suffix]) if suffix in DECIMAL else None


def _beyond(text: str) -> InputError:
    return InputError(f"must be at most 2^63 - 1, got {text!r}")


def parse_request(value: Any) -> Fraction:
    """Return the amount of a request or a capacity. Raises InputError if it is negative or invalid."""
    amount = quantity(value)
    if amount < 0:
        raise InputError(f"must be >= 0, got {value!r}")
    return amount


def whole(amount: Fraction, resource: str) -> int:
    """Return an amount as kube-scheduler counts it: thousandths of a CPU or units of others, rounded up."""
    return ceil(amount * MILLI) if resource == "cpu" else ceil(amount)
