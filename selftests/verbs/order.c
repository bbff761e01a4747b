// SPDX-License-Identifier: GPL-2.0
/*
 * Order and number of completions, fences, draining, and what may be changed
 * while a QP works.
 */
#include <pthread.h>
#include <unistd.h>

#include "vt.h"
#include "wire.h"

#define LEN 65536

/* A's QP is real, the other end is played by the test. */
struct half {
	struct vt_end ea, eb;
	struct vt_buf ba;
	struct vt_qp a, ghost;
	struct ibv_qp ghost_qp;
	struct wire wire;
};

static void half_up(struct half *h, const struct vt_conn *conn)
{
	vt_open(&h->ea, VT_A, 4);
	vt_open(&h->eb, VT_B, 4);
	vt_buf_alloc(&h->ea, &h->ba, LEN, VT_ACCESS_ALL);
	vt_qp_create(&h->ea, &h->a, NULL);
	vt_qp_create(&h->eb, &h->ghost, NULL);
	h->ghost_qp = *h->ghost.qp;
	vt_qp_destroy(&h->ghost);
	h->ghost.qp = &h->ghost_qp;
	h->a.psn = 0x1000;
	h->ghost.psn = 0x2000;
	VT_ASSERT(!vt_to_init(&h->a, 0), "");
	VT_ASSERT(!vt_to_rtr(&h->a, &h->ghost, conn), "");
	VT_ASSERT(!vt_to_rts(&h->a, conn), "");
	wire_open(&h->wire, &h->eb, &h->ea);
}

static void half_down(struct half *h)
{
	wire_close(&h->wire);
	vt_qp_destroy(&h->a);
	vt_buf_free(&h->ba);
	vt_close(&h->ea);
	vt_close(&h->eb);
}

static void post_a(struct half *h, enum ibv_wr_opcode op, uint64_t id,
		   unsigned int flags)
{
	bool atomic = op == IBV_WR_ATOMIC_FETCH_AND_ADD ||
		      op == IBV_WR_ATOMIC_CMP_AND_SWP;

	VT_ASSERT(!vt_post(&h->a, op, id, h->ba.p, atomic ? 8 : 64,
			   h->ba.mr->lkey, 0x10000, 0x1234,
			   flags | IBV_SEND_SIGNALED), "");
}

/* The next packet of A must be this one. */
static void want_packet(struct half *h, uint8_t opcode, uint32_t psn)
{
	struct wire_pkt pkt;

	VT_ASSERT(wire_recv(&h->wire, &pkt, 2000), "A sends nothing");
	VT_ASSERT(pkt.opcode == opcode && pkt.psn == h->a.psn + psn,
		  "%s %d, expected %s %u", wire_op_name(pkt.opcode),
		  (int)(pkt.psn - h->a.psn), wire_op_name(opcode), psn);
}

static void want_silence(struct half *h, int ms)
{
	struct wire_pkt pkt;

	if (wire_recv(&h->wire, &pkt, ms))
		vt_fail(__FILE__, __LINE__, "A sends %s %d",
			wire_op_name(pkt.opcode), (int)(pkt.psn - h->a.psn));
}

/* Nothing but this one, for whose answer A may ask when it is late. */
static void want_only(struct half *h, int ms, uint8_t opcode, uint32_t psn)
{
	uint64_t end = vt_now_us() + ms * 1000ull, now;
	struct wire_pkt pkt;

	while ((now = vt_now_us()) < end) {
		if (!wire_recv(&h->wire, &pkt, (end - now) / 1000 + 1))
			return;
		VT_ASSERT(pkt.opcode == opcode && pkt.psn == h->a.psn + psn,
			  "A sends %s %d", wire_op_name(pkt.opcode),
			  (int)(pkt.psn - h->a.psn));
	}
}

