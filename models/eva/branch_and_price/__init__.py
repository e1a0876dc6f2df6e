"""Branch-and-price for Eva's packing: a tree over linear programs of patterns, with exact bounds.

`solve` runs it, `tree` is the search. `node_program` is the linear program, `pricer` what it asks of pricing,
`listed_pricer` pricing over listed patterns. `exact_bound` makes duals whole numbers and proves a bound by them,
`branching` chooses what to branch on, `diving` finds packings, `proof` is what is left of it all.
"""

from models.eva.branch_and_price.listed_pricer import ListedPricer, list_patterns
from models.eva.branch_and_price.parameters import BranchAndPriceParameters
from models.eva.branch_and_price.proof import Proof
from models.eva.branch_and_price.solve import Outcome, branch_and_price

__all__ = ["BranchAndPriceParameters", "ListedPricer", "Outcome", "Proof", "branch_and_price", "list_patterns"]
