"""The worker that we have a target's parent start. Run `worker.py` as a program; see README.md."""
