"""Aryl's elastic jobs, loans and placement: methods, reference sets, benchmark and what else is the paper's own."""
