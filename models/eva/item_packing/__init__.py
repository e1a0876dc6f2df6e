"""Packing of almost distinct tasks: column generation and branch-and-price over single tasks.

`search` is the method. `knapsack` and `pricing` price patterns by branch and bound over tasks. `single_tasks` splits
classes into tasks and packs them by best fit. `pattern_dive` searches for packings over listed patterns. `pack_items`
is imported from `search` only at its use, because it loads compiled code.
"""

from models.eva.item_packing.parameters import ItemParameters, suits

__all__ = ["ItemParameters", "suits"]
