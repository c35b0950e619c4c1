"""A stand-in for the zygote: warm, then a kernel without a sandbox by os.fork
for each line of standard input: the path of its socket, the bytes it retains.
Answers with the kernel's pid.
"""

import os
import signal
import socket
import sys


def main():
    from hearth_kernel import kernel, warm
    from hearth_kernel.forking import reseed

    warm.warm(sys.argv[1:])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        path, retain, folder = line.rstrip("\n").split("\t")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen(4)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            os.chdir(folder)
            reseed.reseed()
            null = os.open("/dev/null", os.O_RDWR)
            os.dup2(null, 0)
            kernel.main(listener.detach(), int(retain))
        listener.close()
        print(pid, flush=True)


if __name__ == "__main__":
    main()
