"""The tables of facts that come with BOA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from instances.tables import packaged

if TYPE_CHECKING:
    import pandas as pd


def table(name: str) -> pd.DataFrame:
    """The table `data/<name>.csv`, whose columns `data/README.md` describes."""
    return packaged("instances.boa", name)
