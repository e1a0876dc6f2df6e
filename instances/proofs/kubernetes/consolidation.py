"""Verify a certificate of `node-consolidation`: a VIPR file of the aggregated program, which is built again."""

from __future__ import annotations

from instances.kubernetes.node_consolidation import NodeConsolidation
from instances.proofs.certificate import Proven
from instances.proofs.derivation import proven_of
from instances.proofs.kubernetes.totals_program import TotalsProgram
from instances.proofs.vipr import read_vipr


def prove_consolidation(data: NodeConsolidation, text: str) -> Proven:
    """Return the bound on the minimum cost that the VIPR file `text` proves.

    Raises InputError, or CheckFailed if the derivation does not hold.
    """
    file = read_vipr(text)
    totals = TotalsProgram(data)
    if file.program.variables != tuple(totals.place):  # variable names show which program it is
        totals = TotalsProgram(data, by_node=True)
    proven = proven_of(data, totals.program(), file)
    return Proven(totals.usd_per_hour(proven.bound), proven.how)
