// SPDX-License-Identifier: GPL-2.0
/*
 * Memory, pairs of QPs, work requests and completions for the tests.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_cache.h>

#include "kt.h"

#define WC_TIMEOUT_MS	20000
#define EVENT_TIMEOUT_MS 5000

static void mem_free(void *arg)
{
	struct kt_mem *mem = arg;
	u32 i;

	vunmap(mem->va);
	for (i = 0; i < mem->num; i++) {
		if (mem->chunk[i])
			__free_pages(mem->chunk[i], mem->order);
	}
	kvfree(mem->chunk);
	kfree(mem);
}

static u8 *mem_view(struct kt_mem *mem)
{
	u32 per = 1 << mem->order;
	struct page **pages;
	u32 i;
	u8 *va;

	pages = kvmalloc_array(mem->num * per, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return NULL;
	for (i = 0; i < mem->num * per; i++)
		pages[i] = mem->chunk[i / per] + i % per;
	va = vmap(pages, mem->num * per, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	return va;
}

/* Neighbours in memory shall not be neighbours in the view. */
static void mem_shuffle(struct kt_mem *mem)
{
	u32 i, j;

	for (i = mem->num - 1; i; i--) {
		j = kt_rnd(mem->t, i + 1);
		swap(mem->chunk[i], mem->chunk[j]);
	}
}

static void mem_fill(struct kt_mem *mem)
{
	size_t i;

	for (i = 0; i < mem->len; i++)
		mem->va[i] = kt_rnd(mem->t, 256);
}

struct kt_mem *kt_mem_new(struct kt *t, u32 num, u32 order)
{
	struct kt_mem *mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	u32 i;

	if (KT_BAD(t, mem, "no memory"))
		return NULL;
	mem->t = t;
	mem->num = num;
	mem->order = order;
	mem->len = (size_t)num << (order + PAGE_SHIFT);
	mem->chunk = kvcalloc(num, sizeof(*mem->chunk), GFP_KERNEL);
	if (KT_BAD(t, mem->chunk, "no memory")) {
		kfree(mem);
		return NULL;
	}
	kt_defer(t, mem_free, mem);
	for (i = 0; i < num; i++) {
		mem->chunk[i] = alloc_pages(GFP_KERNEL | __GFP_ZERO, order);
		if (KT_BAD(t, mem->chunk[i], "no memory, order %u", order))
			return NULL;
	}
	mem_shuffle(mem);
	mem->va = mem_view(mem);
	if (KT_BAD(t, mem->va, "no memory"))
		return NULL;
	mem_fill(mem);
	return mem;
}

int kt_map(struct kt_mem *mem, struct ib_mr *mr, u32 off, u32 len,
	   u32 page_size)
{
	u32 size = PAGE_SIZE << mem->order;
	u32 first = off / size, last = (off + len - 1) / size;
	u32 i, from, n, num = last - first + 1;
	struct scatterlist *sg;
	int ret;

	sg = kvcalloc(num, sizeof(*sg), GFP_KERNEL);
	if (!sg)
		return -ENOMEM;
	sg_init_table(sg, num);
	from = off % size;
	for (i = 0; i < num; i++) {
		n = min(size - from, len);
		sg_set_page(&sg[i], mem->chunk[first + i], n, from);
		len -= n;
		from = 0;
	}
	ret = ib_dma_map_sg(mr->device, sg, num, DMA_BIDIRECTIONAL);
	if (ret == num)
		ret = ib_map_mr_sg(mr, sg, num, NULL, page_size);
	/* nothing to undo: there is no IOMMU behind a software device */
	kvfree(sg);
	return ret == num ? 0 : ret < 0 ? ret : -E2BIG;
}

static void buf_free(void *arg)
{
	kfree(arg);
}

void *kt_buf(struct kt *t, size_t len)
{
	void *buf = kzalloc(len, GFP_KERNEL);

	if (KT_OK(t, buf, "no memory"))
		kt_defer(t, buf_free, buf);
	return buf;
}

