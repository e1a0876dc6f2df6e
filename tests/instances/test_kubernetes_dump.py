"""Test how each property of a Kubernetes dump enters `node-consolidation`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from instances.errors import InputError
from instances.kubernetes.dump import read_dump
from instances.kubernetes.readings import DumpReading
from tests.kubernetes_dumps import (
    HOSTNAME,
    TYPES,
    ZONE,
    Json,
    beside,
    budget,
    daemon_set,
    listed,
    mounting,
    node,
    pod,
    reader,
    readings,
    required,
    spread,
    volume,
)

CPU, MEMORY = "cpu_milli", "memory_mib"


def demand(reading: DumpReading, name: str = "default/app") -> dict[str, float]:
    (found,) = (dict(p.demand) for p in reading.data.pods if p.name == name)
    return found


def the_pod(reading: DumpReading) -> Any:
    (found,) = reading.data.pods
    return found


def container(cpu: str, name: str = "main", **more: Any) -> Json:
    return {"name": name, "resources": {"requests": {"cpu": cpu}}} | more


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])
def test_a_dump_in_an_encoding_of_powershell_is_read(encoding: str, tmp_path: Path):
    """Its `>` writes UTF-16, its `Out-File -Encoding utf8` a mark before UTF-8."""
    mark = "\ufeff" if encoding.startswith("utf-16") else ""
    content = mark + json.dumps(listed(node("n1", labels={"ort": "Köln"}), pod()), ensure_ascii=False)
    (tmp_path / "dump.json").write_bytes(content.encode(encoding))
    assert read_dump([tmp_path / "dump.json"]).nodes["n1"].labels["ort"] == "Köln"
    (tmp_path / "dump.json").write_bytes((mark + "kind: List\n").encode(encoding))
    with pytest.raises(InputError, match=r"dump\.json: is YAML; a dump is JSON"):
        read_dump([tmp_path / "dump.json"])
    (tmp_path / "dump.json").write_bytes(content.encode("utf-16-le")[:-1])
    with pytest.raises(InputError, match=r"dump\.json: not valid JSON: .*; a dump is made by kubectl"):
        read_dump([tmp_path / "dump.json"])


# what a pod takes


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [container("1"), container("500m", "other")]}, 1500),
        ({"containers": [container("1")], "initContainers": [container("3", "first")]}, 3000),
        ({"containers": [container("1")], "initContainers": [container("800m", "first")]}, 1000),
        # a sidecar runs beside the containers, and beside the init containers after it, not those before
        ({"containers": [container("1")], "initContainers": [container("1", "side", restartPolicy="Always")]}, 2000),
        (
            {
                "containers": [container("1")],
                "initContainers": [container("1", "side", restartPolicy="Always"), container("2", "then")],
            },
            3000,
        ),
        (
            {
                "containers": [container("1")],
                "initContainers": [container("2", "then"), container("1", "side", restartPolicy="Always")],
            },
            2000,
        ),
        ({"containers": [container("1")], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [container("1")], "resources": {"requests": {"cpu": "2"}}}, 2000),
        ({"containers": [{"name": "main", "resources": {"limits": {"cpu": "2"}}}]}, 2000),
        ({"containers": [{"name": "main"}]}, 0),
        ({"containers": [container("0.1001")]}, 101),
    ],
)
def test_what_a_pod_takes_is_what_kube_scheduler_counts(spec: Json, cpu: int, tmp_path: Path):
    bound, plan = readings(tmp_path, node(), pod(**spec))
    assert demand(bound)[CPU] == demand(plan)[CPU] == cpu
    assert demand(plan)["pods"] == 1


@pytest.mark.parametrize(
    ("has", "conditions", "cpu"),
    [
        ({"allocatedResources": {"cpu": "2"}}, [], 2000),
        ({"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2"}}, [], 3000),
        ({"allocatedResources": {"cpu": "500m"}}, [], 1000),
        ({"allocatedResources": {"cpu": "500m"}}, [{"type": "PodResizePending", "reason": "Infeasible"}], 500),
        ({"allocatedResources": {"cpu": "500m"}}, [{"type": "PodResizePending", "reason": "Deferred"}], 1000),
    ],
)
def test_a_pod_that_is_resized_takes_what_it_has_or_wants(has: Json, conditions: list[Json], cpu: int, tmp_path: Path):
    status = {"containerStatuses": [{"name": "main"} | has], "conditions": conditions}
    _, plan = readings(tmp_path, node(), pod(status=status))
    assert demand(plan)[CPU] == cpu


@pytest.mark.parametrize(
    ("quantity", "down", "up"),
    [
        ("123Mi", 123, 123),
        ("1Gi", 1024, 1024),
        ("0.5Gi", 512, 512),
        ("1025", 0, 1 / 512),  # bytes: a plan takes more, a bound less
        ("128974848", 123, 123),
        ("129M", 62988 / 512, 62989 / 512),
        ("1e3Ki", None, None),
    ],
)
def test_memory_is_rounded_up_for_a_plan_and_down_for_a_bound(quantity: str, down: float, up: float, tmp_path: Path):
    if down is None:
        with pytest.raises(ValueError, match=r"dump.json: items\[1\].spec.containers\[0\].resources.requests.memory"):
            readings(tmp_path, node(), pod(memory=quantity))
        return
    bound, plan = readings(tmp_path, node(), pod(memory=quantity))
    assert demand(bound)[MEMORY] == down
    assert demand(plan)[MEMORY] == up


# which pods count


def test_pods_that_have_ended_are_gone_and_those_that_end_hold_room_for_a_plan_alone(tmp_path: Path):
    leaving = {"name": "leaving", "deletionTimestamp": "2026-11-23T00:00:00Z"}
    back = {"name": "db-0", "deletionTimestamp": "2026-11-23T00:00:00Z"}
    items = [
        pod("done", status={"phase": "Succeeded"}),
        pod("failed", status={"phase": "Failed"}),
        pod("gone", meta=leaving),
        pod("back", meta=back, owner=("StatefulSet", "db")),
    ]
    bound, plan = readings(tmp_path, node(), *items)
    assert [p.name for p in plan.data.pods] == ["default/db"]
    assert [reading.data.nodes[0].capacity[CPU] for reading in (bound, plan)] == [8000, 7000]
    assert plan.dropped == bound.dropped == {"terminating": 1}


def test_pending_pods_are_to_be_placed_unless_they_wait_for_something_else(tmp_path: Path):
    items = [
        pod("waits", on=None),
        pod("gated", on=None, schedulingGates=[{"name": "quota"}]),
        pod("theirs", on=None, schedulerName="volcano"),
        pod("huge", on=None, cpu="1000"),
        pod("elsewhere", on="a node of another dump"),
    ]
    bound, plan = readings(tmp_path, node(), *items, pod("runs"))
    for reading, count in ((plan, 2), (bound, 3)):  # the bound has a place for the pod of the other scheduler
        (one,) = reading.data.pods
        assert (one.count, reading.data.nodes[0].pods, reading.pending) == (count, {one.name: 1}, count - 1)
        said = reading.dropped
        assert (said["scheduling gate"], said["node not in the dump"]) == (1, 1)
    assert plan.dropped["pending, fits nowhere"] == 1
    assert plan.data.nodes[0].capacity[CPU] == 7000, "the plan has reserved the room of one pod"
    assert (plan.kept, bound.kept) == ({"pending pods of another scheduler": 1}, {})


def test_a_pod_of_another_scheduler_stays_where_it_is(tmp_path: Path):
    bound, plan = readings(tmp_path, node(), pod(schedulerName="volcano"))
    assert (the_pod(bound).pinned, the_pod(plan).pinned) == (False, True)
    assert (plan.pinned, bound.dropped) == ({"another scheduler": 1}, {"another scheduler": 1})


def test_daemon_sets_and_static_pods_are_room_that_a_node_does_not_have(tmp_path: Path):
    own_node = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": own_node}}
    items = [
        node(),
        daemon_set(cpu="500m"),
        pod("logs-1", cpu="500m", owner=("DaemonSet", "logs"), affinity=affinity),
        pod("kube-proxy", cpu="100m", owner=("Node", "n1")),
        pod("static", cpu="200m", owner=None, meta={"annotations": {"kubernetes.io/config.mirror": "x"}}),
        pod("app"),
    ]
    for reading in readings(tmp_path, *items):
        assert reading.data.nodes[0].capacity[CPU] == 8000 - 500 - 100 - 200
        assert {t.name: t.capacity[CPU] for t in reading.data.instance_types} == {"small": 1500, "large": 7500}
        assert [p.name for p in reading.data.pods] == ["default/app"]


def test_a_daemon_set_runs_where_its_selector_and_tolerations_say(tmp_path: Path):
    drivers = daemon_set("drivers", "1", nodeSelector={"node.kubernetes.io/instance-type": "large"})
    tainted = node("n2", "small", taints=[{"key": "special", "value": "", "effect": "NoSchedule"}])
    bound, plan = readings(tmp_path, node(), tainted, drivers, pod())
    rooms = {t.name: t.capacity[CPU] for t in plan.data.instance_types}
    assert rooms == {"small": 2000, "large": 7000, "gpus": 8000}
    # for a bound a new node may have any taint that there is, so one that does not tolerate all need not run
    assert {t.name: t.capacity[CPU] for t in bound.data.instance_types}["large"] == 8000


def test_without_daemon_sets_their_pods_show_what_a_new_node_has_to_hold_for_a_plan_alone(tmp_path: Path):
    bound, plan = readings(tmp_path, node(), pod("logs-1", cpu="500m", owner=("DaemonSet", "logs")), pod())
    assert {t.name: t.capacity[CPU] for t in plan.data.instance_types}["large"] == 7500
    assert {t.name: t.capacity[CPU] for t in bound.data.instance_types}["large"] == 8000
    assert bound.dropped == {"DaemonSets on new nodes, which are not in the dump": 1}


# nodes


def test_a_node_has_what_is_allocatable_of_it_and_its_own_price(tmp_path: Path):
    types = TYPES.replace("ram_gb,pods,gpu", "ram_gb,pods,gpu,zone,capacity_type").replace("\n", ",,\n", 1)
    types = (
        "name,family,usd_per_hour,cpu,ram_gb,pods,gpu,zone,capacity_type\n"
        "large,l,0.4,8,16,50,0,,\nlarge,l,0.5,8,16,50,0,b,\nlarge,l,0.1,8,16,50,0,,spot\n"
    )
    spot = {"eks.amazonaws.com/capacityType": "SPOT"}
    nodes = [
        node("a", room={"cpu": "7910m"}),
        node("b", zone="b"),
        node("s", labels=spot),
        node("s2", labels={"cloud.google.com/gke-spot": "true"}),
        node("s3", labels={"karpenter.sh/capacity-type": "spot"}),
        node("s4", labels={"kubernetes.azure.com/scalesetpriority": "spot"}),
        node("d", labels={"karpenter.sh/capacity-type": "on-demand"}),
        node("r", labels={"karpenter.sh/capacity-type": "reserved"}),
        node("x", "unknown"),
    ]
    _, plan = readings(tmp_path, *nodes, pod(on="a"), types=types)
    prices = {n.name: n.usd_per_hour for n in plan.data.nodes}
    assert list(prices.values()) == [0.4, 0.5, 0.1, 0.1, 0.1, 0.1, 0.4, None, None]
    assert plan.unpriced == {("large", "a", "reserved"): 1, ("unknown", "a", "on-demand"): 1}
    assert plan.data.nodes[0].capacity == {CPU: 7910, MEMORY: 16384, "pods": 50}
    offered = {(t.name, t.usd_per_hour) for t in plan.data.instance_types}
    assert offered == {("large in a", 0.4), ("large in b", 0.5)}, "in b by the row of b"


def test_old_labels_of_type_and_zone_count(tmp_path: Path):
    old = {"beta.kubernetes.io/instance-type": "small", "failure-domain.beta.kubernetes.io/zone": "b"}
    one = node()
    one["metadata"]["labels"] = old
    _, plan = readings(tmp_path, one, pod())
    assert (plan.data.nodes[0].type, plan.data.nodes[0].usd_per_hour) == ("small", 0.1)


@pytest.mark.parametrize("how", [{"unschedulable": True}, {"ready": "Unknown"}, {"ready": "False"}])
def test_no_pod_comes_to_a_node_that_is_cordoned_or_not_ready_in_a_plan(how: Json, tmp_path: Path):
    bound, plan = readings(tmp_path, node(**how), pod())
    assert (bound.data.nodes[0].cordoned, plan.data.nodes[0].cordoned) == (False, True)
    assert bound.dropped["cordoned or not ready nodes"] == 1


def test_taints_of_the_moment_are_no_taints_of_a_node(tmp_path: Path):
    taint = {"key": "node.kubernetes.io/not-ready", "value": "", "effect": "NoExecute"}
    _, plan = readings(tmp_path, node(taints=[taint]), pod())
    assert the_pod(plan).allowed_nodes is None


# where a pod may be


@pytest.mark.parametrize(
    ("taint", "tolerations", "comes"),
    [
        ({"key": "a", "value": "b", "effect": "NoSchedule"}, [], False),
        ({"key": "a", "value": "b", "effect": "PreferNoSchedule"}, [], True),
        ({"key": "a", "value": "b", "effect": "NoExecute"}, [{"key": "a", "value": "b"}], True),
        ({"key": "a", "value": "b", "effect": "NoSchedule"}, [{"key": "a", "value": "c"}], False),
        ({"key": "a", "value": "b", "effect": "NoSchedule"}, [{"key": "a", "operator": "Exists"}], True),
        ({"key": "a", "value": "b", "effect": "NoSchedule"}, [{"operator": "Exists"}], True),
        (
            {"key": "a", "value": "b", "effect": "NoSchedule"},
            [{"key": "a", "operator": "Exists", "effect": "NoExecute"}],
            False,
        ),
    ],
)
def test_taints_and_tolerations(taint: Json, tolerations: list[Json], comes: bool, tmp_path: Path):
    _, plan = readings(tmp_path, node("n1"), node("n2", taints=[taint]), pod(tolerations=tolerations))
    assert the_pod(plan).allowed_nodes == (None if comes else ("n1",))


def test_a_toleration_behind_a_feature_gate_counts_for_the_bound_alone(tmp_path: Path):
    taint = {"key": "a", "value": "5", "effect": "NoSchedule"}
    tolerations = [{"key": "a", "operator": "Gt", "value": "3"}]
    bound, plan = readings(tmp_path, node("n1"), node("n2", taints=[taint]), pod(tolerations=tolerations))
    assert (the_pod(bound).allowed_nodes, the_pod(plan).allowed_nodes) == (None, ("n1",))


@pytest.mark.parametrize(
    ("expressions", "nodes"),
    [
        ([("disk", "In", ["ssd", "nvme"])], ["n1"]),
        ([("disk", "NotIn", ["ssd"])], ["n2", "n3"]),  # true of a label that is missing
        ([("disk", "Exists", [])], ["n1", "n2"]),
        ([("disk", "DoesNotExist", [])], ["n3"]),
        ([("cores", "Gt", ["4"])], ["n1"]),
        ([("cores", "Lt", ["8"])], ["n2"]),
        ([("cores", "Gte", ["8"])], ["n1"]),
        ([("cores", "Gt", ["x"])], []),
        ([("disk", "Exists", []), ("cores", "Lt", ["8"])], ["n2"]),  # all of a term
        ([], []),  # a term without requirements is of no node
    ],
)
def test_required_node_affinity(expressions: list[tuple[str, str, list[str]]], nodes: list[str], tmp_path: Path):
    labels = [{"disk": "ssd", "cores": "8"}, {"disk": "hdd", "cores": "4"}, {}]
    term = [{"key": key, "operator": operator, "values": values} for key, operator, values in expressions]
    there = [node(f"n{i}", labels=own) for i, own in enumerate(labels, 1)]
    _, plan = readings(tmp_path, *there, pod(affinity=required(term)), pod("other"))
    (one,) = (p for p in plan.data.pods if len(p.allowed_nodes or "abc") < 3 or p.allowed_nodes == ())
    assert list(one.allowed_nodes) == nodes


def test_one_term_of_several_is_enough_and_a_selector_holds_beside_them(tmp_path: Path):
    there = [node("n1", labels={"a": "1"}), node("n2", labels={"b": "1"}), node("n3", labels={"a": "1", "c": "1"})]
    terms = required([{"key": "a", "operator": "Exists"}], [{"key": "b", "operator": "Exists"}])
    _, either = readings(tmp_path, *there, pod(affinity=terms))
    assert the_pod(either).allowed_nodes is None
    _, both = readings(tmp_path, *there, pod(affinity=terms, nodeSelector={"c": "1"}))
    assert the_pod(both).allowed_nodes == ("n3",)


@pytest.mark.parametrize(
    ("selector", "for_plan", "for_bound"),
    [
        ({"node.kubernetes.io/instance-type": "small"}, {"small in a", "small in b"}, {"small"}),
        ({ZONE: "b"}, {"small in b", "large in b"}, {"small", "large"}),
        ({"kubernetes.io/os": "linux"}, {"small in a", "small in b", "large in a", "large in b"}, {"small", "large"}),
        (
            {"kubernetes.io/arch": "amd64"},
            {"small in a", "small in b", "large in a", "large in b"},
            {"small", "large"},
        ),
        ({"kubernetes.io/arch": "arm64"}, set(), {"gpus"}),  # a type without a node and an entry for it
        ({"team": "red"}, {"small in a", "small in b", "large in a", "large in b"}, {"small", "large"}),
        ({"team": "blue"}, set(), {"small", "large"}),
        ({HOSTNAME: "n1"}, set(), set()),
        ({"karpenter.sh/capacity-type": "spot"}, set(), set()),
    ],
)
def test_affinity_is_to_what_a_new_node_will_be(
    selector: Json, for_plan: set[str], for_bound: set[str], tmp_path: Path
):
    """For a plan what is known of its labels; for a bound what nobody can rule out."""
    labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "team": "red"}
    there = [node("n1", zone="a", labels=labels), node("n2", zone="b", labels=labels)]
    types = TYPES.replace("gpu\n", "gpu,arch\n", 1).replace("20,0\n", "20,0,amd64\n")
    # the other pods keep every offering in the table: each may be in one zone alone
    items = [*there, pod(nodeSelector=selector), *(pod(z, nodeSelector={ZONE: z}) for z in ("a", "b"))]
    bound, plan = readings(tmp_path, *items, types=types)
    for reading, wanted in ((plan, for_plan), (bound, for_bound)):
        known = {t.name for t in reading.data.instance_types}
        own = next(p for p in reading.members if reading.members[p][0].name == "p")
        found = next(p.allowed_types for p in reading.data.pods if p.name == own)
        found = known if found is None else set(found)
        if reading is bound:
            found = {name.partition(" ")[0] for name in found}
        assert found == wanted


# other pods


def test_pods_that_keep_apart_from_each_other_are_one_to_a_node(tmp_path: Path):
    apart = {"affinity": beside("podAntiAffinity")}
    for reading in readings(tmp_path, node(), pod("p1", **apart), pod("p2", on=None, **apart)):
        (group,) = reading.data.spread
        assert (group.tasks, group.max_per_instance) == (("default/app",), 1)
        assert not reading.pinned
        assert not reading.dropped


def test_pods_that_keep_apart_from_others_stay_with_those_in_a_plan(tmp_path: Path):
    lone = pod("lone", affinity=beside("podAntiAffinity"), meta={"labels": {"app": "lone"}}, owner=("Job", "lone"))
    items = [node(), lone, pod("web-1", cpu="2"), pod("free", meta={"labels": {"app": "x"}}, owner=("Job", "x"))]
    bound, plan = readings(tmp_path, *items)
    assert {p.name: p.pinned for p in plan.data.pods} == {
        "default/lone": True,
        "default/app": True,
        "default/x": False,
    }
    assert not any(p.pinned for p in bound.data.pods)
    assert plan.pinned == bound.dropped == {"anti-affinity on nodes": 2}
    assert not plan.data.spread


def test_a_pod_of_another_namespace_is_not_meant(tmp_path: Path):
    other = pod("other", meta={"namespace": "far", "labels": {"app": "web"}})
    _, plan = readings(tmp_path, node(), pod(affinity=beside("podAntiAffinity")), other)
    assert not plan.pinned
    _, plan = readings(tmp_path, node(), pod(affinity=beside("podAntiAffinity", namespaces=["far"])), other)
    assert plan.pinned == {"anti-affinity on nodes": 2}
    _, plan = readings(tmp_path, node(), pod(affinity=beside("podAntiAffinity", namespaceSelector={})), other)
    assert plan.pinned == {"anti-affinity on nodes": 2}


def test_pods_that_belong_together_stay_on_their_node_or_in_their_zone(tmp_path: Path):
    there = [node("n1", zone="a"), node("n2", zone="b")]
    bound, plan = readings(tmp_path, *there, pod(affinity=beside("podAffinity")))
    assert (the_pod(plan).pinned, the_pod(bound).pinned) == (True, False)
    bound, plan = readings(tmp_path, *there, pod(affinity=beside("podAffinity", ZONE)), pod("q", on="n2"))
    assert [(p.allowed_nodes, p.allowed_types, p.pinned) for p in plan.data.pods] == [
        (("n1",), ("small in a", "large in a"), False),
        (("n2",), ("small in b", "large in b"), False),
    ]
    assert all(p.allowed_nodes is None for p in bound.data.pods)
    assert plan.pinned == bound.dropped == {"affinity on zones": 2}


def test_a_spread_over_nodes_is_so_many_to_a_node_for_a_plan_and_nothing_for_a_bound(tmp_path: Path):
    items = [node(), *(pod(f"p{i}", topologySpreadConstraints=spread(skew=2)) for i in range(3))]
    bound, plan = readings(tmp_path, *items)
    (group,) = plan.data.spread
    assert (group.max_per_instance, bound.data.spread) == (2, ())
    assert bound.dropped == {"spread on nodes": 3}


def test_a_spread_over_zones_keeps_a_pod_in_its_zone_for_a_plan(tmp_path: Path):
    there = [node("n1", zone="a"), node("n2", zone="b")]
    bound, plan = readings(tmp_path, *there, pod(topologySpreadConstraints=spread(ZONE)))
    assert the_pod(plan).allowed_nodes == ("n1",)
    assert plan.pinned == bound.dropped == {"spread on zones": 1}


def test_a_spread_that_does_not_count_the_pod_itself_is_not_understood(tmp_path: Path):
    other = {"labelSelector": {"matchLabels": {"app": "other"}}}
    _, plan = readings(tmp_path, node(), pod(topologySpreadConstraints=spread(**other)))
    assert plan.pinned == {"spread on nodes": 1}


def test_a_spread_counts_the_pods_of_its_own_revision_where_it_says_so(tmp_path: Path):
    def revision(name: str) -> Json:
        labels = {"app": "web", "pod-template-hash": name}
        rules = spread(matchLabelKeys=["pod-template-hash"])
        return pod(name, owner=("ReplicaSet", f"app-{name}"), meta={"labels": labels}, topologySpreadConstraints=rules)

    _, plan = readings(tmp_path, node(), revision("1"), revision("2"))
    assert (plan.data.spread, plan.pinned) == ((), {}), "one pod of each"


def test_wishes_are_counted_and_not_heeded(tmp_path: Path):
    soft = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}
    rules = spread(whenUnsatisfiable="ScheduleAnyway")
    for reading in readings(
        tmp_path, node(), pod(affinity={"nodeAffinity": soft}), pod("q", topologySpreadConstraints=rules)
    ):
        assert (reading.dropped, reading.pinned) == ({"preferences and soft spreads": 2}, {})


def test_a_port_of_the_node_is_given_once(tmp_path: Path):
    def taking(name: str, port: int, **more: Any) -> Json:
        return pod(name, containers=[container("1") | {"ports": [{"hostPort": port} | more]}], owner=("Job", name))

    items = [
        taking("a", 80),
        taking("b", 80, hostIP="10.0.0.1"),
        taking("c", 80, hostIP="10.0.0.2"),
        taking("d", 80, protocol="UDP"),
    ]
    for reading in readings(tmp_path, node(), *items):
        groups = {frozenset(group.tasks) for group in reading.data.spread}
        assert groups == {frozenset({"default/a", "default/b"}), frozenset({"default/a", "default/c"})}
    on_node = pod("logs", owner=("DaemonSet", "logs"), containers=[container("0") | {"ports": [{"hostPort": 80}]}])
    _, plan = readings(tmp_path, node("n1"), node("n2"), on_node, taking("a", 80) | {})
    assert the_pod(plan).allowed_nodes == ("n2",)
    assert plan.data.instance_types == (), "the DaemonSet takes it on every new node too"


def test_what_is_on_the_network_of_the_node_takes_its_ports(tmp_path: Path):
    ports = {"containers": [container("1") | {"ports": [{"containerPort": 80}]}]}
    _, plan = readings(tmp_path, node(), pod("p1", hostNetwork=True, **ports), pod("p2", hostNetwork=True, **ports))
    assert len(plan.data.spread) == 1
    _, plan = readings(tmp_path, node(), pod("p1", **ports), pod("p2", **ports))
    assert len(plan.data.spread) == 0


# pools

POOL, ARCH = "karpenter.sh/nodepool", "kubernetes.io/arch"
ARM_TYPES = """name,family,usd_per_hour,cpu,ram_gb,pods,gpu,arch
small,s,0.1,2,4,20,0,amd64
large,l,0.4,8,16,50,0,
arm,a,0.2,8,16,50,0,arm64
"""


def offered(reading: DumpReading) -> set[tuple[str, str | None, str | None]]:
    """Return the types, pools and zones of the rentable nodes."""
    return {(one.offer.type, one.pool.name, one.zone) for one in reading.offerings.values()}


def two_pools() -> list[Json]:
    """Build a pool of two zones, and one of arm64 without a taint."""
    plain = {POOL: "plain", ARCH: "amd64"}
    return [
        node("n1", labels=plain),
        node("n2", zone="b", labels=plain),
        node("n3", "arm", labels={POOL: "arm", ARCH: "arm64"}),
    ]


def test_a_new_node_of_a_pool_has_a_type_a_zone_and_the_architecture_that_it_shows(tmp_path: Path):
    _, plan = readings(tmp_path, *two_pools(), pod(), pod("q", on="n3"), types=ARM_TYPES)
    assert offered(plan) == {("large", "plain", "a"), ("large", "plain", "b"), ("arm", "arm", "a")}
    assert plan.not_rented == ["small"]


def test_nodes_without_the_label_of_a_pool_have_any_type_of_their_architecture(tmp_path: Path):
    there = node(labels={ARCH: "amd64"})
    _, plan = readings(tmp_path, there, pod(), types=ARM_TYPES)
    assert {kind for kind, _, _ in offered(plan)} == {"small", "large"}
    _, plan = readings(tmp_path, there, pod(), types=ARM_TYPES.replace("amd64", ""))
    assert {kind for kind, _, _ in offered(plan)} == {"large"}, "of which architecture small is, nobody says"
    assert plan.not_rented == ["arm", "small"]


def test_a_row_for_a_pool_is_rented_there_alone_and_prices_its_nodes(tmp_path: Path):
    types = ARM_TYPES.replace("arch\n", "arch,pool\n").replace("amd64", ",plain").replace("50,0,\n", "50,0,,\n")
    types = types.replace("arm64", "arm64,") + "large,l,0.3,8,16,50,0,,plain\n"
    _, plan = readings(tmp_path, *two_pools(), pod(), pod("q", on="n3"), types=types)
    assert ("small", "plain", "a") in offered(plan)
    assert not any(kind == "small" and pool != "plain" for kind, pool, _ in offered(plan))
    assert [n.usd_per_hour for n in plan.data.nodes] == [0.3, 0.3, 0.2]


def node_pool(name: str, *requirements: tuple[str, str, list[str]], weight: int = 0, **spec: Any) -> Json:
    listed = [{"key": key, "operator": operator, "values": values} for key, operator, values in requirements]
    template = {"spec": {"requirements": listed, "taints": spec.pop("taints", [])}} | spec.pop("template", {})
    meta = {"name": name}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": meta,
        "spec": spec | {"template": template, "weight": weight},
    }


@pytest.mark.parametrize(
    ("requirements", "types"),
    [
        ([], {"large", "small"}),  # of the architecture that its nodes show
        ([(ARCH, "In", ["amd64", "arm64"])], {"large", "small", "arm"}),
        ([("node.kubernetes.io/instance-type", "In", ["small", "arm"])], {"small"}),
        ([("node.kubernetes.io/instance-type", "NotIn", ["small"])], {"large"}),
        ([("karpenter.sh/capacity-type", "In", ["spot"])], set()),
        ([("karpenter.k8s.aws/instance-family", "In", ["m5"])], set()),  # of which nobody knows what these are
    ],
)
def test_a_node_pool_says_by_its_requirements_what_it_launches(
    requirements: list[tuple[str, str, list[str]]], types: set[str], tmp_path: Path
):
    there = node(labels={POOL: "plain", ARCH: "amd64"})
    either = pod(affinity=required([{"key": ARCH, "operator": "In", "values": ["amd64", "arm64"]}]))
    _, plan = readings(tmp_path, there, either, node_pool("plain", *requirements), types=ARM_TYPES)
    assert {kind for kind, _, _ in offered(plan)} == types


def test_types_of_aws_have_the_labels_that_their_names_say(tmp_path: Path):
    types = ARM_TYPES.replace("small,s", "m6i.large,m").replace("arm,a", "c5.large,c").replace("arm64", "amd64")
    there = node(labels={POOL: "plain", ARCH: "amd64"})
    rules = ("karpenter.k8s.aws/instance-category", "In", ["m"]), ("karpenter.k8s.aws/instance-generation", "Gt", ["5"])
    _, plan = readings(tmp_path, there, pod(), node_pool("plain", *rules), types=types)
    assert {kind for kind, _, _ in offered(plan)} == {"m6i.large"}


def test_limits_of_a_node_pool_leave_so_many_new_nodes(tmp_path: Path):
    pools = [node_pool("plain", limits={"cpu": "21"})]
    there = node(labels={POOL: "plain", ARCH: "amd64"})
    there["status"]["capacity"] = {"cpu": "8"}
    _, plan = readings(tmp_path, there, pod(), *pools, types=ARM_TYPES)
    assert {t.name: t.max_new for t in plan.data.instance_types} == {"small": 6, "large": 1}
    pools[0]["status"] = {"resources": {"cpu": "20"}}
    _, plan = readings(tmp_path, there, pod(), *pools, types=ARM_TYPES)
    assert plan.data.instance_types == ()


def test_a_pod_goes_to_the_node_pool_of_most_weight_that_takes_it(tmp_path: Path):
    taint = {"key": "first", "value": "", "effect": "NoSchedule"}
    pools = [node_pool("first", weight=10, taints=[taint]), node_pool("second", weight=1), node_pool("third")]
    items = [node(labels={POOL: "second", ARCH: "amd64"}), pod(tolerations=[{"operator": "Exists"}]), pod("q")]
    _, plan = readings(tmp_path, *items, *pools, types=ARM_TYPES.splitlines()[0] + "\nlarge,l,0.4,8,16,50,0,\n")
    goes = {p.name: p.allowed_types for p in plan.data.pods}
    assert set(goes.values()) == {("large of first",), ("large of second",)}


def test_a_pod_stays_on_the_architectures_of_its_workload_in_a_plan(tmp_path: Path):
    items = [*two_pools(), pod(), pod("both-1", owner=("Job", "both")), pod("both-2", on="n3", owner=("Job", "both"))]
    items.append(pod("asks", nodeSelector={ARCH: "arm64"}, on="n3", owner=("Job", "asks")))
    bound, plan = readings(tmp_path, *items, types=ARM_TYPES)
    allowed = {p.name: p.allowed_nodes for p in plan.data.pods}
    assert allowed == {"default/app": ("n1", "n2"), "default/both": None, "default/asks": ("n3",)}
    reason = "architectures on which the workload does not run"
    assert plan.pinned == bound.dropped == {reason: 1}


# the control plane, and nodes that are kept


@pytest.mark.parametrize(
    "more",
    [
        {"labels": {"node-role.kubernetes.io/control-plane": ""}},
        {"labels": {"node-role.kubernetes.io/master": ""}},
        {"taints": [{"key": "node-role.kubernetes.io/control-plane", "value": "", "effect": "NoSchedule"}]},
    ],
)
def test_a_node_of_the_control_plane_is_kept_and_none_is_rented(more: Json, tmp_path: Path):
    for reading in readings(tmp_path, node("n1", **more), node("n2", "small"), pod(on="n2")):
        assert [n.keep for n in reading.data.nodes] == [True, False]
        assert reading.kept == {"control plane": 1}
        assert not any(node.name == "n1" for one in reading.offerings.values() for node in one.pool.nodes)


def test_a_static_pod_that_most_nodes_lack_shows_the_control_plane(tmp_path: Path):
    def static(name: str, on: str) -> Json:
        return pod(f"{name}-{on}", on=on, cpu="100m", owner=("Node", on))

    items = [node(f"n{i}") for i in range(5)] + [static("proxy", f"n{i}") for i in range(3)] + [static("etcd", "n4")]
    for reading in readings(tmp_path, *items, pod()):
        assert [n.name for n in reading.data.nodes if n.keep] == ["n4"]


def test_a_node_that_may_not_be_scaled_down_is_kept(tmp_path: Path):
    key = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
    for reading in readings(
        tmp_path, node("n1", annotations={key: "true"}), node("n2", annotations={key: "false"}), pod()
    ):
        assert [n.keep for n in reading.data.nodes] == [True, False]
        assert reading.kept == {"scale-down disabled": 1}


def test_a_node_that_a_pending_pod_of_another_scheduler_waits_for_is_kept(tmp_path: Path):
    theirs = {"on": None, "schedulerName": "volcano"}
    items = [node("n1"), node("n2"), pod(cpu="6"), pod("full", on="n2", cpu="6"), pod("big", cpu="8", **theirs)]
    bound, plan = readings(tmp_path, *items, pod("small", cpu="2", **theirs), pod("huge", cpu="9", **theirs))
    assert [(n.keep, n.capacity[CPU]) for n in plan.data.nodes] == [(True, 6000), (False, 8000)], "one for both"
    assert [n.keep for n in bound.data.nodes] == [False, False]
    assert (plan.pending, bound.pending) == (0, 1)


# spreads whose skew forbids a return


@pytest.mark.parametrize(
    ("more", "stays"),
    [
        ({}, True),
        ({"skew": 2}, False),
        ({"minDomains": 3, "skew": 2}, False),
        ({"minDomains": 3}, True),
        ({"labelSelector": {"matchLabels": {"app": "other"}}}, False),
    ],
)
def test_a_pod_stays_on_its_node_if_skew_forbids_its_return(more: Json, stays: bool, tmp_path: Path):
    rule = {"topologySpreadConstraints": spread(ZONE, **more)}
    items = [node("n1"), node("n2"), node("n3", zone="b"), pod("p", **rule), pod("q", on="n2", **rule)]
    _, plan = readings(tmp_path, *items)
    assert {p.pinned for p in plan.data.pods} == {stays}
    if "minDomains" in more:  # then a third zone counts, which has none
        return
    balanced = pod("r", on="n3", **rule)
    _, plan = readings(tmp_path, *items, balanced)
    assert {p.pinned for p in plan.data.pods} == {False}


def test_skew_counts_the_zones_that_a_pod_may_be_in(tmp_path: Path):
    rule = {"topologySpreadConstraints": spread(ZONE), "nodeSelector": {ZONE: "a"}}
    _, plan = readings(tmp_path, node("n1"), node("n2"), node("n3", zone="b"), pod(**rule), pod("q", on="n2", **rule))
    assert not any(p.pinned for p in plan.data.pods)


def test_anti_affinity_that_is_broken_today_forbids_a_return(tmp_path: Path):
    apart = {"affinity": beside("podAntiAffinity", ZONE)}
    _, plan = readings(tmp_path, node("n1"), node("n2"), pod(**apart), pod("q", on="n2", **apart))
    assert all(p.pinned for p in plan.data.pods)
    _, plan = readings(tmp_path, node("n1"), node("n2", zone="b"), pod(**apart), pod("q", on="n2", **apart))
    assert not any(p.pinned for p in plan.data.pods)


# pending pods


def test_pending_pods_get_a_place_as_far_as_there_is_room_and_the_bound_serves_the_same(tmp_path: Path):
    types = "name,family,usd_per_hour,cpu,ram_gb,pods,gpu\nlarge,l,0.4,8,16,50,0\n"
    items = [node(unschedulable=False, labels={POOL: "old"}), pod(cpu="4")]
    items += [pod(f"w{i}", on=None, cpu="4", owner=None) for i in range(3)]
    bound, plan = readings(tmp_path, *items, node_pool("old", limits={"nodes": "1"}), types=types)
    assert plan.data.instance_types == ()
    assert (plan.pending, bound.pending) == (1, 1)
    assert plan.dropped["pending, no room today and nothing to rent"] == 2


# volumes


def test_a_volume_can_be_reached_from_its_zone_or_its_node_alone(tmp_path: Path):
    there = [node("n1", zone="a"), node("n2", zone="b")]
    in_zone = volume("data", [{"key": ZONE, "operator": "In", "values": ["b"]}])
    for reading in readings(tmp_path, *there, *in_zone, pod(on="n2", volumes=mounting("data"))):
        assert the_pod(reading).allowed_nodes == ("n2",)
        assert {t.name for t in reading.data.instance_types} <= {"small", "large"}, "those of zone b are what is left"
    local = volume("data", [{"key": HOSTNAME, "operator": "In", "values": ["n1"]}])
    for reading in readings(tmp_path, *there, *local, pod(volumes=mounting("data"))):
        assert (the_pod(reading).allowed_nodes, reading.data.instance_types) == (("n1",), ())


def test_a_volume_that_is_not_in_the_dump_keeps_its_pod(tmp_path: Path):
    bound, plan = readings(tmp_path, node(), pod(volumes=mounting("data")))
    assert (the_pod(plan).pinned, the_pod(bound).pinned) == (True, False)
    assert plan.pinned == bound.dropped == {"volume that is not in the dump": 1}


def test_pods_that_share_a_volume_of_one_node_stay_together(tmp_path: Path):
    pods = [pod(f"p{i}", volumes=mounting("data")) for i in range(2)]
    _, plan = readings(tmp_path, node(), *volume("data", None, accessModes=["ReadWriteOnce"]), *pods)
    assert plan.pinned == {"volume of one node that several pods mount": 2}
    _, plan = readings(tmp_path, node(), *volume("data", None, accessModes=["ReadWriteMany"]), *pods)
    assert not plan.pinned


def test_a_node_takes_so_many_volumes_of_a_driver(tmp_path: Path):
    csi = {
        "kind": "CSINode",
        "metadata": {"name": "n1"},
        "spec": {"drivers": [{"name": "ebs", "allocatable": {"count": 25}}]},
    }
    data = volume("data", None, csi={"driver": "ebs"}, accessModes=["ReadWriteOnce"])
    bound, plan = readings(tmp_path, node(), csi, *data, pod(volumes=mounting("data")))
    assert demand(plan)["volumes of ebs"] == 1
    assert plan.data.nodes[0].capacity["volumes of ebs"] == 25
    assert {t.name: t.capacity["volumes of ebs"] for t in plan.data.instance_types} == {"small": 25, "large": 25}
    assert {t.name: t.capacity["volumes of ebs"] for t in bound.data.instance_types if t.name != "gpus"} == {
        "small": 1e9,
        "large": 25,
    }


# who may move a pod


@pytest.mark.parametrize(
    "annotation",
    [
        {"karpenter.sh/do-not-disrupt": "true"},
        {"karpenter.sh/do-not-disrupt": "4h"},
        {"karpenter.sh/do-not-evict": "true"},
        {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
    ],
)
def test_an_owner_who_forbids_a_move_is_heeded_by_both_readings(annotation: Json, tmp_path: Path):
    for reading in readings(tmp_path, node(), pod(meta={"annotations": annotation})):
        assert (the_pod(reading).pinned, reading.pinned) == (True, {"do-not-disrupt": 1})


@pytest.mark.parametrize(
    "annotation",
    [{"karpenter.sh/do-not-disrupt": "false"}, {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}, {}],
)
def test_and_one_who_does_not_is_not(annotation: Json, tmp_path: Path):
    for reading in readings(tmp_path, node(), pod(meta={"annotations": annotation})):
        assert not the_pod(reading).pinned


def test_a_node_whose_own_annotation_or_daemon_forbids_it_is_kept(tmp_path: Path):
    still = {"karpenter.sh/do-not-disrupt": "true"}
    for reading in readings(tmp_path, node(annotations=still), pod()):
        assert reading.data.nodes[0].keep
    daemon = pod("logs", owner=("DaemonSet", "logs"), meta={"annotations": still})
    for reading in readings(tmp_path, node(), daemon, pod()):
        assert reading.data.nodes[0].keep
        assert reading.pinned == {"do-not-disrupt": 1}


@pytest.mark.parametrize(
    ("budgets", "for_plan", "for_bound"),
    [
        ([budget(0, {"matchLabels": {"app": "web"}})], "disruption budget with none left", True),
        ([budget(0, {})], "disruption budget with none left", True),
        ([budget(1, {"matchLabels": {"app": "web"}})], None, False),
        ([budget(0, {"matchLabels": {"app": "other"}})], None, False),
        ([budget(0, None)], None, False),
        ([budget(1, {}), budget(1, {}, "second")], "two disruption budgets", True),
        ([budget(None, {})], "disruption budget without a status", False),
    ],
)
def test_disruption_budgets(budgets: list[Json], for_plan: str | None, for_bound: bool, tmp_path: Path):
    bound, plan = readings(tmp_path, node(), *budgets, pod())
    assert list(plan.pinned) == ([] if for_plan is None else [for_plan])
    assert (the_pod(plan).pinned, the_pod(bound).pinned) == (for_plan is not None, for_bound)


def test_tools_differ_in_what_they_leave_alone(tmp_path: Path):
    items = [
        node(),
        pod("bare", owner=None),
        pod("dns", meta={"namespace": "kube-system"}),
        pod("cache", volumes=[{"name": "tmp", "emptyDir": {}}]),
    ]
    read = reader(tmp_path, items).read
    assert read("plan").pinned == {"no controller": 1}
    assert read("plan", "karpenter").pinned == {}
    assert read("plan", "ca").pinned == {
        "no controller": 1,
        "kube-system without a disruption budget": 1,
        "local storage": 1,
    }
    assert read("bound").dropped == {"no controller": 1}


def test_a_reason_that_is_not_heeded_frees_its_pods(tmp_path: Path):
    read = reader(tmp_path, [node(), pod("bare", owner=None)]).read
    assert not the_pod(read("plan", free_of=["no controller"])).pinned


def test_claims_of_devices_are_not_understood(tmp_path: Path):
    bound, plan = readings(tmp_path, node(), pod(resourceClaims=[{"name": "gpu"}]))
    assert plan.pinned == bound.dropped == {"resource claims (DRA)": 1}


def test_priority_and_deletion_cost_weigh_an_eviction(tmp_path: Path):
    cost = {"annotations": {"controller.kubernetes.io/pod-deletion-cost": str(2**27)}}
    items = [pod("a", meta=cost, owner=("Job", "a")), pod("b", priority=2**25, owner=("Job", "b"))]
    items += [pod("c", priority=2**31 - 1, owner=("Job", "c")), pod("d", owner=("Job", "d"))]
    _, plan = readings(tmp_path, node(), *items)
    assert [p.eviction_cost for p in plan.data.pods] == [2, 2, 10, 1]


# other resources


def test_gpus_are_those_of_the_table_or_what_nodes_of_the_type_show(tmp_path: Path):
    requests = {"cpu": "1", "nvidia.com/gpu": "1"}
    _, plan = readings(tmp_path, node("n1", "gpus", room={"nvidia.com/gpu": "8"}), pod(requests=requests))
    gives = {t.name: t.capacity["nvidia.com/gpu"] for t in plan.data.instance_types}
    assert gives == {"small": 0, "large": 0, "gpus": 8}, "shared in time: more than there are"
    other = node("n1", "other", room={"nvidia.com/gpu": "8"})
    _, plan = readings(tmp_path, other, pod(requests=requests))
    assert [t.capacity["nvidia.com/gpu"] for t in plan.data.instance_types] == [0, 0, 4]


def test_gpus_come_in_pools_whose_nodes_have_them(tmp_path: Path):
    plain, with_gpus = ({"karpenter.sh/nodepool": name} for name in ("plain", "gpus"))
    taint = {"key": "nvidia.com/gpu", "value": "", "effect": "NoSchedule"}
    there = [
        node("n1", labels=plain),
        node("n2", "gpus", labels=with_gpus, room={"nvidia.com/gpu": "4"}, taints=[taint]),
    ]
    asks = pod(on="n2", requests={"nvidia.com/gpu": "1"}, tolerations=[{"operator": "Exists"}])
    _, plan = readings(tmp_path, *there, asks, pod("q"))
    gives = {t.name: t.capacity["nvidia.com/gpu"] for t in plan.data.instance_types}
    assert gives == {"large of plain": 0, "gpus of gpus": 4}


def test_of_a_resource_that_nobody_knows_a_new_node_has_nothing_or_all_that_is_wanted(tmp_path: Path):
    requests = {"cpu": "1", "example.com/fpga": "1", "ephemeral-storage": "10Gi"}
    there = node(room={"example.com/fpga": "2", "ephemeral-storage": "100Gi"})
    bound, plan = readings(tmp_path, there, pod(requests=requests))
    assert plan.data.nodes[0].capacity["ephemeral-storage_mib"] == 102400
    assert [t.name for t in plan.data.instance_types if t.capacity["example.com/fpga"]] == ["large"]
    assert {t.capacity["example.com/fpga"] for t in bound.data.instance_types} == {1e9, 2}


def test_a_column_of_the_table_says_how_much_of_a_resource_there_is(tmp_path: Path):
    types = "name,family,usd_per_hour,cpu,ram_gb,pods,gpu,example.com/fpga\nbox,b,1,8,16,50,0,3\n"
    _, plan = readings(
        tmp_path, node(room={"example.com/fpga": "1"}), pod(requests={"example.com/fpga": "1"}), types=types
    )
    assert [t.capacity["example.com/fpga"] for t in plan.data.instance_types] == [3]
