"""The problem of Lemma 4.8 of BOA: integer widths, and rescaling times at every change of width."""
