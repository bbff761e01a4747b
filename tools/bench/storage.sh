# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by guest-bench.sh: storage over RDMA. The target of NVMe-oF is nvmet on a
# null_blk disk in memory at one end of the veth pair, the initiator is at the other;
# server and client of NFS 4.1 share one device, the files lie in a tmpfs. Data
# goes with O_DIRECT, once unmeasured, since the first pass allocates memory.

# shellcheck disable=SC2154  # the user's variables: log, part, limit, *_addr
storage=''
nvmet=/sys/kernel/config/nvmet
nvme_nqn=rdma-soft-bench
nvme_disk=''
nfs_dir=/run/nfs-export
nfs_mnt=/run/nfs

nvme_has_disk()
{
	local d
	for d in /sys/class/nvme/*; do
		[ "$(cat "$d/subsysnqn" 2>/dev/null)" = $nvme_nqn ] || continue
		nvme_disk=/dev/${d##*/}n1
		[ -b "$nvme_disk" ] && return
	done
	return 1
}

nvme_up()
{
	local sub=$nvmet/subsystems/$nvme_nqn port=$nvmet/ports/1
	modprobe -a nvmet-rdma nvme-rdma &&
		modprobe null_blk nr_devices=1 gb=1 memory_backed=1 || return
	[ -d $nvmet ] || mount -t configfs none /sys/kernel/config || return
	mkdir "$sub" && echo 1 >"$sub/attr_allow_any_host" &&
		mkdir "$sub/namespaces/1" &&
		echo -n /dev/nullb0 >"$sub/namespaces/1/device_path" &&
		echo 1 >"$sub/namespaces/1/enable" && mkdir $port || return
	echo rdma >$port/addr_trtype && echo ipv4 >$port/addr_adrfam &&
		echo "$srv_addr" >$port/addr_traddr && echo 4420 >$port/addr_trsvcid &&
		ln -s "$sub" $port/subsystems/ || return
	nvme connect -t rdma -a "$srv_addr" -s 4420 -w "$cli_addr" -i 1 -n $nvme_nqn &&
		wait_for 20 nvme_has_disk && nvme_has_disk
}

nvme_down()
{
	local sub=$nvmet/subsystems/$nvme_nqn port=$nvmet/ports/1
	nvme disconnect -n $nvme_nqn
	rm -f $port/subsystems/$nvme_nqn
	rmdir $port
	[ ! -d "$sub/namespaces/1" ] || { echo 0 >"$sub/namespaces/1/enable"; rmdir "$sub/namespaces/1"; }
	rmdir "$sub"
	rmmod nvme_rdma nvmet_rdma null_blk
}

nfs_up()
{
	modprobe -a nfsd nfsv4 rpcrdma || return
	mkdir -p $nfs_dir $nfs_mnt /var/lib/nfs/rpc_pipefs /var/lib/nfs/v4recovery
	mount -t tmpfs -o size=256m none $nfs_dir || return
	[ -e /proc/fs/nfsd/portlist ] || mount -t nfsd none /proc/fs/nfsd || return
	exportfs -o rw,no_root_squash,fsid=0,insecure,no_subtree_check "*:$nfs_dir" &&
		rpc.mountd -N 3 && rpc.nfsd -N 3 4 || return
	# no client of an earlier life may come back
	echo Y >/proc/fs/nfsd/v4_end_grace
	echo 'rdma 20049' >/proc/fs/nfsd/portlist || return
	timeout "$limit" mount -t nfs -o vers=4.1,sec=sys,proto=rdma,port=20049 "$srv_addr:/" $nfs_mnt || return
	: >$nfs_mnt/file
}

nfs_down()
{
	umount $nfs_mnt
	rpc.nfsd 0
	exportfs -au
	umount $nfs_dir
	# the connection that is idle goes with the module
	rmmod rpcrdma
}

# storage_leave: before the links go
storage_leave()
{
	[ -z "$storage" ] || "${storage}_down" >>"$log/storage" 2>&1
	storage=''
}

# storage_dd DIRECTION BYTES COUNT [FILE]: write it from FILE, or read it into it
storage_dd()
{
	local disk=$nfs_mnt/file
	[ "$storage" = nfs ] || disk=$nvme_disk
	if [ "$1" = write ]; then
		timeout "$limit" dd if="${4:-/dev/zero}" of="$disk" bs="$2" count="$3" oflag=direct conv=notrunc
	else
		timeout "$limit" dd if="$disk" of="${4:-/dev/null}" bs="$2" count="$3" iflag=direct
	fi
}

# storage_verify: random bytes come back as they were
storage_verify()
{
	dd if=/dev/urandom of=/run/written bs=1048576 count=4 iflag=fullblock &&
		storage_dd write 1048576 4 /run/written &&
		storage_dd read 1048576 4 /run/read &&
		cmp /run/written /run/read
}

# storage_measure ID nvme|nfs BYTES DIRECTION BLOCK
storage_measure()
{
	local id=$1 bytes=$3 before
	[ "$storage" = "$2" ] || {
		storage_leave
		storage=$2
		"$2_up" >>"$log/storage" 2>&1 ||
			{ err "$part $id: no $2, see log/storage: $(tail -n 1 "$log/storage")"; storage_leave; return 1; }
		# what both directions use is allocated
		storage_dd write 1048576 60 >>"$log/storage" 2>&1 || return
		storage_verify >>"$log/storage" 2>&1 ||
			{ err "$part $id: not the bytes that were written"; storage_leave; return 1; }
	}
	before=$(crossed_veth)
	storage_dd "$4" "$5" $((bytes / $5)) >"$log/$part-$id.client" 2>&1 ||
		{ err "$part $id: dd failed"; return; }
	crossed_all "$id" "$bytes" "$before"
}
