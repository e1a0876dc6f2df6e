"""The tables of facts that come with BOA."""

from __future__ import annotations

import pandas as pd

from instances.tables import packaged


def table(name: str) -> pd.DataFrame:
    """The table `data/<name>.csv`, whose columns `data/README.md` describes."""
    return packaged("instances.boa", name)
