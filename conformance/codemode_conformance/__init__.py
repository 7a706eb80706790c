"""The conformance suite: drives any implementation of Code Mode and judges its boundary."""
