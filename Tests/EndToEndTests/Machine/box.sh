#!/bin/bash
# Boots this machine's own root as a throw-away systemd and runs a driver in it as root.
# usage: box.sh DIR DRIVER. DIR/files/ is copied over the root before the first boot; the same DIR again is the same disk.
# Prints what the driver prints and exits with its status. To cut the power: kill -KILL.
set -euo pipefail
if [ -z "${BOX_INNER:-}" ]; then # a mount and pid namespace of its own: whoever kills this process takes all of it along
    BOX_INNER=1 exec unshare --mount --propagation private --pid --fork --kill-child --mount-proc -- "$0" "$@"
fi
dir=$(realpath "$1")
driver=$(realpath "$2")
id=rbbox-$(tr -dc a-f0-9 </dev/urandom | head -c8 || :)
root=$dir/root
groups=()
mkdir -p "$root" "$dir/disk/upper" "$dir/disk/work" "$dir/files/var/log/journal" # a journal that survives a power cut
mount -t overlay "$id" -o "lowerdir=/,upperdir=$dir/disk/upper,workdir=$dir/disk/work" "$root"
if [ ! -e "$dir/disk/seeded" ]; then
    cp -a "$dir/files/." "$root/"
    touch "$dir/disk/seeded"
fi
install -m 755 "$driver" "$root/box-driver"
rm -f "$root"/box-{out,status}
# Images forbid the start of services; man-db costs 2 s for each dpkg.
rm -f "$root/usr/sbin/policy-rc.d" "$root/var/lib/man-db/auto-update"
want=$root/etc/systemd/system
mkdir -p "$want/multi-user.target.wants"
for unit in nginx postgresql redis-server e2scrub_reap systemd-timesyncd systemd-networkd-wait-online; do
    ln -sfn /dev/null "$want/$unit.service"
done
for unit in apt-daily apt-daily-upgrade man-db fstrim e2scrub_all; do ln -sfn /dev/null "$want/$unit.timer"; done
cat >"$want/box-driver.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
StandardOutput=append:/box-out
StandardError=inherit
ExecStart=/bin/sh -c '/box-driver; echo $$? > /box-status'
ExecStopPost=systemctl --no-block poweroff
UNIT
ln -sfn ../box-driver.service "$want/multi-user.target.wants/box-driver.service"
for hierarchy in systemd unified memory pids; do # a cgroup of its own in every hierarchy there is
    group=/sys/fs/cgroup/$hierarchy/$id
    if [ -d "${group%/*}" ] && mkdir "$group"; then
        echo 0 >"$group/cgroup.procs"
        groups+=("$group")
    fi
done
export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=0
timeout -k 5 "${BOX_TIMEOUT:-170}" systemd-nspawn --quiet --directory="$root" --boot --register=no --keep-unit \
    --private-network --resolv-conf=off --machine="$id" </dev/null >"$dir/console" 2>&1 ||
    echo "systemd-nspawn ended with $?" >&2
for group in "${groups[@]}"; do
    echo 0 >"${group%/*}/cgroup.procs"
    find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null || :
done
cat "$root/box-out" || :
exit "$(cat "$root/box-status" 2>/dev/null || echo 125)"
