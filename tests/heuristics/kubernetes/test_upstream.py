"""Compare the port of kube-scheduler with the tables of kube-scheduler's own unit tests."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from heuristics.kubernetes.kube_model import ClusterModel, KubeNode, PodKind
from heuristics.kubernetes.kube_scheduler import FILTERS, SCORES, ClusterState, Layout
from instances.kubernetes.dump import Dump
from instances.kubernetes.facts import Facts
from instances.kubernetes.part import JsonPart
from tests.heuristics.kubernetes.upstream.building import Case

FILES = ("spread_filtering", "spread_scoring", "resources", "placement", "pods_filtering", "pods_scoring")
TABLES = {name: importlib.import_module(f"tests.heuristics.kubernetes.upstream.{name}").CASES for name in FILES}
CASES = [(f"{name}-{i}-{case.name}", case) for name, cases in TABLES.items() for i, case in enumerate(cases)]


def outcome(case: Case) -> str | list[int]:
    """Return what the port says for a case, read from objects as a dump has them."""
    dump = Dump()
    for i, item in enumerate([*case.nodes, *case.pods, case.pod, *case.others]):
        if item["kind"] == "Pod":
            item = item | {"metadata": item["metadata"] | {"name": f"p{i}"}}
        dump.take(item["kind"], JsonPart(item))
    facts = Facts(dump)
    pods = list(dump.pods.values())
    kinds = [PodKind.read(pod, facts.placement(pod), facts.drivers(pod)) for pod in pods]
    different = list(dict.fromkeys(kinds))
    services = [(namespace, selector) for (namespace, _), selector in dump.services.items()]
    nodes = [KubeNode.read(node, dump.attachable.get(node.name, {}), node.taints) for node in dump.nodes.values()]
    model = ClusterModel(nodes, different, services, dump.namespaces)
    state = ClusterState.make_empty(Layout(model, range(len(nodes))), [different.index(kind) for kind in kinds])
    names = list(dump.nodes)
    for p, pod in enumerate(pods[:-1]):
        if pod.node in dump.nodes:
            state.put(p, names.index(pod.node))
    kind = state.layout.kind(state.kinds[-1])
    if isinstance(case.want, str):
        return " ".join(np.array(names)[FILTERS[case.plugin](state, kind)].tolist())
    among = names if case.among is None else case.among.split()
    at = np.array([names.index(name) for name in among], dtype=np.int64)
    return SCORES[case.plugin][1](state, kind, at).tolist()


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[name for name, _ in CASES])
def test_agrees_with_the_upstream_table(case: Case) -> None:
    assert outcome(case) == (case.want if isinstance(case.want, str) else list(case.want))


def test_number_of_upstream_cases() -> None:
    assert len(CASES) >= 150
