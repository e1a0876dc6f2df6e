"""Test that each certificate forged by hand is rejected in one line, for the right reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from instances import CheckFailed, Instance
from instances.boa import BoaAllocation
from instances.eva import EvaPacking, check_packing
from instances.proofs import digest
from instances.proofs.eva import prove_packing
from tests.certificates.forging import FORGERS, run
from tests.certificates.readings import HUGE, READINGS, refused, telling
from tests.sampling import sample

Content = dict[str, Any]


def leaf(content: Content) -> Content:
    """Return a leaf of Eva's tree."""
    return next(node["leaf"] for node in content["nodes"] if node.get("leaf"))


def only_leaf(content: Content, **changes: Any) -> Content:
    return content | {"nodes": [{"leaf": leaf(content) | changes}]}


def branched(content: Content, branch: Content, children: list[int] | None = None) -> Content:
    """Two copies of a leaf below a branch of Eva's tree, each with a dual of 0 for the branch."""
    below = leaf(content)
    below = {"leaf": below | {"decisions": [*below["decisions"], 0]}}
    node = {"branch": {"kind": "instances", "of": [0], "amount": 0} | branch, "children": children or [1, 2]}
    return content | {"nodes": [node, below, below]}


def runs(content: Content, branch: Content | None = None, children: Any = (1, 2), **leaf: Any) -> Content:
    """Return a tree with two leaves of BOA's real widths that claim 0 at a price that proves no more."""
    below = {"price": "1000000", "bound": "0"} | leaf
    return content | {
        "nodes": [{"branch": branch or {"job_class": 0, "epoch": 0, "type": 0}, "children": children}, below, below]
    }


def row(**changes: Any) -> Content:
    return {"first": 0, "last": 0, "limit": 1, "starts": 1} | changes


