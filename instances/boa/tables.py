"""The tables of facts that come with BOA."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import pandas as pd


@cache
def table(name: str) -> pd.DataFrame:
    """The table `data/<name>.csv`, whose columns `data/README.md` describes."""
    with (files("instances.boa") / "data" / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)
