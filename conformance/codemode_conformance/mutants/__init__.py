"""Mutants: variants of the reference with one fault each, which the cases must find."""