static void answer(struct half *h, uint8_t opcode, uint32_t psn, uint32_t len)
{
	struct wire_pkt pkt;

	wire_init(&pkt, &h->eb, &h->ea, opcode, h->a.qp->qp_num,
		  h->a.psn + psn);
	pkt.syn = 0x1f;
	pkt.len = len;
	wire_send(&h->wire, &pkt);
}

static const struct vt_conn patient = { .timeout = 22 };

/* A fenced request waits for the READs and atomics before it, and only then. */
static void fence_waits(const void *arg)
{
	enum ibv_wr_opcode first = *(const enum ibv_wr_opcode *)arg;
	bool read = first == IBV_WR_RDMA_READ;
	struct half h;

	half_up(&h, &patient);
	post_a(&h, first, 1, 0);
	post_a(&h, IBV_WR_RDMA_WRITE, 2, IBV_SEND_FENCE);
	post_a(&h, IBV_WR_SEND, 3, 0);
	want_packet(&h, read ? W_READ : W_FADD, 0);
	want_silence(&h, 50);
	answer(&h, read ? W_READ_ONLY : W_ATOMIC_ACK, 0, read ? 64 : 0);
	want_packet(&h, W_WRITE_ONLY, 1);
	want_packet(&h, W_SEND_ONLY, 2);
	answer(&h, W_ACK, 2, 0);
	VT_WANT(h.a.scq, 1, IBV_WC_SUCCESS);
	VT_WANT(h.a.scq, 2, IBV_WC_SUCCESS);
	VT_WANT(h.a.scq, 3, IBV_WC_SUCCESS);
	half_down(&h);
}

/* All READs before it must be done, not the first one only. */
static void fence_waits_for_all(const void *arg)
{
	struct half h;

	(void)arg;
	half_up(&h, &patient);
	post_a(&h, IBV_WR_RDMA_READ, 1, 0);
	post_a(&h, IBV_WR_RDMA_READ, 2, 0);
	post_a(&h, IBV_WR_SEND, 3, IBV_SEND_FENCE);
	want_packet(&h, W_READ, 0);
	want_packet(&h, W_READ, 1);
	answer(&h, W_READ_ONLY, 0, 64);
	want_only(&h, 50, W_READ, 1);
	answer(&h, W_READ_ONLY, 1, 64);
	want_packet(&h, W_SEND_ONLY, 2);
	half_down(&h);
}

/* Without a fence nothing waits, and a fence does not wait for SENDs. */
static void no_fence_no_wait(const void *arg)
{
	struct half h;

	(void)arg;
	half_up(&h, &patient);
	post_a(&h, IBV_WR_SEND, 1, 0);
	post_a(&h, IBV_WR_SEND, 2, IBV_SEND_FENCE);
	post_a(&h, IBV_WR_RDMA_READ, 3, 0);
	post_a(&h, IBV_WR_SEND, 4, 0);
	want_packet(&h, W_SEND_ONLY, 0);
	want_packet(&h, W_SEND_ONLY, 1);
	want_packet(&h, W_READ, 2);
	want_packet(&h, W_SEND_ONLY, 3);
	half_down(&h);
}

/* No more READs at once than the peer has room for. */
static void rd_atomic_limit(const void *arg)
{
	struct vt_conn conn = { .timeout = 22, .rd_atomic = 2 };
	struct half h;

	(void)arg;
	half_up(&h, &conn);
	post_a(&h, IBV_WR_RDMA_READ, 1, 0);
	post_a(&h, IBV_WR_ATOMIC_FETCH_AND_ADD, 2, 0);
	post_a(&h, IBV_WR_RDMA_READ, 3, 0);
	want_packet(&h, W_READ, 0);
	want_packet(&h, W_FADD, 1);
	want_silence(&h, 50);
	answer(&h, W_READ_ONLY, 0, 64);
	want_packet(&h, W_READ, 2);
	half_down(&h);
}

