#!/bin/sh
# Fails when the synchronous half of the Python client, or its version, is not
# what clients/python/generate.py makes of the asynchronous half and configure.ac.
set -eu
cd "${1:-${srcdir:-.}}"
PYTHONDONTWRITEBYTECODE=1 exec python3 clients/python/generate.py --check
