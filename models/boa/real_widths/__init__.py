"""The problem of Lemma 4.8 of BOA as the paper has it: real widths, and rescaling times at every change of width."""
