// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues: several QPs, order, limits, events, bad arguments. */
#include <poll.h>
#include <unistd.h>

#include "vt.h"

#define QPS 4

static struct ibv_srq *srq_create(struct vt_end *e, uint32_t wr, uint32_t sge)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = wr, .max_sge = sge },
	};

	return ibv_create_srq(e->pd, &init);
}

static int srq_recv(struct ibv_srq *srq, uint64_t id, struct vt_buf *b,
		    size_t off, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)b->p + off, len, b->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge,
					.num_sge = 1 };

	return ibv_post_srq_recv(srq, &wr, &bad);
}

static void several_qps(const void *arg)
{
	struct vt_qp_cfg cfg = { 0 };
	struct vt_qp a[QPS], b[QPS];
	struct vt_buf ba, bb;
	struct vt_end ea, eb;
	struct ibv_wc wc;
	int i, round;

	(void)arg;
	vt_open(&ea, VT_A, 4);
	vt_open(&eb, VT_B, 4);
	vt_buf_alloc(&ea, &ba, 65536, VT_ACCESS_ALL);
	vt_buf_alloc(&eb, &bb, 65536, VT_ACCESS_ALL);
	cfg.srq = srq_create(&eb, 100, 1);
	VT_ASSERT(cfg.srq, "%m");
	for (i = 0; i < QPS; i++) {
		vt_qp_create(&ea, &a[i], NULL);
		vt_qp_create(&eb, &b[i], &cfg);
		vt_connect(&a[i], &b[i], NULL);
	}
	for (round = 0; round < 40; round++) {
		i = round % QPS;
		memset(ba.p, round + 1, 5000);
		VT_ASSERT(!srq_recv(cfg.srq, round, &bb, round * 16, 5000), "");
		VT_ASSERT(!vt_post(&a[i], IBV_WR_SEND, round, ba.p, 5000,
				   ba.mr->lkey, 0, 0, IBV_SEND_SIGNALED), "");
		VT_WANT(a[i].scq, round, IBV_WC_SUCCESS);
		VT_WANT_WC(b[i].rcq, round, IBV_WC_SUCCESS, &wc);
		VT_ASSERT(wc.qp_num == b[i].qp->qp_num, "%u", wc.qp_num);
		VT_ASSERT(!memcmp(ba.p, bb.p + round * 16, 5000), "%d", round);
	}
	VT_EXPECT(ibv_destroy_srq(cfg.srq) == EBUSY, "destroyed in use");
	/* post_recv on a QP with an SRQ is an error */
	VT_EXPECT(vt_recv(&b[0], 1, bb.p, 8, bb.mr->lkey), "post_recv");
	for (i = 0; i < QPS; i++) {
		vt_qp_destroy(&a[i]);
		vt_qp_destroy(&b[i]);
	}
	VT_EXPECT(!ibv_destroy_srq(cfg.srq), "%m");
	vt_buf_free(&ba);
	vt_buf_free(&bb);
	vt_close(&ea);
	vt_close(&eb);
}

/* Receives posted after RNR began are found; a QP in ERR takes none. */
static void empty_then_posted(const void *arg)
{
	struct vt_conn conn = { .min_rnr_timer = 14 };
	struct vt_qp_cfg cfg = { 0 };
	struct vt_buf ba, bb;
	struct vt_end ea, eb;
	struct vt_qp a, b;

	(void)arg;
	vt_open(&ea, VT_A, 4);
	vt_open(&eb, VT_B, 4);
	vt_buf_alloc(&ea, &ba, 4096, VT_ACCESS_ALL);
	vt_buf_alloc(&eb, &bb, 4096, VT_ACCESS_ALL);
	cfg.srq = srq_create(&eb, 16, 1);
	VT_ASSERT(cfg.srq, "%m");
	vt_qp_create(&ea, &a, NULL);
	vt_qp_create(&eb, &b, &cfg);
	vt_connect(&a, &b, &conn);
	VT_ASSERT(!vt_post(&a, IBV_WR_SEND, 1, ba.p, 64, ba.mr->lkey, 0, 0,
			   IBV_SEND_SIGNALED), "");
	VT_WANT_NONE(a.scq, 50);
	VT_ASSERT(!srq_recv(cfg.srq, 7, &bb, 0, 64), "");
	VT_ASSERT(!srq_recv(cfg.srq, 8, &bb, 0, 64), "");
	VT_WANT(a.scq, 1, IBV_WC_SUCCESS);
	VT_WANT(b.rcq, 7, IBV_WC_SUCCESS);
	VT_ASSERT(!vt_to_err(&b), "");
	/* what nobody took stays in the SRQ: no flush */
	VT_WANT_NONE(b.rcq, 50);
	vt_qp_destroy(&a);
	vt_qp_destroy(&b);
	VT_EXPECT(!ibv_destroy_srq(cfg.srq), "%m");
	vt_buf_free(&ba);
	vt_buf_free(&bb);
	vt_close(&ea);
	vt_close(&eb);
}

