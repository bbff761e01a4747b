// SPDX-License-Identifier: GPL-2.0
/*
 * Fast registration: what a peer reads and writes by the key is what a model
 * says, for all block sizes, offsets and lengths.
 */
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "kt.h"

#define REMOTE_ALL (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		    IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

static void model_free(void *arg)
{
	vfree(arg);
}

static u8 *model_new(struct kt *t, const struct kt_mem *mem)
{
	u8 *model = vmalloc(mem->len);

	if (KT_BAD(t, model, "no memory"))
		return NULL;
	kt_defer(t, model_free, model);
	memcpy(model, mem->va, mem->len);
	return model;
}

/* Ranges inside a registered one, written and read by the peer. */
static bool access_some(struct kt *t, struct kt_pair *p, struct ib_mr *mr,
			struct kt_mem *mem, u8 *model, u32 off, u32 len,
			u8 *buf, u32 buf_len)
{
	struct ib_sge sge;
	union kt_wr w;
	u32 from, n, i, j;

	for (i = 0; i < 3; i++) {
		/* both ends of the range, then somewhere */
		n = 1 + kt_rnd(t, min(len, buf_len));
		from = i == 0 ? 0 : i == 1 ? len - n : kt_rnd(t, len - n + 1);
		for (j = 0; j < n; j++)
			buf[j] = kt_rnd(t, 256);
		sge = kt_sge(p->b.pd, buf, n);
		kt_rdma(&w, i, IB_WR_RDMA_WRITE, &sge, mr->iova + from,
			mr->rkey);
		if (!kt_do(&p->b, &w, IB_WC_SUCCESS))
			return false;
		memcpy(model + off + from, buf, n);

		n = 1 + kt_rnd(t, min(len, buf_len));
		from = kt_rnd(t, len - n + 1);
		memset(buf, 0, n);
		sge = kt_sge(p->b.pd, buf, n);
		kt_rdma(&w, i, IB_WR_RDMA_READ, &sge, mr->iova + from,
			mr->rkey);
		if (!kt_do(&p->b, &w, IB_WC_SUCCESS) ||
		    KT_BAD(t, !memcmp(buf, model + off + from, n),
			   "READ of %u at %u", n, from))
			return false;
	}
	return KT_OK(t, !memcmp(mem->va, model, mem->len),
		     "after WRITEs into %u+%u", off, len);
}

/* One block size: random ranges, each with the next key. */
static void one_page_size(struct kt *t, u32 page_size, u32 chunks, u32 rounds)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	u32 order = get_order(page_size);
	struct kt_mem *mem = kt_mem_new(t, chunks, order);
	u32 i, off, len, buf_len = SZ_64K;
	struct ib_mr *mr;
	u8 *model, *buf;
	union kt_wr w;

	if (!p || !mem)
		return;
	mr = kt_mr_new(&p->a, NULL, chunks + 1);
	model = model_new(t, mem);
	buf = kt_buf(t, buf_len);
	if (!mr || !model || !buf)
		return;
	for (i = 0; i < rounds; i++) {
		len = 1 + kt_rnd(t, mem->len);
		off = kt_rnd(t, mem->len - len + 1);
		if (i == 0) {
			off = 0;
			len = mem->len;
		}
		ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
		if (!kt_map_reg(&p->a, mr, mem, off, len, page_size,
				REMOTE_ALL) ||
		    KT_BAD(t, mr->length == len, "%llu", (u64)mr->length) ||
		    !access_some(t, p, mr, mem, model, off, len, buf, buf_len))
			return;
		kt_inv(&w, 901, mr->rkey);
		if (!kt_do(&p->a, &w, IB_WC_SUCCESS))
			return;
	}
}

static void page_4k(struct kt *t)
{
	one_page_size(t, SZ_4K, 64, 60);
}

static void page_8k(struct kt *t)
{
	one_page_size(t, SZ_8K, 16, 20);
}

static void page_64k(struct kt *t)
{
	one_page_size(t, SZ_64K, 9, 20);
}

