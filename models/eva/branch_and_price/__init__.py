"""Branch-and-price for Eva's packing: a tree over linear programs of patterns, with exact bounds.

`tree` is the search. `node_program` has the linear program, and the integer duals that prove a bound. `pricer` has the
interface of pricing and the proof; `pricers` has two pricers. `relaxation` generates columns at a node, `branching`
selects the branching candidate, and `dive` searches for packings.
"""

from models.eva.branch_and_price.pricer import BranchAndPriceParameters, TreeProof
from models.eva.branch_and_price.pricers import ListedPricer, list_patterns
from models.eva.branch_and_price.tree import branch_and_price

__all__ = ["BranchAndPriceParameters", "ListedPricer", "TreeProof", "branch_and_price", "list_patterns"]
