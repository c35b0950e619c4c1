"""Hostile snippets, and what runs them through real sessions."""
