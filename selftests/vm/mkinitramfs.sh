#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mkinitramfs.sh KERNELDIR KVER: print the path of the test VM's initramfs for
# this kernel; build it first if it is not in the cache. Beside it lies
# the kernel uncompressed, which QEMU enters directly (an emulated CPU takes
# seconds to unpack a bzImage).

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=selftests/vm/host-lib.sh
. "$here/host-lib.sh"

[ $# -eq 2 ] || die "usage: mkinitramfs.sh KERNELDIR KVER"
kdir=$1 kver=$2
busybox=$("$here/fetch-busybox.sh") || exit

# shellcheck disable=SC2012  # size and time of one known file
key=$({ cat "$here/initramfs-init" "${BASH_SOURCE[0]}"; ls -lL --time-style=+%s "$busybox" "$kdir/vmlinuz"; } |
	sha256sum | cut -c1-12)
img=$CACHE/vm/$kver-$key.cpio.gz
if [ ! -e "$img" ]; then
	mkdir -p "$CACHE/vm" || die "cannot create $CACHE/vm"
	exec 8>"$CACHE/vm/.lock"
	flock -w 120 8 || die "$CACHE/vm/.lock is held for 2 minutes"
fi
[ -e "$img" ] && echo "$img" && exit 0

tmp=$(mktemp -d "$CACHE/vm/.tmp.XXXXXX") || die "cannot write to $CACHE/vm"
trap 'rm -rf "$tmp"' EXIT
r=$tmp/root
mkdir -p "$r"/{bin,dev,proc,ro,rw,n,mod} "$r/skel"
cp "$busybox" "$r/bin/busybox"
install -m 755 "$here/initramfs-init" "$r/init"
mknod "$r/dev/console" c 5 1 2>/dev/null || true	# devtmpfs brings it too
ln -s /proc/self/fd "$r/skel/fd"
for i in 0:stdin 1:stdout 2:stderr; do
	ln -s "fd/${i%:*}" "$r/skel/${i#*:}"
done
o=trans=virtio,version=9p2000.L,msize=262144
cat >"$r/fstab.root" <<-FSTAB
tmpfs	/rw	tmpfs	size=75%	0 0
host	/ro	9p	$o,cache=loose,ro	0 0
FSTAB
# /dev is still the initramfs's while these are mounted.
cat >"$r/fstab" <<-FSTAB
sysfs	/n/sys	sysfs	defaults	0 0
run	/n/run	tmpfs	mode=755	0 0
out	/n/out	9p	$o,cache=mmap	0 0
debugfs	/n/sys/kernel/debug	debugfs	defaults	0 0
tracefs	/n/sys/kernel/tracing	tracefs	defaults	0 0
configfs	/n/sys/kernel/config	configfs	defaults	0 0
cgroup2	/n/sys/fs/cgroup	cgroup2	defaults	0 0
devpts	/dev/pts	devpts	ptmxmode=666	0 0
shm	/dev/shm	tmpfs	mode=1777	0 0
mqueue	/dev/mqueue	mqueue	defaults	0 0
hugetlbfs	/dev/hugepages	hugetlbfs	defaults	0 0
FSTAB

for m in virtio_pci 9pnet_virtio 9p overlay virtio-rng virtio_console configfs; do
	modprobe -d "$kdir" -S "$kver" --show-depends "$m" || die "kernel $kver has no module $m"
done >"$tmp/deps"
while read -r verb file _; do
	[ "$verb" = insmod ] || continue	# or "builtin"
	n=$(basename "$file")
	case $n in
	*.ko.xz) n=${n%.xz}; [ -e "$r/mod/$n" ] || xz -dc "$file" >"$r/mod/$n" ;;
	*.ko.zst) n=${n%.zst}; [ -e "$r/mod/$n" ] || zstd -qdc "$file" >"$r/mod/$n" ;;
	*) cp -n "$file" "$r/mod/$n" ;;
	esac || die "cannot unpack $file"
	echo "$n"
done <"$tmp/deps" | awk '!seen[$0]++' >"$tmp/order"
mv "$tmp/order" "$r/mod/order"

(cd "$r" && find . | cpio --quiet -o -H newc) | gzip -1 >"$tmp/img" || die "cpio failed: is the disk full?"

# struct setup_header: setup_sects at 0x1f1, payload_offset 0x248, payload_length 0x24c.
field() { od -An -t "u$2" -j "$1" -N "$2" "$kdir/vmlinuz" | tr -d ' '; }
off=$(( ($(field 497 1) + 1) * 512 + $(field 584 4) ))
len=$(field 588 4)
tail -c +$((off + 1)) "$kdir/vmlinuz" | head -c $((len - 4)) >"$tmp/payload"
case $(od -An -t x1 -N 4 "$tmp/payload" | tr -d ' ') in
fd377a58) unpack='xz -dc' ;;
28b52ffd) unpack='zstd -qdc' ;;
1f8b*) unpack='gzip -dc' ;;
*) unpack=false ;;
esac
$unpack <"$tmp/payload" >"$tmp/vmlinux" 2>/dev/null || rm -f "$tmp/vmlinux"
[ -e "$tmp/vmlinux" ] && mv "$tmp/vmlinux" "${img%.cpio.gz}.vmlinux"
mv "$tmp/img" "$img"
echo "$img"
