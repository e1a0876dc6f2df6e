"""What the exact methods that branch share: `linear_program`, a linear program that grows, and `tree`, the search."""
