"""Runs of methods and simulations: in killable processes, kept as they finish, taken up again where they ended."""
