"""Do our intervals hold what they promise? Generators with known truth, and what was measured on them.

`measured.json` is written by `python -m benchmarks.analysis --calibrate` and printed in every report.
"""
