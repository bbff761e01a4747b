// SPDX-License-Identifier: GPL-2.0
/*
 * The rights of a key and of a QP, each alone and together: an operation that
 * lacks one ends in a remote access error and changes nothing.
 */
#include <linux/sizes.h>
#include <linux/string.h>

#include "kt.h"

static const struct {
	enum ib_wr_opcode op;
	int needs;
} ops[] = {
	{ IB_WR_RDMA_WRITE, IB_ACCESS_REMOTE_WRITE },
	{ IB_WR_RDMA_READ, IB_ACCESS_REMOTE_READ },
	{ IB_WR_ATOMIC_FETCH_AND_ADD, IB_ACCESS_REMOTE_ATOMIC },
	{ IB_WR_ATOMIC_CMP_AND_SWP, IB_ACCESS_REMOTE_ATOMIC },
};

static void fill(union kt_wr *w, enum ib_wr_opcode op, struct ib_sge *sge,
		 u64 raddr, u32 rkey)
{
	if (op == IB_WR_RDMA_WRITE || op == IB_WR_RDMA_READ) {
		kt_rdma(w, 1, op, sge, raddr, rkey);
		return;
	}
	kt_send(w, 1, sge);
	w->wr.opcode = op;
	w->atomic.remote_addr = raddr;
	w->atomic.rkey = rkey;
	w->atomic.compare_add = 1;
	w->atomic.swap = 2;
}

/*
 * One operation against one set of rights of key and QP. What the QP does not
 * take at all is an invalid request; what the key refuses, an access error.
 */
static bool one_right(struct kt *t, u32 i, int mr_access, int qp_access)
{
	struct kt_opts o = { .access = qp_access ?: KT_NO_ACCESS };
	bool good = mr_access & qp_access & ops[i].needs;
	enum ib_wc_status want = good ? IB_WC_SUCCESS :
				 qp_access & ops[i].needs ?
				 IB_WC_REM_ACCESS_ERR : IB_WC_REM_INV_REQ_ERR;
	struct kt_pair *p = kt_pair_new(t, &o);
	struct kt_mem *mem = kt_mem_new(t, 2, 0);
	struct ib_sge sge;
	union kt_wr w;
	struct ib_mr *mr;
	u8 *buf, *copy;

	if (!p || !mem)
		return false;
	mr = kt_mr_new(&p->a, NULL, 2);
	buf = kt_buf(t, 64);
	copy = kt_buf(t, mem->len);
	if (!mr || !buf || !copy)
		return false;
	memcpy(copy, mem->va, mem->len);
	if (!kt_map_reg(&p->a, mr, mem, 8, SZ_4K, SZ_4K,
			mr_access | IB_ACCESS_LOCAL_WRITE))
		return false;
	sge = kt_sge(p->b.pd, buf, 8);
	fill(&w, ops[i].op, &sge, mr->iova, mr->rkey);
	if (!kt_do(&p->b, &w, want))
		return KT_OK(t, false, "op %d, MR %#x, QP %#x", ops[i].op,
			     mr_access, qp_access);
	if (good)
		return true;
	return KT_OK(t, !memcmp(copy, mem->va, mem->len), "memory untouched");
}

static const int sets[] = {
	0, IB_ACCESS_REMOTE_WRITE, IB_ACCESS_REMOTE_READ,
	IB_ACCESS_REMOTE_ATOMIC, IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
	IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC,
	IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC,
	IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
		IB_ACCESS_REMOTE_ATOMIC,
};

static void of_key(struct kt *t)
{
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		for (j = 0; j < ARRAY_SIZE(sets); j++) {
			if (!one_right(t, i, sets[j], KT_ACCESS_ALL))
				return;
		}
	}
}

static void of_qp(struct kt *t)
{
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		for (j = 0; j < ARRAY_SIZE(sets); j++) {
			if (!one_right(t, i, KT_ACCESS_ALL, sets[j]))
				return;
		}
	}
}

/**
 * struct span - an access relative to the region's first and last byte
 * @from: offset of its first byte from the region's
 * @len: bytes
 * @good: is inside
 */
struct span {
	s64 from;
	u32 len;
	bool good;
};

#define REGION 10000

