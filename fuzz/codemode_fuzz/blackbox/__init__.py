"""Any implementation, through its adapter or server: generated cases, put and judged by the suite.

Nothing here imports the reference or atheris.
"""
