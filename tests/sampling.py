"""Set the number of cases that the suite and `pytest -m long` run.

Random cases are drawn one like the other from a seed, so a few of them contain each kind several times. Run all cases
after a change of the method and before a release. `pytest -m ''` runs the tests of both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

WHOLE = bool(os.environ.get("GAPWISE_WHOLE"))
"""Whether all cases are asked for; `tests/conftest.py` sets the variable for `pytest -m long`."""


def sample(few: int, whole: int) -> int:
    """Return the number of random cases to run: `few`, or `whole` if all cases are asked for."""
    return whole if WHOLE else few


def few(cases: Iterable[Any], number: int) -> list[Any]:
    """Mark all but `number` cases of a list as long; those that stay are spread over the list, first and last included.

    Args:
        cases: Values for `pytest.mark.parametrize`; a tuple is one case with several arguments.
        number: Cases that the suite runs, at least 1.

    Returns:
        One value or parameter set for each case, in the same order.
    """
    listed = list(cases)
    stay = {round(i * (len(listed) - 1) / max(number - 1, 1)) for i in range(number)}
    return [case if i in stay else _long(case) for i, case in enumerate(listed)]


def _long(case: Any) -> Any:
    """Return a case with the mark `long`."""
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, id=case.id, marks=(*case.marks, pytest.mark.long))
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
