// SPDX-License-Identifier: GPL-2.0
/*
 * Posting and order: lists with a bad member, one completion per request, no
 * completion where none was asked for, fences, and that local operations are
 * executed once even if the requester has to go back.
 */
#include <linux/delay.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "kt.h"

#define REMOTE_ALL (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		    IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)
#define NUM 8

/* What makes a request bad. */
static void spoil(union kt_wr *w, u32 how)
{
	switch (how) {
	case 0:
		w->wr.num_sge = 33;
		break;
	case 1:
		w->wr.num_sge = -1;
		break;
	case 2:
		w->wr.opcode = IB_WR_BIND_MW;
		break;
	case 3:
		w->wr.opcode = IB_WR_RESERVED1;
		break;
	default:
		w->wr.opcode = IB_WR_LOCAL_INV;
		w->wr.send_flags |= IB_SEND_INLINE;
		break;
	}
}

/* Those before the bad one run, it is named, those after it never existed. */
static void list_with_bad(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	const struct ib_send_wr *bad;
	union kt_wr w[NUM];
	u32 how, at, i;
	int ret;

	if (!p)
		return;
	for (how = 0; how < 5; how++) {
		at = how % NUM;
		for (i = 0; i < NUM; i++) {
			kt_rdma(&w[i], i, IB_WR_RDMA_WRITE, NULL, 0, 0);
			w[i].wr.next = i + 1 < NUM ? &w[i + 1].wr : NULL;
		}
		spoil(&w[at], how);
		bad = NULL;
		ret = ib_post_send(p->a.qp, &w[0].wr, &bad);
		KT_OK(t, ret == -EINVAL, "way %u: %d", how, ret);
		KT_OK(t, bad == &w[at].wr, "way %u", how);
		for (i = 0; i < at; i++)
			KT_WANT(t, p->a.scq, i, IB_WC_SUCCESS);
		KT_NONE(t, p->a.scq);
	}
	KT_OK(t, kt_state(&p->a) == IB_QPS_RTS, "state");
}

static void recv_list_with_bad(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	const struct ib_recv_wr *bad = NULL;
	struct ib_recv_wr r[NUM] = {};
	union kt_wr w;
	int ret;
	u32 i;

	if (!p)
		return;
	for (i = 0; i < NUM; i++) {
		r[i].wr_id = i;
		r[i].next = i + 1 < NUM ? &r[i + 1] : NULL;
	}
	r[3].num_sge = 100;
	ret = ib_post_recv(p->b.qp, r, &bad);
	KT_OK(t, ret == -EINVAL && bad == &r[3], "%d", ret);
	for (i = 0; i < 3; i++) {
		kt_send(&w, 50, NULL);
		kt_do(&p->a, &w, IB_WC_SUCCESS);
		KT_WANT(t, p->b.rcq, i, IB_WC_SUCCESS);
	}
	KT_NONE(t, p->b.rcq);
}

/* A full queue refuses, and takes more when something completed. */
static void full_queue(struct kt *t)
{
	struct kt_opts o = { .depth = 16 };
	struct kt_pair *p = kt_pair_new(t, &o);
	u32 n = 0, i;
	union kt_wr w;
	int ret;

	if (!p)
		return;
	/* no receive is there: nothing completes */
	for (ret = 0; !ret && n < 1000; n++) {
		kt_send(&w, n, NULL);
		ret = kt_post(&p->a, &w, 1);
	}
	n--;
	KT_OK(t, ret == -ENOMEM, "%d", ret);
	KT_OK(t, n >= 16 && n < 1000, "%u", n);
	for (i = 0; i < n; i++) {
		if (i < 16)
			KT_OK(t, !kt_recv(&p->b, i, NULL), "recv");
		else if (KT_BAD(t, kt_want_at(t, p->b.rcq, i - 16,
					      IB_WC_SUCCESS, __LINE__) &&
				!kt_recv(&p->b, i, NULL), "recv %u", i))
			return;
	}
	for (i = 0; i < n; i++)
		KT_WANT(t, p->a.scq, i, IB_WC_SUCCESS);
	kt_send(&w, 999, NULL);
	KT_OK(t, !kt_post(&p->a, &w, 1), "room again");
	KT_OK(t, !kt_recv(&p->b, 999, NULL), "recv");
	KT_WANT(t, p->a.scq, 999, IB_WC_SUCCESS);
}

