"""Programs before they run: their tokens, their last expression, the patterns that are refused."""
