"""Certificates: what proves the bound of a result, in files that can be checked without any solver.

This package knows programs and derivations; what an instance's own program is, and certificates that are no
derivations, are in the folder of its paper, `certificate.py`.
"""

from instances.proofs.certificate import Certificate, NoCertificate, Proven, digest
from instances.proofs.derivation import proven_by, proven_of
from instances.proofs.vipr import Derived, Program, Reason, Row, Vipr, read_vipr, write_vipr

__all__ = [
    "Certificate",
    "Derived",
    "NoCertificate",
    "Program",
    "Proven",
    "Reason",
    "Row",
    "Vipr",
    "digest",
    "proven_by",
    "proven_of",
    "read_vipr",
    "write_vipr",
]
