"""Errors as their reader gets them: a cause in words, and a traceback."""