JSON: list[tuple[str, str, Content | Callable[[Content], Any], str]] = [
    # what is wrong, the reading, the fields that are forged or how, the refusal
    # numbers that wrap round, or are none
    ("wrapped costs", "boa integer, rescaling", {"price": 0, "cost_bits": 60}, "not be exact in 64"),
    ("costs past 64 bits", "boa integer, rescaling", {"price": 0, "cost_bits": 126}, "not be exact in 64"),
    ("times past 64 bits", "boa integer", {"time_bits": 200}, "not be exact in 64"),
    ("reach past what is not allowed", "boa two types, rescaling", {"price": 0, "bound": 1 << 62}, "shortest|64"),
    ("weight of 2^60", "boa integer", {"price": 1 << 60}, "not be exact in 64"),
    ("negative price", "boa integer", {"price": -1}, "price: must be >= 0"),
    ("weight of 0", "boa integer", {"scale": 0}, "scale: must be >= 1"),
    ("number as a truth", "boa integer", {"closed": 1}, "closed: must be a valid boolean"),
    ("truth as a number", "boa integer", {"price": True}, "price: must be a valid integer"),
    ("float", "boa integer", {"bound": 1e308}, "bound: must be a valid integer"),
    ("400 digits", "boa integer", {"bound": int(HUGE)}, "bound: must be <="),
    ("one unit more", "boa integer", lambda c: c | {"bound": c["bound"] + 1}, "units are claimed"),
    (
        "the path, one unit less",
        "boa integer",
        lambda c: c | {"shortest": c["shortest"] - 1},
        "is claimed, the shortest",
    ),
    ("other price", "boa continuous", lambda c: c | {"price": c["price"] + "7"}, "the price proves"),
    ("price 1/0", "boa continuous", {"price": "1/0"}, "price: must be a rational"),
    ("price below 0", "boa continuous", {"price": "-1"}, "price: must be a rational"),
    ("price inf", "boa continuous", {"price": "inf"}, "price: must be a rational"),
    ("digits of another script", "boa continuous", {"price": "٣"}, "price: must be a rational"),
    ("bound of 400 digits", "boa continuous", {"bound": HUGE}, "something too long"),
    ("price of 400 digits", "boa two types", {"price": HUGE}, "the price proves"),
    ("proof of another reading", "boa two types", {"kind": "units"}, "kind: must be"),
    ("leaf twice", "boa real widths, two types", lambda c: runs(c, children=[1, 1]), "in the tree twice"),
    ("child that is not there", "boa real widths, two types", lambda c: runs(c, children=[1, 7]), "in the tree twice"),
    ("leaf not reached", "boa real widths", lambda c: c | {"nodes": [*c["nodes"], c["nodes"][-1]]}, "not in the tree"),
    ("root below itself", "boa real widths, two types", lambda c: runs(c, children=[0, 1]), "in the tree twice"),
    ("leaf left out", "boa real widths, two types", lambda c: runs(c, price=None, bound=None), "no price is given"),
    ("no such class", "boa real widths", lambda c: runs(c, {"job_class": 9, "epoch": 1}), "no such class"),
    (
        "change before the first epoch",
        "boa real widths",
        lambda c: runs(c, {"job_class": 0, "epoch": 0}),
        "no such class",
    ),
    ("leaf of 400 digits", "boa real widths, two types", lambda c: runs(c, bound=HUGE), "something too long"),
    ("empty tree", "boa real widths", {"nodes": []}, "nodes: must not be empty"),
    # Eva's tree and its duals
    ("no tree", "eva cost", {"nodes": []}, "nodes: must not be empty"),
    ("one more", "eva cost", lambda c: c | {"bound": c["bound"] + 1}, "price units are claimed"),
    ("scale of 0", "eva cost", lambda c: only_leaf(c, scale=0), "scale: must be >= 1"),
    ("dual below 0", "eva cost", lambda c: only_leaf(c, tasks=[-1, *leaf(c)["tasks"][1:]]), "must be >= 0"),
    ("dual of 2^62", "eva cost", lambda c: only_leaf(c, tasks=[1 << 62, *leaf(c)["tasks"][1:]]), "must be <"),
    ("sum that is off", "eva cost", lambda c: only_leaf(c, bound=HUGE[:50]), "the duals prove"),
    ("bound 1/0", "eva cost", lambda c: only_leaf(c, bound="1/0"), "bound: "),
    ("script of the bound", "eva cost", lambda c: only_leaf(c, bound="٣"), "bound: "),
    ("dual of no entry", "eva cost", lambda c: only_leaf(c, tasks=leaf(c)["tasks"][1:]), "a dual for each entry"),
    ("dual of no decision", "eva cost", lambda c: only_leaf(c, decisions=[0] * 9), "a dual for each entry"),
    (
        "types that gain",
        "eva cost",
        lambda c: only_leaf(c, types=[-9 for _ in leaf(c)["types"]]),
        "not those of the dec",
    ),
    (
        "half of the leaf",
        "eva cost",
        lambda c: c | {"nodes": [{"leaf": leaf(c), "children": [0, 0]}]},
        "must be a leaf",
    ),
    ("one side twice", "eva cost", lambda c: branched(c, {}, [1, 1]), "in the tree twice"),
    ("side missing", "eva cost", lambda c: branched(c, {}, [1, 3]), "is not there"),
    ("branch on nothing", "eva cost", lambda c: branched(c, {"of": []}), "must name types"),
    ("branch on a type twice", "eva cost", lambda c: branched(c, {"of": [0, 0]}), "a branch on the types"),
    ("branch on no type", "eva cost", lambda c: branched(c, {"of": [1 << 40]}), "a branch on the types"),
    ("branch between amounts", "eva cost", lambda c: branched(c, {"kind": "spent", "amount": 1}), "no multiple"),
    ("other unit", "eva cost", {"unit": 1 << 40}, "prices are multiples"),
    ("limit without its dual", "eva cost, constraints", lambda c: only_leaf(c, decisions=[0] * 19), "each limit"),
    # SIA's rows, prices and nodes
    ("tighter row", "sia oracle", {"rows": [row(limit=-9)]}, "a row of limit"),
    ("row backwards", "sia oracle", {"rows": [row(first=3, last=1)]}, "a row at steps"),
    ("row of a job twice", "sia oracle", {"rows": [row(divisor=2, jobs=[0, 0])]}, "a row at steps"),
    ("row of no job", "sia oracle", {"rows": [row(touching=999)]}, "touches"),
    ("divisor of 2^62", "sia oracle", {"rows": [row(divisor=(1 << 62) - 1, jobs=[0], limit=0)]}, "62 bits|a row of"),
    (
        "price of no row",
        "sia oracle",
        {"nodes": [{"prices": {"prices": [[99, 1]], "least": 0, "spent": 0}}]},
        "prices: of",
    ),
    (
        "charges that are off",
        "sia oracle",
        {"stages": [], "nodes": [{"prices": {"prices": [], "least": 1 << 70, "spent": 0}}]},
        "prices charge",
    ),
    (
        "charges below 0",
        "sia oracle",
        {"stages": [], "nodes": [{"prices": {"prices": [], "least": 0, "spent": -(1 << 79)}}]},
        "prices charge",
    ),
    ("no start left, said", "sia oracle", {"stages": [], "nodes": [{"without": 0}]}, "not the first without"),
    ("nothing said", "sia oracle", {"stages": [], "nodes": [{}]}, "not the first without"),
    (
        "side of starts twice",
        "sia oracle",
        lambda c: c | {"nodes": [{"branch": {"job": 0, "until": 0}, "children": [1, 1]}, c["nodes"][-1]]},
        "twice",
    ),
    ("steps of other slots", "sia oracle", {"slots": 7}, "slots: 7"),
    ("reach of 2^62", "sia oracle", {"reach": 1 << 62}, "reach: must be <"),
    # what every file has
    ("other version", "eva cost", {"gapwise_certificate": 2}, "gapwise: must be 1"),
    ("version of another type", "eva cost", {"gapwise_certificate": 1.0}, "gapwise: must be 1"),
    ("other problem", "sia oracle", {"problem": "eva-packing"}, "problem: must be"),
    ("other instance", "boa integer", {"instance": "2:" + "0" * 64}, "of another instance"),
    ("instance of no name", "boa integer", {"instance": [1]}, "of another instance"),
    ("unknown field", "boa continuous", {"note": 1}, "note: unknown field"),
    ("list", "boa continuous", lambda c: [c], "must be an object"),
]


