// SPDX-License-Identifier: GPL-2.0
/*
 * Error completions: every kind of wrong request ends in the right status at
 * both ends, the QP goes to ERR, everything else posted is flushed, each work
 * request completes exactly once, in order.
 */
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "vt.h"

#define LEN 8192

/* A wrong one-sided or local request on an otherwise healthy RC pair. */
struct bad_wr {
	enum ibv_wr_opcode op;
	int laddr_off;		/* bytes from the start of the local MR */
	uint32_t len;
	int lkey_xor;
	int64_t raddr_off;
	int rkey_xor;
	int local_access, remote_access;	/* 0: all; -1: none */
	int qp_access;				/* 0: all; -1: none */
	enum ibv_wc_status want, or_want;
};

static int access_of(int access)
{
	return access < 0 ? 0 : access ? access : VT_ACCESS_ALL;
}

static void rereg(struct vt_end *e, struct vt_buf *b, int access)
{
	VT_ASSERT(!ibv_dereg_mr(b->mr), "%m");
	b->mr = ibv_reg_mr(e->pd, b->p, b->len, access_of(access));
	VT_ASSERT(b->mr, "%m");
}

/* After the error: QP in ERR, later requests flushed, none lost or doubled. */
static void check_dead(struct vt_qp *q, struct vt_buf *b)
{
	uint64_t id;

	VT_EXPECT(vt_state(q) == IBV_QPS_ERR, "state %d", vt_state(q));
	VT_ASSERT(!vt_post(q, IBV_WR_SEND, 50, b->p, 8, b->mr->lkey, 0, 0,
			   IBV_SEND_SIGNALED), "post in ERR");
	for (id = 2; id <= 3; id++)
		VT_WANT(q->scq, id, IBV_WC_WR_FLUSH_ERR);
	VT_WANT(q->scq, 50, IBV_WC_WR_FLUSH_ERR);
	VT_WANT_NONE(q->scq, 30);
}

static void bad_request(const void *arg)
{
	const struct bad_wr *w = arg;
	struct vt_conn conn = { .access = w->qp_access };
	struct ibv_wc wc;
	struct vt_pair p;
	uint64_t id;

	vt_pair_up(&p, NULL, &conn, LEN);
	rereg(&p.ea, &p.ba, w->local_access);
	rereg(&p.eb, &p.bb, w->remote_access);
	/* good, bad, two more that must be flushed */
	VT_ASSERT(!vt_recv(&p.b, 100, p.bb.p, 64, p.bb.mr->lkey), "");
	VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, 0, p.ba.p, 16, p.ba.mr->lkey,
			   0, 0, IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 0, IBV_WC_SUCCESS);
	for (id = 1; id <= 3; id++)
		VT_ASSERT(!vt_post(&p.a, w->op, id, p.ba.p + w->laddr_off,
				   w->len, p.ba.mr->lkey ^ w->lkey_xor,
				   (uintptr_t)p.bb.p + w->raddr_off,
				   p.bb.mr->rkey ^ w->rkey_xor,
				   IBV_SEND_SIGNALED), "");
	VT_ASSERT(vt_poll(p.a.scq, &wc, 10000), "no completion");
	VT_ASSERT(wc.wr_id == 1, "wr_id %llu", (unsigned long long)wc.wr_id);
	VT_ASSERT(wc.status == w->want || (w->or_want && wc.status == w->or_want),
		  "%s, want %s", ibv_wc_status_str(wc.status),
		  ibv_wc_status_str(w->want));
	check_dead(&p.a, &p.ba);
	vt_pair_down(&p);
}

#define BAD(label, ...) \
	{ label, bad_request, &(const struct bad_wr){ __VA_ARGS__ } }

