// SPDX-License-Identifier: GPL-2.0
/*
 * From a consumer's work request to a private, validated WQE. An element of a
 * ring that user space maps is copied once, word by word, and only the copy is
 * looked at; nothing in it is trusted, and lengths are computed anew.
 */
#include "ah.h"
#include "qp.h"
#include "wqe.h"

/* What an operation may be asked of; rows by IB_WR_*. */
#define WR_RC		BIT(0)
#define WR_UC		BIT(1)
#define WR_UD		BIT(2)
#define WR_INLINE	BIT(3)	/* payload may be inline */
#define WR_RDMA		BIT(4)	/* has remote address and key */
#define WR_LOCAL	BIT(5)	/* sends nothing */
#define WR_KERNEL	BIT(6)	/* not for user space */
#define WR_USER		BIT(7)	/* for user space only */

struct wr_info {
	u8 kind;
	u8 tail;
	u8 flags;
};

static const struct wr_info wr_table[] = {
	[IB_WR_RDMA_WRITE] = {
		RSOFT_KIND_WRITE, RSOFT_TAIL_PLAIN,
		WR_RC | WR_UC | WR_INLINE | WR_RDMA
	},
	[IB_WR_RDMA_WRITE_WITH_IMM] = {
		RSOFT_KIND_WRITE, RSOFT_TAIL_IMM,
		WR_RC | WR_UC | WR_INLINE | WR_RDMA
	},
	[IB_WR_SEND] = {
		RSOFT_KIND_SEND, RSOFT_TAIL_PLAIN,
		WR_RC | WR_UC | WR_UD | WR_INLINE
	},
	[IB_WR_SEND_WITH_IMM] = {
		RSOFT_KIND_SEND, RSOFT_TAIL_IMM,
		WR_RC | WR_UC | WR_UD | WR_INLINE
	},
	[IB_WR_RDMA_READ] = {
		RSOFT_KIND_READ, RSOFT_TAIL_PLAIN, WR_RC | WR_RDMA
	},
	[IB_WR_ATOMIC_CMP_AND_SWP] = {
		RSOFT_KIND_ATOMIC, RSOFT_TAIL_PLAIN, WR_RC
	},
	[IB_WR_ATOMIC_FETCH_AND_ADD] = {
		RSOFT_KIND_ATOMIC, RSOFT_TAIL_PLAIN, WR_RC
	},
	[IB_WR_SEND_WITH_INV] = {
		RSOFT_KIND_SEND, RSOFT_TAIL_INV, WR_RC | WR_INLINE
	},
	[IB_WR_LOCAL_INV] = {
		RSOFT_KIND_NONE, RSOFT_TAIL_PLAIN, WR_RC | WR_UC | WR_LOCAL
	},
	[IB_WR_BIND_MW] = {
		RSOFT_KIND_NONE, RSOFT_TAIL_PLAIN,
		WR_RC | WR_UC | WR_LOCAL | WR_USER
	},
	[IB_WR_REG_MR] = {
		RSOFT_KIND_NONE, RSOFT_TAIL_PLAIN,
		WR_RC | WR_UC | WR_LOCAL | WR_KERNEL
	},
	[IB_WR_FLUSH] = {
		RSOFT_KIND_FLUSH, RSOFT_TAIL_PLAIN, WR_RC
	},
	[IB_WR_ATOMIC_WRITE] = {
		RSOFT_KIND_ATOMIC_WRITE, RSOFT_TAIL_PLAIN,
		WR_RC | WR_INLINE | WR_RDMA
	},
};

static const struct wr_info *wr_lookup(const struct rsoft_qp *qp, u32 opcode)
{
	const struct wr_info *info;
	u8 type;

	switch (qp->ibqp.qp_type) {
	case IB_QPT_RC:
		type = WR_RC;
		break;
	case IB_QPT_UC:
		type = WR_UC;
		break;
	default:
		type = WR_UD;
	}
	if (opcode >= ARRAY_SIZE(wr_table))
		return NULL;
	info = &wr_table[opcode];
	if (info->flags & (qp->user ? WR_KERNEL : WR_USER))
		return NULL;
	return info->flags & type ? info : NULL;
}

/* Copy from memory that user space writes at the same time: each word once. */
static void copy_once(void *dst, const void *src, size_t len)
{
	const u64 *from = src;
	u64 *to = dst;
	size_t i;

	for (i = 0; i < len / sizeof(u64); i++)
		to[i] = READ_ONCE(from[i]);
}

