"""Test quantities against the grammar and documentation of apimachinery's `resource.Quantity`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from instances import InputError
from instances.kubernetes.pods import parse_request, quantity, whole

NANO = Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0),
        ("1e3", 1000),
        ("0.5", Fraction(1, 2)),
        ("128974848", 128974848),
        ("129M", 129 * 10**6),
        ("123Mi", 123 * 2**20),
        ("129e6", 129 * 10**6),
        ("128974848000m", 128974848),  # the three of Kubernetes' own page, beside 123Mi, which is near them
        ("100m", Fraction(1, 10)),
        ("1E", 10**18),
        ("1Ei", 2**60),
        ("1E3", 1000),
        ("5n", 5 * NANO),
        ("5u", 5000 * NANO),
        ("12k", 12000),
        ("1.5Gi", 3 * 2**29),
        (".5Ki", 512),
        ("5.", 5),
        ("+5", 5),
        ("-5", -5),
        ("1e-3", Fraction(1, 1000)),
        ("1e+3", 1000),
        ("007", 7),
        ("0.1n", NANO),  # finer than a billionth: away from zero, "if you want some, you should get some"
        ("-0.1n", -NANO),
        ("1.0000000001", 1 + NANO),
        ("1e-99999999999999", NANO),
        ("0e99999999999999", 0),
        (2, 2),
        (0.5, Fraction(1, 2)),
        (1e-7, 100 * NANO),
    ],
)
def test_an_amount_is_what_apimachinery_reads(text: Any, amount: Fraction):
    assert quantity(text) == amount


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " 1",
            "1 ",
            "1 Mi",
            "1_000",
            "NaN",
            "Infinity",
            "inf",
            "1e",
            "1e1.5",
            "5K",
            "1e3Mi",
            "1mi",
            "--1",
            "1.2.3",
        ),
        *("Mi", ".", "+", "0x10", "1m1", "١", "1e99999999999999", "1" * 65, "9223372036854775808", True, None, [], {}),
    ],
)
def test_what_is_no_quantity_is_refused_in_one_line(text: Any):
    with pytest.raises(InputError, match=r"^must be .* got .*$") as refused:
        quantity(text)
    assert len(str(refused.value)) < 200
    assert "\n" not in str(refused.value)


def test_nothing_negative_is_asked_for():
    assert parse_request("1Mi") == 2**20
    with pytest.raises(InputError, match="must be >= 0, got '-1Mi'"):
        parse_request("-1Mi")


def test_kube_scheduler_counts_thousandths_of_a_cpu_and_whole_units_of_all_else_rounded_up():
    assert whole(quantity("0.1001"), "cpu") == 101
    assert whole(quantity("1500m"), "memory") == 2
    assert whole(quantity("123Mi"), "memory") == 123 * 2**20