/* The responder's view of an access error: ERR state and an async event. */
static void access_event(const void *arg)
{
	struct ibv_async_event ev;
	struct pollfd pfd = { .events = POLLIN };
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, LEN);
	VT_ASSERT(!vt_recv(&p.b, 7, p.bb.p, 64, p.bb.mr->lkey), "");
	VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_WRITE, 1, p.ba.p, 64,
			   p.ba.mr->lkey, (uintptr_t)p.bb.p,
			   p.bb.mr->rkey ^ 0x40, IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	VT_WANT(p.b.rcq, 7, IBV_WC_WR_FLUSH_ERR);
	VT_EXPECT(vt_state(&p.b) == IBV_QPS_ERR, "%d", vt_state(&p.b));
	pfd.fd = p.eb.ctx->async_fd;
	VT_ASSERT(poll(&pfd, 1, 5000) == 1, "no event");
	VT_ASSERT(!ibv_get_async_event(p.eb.ctx, &ev), "%m");
	VT_EXPECT(ev.event_type == IBV_EVENT_QP_ACCESS_ERR ||
		  ev.event_type == IBV_EVENT_QP_REQ_ERR, "%s",
		  ibv_event_type_str(ev.event_type));
	VT_EXPECT(ev.element.qp == p.b.qp, "another QP");
	ibv_ack_async_event(&ev);
	vt_pair_down(&p);
}

/* Memory of the target must be untouched by a refused WRITE. */
static void refused_write_leaves_memory(const void *arg)
{
	struct vt_pair p;
	int i;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, LEN);
	memset(p.ba.p, 0x11, LEN);
	/* range that starts inside and ends one byte outside */
	VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_WRITE, 1, p.ba.p, LEN,
			   p.ba.mr->lkey, (uintptr_t)p.bb.p + 1,
			   p.bb.mr->rkey, IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	for (i = 0; i < LEN; i++)
		VT_ASSERT(!p.bb.p[i], "byte %d", i);
	vt_pair_down(&p);
}

static void send_too_long(const void *arg)
{
	uint32_t len = *(const uint32_t *)arg;
	struct vt_pair p;

	vt_pair_up(&p, NULL, NULL, LEN);
	VT_ASSERT(!vt_recv(&p.b, 7, p.bb.p, len - 1, p.bb.mr->lkey), "");
	VT_ASSERT(!vt_recv(&p.b, 8, p.bb.p, LEN, p.bb.mr->lkey), "");
	VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, 1, p.ba.p, len, p.ba.mr->lkey,
			   0, 0, IBV_SEND_SIGNALED), "");
	VT_WANT(p.b.rcq, 7, IBV_WC_LOC_LEN_ERR);
	VT_WANT(p.b.rcq, 8, IBV_WC_WR_FLUSH_ERR);
	VT_WANT(p.a.scq, 1, IBV_WC_REM_INV_REQ_ERR);
	VT_EXPECT(vt_state(&p.a) == IBV_QPS_ERR, "%d", vt_state(&p.a));
	VT_EXPECT(vt_state(&p.b) == IBV_QPS_ERR, "%d", vt_state(&p.b));
	VT_EXPECT(!p.bb.p[len - 1], "byte past the receive was written");
	vt_pair_down(&p);
}

static void recv_bad_lkey(const void *arg)
{
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, LEN);
	VT_ASSERT(!vt_recv(&p.b, 7, p.bb.p, 64, p.bb.mr->lkey ^ 0x55), "");
	VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, 1, p.ba.p, 64, p.ba.mr->lkey,
			   0, 0, IBV_SEND_SIGNALED), "");
	VT_WANT(p.b.rcq, 7, IBV_WC_LOC_PROT_ERR);
	VT_WANT(p.a.scq, 1, IBV_WC_REM_OP_ERR);
	vt_pair_down(&p);
}

/* rnr_retry n: n+1 tries, at least the timer between them. */
static void rnr_exhausted(const void *arg)
{
	struct vt_conn conn = { .rnr_retry = 2, .min_rnr_timer = 20 };
	uint64_t start, took;
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, NULL, &conn, LEN);
	start = vt_now_us();
	VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, 1, p.ba.p, 64, p.ba.mr->lkey,
			   0, 0, IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	took = vt_now_us() - start;
	/* timer 20 = 10.24 ms, waited for twice */
	VT_EXPECT(took >= 20000, "%llu us", (unsigned long long)took);
	VT_EXPECT(took < 3000000, "%llu us", (unsigned long long)took);
	VT_EXPECT(vt_state(&p.a) == IBV_QPS_ERR, "%d", vt_state(&p.a));
	VT_EXPECT(vt_state(&p.b) == IBV_QPS_RTS, "%d", vt_state(&p.b));
	vt_pair_down(&p);
}

