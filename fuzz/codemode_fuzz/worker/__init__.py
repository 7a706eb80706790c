"""The reference's worker, a real process, against any parent stream: the slow lane."""
