"""The envelope of an instance file: the problem, the source of the instance, and the known bounds on its optimum."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from instances.fields import Frozen, Name, Number, ProblemData, refuse
from instances.gaps import better


class Reference(Frozen):
    """Known facts about the optimum: the best objective, the best bound, and how they were proved."""

    objective: Annotated[Number | None, Field(description="best known objective")] = None
    bound: Annotated[Number | None, Field(description="best known bound")] = None
    proved_by: str | None = None


D = TypeVar("D", bound=ProblemData)

VERSION: Literal[1] = 1


def _version(value: Any) -> Any:
    """Accept only the integer 1, because `True` and 1.0 are equal to it in Python."""
    if type(value) is not int:
        refuse("", f"must be {VERSION}", value)
    return value


class Instance(Frozen, Generic[D]):
    """One instance: an envelope round the problem's own data."""

    gapwise: Annotated[Literal[1], BeforeValidator(_version)] = VERSION
    problem: str
    name: Name
    source: str = ""
    reference: Reference | None = None
    data: SerializeAsAny[D]

    @model_validator(mode="after")
    def _validate(self) -> Self:
        known = self.reference
        if known is None or known.objective is None or known.bound is None:
            return self
        if better(known.objective, known.bound, self.data.sense):
            side = "<=" if self.data.sense == "minimize" else ">="
            refuse("reference.bound", f"must be {side} reference.objective, {known.objective:g}", known.bound)
        return self

    @classmethod
    def of(cls, data: D, name: str, source: str = "", reference: Reference | None = None) -> Instance[D]:
        """Build an instance from `data`, which gives the name of the problem."""
        return cls(problem=data.problem, name=name, source=source, reference=reference, data=data)
