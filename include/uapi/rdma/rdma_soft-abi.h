/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Memory shared with the user-space provider: the layout that the rxe provider
 * of rdma-core 44 to 65 uses, so that it drives this device unchanged.
 *
 * Ring (rdma_soft_queue_buf, 384 bytes, then the elements)
 *
 *	  +0 log2_elem_size	set by the kernel, for user space only
 *	  +4 index_mask		set by the kernel, for user space only
 *	+128 producer_index	store-release by the producer
 *	+256 consumer_index	store-release by the consumer
 *	+384 data		elements of 1 << log2_elem_size bytes
 *
 * Element: send WQE (SQ), receive WQE (RQ, SRQ), struct ib_uverbs_wc in slots
 * of 64 bytes (CQ). Indices are masked; a ring is full when the producer is
 * one behind the consumer.
 *
 * The whole mapping can be written by user space at any time. The kernel keeps
 * its own copy of sizes and of its own index, reads the other index and each
 * element once, and validates the copy.
 *
 * Driver-specific parts of the verbs
 *
 *	create CQ	out: rdma_soft_create_cq_resp
 *	resize CQ	out: rdma_soft_resize_cq_resp
 *	create QP	out: rdma_soft_create_qp_resp
 *	create SRQ	out: rdma_soft_create_srq_resp
 *	modify SRQ	in: rdma_soft_modify_srq_cmd (for a resize)
 *	create AH	out: rdma_soft_create_ah_resp
 */
#ifndef RDMA_SOFT_ABI_H
#define RDMA_SOFT_ABI_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/stddef.h>
#include <linux/types.h>

#ifdef __KERNEL__
#include <linux/build_bug.h>
#else
#include <assert.h>
#include <stddef.h>
#endif

/* What ib_device reports as uverbs_abi_ver. */
#define RDMA_SOFT_UVERBS_ABI_VERSION	2

enum {
	RDMA_SOFT_NETWORK_TYPE_IPV4 = 1,
	RDMA_SOFT_NETWORK_TYPE_IPV6 = 2,
};

/**
 * union rdma_soft_gid - a GID
 * @raw: its bytes
 * @global: its halves
 */
union rdma_soft_gid {
	__u8	raw[16];
	struct {
		__be64	subnet_prefix;
		__be64	interface_id;
	} global;
};

static_assert(sizeof(union rdma_soft_gid) == 16);

/**
 * struct rdma_soft_global_route - the GRH part of an address vector
 * @dgid: destination
 * @flow_label: IPv6 flow label
 * @sgid_index: index of the source in the GID table
 * @hop_limit: TTL
 * @traffic_class: TOS byte
 */
struct rdma_soft_global_route {
	union rdma_soft_gid	dgid;
	__u32			flow_label;
	__u8			sgid_index;
	__u8			hop_limit;
	__u8			traffic_class;
};

static_assert(sizeof(struct rdma_soft_global_route) == 24);
static_assert(offsetof(struct rdma_soft_global_route, flow_label) == 16);
static_assert(offsetof(struct rdma_soft_global_route, sgid_index) == 20);
static_assert(offsetof(struct rdma_soft_global_route, hop_limit) == 21);
static_assert(offsetof(struct rdma_soft_global_route, traffic_class) == 22);

/**
 * struct rdma_soft_av - address vector in a UD WQE; not read, see ud.ah_num
 * @port_num: port, 1
 * @network_type: RDMA_SOFT_NETWORK_TYPE_*
 * @dmac: destination MAC; not used by the kernel, which resolves it
 * @grh: the route
 * @sgid_addr: source address
 * @dgid_addr: destination address
 */
struct rdma_soft_av {
	__u8			port_num;
	__u8			network_type;
	__u8			dmac[6];
	struct rdma_soft_global_route grh;
	union {
		struct sockaddr_in	_sockaddr_in;
		struct sockaddr_in6	_sockaddr_in6;
	} sgid_addr, dgid_addr;
};

