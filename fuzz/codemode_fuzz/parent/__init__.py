"""The parent against any worker stream, with operations and a clock as data."""
