"""Return what a JSON certificate proves of an instance, for any problem."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tests.certificates.second import boa, packing, sia
from tests.certificates.second.reading import FORMATS, certificate, see, whole_data


def proves(instance: Any, text: str) -> Fraction | None:
    """Return the bound that the text proves, `None` if it proves infeasibility.

    `instance`: the content of an instance file. Raises Refused.
    """
    problem = instance["problem"]
    see(problem in FORMATS, f"no certificates in JSON are of {problem}")
    data = whole_data(FORMATS[problem], instance["data"])
    content = certificate(text, problem, data)
    if problem == "eva-packing":
        see(data["objective"] == "cost", "a net saving is proved in VIPR")
        return packing.Packing(data).checked(content)
    if problem == "node-placement":
        return packing.placement(data, content)
    return boa.checked(data, content) if problem == "boa-allocation" else sia.Delays(data).checked(content)
