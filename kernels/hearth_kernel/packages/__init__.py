"""Packages that a session's code asks for: `%pip`, and what was added."""
