"""Reports: one module for each kind, all made from a `Summary`."""