static void rnr_then_good(const void *arg)
{
	struct vt_conn conn = { .min_rnr_timer = 16 };	/* 2.56 ms */
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, NULL, &conn, LEN);
	memset(p.ba.p, 0x77, LEN);
	VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, 1, p.ba.p, LEN, p.ba.mr->lkey,
			   0, 0, IBV_SEND_SIGNALED), "");
	VT_WANT_NONE(p.a.scq, 300);
	VT_ASSERT(!vt_recv(&p.b, 7, p.bb.p, LEN, p.bb.mr->lkey), "");
	VT_WANT(p.b.rcq, 7, IBV_WC_SUCCESS);
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	VT_ASSERT(!memcmp(p.ba.p, p.bb.p, LEN), "data");
	vt_pair_down(&p);
}

/* The peer's QP is gone: RETRY_EXC after retry_cnt + 1 time-outs. */
static void peer_gone(const void *arg)
{
	struct vt_conn conn = { .timeout = 14, .retry_cnt = 2 };
	uint64_t start, took;
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, NULL, &conn, LEN);
	vt_qp_destroy(&p.b);
	start = vt_now_us();
	VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, 1, p.ba.p, 64, p.ba.mr->lkey,
			   0, 0, IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 1, IBV_WC_RETRY_EXC_ERR);
	took = vt_now_us() - start;
	/* 67 ms a time-out; up to 4 times that is allowed for each */
	VT_EXPECT(took >= 3 * 67000, "%llu us", (unsigned long long)took);
	VT_EXPECT(took < 3 * 4 * 67000 + 1000000, "%llu us",
		  (unsigned long long)took);
	VT_EXPECT(vt_state(&p.a) == IBV_QPS_ERR, "%d", vt_state(&p.a));
	vt_qp_destroy(&p.a);
	vt_buf_free(&p.ba);
	vt_buf_free(&p.bb);
	vt_close(&p.ea);
	vt_close(&p.eb);
}

/* N sends and M receives outstanding, then ERR: one flush each, in order. */
static void flush_all(const void *arg)
{
	struct vt_qp_cfg cfg = { .send_wr = 200, .recv_wr = 200,
				 .cq_depth = 500 };
	struct vt_pair p;
	uint64_t i;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	for (i = 0; i < 200; i++)
		VT_ASSERT(!vt_recv(&p.a, 1000 + i, p.ba.p, 64,
				   p.ba.mr->lkey), "recv %d", (int)i);
	/* no receive at B: these wait in RNR; half of them unsignalled */
	for (i = 0; i < 200; i++)
		VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, i, p.ba.p, 64,
				   p.ba.mr->lkey, 0, 0,
				   i & 1 ? IBV_SEND_SIGNALED : 0),
			  "send %d", (int)i);
	VT_ASSERT(!vt_to_err(&p.a), "");
	for (i = 0; i < 200; i++)
		VT_WANT(p.a.scq, i, IBV_WC_WR_FLUSH_ERR);
	for (i = 0; i < 200; i++)
		VT_WANT(p.a.rcq, 1000 + i, IBV_WC_WR_FLUSH_ERR);
	VT_WANT_NONE(p.a.scq, 50);
	VT_WANT_NONE(p.a.rcq, 50);
	/* posted in ERR: flushed as well */
	VT_ASSERT(!vt_recv(&p.a, 5000, p.ba.p, 64, p.ba.mr->lkey), "");
	VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, 5001, p.ba.p, 64,
			   p.ba.mr->lkey, 0, 0, IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 5001, IBV_WC_WR_FLUSH_ERR);
	VT_WANT(p.a.rcq, 5000, IBV_WC_WR_FLUSH_ERR);
	vt_pair_down(&p);
}

/* Zero-length requests look at no key. */
static void zero_length_any_rkey(const void *arg)
{
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, LEN);
	VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_WRITE, 1, NULL, 0, 0,
			   0xdeadbeef000ull, 0x12345678, IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_READ, 2, NULL, 0, 0,
			   0xdeadbeef000ull, 0x12345678, IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 2, IBV_WC_SUCCESS);
	VT_EXPECT(vt_state(&p.a) == IBV_QPS_RTS, "%d", vt_state(&p.a));
	vt_pair_down(&p);
}