/* Unsignalled requests free their slots and leave no completion. */
static void unsignalled(const void *arg)
{
	struct vt_qp_cfg cfg = { .send_wr = 16, .cq_depth = 64 };
	struct vt_pair p;
	uint64_t i;
	int flag;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	for (i = 1; i <= 400; i++) {
		flag = i % 8 ? 0 : IBV_SEND_SIGNALED;
		VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_WRITE, i, p.ba.p, 64,
				   p.ba.mr->lkey, (uintptr_t)p.bb.p,
				   p.bb.mr->rkey, flag), "request %d", (int)i);
		if (flag)
			VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
	}
	VT_WANT_NONE(p.a.scq, 30);
	vt_pair_down(&p);
}

/* sq_sig_all: every one completes, flag or not. */
static void all_signalled(const void *arg)
{
	struct vt_qp_cfg cfg = { .sig_all = true };
	struct vt_pair p;
	int i;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	for (i = 0; i < 20; i++)
		VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_WRITE, i, p.ba.p, 64,
				   p.ba.mr->lkey, (uintptr_t)p.bb.p,
				   p.bb.mr->rkey, 0), "");
	for (i = 0; i < 20; i++)
		VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
	VT_WANT_NONE(p.a.scq, 20);
	vt_pair_down(&p);
}

static const struct {
	enum ibv_wr_opcode op;
	enum ibv_wc_opcode wc;
	bool recv, response;
} kinds[] = {
	{ IBV_WR_SEND, IBV_WC_SEND, true },
	{ IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, true },
	{ IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, true },
	{ IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, false, true },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP, false, true },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, false, true },
};

/* Every operation in a random order: one completion each, in order, right. */
static void mixed_in_order(const void *arg)
{
	struct vt_qp_cfg cfg = { .send_wr = 64, .recv_wr = 256,
				 .cq_depth = 512 };
	int kind[60], recvs = 0, seen = 0, i, round;
	struct vt_rnd r = { 0x5eed };
	struct ibv_wc wc;
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < 60; i++) {
			kind[i] = vt_rnd_below(&r, VT_ARRAY_SIZE(kinds));
			if (kinds[kind[i]].recv)
				VT_ASSERT(!vt_recv(&p.b, recvs++, p.bb.p, 4096,
						   p.bb.mr->lkey), "");
		}
		for (i = 0; i < 60; i++) {
			bool atomic = kinds[kind[i]].op >=
				      IBV_WR_ATOMIC_CMP_AND_SWP;

			VT_ASSERT(!vt_post(&p.a, kinds[kind[i]].op, i, p.ba.p,
					   atomic ? 8 : 1 + vt_rnd_below(&r, 4000),
					   p.ba.mr->lkey, (uintptr_t)p.bb.p,
					   p.bb.mr->rkey, IBV_SEND_SIGNALED),
				  "");
		}
		for (i = 0; i < 60; i++) {
			VT_WANT_WC(p.a.scq, i, IBV_WC_SUCCESS, &wc);
			VT_EXPECT(wc.opcode == kinds[kind[i]].wc,
				  "request %d: opcode %d", i, wc.opcode);
			VT_EXPECT(wc.qp_num == p.a.qp->qp_num, "%x", wc.qp_num);
		}
		for (; seen < recvs; seen++)
			VT_WANT(p.b.rcq, seen, IBV_WC_SUCCESS);
	}
	VT_WANT_NONE(p.a.scq, 20);
	VT_WANT_NONE(p.b.rcq, 20);
	vt_pair_down(&p);
}