@pytest.mark.parametrize(("hole", "reading", "forge", "said"), JSON, ids=[f"{r}: {h}" for h, r, _, _ in JSON])
def test_a_forged_json_certificate_is_refused(
    hole: str, reading: str, forge: Content | Callable[[Content], Any], said: str
):
    made = telling(reading)
    content = json.loads(made.certificate)
    line = refused(made.instance.data, json.dumps(forge(content) if callable(forge) else content | forge))
    assert re.search(said, line), line


def test_a_field_twice_in_a_certificate_is_refused():
    for reading in READINGS:
        made = telling(reading)
        if not made.vipr:
            text = made.certificate.replace('"problem"', '"problem": "x", "problem"', 1)
            assert "duplicate field 'problem'" in refused(made.instance.data, text)


def test_a_certificate_of_another_reading_of_the_same_data_is_refused():
    for reading, change in (
        ("eva cost", {"objective": "net-saving"}),
        ("eva net saving", {"objective": "cost"}),
        ("boa integer, rescaling", {"speedup_reading": "hull"}),
        ("boa integer", {"widths": "continuous"}),
        ("aryl jct reduction", {"scaling_loss": 0.25}),
        ("sia oracle", {"slot_minutes": 2.0}),
        ("node consolidation", {"eviction_usd_per_hour": 7.0}),
    ):
        made = telling(reading)
        other = type(made.instance.data).model_validate(made.instance.data.model_dump() | change)
        assert refused(other, made.certificate)


def wrapped() -> tuple[BoaAllocation, Content]:
    """Costs that wrap round 2^63 at price 0: 2.045 h where 2 h can be had."""
    speedup = [1.0, 0.9174311926605504, 0.8333333333333334, 0.9009009009009008, 1.0204081632653061]
    epoch = {"size_hours": 1.0, "speedup": {"table": {"gpus": [1, 2, 3, 4, 5], "speedup": speedup}}}
    said = {"arrivals_per_hour": 1.2, "rescale_hours": 1.0, "epochs": [epoch]}
    raw = {"budget": 7.68, "widths": "integer", "classes": [{"name": name, **said} for name in "ab"]}
    units = {"time_bits": 40, "cost_bits": 60, "scale": 1, "price": 0}
    proof = {"kind": "units", **units, "shortest": 2177033022996, "bound": 2248501278801, "closed": True}
    return BoaAllocation.model_validate(raw), proof


def test_costs_that_wrap_round_prove_nothing():
    data, proof = wrapped()
    head = {"gapwise_certificate": 1, "problem": data.problem, "instance": digest(data)}
    assert refused(data, json.dumps(head | proof)) == "units: sums would not be exact in 64 bits"


def test_a_pattern_that_saves_less_than_rounding_of_a_job_s_price_counts():
    """A job of 10^9 tasks is worth so much that a throughput's last digit is more than 1e-6 of the dearest price."""
    kinds = [{"name": "A", "family": "f", "capacity": {"c": 1}, "usd_per_hour": 1}]
    kinds += [{"name": "B", "family": "f", "capacity": {"c": 200}, "usd_per_hour": 199.9958}]
    task = {"workload": "w", "count": 200, "demand": {"default": {"c": 1}}, "tasks_in_job": 10**9}
    raw = {"resources": ["c"], "objective": "net-saving", "instance_types": kinds, "tasks": [task]}
    data = EvaPacking.model_validate(raw | {"throughput": {"pairwise": [["w", "w", 0.9999999999999999]]}})
    saves = check_packing(data, {"instances": [{"type": "B", "count": 1, "tasks": {"w": 200}}]})
    assert (round(saves.objective, 5), saves.violations) == (0.00022, ())
    head = f"% gapwise 1\n% problem eva-packing\n% instance {digest(data)}\n"
    program = "VER 1.1\nVAR 0\nINT 0\nOBJ max 0\nCON 0 0\nRTP range 0 0\nSOL 1\nsol0 0\nDER 1\n"
    with pytest.raises(CheckFailed, match="variables: not those of the instance"):
        prove_packing(data, head + program + "d0 L 0 OBJ { lin 0 } -1\n")


@pytest.mark.parametrize("reading", READINGS)
def test_an_honest_certificate_is_accepted(reading: str):
    made = telling(reading)
    assert (made.outcome(), made.proves(made.certificate)) == ("true", "true")
    assert isinstance(made.instance, Instance)


def test_forgeries_without_a_wrong_sum_prove_what_is_true():
    seen: list[str] = []
    total = run(list(FORGERS), sample(10, 400), 0, seen.append)
    assert total["false"] == 0, seen
    assert total["true"] > total.total() // 3
