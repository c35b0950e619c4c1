# Made by generate.py from configure.ac; change that instead.

__version__ = "0.1.0"
