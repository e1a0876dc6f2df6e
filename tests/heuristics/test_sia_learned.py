"""Test that learnt predictions use the features of Table 9, and no information from the future."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from heuristics.sia import ONLINE, Decomposed, SlidingMaximum, replay, sia
from heuristics.sia.learned import (
    PERIODS_MINUTES,
    Examples,
    FinishedAlike,
    LearnsFirst,
    Persistence,
    PoolHistory,
    class_end,
    examples,
    fit,
    sia_learned,
    sia_learns_first,
    train,
)
from heuristics.sia.predictors import WINDOWS_MINUTES
from instances.sia import Job, philly, synthetic, trace_instance
from instances.sia.online import PoolsView
from tests.sia_traces import write_philly

DAYS = (28.0, 36.0)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    return philly(write_philly(tmp_path_factory.mktemp("trace") / "philly.csv", a_day=12, pools=3))


def counted(arrivals, completions, ends, since, now, quantum):
    """Count the features by definition, with one comparison per job."""
    found = []
    for period in PERIODS_MINUTES:
        for x in (1, 2, 3):
            begin = now - x * period
            inside = sum(begin < t <= min(begin + quantum, now) for t in arrivals)
            found.append(inside if begin >= since else math.nan)
    for times in (arrivals, completions):
        for x in (1, 10, 100):
            begin = max(now - x * quantum, since)
            found.append(sum(begin < t <= now for t in times) * quantum / (now - begin))
    return [*found, sum(e <= now + quantum for e in ends), sum(e > now + quantum for e in ends)]


@pytest.mark.parametrize("quantum", WINDOWS_MINUTES)
def test_features_are_counts_of_the_past(quantum):
    rng = np.random.default_rng(int(quantum))
    arrivals, completions = (np.sort(rng.uniform(0, 6000, 80)).tolist() for _ in range(2))
    ends = [*np.sort(rng.uniform(6000, 9000, 9)).tolist(), math.inf]
    history = PoolHistory(0.0, arrivals, completions, ends)
    found, expected = history.features(6000.0, quantum), counted(arrivals, completions, ends, 0.0, 6000.0, quantum)
    assert found == pytest.approx(expected, nan_ok=True)
    assert len(found) == 14


def test_no_feature_sees_the_future(jobs):
    """What happens after a moment changes no feature of it, only labels."""
    split = (28 + 4) * 1440.0
    cut = jobs[jobs["submit_s"] / 60 <= split]
    whole, past = (examples(table, WINDOWS_MINUTES, DAYS, every=240.0) for table in (jobs, cut))
    for k in WINDOWS_MINUTES:
        before = whole[k].minutes <= split
        assert before.any()
        assert not before.all()
        np.testing.assert_array_equal(whole[k].features[before], past[k].features[past[k].minutes <= split])


def test_labels_say_whether_jobs_come_within_the_quantum(jobs):
    made = examples(jobs, (60.0,), DAYS, every=180.0)[60.0]
    minutes = {str(pool): mine["submit_s"].to_numpy() / 60 for pool, mine in jobs.groupby("pool")}
    expected = [
        bool(((minutes[p] > t) & (minutes[p] <= t + 60)).any()) for p, t in zip(made.pools, made.minutes, strict=True)
    ]
    assert made.arrived.tolist() == expected
    assert 0 < sum(expected) < len(expected)


def test_a_class_ends_at_its_window_and_the_longest_never():
    assert [class_end(10.0, k, (5.0, 60.0)) for k in range(3)] == [15.0, 70.0, math.inf]


def test_training_is_deterministic_sees_no_job_after_its_days_and_one_model_serves_a_new_pool(jobs):
    pytest.importorskip("lightgbm")
    one, again = train(jobs, DAYS), train(jobs[jobs["submit_s"] < DAYS[1] * 86_400], DAYS)
    rows = np.random.default_rng(0).uniform(0, 20, (50, 14))
    for k in WINDOWS_MINUTES:
        np.testing.assert_array_equal(one.probability(k, rows), again.probability(k, rows))
    data = trace_instance(jobs.assign(pool="new-" + jobs["pool"]), start_day=36, days=4, load=(0.9, 0.9)).data
    starts = replay(data, sia_learned(data, one))
    assert starts == replay(data, sia_learned(data, again))
    assert set(starts) == {job.id for job in data.jobs}
    slower = sum(starts[j.id] > f for j, f in zip(data.jobs, data.fcfs_starts, strict=True))
    sooner = sum(starts[j.id] < f for j, f in zip(data.jobs, data.fcfs_starts, strict=True))
    assert sooner > slower


def test_predictions_that_jobs_always_come_are_the_sliding_maximum():
    class Always:
        quanta = WINDOWS_MINUTES

        def predict(self, quantum, features):
            return np.ones(len(features))

    data = synthetic("base", 3, days=1).data
    assert replay(data, sia_learned(data, Always())) == replay(data, ONLINE["sia-sliding"](data, 0))


def alike(quantile, *durations, least=5):
    predictor = FinishedAlike(quantile, least=least)
    for duration in durations:
        predictor.learn("p", 1, duration)
    return predictor.predict("p", 1, (5, 60, 720))


def test_a_duration_is_the_mode_or_a_quantile_of_finished_jobs_alike():
    seen = (3, 3, 3, 3, 3, 3, 30, 30, 300, 3000)
    assert [alike(q, *seen) for q in (None, 0.5, 0.75, 0.9)] == [0, 0, 1, 3]
    assert alike(0.9, 3, 3) == 3
    assert alike(None, 3, 3, least=2) == 0


def test_a_width_that_few_jobs_had_is_predicted_from_the_pool():
    predictor = FinishedAlike(None, least=2)
    for gpus, duration in ((1, 3), (1, 3), (8, 30), (8, 30), (8, 30)):
        predictor.learn("p", gpus, duration)
    assert [predictor.predict("p", gpus, (5, 60)) for gpus in (1, 8, 4)] == [0, 1, 1]


def test_persistence_predicts_what_the_last_window_had():
    predictor = Persistence()
    predictor.observe(
        PoolsView(10, 1, {"p": 1}, {"p": 0}, {}, {}, (Job(id="x", pool="p", submit=10, duration=1, gpus=1),))
    )
    assert [predictor.will_arrive("p", now, 5) for now in (10, 14, 15, 16)] == [True, True, False, False]
    assert not predictor.will_arrive("q", 10, 5)


def test_without_lightgbm_the_message_says_what_to_install(jobs, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    with pytest.raises(Exception, match=r"pip install gapwise\[learn\]"):
        train(jobs, (28.0, 29.0))


def test_the_examples_of_a_table_keep_their_order(jobs):
    made = examples(jobs, (5.0,), (28.0, 28.5), every=60.0)[5.0]
    assert list(dict.fromkeys(made.pools)) == sorted(set(made.pools))
    assert pd.Series(made.minutes[: len(made.minutes) // len(set(made.pools))]).is_monotonic_increasing


def test_sia_learns_from_the_first_days_of_a_workload_and_from_nothing_after(jobs):
    """Until then jobs always come; from then on it is what a model of the same days predicts."""
    pytest.importorskip("lightgbm")
    data = trace_instance(jobs, start_day=28, days=7, name="small").data
    seen = jobs[(jobs["submit_s"] >= 28 * 86_400) & (jobs["submit_s"] < 35 * 86_400)]
    first = LearnsFirst(SlidingMaximum(), data.slot_minutes, days=4.0)
    starts = replay(data, sia(data, Decomposed(first, SlidingMaximum(), SlidingMaximum())))
    assert first.is_trained
    early = [job.id for job in data.jobs if job.submit < 3 * 1440]
    sliding = replay(data, sia(data, SlidingMaximum()))
    assert [starts[name] for name in early] == [sliding[name] for name in early]
    late = seen["submit_s"] >= 33 * 86_400
    cut = trace_instance(seen[~late], start_day=28, days=7, name="small").data
    again = LearnsFirst(SlidingMaximum(), data.slot_minutes, days=4.0)
    replay(cut, sia(cut, Decomposed(again, SlidingMaximum(), SlidingMaximum())))
    rows = np.zeros((1, 14))
    for quantum in WINDOWS_MINUTES:
        whole, past = (one.learned.models.probability(quantum, rows) for one in (first, again))
        assert whole.tolist() == past.tolist()


def test_a_workload_shorter_than_the_training_is_run_as_if_jobs_always_came():
    data = synthetic("base", 1, days=1).data
    assert replay(data, sia_learns_first(data)) == replay(data, ONLINE["sia-sliding"](data, 0))


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_what_has_never_been_otherwise_is_predicted_to_stay_so(label):
    pytest.importorskip("lightgbm")
    rows = np.random.default_rng(0).random((200, 14))
    known = {60.0: Examples(rows, np.full(200, label), ["p"] * 200, np.arange(200.0))}
    assert set(fit(known).predict(60.0, rows)) == {label}
