// SPDX-License-Identifier: GPL-2.0
/* Completion queues: sizes, events, solicited events, overflow, life time. */
#include <poll.h>
#include <unistd.h>

#include "vt.h"

static bool readable(int fd, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, ms) == 1;
}

static void sizes(const void *arg)
{
	struct ibv_cq *cq;
	struct vt_end e;

	(void)arg;
	vt_open(&e, VT_A, 4);
	cq = ibv_create_cq(e.ctx, 1, NULL, NULL, 0);
	VT_ASSERT(cq, "1 entry: %m");
	VT_EXPECT(cq->cqe >= 1, "%d", cq->cqe);
	VT_EXPECT(!ibv_destroy_cq(cq), "%m");
	cq = ibv_create_cq(e.ctx, 32767, NULL, NULL, 0);
	VT_ASSERT(cq, "32767 entries: %m");
	VT_EXPECT(cq->cqe >= 32767, "%d", cq->cqe);
	VT_EXPECT(!ibv_destroy_cq(cq), "%m");
	cq = ibv_create_cq(e.ctx, e.attr.max_cqe, NULL, NULL, 0);
	VT_EXPECT(cq, "max_cqe = %d: %m", e.attr.max_cqe);
	if (cq)
		VT_EXPECT(!ibv_destroy_cq(cq), "%m");
	errno = 0;
	VT_EXPECT(!ibv_create_cq(e.ctx, e.attr.max_cqe + 1, NULL, NULL, 0) &&
		  errno == EINVAL, "max_cqe + 1: %m");
	errno = 0;
	VT_EXPECT(!ibv_create_cq(e.ctx, 0, NULL, NULL, 0) && errno == EINVAL,
		  "0 entries: %m");
	errno = 0;
	VT_EXPECT(!ibv_create_cq(e.ctx, 10, NULL, NULL, 100000) &&
		  errno == EINVAL, "vector 100000: %m");
	vt_close(&e);
}

/* One pair whose B end has a completion channel on its receive CQ. */
static struct ibv_comp_channel *chan_pair_up(struct vt_pair *p)
{
	struct ibv_comp_channel *chan;
	struct vt_qp_cfg cfg = { 0 };

	vt_open(&p->ea, VT_A, 4);
	vt_open(&p->eb, VT_B, 4);
	vt_buf_alloc(&p->ea, &p->ba, 4096, VT_ACCESS_ALL);
	vt_buf_alloc(&p->eb, &p->bb, 4096, VT_ACCESS_ALL);
	chan = ibv_create_comp_channel(p->eb.ctx);
	VT_ASSERT(chan, "%m");
	vt_qp_create(&p->ea, &p->a, NULL);
	cfg.chan = chan;
	vt_qp_create(&p->eb, &p->b, &cfg);
	vt_connect(&p->a, &p->b, NULL);
	return chan;
}

static void chan_pair_down(struct vt_pair *p, struct ibv_comp_channel *chan)
{
	vt_qp_destroy(&p->a);
	vt_qp_destroy(&p->b);
	VT_EXPECT(!ibv_destroy_comp_channel(chan), "%m");
	vt_buf_free(&p->ba);
	vt_buf_free(&p->bb);
	vt_close(&p->ea);
	vt_close(&p->eb);
}

static void one_message(struct vt_pair *p, uint64_t id, unsigned int flags)
{
	VT_ASSERT(!vt_recv(&p->b, id, p->bb.p, 64, p->bb.mr->lkey), "");
	VT_ASSERT(!vt_post(&p->a, IBV_WR_SEND, id, p->ba.p, 64,
			   p->ba.mr->lkey, 0, 0, IBV_SEND_SIGNALED | flags),
		  "");
	VT_WANT(p->a.scq, id, IBV_WC_SUCCESS);
}

static void take_event(struct vt_pair *p, struct ibv_comp_channel *chan)
{
	struct ibv_cq *cq;
	void *ctx;

	VT_ASSERT(readable(chan->fd, 5000), "no event");
	VT_ASSERT(!ibv_get_cq_event(chan, &cq, &ctx), "%m");
	VT_EXPECT(cq == p->b.rcq, "event of another CQ");
	ibv_ack_cq_events(cq, 1);
}

