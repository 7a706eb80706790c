"""The fuzzing kit: oracles, structured mutators, atheris targets, triage, replay."""
