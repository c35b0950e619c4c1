#!/bin/bash
# setup.sh: in the virtual machine, once after `make install`: what a package
# does, a user, and what the tests start instead of hearth.
set -euo pipefail

systemd-sysusers
systemd-tmpfiles --create hearth.conf
systemctl daemon-reload
# Limits small enough to be reached soon by emulation, and time for it.
cat >/usr/local/etc/hearth/hearth.cfg <<'CONFIG'
sessions
    ready_timeout = 5m
profile
    python3
        preload = json
        limits
            memory = 192M
            processes = 40
CONFIG
echo 10000 >/proc/sys/user/max_user_namespaces
useradd -m tester
# Its sessions have users of their own out of this.
grep -q '^tester:' /etc/subuid ||
    usermod --add-subuids 100000-165535 --add-subgids 100000-165535 tester
loginctl enable-linger tester

# A gateway of a test is in a scope of its own: exec'd, so that its pid is what
# the test has started. The next one on the same state goes where that was, as
# a service does that is started again: its sessions are still there.
cat >/usr/local/bin/hearth-in-scope <<'WRAPPER'
#!/bin/sh
kept=${HEARTH_STATE_DIR%/*}/group
if [ -s "$kept" ] && [ -d "$(cat "$kept")/gateway" ]; then
    echo $$ >"$(cat "$kept")/gateway/cgroup.procs" || exit
else
    group=/sys/fs/cgroup$(sed s/^0::// /proc/self/cgroup)
    echo "$group" >"$kept"
    [ "$(id -u)" != 0 ] ||
        chown hearth:hearth "$group" "$group"/cgroup.procs \
            "$group"/cgroup.subtree_control "$group"/cgroup.threads
fi
exec "$@"
WRAPPER

# As the service: with its user and its capabilities.
cat >/usr/local/bin/hearth-as-user <<'WRAPPER'
#!/bin/sh
export XDG_RUNTIME_DIR=/run/user/$(id -u)
[ "$1" = serve ] || exec /usr/local/bin/hearth "$@"
exec systemd-run --user --quiet --scope -p Delegate=yes \
    hearth-in-scope /usr/local/bin/hearth "$@" \
    --set sessions/ready_timeout=5m --set gateway/session_users=own
WRAPPER
cat >/usr/local/bin/hearth-as-service <<'WRAPPER'
#!/bin/sh
caps=+setuid,+setgid,+chown,+kill,+dac_override,+fowner,+sys_ptrace
become="setpriv --reuid hearth --regid hearth --init-groups --no-new-privs
    --inh-caps $caps --ambient-caps $caps --bounding-set -all,$caps"
case $1 in
serve)
    chown -R hearth:hearth "${HEARTH_STATE_DIR%/*}"
    # With the mounts of that process, where a part has named one.
    view=$(cat /run/hearth-view 2>/dev/null)
    exec systemd-run --quiet --scope -p Delegate=yes -- \
        hearth-in-scope ${view:+nsenter --mount --target "$view"} \
        $become /usr/local/bin/hearth "$@" \
        --set sessions/ready_timeout=5m
    ;;
esac
exec $become /usr/local/bin/hearth "$@"
WRAPPER
chmod 755 /usr/local/bin/hearth-as-* /usr/local/bin/hearth-in-scope
