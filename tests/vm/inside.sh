#!/bin/bash
# inside.sh PART [N/M]: one part of what run.py is for, in the virtual machine,
# or the Nth of M shares of its pytests. What is found is said in lines of TAP
# or of pytest. Slow by emulation: deadlines of
# the tests (HEARTH_DEADLINE) are longer than a zygote may take to warm up.
set -uo pipefail
export HEARTH_MUST_WORK=1 HEARTH_HAS_CGROUPS=1 HEARTH_DEADLINE=480
export HEARTH_FEW_GATEWAYS=1 HEARTH_SHARE=${2:-1/1}
export PYTHONDONTWRITEBYTECODE=1 LANG=C.UTF-8 CMOCKA_MESSAGE_OUTPUT=TAP
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
readonly PROGRAM=/usr/local/bin/hearth
readonly GROUP=/sys/fs/cgroup/system.slice/hearth.service
cd /hearth || exit 1
bad=0

# check SENTENCE COMMAND...
check() {
    local sentence=$1
    shift
    if "$@" >/tmp/check.log 2>&1; then
        echo "ok - $sentence"
    else
        bad=$((bad + 1))
        echo "not ok - $sentence"
        tail -n 40 /tmp/check.log | sed 's/^/# /'
        journalctl -u hearth -n 8 --no-pager 2>/dev/null | sed 's/^/# /'
    fi
}

wait_until() { # COMMAND...
    for _ in $(seq 240); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.5
    done
    echo "not within two minutes: $*"
    return 1
}

# --- The service ------------------------------------------------------------

as_service() {
    runuser -u hearth -- env HEARTH_RUNTIME_DIR=/run/hearth \
        HEARTH_STATE_DIR=/var/lib/hearth "$PROGRAM" "$@"
}

make_session() {
    as_service session create --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])'
}

shown() { # ID MEMBER
    as_service session show --json "$1" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$2"
}

says() { # TEXT COMMAND...
    local text=$1 said
    shift
    said=$("$@" 2>&1)
    echo "$said"
    [[ $said == *"$text"* ]]
}

runs() { # ID CODE
    as_service exec "$1" -c "$2"
}

main_pid() { systemctl show -P MainPID hearth; }

start_service() {
    systemctl start hearth && wait_until as_service gateway info
}

# "Uid: …", "CapEff: …": the word after it in /proc/PID/status.
status_of() { awk -v key="$2:" '$1 == key { print $2 }' "/proc/$1/status"; }

is_hearths() { [ "$(status_of "$(main_pid)" Uid)" = "$(id -u hearth)" ]; }

# CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, KILL 5, SETGID 6, SETUID 7, SYS_PTRACE 19.
has_seven_capabilities() {
    local pid
    pid=$(main_pid)
    [ "$(status_of "$pid" CapEff)" = 00000000000800eb ] &&
        [ "$(status_of "$pid" CapBnd)" = 00000000000800eb ] &&
        [ "$(status_of "$pid" NoNewPrivs)" = 1 ]
}

# The last but one of the range, with no capability; in the service it is so
# without being asked for.
has_zygotes_of_own_user() {
    local pid
    pid=$(pgrep -P "$(main_pid)" | head -n 1)
    [ "$(status_of "$pid" Uid)" = $((1879048192 + 65536 - 2)) ] &&
        [ "$(status_of "$pid" CapEff)" = 0000000000000000 ] &&
        [ "$(status_of "$pid" CapPrm)" = 0000000000000000 ]
}

group_of() { # ID
    find "$GROUP" -maxdepth 1 -name "hearth-*.$1.*"
}

has_no_group() { # ID
    [ -z "$(group_of "$1")" ]
}

# In its group: memory, processes and no swap as the configuration says.
is_limited() { # ID
    local group
    group=$(group_of "$1")
    grep -x $((192 << 20)) "$group/memory.max" &&
        grep -x 40 "$group/pids.max" &&
        grep -x 1 "$group/memory.oom.group" &&
        { [ ! -e "$group/memory.swap.max" ] ||
            grep -x 0 "$group/memory.swap.max"; } &&
        grep -x 100 "$group/cpu.weight" &&
        grep -q . "$group/cgroup.procs"
}

