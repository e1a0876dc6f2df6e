"""Test `gapwise cluster` with zones, pools, architectures, control planes and other schedulers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from instances import load
from instances.kubernetes import synthetic_dump
from tests.commands import call
from tests.kubernetes_clusters import ARCH, TYPES, mixed_cluster
from tests.kubernetes_dumps import ZONE, Json, listed, pod, reader, spread
from tests.sampling import few

POOL, TYPE, ROLE = "karpenter.sh/nodepool", "node.kubernetes.io/instance-type", "node-role.kubernetes.io/control-plane"
HEAD = "name,family,usd_per_hour,cpu,ram_gb,pods,gpu,arch\n"
BIG, MID = "big,m,0.8,15,58,58,0,amd64\n", "mid,m,0.4,7.9,29,58,0,amd64\n"


def node(name: str, zone: str = "z-a", kind: str = "big", pool: str | None = "default", **more: Any) -> Json:
    """Return a node of 15 CPUs, by default in a pool."""
    labels = {ARCH: "amd64", TYPE: kind, ZONE: zone, "kubernetes.io/hostname": name} | more.pop("labels", {})
    labels |= {} if pool is None else {POOL: pool}
    meta = {"name": name, "labels": labels, "annotations": more.pop("annotations", {})}
    status = {"allocatable": {"cpu": "15", "memory": "58Gi", "pods": "58"}, "conditions": []}
    return {"kind": "Node", "metadata": meta, "spec": more, "status": status}


def of_pool(pool: str) -> str:
    """Return the table with the smaller type for one pool alone."""
    lines = HEAD, BIG, MID
    return "".join(line.replace("\n", f",{more}\n") for line, more in zip(lines, ("pool", "", pool), strict=True))


def in_zone(zone: str) -> Json:
    return {"nodeSelector": {ZONE: zone}}


def of(app: str) -> Json:
    return {"labelSelector": {"matchLabels": {"app": app}}}


def named(name: str, on: str | None, cpu: str, app: str | None = None, **more: Any) -> Json:
    app = app or name
    return pod(
        name, on=on, cpu=cpu, owner=more.pop("owner", ("ReplicaSet", app)), meta={"labels": {"app": app}}, **more
    )


def run(
    folder: Path, items: Sequence[Json], types: str = HEAD + BIG, *more: object, rule: str = "ca-least-waste"
) -> tuple[Json, str]:
    """Return the answer as data and in words, without the picture, which takes most of the time."""
    (folder / "dump.json").write_text(json.dumps(listed(*items)))
    (folder / "types.csv").write_text(types)
    arguments = [folder / "dump.json", "--types", folder / "types.csv", "--rules", rule, "--quiet", *more]
    with mock.patch("experiments.kubernetes.pictures.write_picture"):
        done = call("cluster", *arguments, "--out", folder / "out")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads((folder / "out" / "cluster.json").read_text()), " ".join(done.stdout.split())


def drained(answer: Mapping[str, Any]) -> set[str]:
    return {step["drain"] for step in answer["steps"]} - {None}


def rented(answer: Mapping[str, Any]) -> set[str]:
    return {name for step in answer["steps"] for name in step["rent"]}


def sees_that_no_bill_is_below_another(answer: Mapping[str, Any]) -> None:
    """See that the bound is at most the least bill, that at most the bill of the plan, and more evictions help.

    A run that its time limit ends may know no bound.
    """
    assert (answer["bound_usd_per_hour"] or 0.0) <= answer["least_usd_per_hour"] + 1e-9
    assert answer["least_usd_per_hour"] <= answer["reachable_usd_per_hour"] + 1e-9
    for key in ("usd_per_hour", "reachable_usd_per_hour"):
        bills = [point[key] for point in answer["frontier"]]
        assert bills == sorted(bills, reverse=True)


# the smallest clusters


@pytest.mark.parametrize("rule", ["karpenter-1.14", "ca-least-waste"])
@pytest.mark.parametrize(
    ("pool", "row", "bill"),
    [
        ("default", "", 2.4),  # no node of the pool shows the smaller type
        ("default", "default", 2.0),
        (None, "", 2.0),
        (None, "default", 2.4),
    ],
)
def test_two_zones_and_a_table_without_zones(pool: str | None, row: str, bill: float, rule: str, tmp_path: Path):
    items = [node("a1", pool=pool), node("a2", pool=pool), node("b1", "z-b", pool=pool)]
    items += [named("p", "a1", "10"), named("q", "a2", "10"), named("r", "b1", "6")]
    answer, said = run(tmp_path, items, of_pool(row) if row else HEAD + BIG + MID, rule=rule)
    sees_that_no_bill_is_below_another(answer)
    (end,) = answer["rules"]
    assert end["status"] == "feasible"
    assert answer["least_usd_per_hour"] == answer["reachable_usd_per_hour"] == pytest.approx(bill)
    assert ("not rented: 1 type of the table" in said) == (bill == 2.4)


def test_the_control_plane_is_kept(tmp_path: Path):
    taint = [{"key": ROLE, "value": "", "effect": "NoSchedule"}]
    items = [node(f"cp{i}", labels={ROLE: ""}, taints=taint) for i in range(3)]
    items += [named(f"etcd-cp{i}", f"cp{i}", "1", owner=("Node", f"cp{i}")) for i in range(3)]
    answer, said = run(tmp_path, [*items, node("w1"), named("p", "w1", "10")])
    assert (answer["steps"], answer["bound_usd_per_hour"], answer["reachable_usd_per_hour"]) == ([], 3.2, 3.2)
    assert answer["kept_nodes"] == [{"reason": "control plane", "nodes": 3}]
    assert "control plane: 3 nodes, which the plan and the bound keep" in said


def test_no_pod_is_moved_to_another_architecture(tmp_path: Path):
    taint = [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}]
    arm = node("g1", kind="arm", pool="arm", taints=taint, labels={ARCH: "arm64"})
    answer, _ = run(tmp_path, [node("a1"), arm, named("p", "a1", "10")], HEAD + BIG + "arm,a,0.3,15,58,58,0,arm64\n")
    assert (drained(answer), rented(answer)) == ({"g1"}, set()), "it is empty"
    assert (answer["least_usd_per_hour"], answer["reachable_usd_per_hour"]) == (0.8, 0.8)


def test_a_pod_that_skew_keeps_from_coming_back_stays(tmp_path: Path):
    rule = {"topologySpreadConstraints": spread(ZONE, **of("web"))}
    items = [node("a1"), node("a2"), node("b1", "z-b"), named("w1", "a1", "1", "web", **rule)]
    answer, said = run(tmp_path, [*items, named("w2", "a2", "1", "web", **rule), named("db", "b1", "15")])
    assert (answer["steps"], answer["least_usd_per_hour"]) == ([], 2.4)
    assert "spread on zones that today forbids a return 2 0.8000" in said


def test_the_answer_replays_soft_spreads_with_the_default_profile(tmp_path: Path):
    """Soft spreads send pods elsewhere than resources alone, so that the plan directs them."""
    soft = {"topologySpreadConstraints": spread(ZONE, whenUnsatisfiable="ScheduleAnyway", **of("s"))}
    items = [node("a1"), node("a2"), node("b1", "z-b"), named("s1", "a1", "4", "s", **soft)]
    items += [named("p", "a1", "4", **in_zone("z-a")), named("x", "a2", "11"), named("s2", "b1", "4", "s", **soft)]
    answer, said = run(tmp_path, [*items, named("y", "b1", "6", **in_zone("z-b"))])
    assert drained(answer) == {"a1"}
    assert "in 0 of 40 random orders a pod finds no place (replayed with kube-scheduler's default profile, v" in said
    assert "cordon all nodes, and drain" in said


def test_a_machine_that_another_scheduler_waits_for_is_kept(tmp_path: Path):
    waits = named("train", None, "15", schedulerName="volcano", owner=("Job", "train"))
    answer, said = run(tmp_path, [node("a1"), node("a2"), named("p", "a1", "10"), waits])
    assert (answer["steps"], answer["bound_usd_per_hour"]) == ([], 1.6)
    assert answer["pending_pods"]["other_scheduler"] == 1
    assert "pending with another scheduler: 1 pod; the plan reserves room on nodes that run for 1 of them" in said
    assert "pending pods of another scheduler: 1 node, which the plan keeps" in said


def test_a_node_that_may_not_be_scaled_down_is_kept(tmp_path: Path):
    notes = {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
    items = [node("a1", annotations=notes), node("a2"), named("p", "a1", "1"), named("q", "a2", "10")]
    answer, said = run(tmp_path, items)
    assert drained(answer) == {"a2"}
    assert "scale-down disabled: 1 node, which the plan and the bound keep" in said


def test_pending_pods_that_the_bound_serves_are_said(tmp_path: Path):
    items = [node("a1"), named("p", "a1", "10"), named("w1", None, "10"), named("w2", None, "10")]
    answer, said = run(tmp_path, items)
    assert answer["bound_usd_per_hour"] == answer["least_usd_per_hour"] == pytest.approx(2.4)
    assert "pending: 2 pods, which the plan and the bound serve; today's bill does not" in said


# larger ones


@pytest.mark.parametrize("seed", few(range(3), 2))
def test_a_mixed_cluster_keeps_its_control_plane_and_its_architectures(seed: int, tmp_path: Path):
    cluster = mixed_cluster(seed)
    limit = "--effort", "1", "--time-limit", "1"
    answer, _ = run(tmp_path, cluster.items, TYPES, *limit, "--rules", "karpenter-1.14")
    sees_that_no_bill_is_below_another(answer)
    assert drained(answer), "there is something to save"
    assert not drained(answer) & cluster.control_plane
    assert {"reason": "control plane", "nodes": 3} in answer["kept_nodes"]
    assert sum(name.startswith("gpu") for name in rented(answer)) == 0
    gpus = {name for name, one in cluster.nodes.items() if one["metadata"]["labels"][TYPE] == "gpu.2xlarge"}
    assert not drained(answer) & gpus, "one has a pod of the other scheduler, and two pods wait for the others"
    plan = reader(tmp_path, cluster.items, TYPES).read("plan")
    assert load(tmp_path / "out" / "plan.json").data == plan.data
    arch = {name: one["metadata"]["labels"][ARCH] for name, one in cluster.nodes.items()}
    for name in rented(answer):
        offering = plan.offerings[name]
        shown = {one.labels[ARCH] for one in offering.pool.nodes}
        assert offering.offer.arch in shown
        assert seed == 2 or offering.offer.type in {one.type for one in offering.pool.nodes}
    for entry in plan.data.pods:
        pods = plan.members[entry.name]
        runs = {arch[one.node] for one in plan_pods(plan, pods[0].workload) if one.node}
        if not runs:  # it is pending, and nobody knows
            continue
        nodes = arch if entry.allowed_nodes is None else entry.allowed_nodes
        types = plan.offerings if entry.allowed_types is None else entry.allowed_types
        assert {arch[n] for n in nodes} | {plan.offerings[t].offer.arch for t in types} <= runs


def plan_pods(plan: Any, workload: str) -> list[Any]:
    return [one for pods in plan.members.values() for one in pods if one.workload == workload]


def without_pools(items: list[Json], labels: bool) -> list[Json]:
    """Return the objects without NodePools, and without the labels of pools if these are not wanted."""
    for item in items:
        if item["kind"] == "Node" and not labels:
            del item["metadata"]["labels"][POOL]
    return [item for item in items if item["kind"] != "NodePool"]


@pytest.mark.parametrize("seed", few(range(20), 2))
def test_a_drawn_dump_is_answered(seed: int, tmp_path: Path):
    """Every third without NodePools, every third without labels of pools, too."""
    files = synthetic_dump(seed, nodes=6, pods=70)
    items = json.loads(files["dump.json"])["items"]
    if seed % 3:
        items = without_pools(items, labels=seed % 3 == 1)
    rule = "karpenter-1.14" if seed % 2 else "ca-least-waste"
    limit = "--effort", "1", "--time-limit", "0.3"
    answer, _ = run(tmp_path, items, files["types.csv"].decode(), *limit, rule=rule)
    sees_that_no_bill_is_below_another(answer)
    assert answer["reachable_usd_per_hour"] <= answer["bill_usd_per_hour"] + 1e-9
    assert [end["status"] for end in answer["rules"]] == ["feasible"]


# interrupts and names


def test_an_interrupt_while_compiled_code_runs_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """numba says of an interrupt that its function returned a result with an exception set."""

    def interrupted(*arguments: object, **options: object) -> None:
        raise SystemError("a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr("experiments.kubernetes.cluster.reachable", interrupted)
    (tmp_path / "dump.json").write_text(json.dumps(listed(node("a1"), named("p", "a1", "10"))))
    (tmp_path / "types.csv").write_text(HEAD + BIG)
    done = call("cluster", tmp_path / "dump.json", "--types", tmp_path / "types.csv", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "gapwise: interrupted\n")


@pytest.mark.parametrize("name", ["n1; touch PWNED #", "-n1", "N1", "a..b", "n1\n", "a" * 254, "$(id)"])
def test_a_node_name_that_no_api_server_takes_is_refused(name: str, tmp_path: Path):
    (tmp_path / "dump.json").write_text(json.dumps(listed(node(name), named("p", name, "10"))))
    (tmp_path / "types.csv").write_text(HEAD + BIG)
    done = call("cluster", tmp_path / "dump.json", "--types", tmp_path / "types.csv")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "dump.json: items[0].metadata.name: must be a DNS-1123 subdomain of at most 253 characters" in done.stderr


def test_commands_name_new_nodes_in_quotes(tmp_path: Path):
    """Types have blanks in their names where zones are told apart."""
    items = [node("a1", pool=None), node("b1", "z-b", pool=None), named("p", "a1", "6"), named("q", "b1", "6")]
    items += [named("x", "a1", "1", **in_zone("z-a")), named("y", "b1", "1", **in_zone("z-b"))]
    plan = tmp_path / "plan.json"
    run(tmp_path, items, HEAD + BIG + MID, "--plan", plan)
    written = json.loads(plan.read_text())
    commands = [written["first"], written["last"], *(c for step in written["steps"] for c in step["commands"])]
    known = {"kubectl", "cordon", "uncordon", "drain", "--ignore-daemonsets", "--delete-emptydir-data", "a1", "b1"}
    known.add("--timeout=600s")
    new = {f"{name}#{i}" for step in written["steps"] for name in step["rent"] for i in (1, 2)}
    for command in filter(None, commands):
        assert set(shlex.split(command)) <= known | new
    assert any(" " in name for name in new)