/* Longest message of a QP. */
static u32 wr_max_len(const struct rsoft_qp *qp)
{
	return rsoft_qp_is_dgram(qp) ? 1u << qp->mtu_shift : RSOFT_MAX_MSG;
}

static enum ib_wc_status wr_check_len(const struct rsoft_qp *qp,
				      struct rsoft_swqe *out, u64 len)
{
	if (len > wr_max_len(qp))
		return IB_WC_LOC_LEN_ERR;
	if ((out->kind == RSOFT_KIND_ATOMIC ||
	     out->kind == RSOFT_KIND_ATOMIC_WRITE) && len != sizeof(u64))
		return IB_WC_LOC_LEN_ERR;
	out->len = len;
	return IB_WC_SUCCESS;
}

static void swqe_clear(struct rsoft_swqe *out)
{
	memset(out, 0, offsetof(struct rsoft_swqe, sge));
	out->status = IB_WC_SUCCESS;
	out->state = RSOFT_SWQE_POSTED;
}

/* The part of a user's WQE that names the other side. */
static enum ib_wc_status swqe_target(struct rsoft_qp *qp,
				     const struct rdma_soft_send_wr *wr,
				     struct rsoft_swqe *out)
{
	if (rsoft_qp_is_dgram(qp)) {
		out->remote_qpn = wr->wr.ud.remote_qpn & RSOFT_QPN_MASK;
		out->remote_qkey = wr->wr.ud.remote_qkey;
		/* a key with the top bit set stands for the QP's own */
		if (out->remote_qkey & BIT(31))
			out->remote_qkey = qp->qkey;
		out->path = rsoft_ah_path(qp->ibqp.pd, wr->wr.ud.ah_num);
		return out->path ? IB_WC_SUCCESS : IB_WC_LOC_QP_OP_ERR;
	}
	if (out->kind == RSOFT_KIND_ATOMIC) {
		out->raddr = wr->wr.atomic.remote_addr;
		out->rkey = wr->wr.atomic.rkey;
		out->compare = wr->wr.atomic.compare_add;
		out->swap_add = out->opcode == IB_WR_ATOMIC_CMP_AND_SWP ?
				wr->wr.atomic.swap : wr->wr.atomic.compare_add;
		return IB_WC_SUCCESS;
	}
	out->raddr = wr->wr.rdma.remote_addr;
	out->rkey = wr->wr.rdma.rkey;
	return IB_WC_SUCCESS;
}

static enum ib_wc_status swqe_user_sges(struct rsoft_qp *qp, const void *src,
					u32 num, struct rsoft_swqe *out)
{
	struct rdma_soft_sge sge;
	u64 len = 0;
	u32 i;

	if (num > qp->sq.max_sge)
		return IB_WC_LOC_QP_OP_ERR;
	for (i = 0; i < num; i++) {
		copy_once(&sge, src + i * sizeof(sge), sizeof(sge));
		out->sge[i].addr = sge.addr;
		out->sge[i].len = sge.length;
		out->sge[i].lkey = sge.lkey;
		len += sge.length;
	}
	out->num_sge = num;
	return wr_check_len(qp, out, len);
}

static enum ib_wc_status swqe_user_inline(struct rsoft_qp *qp, const void *src,
					  u32 len, struct rsoft_swqe *out)
{
	if (len > qp->sq.max_inline)
		return IB_WC_LOC_LEN_ERR;
	/* elements and their inline room are multiples of eight bytes */
	copy_once(out->data, src, round_up(len, sizeof(u64)));
	out->inline_data = true;
	return wr_check_len(qp, out, len);
}

/* The payload of a user's WQE. */
static enum ib_wc_status swqe_payload(struct rsoft_qp *qp,
				      const struct wr_info *info,
				      const struct rdma_soft_dma_info *dma,
				      const void *body, struct rsoft_swqe *out)
{
	/* its eight bytes lie where inline data does, whatever the flags say */
	if (out->kind == RSOFT_KIND_ATOMIC_WRITE)
		return swqe_user_inline(qp, body, dma->length, out);
	if (!(out->flags & IB_SEND_INLINE))
		return swqe_user_sges(qp, body, dma->num_sge, out);
	if (!(info->flags & WR_INLINE))
		return IB_WC_LOC_QP_OP_ERR;
	return swqe_user_inline(qp, body, dma->length, out);
}

static void swqe_bind(const struct rdma_soft_send_wr *wr,
		      struct rsoft_swqe *out)
{
	out->raddr = wr->wr.mw.addr;
	out->reg_len = wr->wr.mw.length;
	out->mr_lkey = wr->wr.mw.mr_lkey;
	out->inv_rkey = wr->wr.mw.mw_rkey;
	out->rkey = wr->wr.mw.rkey;
	out->access = wr->wr.mw.access;
}

