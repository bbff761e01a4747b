// SPDX-License-Identifier: GPL-2.0
/*
 * Taking keys back: by LOCAL_INV, by the peer's SEND with invalidate, and what
 * happens to who has no right to.
 */
#include <linux/crc32.h>
#include <linux/delay.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "kt.h"

#define REMOTE_ALL (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		    IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct rig - a pair with a registered region at end a
 * @p: pair
 * @mem: memory
 * @mr: region of all of it
 * @buf: plain buffer
 */
struct rig {
	struct kt_pair *p;
	struct kt_mem *mem;
	struct ib_mr *mr;
	u8 *buf;
};

static bool rig_new(struct kt *t, struct rig *r)
{
	r->p = kt_pair_new(t, NULL);
	r->mem = kt_mem_new(t, 16, 0);
	r->buf = kt_buf(t, SZ_64K);
	if (!r->p || !r->mem || !r->buf)
		return false;
	r->mr = kt_mr_new(&r->p->a, NULL, 16);
	return r->mr && kt_map_reg(&r->p->a, r->mr, r->mem, 0, SZ_64K, SZ_4K,
				   REMOTE_ALL);
}

static void peer_read(struct rig *r, union kt_wr *w, struct ib_sge *sge)
{
	*sge = kt_sge(r->p->b.pd, r->buf, 5000);
	kt_rdma(w, 77, IB_WR_RDMA_READ, sge, r->mr->iova, r->mr->rkey);
}

static void local_then_access(struct kt *t)
{
	struct ib_sge sge;
	union kt_wr w;
	struct rig r;

	if (!rig_new(t, &r))
		return;
	peer_read(&r, &w, &sge);
	kt_do(&r.p->b, &w, IB_WC_SUCCESS);
	kt_inv(&w, 1, r.mr->rkey);
	kt_do(&r.p->a, &w, IB_WC_SUCCESS);
	/* once more: it is what was asked for */
	kt_do(&r.p->a, &w, IB_WC_SUCCESS);
	memset(r.buf, 0, SZ_64K);
	peer_read(&r, &w, &sge);
	kt_do(&r.p->b, &w, IB_WC_REM_ACCESS_ERR);
	KT_OK(t, !memchr_inv(r.buf, 0, SZ_64K), "nothing was read");
	KT_OK(t, kt_wait_event(&r.p->a, IB_EVENT_QP_ACCESS_ERR), "event");
	KT_OK(t, kt_state(&r.p->a) == IB_QPS_ERR, "state");
	KT_OK(t, kt_state(&r.p->b) == IB_QPS_ERR, "state");
}

/* The old key must not open the region under its next one. */
static void old_key(struct kt *t)
{
	struct ib_sge sge;
	union kt_wr w, rd;
	struct rig r;

	if (!rig_new(t, &r))
		return;
	peer_read(&r, &rd, &sge);
	kt_inv(&w, 1, r.mr->rkey);
	kt_do(&r.p->a, &w, IB_WC_SUCCESS);
	ib_update_fast_reg_key(r.mr, ib_inc_rkey(r.mr->rkey));
	if (!kt_map_reg(&r.p->a, r.mr, r.mem, 0, SZ_64K, SZ_4K, REMOTE_ALL))
		return;
	kt_do(&r.p->b, &rd, IB_WC_REM_ACCESS_ERR);
}

/* All keys with this index: low bits belong to the consumer. */
static void every_variant(struct kt *t)
{
	struct ib_sge sge;
	union kt_wr w;
	struct rig r;
	u32 i;

	if (!rig_new(t, &r))
		return;
	for (i = 0; i < 256; i++) {
		kt_inv(&w, 1, r.mr->rkey);
		if (!kt_do(&r.p->a, &w, IB_WC_SUCCESS))
			return;
		ib_update_fast_reg_key(r.mr, i);
		if (KT_BAD(t, (r.mr->rkey & 0xff) == i, "%#x", r.mr->rkey))
			return;
		kt_reg(&w, 2, r.mr, REMOTE_ALL);
		if (!kt_do(&r.p->a, &w, IB_WC_SUCCESS))
			return;
		peer_read(&r, &w, &sge);
		if (!kt_do(&r.p->b, &w, IB_WC_SUCCESS))
			return;
	}
}

