"""Build the cases of kube-scheduler's unit tests: nodes, pods and their constraints in a short notation.

Labels are `key` or `key=value`, with commas between them. A selector adds `key=v|w` (In), `key!=v|w` (NotIn), `key`
(Exists), `!key` (DoesNotExist), `key>v` and `key<v`. All names of nodes are those of the upstream case or shorter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
HOSTNAME = "kubernetes.io/hostname"
PART = re.compile(r"(?P<absent>!?)(?P<key>[^=!<>]+)(?P<sign>!=|=|<|>)?(?P<values>.*)")
SIGNS = {"=": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}


@dataclass(frozen=True)
class Case:
    """A case of an upstream table.

    - `test`: the name of the Go test. `plugin`: that of the plugin.
    - `want`: for a filter the nodes that pass, with blanks between them; for a score one of each candidate.
    - `among`: the candidates of a score, all nodes by default. `others`: further objects of the cluster.
    """

    test: str
    name: str
    plugin: str
    nodes: Sequence[Json]
    pod: Json
    want: str | Sequence[int]
    pods: Sequence[Json] = ()
    among: str | None = None
    others: Sequence[Json] = ()


def labels(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(",") if part)
    return {key.replace("host", HOSTNAME) if key == "host" else key: value for key, _, value in pairs}


def node(name: str, text: str = "", *, room: Json | None = None, images: Json | None = None, **spec: Any) -> Json:
    status: Json = {"allocatable": room or {}}
    if images is not None:
        status["images"] = [{"names": [name], "sizeBytes": size * 2**20} for name, size in images.items()]
    return {"kind": "Node", "metadata": {"name": name, "labels": labels(text)}, "spec": spec, "status": status}


def nodes(text: str) -> list[Json]:
    """Build nodes such as `a zone=z1,host=a; b zone=z2`."""
    return [node(*part.split()) for part in text.split(";")]


def pod(text: str = "", on: str | None = None, ns: str = "default", leaving: bool = False, **spec: Any) -> Json:
    meta: Json = {"name": "p", "namespace": ns, "labels": labels(text)}
    if leaving:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        meta["ownerReferences"] = [{"kind": "ReplicaSet", "name": "gone"}]
    phase = "Running" if on else "Pending"
    return {
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [{"name": "c"}]} | spec | {"nodeName": on},
        "status": {"phase": phase},
    }


def pods(text: str) -> list[Json]:
    """Build pods in place such as `a:foo a:foo,bar b:foo`."""
    return [pod(own, on) for on, _, own in (part.partition(":") for part in text.split())]


def requirements(text: str) -> list[Json]:
    found = []
    for part in text.split(",") if text else ():
        match = PART.fullmatch(part.strip())
        assert match is not None
        if match["sign"]:
            found.append({"key": match["key"], "operator": SIGNS[match["sign"]], "values": match["values"].split("|")})
        else:
            found.append({"key": match["key"], "operator": "DoesNotExist" if match["absent"] else "Exists"})
    return found


def selector(text: str | None) -> Json | None:
    return None if text is None else {"matchExpressions": requirements(text)}


def near(topology: str, text: str, names: Sequence[str] = (), chosen: str | None = None) -> Json:
    """Build a term of affinity to pods. `names`, `chosen`: namespaces by name and by their labels."""
    term: Json = {"topologyKey": topology, "labelSelector": selector(text), "namespaces": list(names)}
    return term | ({} if chosen is None else {"namespaceSelector": selector(chosen)})


def affinity(
    to: Iterable[Json] = (),
    away: Iterable[Json] = (),
    wish: Iterable[tuple[int, Json]] = (),
    avoid: Iterable[tuple[int, Json]] = (),
) -> Json:
    """Build affinity and anti-affinity to pods, required (`to`, `away`) and preferred (`wish`, `avoid`)."""
    return {
        "podAffinity": {REQUIRED: list(to), PREFERRED: [_weighted(*one) for one in wish]},
        "podAntiAffinity": {REQUIRED: list(away), PREFERRED: [_weighted(*one) for one in avoid]},
    }


def _weighted(weight: int, term: Json) -> Json:
    return {"weight": weight, "podAffinityTerm": term}


def on_nodes(*terms: str | tuple[str, str]) -> Json:
    """Build a required node affinity; a pair is of expressions and of fields."""
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [_term(term) for term in terms]}}}


def _term(term: str | tuple[str, str]) -> Json:
    expressions, fields = (term, "") if isinstance(term, str) else term
    return {"matchExpressions": requirements(expressions), "matchFields": requirements(fields)}


def spread(skew: int, topology: str, text: str | None, *, soft: bool = False, **more: Any) -> Json:
    return {
        "maxSkew": skew,
        "topologyKey": HOSTNAME if topology == "host" else topology,
        "whenUnsatisfiable": "ScheduleAnyway" if soft else "DoNotSchedule",
        "labelSelector": selector(text),
    } | more


def spreading(text: str, *rules: Json, **spec: Any) -> Json:
    return pod(text, topologySpreadConstraints=list(rules), **spec)


def container(**requests: Any) -> Json:
    """Build a container with requests; the names of resources may be shortened to `cpu`, `memory` and so on."""
    return {"name": "c", "resources": {"requests": requests}}