/* A FLUSH moves no payload: its length is that of what it names. */
static enum ib_wc_status swqe_flush(const struct rdma_soft_send_wr *wr,
				    u32 len, struct rsoft_swqe *out)
{
	out->raddr = wr->wr.flush.remote_addr;
	out->rkey = wr->wr.flush.rkey;
	out->len = len;
	out->feth = rsoft_feth_make(wr->wr.flush.type, wr->wr.flush.level);
	return rsoft_feth_ok(out->feth) ? IB_WC_SUCCESS : IB_WC_LOC_QP_OP_ERR;
}

void rsoft_swqe_decode(struct rsoft_qp *qp,
		       const struct rdma_soft_send_wqe *src,
		       struct rsoft_swqe *out)
{
	const size_t body = offsetof(struct rdma_soft_send_wqe, dma.sge);
	const struct wr_info *info;
	struct rdma_soft_dma_info dma;
	struct rdma_soft_send_wr wr;

	/* nothing behind the number of an AH is used */
	copy_once(&wr, &src->wr, offsetof(struct rdma_soft_send_wr, wr.ud.av));
	copy_once(&dma, &src->dma, sizeof(dma));
	swqe_clear(out);
	out->wr_id = wr.wr_id;
	out->opcode = wr.opcode;
	out->flags = wr.send_flags;

	info = wr_lookup(qp, wr.opcode);
	if (!info) {
		out->status = IB_WC_LOC_QP_OP_ERR;
		return;
	}
	out->kind = info->kind;
	out->tail = info->tail;
	/* the same place in the WQE */
	out->imm = wr.ex.imm_data;
	out->inv_rkey = wr.ex.invalidate_rkey;
	if (info->flags & WR_LOCAL) {
		if (wr.opcode == IB_WR_BIND_MW)
			swqe_bind(&wr, out);
		return;
	}
	if (info->kind == RSOFT_KIND_FLUSH) {
		out->status = swqe_flush(&wr, dma.length, out);
		return;
	}
	out->status = swqe_payload(qp, info, &dma, (void *)src + body, out);
	if (out->status == IB_WC_SUCCESS)
		out->status = swqe_target(qp, &wr, out);
}

static int swqe_kernel_sges(struct rsoft_qp *qp, const struct ib_send_wr *wr,
			    struct rsoft_swqe *out)
{
	u64 len = 0;
	u32 i;