/*
 * A stream of WRITEs runs into the region while its owner takes the key back.
 * From the completion on the memory is the owner's alone.
 */
static bool one_race(struct kt *t, u32 round)
{
	struct ib_sge sge;
	union kt_wr w[8];
	u32 i, sum, again;
	struct rig r;

	if (!rig_new(t, &r))
		return false;
	for (i = 0; i < ARRAY_SIZE(w); i++) {
		sge = kt_sge(r.p->b.pd, r.buf, SZ_64K);
		kt_rdma(&w[i], i, IB_WR_RDMA_WRITE, &sge, r.mr->iova,
			r.mr->rkey);
	}
	if (KT_BAD(t, !kt_post(&r.p->b, w, ARRAY_SIZE(w)), "post"))
		return false;
	udelay(round * 23);
	kt_inv(&w[0], 99, r.mr->rkey);
	if (!kt_do(&r.p->a, &w[0], IB_WC_SUCCESS))
		return true;
	sum = crc32_le(0, r.mem->va, SZ_64K);
	for (i = 0; i < 20; i++) {
		usleep_range(100, 200);
		/* what comes late differs from what is there */
		memset(r.buf, i, SZ_64K);
		again = crc32_le(0, r.mem->va, SZ_64K);
		if (KT_BAD(t, again == sum, "round %u: memory changed", round))
			return false;
	}
	return true;
}

static void race(struct kt *t)
{
	u32 i;

	for (i = 0; i < 40 && one_race(t, i); i++)
		;
}

/* Peer b reads, then takes the key back with its answer. */
static bool send_inv(struct kt *t, struct rig *r, u32 key, u32 len,
		     enum ib_wc_status send, enum ib_wc_status recv,
		     struct ib_wc *wc)
{
	struct ib_sge in = kt_sge(r->p->a.pd, r->buf, SZ_32K);
	struct ib_sge out = kt_sge(r->p->b.pd, r->buf + SZ_32K, len);
	union kt_wr w;

	if (KT_BAD(t, !kt_recv(&r->p->a, 5, &in), "recv"))
		return false;
	kt_send(&w, 6, &out);
	w.wr.opcode = IB_WR_SEND_WITH_INV;
	w.wr.ex.invalidate_rkey = key;
	if (!kt_do(&r->p->b, &w, send) ||
	    KT_BAD(t, kt_wc(r->p->a.rcq, wc), "no receive"))
		return false;
	return KT_OK(t, wc->wr_id == 5 && wc->status == recv, "%llu %s",
		     wc->wr_id, ib_wc_status_msg(wc->status));
}

static void remote(struct kt *t)
{
	static const u32 lens[] = { 0, 1, 100, 1024, 9001, SZ_32K };
	struct ib_sge sge;
	struct ib_wc wc;
	union kt_wr w;
	struct rig r;
	u32 i, j;

	if (!rig_new(t, &r))
		return;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		for (j = 0; j < SZ_32K; j++)
			r.buf[SZ_32K + j] = kt_rnd(t, 256);
		if (!send_inv(t, &r, r.mr->rkey, lens[i], IB_WC_SUCCESS,
			      IB_WC_SUCCESS, &wc))
			return;
		KT_OK(t, wc.wc_flags & IB_WC_WITH_INVALIDATE, "flags %#x",
		      wc.wc_flags);
		KT_OK(t, wc.ex.invalidate_rkey == r.mr->rkey, "key %#x",
		      wc.ex.invalidate_rkey);
		KT_OK(t, wc.opcode == IB_WC_RECV && wc.byte_len == lens[i],
		      "%u bytes", wc.byte_len);
		KT_OK(t, !memcmp(r.buf, r.buf + SZ_32K, lens[i]), "content");
		/* free: it can be registered */
		ib_update_fast_reg_key(r.mr, ib_inc_rkey(r.mr->rkey));
		if (!kt_map_reg(&r.p->a, r.mr, r.mem, i, 9000, SZ_4K,
				REMOTE_ALL))
			return;
		peer_read(&r, &w, &sge);
		if (!kt_do(&r.p->b, &w, IB_WC_SUCCESS))
			return;
	}
	if (!send_inv(t, &r, r.mr->rkey, 8, IB_WC_SUCCESS, IB_WC_SUCCESS, &wc))
		return;
	peer_read(&r, &w, &sge);
	kt_do(&r.p->b, &w, IB_WC_REM_ACCESS_ERR);
}

