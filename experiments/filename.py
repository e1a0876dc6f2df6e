"""Names of result files: no two results share one, on no file system."""

from __future__ import annotations

import hashlib
import re

PLAIN = re.compile(r"[a-z0-9][a-z0-9_+-]*(\.[a-z0-9_+-]+)*")
MOST = 60  # characters of a name that are kept as they are
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def result_file(instance: str, method: str) -> str:
    """The name of the file for the result of `method` on `instance`.

    A short name of small letters, digits and `._+-` stays as it is. Any other is made of those and followed by `~`,
    which no plain name has, and a digest: some file systems take capitals for small letters.
    """
    return f"{_part(instance, dots=True)}.{_part(method, dots=False)}.json"


def _part(name: str, dots: bool) -> str:
    plain = PLAIN.fullmatch(name) and len(name) <= MOST and not RESERVED.fullmatch(name)
    if plain and (dots or "." not in name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    readable = re.sub(r"[^a-z0-9_+]+", "-", name.lower())[:MOST].strip("-")
    return f"{readable}~{digest}"
