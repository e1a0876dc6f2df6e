"""Test intervals over seeds, and the claims against a paper that they allow."""

import json
import math

import pytest
from scipy.stats import ttest_1samp

from experiments.harness.experiment import Claim, Context, Experiment, compare_mean
from experiments.harness.sample import Sample
from experiments.output.claims import Reproduction, record


def test_the_interval_is_students():
    values = [1.0, 2.5, 3.0, 4.25]
    sample = Sample.of(values)
    low, high = ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert (sample.low, sample.high) == pytest.approx((low, high))
    assert (sample.seeds, sample.mean, sample.least, sample.greatest) == (4, 2.6875, 1.0, 4.25)


def test_one_seed_has_no_interval():
    sample = Sample.of([2.0])
    assert (sample.low, sample.high) == (None, None)
    assert "1 seed" in sample.text()


def test_ratios_are_the_same_upside_down():
    ratios = [0.5, 0.8, 1.1, 1.7]
    one, other = Sample.from_ratios(ratios), Sample.from_ratios([1 / ratio for ratio in ratios])
    assert one.mean == pytest.approx(1 / other.mean)
    assert one.low == pytest.approx(1 / other.high)


def test_a_bootstrap_over_groups_knows_that_copies_tell_nothing():
    rows, groups = [1.0, 2.0, 3.0, 4.0], ["a", "a", "b", "b"]
    once = Sample.bootstrap(rows, groups, lambda found: math.fsum(found) / len(found))
    often = Sample.bootstrap(rows * 50, groups * 50, lambda found: math.fsum(found) / len(found))
    assert once.seeds == often.seeds == 2
    assert (once.low, once.high) == (often.low, often.high) == (1.5, 3.5)


@pytest.mark.filterwarnings("error")
def test_a_ratio_to_nothing_has_no_end_and_no_warning():
    sample = Sample.bootstrap([1.0, math.inf, math.inf], "abc", lambda found: sum(found) / len(found))
    assert sample.mean == math.inf
    assert not math.isfinite(sample.high)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([2.0 + k / 100 for k in range(10)], "differs"),
        ([2.0 + k / 100 for k in range(9)], "few runs"),
        ([0.2, 4.0] * 5, "few runs"),
        ([1.02] * 2, "reproduced"),
        ([0.5] * 10, "differs"),
    ],
)
def test_a_sentence_against_a_paper_takes_seeds_and_an_interval(values, verdict):
    assert compare_mean("Table 1", "ratio", 1.0, Sample.of(values)).verdict == verdict


def test_nothing_is_said_against_a_paper_where_runs_are_cut():
    claims = [Claim("Table 1", "ratio", 1.0, 2.0, "differs"), Claim("Table 1", "ratio", 1.0, 1.0, "reproduced")]
    experiment = Experiment("table-1", "Table 1", lambda context: [], lambda context, outcomes: claims)
    cut = Reproduction("eva", experiment).conclude(Context(quick=True), [])
    assert [claim.verdict for claim in cut.claims] == ["few runs", "reproduced"]
    json.dumps([record(cut, claim) for claim in cut.claims])
