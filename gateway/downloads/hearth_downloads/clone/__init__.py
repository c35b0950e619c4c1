"""The clone worker: copies of git repositories, from a cache of mirrors.

git runs in a sandbox, and the worker is its only way out. What git has left is
read when no program is left, and handed to the gateway as one file.
"""
