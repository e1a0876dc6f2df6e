"""Wrap a value of a parsed JSON text with its path, which error messages name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from instances.errors import InputError
from instances.validation import show

LONGEST = 316  # characters of a name: the longest is the key of a label, with a prefix of 253


class JsonPart:
    """A value of a dump. A null value counts as missing, as in Kubernetes."""

    __slots__ = ("_name", "_of", "value")

    def __init__(self, value: Any, name: str | int = "", of: JsonPart | None = None) -> None:
        self.value, self._name, self._of = value, name, of

    def __bool__(self) -> bool:
        return self.value is not None

    @property
    def path(self) -> str:
        before = "" if self._of is None else self._of.path
        if isinstance(self._name, int):
            return f"{before}[{self._name}]"
        return f"{before}.{self._name}" if before else self._name

    def at(self, *names: str) -> JsonPart:
        """Return a nested member, missing if one on the path is missing. Raises InputError if one is not an object."""
        found = self
        for name in names:
            members = found._as(Mapping, "an object")
            found = JsonPart(None if members is None else members.get(name), name, found)
        return found

    def entries(self) -> Iterator[JsonPart]:
        """Yield the entries of a list, none if it is missing."""
        for i, value in enumerate(self._as(list, "a list") or ()):
            yield JsonPart(value, i, self)

    def members(self) -> Iterator[tuple[str, JsonPart]]:
        """Yield the names and members of an object."""
        for name, value in (self._as(Mapping, "an object") or {}).items():
            if len(name) > LONGEST:
                self.refuse(f"a name of at most {LONGEST} characters", name)
            if value is not None:
                yield name, JsonPart(value, name, self)

    def text(self, default: str = "") -> str:
        """Return a text of at most `LONGEST` characters."""
        found = self._as(str, "a text")
        if found is not None and len(found) > LONGEST:
            self.refuse(f"a text of at most {LONGEST} characters", found)
        return default if found is None else str(found)

    def word(self) -> str:
        """Return a text of any length, empty if the value is not a text."""
        return self.value if isinstance(self.value, str) else ""

    def texts(self) -> dict[str, str]:
        """Return an object whose members are texts, such as labels."""
        return {name: value.text() for name, value in self.members()}

    def number(self, default: int = 0) -> int:
        """Return an integer."""
        if isinstance(self.value, bool):
            self.refuse("a whole number", self.value)
        found = self._as(int, "a whole number")
        return default if found is None else int(found)

    def flag(self) -> bool:
        """Return whether the value is present and true."""
        return bool(self._as(bool, "true or false"))

    def _as(self, kind: Any, what: str) -> Any:
        if self.value is not None and not isinstance(self.value, kind):
            self.refuse(what, self.value)
        return self.value

    def refuse(self, what: str, got: Any) -> NoReturn:
        """Raise an InputError with the path, the expected value `what` and the actual value `got`."""
        raise InputError(f"{self.path}: must be {what}, got {show(got)}")
