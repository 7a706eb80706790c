"""Templates of `cmconf init`: a target file, an adapter, and a stand-in that works at once."""