/* A key that may not be taken back ends both QPs, and stays valid. */
static void remote_refused(struct kt *t, struct rig *r, u32 key)
{
	struct ib_wc wc;

	send_inv(t, r, key, 8, IB_WC_REM_ACCESS_ERR, IB_WC_REM_INV_REQ_ERR,
		 &wc);
	KT_OK(t, kt_state(&r->p->a) == IB_QPS_ERR, "state");
	KT_OK(t, kt_state(&r->p->b) == IB_QPS_ERR, "state");
}

static void remote_wrong_key(struct kt *t)
{
	struct rig r;

	if (rig_new(t, &r))
		remote_refused(t, &r, r.mr->rkey ^ 1);
}

static void remote_no_key(struct kt *t)
{
	struct rig r;

	if (rig_new(t, &r))
		remote_refused(t, &r, r.mr->rkey ^ 0x100);
}

static void remote_dma_key(struct kt *t)
{
	struct rig r;

	if (rig_new(t, &r))
		remote_refused(t, &r, r.p->a.pd->local_dma_lkey);
}

static void remote_twice(struct kt *t)
{
	struct ib_wc wc;
	struct rig r;

	if (!rig_new(t, &r) ||
	    !send_inv(t, &r, r.mr->rkey, 8, IB_WC_SUCCESS, IB_WC_SUCCESS, &wc))
		return;
	remote_refused(t, &r, r.mr->rkey);
}

static void remote_local_only(struct kt *t)
{
	struct ib_mr *mr;
	struct rig r;

	if (!rig_new(t, &r))
		return;
	mr = kt_mr_new(&r.p->a, NULL, 16);
	if (mr && kt_map_reg(&r.p->a, mr, r.mem, 0, SZ_4K, SZ_4K,
			     IB_ACCESS_LOCAL_WRITE))
		remote_refused(t, &r, mr->rkey);
}

static void pd_free(void *arg)
{
	ib_dealloc_pd(arg);
}

static struct ib_mr *foreign_mr(struct kt *t, struct rig *r)
{
	struct ib_pd *pd = ib_alloc_pd(r->p->a.dev, 0);

	if (KT_BAD(t, !IS_ERR(pd), "%ld", PTR_ERR(pd)))
		return NULL;
	kt_defer(t, pd_free, pd);
	return kt_mr_new(&r->p->a, pd, 16);
}

/* Each end of a pair has a PD of its own: a second rig is a stranger. */
static void remote_other_pd(struct kt *t)
{
	struct rig r, other;

	if (rig_new(t, &r) && rig_new(t, &other))
		remote_refused(t, &r, other.mr->rkey);
}

/* A local operation that fails ends the QP with this status. */
static void local_refused(struct kt *t, struct rig *r, union kt_wr *w)
{
	kt_do(&r->p->a, w, IB_WC_MW_BIND_ERR);
	KT_OK(t, kt_state(&r->p->a) == IB_QPS_ERR, "state");
}

static void local_wrong_key(struct kt *t)
{
	union kt_wr w;
	struct rig r;

	if (!rig_new(t, &r))
		return;
	kt_inv(&w, 1, r.mr->rkey ^ 1);
	local_refused(t, &r, &w);
}