/* All kinds in one queue: completions in the order of posting. */
static void order_of_kinds(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_mem *mem = kt_mem_new(t, 16, 0);
	struct ib_sge sge[2];
	union kt_wr w[6];
	struct ib_mr *mr;
	u32 i, j;
	u8 *buf;

	if (!p || !mem)
		return;
	mr = kt_mr_new(&p->b, NULL, 16);
	buf = kt_buf(t, SZ_64K);
	if (!mr || !buf ||
	    !kt_map_reg(&p->b, mr, mem, 0, SZ_64K, SZ_4K, REMOTE_ALL))
		return;
	sge[0] = kt_sge(p->a.pd, buf, 30000);
	sge[1] = kt_sge(p->a.pd, buf + SZ_32K, 8);
	for (i = 0; i < 40; i++) {
		KT_OK(t, !kt_recv(&p->b, i, NULL), "recv");
		kt_rdma(&w[0], 10, IB_WR_RDMA_READ, sge, mr->iova, mr->rkey);
		kt_rdma(&w[1], 11, IB_WR_RDMA_WRITE, sge, mr->iova, mr->rkey);
		kt_send(&w[2], 12, NULL);
		kt_send(&w[3], 13, &sge[1]);
		w[3].wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD;
		w[3].atomic.remote_addr = (mr->iova + 7) & ~7ull;
		w[3].atomic.rkey = mr->rkey;
		kt_rdma(&w[4], 14, IB_WR_RDMA_READ, sge, mr->iova, mr->rkey);
		kt_rdma(&w[5], 15, IB_WR_RDMA_WRITE, sge, mr->iova, mr->rkey);
		if (KT_BAD(t, !kt_post(&p->a, w, 6), "post"))
			return;
		for (j = 10; j < 16; j++) {
			if (!KT_WANT(t, p->a.scq, j, IB_WC_SUCCESS))
				return;
		}
		KT_WANT(t, p->b.rcq, i, IB_WC_SUCCESS);
	}
	KT_NONE(t, p->a.scq);
}

/* Only what was asked for completes; an error always does. */
static void unsignalled(struct kt *t)
{
	struct kt_opts o = { .sig_req = true };
	struct kt_pair *p = kt_pair_new(t, &o);
	union kt_wr w[NUM];
	u32 i, j;

	if (!p)
		return;
	for (i = 0; i < 40; i++) {
		for (j = 0; j < NUM; j++) {
			kt_rdma(&w[j], 100 * i + j, IB_WR_RDMA_WRITE, NULL, 0,
				0);
			if (j != 5)
				w[j].wr.send_flags = 0;
		}
		if (KT_BAD(t, !kt_post(&p->a, w, NUM), "post") ||
		    !KT_WANT(t, p->a.scq, 100 * i + 5, IB_WC_SUCCESS))
			return;
	}
	KT_NONE(t, p->a.scq);
	/* the failing one reports, and so do those flushed behind it */
	for (j = 0; j < 4; j++) {
		kt_rdma(&w[j], j, IB_WR_RDMA_WRITE, NULL, 0, 0);
		w[j].wr.send_flags = 0;
	}
	w[1].wr.opcode = IB_WR_LOCAL_INV;
	w[1].wr.ex.invalidate_rkey = 0;
	KT_OK(t, !kt_post(&p->a, w, 4), "post");
	KT_WANT(t, p->a.scq, 1, IB_WC_MW_BIND_ERR);
	KT_WANT(t, p->a.scq, 2, IB_WC_WR_FLUSH_ERR);
	KT_WANT(t, p->a.scq, 3, IB_WC_WR_FLUSH_ERR);
	KT_NONE(t, p->a.scq);
}

