"""Peers of the exact methods for BOA's allocation."""