/* A list longer than the queue: bad_wr is the first that did not fit. */
static void list_too_long(const void *arg)
{
	struct vt_qp_cfg cfg = { .send_wr = 8, .recv_wr = 8 };
	struct ibv_recv_wr rr[200] = { 0 }, *rbad = NULL;
	struct ibv_send_wr wr[200] = { 0 }, *bad = NULL;
	struct ibv_sge sge;
	int i, n, m;
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	sge = (struct ibv_sge){ (uintptr_t)p.bb.p, 64, p.bb.mr->lkey };
	for (i = 0; i < 200; i++) {
		rr[i].wr_id = i;
		rr[i].next = i < 199 ? &rr[i + 1] : NULL;
		rr[i].sg_list = &sge;
		rr[i].num_sge = 1;
		wr[i].wr_id = i;
		wr[i].next = i < 199 ? &wr[i + 1] : NULL;
		wr[i].num_sge = 0;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].send_flags = IBV_SEND_SIGNALED;
	}
	VT_EXPECT(ibv_post_recv(p.b.qp, rr, &rbad) == ENOMEM, "receives");
	VT_ASSERT(rbad > rr && rbad < rr + 200, "bad_wr of receives");
	n = rbad - rr;
	VT_EXPECT(n >= 8, "%d receives fitted", n);
	VT_EXPECT(ibv_post_send(p.a.qp, wr, &bad) == ENOMEM, "sends");
	VT_ASSERT(bad > wr && bad < wr + 200, "bad_wr of sends");
	m = bad - wr;
	VT_EXPECT(m >= 8, "%d sends fitted", m);
	for (i = 0; i < m && i < n; i++) {
		VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
		VT_WANT(p.b.rcq, i, IBV_WC_SUCCESS);
	}
	vt_pair_down(&p);
}

/* A receive with too many pieces in the middle of a list. */
static void bad_recv_in_list(const void *arg)
{
	struct ibv_recv_wr wr[3] = { 0 }, *bad = NULL;
	struct ibv_sge sge[64] = { 0 };
	struct vt_pair p;
	int i;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, LEN);
	for (i = 0; i < 3; i++) {
		wr[i].wr_id = i;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		wr[i].sg_list = sge;
		wr[i].num_sge = i == 1 ? 64 : 0;
	}
	VT_EXPECT(ibv_post_recv(p.b.qp, wr, &bad), "64 SGEs accepted");
	VT_EXPECT(bad == &wr[1], "bad_wr is number %td", bad - wr);
	VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, 9, NULL, 0, 0, 0, 0,
			   IBV_SEND_SIGNALED), "");
	VT_WANT(p.b.rcq, 0, IBV_WC_SUCCESS);
	VT_WANT(p.a.scq, 9, IBV_WC_SUCCESS);
	vt_pair_down(&p);
}

static int to_sqd(struct vt_qp *q)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };

	return ibv_modify_qp(q->qp, &attr, IBV_QP_STATE);
}

static int draining(struct vt_qp *q)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	VT_ASSERT(!ibv_query_qp(q->qp, &attr, IBV_QP_STATE, &init), "%m");
	VT_ASSERT(attr.qp_state == IBV_QPS_SQD, "state %d", attr.qp_state);
	return attr.sq_draining;
}

/* SQD: what was started completes, what comes later waits for RTS. */
static void sqd_drains(const void *arg)
{
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };
	struct half h;

	(void)arg;
	half_up(&h, &patient);
	post_a(&h, IBV_WR_SEND, 1, 0);
	want_packet(&h, W_SEND_ONLY, 0);
	VT_ASSERT(!to_sqd(&h.a), "");
	VT_EXPECT(draining(&h.a) == 1, "not draining with a request under way");
	post_a(&h, IBV_WR_SEND, 2, 0);
	want_silence(&h, 50);
	answer(&h, W_ACK, 0, 0);
	VT_WANT(h.a.scq, 1, IBV_WC_SUCCESS);
	VT_WANT_NONE(h.a.scq, 20);
	VT_EXPECT(!draining(&h.a), "still draining");
	want_silence(&h, 20);
	VT_ASSERT(!ibv_modify_qp(h.a.qp, &rts, IBV_QP_STATE), "");
	want_packet(&h, W_SEND_ONLY, 1);
	answer(&h, W_ACK, 1, 0);
	VT_WANT(h.a.scq, 2, IBV_WC_SUCCESS);
	half_down(&h);
}

