"""SIA's oracle and schedulers: methods, reference sets, benchmark, Figure 5 and simulation."""
