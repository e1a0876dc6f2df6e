"""Eva's packing where hardly two tasks are alike: branch-and-price over single tasks.

`solve` is the method, `search` its steps. `knapsack` and `pricing` price patterns by branch and bound over tasks,
`master` and `relaxation` solve the linear program, `dive` and `enumeration` find packings, `tree` branches on pairs of
tasks, `spends` goes through the numbers of instances of each type.
"""

from models.eva.item_packing.parameters import ItemParameters
from models.eva.item_packing.search import ItemOutcome
from models.eva.item_packing.solve import pack_items, suits

__all__ = ["ItemOutcome", "ItemParameters", "pack_items", "suits"]
