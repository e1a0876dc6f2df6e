"""Eva's packing: methods, reference sets, benchmark."""