static_assert(sizeof(struct rdma_soft_av) == 88);
static_assert(offsetof(struct rdma_soft_av, network_type) == 1);
static_assert(offsetof(struct rdma_soft_av, dmac) == 2);
static_assert(offsetof(struct rdma_soft_av, grh) == 8);
static_assert(offsetof(struct rdma_soft_av, sgid_addr) == 32);
static_assert(offsetof(struct rdma_soft_av, dgid_addr) == 60);

/**
 * struct rdma_soft_send_wr - the request in a send WQE
 * @wr_id: cookie that the completion returns
 * @reserved: not used
 * @opcode: IB_WR_*
 * @send_flags: IB_SEND_*
 * @ex: immediate data or the key to invalidate
 * @wr: by operation: rdma for WRITE, READ and ATOMIC WRITE; flush for FLUSH;
 *      atomic for CAS (compare_add, swap) and FADD (compare_add); ud for
 *      SEND of a UD QP; mw for a window bind
 *
 * ud.ah_num is the number from rdma_soft_create_ah_resp, never 0; ud.av is for
 * kernels without such numbers and is not read.
 */
struct rdma_soft_send_wr {
	__aligned_u64		wr_id;
	__u32			reserved;
	__u32			opcode;
	__u32			send_flags;
	union {
		__be32		imm_data;
		__u32		invalidate_rkey;
	} ex;
	union {
		struct {
			__aligned_u64	remote_addr;
			__u32		length;
			__u32		rkey;
			__u8		type;
			__u8		level;
		} flush;
		struct {
			__aligned_u64	remote_addr;
			__u32		rkey;
			__u32		reserved;
		} rdma;
		struct {
			__aligned_u64	remote_addr;
			__aligned_u64	compare_add;
			__aligned_u64	swap;
			__u32		rkey;
			__u32		reserved;
		} atomic;
		struct {
			__u32		remote_qpn;
			__u32		remote_qkey;
			__u16		pkey_index;
			__u16		reserved;
			__u32		ah_num;
			__u32		pad[4];
			struct rdma_soft_av av;
		} ud;
		struct {
			__aligned_u64	addr;
			__aligned_u64	length;
			__u32		mr_lkey;
			__u32		mw_rkey;
			__u32		rkey;
			__u32		access;
		} mw;
	} wr;
};

static_assert(sizeof(struct rdma_soft_send_wr) == 144);
static_assert(offsetof(struct rdma_soft_send_wr, opcode) == 12);
static_assert(offsetof(struct rdma_soft_send_wr, send_flags) == 16);
static_assert(offsetof(struct rdma_soft_send_wr, ex) == 20);
static_assert(offsetof(struct rdma_soft_send_wr, wr) == 24);
static_assert(offsetof(struct rdma_soft_send_wr, wr.flush.length) == 32);
static_assert(offsetof(struct rdma_soft_send_wr, wr.flush.rkey) == 36);
static_assert(offsetof(struct rdma_soft_send_wr, wr.flush.type) == 40);
static_assert(offsetof(struct rdma_soft_send_wr, wr.flush.level) == 41);
static_assert(offsetof(struct rdma_soft_send_wr, wr.rdma.rkey) == 32);
static_assert(offsetof(struct rdma_soft_send_wr, wr.atomic.compare_add) == 32);
static_assert(offsetof(struct rdma_soft_send_wr, wr.atomic.swap) == 40);
static_assert(offsetof(struct rdma_soft_send_wr, wr.atomic.rkey) == 48);
static_assert(offsetof(struct rdma_soft_send_wr, wr.ud.remote_qkey) == 28);
static_assert(offsetof(struct rdma_soft_send_wr, wr.ud.pkey_index) == 32);
static_assert(offsetof(struct rdma_soft_send_wr, wr.ud.ah_num) == 36);
static_assert(offsetof(struct rdma_soft_send_wr, wr.ud.av) == 56);
static_assert(offsetof(struct rdma_soft_send_wr, wr.mw.length) == 32);
static_assert(offsetof(struct rdma_soft_send_wr, wr.mw.mr_lkey) == 40);
static_assert(offsetof(struct rdma_soft_send_wr, wr.mw.mw_rkey) == 44);
static_assert(offsetof(struct rdma_soft_send_wr, wr.mw.rkey) == 48);
static_assert(offsetof(struct rdma_soft_send_wr, wr.mw.access) == 52);

