// SPDX-License-Identifier: GPL-2.0
/*
 * Connect by rdma_cm, transfer, disconnect, 20,000 times: memory stays what it
 * was. One thread drives both ends. SCALE_ROUNDS in the environment: so many,
 * after a tenth of them that do not count. A leak of one PD each must be seen.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include "mem.h"
#include "vt.h"

#define ROUNDS		20000
#define STEP		2000
#define LEAKING		3000	/* more than the holes that others left in slabs */
#define LEAKED_KB	200
#define MSG		1024
#define PORT		7998
#define WAIT_MS		20000
#define GROWN_KB	1024	/* 50 bytes a connection; environment: SCALE_GROWN_KB */

static bool leaking;

/* One end of a connection: all of it is new each time. */
struct peer {
	struct vt_end *end;
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t buf[MSG];
};

static struct rdma_cm_id *want_event(struct peer *p, enum rdma_cm_event_type type)
{
	struct pollfd pfd = { .fd = p->ch->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	VT_ASSERT(poll(&pfd, 1, WAIT_MS) == 1, "end %c: no %s",
		  p->end->side == VT_A ? 'A' : 'B', rdma_event_str(type));
	VT_ASSERT(!rdma_get_cm_event(p->ch, &ev), "%m");
	VT_ASSERT(ev->event == type, "%s instead of %s, status %d",
		  rdma_event_str(ev->event), rdma_event_str(type), ev->status);
	id = ev->id;
	rdma_ack_cm_event(ev);
	return id;
}

static void peer_qp(struct peer *p)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 },
	};

	p->pd = ibv_alloc_pd(p->id->verbs);
	VT_ASSERT(p->pd, "%m");
	p->cq = ibv_create_cq(p->id->verbs, 8, NULL, NULL, 0);
	VT_ASSERT(p->cq, "%m");
	p->mr = ibv_reg_mr(p->pd, p->buf, MSG, IBV_ACCESS_LOCAL_WRITE);
	VT_ASSERT(p->mr, "%m");
	init.send_cq = p->cq;
	init.recv_cq = p->cq;
	VT_ASSERT(!rdma_create_qp(p->id, p->pd, &init), "%m");
}

static void peer_free(struct peer *p)
{
	rdma_destroy_qp(p->id);
	VT_ASSERT(!ibv_dereg_mr(p->mr), "%m");
	VT_ASSERT(!ibv_destroy_cq(p->cq), "%m");
	if (!leaking)
		VT_ASSERT(!ibv_dealloc_pd(p->pd), "%m");
	VT_ASSERT(!rdma_destroy_id(p->id), "%m");
}

static void connect_pair(struct peer *a, struct peer *b,
			 struct sockaddr_in *addr)
{
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1,
		.retry_count = 7, .rnr_retry_count = 7,
	};

	vt_enter(a->end);
	VT_ASSERT(!rdma_create_id(a->ch, &a->id, NULL, RDMA_PS_TCP), "%m");
	VT_ASSERT(!rdma_resolve_addr(a->id, NULL, (void *)addr, 5000), "%m");
	want_event(a, RDMA_CM_EVENT_ADDR_RESOLVED);
	VT_ASSERT(!rdma_resolve_route(a->id, 5000), "%m");
	want_event(a, RDMA_CM_EVENT_ROUTE_RESOLVED);
	peer_qp(a);
	VT_ASSERT(!rdma_connect(a->id, &param), "%m");
	b->id = want_event(b, RDMA_CM_EVENT_CONNECT_REQUEST);
	peer_qp(b);
	VT_ASSERT(!rdma_accept(b->id, &param), "%m");
	want_event(a, RDMA_CM_EVENT_ESTABLISHED);
	want_event(b, RDMA_CM_EVENT_ESTABLISHED);
}

