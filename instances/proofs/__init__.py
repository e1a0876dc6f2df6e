"""Certificates: files that prove the bound of a result and can be checked without a solver.

This package contains programs and derivations. The folder of each paper contains the program of an instance and the
certificates that are not derivations, in `certificate.py`.
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
