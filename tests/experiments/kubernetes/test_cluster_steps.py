"""Test the steps that a person carries out: their order, timeouts, the way back, and the commands of each tool."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from experiments.kubernetes.steps import Runbook, RunbookStep
from experiments.kubernetes.tools import MEANINGS
from instances.kubernetes.measured import Aliases
from instances.kubernetes.readings import Reader
from tests.kubernetes_dumps import Json, budget, node, pod, reader

POOL = "karpenter.sh/nodepool"
LABELS = {
    "karpenter": {POOL: "p"},
    "eks": {"eks.amazonaws.com/nodegroup": "p", "alpha.eksctl.io/cluster-name": "prod"},
    "gke": {"cloud.google.com/gke-nodepool": "p"},
    "aks": {"kubernetes.azure.com/agentpool": "p"},
    "hand": {},
}
WAITS = re.compile(r"kubectl (drain|wait|delete|rollout)|^(gcloud|az|aws|eksctl)\b")
DRAIN = {"drain": "n1", "rent": {}, "onto": None, "evictions": 2, "usd_per_hour": 0.4}
RENT = {"drain": None, "rent": {"large": 2}, "onto": None, "evictions": 0, "usd_per_hour": 1.2}


def node_pool(**spec: Any) -> Json:
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "p"}, "spec": spec}


def runbook(
    read: Reader,
    *steps: Json,
    cordoned: tuple[str, ...] = ("n1",),
    uncordoned: tuple[str, ...] = (),
) -> list[RunbookStep]:
    plan = read.read("plan")
    offerings = {name.split()[0]: kind for name, kind in plan.offerings.items()}
    return Runbook(read.facts, read.aliases, offerings, steps, cordoned, uncordoned).make()


def two(folder: Path, tool: str = "hand", *more: Json, **spec: Any) -> Reader:
    items = [node("n1", labels=LABELS[tool], **spec), node("n2", labels=LABELS[tool])]
    owners = {"owner": ("ReplicaSet", "web-7c"), "meta": {"labels": {"app": "web", "pod-template-hash": "7c"}}}
    items += [pod("p1", **owners), pod("p2", **owners), pod("p3", on="n2", **owners)]
    return reader(folder, [*items, *more])


def lines(steps: list[RunbookStep]) -> list[str]:
    return [line for step in steps for line in (*step.commands, *step.on_failure)]


@pytest.mark.parametrize("tool", LABELS)
def test_each_command_ends_by_itself_and_each_variable_is_explained(tmp_path: Path, tool: str):
    steps = runbook(two(tmp_path, tool), RENT, DRAIN)
    assert [step.title.split()[0] for step in steps] == ["Stop", "Cordon", "Rent", "Drain", "Start"]
    for line in lines(steps):
        assert shlex.split(line, comments=False), line
        if WAITS.search(line):
            assert "--timeout=" in line or line.startswith("timeout "), line
        assert "until" not in line or line.startswith("timeout ")
        assert {name for name in re.findall(r"\$([A-Z]\w+)", line) if not name.startswith("NEW_")} <= set(MEANINGS)
    assert all(step.timeout_s > 0 for step in steps if any(WAITS.search(line) for line in step.commands))


@pytest.mark.parametrize(
    ("tool", "off", "rent", "end"),
    [
        ("karpenter", "kubectl patch nodepool p", "kubectl apply -f -", "kubectl delete node n1"),
        (
            "eks",
            None,
            "eksctl scale nodegroup --cluster prod --name p --nodes 4 ",
            "terminate-instance-in-auto-scaling",
        ),
        ("gke", "--no-enable-autoscaling", "--node-pool p --num-nodes 4", "managed delete-instances"),
        ("aks", "--disable-cluster-autoscaler", "nodepool scale", "delete-machines"),
        ("hand", None, "kubectl get nodes", "kubectl delete node n1"),
    ],
)
def test_each_tool_has_its_commands(tmp_path: Path, tool: str, off: str | None, rent: str, end: str):
    first, _, rents, drain, last = runbook(two(tmp_path, tool, providerID="aws:///a/i-0123abc"), RENT, DRAIN)
    if off is None:
        assert first.commands == ()
        assert first.notes
    else:
        assert off in first.commands[0]
        assert first.on_failure == last.commands
    assert any(rent in line for line in rents.commands), rents.commands
    assert any(end in line for line in drain.commands)
    assert ("i-0123abc" in " ".join(drain.commands)) == (tool == "eks")


def test_a_drain_waits_for_its_pods_and_has_a_way_back(tmp_path: Path):
    _, cordon, drain, _ = runbook(two(tmp_path), DRAIN)
    assert cordon.commands == ("kubectl cordon n1",)
    assert drain.commands == (
        "kubectl drain n1 --ignore-daemonsets --delete-emptydir-data --timeout=600s",
        "kubectl rollout status deployment/web -n default --timeout=600s",
        "kubectl delete node n1 --ignore-not-found --timeout=600s",
    )
    assert drain.on_failure == ("kubectl uncordon n1",)
    assert drain.usd_per_hour == 0.4


def test_pods_of_other_controllers_are_waited_for(tmp_path: Path):
    items = [
        node("n1"),
        node("n2"),
        pod("s-0", owner=("StatefulSet", "s")),
        pod("s-1", on="n2", owner=("StatefulSet", "s")),
    ]
    items += [pod("r", owner=("ReplicaSet", "bare")), pod("j", owner=("Job", "once"))]
    (drain,) = (step for step in runbook(reader(tmp_path, items), DRAIN) if step.title.startswith("Drain"))
    waits = [line for line in drain.commands if "readyReplicas" in line]
    assert [line.split()[2] for line in waits] == ["statefulset/s", "replicaset/bare"]
    assert "'--for=jsonpath={.status.readyReplicas}=2'" in waits[0]


def test_a_budget_gives_a_drain_more_time_and_a_note(tmp_path: Path):
    read = two(tmp_path, "hand", budget(1, {"matchLabels": {"app": "web"}}))
    (drain,) = (step for step in runbook(read, DRAIN) if step.title.startswith("Drain"))
    assert "--timeout=900s" in drain.commands[0]
    assert drain.notes[0] == "The disruption budget default/budget lets 1 of its 2 pods here go at a time."


def test_a_directed_drain_that_a_budget_stops_goes_on_at_the_next_target(tmp_path: Path):
    """A drain does not return while a budget permits no further eviction, and its pods wait for the second target."""
    directed = DRAIN | {"onto": ["n2", "large#1"]}
    steps = runbook(two(tmp_path), RENT, directed, cordoned=("n1", "n2"), uncordoned=("n2", "large#1", "large#2"))
    (drain,) = (step for step in steps if step.title.startswith("Drain"))
    assert drain.commands[:4] == (
        "kubectl uncordon n2",
        "kubectl drain n1 --ignore-daemonsets --delete-emptydir-data --timeout=120s || true",
        "sleep 30",
        'kubectl uncordon "$NEW_1"',
    )
    assert drain.commands[4].endswith("--timeout=600s")
    assert 'kubectl cordon n2 "$NEW_1"' in drain.commands
    assert drain.on_failure == ('kubectl uncordon n1 n2 "$NEW_1" "$NEW_2"',)
    (rent,) = (step for step in steps if step.title.startswith("Rent"))
    assert [line.split("=")[0] for line in rent.commands if line.startswith("NEW_")] == ["NEW_1", "NEW_2"]
    assert rent.on_failure == ("kubectl uncordon n1 n2",), "the new nodes have no name yet"
    assert steps[-1].commands == ('kubectl uncordon n2 "$NEW_1" "$NEW_2"',)


def test_karpenter_launches_nothing_of_its_own_and_gets_its_settings_back(tmp_path: Path):
    own = {"budgets": [{"nodes": "5", "schedule": "@daily"}]}
    read = two(tmp_path, "karpenter", node_pool(disruption=own, limits={"cpu": "64"}, template={}))
    steps = runbook(read, RENT, DRAIN)

    def specs(step: RunbookStep) -> list[Json]:
        return [json.loads(shlex.split(line)[-1])["spec"] for line in step.commands if "patch nodepool" in line]

    assert specs(steps[0]) == [{"disruption": {"budgets": [{"nodes": "0"}]}, "limits": {"cpu": "0"}}]
    assert specs(steps[-1]) == [{"disruption": own, "limits": {"cpu": "64"}}]
    assert specs(steps[2]) == [{"limits": {"cpu": "64"}}, {"limits": {"cpu": "0"}}]
    assert "gapwise-rent-1-1" in " ".join(steps[2].on_failure)
    made = json.loads(shlex.split(next(line for line in steps[2].commands if line.startswith("echo")))[1])
    assert made["spec"]["replicas"] == 2
    terms = made["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    asked = terms["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0]["matchExpressions"]
    assert {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n1", "n2"]} in asked


def test_an_autoscaler_in_the_cluster_is_stopped_and_started(tmp_path: Path):
    meta = {"namespace": "kube-system", "labels": {"pod-template-hash": "5d"}}
    scaler = pod("ca", on="n2", owner=("ReplicaSet", "cluster-autoscaler-5d"), meta=meta)
    steps = runbook(two(tmp_path, "hand", scaler), DRAIN)
    assert steps[0].commands[0] == "kubectl scale deployment/cluster-autoscaler -n kube-system --replicas=0"
    assert steps[-1].commands[0] == "kubectl scale deployment/cluster-autoscaler -n kube-system --replicas=1"


def test_machine_sets_are_scaled(tmp_path: Path):
    notes = {"cluster.x-k8s.io/owner-kind": "MachineSet", "cluster.x-k8s.io/owner-name": "workers"}
    made = {
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {"name": "workers", "namespace": "infra"},
        "spec": {"replicas": 2},
    }
    items = [node("n1", annotations=notes), node("n2", annotations=notes), pod("p1"), pod("p2", on="n2"), made]
    steps = runbook(reader(tmp_path, items), RENT, DRAIN)
    rent, drain = steps[2], steps[3]
    assert rent.commands[0] == "kubectl scale machineset/workers -n infra --replicas=4"
    assert "kubectl scale machineset/workers -n infra --replicas=3" in drain.commands
    assert "delete-machine" in drain.notes[0]


def test_no_name_of_the_cluster_is_in_anonymous_steps(tmp_path: Path):
    secret = "zzz"
    meta = {"namespace": secret, "labels": {"app": "web", "pod-template-hash": "1"}}
    labels = {"eks.amazonaws.com/nodegroup": secret, "alpha.eksctl.io/cluster-name": secret}
    items = [
        node(f"{secret}-{i}", labels=labels, zone=f"{secret}-{i}", providerID=f"aws:///i-00{secret}") for i in (1, 2)
    ]
    items += [pod(f"{secret}-{i}", on=f"{secret}-{i}", meta=meta, owner=("ReplicaSet", f"{secret}-1")) for i in (1, 2)]
    items += [budget(1, {"matchLabels": {"app": "web"}}, secret)]
    read = reader(tmp_path, items)
    read.aliases = Aliases(hidden=True)
    names = [read.aliases.of("node", item["metadata"]["name"]) for item in items[:2]]
    steps = runbook(read, RENT, DRAIN | {"drain": names[0]}, cordoned=(names[0],))
    assert len(steps) == 5
    assert secret not in json.dumps([step.content() for step in steps])
    assert "--nodes 4" in steps[2].commands[0]


def test_a_plan_without_steps_has_no_runbook(tmp_path: Path):
    assert runbook(two(tmp_path)) == []