static void of_range(struct kt *t)
{
	static const struct span ranges[] = {
		{ 0, REGION, true }, { REGION - 1, 1, true },
		{ 0, 0, true }, { REGION, 0, true },
		{ -1, 1, false }, { -1, 2, false }, { REGION, 1, false },
		{ REGION - 1, 2, false }, { 0, REGION + 1, false },
		{ 1ll << 40, 1, false }, { -(1ll << 40), 1, false },
	};
	struct kt_pair *p;
	struct kt_mem *mem = kt_mem_new(t, 8, 0);
	struct ib_sge sge;
	struct ib_mr *mr;
	union kt_wr w;
	u8 *buf;
	u32 i;

	buf = kt_buf(t, SZ_16K);
	if (!mem || !buf)
		return;
	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		p = kt_pair_new(t, NULL);
		if (!p)
			return;
		mr = kt_mr_new(&p->a, NULL, 8);
		if (!mr || !kt_map_reg(&p->a, mr, mem, 5000, REGION, SZ_4K,
				       KT_ACCESS_ALL))
			return;
		sge = kt_sge(p->b.pd, buf, ranges[i].len);
		kt_rdma(&w, 1, i & 1 ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE,
			ranges[i].len ? &sge : NULL,
			mr->iova + ranges[i].from, mr->rkey);
		if (!kt_do(&p->b, &w, ranges[i].good ? IB_WC_SUCCESS :
						       IB_WC_REM_ACCESS_ERR)) {
			KT_OK(t, false, "%lld+%u", ranges[i].from,
			      ranges[i].len);
			return;
		}
	}
}

/* Local rights: a receive and a READ need local write, a SEND nothing. */
static void of_local_key(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_mem *mem = kt_mem_new(t, 2, 0);
	struct ib_sge sge, in;
	struct ib_mr *mr;
	union kt_wr w;
	u8 *buf;

	if (!p || !mem)
		return;
	mr = kt_mr_new(&p->a, NULL, 2);
	buf = kt_buf(t, SZ_4K);
	if (!mr || !buf ||
	    !kt_map_reg(&p->a, mr, mem, 0, SZ_4K, SZ_4K, IB_ACCESS_REMOTE_READ))
		return;
	sge = (struct ib_sge){ mr->iova, 100, mr->lkey };
	in = kt_sge(p->b.pd, buf, 100);
	if (KT_BAD(t, !kt_recv(&p->b, 1, &in), "recv"))
		return;
	kt_send(&w, 2, &sge);
	if (kt_do(&p->a, &w, IB_WC_SUCCESS) &&
	    KT_WANT(t, p->b.rcq, 1, IB_WC_SUCCESS))
		KT_OK(t, !memcmp(buf, mem->va, 100), "content");
	/* without local write nothing may be received there */
	if (KT_BAD(t, !kt_recv(&p->a, 3, &sge), "recv"))
		return;
	kt_send(&w, 4, &in);
	kt_do(&p->b, &w, IB_WC_REM_OP_ERR);
	KT_WANT(t, p->a.rcq, 3, IB_WC_LOC_PROT_ERR);
}

/* A key is good in its own PD only, and only on its own device's QPs. */
static void of_pd(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_pair *q = kt_pair_new(t, NULL);
	struct kt_mem *mem = kt_mem_new(t, 2, 0);
	struct ib_sge sge;
	struct ib_mr *mr;
	union kt_wr w;
	u8 *buf;

	if (!p || !q || !mem)
		return;
	mr = kt_mr_new(&p->a, NULL, 2);
	buf = kt_buf(t, SZ_4K);
	if (!mr || !buf ||
	    !kt_map_reg(&p->a, mr, mem, 0, SZ_4K, SZ_4K, KT_ACCESS_ALL))
		return;
	sge = kt_sge(q->b.pd, buf, 100);
	kt_rdma(&w, 1, IB_WR_RDMA_READ, &sge, mr->iova, mr->rkey);
	kt_do(&q->b, &w, IB_WC_REM_ACCESS_ERR);
	/* as a local key */
	sge = (struct ib_sge){ mr->iova, 100, mr->lkey };
	kt_rdma(&w, 2, IB_WR_RDMA_WRITE, &sge, (uintptr_t)buf, 0);
	kt_do(&p->b, &w, IB_WC_LOC_PROT_ERR);
}

const struct kt_case kt_rights_cases[] = {
	{ "rights_of_key", of_key },
	{ "rights_of_qp", of_qp },
	{ "rights_of_range", of_range },
	{ "rights_of_local_key", of_local_key },
	{ "rights_of_pd", of_pd },
	{}
};
