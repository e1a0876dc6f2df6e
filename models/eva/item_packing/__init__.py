"""Eva's packing where hardly two tasks are alike: branch-and-price over single tasks.

`search` is the method. `knapsack` and `pricing` price patterns by branch and bound over tasks, `relaxation` solves the
linear program, `dives` find packings, or that there is none, `single_tasks` begins. `pack_items` is imported from
`search` where it is used, for it loads compiled code.
"""

from models.eva.item_packing.parameters import ItemParameters, suits

__all__ = ["ItemParameters", "suits"]
