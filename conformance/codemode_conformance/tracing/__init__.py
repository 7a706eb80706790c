"""Evidence of level A: each process below an adapter is followed from its first moment to its last.

`program` is the tracer, a process of its own; `tracer` is the end of the harness.
"""