	if (wr->num_sge < 0 || wr->num_sge > qp->sq.max_sge)
		return -EINVAL;
	for (i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	if (wr_check_len(qp, out, len) != IB_WC_SUCCESS)
		return -EINVAL;
	if (!(wr->send_flags & IB_SEND_INLINE)) {
		for (i = 0; i < wr->num_sge; i++) {
			out->sge[i].addr = wr->sg_list[i].addr;
			out->sge[i].len = wr->sg_list[i].length;
			out->sge[i].lkey = wr->sg_list[i].lkey;
		}
		out->num_sge = wr->num_sge;
		return 0;
	}
	if (len > qp->sq.max_inline)
		return -EINVAL;
	/* inline pieces of a kernel consumer are plain kernel addresses */
	out->inline_data = true;
	for (i = 0, len = 0; i < wr->num_sge; i++) {
		memcpy(out->data + len, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		len += wr->sg_list[i].length;
	}
	return 0;
}

/* What a kernel consumer's request does to memory keys, captured when posted. */
static int swqe_kernel_local(const struct ib_send_wr *wr,
			     struct rsoft_swqe *out)
{
	const struct ib_reg_wr *reg = reg_wr(wr);
	const struct rsoft_mr *mr;

	if (wr->opcode == IB_WR_LOCAL_INV) {
		out->inv_rkey = wr->ex.invalidate_rkey;
		return 0;
	}
	mr = to_rmr(reg->mr);
	if (mr->k.type != RSOFT_MKEY_FAST ||
	    rsoft_key_index(reg->key) != mr->k.h->id)
		return -EINVAL;
	out->rkey = reg->key;
	out->access = reg->access;
	out->raddr = reg->mr->iova;
	out->reg_len = reg->mr->length;
	return 0;
}

/* The part of a kernel consumer's request that names the other side. */
static void swqe_kernel_target(struct rsoft_qp *qp, const struct ib_send_wr *wr,
			       const struct wr_info *info,
			       struct rsoft_swqe *out)
{
	if (rsoft_qp_is_dgram(qp)) {
		const struct ib_ud_wr *ud = ud_wr(wr);

		out->remote_qpn = ud->remote_qpn;
		/* a key with the top bit set stands for the QP's own */
		out->remote_qkey = ud->remote_qkey & BIT(31) ? qp->qkey :
							       ud->remote_qkey;
		out->pkey_index = ud->pkey_index;
		out->path = rsoft_path_get(to_rah(ud->ah)->path);
	} else if (out->kind == RSOFT_KIND_ATOMIC) {
		out->raddr = atomic_wr(wr)->remote_addr;
		out->rkey = atomic_wr(wr)->rkey;
		out->compare = atomic_wr(wr)->compare_add;
		out->swap_add = wr->opcode == IB_WR_ATOMIC_CMP_AND_SWP ?
				atomic_wr(wr)->swap :
				atomic_wr(wr)->compare_add;
	} else if (info->flags & WR_RDMA) {
		out->raddr = rdma_wr(wr)->remote_addr;
		out->rkey = rdma_wr(wr)->rkey;
	}
}

int rsoft_swqe_from_wr(struct rsoft_qp *qp, const struct ib_send_wr *wr,
		       struct rsoft_swqe *out)
{
	const struct wr_info *info = wr_lookup(qp, wr->opcode);
	int err;

	lockdep_assert_held(&qp->sq.lock);
	/* the core has no kernel interface for FLUSH */
	if (!info || info->kind == RSOFT_KIND_FLUSH)
		return -EINVAL;
	if ((wr->send_flags & IB_SEND_INLINE) && !(info->flags & WR_INLINE))
		return -EINVAL;
	swqe_clear(out);
	out->wr_id = wr->wr_id;
	out->opcode = wr->opcode;
	out->flags = wr->send_flags;
	out->kind = info->kind;
	out->tail = info->tail;
	if (info->flags & WR_LOCAL)
		return swqe_kernel_local(wr, out);
	out->imm = wr->ex.imm_data;
	out->inv_rkey = wr->ex.invalidate_rkey;
	err = swqe_kernel_sges(qp, wr, out);
	if (!err)
		swqe_kernel_target(qp, wr, info, out);
	return err;
}

void rsoft_swqe_flushed(const struct ib_send_wr *wr, struct rsoft_swqe *out)
{
	swqe_clear(out);
	out->wr_id = wr->wr_id;
	out->opcode = wr->opcode;
	out->flags = wr->send_flags;
	out->kind = RSOFT_KIND_SEND;
}

void rsoft_swqe_release(struct rsoft_swqe *wqe)
{
	rsoft_path_put(wqe->path);
	wqe->path = NULL;
}

void rsoft_rwqe_decode(const struct rdma_soft_recv_wqe *src, u32 max_sge,
		       struct rsoft_rwqe *out)
{
	struct rdma_soft_recv_wqe wqe;
	struct rdma_soft_sge sge;
	u64 len = 0;
	u32 i;

	copy_once(&wqe, src, sizeof(wqe));
	out->wr_id = wqe.wr_id;
	out->len = 0;
	out->num_sge = 0;
	out->status = IB_WC_LOC_QP_OP_ERR;
	if (wqe.dma.num_sge > max_sge ||
	    wqe.dma.num_sge > ARRAY_SIZE(out->sge))
		return;
	for (i = 0; i < wqe.dma.num_sge; i++) {
		copy_once(&sge, (void *)src + sizeof(wqe) + i * sizeof(sge),
			  sizeof(sge));
		out->sge[i].addr = sge.addr;
		out->sge[i].len = sge.length;
		out->sge[i].lkey = sge.lkey;
		len += sge.length;
	}
	out->num_sge = wqe.dma.num_sge;
	/* room beyond the longest message is of no use, and no error */
	out->len = min_t(u64, len, RSOFT_MAX_MSG);
	out->status = IB_WC_SUCCESS;
}

void rsoft_rwqe_encode(struct rdma_soft_recv_wqe *dst,
		       const struct ib_recv_wr *wr)
{
	struct rdma_soft_sge *sge = (void *)dst + sizeof(*dst);
	u32 i;

	memset(dst, 0, sizeof(*dst));
	dst->wr_id = wr->wr_id;
	dst->dma.num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		sge[i].addr = wr->sg_list[i].addr;
		sge[i].length = wr->sg_list[i].length;
		sge[i].lkey = wr->sg_list[i].lkey;
	}
}
