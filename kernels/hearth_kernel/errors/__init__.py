"""What an error's reader gets to know: its cause in words, and a traceback."""
