"""Eva's families of random small instances, and their optima by enumeration in fractions."""

from __future__ import annotations

from tests.attacks.families import Family

FAMILIES: tuple[Family, ...] = ()
