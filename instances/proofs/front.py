"""What a front of two objectives must be able to say of its certificates."""

from __future__ import annotations

from typing import Any, Protocol


class FrontProved(Protocol):
    """What certificates prove together of a front of two objectives."""

    def add(self, text: str) -> None:
        """Add what a certificate proves. Raises InputError for one of another instance, and CheckFailed."""

    def see(self, content: Any) -> str:
        """See that all holds which `content`, the parsed JSON of a file, says of the front: how, in a few words.

        Raises InputError, and CheckFailed.
        """