/* An opcode the QP type does not have: refused or an error completion. */
static void op_of_other_type(const void *arg)
{
	struct vt_qp_cfg cfg = { .type = IBV_QPT_UC };
	struct ibv_wc wc;
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	if (!vt_post(&p.a, IBV_WR_RDMA_READ, 1, p.ba.p, 64, p.ba.mr->lkey,
		     (uintptr_t)p.bb.p, p.bb.mr->rkey, IBV_SEND_SIGNALED)) {
		VT_ASSERT(vt_poll(p.a.scq, &wc, 10000), "READ on UC vanished");
		VT_EXPECT(wc.status == IBV_WC_LOC_QP_OP_ERR, "%s",
			  ibv_wc_status_str(wc.status));
	}
	vt_pair_down(&p);
}

/* A list whose third request is wrong: two are sent, bad_wr is the third. */
static void bad_wr_in_list(const void *arg)
{
	struct ibv_send_wr wr[3] = { 0 }, *bad = NULL;
	struct ibv_sge sge[64];
	struct vt_pair p;
	int i, rc;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, LEN);
	for (i = 0; i < 64; i++) {
		sge[i].addr = (uintptr_t)p.ba.p;
		sge[i].length = 64;
		sge[i].lkey = p.ba.mr->lkey;
	}
	for (i = 0; i < 3; i++) {
		VT_ASSERT(!vt_recv(&p.b, 10 + i, p.bb.p, 64, p.bb.mr->lkey), "");
		wr[i].wr_id = i;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
		wr[i].sg_list = sge;
		wr[i].num_sge = i < 2 ? 1 : 64;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].send_flags = IBV_SEND_SIGNALED;
	}
	rc = ibv_post_send(p.a.qp, wr, &bad);
	VT_EXPECT(rc, "64 SGEs accepted");
	VT_EXPECT(bad == &wr[2], "bad_wr is number %td", bad - wr);
	for (i = 0; i < 2; i++) {
		VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
		VT_WANT(p.b.rcq, 10 + i, IBV_WC_SUCCESS);
	}
	vt_pair_down(&p);
}

/* Wrong qkey or too long a datagram: dropped, the receiver's QP lives on. */
static void ud_drops(const void *arg)
{
	struct vt_qp_cfg cfg = { .type = IBV_QPT_UD };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND, .num_sge = 1 };
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	sge.addr = (uintptr_t)p.ba.p;
	sge.length = 100;
	sge.lkey = p.ba.mr->lkey;
	wr.sg_list = &sge;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.ud.ah = vt_ah(&p.ea, &p.eb);
	wr.wr.ud.remote_qpn = p.b.qp->qp_num;
	wr.wr.ud.remote_qkey = VT_QKEY + 1;
	VT_ASSERT(!vt_recv(&p.b, 7, p.bb.p, 1000, p.bb.mr->lkey), "");
	VT_ASSERT(!ibv_post_send(p.a.qp, &wr, &bad), "");
	VT_WANT(p.a.scq, 0, IBV_WC_SUCCESS);
	VT_WANT_NONE(p.b.rcq, 100);
	wr.wr.ud.remote_qkey = VT_QKEY;
	wr.wr_id = 1;
	VT_ASSERT(!ibv_post_send(p.a.qp, &wr, &bad), "");
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	VT_WANT_WC(p.b.rcq, 7, IBV_WC_SUCCESS, &wc);
	VT_EXPECT(wc.byte_len == 140, "%u", wc.byte_len);
	VT_EXPECT(vt_state(&p.b) == IBV_QPS_RTS, "%d", vt_state(&p.b));
	VT_EXPECT(!ibv_destroy_ah(wr.wr.ud.ah), "%m");
	vt_pair_down(&p);
}

static const uint32_t one_packet = 256, many_packets = 5000;