/* A fenced SEND carries what the READ before it brought. */
static void fence_read(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_mem *mem = kt_mem_new(t, 16, 0);
	struct ib_sge sge, in;
	struct ib_mr *mr;
	union kt_wr w[2];
	u8 *buf, *got;
	u32 i, n;

	if (!p || !mem)
		return;
	mr = kt_mr_new(&p->b, NULL, 16);
	buf = kt_buf(t, SZ_64K);
	got = kt_buf(t, SZ_64K);
	if (!mr || !buf || !got ||
	    !kt_map_reg(&p->b, mr, mem, 0, SZ_64K, SZ_4K, REMOTE_ALL))
		return;
	for (i = 0; i < 40; i++) {
		n = 1 + kt_rnd(t, SZ_64K);
		memset(buf, 0, n);
		sge = kt_sge(p->a.pd, buf, n);
		in = kt_sge(p->b.pd, got, n);
		KT_OK(t, !kt_recv(&p->b, 3, &in), "recv");
		kt_rdma(&w[0], 1, IB_WR_RDMA_READ, &sge, mr->iova, mr->rkey);
		kt_send(&w[1], 2, &sge);
		w[1].wr.send_flags |= IB_SEND_FENCE;
		if (KT_BAD(t, !kt_post(&p->a, w, 2), "post") ||
		    !KT_WANT(t, p->a.scq, 1, IB_WC_SUCCESS) ||
		    !KT_WANT(t, p->a.scq, 2, IB_WC_SUCCESS) ||
		    !KT_WANT(t, p->b.rcq, 3, IB_WC_SUCCESS) ||
		    KT_BAD(t, !memcmp(got, mem->va, n), "%u bytes", n))
			return;
	}
}

/* What was posted before a LOCAL_INV still uses the key that it takes back. */
static void inv_waits(struct kt *t, enum ib_qp_type type)
{
	struct kt_opts o = { .type = type };
	/* before the QPs, so that it outlives them: UC may receive to the last */
	u8 *got = kt_buf(t, SZ_256K);
	struct kt_pair *p = kt_pair_new(t, &o);
	struct kt_mem *mem = kt_mem_new(t, 64, 0);
	bool rc = type == IB_QPT_RC;
	struct ib_sge sge, in;
	struct ib_mr *mr;
	union kt_wr w[3];
	u32 i, len = 200000;

	if (!got || !p || !mem)
		return;
	mr = kt_mr_new(&p->a, NULL, 64);
	if (!mr || KT_BAD(t, !kt_map(mem, mr, 9, len, SZ_4K), "map"))
		return;
	/* nobody sends a forgotten request of UC again: more of them */
	for (i = 0; i < (rc ? 20 : 300); i++) {
		ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
		kt_reg(&w[0], 1, mr, REMOTE_ALL);
		sge = (struct ib_sge){ mr->iova, len, mr->lkey };
		in = kt_sge(p->b.pd, got, len);
		memset(got, 0, len);
		KT_OK(t, !kt_recv(&p->b, 4, &in), "recv");
		kt_send(&w[1], 2, &sge);
		kt_inv(&w[2], 3, mr->rkey);
		if (KT_BAD(t, !kt_post(&p->a, w, 3), "post") ||
		    !KT_WANT(t, p->a.scq, 1, IB_WC_SUCCESS) ||
		    !KT_WANT(t, p->a.scq, 2, IB_WC_SUCCESS) ||
		    !KT_WANT(t, p->a.scq, 3, IB_WC_SUCCESS))
			return;
		/* UC does not promise that it arrives */
		if (rc && (!KT_WANT(t, p->b.rcq, 4, IB_WC_SUCCESS) ||
			   KT_BAD(t, !memcmp(got, mem->va + 9, len), "content")))
			return;
	}
}

