"""The interface of a verifier for the certificates of a Pareto front."""

from __future__ import annotations

from typing import Any, Protocol


class FrontProved(Protocol):
    """Collect the bounds of several certificates and verify a Pareto front of two objectives with them."""

    def add(self, text: str) -> None:
        """Add the bound that a certificate proves. Raises InputError if it is of another instance, and CheckFailed."""

    def see(self, content: Any) -> str:
        """Verify the front in `content`, the parsed JSON of a file, and return a short description of the proof.

        Raises InputError, and CheckFailed.
        """
