"""Peers of the exact methods for pods on given nodes."""