/* A time-out in SQD still repeats what was started. */
static void sqd_retries(const void *arg)
{
	struct vt_conn conn = { .timeout = 14 };
	struct half h;

	(void)arg;
	half_up(&h, &conn);
	post_a(&h, IBV_WR_SEND, 1, 0);
	want_packet(&h, W_SEND_ONLY, 0);
	VT_ASSERT(!to_sqd(&h.a), "");
	want_packet(&h, W_SEND_ONLY, 0);
	answer(&h, W_ACK, 0, 0);
	VT_WANT(h.a.scq, 1, IBV_WC_SUCCESS);
	half_down(&h);
}

/* UC: a bad request breaks the send queue only; RTS repairs it. */
static void sqe_recovers(const void *arg)
{
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };
	struct vt_qp_cfg cfg = { .type = IBV_QPT_UC };
	struct vt_pair p;
	uint64_t i;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	for (i = 0; i < 3; i++)
		VT_ASSERT(!vt_recv(&p.b, i, p.bb.p, 64, p.bb.mr->lkey), "");
	for (i = 1; i <= 3; i++)
		VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, i, p.ba.p, 64,
				   p.ba.mr->lkey ^ (i == 2 ? 0x5500 : 0), 0, 0,
				   IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	VT_WANT(p.a.scq, 2, IBV_WC_LOC_PROT_ERR);
	VT_WANT(p.a.scq, 3, IBV_WC_WR_FLUSH_ERR);
	VT_WANT(p.b.rcq, 0, IBV_WC_SUCCESS);
	VT_EXPECT(vt_state(&p.a) == IBV_QPS_SQE, "state %d", vt_state(&p.a));
	/* the receive side works on */
	VT_ASSERT(!vt_recv(&p.a, 9, p.ba.p, 64, p.ba.mr->lkey), "");
	VT_ASSERT(!vt_post(&p.b, IBV_WR_SEND, 8, p.bb.p, 64, p.bb.mr->lkey, 0,
			   0, IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.rcq, 9, IBV_WC_SUCCESS);
	VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, 4, p.ba.p, 64, p.ba.mr->lkey, 0,
			   0, IBV_SEND_SIGNALED), "post in SQE");
	VT_WANT(p.a.scq, 4, IBV_WC_WR_FLUSH_ERR);
	VT_ASSERT(!ibv_modify_qp(p.a.qp, &rts, IBV_QP_STATE), "SQE to RTS");
	VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, 5, p.ba.p, 64, p.ba.mr->lkey, 0,
			   0, IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 5, IBV_WC_SUCCESS);
	VT_WANT(p.b.rcq, 1, IBV_WC_SUCCESS);
	VT_WANT_NONE(p.a.scq, 10);
	vt_pair_down(&p);
}

/* --- a QP that is changed while it works -------------------------------- */

struct worker {
	struct vt_pair *p;
	bool stop;
	uint64_t adds, rounds;
};

/* Fetch and add, write, read back; every byte and every addition counts. */
static void *work(void *arg)
{
	struct worker *w = arg;
	struct vt_pair *p = w->p;
	uint64_t id = 0;
	int i;

	while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
		memset(p->ba.p, (int)w->rounds, 8192);
		for (i = 0; i < 8; i++, w->adds++)
			VT_ASSERT(!vt_post(&p->a, IBV_WR_ATOMIC_FETCH_AND_ADD,
					   id++, p->ba.p + 32768, 8,
					   p->ba.mr->lkey,
					   (uintptr_t)p->bb.p + 32768,
					   p->bb.mr->rkey, 0), "");
		VT_ASSERT(!vt_post(&p->a, IBV_WR_RDMA_WRITE, id++, p->ba.p,
				   8192, p->ba.mr->lkey, (uintptr_t)p->bb.p,
				   p->bb.mr->rkey, 0), "");
		VT_ASSERT(!vt_post(&p->a, IBV_WR_RDMA_READ, id,
				   p->ba.p + 16384, 8192, p->ba.mr->lkey,
				   (uintptr_t)p->bb.p, p->bb.mr->rkey,
				   IBV_SEND_SIGNALED), "");
		VT_WANT(p->a.scq, id++, IBV_WC_SUCCESS);
		VT_ASSERT(!memcmp(p->ba.p, p->ba.p + 16384, 8192), "round %d",
			  (int)w->rounds);
		w->rounds++;
	}
	return NULL;
}

