"""Policies: which field of one is invalid, by two readings of the same tables."""