static void page_2m(struct kt *t)
{
	one_page_size(t, SZ_2M, 3, 10);
}

/* Blocks smaller than the pieces of memory: each piece fills several. */
static void page_smaller_than_piece(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_mem *mem = kt_mem_new(t, 5, 4);
	struct ib_mr *mr;
	u8 *model, *buf;

	if (!p || !mem)
		return;
	mr = kt_mr_new(&p->a, NULL, 128);
	model = model_new(t, mem);
	buf = kt_buf(t, SZ_64K);
	if (!mr || !model || !buf ||
	    !kt_map_reg(&p->a, mr, mem, 777, 200001, SZ_4K, REMOTE_ALL))
		return;
	access_some(t, p, mr, mem, model, 777, 200001, buf, SZ_64K);
}

/* Local access by the key of a fast region, gathered with the DMA key's. */
static void local_key(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_mem *mem = kt_mem_new(t, 8, 0);
	struct ib_sge sge[3], in;
	struct ib_mr *mr;
	union kt_wr w;
	u8 *buf, *dst;

	if (!p || !mem)
		return;
	mr = kt_mr_new(&p->a, NULL, 8);
	buf = kt_buf(t, SZ_4K);
	dst = kt_buf(t, SZ_64K);
	if (!mr || !buf || !dst ||
	    !kt_map_reg(&p->a, mr, mem, 99, 20000, SZ_4K, IB_ACCESS_LOCAL_WRITE))
		return;
	memset(buf, 0x5a, SZ_4K);
	sge[0] = kt_sge(p->a.pd, buf, 100);
	sge[1] = (struct ib_sge){ mr->iova + 1, 19000, mr->lkey };
	sge[2] = kt_sge(p->a.pd, buf + 7, 3);
	in = kt_sge(p->b.pd, dst, SZ_64K);
	if (KT_BAD(t, !kt_recv(&p->b, 1, &in), "recv"))
		return;
	kt_send(&w, 2, sge);
	w.wr.num_sge = 3;
	if (!kt_do(&p->a, &w, IB_WC_SUCCESS) ||
	    !KT_WANT(t, p->b.rcq, 1, IB_WC_SUCCESS))
		return;
	KT_OK(t, !memchr_inv(dst, 0x5a, 100), "first piece");
	KT_OK(t, !memcmp(dst + 100, mem->va + 100, 19000), "second piece");
	KT_OK(t, !memchr_inv(dst + 19100, 0x5a, 3), "third piece");
	KT_OK(t, !memchr_inv(dst + 19103, 0, 100), "and no more");

	/* into it, too */
	sge[0] = (struct ib_sge){ mr->iova + 50, 5000, mr->lkey };
	kt_rdma(&w, 3, IB_WR_RDMA_READ, sge, (uintptr_t)dst, 0);
	KT_OK(t, !kt_recv(&p->a, 4, sge), "recv");
	in = kt_sge(p->b.pd, dst, 5000);
	kt_send(&w, 5, &in);
	if (kt_do(&p->b, &w, IB_WC_SUCCESS) &&
	    KT_WANT(t, p->a.rcq, 4, IB_WC_SUCCESS))
		KT_OK(t, !memcmp(dst, mem->va + 149, 5000), "received");
}

/* The owner may choose the address that the peer names (NFS puts its xid in). */
static void own_iova(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_mem *mem = kt_mem_new(t, 4, 0);
	struct ib_sge sge;
	struct ib_mr *mr;
	union kt_wr w;
	u8 *buf;

	if (!p || !mem)
		return;
	mr = kt_mr_new(&p->a, NULL, 4);
	buf = kt_buf(t, SZ_4K);
	if (!mr || !buf ||
	    KT_BAD(t, !kt_map(mem, mr, 33, 9000, SZ_4K), "map"))
		return;
	mr->iova = (mr->iova & 0xffffffff) | 0x123456700000000ull;
	kt_reg(&w, 1, mr, REMOTE_ALL);
	if (!kt_do(&p->a, &w, IB_WC_SUCCESS))
		return;
	sge = kt_sge(p->b.pd, buf, 4000);
	kt_rdma(&w, 2, IB_WR_RDMA_READ, &sge, mr->iova + 4321, mr->rkey);
	if (kt_do(&p->b, &w, IB_WC_SUCCESS))
		KT_OK(t, !memcmp(buf, mem->va + 33 + 4321, 4000), "content");
}

