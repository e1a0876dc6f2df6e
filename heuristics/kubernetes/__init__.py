"""kube-scheduler's scores of nodes, by which it places the pods that wait one after another."""

from heuristics.kubernetes.scores import balanced_allocation, least_allocated, most_allocated

__all__ = ["balanced_allocation", "least_allocated", "most_allocated"]
