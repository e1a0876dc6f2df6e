"""What the exact methods that branch share: a linear program that grows, the tree of a search, and its outcome."""
