"""The literal method of Aryl's three problems: the paper's formulation in Pyomo, solved by HiGHS."""

from __future__ import annotations

from instances import Answer, Options, Report
from instances.aryl import ArylElastic, ArylPlacement, ArylReclaim
from instances.method import method


@method("exact")
def literal(data: ArylElastic | ArylReclaim | ArylPlacement, options: Options, report: Report) -> Answer:
    """Solve the paper's formulation, constraint by constraint, with HiGHS."""
    if isinstance(data, ArylReclaim):  # Pyomo is imported only where a model is built: that takes a second.
        from models.aryl.literal_reclaim import literal_reclaim

        return literal_reclaim(data, options, report)
    if isinstance(data, ArylPlacement):
        from models.aryl.literal_placement import literal_placement

        return literal_placement(data, options, report)
    from models.aryl.literal_elastic import literal_elastic

    return literal_elastic(data, options, report)
