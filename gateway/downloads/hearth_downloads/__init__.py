"""Workers that bring what a session without a network gets from outside.

The gateway starts one process for each job. Programs that read what strangers
have written run in a sandbox, and a process of hearth's is their only way out.
`core` has what all jobs share, and `packages` adds packages of an index.
"""
