#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Run a command in a VM with a stock Debian kernel: see usage() below.

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=selftests/vm/host-lib.sh
. "$here/host-lib.sh"

usage()
{
	cat <<-'USAGE'
	usage: run-vm.sh [options] --cmd 'SHELL COMMAND'
	       run-vm.sh [options] --script FILE [arguments ...]
	       run-vm.sh [options] --shell

	Boots a stock Debian kernel in QEMU on the host's own root file system (read-only,
	changes stay in memory), runs the command as root and powers off. The command
	sees the host's programs and this tree under the same paths and starts in the
	same folder; /out is writable and comes back. Source $VM_LIB for helpers
	(load_rdma_soft, load_rxe, setup_pair ...). Nothing is installed.

	  --smp N         CPUs (2)
	  --mem SIZE      memory (2G)
	  --icount        instruction mode: one CPU, the guest's clock counts instructions (1 = 1 ns),
	                  figures repeat within 1 % on any load. An idle guest's clock jumps: use
	                  huge time-outs, write to /run rather than /out while measuring
	  --timeout S     kill the VM after S seconds of host time (300; none for --shell)
	  --out DIR       what the guest writes to /out goes here, with dmesg.txt and
	                  console.txt (default: a folder in the cache; the last 20 stay)
	  --kernel K      version (6.1.0-57-amd64; downloaded) or folder with vmlinuz and
	                  lib/modules (default: the one the module
	                  was built for, else the 6.1 of the installed headers)
	  --module FILE   what load_rdma_soft inserts (drivers/rdma_soft/rdma_soft.ko)
	  --env N[=V]     set variable N for the command (repeat; without =V: its value here)
	  --append ARGS   more kernel command line
	  --accel A       auto | kvm | tcg (auto: KVM if a probe of 10 s boots, else TCG)
	  --netdev SPEC   add a virtio-net card on this QEMU -netdev (without id=), repeatable
	  --name NAME     host name in the guest (vm1)
	  --qemu ARG      one more argument for QEMU (repeat)
	  --check-dmesg   a warning or splat in the guest's kernel log fails the run
	  --prepare       only download and build what the VM needs; prints kvm or tcg
	  --quiet         no progress messages

	Exit status: that of the command, or 200 kernel panic or oops, 201 time-out,
	202 the harness could not run, 203 the VM ended without a status,
	204 warning in dmesg (with --check-dmesg).
	Environment: RDMA_SOFT_CACHE (cache folder), VM_ACCEL, VM_KERNEL, VM_MODULE, VM_TIMEOUT, VM_SMP, VM_MEM
	(defaults).
	USAGE
}

mode='' smp=${VM_SMP:-2} mem=${VM_MEM:-2G} icount='' timeout=${VM_TIMEOUT:-} out='' kernel=${VM_KERNEL:-}
module=${VM_MODULE:-$TREE/drivers/rdma_soft/rdma_soft.ko} append='' accel=${VM_ACCEL:-auto} name=vm1 checkdmesg=''
netdevs=() envs=() extra=() job=()
while [ $# -gt 0 ]; do
	opt=$1
	case $opt in
	--cmd|--script|--smp|--mem|--timeout|--out|--kernel|--module|--env|--append|--accel|--netdev|--name|--qemu)
		[ $# -ge 2 ] || die "$opt needs a value, see --help"
		val=$2; shift ;;
	esac
	shift
	case $opt in
	--cmd) mode=cmd; job=("$val") ;;
	--script) mode=script; job=("$val" "$@"); break ;;
	--shell) mode=shell ;;
	--prepare) mode=prepare ;;
	--smp) smp=$val ;;
	--mem) mem=$val ;;
	--icount) icount=y ;;
	--timeout) timeout=$val ;;
	--out) out=$val ;;
	--kernel) kernel=$val ;;
	--module) module=$val ;;
	--env) envs+=("$val") ;;
	--append) append="$append $val" ;;
	--accel) accel=$val ;;
	--netdev) netdevs+=("$val") ;;
	--name) name=$val ;;
	--qemu) extra+=("$val") ;;
	--check-dmesg) checkdmesg=y ;;
	--quiet) export VM_QUIET=y ;;
	-h|--help) usage; exit 0 ;;
	*) die "unknown option '$opt', see --help" ;;
	esac
done
[ -n "$mode" ] || { usage >&2; exit "$RC_HARNESS"; }
[ "$mode" = script ] && { [ -r "${job[0]}" ] || die "cannot read ${job[0]}"; }

[ "$mode" != shell ] || [ -t 0 ] || die "--shell needs a terminal, use --cmd or --script"

need qemu-system-x86_64 cpio depmod modprobe timeout setpriv xz

# --- kernel and initramfs -------------------------------------------------
if [ -z "$kernel" ] && [ -e "$module" ]; then
	# The kernel the module was built for, if that is a Debian one.
	kernel=$(modinfo -F vermagic "$module" | grep -oE '^[^ ]+-amd64 ')
	kernel=${kernel% }
