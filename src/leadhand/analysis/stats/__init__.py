"""Statistics over tasks. Numbers in, frozen values out; no journal, no design, no text is known here.

The task is the unit everywhere: repeats of a task are averaged before anything in this package sees them.
"""
