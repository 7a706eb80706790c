"""The suite's side of the adapter protocol: what a target prints is hostile."""
