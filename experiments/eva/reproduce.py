"""Eva's tables and figures of simulations, and what its policies are held against here."""

from experiments.eva.bound_and_horizon import LIMITS
from experiments.eva.figures import FIGURES
from experiments.eva.tables import TABLES

EXPERIMENTS = (*TABLES, *FIGURES, *LIMITS)
