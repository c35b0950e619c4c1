"""The parts of every job: its socket, its sandbox, and the way out of that."""
