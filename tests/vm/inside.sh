#!/bin/bash
# In the virtual machine: what run.sh is for. One line for each part, the whole
# at the end. Slow by emulation: every deadline of the tests is four times as
# long (HEARTH_DEADLINE).
set -uo pipefail
export HEARTH_MUST_WORK=1 HEARTH_HAS_CGROUPS=1 HEARTH_DEADLINE=240
export PYTHONDONTWRITEBYTECODE=1 LANG=C.UTF-8
cd /hearth || exit 1
bad=0
hearth=$(command -v hearth || echo /usr/local/bin/hearth)

part() { # NAME COMMAND...
    local name=$1 log=/tmp/part.log begun=$SECONDS
    shift
    if "$@" >"$log" 2>&1; then
        echo "VM: ok   $name ($((SECONDS - begun)) s)"
    else
        echo "VM: FAIL $name ($((SECONDS - begun)) s)"
        tail -n 60 "$log"
        bad=$((bad + 1))
    fi
    grep -aE '^(limits by|[0-9]+ passed|=+ .*(passed|failed))' "$log" | sed 's/^/VM:      /'
}

as_service() { env HEARTH_RUNTIME_DIR=/run/hearth HEARTH_STATE_DIR=/var/lib/hearth \
    runuser -u hearth -- "$hearth" "$@"; }

make_session() {
    as_service session create --json |
        python3 -c 'import json, sys; d = json.load(sys.stdin); print(d.get("id") or d["session"]["id"])'
}

service_runs() {
    systemd-sysusers || return 1
    systemd-tmpfiles --create hearth.conf || return 1
    systemctl daemon-reload
    if ! systemctl start hearth; then
        journalctl -u hearth --no-pager | tail -n 30
        return 1
    fi
    for _ in $(seq 120); do
        as_service gateway info 2>/dev/null && break
        sleep 1
    done
    as_service gateway info | grep 'limits by *v2' || return 1
    [ "$(ps -o user= -p "$(systemctl show -P MainPID hearth)")" = hearth ]
}

service_limits() {
    local id
    id=$(make_session) || return 1
    as_service exec "$id" -c 'print(6 * 7)' | grep -x 42 || return 1
    as_service exec "$id" -c 'import os; print(os.getuid(), open("/proc/self/uid_map").read())' || return 1
    as_service exec "$id" -c 'x = []
while True: x.append(bytearray(1 << 20))' 2>&1 | tee /tmp/said
    grep -q 'memory: .* reached while running cell' /tmp/said
}

# Sessions outlive the gateway, with their limits.
service_restarts() {
    local id how
    id=$(make_session) || return 1
    as_service exec "$id" -c 'x = 5' || return 1
    for how in restart kill; do
        if [ $how = kill ]; then
            systemctl kill -s KILL --kill-who=main hearth
            sleep 3
        else
            systemctl restart hearth
        fi
        for _ in $(seq 120); do
            as_service gateway info >/dev/null 2>&1 && break
            sleep 1
        done
        systemctl is-active hearth || {
            journalctl -u hearth --no-pager | tail -n 40
            return 1
        }
        as_service exec "$id" -c 'print(x)' | grep -x 5 || {
            journalctl -u hearth --no-pager | tail -n 40
            return 1
        }
        cat "/sys/fs/cgroup/system.slice/hearth.service/"hearth-*."$id".*/memory.max |
            grep -x 201326592 || return 1
    done
}

service_stops() {
    as_service gateway stop --end-sessions
    for _ in $(seq 60); do
        systemctl is-active -q hearth || break
        sleep 1
    done
    systemctl stop hearth
    ! find /sys/fs/cgroup -name 'hearth-*' | grep .
}

# Each gateway of the tests in a scope of its own; exec'd, so that the pid is
# the gateway's.
write_wrapper() { # SYSTEMD-RUN'S OPTIONS
    cat >/usr/local/bin/hearth-scope <<WRAPPER
#!/bin/sh
[ "\$1" = serve ] || exec $hearth "\$@"
exec systemd-run $1 --quiet --scope -p Delegate=yes $hearth "\$@"
WRAPPER
    chmod 755 /usr/local/bin/hearth-scope
}

c_tests() {
    local test status=0
    for test in build/tests/sandbox/test_*; do
        if [ -f "$test" ] && [ -x "$test" ]; then
            srcdir=. "$test" || status=1
        fi
    done
    return $status
}

limits_tests() {
    python3 -m pytest -p no:cacheprovider -q -x \
        tests/system/test_limits.py
}

export -f c_tests limits_tests
as_user() {
    runuser -u tester -- env HOME=/home/tester XDG_RUNTIME_DIR=/run/user/"$(id -u tester)" \
        DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/"$(id -u tester)"/bus \
        HEARTH=/usr/local/bin/hearth-scope bash -c "cd /hearth && $1"
}

echo "VM: $(uname -r), $(systemctl --version | head -n 1), $(stat -fc %T /sys/fs/cgroup)"
echo 10000 >/proc/sys/user/max_user_namespaces
part "the service runs, as its own user" service_runs
part "a session of the service is held" service_limits
part "sessions outlive the service" service_restarts
part "the service leaves nothing" service_stops
part "sandbox tests as root" c_tests
write_wrapper ''
part "limits tests as root" env HEARTH=/usr/local/bin/hearth-scope bash -c limits_tests
useradd -m tester
loginctl enable-linger tester
for _ in $(seq 60); do
    [ -S "/run/user/$(id -u tester)/bus" ] && break
    sleep 1
done
write_wrapper --user
part "sandbox tests as a user" as_user c_tests
part "limits tests as a user" as_user limits_tests
if [ "$bad" -eq 0 ]; then
    echo 'VM: all passed'
else
    echo "VM: $bad parts failed"
fi
sync