fi
if [ -d "$kernel" ]; then
	kdir=$(cd "$kernel" && pwd)
	kver=$(find "$kdir/lib/modules/" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -V | tail -n 1)
	{ [ -e "$kdir/vmlinuz" ] && [ -n "$kver" ]; } || die "$kernel has no vmlinuz or no lib/modules/VERSION"
else
	read -r kdir kver < <("$here/fetch-kernel.sh" "$kernel")
	[ -n "${kver:-}" ] || exit "$RC_HARNESS"
fi
busybox=$("$here/fetch-busybox.sh") || exit "$RC_HARNESS"
initrd=$("$here/mkinitramfs.sh" "$kdir" "$kver") || exit "$RC_HARNESS"
image=$kdir/vmlinuz
[ -e "${initrd%.cpio.gz}.vmlinux" ] && image=${initrd%.cpio.gz}.vmlinux

# --- accelerator ----------------------------------------------------------
common=(-nodefaults -no-user-config -no-reboot -display none -machine "pc,usb=off,vmport=off"
	-kernel "$image" -initrd "$initrd")
[ -n "$icount" ] && accel=tcg smp=1
if [ "$accel" = auto ]; then
	accel=tcg
	if [ -w /dev/kvm ]; then
		# The verdict holds until the next boot of this machine.
		verdict=$CACHE/kvm-$(tr -d - </proc/sys/kernel/random/boot_id)
		if [ ! -e "$verdict" ]; then
			say "vm: probing KVM (at most 10 s)"
			w=tcg
			(timeout -k 1 10 qemu-system-x86_64 "${common[@]}" -accel kvm -cpu host -m 512 \
				-append "console=ttyS0 quiet panic=-1 vm.probe" </dev/null; exit) >/dev/null 2>&1 && w=kvm
			rm -f "$CACHE"/kvm-*
			echo $w >"$verdict"
			say "vm: using $w"
		fi
		accel=$(cat "$verdict")
	fi
fi
if [ "$mode" = prepare ]; then
	say "vm: ready ($kver, $accel)"
	echo "$accel"
	exit 0
fi

# The guest must not calibrate its clock against a busy host.
khz=$(awk -F: '/^bogomips/ { printf "%d", $2 * 500; exit }' /proc/cpuinfo)
cmdline="console=ttyS0 quiet loglevel=4 panic=-1 oops=panic mitigations=off nokaslr audit=0 apparmor=0"
cmdline+=" random.trust_cpu=on net.ifnames=0 cryptomgr.notests"
cpu=max,-erms
if [ "$accel" = kvm ]; then
	acc=(-accel kvm); cpu=host
elif [ -n "$icount" ]; then
	acc=(-accel "tcg,thread=single" -icount "shift=0,sleep=off"); khz=1000000
	cmdline+=" tsc=reliable no_timer_check tsc_early_khz=$khz sysctl.kernel.hung_task_timeout_secs=0"
else
	acc=(-accel "tcg,thread=multi")
	cmdline+=" tsc=reliable no_timer_check tsc_early_khz=$khz"
fi

