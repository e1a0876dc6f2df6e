"""Test prices without a table, the ticket, the comparison with an earlier answer, and the exit status for cron."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.kubernetes.cluster import share_of
from experiments.kubernetes.drains import DrainPlan
from experiments.kubernetes.pool_table import pool_cells, sum_up_pools
from experiments.kubernetes.reach import reachable
from experiments.kubernetes.since import compare, difference_lines, read_answer
from instances import InputError
from instances.kubernetes import cluster_arrays, shrunk_cluster
from tests.commands import call
from tests.kubernetes_dumps import Json, budget, listed, node, pod, reader

SECRET = "hunter2"
REGION = {"topology.kubernetes.io/region": "us-east-1"}


def eks(folder: Path) -> Path:
    """Write a dump of three nodes of a node group that are each a tenth full, with secrets where a dump has them."""
    labels = {"eks.amazonaws.com/nodegroup": "base", "kubernetes.io/arch": "amd64", **REGION}
    room = {"cpu": "3920m", "memory": "14Gi", "pods": "58"}
    items = [node(f"n{i}", "m6i.xlarge", labels=labels, room=room, annotations={"token": SECRET}) for i in range(3)]
    data = {"env": [{"name": "PASSWORD", "value": SECRET}], "args": [f"--token={SECRET}"], "command": [SECRET]}
    for i in range(3):
        item = pod(f"p{i}", on=f"n{i}", cpu="400m", meta={"annotations": {"secret": SECRET}, "labels": {"app": "web"}})
        item["spec"]["containers"][0] |= data
        items.append(item)
    items += [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": SECRET}}]
    items += [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s"}, "data": {"password": SECRET}}]
    items += [budget(1, {"matchLabels": {"app": "web"}})]
    (folder / "dump.json").write_text(json.dumps(listed(*items)))
    return folder / "dump.json"


def test_from_a_dump_to_a_ticket_without_a_table_of_prices(tmp_path: Path):
    arguments = [eks(tmp_path), "--prices", "aws/us-east-1", "--rules", "kube-least", "--quiet", "--time-limit", "2"]
    first = call("cluster", *arguments, "--format", "json", "--max-evictions", "1")
    assert first.returncode == 0, first.stderr
    (tmp_path / "last.json").write_text(first.stdout)
    found = json.loads(first.stdout)
    assert (found["bill_usd_per_hour"], found["reachable_usd_per_hour"]) == (0.576, 0.384)
    assert [row["pool"] for row in found["pools"]] == ["base"]
    assert [step["title"].split()[0] for step in found["runbook"]] == ["Stop", "Cordon", "Drain", "Start"]

    since = "--since", tmp_path / "last.json", "--fail-above", "30%", "--plan", tmp_path / "plan.json"
    done = call("cluster", *arguments, "--format", "markdown", *since, "--out", tmp_path / "out")
    assert done.returncode == 4, done.stderr
    text = done.stdout
    assert text.startswith("# Save 66.7% of the bill of a cluster\n")
    assert "| this plan | 0.1920 | 140 | 66.7% | 2 |" in text
    assert "this plan 0.3840 to 0.1920 USD/h (-50.0%)" in text
    assert "| base | 3 | 1 |" in text
    assert "kubectl drain n" in text
    assert "If a command fails:" in text
    assert "### 1. Stop the tools that add or remove nodes" in text
    assert "default/budget" not in text, "one pod of the budget is on each node"
    whole = json.loads((tmp_path / "out" / "cluster.json").read_text())
    assert len(whole["since"]["drains_new"]) + len(found["steps"]) >= 2
    assert all(point["usd_per_hour"] <= point["reachable_usd_per_hour"] for point in whole["frontier"])
    bills = [point["reachable_usd_per_hour"] for point in whole["frontier"]]
    assert bills == sorted(bills, reverse=True), "more evictions, no worse plan"
    outputs = [path.read_bytes() for path in [*(tmp_path / "out").iterdir(), tmp_path / "plan.json"]]
    texts = [first.stdout, first.stderr, text, done.stderr]
    assert not [one for one in (*outputs, *(said.encode() for said in texts)) if SECRET.encode() in one]


def test_bad_flags_and_files_are_one_line_and_status_2(tmp_path: Path):
    dump = eks(tmp_path)
    (tmp_path / "other.json").write_text(f'{{"password": "{SECRET}"}}')
    for arguments, said in (
        ((), "give DUMP, the file of a dump"),
        ((dump,), "give prices: --prices CLOUD/REGION, such as aws/us-east-1, or --types FILE.csv"),
        ((dump, "--prices", "aws/us-west-2"), "the catalogue has no such region of aws; it has us-east-1"),
        ((dump, "--prices", "aws/us-east-1", "--fail-above", "ten"), "--fail-above: must be a share of the bill"),
        (
            (dump, "--prices", "aws/us-east-1", "--since", tmp_path / "other.json"),
            "must be an answer of gapwise cluster",
        ),
    ):
        done = call("cluster", *arguments)
        (line,) = done.stderr.splitlines()
        assert (done.returncode, done.stdout) == (2, "")
        assert said in line
        assert SECRET not in line


def test_the_command_that_makes_a_dump_is_printed_alone():
    done = call("cluster", "--collect")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("kubectl get nodes,pods,")
    assert done.stdout.count("\n") == 1


# parts


@pytest.mark.parametrize(("said", "share"), [("10%", 0.1), ("0.5%", 0.005), ("100%", 1.0)])
def test_a_share_is_a_number_with_a_percent_sign(said: str, share: float):
    assert share_of(said) == pytest.approx(share)
    for other in ("10", "-1%", "%", "ten", "1e3%", "9" * 400):
        with pytest.raises(InputError, match="--fail-above: must be a share of the bill such as 10%"):
            share_of(other)


def answer(**more: object) -> Json:
    figures = {f"{name}_usd_per_hour": 1.0 for name in ("bill", "reachable", "least", "bound")}
    return figures | {"pools": [{"pool": "a", "nodes": 3}], "steps": [{"drain": "n1"}]} | more


def test_two_answers_are_compared(tmp_path: Path):
    now = answer(bill_usd_per_hour=1.5, least_usd_per_hour=None, pools=[{"pool": None, "nodes": 2}], steps=[])
    found = compare(answer(), now)
    assert found["figures"] == {"bill_usd_per_hour": [1.0, 1.5], "least_usd_per_hour": [1.0, None]}
    assert found["pools"] == {"a": [3, 0], "no pool": [0, 2]}
    assert (found["drains_new"], found["drains_gone"]) == ([], ["n1"])
    lines = list(difference_lines(Path("last.json"), found))
    assert (
        lines[0]
        == "since last.json: today's bill 1.0000 to 1.5000 USD/h (+50.0%); best bill known 1.0000 to unknown USD/h"
    )
    assert list(difference_lines(Path("x"), compare(now, now))) == ["since x: the same bills"]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "7", "{}", '{"kind": "List"}', json.dumps(answer(bill_usd_per_hour="1")), json.dumps(answer(pools=5))],
)
def test_what_is_no_answer_is_refused(text: str, tmp_path: Path):
    (tmp_path / "last.json").write_text(text)
    with pytest.raises(InputError, match=r"^--since: .*last.json: [^\n]*$"):
        read_answer(tmp_path / "last.json")


def test_pools_sum_up_their_nodes(tmp_path: Path):
    pool = {"karpenter.sh/nodepool": "p"}
    room = {"nvidia.com/gpu": "4"}
    items = [node("n1", "gpus", labels=pool, room=room), node("n2", labels=pool), node("n3"), pod("w", on="n3")]
    items += [pod("p1", cpu="2"), pod("g", requests={"cpu": "1", "nvidia.com/gpu": "3"}), pod("waits", on=None)]
    read = reader(tmp_path, items)
    plan = read.read("plan")
    new = [next(kind for kind in plan.offerings.values() if kind.pool.name == "p")]
    rows = sum_up_pools(read.facts, read.prices, read.aliases, {"n1", "n3"}, new)
    mine, other = rows
    assert (mine["pool"], mine["nodes"], mine["nodes_after"]) == ("p", 2, 2)
    assert mine["cpu"] == {"room": 16, "requested": 3}
    assert mine["gpus"] == {"room": 4, "requested": 3}
    assert mine["usd_per_hour"] == 3.4
    assert mine["usd_per_hour_after"] == pytest.approx(3 + new[0].offer.usd_per_hour)
    assert (other["pool"], other["nodes_after"], other["usd_per_hour_after"]) == (None, 1, 0.4)
    assert pool_cells(mine)[3:6] == ["3/16", "1/32", "3/4"]


@pytest.mark.parametrize("seed", range(4))
def test_more_evictions_never_give_a_worse_plan(seed: int):
    """Each search knows the plans with fewer evictions, as the command calls it."""
    data = shrunk_cluster(30, seed).data
    arrays = cluster_arrays(data)
    state = np.ones_like(arrays.leaves), np.zeros(len(arrays.price), dtype=np.int64)
    plans: list[DrainPlan] = []
    for most in (0, 2, 5, 10, None):
        limited = cluster_arrays(data.with_(max_evictions=most))
        plans.append(reachable(limited, [state], seed, work=10**5 if most == 10 else 10**6, known=plans))
        assert most is None or plans[-1].evictions(limited) <= most
    bills = [plan.bill(arrays) for plan in plans]
    assert bills == sorted(bills, reverse=True)


def test_a_cluster_without_a_known_price_is_kept_and_ends_with_a_status(tmp_path: Path):
    done = call("cluster", eks(tmp_path), "--types", other_types(tmp_path), "--rules", "kube-least", "--quiet")
    assert done.returncode == 3, done.stderr
    assert "no row of the table has a price: 3 x m6i.xlarge" in " ".join(done.stdout.split())


def other_types(folder: Path) -> Path:
    """Write a price table whose only row describes another architecture than that of the nodes."""
    (folder / "types.csv").write_text("name,usd_per_hour,cpu,ram_gb,arch\nother,0.1,4,16,arm64\n")
    return folder / "types.csv"
