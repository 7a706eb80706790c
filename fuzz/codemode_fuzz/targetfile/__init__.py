"""Target files: whoever writes one gets a clear error or a target."""
