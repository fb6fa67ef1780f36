"""Tasks in Harbor's format (Terminal-Bench-style sets): a machine, an instruction, tests that leave a reward."""