/* A READ that is under way still lands in the region. */
static void inv_waits_read(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_mem *from = kt_mem_new(t, 64, 0);
	struct kt_mem *to = kt_mem_new(t, 64, 0);
	struct ib_mr *mr, *peer;
	u32 i, len = 200000;
	union kt_wr w[3];
	struct ib_sge sge;

	if (!p || !from || !to)
		return;
	mr = kt_mr_new(&p->a, NULL, 64);
	peer = kt_mr_new(&p->b, NULL, 64);
	if (!mr || !peer ||
	    KT_BAD(t, !kt_map(to, mr, 9, len, SZ_4K), "map") ||
	    !kt_map_reg(&p->b, peer, from, 0, len, SZ_4K, REMOTE_ALL))
		return;
	for (i = 0; i < 20; i++) {
		ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
		kt_reg(&w[0], 1, mr, REMOTE_ALL);
		sge = (struct ib_sge){ mr->iova, len, mr->lkey };
		memset(to->va + 9, 0, len);
		kt_rdma(&w[1], 2, IB_WR_RDMA_READ, &sge, peer->iova,
			peer->rkey);
		kt_inv(&w[2], 3, mr->rkey);
		if (KT_BAD(t, !kt_post(&p->a, w, 3), "post") ||
		    !KT_WANT(t, p->a.scq, 1, IB_WC_SUCCESS) ||
		    !KT_WANT(t, p->a.scq, 2, IB_WC_SUCCESS) ||
		    !KT_WANT(t, p->a.scq, 3, IB_WC_SUCCESS) ||
		    KT_BAD(t, !memcmp(to->va + 9, from->va, len), "content"))
			return;
	}
}

static void inv_waits_rc(struct kt *t)
{
	inv_waits(t, IB_QPT_RC);
}

static void inv_waits_uc(struct kt *t)
{
	inv_waits(t, IB_QPT_UC);
}

/*
 * The peer has no receive yet: RNR NAKs send the requester back again and
 * again, over local operations that it executed. A second REG_MR of a valid
 * region would fail, and so would an atomic be seen twice.
 */
static void local_once(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_mem *mem = kt_mem_new(t, 4, 0);
	union kt_wr w[6];
	struct ib_mr *mr[2];
	u32 i, j;

	if (!p || !mem)
		return;
	mr[0] = kt_mr_new(&p->a, NULL, 4);
	mr[1] = kt_mr_new(&p->a, NULL, 4);
	if (!mr[0] || !mr[1] ||
	    KT_BAD(t, !kt_map(mem, mr[0], 0, 5000, SZ_4K), "map") ||
	    KT_BAD(t, !kt_map(mem, mr[1], 0, 5000, SZ_4K), "map"))
		return;
	for (i = 0; i < 10; i++) {
		ib_update_fast_reg_key(mr[0], ib_inc_rkey(mr[0]->rkey));
		ib_update_fast_reg_key(mr[1], ib_inc_rkey(mr[1]->rkey));
		kt_send(&w[0], 0, NULL);
		kt_reg(&w[1], 1, mr[0], REMOTE_ALL);
		kt_send(&w[2], 2, NULL);
		kt_reg(&w[3], 3, mr[1], REMOTE_ALL);
		kt_inv(&w[4], 4, mr[0]->rkey);
		kt_inv(&w[5], 5, mr[1]->rkey);
		if (KT_BAD(t, !kt_post(&p->a, w, 6), "post"))
			return;
		usleep_range(2000, 3000);
		KT_OK(t, !kt_recv(&p->b, 10, NULL), "recv");
		if (!KT_WANT(t, p->b.rcq, 10, IB_WC_SUCCESS))
			return;
		usleep_range(1000, 2000);
		KT_OK(t, !kt_recv(&p->b, 12, NULL), "recv");
		for (j = 0; j < 6; j++) {
			if (!KT_WANT(t, p->a.scq, j, IB_WC_SUCCESS))
				return;
		}
		if (!KT_WANT(t, p->b.rcq, 12, IB_WC_SUCCESS))
			return;
	}
	KT_NONE(t, p->a.scq);
}