static void count_event(struct kt_end *e, const struct ib_event *ev)
{
	if (ev->event < KT_EVENTS)
		atomic_inc(&e->event[ev->event]);
}

static void on_event(struct ib_event *ev, void *ctx)
{
	count_event(ctx, ev);
}

static void on_scq(struct ib_cq *cq, void *ctx)
{
	struct kt_end *e = ctx;

	atomic_inc(&e->scq_calls);
}

static void on_rcq(struct ib_cq *cq, void *ctx)
{
}

static void end_free(struct kt_end *e)
{
	if (!IS_ERR_OR_NULL(e->qp))
		ib_destroy_qp(e->qp);
	if (!IS_ERR_OR_NULL(e->srq))
		ib_destroy_srq(e->srq);
	if (!IS_ERR_OR_NULL(e->scq))
		ib_destroy_cq(e->scq);
	if (!IS_ERR_OR_NULL(e->rcq))
		ib_destroy_cq(e->rcq);
	if (!IS_ERR_OR_NULL(e->pd))
		ib_dealloc_pd(e->pd);
}

static void pair_free(void *arg)
{
	struct kt_pair *p = arg;

	end_free(&p->a);
	end_free(&p->b);
	kfree(p);
}

static bool end_queues(struct kt_end *e, const struct kt_opts *o)
{
	struct ib_cq_init_attr cqa = { .cqe = o->cqe };
	struct ib_srq_init_attr sa = {
		.event_handler = on_event,
		.srq_context = e,
		.attr = { .max_wr = o->depth, .max_sge = 4 },
		.srq_type = IB_SRQT_BASIC,
	};

	e->pd = ib_alloc_pd(e->dev, 0);
	if (KT_BAD(e->t, !IS_ERR(e->pd), "%ld", PTR_ERR(e->pd)))
		return false;
	e->scq = ib_create_cq(e->dev, on_scq, on_event, e, &cqa);
	if (KT_BAD(e->t, !IS_ERR(e->scq), "%ld", PTR_ERR(e->scq)))
		return false;
	cqa.cqe = 4 * o->depth;
	e->rcq = ib_create_cq(e->dev, on_rcq, on_event, e, &cqa);
	if (KT_BAD(e->t, !IS_ERR(e->rcq), "%ld", PTR_ERR(e->rcq)))
		return false;
	if (!o->srq)
		return true;
	e->srq = ib_create_srq(e->pd, &sa);
	return KT_OK(e->t, !IS_ERR(e->srq), "%ld", PTR_ERR(e->srq));
}

static bool end_create(struct kt *t, struct kt_end *e, u32 idx,
		       const struct kt_opts *o)
{
	struct ib_qp_init_attr qa = {
		.event_handler = on_event,
		.qp_context = e,
		.qp_type = o->type,
		.sq_sig_type = o->sig_req ? IB_SIGNAL_REQ_WR : IB_SIGNAL_ALL_WR,
		.cap = {
			.max_send_wr = o->depth, .max_recv_wr = o->depth,
			.max_send_sge = 32, .max_recv_sge = 4,
			.max_inline_data = 256,
		},
	};

	e->t = t;
	e->idx = idx;
	e->dev = t->dev[idx];
	if (!end_queues(e, o))
		return false;
	qa.send_cq = e->scq;
	qa.recv_cq = e->rcq;
	qa.srq = e->srq;
	e->qp = ib_create_qp(e->pd, &qa);
	return KT_OK(t, !IS_ERR(e->qp), "%ld", PTR_ERR(e->qp));
}

static int end_to_init(struct kt_end *e, const struct kt_opts *o)
{
	struct ib_qp_attr a = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qkey = 0x11,
		.qp_access_flags = o->access & KT_ACCESS_ALL,
	};
	int mask = IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX;

	mask |= o->type == IB_QPT_UD ? IB_QP_QKEY : IB_QP_ACCESS_FLAGS;
	return ib_modify_qp(e->qp, &a, mask);
}

