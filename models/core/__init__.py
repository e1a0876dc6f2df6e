"""Shared parts of the exact methods: a growing linear program, column generation, a search tree, and its outcome."""
