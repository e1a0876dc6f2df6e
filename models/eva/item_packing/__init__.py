"""Eva's packing where hardly two tasks are alike: branch-and-price over single tasks.

`choice` says where, `solve` is the method, `search` its steps. `knapsack` and `pricing` price patterns by branch and
bound over tasks, `master` and `relaxation` solve the linear program, `dive` and `enumeration` find packings, `tree`
branches on pairs of tasks, `spends` goes through the numbers of instances of each type. `pack_items` is imported from
`solve` where it is used, for it loads compiled code.
"""

from models.eva.item_packing.choice import suits
from models.eva.item_packing.parameters import ItemParameters

__all__ = ["ItemParameters", "suits"]
