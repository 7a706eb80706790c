"""The commands of `cmconf`: one module each, with `add` for its arguments and `execute`."""
