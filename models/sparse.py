"""The names of `scipy.sparse`, imported at the first use: the import takes a quarter of a second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.sparse import *  # noqa: F403


def __getattr__(name: str) -> Any:
    from scipy import sparse

    return globals().setdefault(name, getattr(sparse, name))