/**
 * struct rdma_soft_sge - one piece of memory
 * @addr: first address
 * @length: bytes
 * @lkey: local key
 */
struct rdma_soft_sge {
	__aligned_u64	addr;
	__u32		length;
	__u32		lkey;
};

static_assert(sizeof(struct rdma_soft_sge) == 16);
static_assert(offsetof(struct rdma_soft_sge, length) == 8);
static_assert(offsetof(struct rdma_soft_sge, lkey) == 12);

/**
 * struct rdma_soft_mminfo - what to map
 * @offset: offset for mmap
 * @size: bytes to map, all of them
 * @pad: not used
 */
struct rdma_soft_mminfo {
	__aligned_u64	offset;
	__u32		size;
	__u32		pad;
};

static_assert(sizeof(struct rdma_soft_mminfo) == 16);
static_assert(offsetof(struct rdma_soft_mminfo, size) == 8);

/**
 * struct rdma_soft_dma_info - payload of a WQE
 * @length: bytes of inline data; else not looked at, the pieces count
 * @resid: not read by the kernel
 * @cur_sge: not read by the kernel
 * @num_sge: pieces in @sge
 * @sge_offset: not read by the kernel
 * @reserved: not used
 * @inline_data: payload of a WQE with IB_SEND_INLINE
 * @atomic_wr: the eight bytes of an ATOMIC WRITE
 * @sge: pieces of memory
 */
struct rdma_soft_dma_info {
	__u32	length;
	__u32	resid;
	__u32	cur_sge;
	__u32	num_sge;
	__u32	sge_offset;
	__u32	reserved;
	union {
		__DECLARE_FLEX_ARRAY(__u8, inline_data);
		__DECLARE_FLEX_ARRAY(__u8, atomic_wr);
		__DECLARE_FLEX_ARRAY(struct rdma_soft_sge, sge);
	};
};

static_assert(sizeof(struct rdma_soft_dma_info) == 24);
static_assert(offsetof(struct rdma_soft_dma_info, num_sge) == 12);
static_assert(offsetof(struct rdma_soft_dma_info, inline_data) == 24);
static_assert(offsetof(struct rdma_soft_dma_info, atomic_wr) == 24);
static_assert(offsetof(struct rdma_soft_dma_info, sge) == 24);

/**
 * struct rdma_soft_send_wqe - element of an SQ
 * @wr: the request
 * @status: not read by the kernel
 * @state: not read by the kernel
 * @iova: not read by the kernel
 * @mask: not read by the kernel
 * @first_psn: not read by the kernel
 * @last_psn: not read by the kernel
 * @ack_length: not read by the kernel
 * @ssn: not read by the kernel
 * @has_rd_atomic: not read by the kernel
 * @dma: its payload
 */
struct rdma_soft_send_wqe {
	struct rdma_soft_send_wr wr;
	__u32			status;
	__u32			state;
	__aligned_u64		iova;
	__u32			mask;
	__u32			first_psn;
	__u32			last_psn;
	__u32			ack_length;
	__u32			ssn;
	__u32			has_rd_atomic;
	struct rdma_soft_dma_info dma;
};

static_assert(sizeof(struct rdma_soft_send_wqe) == 208);
static_assert(offsetof(struct rdma_soft_send_wqe, status) == 144);
static_assert(offsetof(struct rdma_soft_send_wqe, state) == 148);
static_assert(offsetof(struct rdma_soft_send_wqe, iova) == 152);
static_assert(offsetof(struct rdma_soft_send_wqe, mask) == 160);
static_assert(offsetof(struct rdma_soft_send_wqe, dma) == 184);