static void modify(struct vt_qp *q, struct ibv_qp_attr attr, int mask)
{
	int rc = ibv_modify_qp(q->qp, &attr, mask);

	VT_ASSERT(!rc, "mask %#x: %s", mask, strerror(rc));
}

/* Everything that may be changed in SQD, then back to work. */
static void change_in_sqd(struct vt_qp *q, const struct vt_qp *peer, int i)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD,
		.max_dest_rd_atomic = i % 2 ? 16 : 32,
		.max_rd_atomic = i % 3 ? 16 : 4,
		.timeout = 15 + i % 3,
		.retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 1 + i % 20,
		.qp_access_flags = VT_ACCESS_ALL,
	};

	modify(q, attr, IBV_QP_STATE);
	/* the path may be changed only when all is acknowledged */
	while (draining(q))
		sched_yield();
	vt_ah_attr(q->end, peer->end, &attr.ah_attr);
	attr.ah_attr.grh.traffic_class = i * 4 & 0xfc;
	modify(q, attr, IBV_QP_STATE | IBV_QP_MAX_DEST_RD_ATOMIC |
	       IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
	       IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER |
	       IBV_QP_ACCESS_FLAGS | IBV_QP_AV);
	attr.qp_state = IBV_QPS_RTS;
	modify(q, attr, IBV_QP_STATE);
}

/* Rights and timers of a QP in RTS. */
static void change_in_rts(struct vt_qp *q, int i)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.qp_access_flags = VT_ACCESS_ALL,
		.min_rnr_timer = 1 + i % 20,
	};

	modify(q, attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS |
	       IBV_QP_MIN_RNR_TIMER);
}

static void modify_live(const void *arg)
{
	const char *how = arg;
	struct worker w = { 0 };
	struct vt_pair p;
	uint64_t until;
	pthread_t t;
	int i = 0;

	vt_pair_up(&p, NULL, NULL, LEN);
	w.p = &p;
	VT_ASSERT(!pthread_create(&t, NULL, work, &w), "");
	until = vt_now_us() + 1500000;
	while (vt_now_us() < until || w.rounds < 20) {
		if (*how == 'b')
			change_in_sqd(&p.b, &p.a, i);
		else if (*how == 'a')
			change_in_sqd(&p.a, &p.b, i);
		else
			change_in_rts(i % 2 ? &p.a : &p.b, i);
		i++;
		usleep(500);
	}
	__atomic_store_n(&w.stop, true, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	vt_note("%d changes, %d rounds", i, (int)w.rounds);
	VT_EXPECT(*(uint64_t *)(p.bb.p + 32768) == w.adds,
		  "%llu additions, %llu posted",
		  (unsigned long long)*(uint64_t *)(p.bb.p + 32768),
		  (unsigned long long)w.adds);
	VT_EXPECT(vt_state(&p.a) == IBV_QPS_RTS &&
		  vt_state(&p.b) == IBV_QPS_RTS, "states");
	vt_pair_down(&p);
}

/* A right that is taken away holds for the next request, and given back too. */
static void rights_change(const void *arg)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, LEN);
	modify(&p.b, attr, IBV_QP_ACCESS_FLAGS);
	VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_READ, 1, p.ba.p, 64,
			   p.ba.mr->lkey, (uintptr_t)p.bb.p, p.bb.mr->rkey,
			   IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	modify(&p.b, attr, IBV_QP_ACCESS_FLAGS);
	VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_WRITE, 2, p.ba.p, 64,
			   p.ba.mr->lkey, (uintptr_t)p.bb.p, p.bb.mr->rkey,
			   IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 2, IBV_WC_SUCCESS);
	VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_READ, 3, p.ba.p, 64,
			   p.ba.mr->lkey, (uintptr_t)p.bb.p, p.bb.mr->rkey,
			   IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 3, IBV_WC_REM_INV_REQ_ERR);
	vt_pair_down(&p);
}