static void local_dma_key(struct kt *t)
{
	union kt_wr w;
	struct rig r;

	if (!rig_new(t, &r))
		return;
	kt_inv(&w, 1, r.p->a.pd->local_dma_lkey);
	local_refused(t, &r, &w);
}

static void local_other_pd(struct kt *t)
{
	struct rig r, other;
	union kt_wr w;

	if (!rig_new(t, &r) || !rig_new(t, &other))
		return;
	kt_inv(&w, 1, other.mr->rkey);
	local_refused(t, &r, &w);
}

static void reg_valid(struct kt *t)
{
	union kt_wr w;
	struct rig r;

	if (!rig_new(t, &r))
		return;
	kt_reg(&w, 1, r.mr, REMOTE_ALL);
	local_refused(t, &r, &w);
}

static void reg_other_pd(struct kt *t)
{
	struct ib_mr *mr;
	union kt_wr w;
	struct rig r;

	if (!rig_new(t, &r))
		return;
	mr = foreign_mr(t, &r);
	if (!mr || KT_BAD(t, !kt_map(r.mem, mr, 0, SZ_4K, SZ_4K), "map"))
		return;
	kt_reg(&w, 1, mr, REMOTE_ALL);
	local_refused(t, &r, &w);
}

static void reg_not_mapped(struct kt *t)
{
	struct ib_mr *mr;
	union kt_wr w;
	struct rig r;

	if (!rig_new(t, &r))
		return;
	mr = kt_mr_new(&r.p->a, NULL, 16);
	if (!mr)
		return;
	kt_reg(&w, 1, mr, REMOTE_ALL);
	local_refused(t, &r, &w);
}

/* More bytes than were mapped: the consumer changed the length. */
static void reg_too_long(struct kt *t)
{
	struct ib_mr *mr;
	union kt_wr w;
	struct rig r;

	if (!rig_new(t, &r))
		return;
	mr = kt_mr_new(&r.p->a, NULL, 16);
	if (!mr || KT_BAD(t, !kt_map(r.mem, mr, 1, SZ_4K, SZ_4K), "map"))
		return;
	mr->length = SZ_16K;
	kt_reg(&w, 1, mr, REMOTE_ALL);
	local_refused(t, &r, &w);
}

/* Refused at once: the key is not this region's. */
static void reg_foreign_key(struct kt *t)
{
	union kt_wr w;
	struct rig r;
	int ret;

	if (!rig_new(t, &r))
		return;
	kt_reg(&w, 1, r.mr, REMOTE_ALL);
	w.reg.key ^= 0x100;
	ret = kt_post(&r.p->a, &w, 1);
	KT_OK(t, ret == -EINVAL, "%d", ret);
	KT_OK(t, kt_state(&r.p->a) == IB_QPS_RTS, "state");
}

const struct kt_case kt_inval_cases[] = {
	{ "inval_local_then_access", local_then_access },
	{ "inval_old_key", old_key },
	{ "inval_every_variant", every_variant },
	{ "inval_race", race },
	{ "inval_remote", remote },
	{ "inval_remote_wrong_key", remote_wrong_key },
	{ "inval_remote_no_key", remote_no_key },
	{ "inval_remote_dma_key", remote_dma_key },
	{ "inval_remote_twice", remote_twice },
	{ "inval_remote_local_only", remote_local_only },
	{ "inval_remote_other_pd", remote_other_pd },
	{ "inval_local_wrong_key", local_wrong_key },
	{ "inval_local_dma_key", local_dma_key },
	{ "inval_local_other_pd", local_other_pd },
	{ "reg_valid", reg_valid },
	{ "reg_other_pd", reg_other_pd },
	{ "reg_not_mapped", reg_not_mapped },
	{ "reg_too_long", reg_too_long },
	{ "reg_foreign_key", reg_foreign_key },
	{}
};
