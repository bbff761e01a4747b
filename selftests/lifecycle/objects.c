// SPDX-License-Identifier: GPL-2.0
/*
 * objects [PAIRS]: helper of the life-cycle tests. Makes every kind of object at
 * both ends (PD, MR, CQ with channel, SRQ, RC, UC and UD QP, AH, group members),
 * keeps work of every kind in flight on PAIRS connections (default 4), with a
 * thread blocked in ibv_get_cq_event() and one in ibv_get_async_event(). One QP at
 * each end has a receive request that nothing but a flush completes. Prints
 * 'ready' and goes on until it is killed or the device goes. Then it prints what
 * it saw as 'fatal=N flushed=N woken=N' and ends with status 0.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>
#include <unistd.h>

#include "vt.h"

#define LEN	65536
#define DEPTH	16
#define PAIRS	64

struct conn {
	struct vt_qp a, b;
};

static struct vt_end ea, eb;
static struct vt_buf ba, bb;
static struct conn rc[PAIRS];
static struct vt_qp uc[2], ud[2], parked[2], idle;
static struct ibv_ah *ah;
static struct ibv_comp_channel *chan;
static atomic_uint fatal, flushed, woken;
static atomic_int done;

static void *wait_async(void *arg)
{
	struct ibv_context *ctx = arg;
	struct ibv_async_event ev;

	while (!ibv_get_async_event(ctx, &ev)) {
		if (ev.event_type == IBV_EVENT_DEVICE_FATAL) {
			fatal++;
			done = 1;
		}
		ibv_ack_async_event(&ev);
	}
	done = 1;
	return NULL;
}

/* Nothing ever completes here: it wakes when the device goes. */
static void *wait_comp(void *arg)
{
	struct ibv_cq *cq;
	void *ctx;

	(void)arg;
	if (!ibv_get_cq_event(chan, &cq, &ctx))
		ibv_ack_cq_events(cq, 1);
	woken++;
	return NULL;
}

static void join(struct vt_qp *q)
{
	union ibv_gid v4 = { .raw = { [10] = 0xff, 0xff, 239, 66, 6, 6 } };
	union ibv_gid v6 = { .raw = { 0xff, 0x0e, [15] = 0x66 } };

	vt_enter(q->end);
	VT_ASSERT(!ibv_attach_mcast(q->qp, &v4, 0), "%m");
	VT_ASSERT(!ibv_attach_mcast(q->qp, &v6, 0), "%m");
}

/* A receive request that stays, whatever is in flight elsewhere. */
static void park(struct vt_end *e, struct vt_buf *b, struct vt_qp *q)
{
	struct vt_qp_cfg cfg = { .cq_depth = DEPTH };

	vt_qp_create(e, q, &cfg);
	VT_ASSERT(!vt_to_init(q, VT_ACCESS_ALL), "%m");
	VT_ASSERT(!vt_recv(q, 0, b->p, 8, b->mr->lkey), "%m");
}

static void make(int pairs)
{
	struct vt_qp_cfg cfg = { .cq_depth = 4 * DEPTH };
	struct vt_conn conn = { .timeout = 14 };
	struct ibv_srq_init_attr sattr = {
		.attr = { .max_wr = DEPTH, .max_sge = 1 },
	};
	int i;

	vt_open(&ea, VT_A, 4);
	vt_open(&eb, VT_B, 4);
	vt_buf_alloc(&ea, &ba, LEN, VT_ACCESS_ALL);
	vt_buf_alloc(&eb, &bb, LEN, VT_ACCESS_ALL);
	VT_ASSERT(ibv_create_srq(ea.pd, &sattr), "%m");
	for (i = 0; i < pairs; i++) {
		vt_qp_create(&ea, &rc[i].a, &cfg);
		vt_qp_create(&eb, &rc[i].b, &cfg);
		vt_connect(&rc[i].a, &rc[i].b, &conn);
	}
	cfg.type = IBV_QPT_UC;
	vt_qp_create(&ea, &uc[0], &cfg);
	vt_qp_create(&eb, &uc[1], &cfg);
	vt_connect(&uc[0], &uc[1], NULL);
	cfg.type = IBV_QPT_UD;
	vt_qp_create(&ea, &ud[0], &cfg);
	vt_qp_create(&eb, &ud[1], &cfg);
	vt_connect(&ud[0], &ud[1], NULL);
	join(&ud[0]);
	join(&ud[1]);
	park(&ea, &ba, &parked[0]);
	park(&eb, &bb, &parked[1]);
	ah = vt_ah(&ea, &eb);
	chan = ibv_create_comp_channel(ea.ctx);
	VT_ASSERT(chan, "%m");
	cfg.chan = chan;
	cfg.type = IBV_QPT_RC;
	vt_qp_create(&ea, &idle, &cfg);
	VT_ASSERT(!ibv_req_notify_cq(idle.scq, 0), "%m");
}

static void fill(struct conn *c, int n)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	enum ibv_wr_opcode op = ops[n % 4];
	uint32_t len = op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : LEN;

	vt_post(&c->a, op, n, ba.p, len, ba.mr->lkey, (uintptr_t)bb.p,
		bb.mr->rkey, IBV_SEND_SIGNALED);
	if (op == IBV_WR_SEND)
		vt_recv(&c->b, n, bb.p, LEN, bb.mr->lkey);
}

static void drain(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		if (wc.status == IBV_WC_WR_FLUSH_ERR)
			flushed++;
}

static void say(const struct vt_qp *q, struct ibv_ah *to)
{
	struct ibv_sge sge = { (uintptr_t)ba.p, 100, ba.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { to, ud[1].qp->qp_num, VT_QKEY },
	};

	if (ibv_post_send(q->qp, &wr, &bad))
		done = 1;
}

int main(int argc, char **argv)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int pairs = argc > 1 ? atoi(argv[1]) : 4, i, n = 0;
	pthread_t thread;

	if (pairs < 1 || pairs > PAIRS) {
		fprintf(stderr, "usage: objects [PAIRS], 1 to %d\n", PAIRS);
		return 2;
	}
	make(pairs);
	/* this process must not be what keeps a namespace alive */
	if (home < 0 || setns(home, CLONE_NEWNET))
		return 2;
	close(ea.netns_fd);
	close(eb.netns_fd);
	pthread_create(&thread, NULL, wait_async, ea.ctx);
	pthread_create(&thread, NULL, wait_async, eb.ctx);
	pthread_create(&thread, NULL, wait_comp, NULL);
	puts("ready");
	fflush(stdout);
	while (!done) {
		for (i = 0; i < pairs; i++) {
			fill(&rc[i], n++);
			drain(rc[i].a.scq);
			drain(rc[i].a.rcq);
			drain(rc[i].b.rcq);
		}
		say(&ud[0], ah);
		drain(ud[0].scq);
		drain(ud[1].rcq);
		usleep(100);
	}
	/* flush completions stay readable when the device is gone */
	for (i = 0; i < 300 && !(woken && flushed && i > 20); i++) {
		int p;

		for (p = 0; p < pairs; p++) {
			drain(rc[p].a.scq);
			drain(rc[p].b.rcq);
		}
		drain(parked[0].rcq);
		drain(parked[1].rcq);
		usleep(10000);
	}
	printf("fatal=%u flushed=%u woken=%u\n", fatal, flushed, woken);
	fflush(stdout);
	_exit(0);
}
