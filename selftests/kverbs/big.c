// SPDX-License-Identifier: GPL-2.0
/*
 * Long messages, and PSNs that wrap in the middle of one. A fast region may map
 * the same 2 MiB again and again, so 2 GiB need no more memory than that.
 */
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "kt.h"

#define CHUNKS	8

/* Map the memory @times times in a row. */
static int map_again(struct kt_mem *mem, struct ib_mr *mr, u32 times)
{
	u32 num = times * mem->num, i;
	struct scatterlist *sg;
	int ret;

	sg = kvcalloc(num, sizeof(*sg), GFP_KERNEL);
	if (!sg)
		return -ENOMEM;
	sg_init_table(sg, num);
	for (i = 0; i < num; i++)
		sg_set_page(&sg[i], mem->chunk[i % mem->num], SZ_2M, 0);
	ret = ib_dma_map_sg(mr->device, sg, num, DMA_BIDIRECTIONAL);
	if (ret == num)
		ret = ib_map_mr_sg(mr, sg, num, NULL, SZ_2M);
	kvfree(sg);
	return ret == num ? 0 : -E2BIG;
}

static struct ib_mr *big_mr(struct kt *t, struct kt_end *e, struct kt_mem *mem,
			    u64 len)
{
	u32 times = DIV_ROUND_UP_ULL(len, CHUNKS * SZ_2M);
	struct ib_mr *mr = kt_mr_new(e, NULL, times * CHUNKS);
	union kt_wr w;

	if (!mr || KT_BAD(t, !map_again(mem, mr, times), "map"))
		return NULL;
	kt_reg(&w, 1, mr, KT_ACCESS_ALL);
	return kt_do(e, &w, IB_WC_SUCCESS) ? mr : NULL;
}

static void one_length(struct kt *t, u64 len, u32 psn)
{
	struct kt_opts o = { .psn = psn };
	struct kt_pair *p = kt_pair_new(t, &o);
	struct kt_mem *from = kt_mem_new(t, CHUNKS, get_order(SZ_2M));
	struct kt_mem *to = kt_mem_new(t, CHUNKS, get_order(SZ_2M));
	size_t cmp = min_t(u64, len, from ? from->len : 0);
	struct ib_sge src, dst;
	struct ib_mr *a, *b;
	struct ib_wc wc;
	union kt_wr w;

	if (!p || !from || !to)
		return;
	a = big_mr(t, &p->a, from, len);
	b = big_mr(t, &p->b, to, len);
	if (!a || !b)
		return;
	src = (struct ib_sge){ a->iova, len, a->lkey };
	dst = (struct ib_sge){ b->iova, len, b->lkey };

	kt_rdma(&w, 2, IB_WR_RDMA_WRITE, &src, b->iova, b->rkey);
	if (!kt_do(&p->a, &w, IB_WC_SUCCESS) ||
	    KT_BAD(t, !memcmp(from->va, to->va, cmp), "WRITE"))
		return;
	memset(from->va, 0, from->len);
	kt_rdma(&w, 3, IB_WR_RDMA_READ, &src, b->iova, b->rkey);
	if (!kt_do(&p->a, &w, IB_WC_SUCCESS) ||
	    KT_BAD(t, !memcmp(from->va, to->va, cmp), "READ"))
		return;
	memset(to->va, 0, to->len);
	if (KT_BAD(t, !kt_recv(&p->b, 4, &dst), "recv"))
		return;
	kt_send(&w, 5, &src);
	if (!kt_do(&p->a, &w, IB_WC_SUCCESS) ||
	    KT_BAD(t, kt_wc(p->b.rcq, &wc), "no receive"))
		return;
	KT_OK(t, wc.status == IB_WC_SUCCESS && wc.byte_len == len, "%s, %u",
	      ib_wc_status_msg(wc.status), wc.byte_len);
	KT_OK(t, !memcmp(from->va, to->va, cmp), "SEND");
}

static void psn_wrap(struct kt *t)
{
	u32 len = SZ_8M + 123;
	struct ib_port_attr port;
	u32 npkts;

	if (KT_BAD(t, !ib_query_port(t->dev[0], 1, &port), "port"))
		return;
	npkts = DIV_ROUND_UP(len, ib_mtu_enum_to_int(port.active_mtu));
	/* the wrap lies in the WRITE, in the READ response, in the SEND */
	one_length(t, len, 0x1000000 - 100);
	one_length(t, len, 0x1000000 - npkts - 100);
	one_length(t, len, 0x1000000 - 2 * npkts - 100);
	/* and between messages */
	one_length(t, len, 0x1000000 - npkts);
	one_length(t, 5000, 0xffffff);
	one_length(t, 5000, 0xfffffe);
}

/* An emulated CPU that is shared moves less than 50 MiB a second: 60 s a GiB. */
static void slow_length(struct kt *t, u64 len, u32 psn)
{
	kt_wc_patience(len / SZ_1G * 60 * MSEC_PER_SEC);
	one_length(t, len, psn);
	kt_wc_patience(0);
}

static void one_gib(struct kt *t)
{
	slow_length(t, SZ_1G, 0xfffff0);
}

static void two_gib(struct kt *t)
{
	slow_length(t, SZ_2G, 0x7ffff0);
}

/* The longest message is 2^31 bytes; refused when posted, nothing happens. */
static void too_long(struct kt *t)
{
	struct kt_pair *p = kt_pair_new(t, NULL);
	struct ib_sge sge[2] = { { 0, SZ_2G, 0 }, { 0, 1, 0 } };
	union kt_wr w;
	int ret;

	if (!p)
		return;
	kt_rdma(&w, 1, IB_WR_RDMA_WRITE, sge, 0, 0);
	w.wr.num_sge = 2;
	ret = kt_post(&p->a, &w, 1);
	KT_OK(t, ret == -EINVAL, "%d", ret);
	KT_NONE(t, p->a.scq);
}

const struct kt_case kt_big_cases[] = {
	{ "psn_wrap", psn_wrap },
	{ "too_long", too_long },
	{ "slow_one_gib", one_gib },
	{ "slow_two_gib", two_gib },
	{}
};
