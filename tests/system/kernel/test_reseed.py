"""Random state that a fork shares, and that OpenSSL might not notice."""

import os
import subprocess
import sys
from pathlib import Path

from gateway import LONG

KERNELS = Path(__file__).resolve().parents[3] / "kernels"

# OpenSSL knows a fork by the process id, which can be the same in another
# namespace: a process that has the zygote's id stands for that.
ASKED = """
import os, ssl
from hearth_kernel import reseed
ssl.RAND_bytes(1)
added = []
ssl.RAND_add = lambda words, entropy: added.append((len(words), entropy))
reseed.reseed()
print(added, flush=True)
if os.fork() == 0:
    reseed.reseed()
    print(len(added), flush=True)
    os._exit(0)
os.wait()
"""


def test_openssl_is_reseeded_where_it_sees_no_fork():
    told = subprocess.run(
        [sys.executable, "-c", ASKED],
        env={**os.environ, "PYTHONPATH": str(KERNELS)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=LONG,
        check=True,
    )
    assert told.stdout.splitlines() == ["[(32, 32.0)]", "1"]
