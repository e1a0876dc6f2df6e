"""Check JSON certificates independently, from docs/certificates.md and docs/formats.md alone.

It shares no line with `instances/proofs` and imports nothing of the project: plain Python, whole numbers and fractions,
and other algorithms wherever the format leaves a choice. VIPR files have `tests/certificates/vipr_check.py`.
"""
