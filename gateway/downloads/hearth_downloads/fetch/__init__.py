"""The fetch worker: downloads one file into a cache that sessions share.

The client that speaks with the server runs in a sandbox. The worker is its only
way out, hashes what it has written, and hands a descriptor to the gateway.
"""
