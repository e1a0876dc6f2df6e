"""Define the array types that all layers share, and a portable exponential function."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

# scipy imports every module that numpy lists; f2py, an interface to Fortran, takes a fifth of a command's start
with suppress(AttributeError, LookupError, ValueError):
    np.__all__.remove("f2py")
    np.__numpy_submodules__.remove("f2py")

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def exponentials(values: FloatArray) -> FloatArray:
    """Return e to the power of each value, by the C library: numpy's result differs by processor in the last digit."""
    return np.array([math.exp(value) for value in values.tolist()])