# --- control folder on the writable share ---------------------------------
if [ -z "$out" ]; then
	mkdir -p "$CACHE/runs" || die "cannot create $CACHE/runs"
	# shellcheck disable=SC2012  # names are ours
	ls -1dt "$CACHE"/runs/*/ 2>/dev/null | tail -n +20 | while read -r d; do
		[ -n "$(find "$d" -maxdepth 0 -mmin +120)" ] && rm -rf "$d"
	done
	out=$(mktemp -d "$CACHE/runs/$(date +%m%d-%H%M%S).XXXX")
fi
mkdir -p "$out" || die "cannot create $out"
out=$(cd "$out" && pwd)
ctl=$(mktemp -d "$out/.run.XXXXXX") || die "cannot write to $out"
qemu='' pumps=()
# shellcheck disable=SC2317  # called by trap
cleanup()
{
	if [ -n "$qemu" ]; then
		kill "$qemu" 2>/dev/null
		wait "$qemu"
	fi
	[ ${#pumps[@]} -eq 0 ] || kill "${pumps[@]}" 2>/dev/null
	rm -rf "$ctl"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Debug information makes a module of 1 MB one of 20, which the guest reads over
# 9p each time it loads it.
ko=$module
if [ -e "$module" ] && strip --strip-debug -o "$ctl/rdma_soft.ko" "$module" 2>/dev/null; then
	ko=$ctl/rdma_soft.ko
fi
{
	printf 'export VM_MODE=%q VM_CWD=%q VM_NAME=%q VM_KERNEL_DIR=%q\n' "$mode" "$PWD" "$name" "$kdir"
	printf 'export RDMA_SOFT_KO=%q VM_TREE=%q VM_LIB=%q VM_ICOUNT=%q VM_BUSYBOX=%q\n' \
		"$ko" "$TREE" "$here/guest-lib.sh" "$icount" "$busybox"
	for e in ${envs[@]+"${envs[@]}"}; do
		n=${e%%=*}
		[[ $n =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || die "--env $e: not a variable name"
		case $e in *=*) v=${e#*=} ;; *) v=${!n-} ;; esac
		printf 'export %s=%q\n' "$n" "$v"
	done
	if [ "$mode" = shell ] && [ -t 0 ]; then
		read -r rows cols < <(stty size)
		printf 'export TERM=%q VM_ROWS=%q VM_COLS=%q\n' "${TERM:-linux}" "$rows" "$cols"
	fi
} >"$ctl/env"
case $mode in
cmd)	printf '%s\n' "${job[0]}" >"$ctl/job" ;;
script)	script=$(realpath "${job[0]}")
	printf 'exec %s %q %s\n' "$([ -x "$script" ] || echo bash)" "$script" "$(printf '%q ' "${job[@]:1}")" >"$ctl/job" ;;
shell)	printf '%s\n' "stty rows \$VM_ROWS cols \$VM_COLS" "exec \${VM_SHELL:-bash -i}" >"$ctl/job" ;;
esac

# --- devices --------------------------------------------------------------
console=$out/console.txt
: >"$console"
args=("${common[@]}" "${acc[@]}" -cpu "$cpu" -smp "$smp" -m "$mem" -serial "file:$console"
	-fsdev "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap"
	-device "virtio-9p-pci,fsdev=host,mount_tag=host"
	-fsdev "local,id=out,path=$out,security_model=none,multidevs=remap"
	-device "virtio-9p-pci,fsdev=out,mount_tag=out"
	-device virtio-rng-pci -device virtio-serial-pci)
if [ "$mode" = shell ]; then
	args+=(-chardev "stdio,id=tty,mux=on,signal=off" -mon "chardev=tty" -device "virtconsole,chardev=tty")
	timeout=${timeout:-0}
else
	mkfifo "$ctl/o" "$ctl/e" || die "cannot make a fifo in $ctl"
	# QEMU's end keeps the fifo open, so cat ends exactly when QEMU does.
	cat "$ctl/o" & pumps+=($!)
	cat "$ctl/e" >&2 & pumps+=($!)
	args+=(-chardev "file,id=vo,path=$ctl/o" -device "virtserialport,chardev=vo,name=vm.out"
		-chardev "file,id=ve,path=$ctl/e" -device "virtserialport,chardev=ve,name=vm.err")
	timeout=${timeout:-300}
fi
i=0
for n in ${netdevs[@]+"${netdevs[@]}"}; do
	args+=(-netdev "$n,id=net$i" -device "virtio-net-pci,netdev=net$i,mac=52:54:00:00:$(printf '%02x' "${name//[!0-9]/}"):0$i")
	i=$((i + 1))
done
args+=(${extra[@]+"${extra[@]}"} -append "$cmdline vm.run=${ctl##*/} vm.kdir=$kdir vm.init=$here/guest-init.sh$append")

# If this script is killed outright, timeout and QEMU die with it.
run=(setpriv --pdeathsig TERM timeout --foreground -k 2 "$timeout"
	setpriv --pdeathsig KILL qemu-system-x86_64 "${args[@]}")
if [ "$mode" = shell ]; then
	"${run[@]}" 2>"$ctl/qemu.err"
	qrc=$?
else
	"${run[@]}" </dev/null >"$ctl/qemu.err" 2>&1 &
	qemu=$!
	wait "$qemu"
	qrc=$?
	qemu=''
	wait "${pumps[@]}"
	pumps=()
fi

# --- verdict --------------------------------------------------------------
[ -e "$ctl/dmesg" ] && cp "$ctl/dmesg" "$out/dmesg.txt"
tail_console()
{
	echo "--- last console lines ($console):" >&2
	tr -d '\r' <"$console" | tail -n "${1:-40}" >&2
}
if [ -e "$ctl/status" ]; then
	rc=$(cat "$ctl/status")
	splat='WARNING: |BUG: |Oops|INFO: task .* blocked|possible circular|possible recursive|suspicious RCU|kernel BUG|general protection|unregister_netdevice: waiting'
	if [ -n "$checkdmesg" ] && grep -E "$splat" "$out/dmesg.txt" >"$ctl/splat"; then
		echo "vm: the kernel log has warnings ($out/dmesg.txt):" >&2
		head -n 10 "$ctl/splat" >&2
		[ "$rc" -ne 0 ] || rc=$RC_DMESG
	fi
	exit "$rc"
elif grep -qE 'Kernel panic|Oops|BUG: ' "$console"; then
	tail_console 60
	echo "vm: the guest's kernel crashed" >&2
	exit "$RC_PANIC"
elif [ "$qrc" -eq 124 ] || [ "$qrc" -eq 137 ]; then
	tail_console
	echo "vm: no end after $timeout s, killed (--timeout)" >&2
	exit "$RC_TIMEOUT"
elif [ "$qrc" -ne 0 ]; then
	cat "$ctl/qemu.err" >&2
	die "QEMU ended with status $qrc"
fi
tail_console
echo "vm: the guest ended without an exit status" >&2
exit "$RC_NOSTATUS"
