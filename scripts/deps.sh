#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# deps.sh [-n] GROUP...: install the Debian packages that are missing, and say
# which and why. Groups: build (module), vm (test VM), rdma (user space that the
# demo and tests drive), check (the test command), bench, storage (rows of the
# full bench; an NFS server, which exports nothing unless told), all (but storage).
#
#   -n   only say what is missing; status 1 if anything is
#
# Without root it prints the command to run. No kernel image, boot loader or
# other service is installed: the test VM's kernel is unpacked into a cache instead.

set -u

# package|group|why
packages()
{
	cat <<-'LIST'
	make|build|runs the builds
	gcc|build|compiles the module
	kmod|build|modinfo and depmod
	linux-headers-amd64|build|the kernel the module is built for
	qemu-system-x86|vm|the test VM
	cpio|vm|packs its initramfs
	xz-utils|vm|unpacks its kernel
	kmod|vm|finds the modules of its kernel
	iproute2|vm|ip, rdma and tc inside it
	ethtool|vm|switches offloads inside it
	iputils-ping|vm|ping inside it
	ibverbs-providers|rdma|the stock user-space driver (librxe)
	ibverbs-utils|rdma|ibv_devinfo, ibv_ud_pingpong
	rdmacm-utils|rdma|rping, ucmatose
	perftest|rdma|ib_write_bw and the other bandwidth and latency tests
	libibverbs-dev|check|compiles the C tests
	librdmacm-dev|check|compiles the C tests
	rdma-core|check|its own test suite
	python3-pyverbs|check|verbs from Python
	python3-scapy|check|packets made independently of the driver
	sparse|check|endian and address space checks
	ccache|check|compiles what did not change in no time
	shellcheck|check|checks the scripts
	flex|check|builds the UML test kernel
	bison|check|builds the UML test kernel
	bc|check|builds the UML test kernel
	libelf-dev|check|builds the UML test kernel
	python3|check|parses KUnit results
	perl|check|checkpatch and kernel-doc
	mmdebstrap|check|chroot for compiling against newer kernels
	procps|check|sysctl and pkill in tests
	tcpdump|check|captures in tests
	iperf3|check|TCP beside RDMA in tests
	nftables|check|packet filters in tests
	wireguard-tools|check|a tunnel in tests
	ethtool|check|switches offloads off in tests
	tshark|check|decodes captured packets
	iperf3|bench|TCP beside RDMA
	python3|bench|runs the benches and judges them
	nvme-cli|storage|NVMe-oF in the bench
	nfs-common|storage|mounts NFS in the bench
	nfs-kernel-server|storage|serves NFS in the bench
	LIST
}

# Any Debian 6.1 headers serve whose kernel can be had for the test VM.
have_headers()
{
	local k
	k=$(find /usr/src -maxdepth 1 -name 'linux-headers-6.1.*-amd64' -printf '%f\n' |
		sed 's/^linux-headers-//' | sort -V | tail -n 1)
	[ -n "$k" ] || return
	[ -e "${RDMA_SOFT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rdma_soft}/kernel/$k/ready" ] && return
	[ -n "$(apt-cache madison "linux-image-$k" 2>/dev/null)" ]
}

dry=
[ "${1:-}" = -n ] && dry=y && shift
case ${1:-} in
''|-h|--help) sed -n '4,12s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac

groups=" $* "
[ "$groups" = " all " ] && groups=" build vm rdma check bench "
for g in $groups; do
	packages | grep -q "|$g|" || { echo "deps.sh: no group '$g', see --help" >&2; exit 2; }
done

command -v apt-get >/dev/null || {
	echo "deps.sh: this is no Debian (no apt-get): install by hand:" >&2
	packages | while IFS='|' read -r p g why; do
		case $groups in *" $g "*) echo "  $p - $why" >&2 ;; esac
	done
	exit 1
}

missing=()
while IFS='|' read -r p g why; do
	case $groups in *" $g "*) ;; *) continue ;; esac
	case " ${missing[*]-} " in *" $p "*) continue ;; esac
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] && continue
	[ "$p" = linux-headers-amd64 ] && have_headers && continue
	echo "missing: $p ($why)"
	missing+=("$p")
done < <(packages)
[ ${#missing[@]} -gt 0 ] || exit 0
[ -z "$dry" ] || exit 1

cmd=(apt-get -y -q --no-install-recommends -o DPkg::Lock::Timeout=300 install "${missing[@]}")
if [ "$(id -u)" -ne 0 ]; then
	echo "deps.sh: not root, so install them first: sudo ${cmd[*]}" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "installing ${#missing[@]} packages with apt ..."
"${cmd[@]}" >"$log" 2>&1 || {
	apt-get -q -o DPkg::Lock::Timeout=300 update >>"$log" 2>&1
	"${cmd[@]}" >>"$log" 2>&1
} || {
	tail -n 20 "$log" >&2
	echo "deps.sh: apt could not install: ${missing[*]}" >&2
	exit 1
}
echo "installed: ${missing[*]}"
