"""ProgramBench: 200 programs to be rebuilt from their behaviour, graded by their authors' own evaluator."""