static void transfer(struct peer *a, struct peer *b, int round)
{
	struct ibv_sge from = { (uintptr_t)a->buf, MSG, a->mr->lkey };
	struct ibv_sge to = { (uintptr_t)b->buf, MSG, b->mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = {
		.wr_id = round, .sg_list = &to, .num_sge = 1 };
	struct ibv_send_wr *bad_send, send = {
		.wr_id = round, .sg_list = &from, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct vt_rnd r = { round + 1 };

	vt_fill(&r, a->buf, MSG);
	VT_ASSERT(!ibv_post_recv(b->id->qp, &recv, &bad_recv), "%m");
	VT_ASSERT(!ibv_post_send(a->id->qp, &send, &bad_send), "%m");
	VT_WANT(b->cq, (uint64_t)round, IBV_WC_SUCCESS);
	VT_WANT(a->cq, (uint64_t)round, IBV_WC_SUCCESS);
	VT_ASSERT(!memcmp(a->buf, b->buf, MSG), "wrong data");
}

static void disconnect_pair(struct peer *a, struct peer *b)
{
	VT_ASSERT(!rdma_disconnect(a->id), "%m");
	want_event(b, RDMA_CM_EVENT_DISCONNECTED);
	VT_ASSERT(!rdma_disconnect(b->id), "%m");
	want_event(a, RDMA_CM_EVENT_DISCONNECTED);
	peer_free(a);
	peer_free(b);
}

/* What is on its way out after the last connection: the CM's TIMEWAIT, RCU. */
static long settled_kb(void)
{
	long best = mem_settled_kb(), now;
	int i;

	for (i = 0; i < 10; i++) {
		sleep(1);
		now = mem_settled_kb();
		if (now < best)
			best = now;
	}
	return best;
}

/* KB more in use afterwards */
static long run(struct peer *a, struct peer *b, struct sockaddr_in *addr,
		int rounds)
{
	int i, warm_up = rounds / 10;
	uint64_t start = vt_now_us(), ms;
	long before = 0, grown;

	for (i = 0; i < warm_up + rounds; i++) {
		if (i == warm_up) {
			before = settled_kb();
			start = vt_now_us();
		}
		connect_pair(a, b, addr);
		transfer(a, b, i);
		disconnect_pair(a, b);
		if (i > warm_up && (i - warm_up) % STEP == 0)
			vt_note("%d connections, %ld KB more in use", i - warm_up,
				mem_used_kb() - before);
	}
	ms = (vt_now_us() - start) / 1000;
	grown = settled_kb() - before;
	vt_note("%s%d connections by rdma_cm in a row in %llu ms, %ld KB more in use%s",
		leaking ? "" : "scale: ", rounds, (unsigned long long)ms, grown,
		leaking ? ", PDs left" : "");
	return grown;
}

static long both_ends(int rounds)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(PORT) };
	struct rdma_cm_id *listener;
	struct vt_end ea, eb;
	struct peer a = { .end = &ea }, b = { .end = &eb };
	long grown;

	vt_open(&ea, VT_A, 4);
	vt_open(&eb, VT_B, 4);
	VT_ASSERT(inet_pton(AF_INET, getenv("VT_ADDR_B4"), &addr.sin_addr) == 1,
		  "address");
	a.ch = rdma_create_event_channel();
	b.ch = rdma_create_event_channel();
	VT_ASSERT(a.ch && b.ch, "%m");
	vt_enter(&eb);
	VT_ASSERT(!rdma_create_id(b.ch, &listener, NULL, RDMA_PS_TCP), "%m");
	VT_ASSERT(!rdma_bind_addr(listener, (void *)&addr), "%m");
	VT_ASSERT(!rdma_listen(listener, 8), "%m");
	grown = run(&a, &b, &addr, rounds);
	VT_EXPECT(!rdma_destroy_id(listener), "%m");
	rdma_destroy_event_channel(a.ch);
	rdma_destroy_event_channel(b.ch);
	if (!leaking) {
		vt_close(&ea);
		vt_close(&eb);
	}
	return grown;
}

static void sequence(const void *arg)
{
	const char *env = getenv("SCALE_ROUNDS"), *bound = getenv("SCALE_GROWN_KB");
	long grown = both_ends(env ? atoi(env) : ROUNDS);

	VT_EXPECT(grown < (bound ? atoi(bound) : GROWN_KB), "%ld KB", grown);
	(void)arg;
}

static void leak_is_seen(const void *arg)
{
	long grown;

	leaking = true;
	grown = both_ends(LEAKING);
	VT_EXPECT(grown > LEAKED_KB, "%ld KB", grown);
	(void)arg;
}

static const struct vt_test tests[] = {
	{ "sequence", sequence, NULL, 1500 },
	{ "leak_is_seen", leak_is_seen, NULL, 300 },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