/*
 * A consumer maps the next memory, then posts one list: take the old key back,
 * register with the next one, tell the peer. The old mapping is in use until
 * the first of them is executed.
 */
static void remap_while_in_use(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_mem *mem = kt_mem_new(t, 32, 0);
	struct ib_sge sge, in;
	union kt_wr w[3];
	struct ib_mr *mr;
	u32 i, old, off;
	u8 *buf;

	if (!p || !mem)
		return;
	mr = kt_mr_new(&p->a, NULL, 16);
	buf = kt_buf(t, SZ_64K);
	if (!mr || !buf ||
	    !kt_map_reg(&p->a, mr, mem, 0, 40000, SZ_4K, REMOTE_ALL))
		return;
	for (i = 0; i < 30; i++) {
		u64 iova = mr->iova;

		old = mr->rkey;
		off = kt_rnd(t, 60000);
		ib_update_fast_reg_key(mr, ib_inc_rkey(old));
		if (KT_BAD(t, !kt_map(mem, mr, off, 40000, SZ_4K), "map"))
			return;
		/* the old key still works, on the old memory */
		sge = kt_sge(p->b.pd, buf, 40000);
		kt_rdma(&w[0], 1, IB_WR_RDMA_READ, &sge, iova, old);
		if (!kt_do(&p->b, &w[0], IB_WC_SUCCESS))
			return;
		in = kt_sge(p->b.pd, buf, 8);
		if (KT_BAD(t, !kt_recv(&p->b, 2, &in), "recv"))
			return;
		kt_inv(&w[0], 10, old);
		kt_reg(&w[1], 11, mr, REMOTE_ALL);
		kt_send(&w[2], 12, NULL);
		if (KT_BAD(t, !kt_post(&p->a, w, 3), "post") ||
		    !KT_WANT(t, p->b.rcq, 2, IB_WC_SUCCESS) ||
		    !KT_WANT(t, p->a.scq, 10, IB_WC_SUCCESS) ||
		    !KT_WANT(t, p->a.scq, 11, IB_WC_SUCCESS) ||
		    !KT_WANT(t, p->a.scq, 12, IB_WC_SUCCESS))
			return;
		kt_rdma(&w[0], 1, IB_WR_RDMA_READ, &sge, mr->iova, mr->rkey);
		if (!kt_do(&p->b, &w[0], IB_WC_SUCCESS) ||
		    KT_BAD(t, !memcmp(buf, mem->va + off, 40000), "content"))
			return;
	}
}

/* A region may be registered again as it is mapped. */
static void register_again(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_mem *mem = kt_mem_new(t, 4, 0);
	struct ib_sge sge;
	struct ib_mr *mr;
	union kt_wr w;
	u8 *buf;
	u32 i;

	if (!p || !mem)
		return;
	mr = kt_mr_new(&p->a, NULL, 4);
	buf = kt_buf(t, SZ_64K);
	if (!mr || !buf ||
	    !kt_map_reg(&p->a, mr, mem, 5, 10000, SZ_4K, REMOTE_ALL))
		return;
	for (i = 0; i < 5; i++) {
		kt_inv(&w, 1, mr->rkey);
		if (!kt_do(&p->a, &w, IB_WC_SUCCESS))
			return;
		ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
		kt_reg(&w, 2, mr, REMOTE_ALL);
		if (!kt_do(&p->a, &w, IB_WC_SUCCESS))
			return;
		sge = kt_sge(p->b.pd, buf, 10000);
		kt_rdma(&w, 3, IB_WR_RDMA_READ, &sge, mr->iova, mr->rkey);
		if (!kt_do(&p->b, &w, IB_WC_SUCCESS) ||
		    KT_BAD(t, !memcmp(buf, mem->va + 5, 10000), "content"))
			return;
	}
}

