"""Programs through the reference's real worker: the slow lane."""
