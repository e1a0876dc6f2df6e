"""The restricted integer master: the best configuration of the columns at hand, by HiGHS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from instances import Options
from instances.eva.arrays import PackingArrays
from models.bounds import whole_bound
from models.eva.column_generation.parameters import LARGEST_COEFFICIENT
from models.eva.column_generation.price_groups import PriceGroups
from models.eva.column_generation.restricted_master import covering_columns, row_scales
from models.eva.configuration import Column, Configuration, missing
from models.highs import LinearModel, solve_arrays

PLAIN = {"presolve": "off"}  # the presolve of HiGHS does not end where an integer variable has bounds of 1e15


@dataclass(frozen=True)
class Cover:
    """The best cover found, if any. Where HiGHS has `finished`, no cover by the columns costs less than `bound`."""

    configuration: Configuration | None
    finished: bool
    bound: int = 0


def solve_integer_master(
    arrays: PackingArrays,
    groups: PriceGroups,
    columns: Sequence[Column],
    options: Options,
    *,
    kept: Configuration,
    bound: int,
    ceiling: int,
) -> Cover:
    """Minimise the price of a cover by whole numbers of the columns, with all of the configuration `kept`.

    The spend on each group is an integer variable of its own, so that HiGHS can branch on it.

    - `arrays`: the instance.
    - `groups`: price groups, whose spend is counted in units.
    - `columns`: the columns at hand.
    - `options`: limits, threads and seed; the gap is 0.
    - `kept`: instances that are in the cover whatever happens.
    - `bound`: a proven bound, in price units, at which the search ends.
    - `ceiling`: a cost, in price units; only cheaper covers are sought.
    """
    n, unit, price = len(groups.unit), np.array(groups.unit, dtype=float), arrays.price.tolist()
    entries = sparse.hstack(
        [
            sparse.vstack([sparse.coo_array((arrays.classes, n)), sparse.diags_array(row_scales(price, groups))]),
            covering_columns(arrays.classes, price, groups, columns),
        ]
    )
    scale = min(1.0, LARGEST_COEFFICIENT / unit.max())
    spent = sparse.coo_array(np.concatenate([scale * unit, np.zeros(len(columns))])[None, :])
    most = [np.inf if upper is None else float(upper) for upper in groups.upper]
    solved = solve_arrays(
        LinearModel(
            cost=np.concatenate([unit, np.zeros(len(columns))]),
            matrix=sparse.vstack([entries, spent]),
            row_lower=np.concatenate([arrays.count, np.zeros(n), [scale * bound]]),
            row_upper=np.concatenate([np.full(arrays.classes + n, np.inf), [scale * (ceiling - 1)]]),
            lower=np.concatenate([np.zeros(n), [kept.get(column, 0) for column in columns]]),
            upper=np.concatenate([most, np.full(len(columns), np.inf)]),
            integer=True,
        ),
        replace(options, gap=0.0),
        extra={"mip_abs_gap": 0.5, **(PLAIN if ceiling > LARGEST_COEFFICIENT else {})},
    )
    finished = solved.termination in ("finished", "infeasible")
    if solved.x is None:
        return Cover(None, finished, whole_bound(float(ceiling)))
    copies = np.round(solved.x[n:]).astype(np.int64).tolist()
    cover = {column: x for column, x in zip(columns, copies, strict=True) if x > 0}
    if solved.bound is None or (missing(arrays, cover) > 0).any():
        return Cover(None, False)
    return Cover(cover, finished, whole_bound(solved.bound))
