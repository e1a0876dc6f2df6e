"""Peers of the exact methods for Eva's packing."""
