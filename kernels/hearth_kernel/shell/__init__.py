"""IPython's shell in a kernel: what is otherwise than IPython's own."""