static void limit_event(const void *arg)
{
	struct ibv_srq_attr at = { .srq_limit = 3 };
	struct vt_qp_cfg cfg = { 0 };
	struct ibv_async_event ev;
	struct pollfd pfd = { .events = POLLIN };
	struct vt_buf ba, bb;
	struct vt_end ea, eb;
	struct vt_qp a, b;
	int i;

	(void)arg;
	vt_open(&ea, VT_A, 4);
	vt_open(&eb, VT_B, 4);
	vt_buf_alloc(&ea, &ba, 4096, VT_ACCESS_ALL);
	vt_buf_alloc(&eb, &bb, 4096, VT_ACCESS_ALL);
	cfg.srq = srq_create(&eb, 16, 1);
	VT_ASSERT(cfg.srq, "%m");
	vt_qp_create(&ea, &a, NULL);
	vt_qp_create(&eb, &b, &cfg);
	vt_connect(&a, &b, NULL);
	for (i = 0; i < 5; i++)
		VT_ASSERT(!srq_recv(cfg.srq, i, &bb, 0, 64), "");
	VT_ASSERT(!ibv_modify_srq(cfg.srq, &at, IBV_SRQ_LIMIT), "%m");
	pfd.fd = eb.ctx->async_fd;
	for (i = 0; i < 3; i++) {
		VT_ASSERT(!vt_post(&a, IBV_WR_SEND, i, ba.p, 64, ba.mr->lkey,
				   0, 0, IBV_SEND_SIGNALED), "");
		VT_WANT(a.scq, i, IBV_WC_SUCCESS);
		/* 4, 3, 2 left: below 3 only after the third */
		VT_EXPECT(poll(&pfd, 1, i < 2 ? 50 : 5000) == (i == 2),
			  "after %d messages", i + 1);
	}
	VT_ASSERT(!ibv_get_async_event(eb.ctx, &ev), "%m");
	VT_EXPECT(ev.event_type == IBV_EVENT_SRQ_LIMIT_REACHED, "%s",
		  ibv_event_type_str(ev.event_type));
	VT_EXPECT(ev.element.srq == cfg.srq, "another SRQ");
	ibv_ack_async_event(&ev);
	VT_ASSERT(!ibv_query_srq(cfg.srq, &at), "%m");
	VT_EXPECT(!at.srq_limit, "still %u: an event disarms", at.srq_limit);
	vt_qp_destroy(&a);
	vt_qp_destroy(&b);
	VT_EXPECT(!ibv_destroy_srq(cfg.srq), "%m");
	vt_buf_free(&ba);
	vt_buf_free(&bb);
	vt_close(&ea);
	vt_close(&eb);
}

