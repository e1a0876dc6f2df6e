"""What proves a bound of `boa-allocation`: a price of the budget, and least costs of runs in rational numbers."""
