"""Problems: typed and validated data, the file format, generators, trace loaders and independent checkers.

This layer imports no other layer.
"""

from instances.clock import Stopwatch
from instances.envelope import Instance, Reference
from instances.errors import CheckFailed, InputError, MalformedSolution, OutputError
from instances.fields import ProblemData, Verdict
from instances.files import dump, json_schema, load, parse, save
from instances.gaps import agree, better, gap
from instances.online import Workload
from instances.options import Options, Report, Solution
from instances.registry import PROBLEMS, WORKLOADS, check
from instances.result import Answer, Result, conclude

__all__ = [
    "PROBLEMS",
    "WORKLOADS",
    "Answer",
    "CheckFailed",
    "InputError",
    "Instance",
    "MalformedSolution",
    "Options",
    "OutputError",
    "ProblemData",
    "Reference",
    "Report",
    "Result",
    "Solution",
    "Stopwatch",
    "Verdict",
    "Workload",
    "agree",
    "better",
    "check",
    "conclude",
    "dump",
    "gap",
    "json_schema",
    "load",
    "parse",
    "save",
]
