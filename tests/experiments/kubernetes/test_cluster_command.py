"""Test `gapwise cluster` on small clusters, and its messages for invalid dumps and tables."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from experiments.kubernetes.cluster import evictions_of
from experiments.kubernetes.drains import carry_out
from experiments.kubernetes.reach import reachable, state_of
from instances import InputError, load
from instances.kubernetes import cluster_arrays
from models.kubernetes import exact_consolidation
from tests.commands import call
from tests.kubernetes_dumps import TYPES, ZONE, Json, beside, budget, listed, node, pod, readings, spread

KEYS = {
    *("bill_usd_per_hour", "least_usd_per_hour", "bound_usd_per_hour", "status", "reachable_usd_per_hour"),
    *("nodes", "steps", "frontier", "rules", "pinned", "dropped"),
}


def two_nodes(**more: Any) -> list[Json]:
    """Two nodes that are each a tenth full: one is enough, and one of a cheaper type."""
    return [node("n1"), node("n2"), pod("p1", on="n1", **more), pod("p2", on="n2", **more)]


def write(folder: Path, items: list[Json], types: str = TYPES) -> tuple[Path, str, Path]:
    (folder / "dump.json").write_text(json.dumps(listed(*items)))
    (folder / "types.csv").write_text(types)
    return folder / "dump.json", "--types", folder / "types.csv"


def answered(*arguments: object, status: int = 0) -> Json:
    done = call("cluster", *arguments, "--format", "json", "--quiet")
    assert done.returncode == status, done.stderr
    (line,) = done.stdout.splitlines()
    found: Json = json.loads(line)
    return found


def test_two_nodes_of_which_a_smaller_one_is_enough(tmp_path: Path, both_kinds: None):
    found = answered(*write(tmp_path, two_nodes()), "--rules", "karpenter-1.14", "--out", tmp_path / "out")
    assert set(found) >= KEYS
    assert found["bill_usd_per_hour"] == 0.8
    assert found["least_usd_per_hour"] == found["bound_usd_per_hour"] == found["reachable_usd_per_hour"] == 0.1
    assert (found["status"], found["evictions"], found["orders_with_pending_pods"]) == ("optimal", 2, 0)
    assert found["nodes"] == {"today": 2, "kept": 0, "drained": 2, "rented": 1, "unpriced": []}
    rent, *drains = found["steps"]
    assert (rent["rent"], rent["usd_per_hour"]) == ({"small": 1}, 0.9)
    assert {step["drain"] for step in drains} == {"n1", "n2"}
    assert [step["usd_per_hour"] for step in drains] == [0.5, 0.1]
    (rule,) = found["rules"]
    assert rule["usd_per_hour"] >= found["bound_usd_per_hour"]
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"cluster.json", "cluster.svg", "cluster.pdf", "bound.json", "plan.json"} <= made
    assert json.loads((tmp_path / "out" / "cluster.json").read_text()) == found
    assert load(tmp_path / "out" / "plan.json").problem == "node-consolidation"


def test_the_answer_in_words_and_the_plan_in_a_file(tmp_path: Path):
    arguments = write(tmp_path, two_nodes()), "--rules", "kube-least", "--plan", tmp_path / "plan.csv"
    done = call("cluster", *arguments[0], *arguments[1:])
    assert done.returncode == 0, done.stderr
    said = done.stdout
    rows = [" ".join(line.split()) for line in said.splitlines()]
    assert "today 0.8000 584 - - - - 2 nodes with 2 pods" in rows
    assert any(row.startswith("this plan 0.1000 73 87.5% 2 - - in 0 of 40 random orders a pod") for row in rows)
    assert "lower bound 0.1000 73 87.5% - - - proven for any plan" in rows
    assert "\nrent 1 x small\n" in said
    assert len(rows) <= 17
    rows = list(csv.DictReader((tmp_path / "plan.csv").open()))
    assert [row["rent"] for row in rows] == ["1 x small", "", ""]
    assert call("cluster", *arguments[0], "--rules", "kube-least", "--plan", tmp_path / "plan.json").returncode == 0
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert sorted(plan["first"].split()) == ["cordon", "kubectl", "n1", "n2"], "no pod is to come to either"
    steps = plan["steps"]
    assert (
        steps[1]["command"]
        == f"kubectl drain {steps[1]['drain']} --ignore-daemonsets --delete-emptydir-data --timeout=600s"
    )


def test_a_plan_that_directs_pods_is_told_with_the_places_that_are_uncordoned(tmp_path: Path):
    """Of c the pod of 4 CPUs has to go to a, that of 3 to b; kube-scheduler alone would send that of 3 to a."""
    items = [node("a"), node("b"), node("c"), node("off", unschedulable=True), pod("off", on="off", cpu="8")]
    items += [
        pod("of-a", on="a", cpu="4"),
        pod("of-b", on="b", cpu="5"),
        pod("3", on="c", cpu="3"),
        pod("4", on="c", cpu="4"),
    ]
    types = TYPES.replace("large,l,0.4,8", "large,l,0.4,2").replace("gpus,g,3,8", "gpus,g,3,2")  # too small to rent
    arguments = [*write(tmp_path, items, types), "--rules", "kube-least", "--plan", tmp_path / "plan.json"]
    done = call("cluster", *arguments)
    assert "cordon all nodes, and drain, with those alone uncordoned in turn, in this order, c (b then a)" in " ".join(
        done.stdout.split()
    )
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["first"] == "kubectl cordon a b c"
    (step,) = plan["steps"]
    assert (step["drain"], step["onto"], step["evictions"]) == ("c", ["b", "a"], 2)
    assert step["commands"] == ["kubectl uncordon b", step["command"], "kubectl uncordon a", "kubectl cordon b a"]
    assert plan["last"] == "kubectl uncordon a b", "what was cordoned before stays so"
    assert answered(*arguments)["orders_with_pending_pods"] == 0


def test_with_few_evictions_one_node_is_drained(tmp_path: Path):
    found = answered(*write(tmp_path, two_nodes()), "--rules", "kube-least", "--max-evictions", "1")
    assert (found["reachable_usd_per_hour"], found["evictions"], found["bound_usd_per_hour"]) == (0.4, 1, 0.1)
    found = answered(*write(tmp_path, two_nodes()), "--rules", "kube-least", "--max-evictions", "0%")
    assert (found["reachable_usd_per_hour"], found["steps"]) == (0.8, [])


def test_a_pin_is_told_with_what_it_costs(tmp_path: Path):
    items = [*two_nodes(), pod("bare", owner=None, on="n1")]
    found = answered(*write(tmp_path, items), "--rules", "kube-least")
    assert (found["least_usd_per_hour"], found["bound_usd_per_hour"]) == (0.4, 0.2)
    (pin,) = found["pinned"]
    assert pin == {"reason": "no controller", "pods": 1, "usd_per_hour": pytest.approx(0.2), "proven": True}
    assert found["dropped"] == [{"reason": "no controller", "pods": 1}]


def test_a_node_without_a_price_is_kept_and_the_status_is_3(tmp_path: Path):
    items = [*two_nodes(), node("own", "metal", zone="b"), pod("p3", on="own")]
    found = answered(*write(tmp_path, items), "--rules", "kube-least", status=3)
    assert found["nodes"]["unpriced"] == [{"type": "metal", "zone": "b", "capacity_type": "on-demand", "nodes": 1}]
    assert (found["bill_usd_per_hour"], found["reachable_usd_per_hour"]) == (0.8, 0.0), "own has room for all"
    done = call("cluster", *write(tmp_path, items), "--rules", "kube-least")
    assert "not counted, because no row of the table has a price: 1 x metal in b, on-demand" in done.stdout
    assert done.returncode == 3


def test_a_rule_that_fails_is_told_and_the_status_is_1(tmp_path: Path):
    done = call("cluster", *write(tmp_path, two_nodes()), "--rules", "tests.user_heuristics:raises")
    assert done.returncode == 1
    assert re.search(r"tests.user_heuristics:raises[ -]* no answer: ", done.stdout)
    assert "this plan 0.1000 73 87.5%" in " ".join(done.stdout.split())


def test_an_anonymous_answer_has_no_name_of_the_cluster(tmp_path: Path):
    secret = "zzz-secret"
    items = [node(f"{secret}-{i}", zone=f"{secret}-zone-{i}", labels={"pool": secret}) for i in range(2)]
    data = {"env": [{"name": secret, "value": secret}], "args": [secret]}
    for i in range(2):
        meta = {"namespace": secret, "labels": {secret: secret}, "annotations": {secret: secret}}
        held = pod(f"{secret}-{i}", on=f"{secret}-{i}", meta=meta, owner=("ReplicaSet", secret))
        held["spec"]["containers"][0] |= data
        items.append(held)
    items[2]["spec"]["containers"][0]["resources"]["requests"][f"{secret}/fpga"] = "0"
    arguments = [*write(tmp_path, items), "--rules", "kube-least", "--plan", tmp_path / "plan.json"]
    done = call("cluster", *arguments, "--anonymous", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    written = [path.read_bytes() for path in [*(tmp_path / "out").iterdir(), tmp_path / "plan.json"]]
    assert not [text for text in [done.stdout.encode(), done.stderr.encode(), *written] if secret.encode() in text]
    assert {n.name for n in load(tmp_path / "out" / "plan.json").data.nodes} == {"node-1", "node-2"}
    assert call("cluster", *arguments).returncode == 0
    assert secret in (tmp_path / "plan.json").read_text()


@pytest.mark.parametrize("packed", [False, True])
def test_several_files_lists_in_a_list_and_entries_without_a_kind(packed: bool, tmp_path: Path):
    nodes = {"kind": "List", "items": [listed(node("n1")), node("n2")]}
    pods: Json = {"kind": "PodList", "items": [pod("p1", on="n1"), pod("p2", on="n2")]}
    for item in pods["items"]:
        del item["kind"]
    paths = []
    for name, content in (("nodes.json", nodes), ("pods.json", pods)):
        raw = json.dumps(content).encode()
        paths.append(tmp_path / (f"{name}.gz" if packed else name))
        paths[-1].write_bytes(gzip.compress(raw) if packed else raw)
    (tmp_path / "types.csv").write_text(TYPES)
    found = answered(*paths, "--types", tmp_path / "types.csv", "--rules", "kube-least")
    assert (found["nodes"]["today"], found["bill_usd_per_hour"], found["reachable_usd_per_hour"]) == (2, 0.8, 0.1)


def odd(item: Json, path: str, value: Any) -> list[Json]:
    """Two nodes and pods, one of which has something else at a place."""
    *names, last = path.split(".")
    inner: Any = item
    for name in names:
        inner = inner[int(name) if name.isdigit() else name]
    inner[last] = value
    return [node("n1"), node("n2"), item] if item["kind"] == "Pod" else [item, pod()]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apiVersion: v1\nkind: List\n", r"dump.json: is YAML; a dump is JSON: kubectl get nodes,pods,"),
        ("---\nkind: Node\n", r"dump.json: is YAML"),
        ("NAME  READY  STATUS\nweb  1/1  Running\n", r"dump.json: not valid JSON: Expecting value.*kubectl get nodes"),
        ("", r"dump.json: not valid JSON"),
        ('{"kind": "List", "items": [', r"dump.json: not valid JSON"),
        ("[]", r"dump.json: file: must be an object of Kubernetes, got \[\]"),
        ("7", r"dump.json: file: must be an object of Kubernetes, got 7"),
        ("{}", r"dump.json: no node in it; it is made by kubectl get nodes,pods,"),
        (listed(pod()), r"dump.json: no node in it"),
        (listed(node()), r"dump.json: no pod in it"),
        ({"kind": "List", "items": 5}, r"dump.json: items: must be a list, got 5"),
        ({"kind": "List", "items": ["Pod"]}, r"dump.json: items\[0\]: must be an object of Kubernetes, got \"Pod\""),
        (listed(node(), pod(), pod()), r"dump.json: items\[2\]: default/p is there twice"),
        (
            listed(node(), pod(cpu="1 CPU")),
            r"items\[1\].spec.containers\[0\].resources.requests.cpu: must be a quantity",
        ),
        (listed(node(), pod(cpu="-1")), r"requests.cpu: must be >= 0, got '-1'"),
        (
            listed(node(), pod(cpu="9" * 1_000_000)),
            r"requests.cpu: must be a quantity of at most 64 characters, got '9+",
        ),
        (listed(node(), pod("x" * 1_000_000)), r"items\[1\].metadata.name: must be a text of at most 316 characters"),
        (
            listed(*odd(pod(), "spec.containers", {"a": 1})),
            r"items\[2\].spec.containers: must be a list, got \{'a': 1\}",
        ),
        (listed(*odd(pod(), "spec", [])), r"items\[2\].spec: must be an object, got \[\]"),
        (
            listed(*odd(pod(), "spec.priority", "high")),
            r"items\[2\].spec.priority: must be a whole number, got \"high\"",
        ),
        (listed(*odd(pod(), "metadata.labels", {"app": 1})), r"items\[2\].metadata.labels.app: must be a text, got 1"),
        (
            listed(*odd(node(), "spec", {"unschedulable": "yes"})),
            r"items\[0\].spec.unschedulable: must be true or false",
        ),
        (listed(*odd(node(), "metadata", {})), r"items\[0\].metadata.name: must be a name, got None"),
    ],
)
def test_what_is_no_dump_is_told_so_in_one_line(text: Any, said: str, tmp_path: Path):
    (tmp_path / "dump.json").write_text(text if isinstance(text, str) else json.dumps(text))
    (tmp_path / "types.csv").write_text(TYPES)
    done = call("cluster", tmp_path / "dump.json", "--types", tmp_path / "types.csv")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert re.search(said, line), line
    assert len(line) < 900


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ("name,usd_per_hour\na,1\n", "missing column cpu"),
        (TYPES.replace("0.1", "free"), "line 2: usd_per_hour: must be 1e-09 to 1e+09, got free"),
        (TYPES.replace("0.1", "0"), "line 2: usd_per_hour: must be 1e-09 to 1e+09, got 0.0"),
        (TYPES.replace("0.1", "1e-10"), "line 2: usd_per_hour: must be 1e-09 to 1e+09, got 1e-10"),
        (TYPES.replace("2,4", "-2,4"), "line 2: cpu: must be 0 to 1e+09, got -2"),
        (TYPES.replace("2,4", "inf,4"), "line 2: cpu: must be 0 to 1e+09, got inf"),
        (TYPES + "small,s,1,1,1,1,0\n", "line 5: small is there twice"),
        (TYPES.replace("small", ""), "line 2: name: missing"),
        (TYPES.replace("gpu\n", "gpus\n", 1), "unknown column gpus"),
        (TYPES.replace("gpu\n", "gpu,speed\n", 1), "unknown column speed"),
        (TYPES.splitlines()[0] + "\n", "no row"),
    ],
)
def test_what_is_no_table_of_types_is_told_so_in_one_line(types: str, said: str, tmp_path: Path):
    done = call("cluster", *write(tmp_path, two_nodes(), types))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gapwise: {tmp_path / 'types.csv'}: {said}\n"


def test_flags_that_say_nothing_are_told_so(tmp_path: Path):
    arguments = write(tmp_path, two_nodes())
    for more, said in (
        (("--max-evictions", "many"), "--max-evictions: must be a number of pods, or a share of them such as 10%"),
        (("--max-evictions", "110%"), "--max-evictions: must be a number"),
        (("--rules", "karpenter-1.15"), "karpenter-1.14"),
        (("--plan", tmp_path / "plan.txt"), "a plan is written as .json or .csv"),
    ):
        done = call("cluster", *arguments, *more)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert said in done.stderr


@pytest.mark.parametrize(
    ("said", "number"), [(None, None), ("10%", 14), ("100%", 140), ("7", 7), ("1000", 140), ("0", 0)]
)
def test_evictions_are_a_number_of_pods_or_a_share_rounded_down(said: str | None, number: int | None):
    assert evictions_of(said, 140) == number
    with pytest.raises(InputError, match="--max-evictions"):
        evictions_of("-1", 140)


@pytest.mark.parametrize(
    "items",
    [
        [node("n1", "metal"), pod()],  # of no known type
        [node("n1", labels={"node.kubernetes.io/instance-type": None}), pod()],
        [node("n1"), pod(containers=[{"name": "main"}])],  # no requests
        [node("n1"), pod("waits", on=None), pod()],
        [node("n1"), pod("huge", on=None, cpu="1k"), pod()],
        [node("n1"), pod(cpu="0.5", memory="129M")],
        [node("n1"), pod(cpu="1e0", memory="128974848")],
        [node("n1"), pod(status={"phase": "Succeeded"})],  # nothing runs
        [node("n1"), pod(owner=("Node", "n1"))],
        [node("n1", unschedulable=True), node("n2", ready="False"), pod()],
        [node("n1"), pod(cpu="20")],  # more than there is room for
        [node("n1"), pod(on="gone")],
        [node("n1", room={"pods": None}), pod()],
        [node("n1"), budget(0, {}), pod(affinity=beside("podAffinity", ZONE), topologySpreadConstraints=spread())],
        [node("n1", spec=None), pod(nodeSelector=None, affinity=None, tolerations=None, volumes=None)],
    ],
)
def test_odd_dumps_are_answered(items: list[Json], tmp_path: Path):
    """By what the command is made of; a command runs in several processes, and there are many dumps."""
    for reading in readings(tmp_path, *items):
        found = exact_consolidation(reading.data)
        assert found.status == "optimal"
        arrays = cluster_arrays(reading.data)
        plan = reachable(arrays, [state_of(arrays, found.solution)], seed=0, work=10**6)
        assert arrays.usd(plan.bill(arrays)) >= found.bound
        assert carry_out(arrays, plan, seed=0).orders <= 5
