"""Branch-and-price for Eva's packing: a tree over linear programs of patterns, with exact bounds.

`tree` is the search. `node_program` is the linear program, with the whole-number duals that prove a bound; `pricer` is
what it asks of pricing, and what is left of it all as a proof; `pricers` are two that price. `branching` chooses
what to branch on, and dives for packings.
"""

from models.eva.branch_and_price.pricer import BranchAndPriceParameters, TreeProof
from models.eva.branch_and_price.pricers import ListedPricer, list_patterns
from models.eva.branch_and_price.tree import branch_and_price

__all__ = ["BranchAndPriceParameters", "ListedPricer", "TreeProof", "branch_and_price", "list_patterns"]
