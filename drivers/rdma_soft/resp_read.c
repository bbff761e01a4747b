// SPDX-License-Identifier: GPL-2.0
/*
 * READs and atomics of the responder: execution, the store of what was executed
 * (so that a repeated request is answered again and an atomic is not executed
 * twice), and the READ response that is sent piece by piece, as the local stack
 * takes it.
 */
#include <linux/slab.h>

#include "ack.h"
#include "build.h"
#include "resp.h"
#include "stack.h"
#include "timer.h"

int rsoft_resp_resize(struct rsoft_qp *qp, u32 n)
{
	struct rsoft_resp *resp = &qp->resp;
	struct rsoft_rdres *old = resp->rdres;
	u32 size = roundup_pow_of_two(max(n, 1u));
	u32 keep, i;
	struct rsoft_rdres *new;

	if (old && size == resp->rdres_mask + 1)
		return 0;
	new = kcalloc(size, sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return -ENOMEM;
	keep = old ? min(size, resp->rdres_mask + 1) : 0;
	for (i = 0; i < keep; i++)
		new[keep - 1 - i] = old[(resp->rdres_head - 1 - i) &
					resp->rdres_mask];
	resp->rdres = new;
	resp->rdres_mask = size - 1;
	resp->rdres_head = keep;
	kfree(old);
	return 0;
}

static struct rsoft_rdres *read_remember(struct rsoft_qp *qp, u8 kind,
					 const struct rsoft_pkt *pkt, u32 npkts)
{
	struct rsoft_resp *resp = &qp->resp;
	struct rsoft_rdres *res;

	res = &resp->rdres[resp->rdres_head++ & resp->rdres_mask];
	res->kind = kind;
	res->first_psn = pkt->psn;
	res->last_psn = rsoft_psn_add(pkt->psn, npkts - 1);
	res->va = pkt->va;
	res->rkey = pkt->rkey;
	res->len = pkt->dma_len;
	res->msn = ++resp->msn;
	resp->epsn = rsoft_psn_add(pkt->psn, npkts);
	return res;
}

static void read_start(struct rsoft_qp *qp, u32 psn, u64 va, u32 rkey, u32 len,
		       u32 msn, struct rsoft_mref ref)
{
	qp->resp.reading = (struct rsoft_reading){
		.active = true,
		.psn = psn,
		.first_psn = psn,
		.va = va,
		.rkey = rkey,
		.len = len,
		.msn = msn,
		.ref = ref,
	};
	/* the response acknowledges what came before */
	qp->resp.ack_due = false;
	/* the run that follows sends it, before another packet is taken */
	qp->recv.blocked = true;
}

/*
 * Rights of a READ on its whole range; a key counts only if there are bytes.
 * The region stays held.
 */
static bool read_allowed(struct rsoft_qp *qp, u64 va, u32 rkey, u32 len,
			 struct rsoft_mref *ref)
{
	*ref = (struct rsoft_mref){};
	return !len || rsoft_mem_get(qp, rkey, RSOFT_ACC_REMOTE_READ, va, len,
				     ref) == RSOFT_ACCESS_OK;
}

void rsoft_resp_read(struct rsoft_qp *qp, const struct rsoft_pkt *pkt)
{
	struct rsoft_rdres *res;
	struct rsoft_mref ref;

	if (!(qp->access & IB_ACCESS_REMOTE_READ) ||
	    !qp->attr.max_dest_rd_atomic || pkt->dma_len > RSOFT_MAX_MSG) {
		rsoft_resp_fatal(qp, RSOFT_NAK_INV_REQ, IB_EVENT_QP_REQ_ERR);
		return;
	}
	if (!read_allowed(qp, pkt->va, pkt->rkey, pkt->dma_len, &ref)) {
		rsoft_resp_fatal(qp, RSOFT_NAK_REM_ACCESS,
				 IB_EVENT_QP_ACCESS_ERR);
		return;
	}
	rsoft_qp_count(qp, RSOFT_CNT_READ_REQS);
	res = read_remember(qp, RSOFT_KIND_READ, pkt,
			    rsoft_npkts(pkt->dma_len, qp->mtu_shift));
	read_start(qp, res->first_psn, res->va, res->rkey, res->len, res->msn,
		   ref);
}

void rsoft_resp_atomic(struct rsoft_qp *qp, const struct rsoft_pkt *pkt)
{
	bool cas = (pkt->opcode & ~RSOFT_TRANSPORT_MASK) ==
		   RSOFT_OP_COMPARE_SWAP;
	struct rsoft_rdres *res;
	struct rsoft_mref ref;

	if (!(qp->access & IB_ACCESS_REMOTE_ATOMIC) ||
	    !qp->attr.max_dest_rd_atomic || (pkt->va & 7)) {
		rsoft_resp_fatal(qp, RSOFT_NAK_INV_REQ, IB_EVENT_QP_REQ_ERR);
		return;
	}
	if (rsoft_mem_get(qp, pkt->rkey, RSOFT_ACC_REMOTE_ATOMIC, pkt->va,
			  sizeof(u64), &ref) != RSOFT_ACCESS_OK) {
		rsoft_resp_fatal(qp, RSOFT_NAK_REM_ACCESS,
				 IB_EVENT_QP_ACCESS_ERR);
		return;
	}
	rsoft_qp_count(qp, RSOFT_CNT_ATOMIC_REQS);
	res = read_remember(qp, RSOFT_KIND_ATOMIC, pkt, 1);
	res->orig = rsoft_mem_atomic(ref.mr, pkt->va, cas, pkt->swap_add,
				     pkt->compare);
	rsoft_mem_put(&ref);
	rsoft_ack_atomic(qp, res);
}

void rsoft_resp_atomic_write(struct rsoft_qp *qp, const struct rsoft_pkt *pkt,
			     u64 val)
{
	struct rsoft_mref ref;

	if (!(qp->access & IB_ACCESS_REMOTE_WRITE) ||
	    !qp->attr.max_dest_rd_atomic || pkt->dma_len != sizeof(u64) ||
	    (pkt->va & 7)) {
		rsoft_resp_fatal(qp, RSOFT_NAK_INV_REQ, IB_EVENT_QP_REQ_ERR);
		return;
	}
	if (rsoft_mem_get(qp, pkt->rkey, RSOFT_ACC_REMOTE_WRITE, pkt->va,
			  sizeof(u64), &ref) != RSOFT_ACCESS_OK) {
		rsoft_resp_fatal(qp, RSOFT_NAK_REM_ACCESS,
				 IB_EVENT_QP_ACCESS_ERR);
		return;
	}
	rsoft_qp_count(qp, RSOFT_CNT_ATOMIC_REQS);
	rsoft_mem_store(ref.mr, pkt->va, val);
	rsoft_mem_put(&ref);
	rsoft_ack_bare(qp, read_remember(qp, RSOFT_KIND_ATOMIC_WRITE, pkt, 1));
}

static u32 flush_needs(const struct rsoft_pkt *pkt)
{
	u32 need = 0;

	if (pkt->feth & RSOFT_FETH_GLOBAL)
		need |= RSOFT_ACC_FLUSH_GLOBAL;
	if (pkt->feth & RSOFT_FETH_PERSISTENT)
		need |= RSOFT_ACC_FLUSH_PERSIST;
	return need;
}

/* Rights of a FLUSH: on the range, or on the region if it names all of it. */
static bool flush_allowed(struct rsoft_qp *qp, const struct rsoft_pkt *pkt)
{
	bool all = pkt->feth >> RSOFT_FETH_LEVEL_SHIFT == RSOFT_FETH_LEVEL_MR;
	struct rsoft_mref ref;

	if (rsoft_mem_get(qp, pkt->rkey, flush_needs(pkt), pkt->va,
			  all ? 0 : pkt->dma_len, &ref) != RSOFT_ACCESS_OK)
		return false;
	rsoft_mem_put(&ref);
	return true;
}

void rsoft_resp_flush(struct rsoft_qp *qp, const struct rsoft_pkt *pkt)
{
	if (flush_needs(pkt) & ~qp->access ||
	    !qp->attr.max_dest_rd_atomic || !rsoft_feth_ok(pkt->feth)) {
		rsoft_resp_fatal(qp, RSOFT_NAK_INV_REQ, IB_EVENT_QP_REQ_ERR);
		return;
	}
	if (!flush_allowed(qp, pkt)) {
		rsoft_resp_fatal(qp, RSOFT_NAK_REM_ACCESS,
				 IB_EVENT_QP_ACCESS_ERR);
		return;
	}
	/* what a CPU wrote is visible to all; let it be so in this order */
	smp_mb();
	rsoft_ack_bare(qp, read_remember(qp, RSOFT_KIND_FLUSH, pkt, 1));
}

static struct rsoft_rdres *read_find(struct rsoft_qp *qp, u32 psn)
{
	struct rsoft_resp *resp = &qp->resp;
	struct rsoft_rdres *res;
	u32 i;

	for (i = 0; i <= resp->rdres_mask; i++) {
		res = &resp->rdres[i];
		if (res->kind != RSOFT_KIND_NONE &&
		    rsoft_psn_in(psn, res->first_psn, res->last_psn))
			return res;
	}
	return NULL;
}

/*
 * A READ asked for again must lie inside what was allowed then, at the place
 * that its PSN says (list report on a range that was not checked again).
 */
static bool read_repeats(const struct rsoft_qp *qp,
			 const struct rsoft_rdres *res,
			 const struct rsoft_pkt *pkt)
{
	u64 off = (u64)(u32)rsoft_psn_diff(pkt->psn, res->first_psn)
		  << qp->mtu_shift;

	return res->kind == RSOFT_KIND_READ &&
	       pkt->info->kind == RSOFT_KIND_READ &&
	       pkt->rkey == res->rkey && off <= res->len &&
	       pkt->va == res->va + off && pkt->dma_len == res->len - off;
}

void rsoft_resp_repeat(struct rsoft_qp *qp, const struct rsoft_pkt *pkt)
{
	struct rsoft_rdres *res = NULL;
	struct rsoft_mref ref;

	/* An answer of then acknowledges nothing of what came since. */
	rsoft_ack_flush(qp);
	if (qp->resp.rdres)
		res = read_find(qp, pkt->psn);
	if (res && res->kind == RSOFT_KIND_ATOMIC &&
	    pkt->info->kind == RSOFT_KIND_ATOMIC) {
		rsoft_ack_atomic(qp, res);
		return;
	}
	if (res && res->kind != RSOFT_KIND_READ &&
	    res->kind == pkt->info->kind) {
		rsoft_ack_bare(qp, res);
		return;
	}
	if (!res || !read_repeats(qp, res, pkt)) {
		rsoft_qp_drop(qp, RSOFT_DROP_GHOST);
		return;
	}
	if (!(qp->access & IB_ACCESS_REMOTE_READ) ||
	    !read_allowed(qp, pkt->va, pkt->rkey, pkt->dma_len, &ref)) {
		rsoft_resp_fatal(qp, RSOFT_NAK_REM_ACCESS,
				 IB_EVENT_QP_ACCESS_ERR);
		return;
	}
	read_start(qp, pkt->psn, pkt->va, pkt->rkey, pkt->dma_len, res->msn,
		   ref);
}

/* Header of the next response packet, zero before; returns its payload bytes. */
static u32 read_packet(struct rsoft_qp *qp, struct rsoft_pkt *pkt)
{
	struct rsoft_reading *rd = &qp->resp.reading;
	u32 idx = rsoft_psn_diff(rd->psn, rd->first_psn);
	u32 len = rsoft_pkt_len(rd->len, idx, qp->mtu_shift);

	pkt->mig = true;
	pkt->pkey = RSOFT_PKEY_DEFAULT;
	pkt->qpn = qp->remote_qpn;
	pkt->psn = rd->psn;
	pkt->syn = RSOFT_SYN_ACK | RSOFT_CREDITS_INVALID;
	pkt->msn = rd->msn & RSOFT_MSN_MASK;
	pkt->opcode = RSOFT_RC | rsoft_seg_opcode(RSOFT_KIND_READ_RESP,
						  RSOFT_TAIL_PLAIN, !idx,
						  rd->off + len == rd->len);
	pkt->info = rsoft_opinfo(pkt->opcode);
	return len;
}

/* Did the last packet of the response leave? */
static bool read_complete(const struct rsoft_reading *rd)
{
	return rd->off == rd->len && rd->psn != rd->first_psn;
}

enum read_step {
	READ_SENT,	/* a packet was added */
	READ_WAIT,	/* the stack must take bytes first */
	READ_FAILED,	/* the memory may not be read any more */
};

/**
 * struct read_run - one run of a READ response
 * @tx: skb under construction
 * @c: memory that is read
 * @from: the READ's range as a piece of memory
 * @start_psn: reading.psn at the first packet of @tx
 * @start_off: reading.off at the first packet of @tx
 */
struct read_run {
	struct rsoft_tx tx;
	struct rsoft_cursor c;
	struct rsoft_sge from;
	u32 start_psn;
	u32 start_off;
};

static bool read_flush_batch(struct rsoft_qp *qp, struct read_run *run)
{
	struct rsoft_reading *rd = &qp->resp.reading;

	if (!rsoft_tx_flush(&run->tx, &qp->resp.tx_refused))
		return true;
	rd->psn = run->start_psn;
	rd->off = run->start_off;
	return false;
}

/* Make room in the batch for a packet; false if the stack must take bytes first. */
static bool read_room(struct rsoft_qp *qp, struct read_run *run,
		      const struct rsoft_path *path,
		      const struct rsoft_opinfo *info, u32 len)
{
	struct rsoft_reading *rd = &qp->resp.reading;

	if (run->tx.skb && !rsoft_tx_fits(&run->tx, path, info, len)) {
		if (!read_flush_batch(qp, run))
			return false;
		if (rsoft_stack_full(qp)) {
			rsoft_qp_count(qp, RSOFT_CNT_TX_THROTTLED);
			return false;
		}
	}
	if (!run->tx.skb) {
		run->start_psn = rd->psn;
		run->start_off = rd->off;
	}
	return true;
}

/* Packets from the next one on that lie in the middle of the response. */
static u32 read_alike(const struct rsoft_qp *qp)
{
	const struct rsoft_reading *rd = &qp->resp.reading;

	if (rd->psn == rd->first_psn || rd->off == rd->len)
		return 0;
	/* the last one carries at least a byte */
	return (rd->len - rd->off - 1) >> qp->mtu_shift;
}

/* The next packet, or some of those from there on that are alike. */
static enum read_step read_step(struct rsoft_qp *qp, struct read_run *run)
{
	struct rsoft_path *path = rcu_dereference_protected(qp->path, 1);
	struct rsoft_reading *rd = &qp->resp.reading;
	u32 n = read_alike(qp);
	struct rsoft_pkt pkt = {};
	enum rsoft_access why;
	int got = 1;
	int err;
	u32 len;

	len = read_packet(qp, &pkt);
	if (!read_room(qp, run, path, pkt.info, len))
		return READ_WAIT;
	rsoft_cursor_seek(&run->c, rd->off);
	if (n > 1) {
		got = rsoft_tx_alike(&run->tx, path, &pkt, &run->c, len, n,
				     &why);
		err = min(got, 0);
	} else {
		err = rsoft_tx_packet(&run->tx, path, &pkt, &run->c, len, &why);
	}
	if (err == -EAGAIN)
		return READ_WAIT;
	if (err)
		return READ_FAILED;
	rd->psn = rsoft_psn_add(rd->psn, got);
	rd->off += got * len;
	return READ_SENT;
}

/* The region went away in the middle: NAK the response that cannot be sent. */
static void read_fail(struct rsoft_qp *qp)
{
	struct rsoft_resp *resp = &qp->resp;

	resp->epsn = resp->reading.psn;
	resp->reading.active = false;
	qp->recv.blocked = false;
	rsoft_resp_fatal(qp, RSOFT_NAK_REM_ACCESS, IB_EVENT_QP_ACCESS_ERR);
}

bool rsoft_resp_reading(struct rsoft_qp *qp, u32 budget)
{
	struct rsoft_reading *rd = &qp->resp.reading;
	struct read_run run = {
		.from = { .addr = rd->va, .len = rd->len, .lkey = rd->rkey },
	};
	enum read_step step = READ_SENT;

	rsoft_tx_init(&run.tx, qp, &qp->recv);
	rsoft_cursor_init(&run.c, qp, &run.from, 1,
			  RSOFT_ACC_REMOTE_READ);
	rsoft_cursor_hold(&run.c, &rd->ref);
	while (step == READ_SENT && !read_complete(rd) &&
	       run.tx.bytes < budget)
		step = read_step(qp, &run);
	if (!read_flush_batch(qp, &run))
		step = READ_WAIT;
	rsoft_cursor_release(&run.c);

	if (step == READ_FAILED) {
		read_fail(qp);
		return false;
	}
	if (step == READ_WAIT) {
		qp->resp.tx_wait = true;
		rsoft_stack_wait(qp, &qp->recv, &qp->resp.tx_timer,
				 qp->resp.tx_refused);
		return false;
	}
	if (!read_complete(rd))
		return true;
	rd->active = false;
	qp->recv.blocked = false;
	return false;
}
