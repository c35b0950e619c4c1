#!/bin/bash
# run.sh BUILD FOLDER: a Debian with systemd and control groups of version 2 in
# a virtual machine, hearth in it by `make install`, and the tests of sandbox
# and limits, as the service, as root and as a user (inside.sh). Needs root for
# mmdebstrap, and qemu-system-x86, mmdebstrap, e2fsprogs. With KVM it takes two
# minutes, by emulation twenty. FOLDER keeps Debian's files for the next time.
set -euo pipefail

build=$(realpath "$1")
folder=$2
top=$(realpath "$(dirname "$0")/../..")
seconds=${HEARTH_VM_SECONDS:-1500}
packages=(
    linux-image-cloud-amd64 systemd-sysv dbus dbus-user-session libpam-systemd
    udev util-linux kmod procps libzmq5 libczmq4 libjansson4 libsodium23
    libseccomp2 libssl3 libwebsockets17 libcmocka0
    python3 python3-ipython python3-matplotlib-inline python3-comm
    python3-pytest python3-jupyter-client python3-zmq
)

mkdir -p "$folder"
folder=$(realpath "$folder")
cd "$folder"

# Debian's part, once for each list of packages.
debian=debian-$(echo "${packages[*]}" | sha256sum | head -c 12).tar
if [ ! -e "$debian" ]; then
    mmdebstrap --variant=minbase --include="$(IFS=, && echo "${packages[*]}")" \
        bookworm new.tar
    rm -f debian*.tar
    mv new.tar "$debian"
fi

# Ours, each time.
rm -rf root
mkdir root
tar -xf "$debian" -C root
make -s -C "$build" install DESTDIR="$folder/root" >/dev/null 2>&1
mkdir -p root/hearth/build/tests root/hearth/build/sandbox
cp -a "$top/tests" root/hearth/
cp -a "$build/tests/sandbox" root/hearth/build/tests/
cp -a "$build/sandbox/hearth-init" root/hearth/build/sandbox/
find root/hearth/build -name '*.o' -delete
cat >root/etc/systemd/system/inside.service <<'UNIT'
[Unit]
After=multi-user.target systemd-user-sessions.service
[Service]
Type=oneshot
ExecStart=/bin/bash /hearth/tests/vm/inside.sh
ExecStopPost=/sbin/poweroff -f
StandardOutput=journal+console
StandardError=journal+console
TimeoutStartSec=infinity
[Install]
WantedBy=multi-user.target
UNIT
mkdir -p root/etc/systemd/system/multi-user.target.wants
ln -sf ../inside.service root/etc/systemd/system/multi-user.target.wants/
# Small enough to be reached soon by emulation.
cat >root/usr/local/etc/hearth/hearth.cfg <<'CONFIG'
profile
    python3
        limits
            memory = 192M
CONFIG
# The console is ours alone: a login there would hang it up.
ln -sf /dev/null root/etc/systemd/system/serial-getty@ttyS0.service
echo hearth >root/etc/hostname
echo '/dev/vda / ext4 rw 0 0' >root/etc/fstab
kernel=$(find root/boot -name 'vmlinuz-*' | sort | tail -n 1)
initrd=$(find root/boot -name 'initrd.img-*' | sort | tail -n 1)
cp "$kernel" vmlinuz
cp "$initrd" initrd.img

rm -f disk.img
truncate -s 4G disk.img
mke2fs -q -t ext4 -d root disk.img
rm -rf root

# KVM may be there and not run a kernel: a machine that is itself a guest.
how=(-accel "tcg,thread=multi" -cpu max)
kvm=(-accel kvm -cpu "host,-arch-capabilities")
if [ -w /dev/kvm ] && timeout 20 qemu-system-x86_64 "${kvm[@]}" -m 512 \
    -display none -monitor none -no-reboot -serial stdio -nic none \
    -kernel vmlinuz -append 'console=ttyS0 panic=-1' </dev/null 2>/dev/null |
    grep -q 'Linux version'; then
    how=("${kvm[@]}")
fi
echo "vm: ${how[*]}, at most $seconds s"
timeout "$seconds" qemu-system-x86_64 "${how[@]}" -m 3072 -smp 2 \
    -display none -monitor none -no-reboot -serial stdio -nic none \
    -kernel vmlinuz -initrd initrd.img \
    -append 'root=/dev/vda rw console=ttyS0 systemd.unified_cgroup_hierarchy=1 systemd.show_status=no' \
    -drive file=disk.img,format=raw,if=virtio,cache=unsafe </dev/null |
    tee console.log
rm -f disk.img
grep -q 'VM: all passed' console.log
