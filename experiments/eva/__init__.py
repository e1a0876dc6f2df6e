"""Eva's packing: methods, reference sets, benchmark and what else is the paper's own."""
