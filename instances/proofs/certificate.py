"""The text of a certificate, the bound that it proves, and the digest that ties it to its instance."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeVar

from instances.errors import CheckFailed, InputError
from instances.fields import ProblemData, Sense
from instances.reading import parse_json
from instances.validation import show


class NoCertificate(ValueError):
    """A bound has no certificate; the message gives the reason in one line."""


@dataclass(frozen=True)
class Certificate:
    """The `text` of a certificate in the format `kind`, the `bound` that it proves and, in a few words, `how`."""

    kind: Literal["vipr", "json"]
    text: str
    bound: Fraction
    how: str


@dataclass(frozen=True)
class Proven:
    """The `bound` that a verified certificate proves and, in a few words, `how`."""

    bound: Fraction
    how: str


VERSION = 1
DIGEST_VERSION = "2:"  # the first characters of a digest


def digest(data: ProblemData) -> str:
    """Compute the digest of the data of an instance.

    It covers only the fields that differ from their defaults, so a new optional field leaves the digests of all
    existing instances as they are. A default must therefore never change: another meaning is a new field.
    """
    content = {"problem": data.problem, "data": data.model_dump(mode="json", exclude_defaults=True)}
    return DIGEST_VERSION + hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def see_version(version: object) -> None:
    """Raise InputError if a certificate has another format version than `VERSION`."""
    if type(version) is not int or version != VERSION:
        raise InputError(f"gapwise: must be {VERSION}, got {show(version)}")


def see_instance(data: ProblemData, problem: object, stated: object) -> None:
    """Raise InputError if a certificate is of another instance than `data`."""
    if problem != data.problem:
        raise InputError(f"problem: must be {data.problem}, as in the instance, got {show(problem)}")
    if isinstance(stated, str) and not stated.startswith(DIGEST_VERSION):
        wanted = f'must be a digest that begins with "{DIGEST_VERSION}"'
        raise InputError(f"instance: {wanted}, got {show(stated)[:18]}; make the certificate again")
    if stated != digest(data):
        raise InputError(f"instance: the certificate is of another instance, of digest {show(stated)[:18]}")


def content_of(data: ProblemData, text: str) -> dict[str, Any]:
    """Return the fields of a JSON certificate of `data` without its header. Raises InputError if it is invalid."""
    content = parse_json(text)
    if not isinstance(content, dict):
        raise InputError(f"must be an object, got {show(content)}")
    see_version(content.pop("gapwise_certificate", None))
    see_instance(data, content.pop("problem", None), content.pop("instance", None))
    return content


def round_bound(bound: Fraction, sense: Sense) -> float:
    """Return the nearest float whose decimal representation is not a stronger bound than `bound`."""
    near = float(bound)
    if sense == "minimize":
        return math.nextafter(near, -math.inf) if Fraction(repr(near)) > bound else near
    return math.nextafter(near, math.inf) if Fraction(repr(near)) < bound else near


@dataclass(frozen=True)
class NoSolution(Proven):
    """State that the instance is infeasible: the `bound` is beyond the objective of every possible solution."""


class FrontProved(Protocol):
    """Collect the bounds of several certificates and verify a Pareto front of two objectives with them."""

    def add(self, text: str) -> None:
        """Add the bound that a certificate proves. Raises InputError if it is of another instance, and CheckFailed."""

    def see(self, content: Any) -> str:
        """Verify the front in `content`, the parsed JSON of a file, and return a short description of the proof.

        Raises InputError, and CheckFailed.
        """


Node = TypeVar("Node")
State = TypeVar("State")


def walk_tree(
    nodes: Sequence[Node], root: State, visit: Callable[[int, Node, State], Iterable[tuple[int, State]]]
) -> None:
    """Visit every node of a tree from the first one; `visit` returns the children of a node with their states.

    Raises CheckFailed unless each node is reached exactly once, and whatever `visit` raises.
    """
    waiting, seen = [(0, root)], set[int]()
    while waiting:
        place, state = waiting.pop()
        if place >= len(nodes) or place in seen:
            raise CheckFailed(f"nodes: {place} is not there, or in the tree twice")
        seen.add(place)
        waiting += visit(place, nodes[place], state)
    if len(seen) != len(nodes):
        raise CheckFailed(f"nodes: {len(nodes) - len(seen)} of them are not in the tree")
