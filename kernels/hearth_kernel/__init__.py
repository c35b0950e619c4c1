"""The part of hearth that runs inside a Python interpreter.

A zygote (zygote.py) warms an interpreter up and forks kernels. A kernel
(kernel.py) serves one session over the kernel link (_link), inside the sandbox
that _sandbox entered before.
"""

__version__ = "0.1.0"
