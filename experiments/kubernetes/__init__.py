"""Pods on given nodes: methods, reference sets, drawings and pictures."""
