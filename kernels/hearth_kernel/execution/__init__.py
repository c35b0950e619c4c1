"""Cells of a session: run, interrupted, rehearsed, and what they changed."""
