"""Peers of the exact methods for SIA's oracle."""
