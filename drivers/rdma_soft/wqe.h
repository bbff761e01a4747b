/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work requests as the engines see them: private, copied once, validated.
 */
#ifndef RSOFT_WQE_H
#define RSOFT_WQE_H

#include <rdma/ib_verbs.h>

#include "../../include/uapi/rdma/rdma_soft-abi.h"
#include "proto/opcode.h"
#include "proto/segment.h"

struct rsoft_path;
struct rsoft_qp;

/**
 * struct rsoft_sge - one piece of memory of a work request
 * @addr: address, named as the key's owner does
 * @len: bytes
 * @lkey: local key
 */
struct rsoft_sge {
	u64 addr;
	u32 len;
	u32 lkey;
};

enum rsoft_swqe_state {
	RSOFT_SWQE_POSTED,	/* validated, no packet sent */
	RSOFT_SWQE_SENDING,	/* PSNs assigned, packets leave */
	RSOFT_SWQE_SENT,	/* last packet sent at least once */
	RSOFT_SWQE_DONE,	/* done, waits for its turn to complete */
};

/**
 * struct rsoft_swqe - a send work request
 * @wr_id: consumer's cookie (wr_cqe pointer of kernel consumers fits)
 * @kind: what packets it becomes; RSOFT_KIND_NONE for local operations
 * @opcode: IB_WR_*
 * @tail: what the last packet carries
 * @flags: IB_SEND_*
 * @state: progress
 * @status: how it ends, IB_WC_SUCCESS until something fails
 * @vendor_err: detail for the completion
 * @len: payload bytes
 * @first_psn: PSN of its first packet
 * @last_psn: PSN of its last packet, or of the last expected READ response
 * @resp_psn: READ, atomic: PSN of the next response expected
 * @asked_psn: READ: PSN of the last request sent; its response starts there
 * @imm: immediate data as on the wire
 * @inv_rkey: key that an invalidation names, BIND_MW: the window's present one
 * @raddr: remote address of RDMA and atomics; REG_MR, BIND_MW: first address
 * @rkey: remote key; REG_MR, BIND_MW: new key
 * @swap_add: atomic operand
 * @reg_len: REG_MR, BIND_MW: bytes
 * @compare: atomic operand
 * @path: UD: where to send; a reference is held
 * @remote_qpn: UD: destination QPN
 * @mr_lkey: BIND_MW: key of the region
 * @remote_qkey: UD: Q_Key
 * @access: REG_MR, BIND_MW: IB_ACCESS_*
 * @feth: FLUSH: what its header says
 * @pkey_index: GSI: P_Key index
 * @num_sge: pieces in @sge
 * @inline_data: payload lies in @data, not in @sge
 * @sge: pieces of memory; @data shares the room
 * @data: inline payload
 */
struct rsoft_swqe {
	u64 wr_id;
	u8 kind;
	u8 opcode;
	u8 tail;
	u8 state;
	u32 flags;
	u32 status;
	u32 vendor_err;
	u32 len;
	u32 first_psn;
	u32 last_psn;
	u32 resp_psn;
	u32 asked_psn;
	__be32 imm;
	u32 inv_rkey;
	u64 raddr;
	union {
		u64 swap_add;
		u64 reg_len;
	};
	u64 compare;
	u32 rkey;
	union {
		u32 remote_qpn;
		u32 mr_lkey;
	};
	union {
		u32 remote_qkey;
		u32 access;
		u32 feth;
	};
	u16 pkey_index;
	u8 num_sge;
	bool inline_data;
	struct rsoft_path *path;
	union {
		DECLARE_FLEX_ARRAY(struct rsoft_sge, sge);
		DECLARE_FLEX_ARRAY(u8, data);
	};
};

/**
 * struct rsoft_rwqe - a receive work request
 * @wr_id: consumer's cookie
 * @len: bytes of all pieces, at most 2^31
 * @num_sge: pieces in @sge
 * @status: IB_WC_SUCCESS, or why it is not usable (IB_WC_LOC_QP_OP_ERR)
 * @sge: pieces of memory
 */
struct rsoft_rwqe {
	u64 wr_id;
	u32 len;
	u8 num_sge;
	u32 status;
	struct rsoft_sge sge[32];
};

/**
 * rsoft_rwqe_decode() - copy a receive WQE out of a ring, once, and validate
 * @src: element of a ring; its content may change at any time
 * @max_sge: pieces that fit in an element of this ring
 * @out: filled in; @out->status tells if it can be used
 *
 * A WQE with more than @max_sge pieces is unusable but still completes; room
 * beyond 2^31 bytes is not used.
 */
void rsoft_rwqe_decode(const struct rdma_soft_recv_wqe *src, u32 max_sge,
		       struct rsoft_rwqe *out);

/**
 * rsoft_rwqe_encode() - write a kernel consumer's receive request to a ring
 * @dst: element
 * @wr: request, num_sge within the limit of the queue
 */
void rsoft_rwqe_encode(struct rdma_soft_recv_wqe *dst,
		       const struct ib_recv_wr *wr);

/**
 * rsoft_swqe_decode() - copy a user's send WQE, once, and validate
 * @qp: owner
 * @src: element of its SQ; its content may change at any time
 * @out: filled in; @out->status is not IB_WC_SUCCESS if it cannot be executed
 */
void rsoft_swqe_decode(struct rsoft_qp *qp,
		       const struct rdma_soft_send_wqe *src,
		       struct rsoft_swqe *out);

/**
 * rsoft_swqe_from_wr() - validate and copy a kernel consumer's request
 * @qp: owner
 * @wr: request
 * @out: filled in
 *
 * Return: 0, -EINVAL for an operation, a size or a state that is not allowed.
 */
int rsoft_swqe_from_wr(struct rsoft_qp *qp, const struct ib_send_wr *wr,
		       struct rsoft_swqe *out);

/**
 * rsoft_swqe_flushed() - a request that will only be flushed
 * @wr: request of a kernel consumer to a QP in ERR
 * @out: filled in
 *
 * ib_drain_sq() posts a WRITE to QPs of every type.
 */
void rsoft_swqe_flushed(const struct ib_send_wr *wr, struct rsoft_swqe *out);

/**
 * rsoft_swqe_release() - drop what a request holds
 * @wqe: request
 */
void rsoft_swqe_release(struct rsoft_swqe *wqe);

#endif
