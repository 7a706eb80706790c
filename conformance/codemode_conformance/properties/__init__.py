"""Properties: programs that nobody wrote by hand, put to a target and compared with the model."""
