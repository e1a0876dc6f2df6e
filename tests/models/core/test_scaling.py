"""Test that scaled linear models keep every feasible point, and have slack if numbers are nearly one."""

from __future__ import annotations

import numpy as np
import pytest

from models.core.highs import LinearModel
from models.core.scaling import KEPT, SLACK, rescale_model, round_rows


def random_model(seed: int, size: float) -> tuple[LinearModel, np.ndarray]:
    """Rows that hold at a random point with equality or room, beside a number of this size."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-3, 4, (5, 6)) * rng.choice([1.0, 0.5, 0.37], (5, 6))
    matrix[0, 0] = size
    upper, whole = rng.choice([1.0, 2.5, 7.0, np.inf], 6), np.arange(6) > 3
    x = np.where(whole, 1.0, np.minimum(upper, 3) * rng.random(6))
    rows = matrix @ x
    return LinearModel(rng.random(6), matrix, rows - rng.choice([0, 1, np.inf], 5), rows, 0.0, upper, whole), x


@pytest.mark.parametrize("size", [1.0, 1e-8])
def test_every_point_is_kept_at_its_objective_and_rows_have_room_where_numbers_are_nearly_one(size):
    for seed in range(20):
        model, x = random_model(seed, size)
        scaled, unit = rescale_model(model)
        y = x / unit
        activity, cost = scaled.matrix @ y, np.asarray(scaled.cost)
        assert float(cost @ y) == pytest.approx(float(np.asarray(model.cost) @ x))
        assert (unit[4:] == 1).all()
        assert (activity <= scaled.row_upper + 1e-14).all()
        assert (activity >= scaled.row_lower - 1e-14).all()
        assert abs(scaled.matrix).max() == pytest.approx(1)
        if size != 1.0:
            assert (scaled.row_upper - activity)[0] >= SLACK / 2


def test_a_model_of_nothing_stays_so():
    model = LinearModel([], np.zeros((0, 0)), [], [])
    scaled, unit = rescale_model(model)
    assert scaled is model
    assert len(unit) == 0


def test_rounded_rows_keep_every_point_and_have_short_numbers():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        matrix, x = rng.integers(-(2**40), 2**40, (5, 6)).astype(float), rng.integers(0, 4, 6).astype(float)
        rows = matrix @ x
        matrix[0], rows[0] = 1.0, x.sum()
        low, high = np.where([1, 1, 1, 0, 0], rows, -np.inf), np.where([1, 1, 0, 1, 1], rows, np.inf)
        rounded = round_rows(LinearModel(np.ones(6), matrix, low, high))
        assert rounded is not None
        activity = rounded.matrix @ x
        assert (activity <= rounded.row_upper).all()
        assert (activity >= rounded.row_lower).all()
        assert abs(rounded.matrix).max() <= 2**KEPT
        assert rounded.matrix.shape[0] == 6  # the long row of two sides is two rows, the short one is as it was


def test_rows_of_short_numbers_are_not_rounded():
    assert round_rows(LinearModel(np.ones(2), np.array([[1.0, 3.0], [2.0**30, 0.0]]), 0.0, [5.0, 2.0**31])) is None
