"""Pages and state that a fork copies or shares, so that a kernel costs little.

A kernel copies each page of its zygote that it writes to.
"""
