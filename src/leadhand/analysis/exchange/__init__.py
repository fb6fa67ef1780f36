"""Trajectories of other tools: mini-swe-agent's `.traj.json` and Harbor's ATIF, in and out."""
