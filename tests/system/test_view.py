"""What a session sees of /, /etc, /dev, /sys and /proc: exactly this.

A name that is not here is a finding: of a change of ours, or of a kernel that
has a new file in /proc.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from client import Client
from harness import Gateway

# Made by the sandbox, and what is in them.
ETC = {
    "group": "kernel:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": (
        "passwd: files\ngroup: files\nhosts: files\nservices: files\n"
    ),
    "passwd": (
        "kernel:x:1000:1000:kernel:/workspace:/bin/sh\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    ),
    "resolv.conf": "",
}
# The host's, if it has them: none says who uses the machine.
ETC_OF_THE_HOST = {
    "alternatives",
    "ca-certificates",
    "fonts",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "magic",
    "matplotlibrc",
    "mime.types",
    "pki",
    "protocols",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
    "services",
    "ssl",
    "timezone",
}
DEV = {
    "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin",
    "stdout", "urandom", "zero",
}  # fmt: skip
# Covered, or not there: empty.
HIDDEN = {
    "acpi", "asound", "bus", "cmdline", "config.gz", "driver", "fs",
    "interrupts", "iomem", "ioports", "irq", "kallsyms", "kcore", "key-users",
    "keys", "kmsg", "latency_stats", "locks", "modules", "sched_debug", "scsi",
    "softirqs", "sysrq-trigger", "timer_list", "timer_stats",
}  # fmt: skip
# For root alone, by the system's own rules.
REFUSED = {
    "kpagecgroup", "kpagecount", "kpageflags", "mtrr", "pagetypeinfo",
    "slabinfo", "vmallocinfo",
}  # fmt: skip
# Of the session's own namespaces.
OWN = {"mounts", "net", "self", "sys", "sysvipc", "thread-self"}
# Of the machine: how much it has and how busy it is, what its kernel can.
MACHINE = {
    "buddyinfo", "cgroups", "consoles", "cpuinfo", "crypto", "devices",
    "diskstats", "dma", "dynamic_debug", "execdomains", "fb", "filesystems",
    "loadavg", "mdstat", "meminfo", "misc", "partitions", "pressure",
    "schedstat", "stat", "swaps", "tty", "uptime", "version",
    "version_signature", "vmstat", "zoneinfo",
}  # fmt: skip

LOOK = """
import os
def read(path):
    try:
        if os.path.isdir(path):
            return len(os.listdir(path))
        with open(path, 'rb') as file:
            return len(file.read(4096))
    except PermissionError:
        return None
seen = {name: read('/proc/' + name) for name in os.listdir('/proc')}
"""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    gateway = Gateway("--set", "profile/python3/pool/min=0")
    try:
        gateway.start()
        client = gateway.create().client()
        yield client
        client.close()
    finally:
        gateway.end()


def listing(client: Client, folder: str) -> set[str]:
    return set(client.value(f"__import__('os').listdir({folder!r})"))


def test_etc_is_made_up(client: Client) -> None:
    there = {name for name in ETC_OF_THE_HOST if Path("/etc", name).exists()}
    assert listing(client, "/etc") == {*ETC, "mtab"} | there
    for name, text in ETC.items():
        assert client.value(f"open('/etc/{name}').read()") == text
    assert client.value("__import__('os').readlink('/etc/mtab')") == (
        "/proc/self/mounts"
    )
    # Of these folders a part.
    if "ssl" in there:
        assert listing(client, "/etc/ssl") <= {"certs", "openssl.cnf"}
    if "pki" in there:
        assert listing(client, "/etc/pki") <= {"tls"}


def test_dev_is_made_up(client: Client) -> None:
    assert listing(client, "/dev") == DEV
    assert listing(client, "/dev/pts") == {"ptmx"}
    assert listing(client, "/dev/shm") == set()


def test_sys_is_one_file(client: Client) -> None:
    seen: Any = client.value("list(__import__('os').walk('/sys'))")
    assert seen == [
        ("/sys", ["devices"], []),
        ("/sys/devices", ["system"], []),
        ("/sys/devices/system", ["cpu"], []),
        ("/sys/devices/system/cpu", [], ["online"]),
    ]


def test_the_root_has_the_places_of_python(client: Client) -> None:
    """And nothing of what else is in the folders on the way to them."""
    places = client.value(
        "import sys, hearth_kernel\n"
        "[sys.prefix, sys.base_prefix, hearth_kernel.__path__[0],"
        " *(path for path in sys.path if path)]"
    )
    system = {
        name
        for name in ("bin", "lib", "lib32", "lib64", "sbin")
        if os.path.lexists(f"/{name}")
    }
    assert listing(client, "/") == {
        "dev", "etc", "proc", "run", "sys", "tmp", "usr", "var", "workspace",
        *system, *(path.split("/")[1] for path in places),
    }  # fmt: skip
    assert listing(client, "/run") == set()
    assert listing(client, "/var") == {"lib", "tmp"}
    assert listing(client, "/var/lib") == set()
    for place in places:
        folder = Path(place).parent
        while folder != folder.parent and not str(folder).startswith("/usr"):
            inside = listing(client, str(folder))
            assert all(
                any(
                    other == f"{folder}/{name}"
                    or other.startswith(f"{folder}/{name}/")
                    or f"{folder}/{name}".startswith(f"{other}/")
                    for other in places
                )
                for name in inside
            ), (folder, inside)
            folder = folder.parent


def test_proc_has_these_and_no_others(client: Client) -> None:
    seen = client.value(f"{LOOK}\nseen")
    numbers = {name for name in seen if name.isdigit()}
    assert numbers == {"1", "3"}  # 2 was the builder
    names = set(seen) - numbers
    assert names <= HIDDEN | REFUSED | OWN | MACHINE
    assert not {name for name in names & HIDDEN if seen[name] != 0}
    assert not {name for name in names & REFUSED if seen[name] is not None}


def test_the_command_line_names_visible_paths(client: Client) -> None:
    """The profile, which may name other places, is not among them."""
    words = client.value("open('/proc/self/cmdline').read()").split("\0")
    assert len(words) == 5
    assert words[1:3] == ["-I", "-c"]
    assert words[4] == ""
    assert client.value(f"__import__('os').path.exists({words[0]!r})")
    assert words[3].startswith("import sys; sys.path.insert(0, '")
    package = words[3].split("'")[1]
    assert client.value(f"__import__('os').listdir({package!r})") == [
        "hearth_kernel"
    ]
    assert client.value("open('/proc/1/cmdline').read()").startswith(
        "hearth-init\0"
    )
