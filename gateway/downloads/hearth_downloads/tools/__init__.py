"""The tools worker: a tool server that is reached by a URL.

To the gateway it is a server of the Model Context Protocol on standard input
and output, like a program. It passes each request on by streamable HTTP.
"""