static int end_to_rtr(struct kt_end *e, const struct kt_end *peer,
		      const struct kt_opts *o)
{
	struct kt *t = e->t;
	struct ib_qp_attr a = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = o->mtu,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = o->psn,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 1,
	};
	int mask = IB_QP_STATE;

	a.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&a.ah_attr, 1);
	rdma_ah_set_grh(&a.ah_attr, &t->gid[peer->idx], 0, t->gid_index[e->idx],
			64, 0);
	if (o->type != IB_QPT_UD)
		mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			IB_QP_RQ_PSN;
	if (o->type == IB_QPT_RC)
		mask |= IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	return ib_modify_qp(e->qp, &a, mask);
}

static int end_to_rts(struct kt_end *e, const struct kt_opts *o)
{
	struct ib_qp_attr a = {
		.qp_state = IB_QPS_RTS,
		.sq_psn = o->psn,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = o->rnr_retry == KT_NO_RETRY ? 0 : 7,
		.max_rd_atomic = 16,
	};
	int mask = IB_QP_STATE | IB_QP_SQ_PSN;

	if (o->type == IB_QPT_RC)
		mask |= IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			IB_QP_MAX_QP_RD_ATOMIC;
	return ib_modify_qp(e->qp, &a, mask);
}

static bool pair_connect(struct kt *t, struct kt_pair *p,
			 const struct kt_opts *o)
{
	int ret;

	ret = end_to_init(&p->a, o);
	ret = ret ?: end_to_init(&p->b, o);
	if (KT_BAD(t, !ret, "to INIT: %d", ret))
		return false;
	ret = end_to_rtr(&p->a, &p->b, o);
	ret = ret ?: end_to_rtr(&p->b, &p->a, o);
	if (KT_BAD(t, !ret, "to RTR: %d", ret))
		return false;
	ret = end_to_rts(&p->a, o);
	ret = ret ?: end_to_rts(&p->b, o);
	return KT_OK(t, !ret, "to RTS: %d", ret);
}

static void opts_default(struct kt *t, struct kt_opts *o)
{
	struct ib_port_attr port;

	if (!o->type)
		o->type = IB_QPT_RC;
	if (!o->access)
		o->access = KT_ACCESS_ALL;
	if (!o->depth)
		o->depth = 64;
	if (!o->cqe)
		o->cqe = 2 * o->depth + 8;
	if (!o->mtu && !ib_query_port(t->dev[0], 1, &port))
		o->mtu = port.active_mtu;
}

struct kt_pair *kt_pair_new(struct kt *t, const struct kt_opts *opts)
{
	struct kt_opts o = opts ? *opts : (struct kt_opts){};
	struct kt_pair *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (KT_BAD(t, p, "no memory"))
		return NULL;
	kt_defer(t, pair_free, p);
	opts_default(t, &o);
	if (!end_create(t, &p->a, 0, &o) || !end_create(t, &p->b, 1, &o) ||
	    !pair_connect(t, p, &o))
		return NULL;
	return p;
}

static void mr_free(void *arg)
{
	ib_dereg_mr(arg);
}

struct ib_mr *kt_mr_new(struct kt_end *e, struct ib_pd *pd, u32 num)
{
	struct ib_mr *mr;

	mr = ib_alloc_mr(pd ?: e->pd, IB_MR_TYPE_MEM_REG, num);
	if (KT_BAD(e->t, !IS_ERR(mr), "%ld", PTR_ERR(mr)))
		return NULL;
	kt_defer(e->t, mr_free, mr);
	return mr;
}

enum ib_qp_state kt_state(struct kt_end *e)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	if (ib_query_qp(e->qp, &attr, IB_QP_STATE, &init))
		return IB_QPS_RESET;
	return attr.qp_state;
}

bool kt_wait_event(struct kt_end *e, enum ib_event_type type)
{
	unsigned long end = jiffies + msecs_to_jiffies(EVENT_TIMEOUT_MS);

	while (!atomic_read(&e->event[type])) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(100, 200);
	}
	return true;
}