static void arm_once(const void *arg)
{
	struct ibv_comp_channel *chan;
	struct vt_pair p;
	uint64_t i;

	(void)arg;
	chan = chan_pair_up(&p);
	one_message(&p, 1, 0);
	VT_EXPECT(!readable(chan->fd, 50), "event without arming");
	VT_WANT(p.b.rcq, 1, IBV_WC_SUCCESS);
	for (i = 2; i < 30; i++) {
		VT_ASSERT(!ibv_req_notify_cq(p.b.rcq, 0), "%m");
		VT_EXPECT(!readable(chan->fd, 0), "event of an empty CQ");
		one_message(&p, i, 0);
		take_event(&p, chan);
		VT_WANT(p.b.rcq, i, IBV_WC_SUCCESS);
		/* armed once, one event */
		one_message(&p, 100 + i, 0);
		VT_EXPECT(!readable(chan->fd, 5), "second event");
		VT_WANT(p.b.rcq, 100 + i, IBV_WC_SUCCESS);
	}
	chan_pair_down(&p, chan);
}

static void solicited(const void *arg)
{
	struct ibv_comp_channel *chan;
	struct vt_pair p;

	(void)arg;
	chan = chan_pair_up(&p);
	VT_ASSERT(!ibv_req_notify_cq(p.b.rcq, 1), "%m");
	one_message(&p, 1, 0);
	VT_EXPECT(!readable(chan->fd, 100), "event of an unsolicited SEND");
	one_message(&p, 2, IBV_SEND_SOLICITED);
	take_event(&p, chan);
	VT_WANT(p.b.rcq, 1, IBV_WC_SUCCESS);
	VT_WANT(p.b.rcq, 2, IBV_WC_SUCCESS);
	chan_pair_down(&p, chan);
}

/* A completion with an error counts as solicited. */
static void solicited_error(const void *arg)
{
	struct ibv_comp_channel *chan;
	struct vt_pair p;

	(void)arg;
	chan = chan_pair_up(&p);
	VT_ASSERT(!vt_recv(&p.b, 1, p.bb.p, 64, p.bb.mr->lkey), "");
	VT_ASSERT(!ibv_req_notify_cq(p.b.rcq, 1), "%m");
	VT_ASSERT(!vt_to_err(&p.b), "");
	take_event(&p, chan);
	VT_WANT(p.b.rcq, 1, IBV_WC_WR_FLUSH_ERR);
	chan_pair_down(&p, chan);
}

/*
 * Arm, poll, sleep only if the poll found nothing: the loop of every event
 * driven program. No message may be lost in it.
 */
static void arm_race(const void *arg)
{
	struct ibv_comp_channel *chan;
	uint64_t i, got = 0, n = 300;
	struct ibv_wc wc;
	struct vt_pair p;

	(void)arg;
	chan = chan_pair_up(&p);
	for (i = 0; i < n; i++) {
		VT_ASSERT(!vt_recv(&p.b, i, p.bb.p, 64, p.bb.mr->lkey), "");
		VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, i, p.ba.p, 8,
				   p.ba.mr->lkey, 0, 0, IBV_SEND_SIGNALED), "");
		VT_ASSERT(!ibv_req_notify_cq(p.b.rcq, 0), "%m");
		if (!ibv_poll_cq(p.b.rcq, 1, &wc)) {
			take_event(&p, chan);
			VT_ASSERT(ibv_poll_cq(p.b.rcq, 1, &wc) == 1,
				  "event, but no completion");
		} else if (readable(chan->fd, 0)) {
			take_event(&p, chan);
		}
		VT_ASSERT(wc.status == IBV_WC_SUCCESS && wc.wr_id == got,
			  "%s", ibv_wc_status_str(wc.status));
		got++;
		VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
	}
	VT_EXPECT(got == n, "%d", (int)got);
	chan_pair_down(&p, chan);
}

/* More completions than entries: CQ_ERR event, the QP does not go on. */
static void overflow(const void *arg)
{
	struct vt_qp_cfg cfg = { .cq_depth = 4, .send_wr = 64, .one_cq = true };
	struct ibv_async_event ev;
	bool cq_err = false;
	struct vt_pair p;
	int i;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, 4096);
	for (i = 0; i < 40; i++)
		if (vt_post(&p.a, IBV_WR_RDMA_WRITE, i, p.ba.p, 8,
			    p.ba.mr->lkey, (uintptr_t)p.bb.p, p.bb.mr->rkey,
			    IBV_SEND_SIGNALED))
			break;
	while (!cq_err && readable(p.ea.ctx->async_fd, 5000)) {
		VT_ASSERT(!ibv_get_async_event(p.ea.ctx, &ev), "%m");
		cq_err = ev.event_type == IBV_EVENT_CQ_ERR &&
			 ev.element.cq == p.a.scq;
		ibv_ack_async_event(&ev);
	}
	VT_EXPECT(cq_err, "no CQ_ERR event");
	vt_pair_down(&p);
}

