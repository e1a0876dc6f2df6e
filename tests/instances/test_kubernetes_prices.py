"""Test prices of the catalogue and of tables, the room of types without a node, and what limits new nodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from instances import InputError
from instances.eva.price_lists import price_list
from instances.kubernetes.allocatable import GIB, default_room, estimate_room
from instances.kubernetes.catalogue import CLOUDS, find_prices, read_catalogue
from instances.kubernetes.dump import COLLECT, COMMAND, read_dump
from instances.kubernetes.facts import Facts
from instances.kubernetes.readings import Reader
from tests.kubernetes_dumps import Json, listed, node, pod, prices, reader, readings

POOL, REGION = "karpenter.sh/nodepool", "topology.kubernetes.io/region"
FEW = "name,usd_per_hour,cpu,ram_gb\n"


def node_pool(name: str = "default", requirements: tuple[Json, ...] = (), **spec: object) -> Json:
    template = {"spec": {"requirements": list(requirements)}}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


def dumped(folder: Path, *items: Json) -> Path:
    (folder / "dump.json").write_text(json.dumps(listed(*items)))
    return folder / "dump.json"


def offered(folder: Path, types: str, *items: Json) -> dict[str, int | None]:
    """Return the types of the plan with the largest number of new nodes."""
    return {kind.name: kind.max_new for kind in readings(folder, *items, types=types)[1].data.instance_types}


# the catalogue


@pytest.mark.parametrize(
    ("place", "type", "usd"),
    [
        ("aws/us-east-1", "m6i.large", 0.096),
        ("gcp/us-central1", "n2-standard-4", 0.194236),
        ("azure/eastus", "Standard_D4s_v5", 0.192),
    ],
)
def test_a_region_has_the_prices_of_its_source(place: str, type: str, usd: float):
    (offer,) = [offer for offer in read_catalogue(place, ()) if offer.type == type]
    assert (offer.usd_per_hour, offer.capacity_type, offer.arch) == (usd, "on-demand", "amd64")


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_price_of_a_cloud_is_positive_and_every_room_smaller_than_its_machine(cloud: str):
    region = {"aws": "us-east-1", "gcp": "us-central1", "azure": "eastus"}[cloud]
    offers = read_catalogue(f"{cloud}/{region}", ())
    assert len(offers) > 20
    for offer in offers:
        assert offer.size is not None
        assert offer.usd_per_hour > 0
        assert 0 <= offer.room["cpu"] < offer.size["cpu"]
        assert 0 <= offer.room["memory"] <= offer.size["memory"] * 0.925


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("aws", "must be CLOUD/REGION"),
        ("oci/phoenix", "must be CLOUD/REGION with a cloud of aws, gcp, azure"),
        ("aws/mars-1", "no such region of aws; it has us-east-1"),
        ("azure/eastus/spot", "no such region of azure; it has eastus"),
        ("aws/cpu", "no such region of aws"),
        ("gcp/us-central1", "the nodes are in us-east-1; give their prices with --types FILE.csv"),
    ],
)
def test_a_place_that_is_not_there_is_one_line(tmp_path: Path, place: str, said: str):
    dump = read_dump([dumped(tmp_path, node(labels={REGION: "us-east-1"}), pod())])
    with pytest.raises(InputError, match=said) as raised:
        find_prices(None, place, dump.nodes.values())
    assert "\n" not in str(raised.value)


def test_without_any_prices_the_line_names_both_flags():
    with pytest.raises(
        InputError, match=r"give prices: --prices CLOUD/REGION, such as aws/us-east-1, or --types FILE.csv"
    ):
        find_prices(None, None, ())


def test_the_table_adds_and_overrides(tmp_path: Path):
    (tmp_path / "types.csv").write_text(FEW + "m6i.large,0.05,1.9,7\nmine,1,4,16\n")
    found = find_prices(tmp_path / "types.csv", "aws/us-east-1", ())
    assert found.closest("m6i.large", "on-demand", None, None).usd_per_hour == 0.05
    assert found.closest("m6i.xlarge", "on-demand", None, None).usd_per_hour == 0.192
    assert found.closest("mine", "on-demand", None, None) is not None


def test_a_type_that_runs_has_the_room_of_its_nodes_and_another_an_estimate(tmp_path: Path):
    labels = {POOL: "default"}
    room = {"cpu": "1900m", "memory": "6Gi", "pods": "29", "ephemeral-storage": "50Gi"}
    items = [node("n1", "m6i.large", labels=labels, room=room), pod(requests={"cpu": "1", "ephemeral-storage": "1Gi"})]
    wanted = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m6i.large", "m6i.2xlarge"]}
    dump = read_dump([dumped(tmp_path, *items, node_pool(requirements=(wanted,)))])
    read = Reader(Facts(dump), find_prices(None, "aws/us-east-1", dump.nodes.values())).read
    plan = {kind.name.split()[0]: kind.capacity for kind in read("plan").data.instance_types}
    assert plan["m6i.large"] == {"cpu_milli": 1900, "memory_mib": 6144, "pods": 29, "ephemeral-storage_mib": 51200}
    estimated = estimate_room("aws", 8, 32)
    assert plan["m6i.2xlarge"]["cpu_milli"] == estimated["cpu"] == 7910
    assert (plan["m6i.2xlarge"]["pods"], plan["m6i.2xlarge"]["ephemeral-storage_mib"]) == (29, 51200), "the pool's"
    bound = {kind.name: kind.capacity for kind in read("bound").data.instance_types}
    assert set(bound) == {"m6i.large", "m6i.2xlarge"}, "no pool may have another type of the catalogue"
    assert (bound["m6i.2xlarge"]["cpu_milli"], bound["m6i.2xlarge"]["memory_mib"]) == (8000, 32768)


def test_estimates_follow_the_formulas_of_the_providers():
    assert estimate_room("aws", 4, 16)["memory"] == (int(16 * 1024 * 0.925) - 255 - 11 * 110 - 100) * 2**20
    kept = 0.25 * 4096 + 0.2 * 4096 + 0.1 * (15155 - 8192)
    assert estimate_room("gcp", 4, 16)["memory"] == pytest.approx((15155 - kept - 100) * 2**20, abs=2**20)
    assert estimate_room("azure", 8, 32)["cpu"] == 7820
    assert default_room("aws")["ephemeral-storage"] == 17 * GIB
    kinds = {kind.name: kind.capacity for kind in price_list(5, 0, cloud="gke").data.instance_types}
    assert kinds["n2-standard-4"]["cpu_milli"] == estimate_room("gcp", 4, 16)["cpu"]


# the table


def test_four_columns_are_enough(tmp_path: Path):
    offer, other = prices(tmp_path, FEW + "m6i.large,0.1,2,4\ne2-standard-2,0.2,2,4\n").offers
    assert (offer.family, other.family) == ("m6i", "e2-standard")
    assert offer.room == {"cpu": 2000, "memory": 4 * GIB, "gpu": 0}
    items = [node("n1", "m6i.large", room={"pods": "29"}), pod()]
    (_, plan) = readings(tmp_path, *items, types=FEW + "m6i.large,0.1,2,4\ncheap,0.01,2,4\n")
    pods = {kind.name: kind.capacity["pods"] for kind in plan.data.instance_types}
    assert pods == {"m6i.large": 29, "cheap": 29}, "of nodes of the type, else of the pool"


def test_optional_columns(tmp_path: Path):
    types = (
        "name,usd_per_hour,cpu,ram_gb,max_new,ephemeral_storage_gb,pods\nlarge,0.4,8,16,2,80,\ncheap,0.1,8,16,,,110\n"
    )
    large, cheap = prices(tmp_path, types).offers
    assert (large.max_new, large.room["ephemeral-storage"]) == (2, 80 * GIB)
    assert "pods" not in large.room
    assert (cheap.max_new, cheap.room["pods"]) == (None, 110)
    assert offered(tmp_path, types.replace(",0.1,", ",0.9,"), node(), pod()) == {"large": 2, "cheap": None}
    assert offered(tmp_path, types.replace("16,2,", "16,0,"), node(), pod()) == {"cheap": None}


def test_a_limit_of_a_row_holds_for_all_zones_together(tmp_path: Path):
    types = FEW.replace("ram_gb", "ram_gb,max_new") + "large,0.4,8,16,3\n"
    items = [node("n1", zone="a"), node("n2", zone="b"), pod(), pod("p2", on="n2")]
    kinds = list(readings(tmp_path, *items, types=types)[1].offerings.values())
    assert len(kinds) == 2
    assert kinds[0].limits == kinds[1].limits
    assert list(kinds[0].limits.values()) == [(3, 1)]


def test_machines_are_priced_by_name_or_label_and_not_rented(tmp_path: Path):
    types = FEW + "rack-1,0.5,8,16\nexample.com/machine=dl380,0.7,8,16\n"
    items = [node("rack-1"), node("rack-2", labels={"example.com/machine": "dl380"}), node("rack-3"), pod(on="rack-1")]
    for item in items[:3]:
        del item["metadata"]["labels"]["node.kubernetes.io/instance-type"]
    _, plan = readings(tmp_path, *items, types=types)
    assert [n.usd_per_hour for n in plan.data.nodes] == [0.5, 0.7, None]
    assert not plan.data.instance_types
    assert not plan.not_rented
    more = (
        types.replace("ram_gb\n", "ram_gb,max_new\n").replace("8,16\nex", "8,16,\nex").replace("0.7,8,16", "0.7,8,16,2")
    )
    assert set(offered(tmp_path, more, *items).values()) == {2}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("x,0.1,100m,4", "line 2: cpu: must be a number without a unit: CPUs, such as 3.92, got 100m"),
        ("x,0.1,2,1Ti", "line 2: ram_gb: must be a number without a unit: GiB, such as 14.6, got 1Ti"),
        ("x,0.1,2,0.5Gi", "line 2: ram_gb: must be a number without a unit: GiB, such as 14.6, got 0.5Gi"),
        ("x,USD 1,2,4", "line 2: usd_per_hour: must be 1e-09 to 1e+09, got USD 1"),
        (",0.1,2,4", "line 2: name: missing"),
    ],
)
def test_a_wrong_cell_is_one_line(tmp_path: Path, row: str, said: str):
    with pytest.raises(InputError) as raised:
        prices(tmp_path, FEW + row + "\n")
    assert str(raised.value).endswith(said)
    assert prices(tmp_path, FEW + "x,1e-1,1e3,4\n").offers[0].room["cpu"] == 10**6


def test_a_table_of_another_region_is_refused(tmp_path: Path):
    (tmp_path / "types.csv").write_text(FEW.replace("ram_gb", "ram_gb,zone") + "large,1,8,16,eu-1a\n")
    dump = read_dump([dumped(tmp_path, node(zone="us-1a"), pod())])
    with pytest.raises(InputError, match=r"all rows are for eu-1a, but the nodes are in us-1a"):
        find_prices(tmp_path / "types.csv", None, dump.nodes.values())


# the dump


def test_units_of_kubernetes_are_read(tmp_path: Path):
    room = {"cpu": "1e3", "memory": "1Ti", "pods": "50"}
    (tmp_path / "a").mkdir()
    _, plan = readings(tmp_path / "a", node(room=room), pod(cpu="100m", memory="0.5Gi"))
    assert plan.data.nodes[0].capacity == {"cpu_milli": 1e6, "memory_mib": 2**20, "pods": 50}
    assert plan.data.pods[0].demand == {"cpu_milli": 100, "memory_mib": 512, "pods": 1}
    with pytest.raises(
        InputError, match=r"dump.json: items\[0\].status.allocatable.cpu: must be a quantity .*, got '1x'"
    ):
        readings(tmp_path, node(room={"cpu": "1x"}), pod())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"apiVersion": "v2", "kind": "List", "items": []}', "apiVersion: must be a List in version v1, got .v2"),
        (
            '{"kind": "List", "items": [{"apiVersion": "v7", "kind": "Pod"}]}',
            r"items\[0\].apiVersion: must be Pod in version v1",
        ),
        ("apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: No", f"is YAML; a dump is JSON: {COMMAND}"),
        ("- apiVersion: v1\n  kind: No", f"is YAML; a dump is JSON: {COMMAND}"),
        ('{"kind": "List", "items": [', f"not valid JSON: .*; a dump is made by {COMMAND}"),
        ('{"kind": "List", "items": []}', "no node in it"),
        ('{"kind": "NodeList", "items": []}', "no node in it"),
    ],
)
def test_a_file_that_is_no_dump_is_one_line(tmp_path: Path, text: str, said: str):
    (tmp_path / "dump.json").write_text(text)
    with pytest.raises(InputError, match=said) as raised:
        read_dump([tmp_path / "dump.json"])
    assert "\n" not in str(raised.value)


def test_the_kinds_of_other_apis_are_ignored(tmp_path: Path):
    other = {"apiVersion": "longhorn.io/v1beta2", "kind": "Node", "metadata": {"name": "n1"}}
    assert list(read_dump([dumped(tmp_path, node(), pod(), other)]).nodes) == ["n1"]


def test_node_claims_in_flight_take_from_the_limits(tmp_path: Path):
    def claim(name: str, node: str) -> Json:
        status = {"nodeName": node, "capacity": {"cpu": "8"}}
        meta = {"name": name, "labels": {POOL: "default"}}
        return {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": meta, "status": status}

    running = node(labels={POOL: "default"})
    running["status"]["capacity"] = {"cpu": "8"}
    items = [running, pod(), node_pool(limits={"cpu": "32"})]
    assert offered(tmp_path, FEW + "large,1,8,16\n", *items) == {"large": 3}
    items += [claim("joined", "n1"), claim("ordered", "")]
    assert offered(tmp_path, FEW + "large,1,8,16\n", *items) == {"large": 2}


@pytest.mark.parametrize("group", ["cluster.x-k8s.io", "machine.openshift.io"])
def test_machine_sets_limit_their_nodes(tmp_path: Path, group: str):
    key = f"{group}/cluster-api-autoscaler-node-group-max-size"
    made = {
        "apiVersion": f"{group}/v1beta1",
        "kind": "MachineSet",
        "metadata": {"name": "workers", "namespace": "infra", "annotations": {key: "5"}},
        "spec": {"replicas": 2},
    }
    notes = {"cluster.x-k8s.io/owner-kind": "MachineSet", "cluster.x-k8s.io/owner-name": "workers"}
    if group.startswith("machine"):
        notes = {"machine.openshift.io/machine": "infra/workers-x7k2p"}
    items = [node(annotations=notes), pod(), made]
    assert offered(tmp_path, FEW + "large,1,8,16\nother,0.1,8,16\n", *items) == {"large": 3}
    del made["metadata"]["annotations"]
    assert offered(tmp_path, FEW + "large,1,8,16\nother,0.1,8,16\n", *items) == {"large": None}
    made["metadata"]["annotations"] = {key: "many"}
    with pytest.raises(InputError, match="must be a number of machines"):
        offered(tmp_path, FEW, *items)


def test_types_under_the_same_limit_are_compared(tmp_path: Path):
    """A type that costs more, holds less and takes more of the limit of its NodePool is not needed."""
    items = [node(labels={POOL: "default"}), pod(), node_pool(limits={"cpu": "64"})]
    assert set(offered(tmp_path, FEW + "a,1,8,16\nb,2,8,15\n", *items)) == {"a"}
    assert reader(tmp_path, items, FEW + "a,1,8,16\n").read("bound").data.instance_types


def test_the_command_that_makes_a_dump_names_all_kinds_that_are_read():
    assert COLLECT.startswith("kubectl get nodes,pods,")
    for kind in (
        "daemonsets",
        "pdb",
        "nodepools.karpenter.sh",
        "nodeclaims.karpenter.sh",
        "machinesets.cluster.x-k8s.io",
    ):
        assert kind in COLLECT
