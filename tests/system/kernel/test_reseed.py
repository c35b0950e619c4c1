"""Random state that a fork shares, and that OpenSSL might not notice."""

from pathlib import Path

from conftest import run_python

KERNELS = Path(__file__).resolve().parents[3] / "kernels"

# OpenSSL recognises a fork by the process id, which can be the same in another
# namespace: here a process has the zygote's id.
ASKED = """
import os, ssl
from hearth_kernel.forking import reseed
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


def test_openssl_is_reseeded_if_it_does_not_notice_forks():
    reported = run_python(ASKED, package=KERNELS)
    assert reported.splitlines() == ["[(32, 32.0)]", "1"]
