# Made by generate.py from _async/__init__.py; change that instead.
"""The client; see hearth for the names that are public."""
