"""A value of a parsed JSON text with its place there, which the error about it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from instances.errors import InputError
from instances.validation import show

LONGEST = 316  # characters of a name: a label's key, with its prefix of 253, is the longest there is


class JsonPart:
    """A value of a dump. What is null is missing, as Kubernetes has it."""

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
        """The member of a member; missing where one of them is. Raises InputError where one is no object."""
        found = self
        for name in names:
            members = found._as(Mapping, "an object")
            found = JsonPart(None if members is None else members.get(name), name, found)
        return found

    def entries(self) -> Iterator[JsonPart]:
        """The entries of a list; none of one that is missing."""
        for i, value in enumerate(self._as(list, "a list") or ()):
            yield JsonPart(value, i, self)

    def members(self) -> Iterator[tuple[str, JsonPart]]:
        """The members of an object by name."""
        for name, value in (self._as(Mapping, "an object") or {}).items():
            if len(name) > LONGEST:
                self.refuse(f"a name of at most {LONGEST} characters", name)
            if value is not None:
                yield name, JsonPart(value, name, self)

    def text(self, default: str = "") -> str:
        """A text of at most the length of a name."""
        found = self._as(str, "a text")
        if found is not None and len(found) > LONGEST:
            self.refuse(f"a text of at most {LONGEST} characters", found)
        return default if found is None else str(found)

    def texts(self) -> dict[str, str]:
        """An object of texts, labels say."""
        return {name: value.text() for name, value in self.members()}

    def number(self, default: int = 0) -> int:
        """A whole number."""
        if isinstance(self.value, bool):
            self.refuse("a whole number", self.value)
        found = self._as(int, "a whole number")
        return default if found is None else int(found)

    def flag(self) -> bool:
        """Whether it is said and true."""
        return bool(self._as(bool, "true or false"))

    def _as(self, kind: Any, what: str) -> Any:
        if self.value is not None and not isinstance(self.value, kind):
            self.refuse(what, self.value)
        return self.value

    def refuse(self, what: str, got: Any) -> NoReturn:
        """Raise the InputError that says what must be here."""
        raise InputError(f"{self.path}: must be {what}, got {show(got)}")