void kt_send(union kt_wr *w, u64 id, struct ib_sge *sge)
{
	memset(w, 0, sizeof(*w));
	w->wr.wr_id = id;
	w->wr.opcode = IB_WR_SEND;
	w->wr.send_flags = IB_SEND_SIGNALED;
	w->wr.sg_list = sge;
	w->wr.num_sge = sge ? 1 : 0;
}

void kt_rdma(union kt_wr *w, u64 id, enum ib_wr_opcode op, struct ib_sge *sge,
	     u64 raddr, u32 rkey)
{
	kt_send(w, id, sge);
	w->wr.opcode = op;
	w->rdma.remote_addr = raddr;
	w->rdma.rkey = rkey;
}

void kt_reg(union kt_wr *w, u64 id, struct ib_mr *mr, int access)
{
	kt_send(w, id, NULL);
	w->wr.opcode = IB_WR_REG_MR;
	w->reg.mr = mr;
	w->reg.key = mr->rkey;
	w->reg.access = access;
}

void kt_inv(union kt_wr *w, u64 id, u32 key)
{
	kt_send(w, id, NULL);
	w->wr.opcode = IB_WR_LOCAL_INV;
	w->wr.ex.invalidate_rkey = key;
}

int kt_post(struct kt_end *e, union kt_wr *w, u32 num)
{
	const struct ib_send_wr *bad;
	u32 i;

	for (i = 0; i < num; i++)
		w[i].wr.next = i + 1 < num ? &w[i + 1].wr : NULL;
	return ib_post_send(e->qp, &w[0].wr, &bad);
}

int kt_recv(struct kt_end *e, u64 id, struct ib_sge *sge)
{
	struct ib_recv_wr wr = {
		.wr_id = id, .sg_list = sge, .num_sge = sge ? 1 : 0,
	};
	const struct ib_recv_wr *bad;

	if (e->srq)
		return ib_post_srq_recv(e->srq, &wr, &bad);
	return ib_post_recv(e->qp, &wr, &bad);
}

static unsigned int wc_more_ms;

void kt_wc_patience(unsigned int ms)
{
	wc_more_ms = ms;
}

bool kt_wc(struct ib_cq *cq, struct ib_wc *wc)
{
	unsigned long end = jiffies +
			    msecs_to_jiffies(WC_TIMEOUT_MS + wc_more_ms);
	int n;

	while (!(n = ib_poll_cq(cq, 1, wc))) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(20, 100);
	}
	return n == 1;
}

bool kt_want_at(struct kt *t, struct ib_cq *cq, u64 id,
		enum ib_wc_status status, int line)
{
	struct ib_wc wc;

	if (!kt_check(t, kt_wc(cq, &wc), "line", line,
		      "no completion, wanted %llu", id))
		return false;
	return kt_check(t, wc.wr_id == id && wc.status == status, "line", line,
			"got %llu (%s, detail %u), wanted %llu (%s)", wc.wr_id,
			ib_wc_status_msg(wc.status), wc.vendor_err, id,
			ib_wc_status_msg(status));
}

bool kt_none_at(struct kt *t, struct ib_cq *cq, int line)
{
	struct ib_wc wc = {};

	/* what comes late comes soon */
	msleep(20);
	return kt_check(t, !ib_poll_cq(cq, 1, &wc), "line", line,
			"unexpected %llu (%s)", wc.wr_id,
			ib_wc_status_msg(wc.status));
}

bool kt_do(struct kt_end *e, union kt_wr *w, enum ib_wc_status status)
{
	int ret = kt_post(e, w, 1);

	return KT_OK(e->t, !ret, "post: %d", ret) &&
	       KT_WANT(e->t, e->scq, w->wr.wr_id, status);
}

bool kt_map_reg(struct kt_end *e, struct ib_mr *mr, struct kt_mem *mem, u32 off,
		u32 len, u32 page_size, int access)
{
	union kt_wr w;
	int ret;

	ret = kt_map(mem, mr, off, len, page_size);
	if (KT_BAD(e->t, !ret, "map %u+%u by %u: %d", off, len, page_size, ret))
		return false;
	kt_reg(&w, 900, mr, access);
	return kt_do(e, &w, IB_WC_SUCCESS);
}
