"""The executable model: what a conforming boundary answers, without I/O and without a clock.

It reads the same tables as everything else and shares no code with the reference: the two are
independent readings. Every function takes a state and gives the next one, so that equal inputs
give equal answers; the order of replies is an input, and time is the event that it is up.
"""
