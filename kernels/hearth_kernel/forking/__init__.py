"""What a fork would copy, share or do that a session's kernel has no use for.

A kernel copies each page of its zygote that it writes to.
"""