# Of the process that runs cells: pid 1 has another one.
user_of() { # ID
    status_of "$(pgrep -P "$(shown "$1" pid)" | head -n 1)" Uid
}

# Checks that each session has its own user of the range, none of this system.
are_of_two_users() { # ID ID
    local one other
    one=$(user_of "$1")
    other=$(user_of "$2")
    echo "$one $other"
    [ "$one" != "$other" ] && [ "$one" -gt 65536 ] && [ "$other" -gt 65536 ] &&
        ! getent passwd "$one" "$other"
}

# EAGAIN at its limit, and the figures in the kernel's own file.
is_held_at_processes() { # ID
    says 11 runs "$1" '
import os, time
try:
    while True:
        if os.fork() == 0:
            time.sleep(600)
except OSError as error:
    print(error.errno)' &&
        awk '$1 == "max" && $2 > 0 { found = 1 } END { exit !found }' \
            "$(group_of "$1")/pids.events"
}

grow='x = []
while True: x.append(bytearray(1 << 20))'

is_alive() { says 42 runs "$1" 'print(6 * 7)'; }

part_service() {
    local one other
    check 'the service runs' start_service
    check 'it has a user of its own' is_hearths
    check 'it has seven capabilities, and can get no others' \
        has_seven_capabilities
    check 'its zygotes have a user of their own and none' has_zygotes_of_own_user
    check 'limits are by control groups of version 2' \
        says "v2: $GROUP" as_service gateway info
    check 'it is in a group of its own below the unit' \
        grep -qx '0::/system.slice/hearth.service/gateway' \
        "/proc/$(main_pid)/cgroup"
    one=$(make_session)
    other=$(make_session)
    check 'a session computes' is_alive "$one"
    check 'its group has its limits' is_limited "$one"
    check 'each session has a user of its own' are_of_two_users "$one" "$other"
    check 'forks end at the limit of processes' is_held_at_processes "$one"
    check 'a session ends at its memory, and the reply says so' \
        says 'memory: 192 MiB reached while running cell' runs "$one" "$grow"
    check 'its tombstone says so' \
        says '192 MiB reached' as_service session show "$one"
    check 'its group is gone' wait_until has_no_group "$one"
    check 'another session is alive' is_alive "$other"
    check 'the doctor is content' says 'control groups' as_service doctor
    check 'it sees no home folder' sees_of_homes ''
    check 'the service stops with its sessions' stop_service
    check 'nothing is left of it' leaves_nothing
    make_environment
    check 'the service runs with a Python in a home folder' start_service
    check 'it sees that, and nothing else there' sees_of_homes \
        '/home/tester /home/tester/environment'
    one=$(make_session)
    check 'a session runs that Python' \
        says /home/tester/environment runs "$one" \
        'import sys; print(sys.prefix)'
    check 'and stops again' stop_service
    check 'and nothing is left of it again' leaves_nothing
}

# Names below /home, /root and /run/user, two deep, in the service's mounts.
sees_of_homes() { # PATHS
    local seen
    seen=$(nsenter -t "$(main_pid)" -m find /home /root /run/user \
        -mindepth 1 -maxdepth 2)
    echo "$seen"
    [ "$(xargs <<<"$seen")" = "$1" ]
}

# In a folder that is shut to others, by a drop-in as hearth.cfg(5) has it.
make_environment() {
    local home=/home/tester
    runuser -u tester -- python3 -m venv --without-pip --system-site-packages \
        "$home/environment"
    chmod 0700 "$home"
    chmod -R go+rX "$home/environment"
    mkdir -p /etc/systemd/system/hearth.service.d
    printf '[Service]\nBindReadOnlyPaths=%s/environment\n' "$home" \
        >/etc/systemd/system/hearth.service.d/python.conf
    systemctl daemon-reload
    sed -i "s|^    python3\$|&\n        python = $home/environment/bin/python3|" \
        /usr/local/etc/hearth/hearth.cfg
}

stop_service() {
    as_service gateway stop --end-sessions &&
        wait_until is_inactive &&
        [ "$(systemctl show -P Result hearth)" = success ]
}

