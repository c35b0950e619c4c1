"""Workers for what is outside: sessions have no network of their own.

The gateway starts one process for each job. Programs that read what strangers
have written run in a sandbox, and a process of hearth's is their only way out.
`core` has what all jobs share, `packages` adds packages of an index, `fetch`
downloads a file, and `clone` copies a git repository. `tools` is no job: it
answers calls of a tool server for as long as the gateway runs.
"""
