"""The packages worker: adds packages of an index to a session.

The worker runs uv in a sandbox, is its only way to the index, judges what uv
has installed, and shows it to the session. Nothing here runs code of a package.
"""
