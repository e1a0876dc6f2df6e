"""Specifications of papers, problems and studies: names of their parts, which are imported when they are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ProblemSpec:
    """A problem, or a workload, with its parts. Each part is a `module:name`, or `None` if there is none.

    - `methods`: the table of its methods, exact ones first.
    - `literal`, `literal_names`: the builder of the literal Pyomo model, and the names of its indices.
    - `certifier`, `vipr`: the writer of certificates in JSON, and the same as VIPR.
    - `plan`, `plot`: a solution in words and as a picture; a solution without words is shown as a table.
    - `next_best`: the search for the best plan of another kind than the optimum.
    - `front`, `front_certifier`: the front of two objectives with flags of its own, and its certificates.
    - `trace`: the reader of an instance from a job trace.
    - `online`: the table of simulations.
    - `drawing`: the generator of instances for `gapwise draw`.
    - `spaces`: the table of the spaces of worst cases; the first space of a problem has its name.
    """

    name: str
    methods: str | None = None
    literal: str | None = None
    literal_names: str | None = None
    certifier: str | None = None
    vipr: str | None = None
    plan: str | None = None
    plot: str | None = None
    next_best: str | None = None
    front: str | None = None
    front_certifier: str | None = None
    trace: str | None = None
    online: str | None = None
    drawing: str | None = None
    spaces: str | None = None


@dataclass(frozen=True)
class Recording:
    """A record of a study: the parameters for the record, and those that replace or extend them for its probe.

    A path is a trace.
    """

    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    probe: Mapping[str, Any] = field(default_factory=lambda: {"quick": True})


@dataclass(frozen=True)
class StudySpec:
    """A study for a table of the docs: its name, the `module:function` that returns a `Study`, and its records."""

    name: str
    target: str
    records: Sequence[Recording] = ()


@dataclass(frozen=True)
class PaperSpec:
    """A paper: its problems and workloads, its studies, its judge's tasks by name, and its row of the overview."""

    problems: Sequence[ProblemSpec]
    studies: Sequence[StudySpec]
    judged: Mapping[str, str] = field(default_factory=dict)
    overview: str | None = None
