"""What the exact methods over columns share: `linear_program`, a linear program that grows, and `outcome`."""