static const struct vt_test tests[] = {
	BAD("wrong_lkey_send", .op = IBV_WR_SEND, .len = 64, .lkey_xor = 0x77,
	    .want = IBV_WC_LOC_PROT_ERR),
	BAD("wrong_lkey_write", .op = IBV_WR_RDMA_WRITE, .len = 64,
	    .lkey_xor = 0x7700, .want = IBV_WC_LOC_PROT_ERR),
	BAD("wrong_lkey_atomic", .op = IBV_WR_ATOMIC_CMP_AND_SWP, .len = 8,
	    .lkey_xor = 0x77, .want = IBV_WC_LOC_PROT_ERR),
	BAD("local_range", .op = IBV_WR_RDMA_WRITE, .len = 64,
	    .laddr_off = LEN - 63, .want = IBV_WC_LOC_PROT_ERR),
	BAD("read_into_read_only_mr", .op = IBV_WR_RDMA_READ, .len = 64,
	    .local_access = -1, .want = IBV_WC_LOC_PROT_ERR),
	BAD("wrong_rkey_low_bits_write", .op = IBV_WR_RDMA_WRITE, .len = 64,
	    .rkey_xor = 0x77,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("wrong_rkey_low_bits_read", .op = IBV_WR_RDMA_READ, .len = 64,
	    .rkey_xor = 0x77,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("wrong_rkey_low_bits_atomic", .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8,
	    .rkey_xor = 0x77,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("wrong_rkey_index_write", .op = IBV_WR_RDMA_WRITE, .len = 64,
	    .rkey_xor = 0x770000,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("wrong_rkey_index_read", .op = IBV_WR_RDMA_READ, .len = 64,
	    .rkey_xor = 0x770000,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("wrong_rkey_index_atomic", .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8,
	    .rkey_xor = 0x770000,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("remote_range_write", .op = IBV_WR_RDMA_WRITE, .len = 64,
	    .raddr_off = LEN,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("remote_range_read", .op = IBV_WR_RDMA_READ, .len = 64,
	    .raddr_off = LEN,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("remote_range_atomic", .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8,
	    .raddr_off = LEN,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("remote_below_write", .op = IBV_WR_RDMA_WRITE, .len = 64,
	    .raddr_off = -8,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("remote_below_read", .op = IBV_WR_RDMA_READ, .len = 64,
	    .raddr_off = -8,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("remote_below_atomic", .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8,
	    .raddr_off = -8,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("no_remote_access_write", .op = IBV_WR_RDMA_WRITE, .len = 64,
	    .remote_access = IBV_ACCESS_LOCAL_WRITE,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("no_remote_access_read", .op = IBV_WR_RDMA_READ, .len = 64,
	    .remote_access = IBV_ACCESS_LOCAL_WRITE,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("no_remote_access_atomic", .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8,
	    .remote_access = IBV_ACCESS_LOCAL_WRITE,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("qp_without_access_write", .op = IBV_WR_RDMA_WRITE, .len = 64,
	    .qp_access = -1,
	    .or_want = IBV_WC_REM_INV_REQ_ERR,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("qp_without_access_read", .op = IBV_WR_RDMA_READ, .len = 64,
	    .qp_access = -1,
	    .or_want = IBV_WC_REM_INV_REQ_ERR,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("qp_without_access_atomic", .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8,
	    .qp_access = -1,
	    .or_want = IBV_WC_REM_INV_REQ_ERR,
	    .want = IBV_WC_REM_ACCESS_ERR),
	BAD("address_wraps", .op = IBV_WR_RDMA_WRITE, .len = 4096,
	    .raddr_off = INT64_MAX, .want = IBV_WC_REM_ACCESS_ERR),
	{ "access_event", access_event },
	{ "refused_write_leaves_memory", refused_write_leaves_memory },
	{ "send_too_long_one_packet", send_too_long, &one_packet },
	{ "send_too_long_many_packets", send_too_long, &many_packets },
	{ "recv_bad_lkey", recv_bad_lkey },
	{ "rnr_exhausted", rnr_exhausted },
	{ "rnr_then_good", rnr_then_good },
	{ "peer_gone", peer_gone },
	{ "flush_all", flush_all },
	{ "zero_length_any_rkey", zero_length_any_rkey },
	{ "op_of_other_type", op_of_other_type },
	{ "bad_wr_in_list", bad_wr_in_list },
	{ "ud_drops", ud_drops },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
