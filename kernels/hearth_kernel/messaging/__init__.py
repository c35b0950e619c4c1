"""Jupyter's messages as code makes them: outputs, comms, and their parents."""