static void sizes_and_bad_arguments(const void *arg)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 20,
						    .max_sge = 2 } };
	struct ibv_srq_attr at;
	struct ibv_srq *srq;
	struct vt_buf b;
	struct vt_end e;
	int n, rc = 0;

	(void)arg;
	vt_open(&e, VT_A, 4);
	vt_buf_alloc(&e, &b, 4096, VT_ACCESS_ALL);
	errno = 0;
	VT_EXPECT(!srq_create(&e, 0, 1) && errno == EINVAL, "max_wr 0: %m");
	VT_EXPECT(!srq_create(&e, e.attr.max_srq_wr + 1, 1), "max_wr");
	VT_EXPECT(!srq_create(&e, 1, e.attr.max_srq_sge + 1), "max_sge");
	srq = ibv_create_srq(e.pd, &init);
	VT_ASSERT(srq, "%m");
	VT_ASSERT(!ibv_query_srq(srq, &at), "%m");
	VT_EXPECT(at.max_wr >= 20, "%u", at.max_wr);
	VT_EXPECT(at.max_sge >= 2, "%u", at.max_sge);
	for (n = 0; n < 1000; n++) {
		rc = srq_recv(srq, n, &b, 0, 64);
		if (rc)
			break;
	}
	VT_EXPECT(rc == ENOMEM, "%d", rc);
	VT_EXPECT(n >= 20, "only %d posted", n);
	at.srq_limit = at.max_wr + 1;
	rc = ibv_modify_srq(srq, &at, IBV_SRQ_LIMIT);
	VT_EXPECT(rc == EINVAL, "limit above size: %d", rc);
	VT_EXPECT(!ibv_destroy_srq(srq), "%m");
	vt_buf_free(&b);
	vt_close(&e);
}

/* Larger and smaller while receives are posted: none is lost, order stays. */
static void resize(const void *arg)
{
	struct ibv_srq_attr at = { .max_wr = 60 };
	struct vt_qp_cfg cfg = { 0 };
	struct vt_buf ba, bb;
	struct vt_end ea, eb;
	struct vt_qp a, b;
	int i, posted = 0, rc;

	(void)arg;
	vt_open(&ea, VT_A, 4);
	vt_open(&eb, VT_B, 4);
	vt_buf_alloc(&ea, &ba, 4096, VT_ACCESS_ALL);
	vt_buf_alloc(&eb, &bb, 4096, VT_ACCESS_ALL);
	cfg.srq = srq_create(&eb, 8, 1);
	VT_ASSERT(cfg.srq, "%m");
	vt_qp_create(&ea, &a, NULL);
	vt_qp_create(&eb, &b, &cfg);
	vt_connect(&a, &b, NULL);
	while (posted < 8)
		VT_ASSERT(!srq_recv(cfg.srq, posted++, &bb, 0, 64), "");
	for (i = 0; i < 40; i++) {
		if (i == 3 || i == 30) {
			/* 60, then as few as are posted */
			at.max_wr = i == 3 ? 60 : posted - i;
			VT_ASSERT(!ibv_modify_srq(cfg.srq, &at, IBV_SRQ_MAX_WR),
				  "to %u: %m", at.max_wr);
			VT_ASSERT(!ibv_query_srq(cfg.srq, &at), "%m");
			VT_EXPECT(i == 30 || at.max_wr >= 60, "%u", at.max_wr);
		}
		while (i >= 3 && i < 30 && posted < i + 20)
			VT_ASSERT(!srq_recv(cfg.srq, posted++, &bb, 0, 64),
				  "receive %d", posted);
		VT_ASSERT(!vt_post(&a, IBV_WR_SEND, i, ba.p, 64, ba.mr->lkey,
				   0, 0, IBV_SEND_SIGNALED), "");
		VT_WANT(a.scq, i, IBV_WC_SUCCESS);
		VT_WANT(b.rcq, i, IBV_WC_SUCCESS);
	}
	/* fewer than are posted */
	at.max_wr = 2;
	rc = ibv_modify_srq(cfg.srq, &at, IBV_SRQ_MAX_WR);
	VT_EXPECT(rc == EINVAL, "to 2 with %d posted: %d", posted - i, rc);
	vt_qp_destroy(&a);
	vt_qp_destroy(&b);
	VT_EXPECT(!ibv_destroy_srq(cfg.srq), "%m");
	vt_buf_free(&ba);
	vt_buf_free(&bb);
	vt_close(&ea);
	vt_close(&eb);
}

static const struct vt_test tests[] = {
	{ "several_qps", several_qps },
	{ "empty_then_posted", empty_then_posted },
	{ "limit_event", limit_event },
	{ "resize", resize },
	{ "sizes_and_bad_arguments", sizes_and_bad_arguments },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