/**
 * struct rdma_soft_recv_wqe - element of an RQ or SRQ
 * @wr_id: cookie that the completion returns
 * @reserved: not used
 * @padding: not used
 * @dma: where the message goes
 */
struct rdma_soft_recv_wqe {
	__aligned_u64		wr_id;
	__u32			reserved;
	__u32			padding;
	struct rdma_soft_dma_info dma;
};

static_assert(sizeof(struct rdma_soft_recv_wqe) == 40);
static_assert(offsetof(struct rdma_soft_recv_wqe, dma) == 16);

/**
 * struct rdma_soft_create_ah_resp - answer to create AH
 * @ah_num: number for ud.ah_num, never 0
 * @reserved: 0
 */
struct rdma_soft_create_ah_resp {
	__u32 ah_num;
	__u32 reserved;
};

static_assert(sizeof(struct rdma_soft_create_ah_resp) == 8);

/**
 * struct rdma_soft_create_cq_resp - answer to create CQ
 * @mi: its ring
 */
struct rdma_soft_create_cq_resp {
	struct rdma_soft_mminfo mi;
};

static_assert(sizeof(struct rdma_soft_create_cq_resp) == 16);

/**
 * struct rdma_soft_resize_cq_resp - answer to resize CQ
 * @mi: the new ring, which holds what was not polled yet
 */
struct rdma_soft_resize_cq_resp {
	struct rdma_soft_mminfo mi;
};

static_assert(sizeof(struct rdma_soft_resize_cq_resp) == 16);

/**
 * struct rdma_soft_create_qp_resp - answer to create QP
 * @rq_mi: receive ring; all zero with an SRQ
 * @sq_mi: send ring
 */
struct rdma_soft_create_qp_resp {
	struct rdma_soft_mminfo rq_mi;
	struct rdma_soft_mminfo sq_mi;
};

static_assert(sizeof(struct rdma_soft_create_qp_resp) == 32);
static_assert(offsetof(struct rdma_soft_create_qp_resp, sq_mi) == 16);

/**
 * struct rdma_soft_create_srq_resp - answer to create SRQ
 * @mi: its ring
 * @srq_num: its number
 * @reserved: 0
 */
struct rdma_soft_create_srq_resp {
	struct rdma_soft_mminfo mi;
	__u32 srq_num;
	__u32 reserved;
};

static_assert(sizeof(struct rdma_soft_create_srq_resp) == 24);
static_assert(offsetof(struct rdma_soft_create_srq_resp, srq_num) == 16);

/**
 * struct rdma_soft_modify_srq_cmd - driver part of a resize of an SRQ
 * @mmap_info_addr: user address of a struct rdma_soft_mminfo, which the kernel
 *                  fills for the new ring
 */
struct rdma_soft_modify_srq_cmd {
	__aligned_u64 mmap_info_addr;
};

static_assert(sizeof(struct rdma_soft_modify_srq_cmd) == 8);

/**
 * struct rdma_soft_queue_buf - head of a ring
 * @log2_elem_size: log2 of the element size
 * @index_mask: number of elements - 1
 * @pad_1: keeps the indices in cache lines of their own
 * @producer_index: next element to fill
 * @pad_2: as @pad_1
 * @consumer_index: next element to take
 * @pad_3: as @pad_1
 * @data: elements
 */
struct rdma_soft_queue_buf {
	__u32	log2_elem_size;
	__u32	index_mask;
	__u32	pad_1[30];
	__u32	producer_index;
	__u32	pad_2[31];
	__u32	consumer_index;
	__u32	pad_3[31];
	__u8	data[];
};

static_assert(sizeof(struct rdma_soft_queue_buf) == 384);
static_assert(offsetof(struct rdma_soft_queue_buf, index_mask) == 4);
static_assert(offsetof(struct rdma_soft_queue_buf, producer_index) == 128);
static_assert(offsetof(struct rdma_soft_queue_buf, consumer_index) == 256);
static_assert(offsetof(struct rdma_soft_queue_buf, data) == 384);

#endif /* RDMA_SOFT_ABI_H */
