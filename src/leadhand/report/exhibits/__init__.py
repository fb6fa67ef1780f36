"""Exhibits by what they are about. Each module has one `exhibits(evidence)`; `report.catalog` puts them in order."""
