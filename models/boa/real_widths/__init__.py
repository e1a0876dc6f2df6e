"""The problem of Lemma 4.8 of BOA as in the paper: real widths, and rescaling times at every change of width."""