static void destroy_in_use(const void *arg)
{
	struct vt_end e;
	struct vt_qp q;
	int rc;

	(void)arg;
	vt_open(&e, VT_A, 4);
	vt_qp_create(&e, &q, NULL);
	rc = ibv_destroy_cq(q.scq);
	VT_EXPECT(rc == EBUSY, "send CQ: %d", rc);
	rc = ibv_destroy_cq(q.rcq);
	VT_EXPECT(rc == EBUSY, "receive CQ: %d", rc);
	vt_qp_destroy(&q);
	vt_close(&e);
}

/* Completions of a destroyed QP may stay in the CQ; polling them is safe. */
static void poll_after_qp_destroy(const void *arg)
{
	struct ibv_wc wc;
	struct vt_pair p;
	int n = 0;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, 4096);
	VT_ASSERT(!vt_recv(&p.b, 1, p.bb.p, 64, p.bb.mr->lkey), "");
	VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, 1, p.ba.p, 64, p.ba.mr->lkey, 0,
			   0, IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	VT_ASSERT(!ibv_destroy_qp(p.b.qp), "%m");
	while (ibv_poll_cq(p.b.rcq, 1, &wc) > 0)
		n++;
	VT_EXPECT(n <= 1, "%d completions of one receive", n);
	VT_EXPECT(!ibv_destroy_cq(p.b.rcq), "%m");
	VT_EXPECT(!ibv_destroy_cq(p.b.scq), "%m");
	vt_qp_destroy(&p.a);
	vt_buf_free(&p.ba);
	vt_buf_free(&p.bb);
	vt_close(&p.ea);
	vt_close(&p.eb);
}

static void write_id(struct vt_pair *p, uint64_t id)
{
	VT_ASSERT(!vt_post(&p->a, IBV_WR_RDMA_WRITE, id, p->ba.p, 64,
			   p->ba.mr->lkey, (uintptr_t)p->bb.p, p->bb.mr->rkey,
			   IBV_SEND_SIGNALED), "");
}

/* Completions that nobody polled are there in the new ring, in order. */
static void resize_keeps(const void *arg)
{
	static const int sizes[] = { 64, 10, 31, 2000, 10 };
	struct vt_qp_cfg cfg = { .cq_depth = 16 };
	uint64_t until;
	struct vt_pair p;
	size_t i;
	int j, rc;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, 4096);
	for (i = 0; i < VT_ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < 10; j++)
			write_id(&p, j);
		/* once all are there, 5 do not do, and nothing is lost by it */
		until = vt_now_us() + 5000000;
		while ((rc = ibv_resize_cq(p.a.scq, 5)) == 0 &&
		       vt_now_us() < until)
			VT_ASSERT(!ibv_resize_cq(p.a.scq, 16), "16 entries");
		VT_EXPECT(rc == EINVAL, "10 in 5: %s", strerror(rc));
		rc = ibv_resize_cq(p.a.scq, sizes[i]);
		VT_EXPECT(!rc, "10 in %d: %s", sizes[i], strerror(rc));
		VT_EXPECT(p.a.scq->cqe >= sizes[i], "%d", p.a.scq->cqe);
		for (j = 0; j < 10; j++)
			VT_WANT(p.a.scq, j, IBV_WC_SUCCESS);
		VT_WANT_NONE(p.a.scq, 5);
	}
	vt_pair_down(&p);
}

/* Completions come in while the ring is replaced. */
static void resize_under_traffic(const void *arg)
{
	struct vt_pair p;
	int i, j, rc;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, 4096);
	for (i = 0; i < 400; i++) {
		write_id(&p, i);
		rc = ibv_resize_cq(p.a.scq, 70 + i % 50 * 20);
		VT_ASSERT(!rc, "%s", strerror(rc));
		if (i % 16 != 15)
			continue;
		for (j = i - 15; j <= i; j++)
			VT_WANT(p.a.scq, j, IBV_WC_SUCCESS);
	}
	VT_WANT_NONE(p.a.scq, 5);
	vt_pair_down(&p);
}

static const struct vt_test tests[] = {
	{ "sizes", sizes },
	{ "arm_once", arm_once },
	{ "solicited", solicited },
	{ "solicited_error", solicited_error },
	{ "arm_race", arm_race },
	{ "resize_keeps", resize_keeps },
	{ "resize_under_traffic", resize_under_traffic },
	{ "overflow_is_an_event", overflow },
	{ "destroy_in_use_is_ebusy", destroy_in_use },
	{ "poll_after_qp_destroy", poll_after_qp_destroy },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