is_inactive() { [ "$(systemctl show -P ActiveState hearth)" = inactive ]; }

# No group, process, socket or mount.
leaves_nothing() {
    local left=0
    find /sys/fs/cgroup -name 'hearth-*' | grep . && left=1
    ps -eo pid=,user=,comm= | awk '$2 == "hearth" || $3 ~ /^hearth-/ || $2 > 65536 && $2 ~ /^[0-9]+$/' |
        grep . && left=1
    find /run/hearth /var/lib/hearth -type s | grep . && left=1
    grep hearth /proc/self/mounts && left=1
    return $left
}

# --- A service that goes and comes back -------------------------------------

restart_service() { # restart | kill
    local before
    before=$(main_pid)
    if [ "$1" = kill ]; then
        systemctl kill -s KILL --kill-whom=main hearth
    else
        systemctl restart hearth
    fi
    wait_until is_another "$before"
}

is_another() { # PID
    [ "$(main_pid)" -gt 0 ] && [ "$(main_pid)" != "$1" ] &&
        as_service gateway info
}

part_adoption() {
    local id dead how
    check 'the service runs' start_service
    id=$(make_session)
    dead=$(make_session)
    check 'a session computes' runs "$id" 'x = 5'
    for how in restart kill restart; do
        check "the service is back after $how" restart_service $how
        check "the session has what it had" says 5 runs "$id" 'print(x)'
        check "and its limits" is_limited "$id"
    done
    check 'a session dies while there is no service' dies_meanwhile "$dead"
    check 'its group is gone' wait_until has_no_group "$dead"
    check 'a session that was adopted is held at its processes' \
        is_held_at_processes "$id"
    check 'and at its memory' \
        says 'memory: 192 MiB reached while running cell' runs "$id" "$grow"
    check 'the service stops with its sessions' stop_service
    check 'nothing is left of it' leaves_nothing
}

dies_meanwhile() { # ID
    local pid
    pid=$(shown "$1" pid)
    systemctl stop hearth &&
        [ -e "/proc/$pid" ] &&
        kill -KILL "$pid" &&
        start_service
}

# --- An ordinary user, by the line that the doctor names --------------------

as_plain_user() { # COMMAND...
    runuser -u tester -- env HOME=/home/tester \
        XDG_RUNTIME_DIR="/run/user/$(id -u tester)" "$@"
}

# What a gateway without control groups does not see, each more than 192 MiB.
declare -A hold
hold[memfds]='import os
held = []
while len(held) < 600:
    held.append(os.memfd_create("unmapped"))
    os.write(held[-1], bytes(1 << 20))
print("all of it")'
hold[sockets]='import socket
held = []
while len(held) < 450:
    held.append(socket.socketpair())
    for end in held[-1]:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        end.setblocking(False)
        try:
            while True:
                end.send(bytes(1 << 16))
        except BlockingIOError:
            pass
print("all of it")'
hold[tables]='import mmap
size = 200 << 30
held = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000,
                 mmap.PROT_READ)
held.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, size, 2 << 20):
    held[at]
print("all of it")'

part_scope() {
    local line id what
    line=$(as_plain_user "$PROGRAM" doctor 2>&1 |
        grep -o 'systemd-run --user --scope -p Delegate=yes' | head -n 1)
    check 'without it the doctor names the line' test -n "$line"
    # Split into words, as in a shell.
    # shellcheck disable=SC2086
    check 'the line starts a gateway' \
        as_plain_user $line "$PROGRAM" gateway start
    check 'it has control groups of version 2' \
        says "v2: /sys/fs/cgroup/user.slice/user-$(id -u tester).slice/" \
        as_plain_user "$PROGRAM" gateway info
    for what in memfds sockets tables; do
        id=$(as_plain_user "$PROGRAM" session create)
        check "a session ends at its memory, held as $what" \
            says 'memory: 192 MiB reached while running cell' \
            as_plain_user "$PROGRAM" exec "$id" -c "${hold[$what]}"
    done
    id=$(as_plain_user "$PROGRAM" session create)
    check 'another one computes' \
        says 42 as_plain_user "$PROGRAM" exec "$id" -c 'print(6 * 7)'
    check 'the gateway stops with its sessions' \
        as_plain_user "$PROGRAM" gateway stop --end-sessions
}