/* The key of the PD, and the one that some consumers give to their peers. */
static void dma_keys(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct ib_pd *pd;
	struct ib_sge sge;
	union kt_wr w;
	u8 *buf, *peer;

	if (!p)
		return;
	buf = kt_buf(t, SZ_64K);
	peer = kt_buf(t, SZ_64K);
	if (!buf || !peer)
		return;
	memset(buf, 0xa5, SZ_64K);
	/* the local key grants nothing to the peer */
	sge = kt_sge(p->a.pd, buf, 64);
	kt_rdma(&w, 1, IB_WR_RDMA_WRITE, &sge, (uintptr_t)peer,
		p->b.pd->local_dma_lkey);
	kt_do(&p->a, &w, IB_WC_REM_ACCESS_ERR);
	KT_OK(t, !memchr_inv(peer, 0, SZ_64K), "untouched");

	pd = ib_alloc_pd(p->b.dev, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (KT_BAD(t, !IS_ERR(pd), "%ld", PTR_ERR(pd)))
		return;
	KT_OK(t, pd->unsafe_global_rkey, "a key");
	ib_dealloc_pd(pd);
}

/* What cannot be allocated or mapped. */
static void bad_arguments(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct kt_mem *mem = kt_mem_new(t, 8, 1);
	struct ib_mr *mr;
	int ret;

	if (!p || !mem)
		return;
	mr = ib_alloc_mr(p->a.pd, IB_MR_TYPE_SG_GAPS, 8);
	KT_OK(t, PTR_ERR(mr) == -EOPNOTSUPP, "%ld", PTR_ERR(mr));
	mr = ib_alloc_mr(p->a.pd, IB_MR_TYPE_MEM_REG, 0);
	KT_OK(t, PTR_ERR(mr) == -EINVAL, "%ld", PTR_ERR(mr));
	mr = ib_alloc_mr(p->a.pd, IB_MR_TYPE_MEM_REG,
			 p->a.dev->attrs.max_fast_reg_page_list_len + 1);
	KT_OK(t, PTR_ERR(mr) == -EINVAL, "%ld", PTR_ERR(mr));
	mr = kt_mr_new(&p->a, NULL,
		       p->a.dev->attrs.max_fast_reg_page_list_len);
	mr = kt_mr_new(&p->a, NULL, 4);
	if (!mr)
		return;
	ret = kt_map(mem, mr, 0, 8192, 2048);
	KT_OK(t, ret == -EINVAL, "blocks of 2 KiB: %d", ret);
	ret = kt_map(mem, mr, 0, 8192, 12288);
	KT_OK(t, ret == -EINVAL, "blocks of 12 KiB: %d", ret);
	/* 5 blocks: only what fits is mapped */
	ret = kt_map(mem, mr, 1, 16384, SZ_4K);
	KT_OK(t, ret, "too many blocks: %d", ret);
	ret = kt_map(mem, mr, 0, 16384, SZ_4K);
	KT_OK(t, !ret, "just enough: %d", ret);
}

const struct kt_case kt_frwr_cases[] = {
	{ "frwr_4k", page_4k },
	{ "frwr_8k", page_8k },
	{ "frwr_64k", page_64k },
	{ "frwr_2m", page_2m },
	{ "frwr_page_smaller_than_piece", page_smaller_than_piece },
	{ "frwr_local_key", local_key },
	{ "frwr_own_iova", own_iova },
	{ "frwr_remap_while_in_use", remap_while_in_use },
	{ "frwr_register_again", register_again },
	{ "frwr_dma_keys", dma_keys },
	{ "frwr_bad_arguments", bad_arguments },
	{}
};