/* --- query right after each modify -------------------------------------- */

static void want_state(struct vt_qp *q, enum ibv_qp_state state, int rc)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	VT_ASSERT(!rc, "to state %d: %s", state, strerror(rc));
	memset(&attr, 0xff, sizeof(attr));
	VT_ASSERT(!ibv_query_qp(q->qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE |
				IBV_QP_CAP, &init), "%m");
	VT_EXPECT(attr.qp_state == state, "%d, expected %d", attr.qp_state,
		  state);
	VT_EXPECT(attr.cur_qp_state == state, "current %d, expected %d",
		  attr.cur_qp_state, state);
	VT_EXPECT(attr.cap.max_send_wr == q->cap.max_send_wr, "%u",
		  attr.cap.max_send_wr);
	VT_EXPECT(init.qp_type == q->qp->qp_type, "%d", init.qp_type);
}

static void query_in_every_state(const void *arg)
{
	struct vt_qp_cfg cfg = { .type = *(const enum ibv_qp_type *)arg };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };
	static const struct vt_conn conn;
	struct vt_end a, b;
	struct vt_qp q, peer;
	int round;

	vt_open(&b, VT_B, 4);
	vt_open(&a, VT_A, 4);
	vt_qp_create(&b, &peer, &cfg);
	vt_qp_create(&a, &q, &cfg);
	want_state(&q, IBV_QPS_RESET, 0);
	for (round = 0; round < 3; round++) {
		want_state(&q, IBV_QPS_INIT, vt_to_init(&q, 0));
		want_state(&q, IBV_QPS_RTR, vt_to_rtr(&q, &peer, &conn));
		want_state(&q, IBV_QPS_RTS, vt_to_rts(&q, &conn));
		want_state(&q, IBV_QPS_SQD, to_sqd(&q));
		want_state(&q, IBV_QPS_RTS, ibv_modify_qp(q.qp, &rts,
							  IBV_QP_STATE));
		want_state(&q, IBV_QPS_ERR, vt_to_err(&q));
		want_state(&q, IBV_QPS_RESET, vt_to_reset(&q));
	}
	vt_qp_destroy(&q);
	vt_qp_destroy(&peer);
	vt_close(&a);
	vt_close(&b);
}

static const enum ibv_wr_opcode read_op = IBV_WR_RDMA_READ,
				fadd_op = IBV_WR_ATOMIC_FETCH_AND_ADD;
static const enum ibv_qp_type rc = IBV_QPT_RC, uc = IBV_QPT_UC,
			      ud = IBV_QPT_UD;

static const struct vt_test tests[] = {
	{ "fence_waits_for_read", fence_waits, &read_op },
	{ "fence_waits_for_atomic", fence_waits, &fadd_op },
	{ "fence_waits_for_all_reads", fence_waits_for_all },
	{ "no_fence_no_wait", no_fence_no_wait },
	{ "rd_atomic_limit", rd_atomic_limit },
	{ "unsignalled", unsignalled },
	{ "all_signalled", all_signalled },
	{ "mixed_in_order", mixed_in_order },
	{ "list_too_long", list_too_long },
	{ "bad_recv_in_list", bad_recv_in_list },
	{ "sqd_drains", sqd_drains },
	{ "sqd_retries", sqd_retries },
	{ "sqe_recovers", sqe_recovers },
	{ "modify_responder_live", modify_live, "b" },
	{ "modify_requester_live", modify_live, "a" },
	{ "modify_rights_live", modify_live, "rts" },
	{ "rights_change", rights_change },
	{ "query_in_every_state_rc", query_in_every_state, &rc },
	{ "query_in_every_state_uc", query_in_every_state, &uc },
	{ "query_in_every_state_ud", query_in_every_state, &ud },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