/* The last message before a local operation must be acknowledged by itself. */
static void local_is_last(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_mem *mem = kt_mem_new(t, 4, 0);
	unsigned long start;
	union kt_wr w[3];
	struct ib_mr *mr;
	u32 i, ms;

	if (!p || !mem)
		return;
	mr = kt_mr_new(&p->a, NULL, 4);
	if (!mr || KT_BAD(t, !kt_map(mem, mr, 0, 5000, SZ_4K), "map"))
		return;
	start = jiffies;
	for (i = 0; i < 20; i++) {
		kt_rdma(&w[0], 0, IB_WR_RDMA_WRITE, NULL, 0, 0);
		kt_reg(&w[1], 1, mr, REMOTE_ALL);
		if (KT_BAD(t, !kt_post(&p->a, w, 2), "post") ||
		    !KT_WANT(t, p->a.scq, 0, IB_WC_SUCCESS) ||
		    !KT_WANT(t, p->a.scq, 1, IB_WC_SUCCESS))
			return;
		kt_inv(&w[0], 2, mr->rkey);
		if (!kt_do(&p->a, &w[0], IB_WC_SUCCESS))
			return;
	}
	ms = jiffies_to_msecs(jiffies - start);
	/* each would take a time-out of 67 ms */
	KT_OK(t, ms < 600, "%u ms: acknowledged only after time-outs", ms);
}

/* Atomics of a kernel consumer, at places that are not aligned in memory. */
static void atomics(struct kt *t)
{
	static const u32 offs[] = { 0, 8, 4088, 16, 4, 4093, 1 };
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_mem *mem = kt_mem_new(t, 4, 0);
	struct ib_sge sge;
	struct ib_mr *mr;
	union kt_wr w;
	u64 *buf, old, now;
	u32 i;

	if (!p || !mem)
		return;
	mr = kt_mr_new(&p->b, NULL, 4);
	buf = kt_buf(t, 8);
	if (!mr || !buf)
		return;
	sge = kt_sge(p->a.pd, buf, 8);
	for (i = 0; i < ARRAY_SIZE(offs); i++) {
		ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
		if (KT_BAD(t, !kt_map(mem, mr, offs[i], 8, SZ_4K), "map"))
			return;
		/* the peer names a multiple of eight, whatever the memory is */
		mr->iova = 0x1000;
		kt_reg(&w, 1, mr, REMOTE_ALL);
		if (!kt_do(&p->b, &w, IB_WC_SUCCESS))
			return;
		memcpy(&old, mem->va + offs[i], 8);
		kt_send(&w, 2, &sge);
		w.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD;
		w.atomic.remote_addr = 0x1000;
		w.atomic.rkey = mr->rkey;
		w.atomic.compare_add = 0x123456789abcdefull;
		if (!kt_do(&p->a, &w, IB_WC_SUCCESS))
			return;
		memcpy(&now, mem->va + offs[i], 8);
		KT_OK(t, *buf == old && now == old + 0x123456789abcdefull,
		      "offset %u: %#llx, %#llx", offs[i], *buf, now);
		kt_inv(&w, 3, mr->rkey);
		if (!kt_do(&p->b, &w, IB_WC_SUCCESS))
			return;
	}
}

const struct kt_case kt_post_cases[] = {
	{ "post_list_with_bad", list_with_bad },
	{ "post_recv_list_with_bad", recv_list_with_bad },
	{ "post_full_queue", full_queue },
	{ "post_order_of_kinds", order_of_kinds },
	{ "post_unsignalled", unsignalled },
	{ "post_fence_read", fence_read },
	{ "post_inv_waits_rc", inv_waits_rc },
	{ "post_inv_waits_read", inv_waits_read },
	{ "post_inv_waits_uc", inv_waits_uc },
	{ "post_local_once", local_once },
	{ "post_local_is_last", local_is_last },
	{ "post_atomics", atomics },
	{}
};
