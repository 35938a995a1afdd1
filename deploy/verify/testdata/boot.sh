# Boots the Debian below $1, as the first process of namespaces of its own: sh boot.sh ROOT
set -e
cd "$1"
mount --bind . .
cd "$1" # onto the mount
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount --rbind /dev dev
mkdir -p .old
pivot_root . .old # not chroot, out of which no user namespace can be made
umount -l /.old
exec env -i container=headgate /lib/systemd/systemd --system --log-target=journal --unit=multi-user.target
