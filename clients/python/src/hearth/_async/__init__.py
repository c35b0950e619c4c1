"""The client; see hearth.aio for the names that are public."""
