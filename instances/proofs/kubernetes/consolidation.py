"""What a certificate of `node-consolidation` proves: a VIPR file of the program of totals, which is built anew."""

from __future__ import annotations

from instances.kubernetes.node_consolidation import NodeConsolidation
from instances.proofs.certificate import Proven
from instances.proofs.derivation import proven_of
from instances.proofs.kubernetes.totals_program import TotalsProgram
from instances.proofs.vipr import read_vipr


def prove_consolidation(data: NodeConsolidation, text: str) -> Proven:
    """What the VIPR file `text` proves of the least cost. Raises InputError, or CheckFailed where it does not hold."""
    file = read_vipr(text)
    totals = TotalsProgram(data)
    if file.program.variables != tuple(totals.place):  # both programs hold; the names of the variables tell which it is
        totals = TotalsProgram(data, by_node=True)
    proven = proven_of(data, totals.program(), file)
    return Proven(totals.usd_per_hour(proven.bound), proven.how)
