"""What a process that is copied has done once for all its copies: numba's own functions are listed, 0.3 s a time.

Not a solver's run: its threads would not be in the copies.
"""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
