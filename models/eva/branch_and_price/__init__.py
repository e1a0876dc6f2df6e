"""Branch-and-price for Eva's packing: a tree over linear programs of patterns, with exact bounds.

`tree` is the search. `node_program` is the linear program, with the whole-number duals that prove a bound; `pricer`
what it asks of pricing, and what is left of it all as a proof; `listed_pricer` prices over listed patterns,
`search_pricer` by exact search. `branching` chooses what to branch on, and dives for packings.
"""

from models.eva.branch_and_price.listed_pricer import ListedPricer, list_patterns
from models.eva.branch_and_price.parameters import BranchAndPriceParameters
from models.eva.branch_and_price.pricer import Proof
from models.eva.branch_and_price.tree import Outcome, branch_and_price

__all__ = ["BranchAndPriceParameters", "ListedPricer", "Outcome", "Proof", "branch_and_price", "list_patterns"]