# --- The repository's tests -------------------------------------------------

c_tests() {
    local test status=0
    for test in build/tests/sandbox/test_*; do
        if [ -f "$test" ] && [ -x "$test" ]; then
            echo "# $test"
            srcdir=. "$test" || status=1
        fi
    done
    return $status
}

# Reports each failure at once: the part may be cut off before its end.
pytests() { # ARGUMENT...
    cat >/tmp/at_once.py <<'CODE'
import os
import pytest

def pytest_runtest_logreport(report):
    if report.failed:
        print("\n" + report.longreprtext, flush=True)

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    number, count = map(int, os.environ["HEARTH_SHARE"].split("/"))
    items[:] = items[number - 1 :: count]
CODE
    COLUMNS=160 PYTHONPATH=/tmp python3 -m pytest -p no:cacheprovider \
        -p at_once -v --color=no --tb=short --timeout=1200 "$@"
}

export -f c_tests pytests

as_tester() { # COMMAND
    local id
    id=$(id -u tester)
    runuser -u tester -- env HOME=/home/tester XDG_RUNTIME_DIR=/run/user/"$id" \
        HEARTH=/usr/local/bin/hearth-as-user bash -c "cd /hearth && $1"
}

part_walls-root() { c_tests; }
# One makes a folder where it is, which must not be below /tmp.
part_walls-user() { chmod 1777 /hearth && as_tester c_tests; }

part_limits-service() {
    HEARTH=/usr/local/bin/hearth-as-service pytests tests/system/test_limits.py -k 'not watchdog'
}

part_limits-user() { as_tester 'pytests tests/system/test_limits.py -k "not watchdog"'; }

part_hostile-service() {
    HEARTH=/usr/local/bin/hearth-as-service pytests \
        tests/sandbox/hostile/test_hostile.py -k '[service-'
}

# Starts the unit with its mounts, which a sleeping process keeps; the tests'
# folders are in /tmp.
start_view() {
    mkdir -p /etc/systemd/system/hearth.service.d
    cat >/etc/systemd/system/hearth.service.d/view.conf <<'CONF'
[Service]
ExecStart=
ExecStart=/usr/bin/sleep infinity
PrivateTmp=no
ReadWritePaths=/tmp
CONF
    systemctl stop hearth && systemctl daemon-reload && systemctl start hearth &&
        main_pid >/run/hearth-view
}

# A gateway that is started so does not find what is in a home folder.
has_the_view() {
    local folder
    folder=$(mktemp -d)
    HEARTH_STATE_DIR=$folder/s HEARTH_RUNTIME_DIR=$folder/r \
        says 'open /home/tester/.profile: No such file' \
        /usr/local/bin/hearth-as-service serve --config /home/tester/.profile
}

part_hostile-unit() {
    check 'somebody has the mounts of the unit' start_view
    check 'there is no home folder in them' sees_of_homes ''
    check 'a gateway is started in them' has_the_view
    HEARTH=/usr/local/bin/hearth-as-service pytests \
        tests/sandbox/hostile/test_hostile.py -k \
        '[service-files or [service-neighbours or [service-secrets'
}

part_hostile-user() {
    as_tester 'pytests tests/sandbox/hostile/test_hostile.py -k "[user-"'
}

# --- Before the state is kept from which all parts begin ---------------------

# The service runs in it, with a zygote: to start one takes a minute here. The
# kernel's cache has all files then.
part_warm() {
    local id
    wait_until test -S "/run/user/$(id -u tester)/bus" &&
        python3 -c 'import IPython, jupyter_client, pytest, zmq' &&
        start_service &&
        id=$(make_session) &&
        is_alive "$id" &&
        as_service session delete "$id" &&
        journalctl --rotate --vacuum-time=1s &&
        sync
}

echo "# $(uname -r), $(systemctl --version | head -n 1), $(stat -fc %T /sys/fs/cgroup)"
"part_$1" || exit 1
[ "$bad" -eq 0 ]
