"""Leadhand runs teams of coding agents and measures what every team design earns and costs."""

__version__ = "0.1.0.dev0"
