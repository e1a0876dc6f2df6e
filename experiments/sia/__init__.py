"""SIA's oracle and its schedulers: methods, reference sets, benchmark and what else is the paper's own."""
