"""Model servers for the benchmarks, each in a process of its own on the last core."""
