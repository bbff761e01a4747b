// SPDX-License-Identifier: GPL-2.0
/*
 * rdma_cm in numbers: connections set up at once, data both ways on each
 * (compared byte by byte), private data, reject, disconnect. The server is a
 * thread that lives in the namespace of end B, the client one of end A.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include "vt.h"

#ifdef MANY_CONN		/* scale/thousand */
#define MAX_CONN MANY_CONN
#define MANY_NOTE "scale: at once: "
#else
#define MAX_CONN 100
#define MANY_NOTE ""
#endif
#define MSG 4096
#define PORT 7999
#define WAIT_MS 40000
#define PRIVATE "rdma_soft private data"

/* One connection end. */
struct conn {
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t *buf;		/* MSG to send, MSG to receive */
	bool up, down, refused;
	int sent, received;	/* completions that nobody waited for yet */
};

struct plan {
	int family;
	int count;
	bool reject;
	int rounds;
};

struct side {
	const struct plan *plan;
	struct vt_end end;
	struct rdma_event_channel *ch;
	struct rdma_cm_id *listener;
	struct conn conn[MAX_CONN];
	int n, up, down;
};

static void pattern(uint8_t *p, int number, int round, bool reply)
{
	struct vt_rnd r = { 1000003ull * number + 77 * round + reply + 1 };

	vt_fill(&r, p, MSG);
}

static void conn_init(struct conn *c, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { 4, 4, 1, 1, 0 },
	};

	memset(c, 0, sizeof(*c));
	c->id = id;
	id->context = c;
	c->pd = ibv_alloc_pd(id->verbs);
	VT_ASSERT(c->pd, "%m");
	c->cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
	VT_ASSERT(c->cq, "%m");
	c->buf = calloc(2, MSG);
	c->mr = ibv_reg_mr(c->pd, c->buf, 2 * MSG, IBV_ACCESS_LOCAL_WRITE);
	VT_ASSERT(c->mr, "%m");
	init.send_cq = c->cq;
	init.recv_cq = c->cq;
	VT_ASSERT(!rdma_create_qp(id, c->pd, &init), "%m");
}

static void conn_free(struct conn *c)
{
	if (c->cq) {
		rdma_destroy_qp(c->id);
		VT_EXPECT(!ibv_dereg_mr(c->mr), "%m");
		VT_EXPECT(!ibv_destroy_cq(c->cq), "%m");
		VT_EXPECT(!ibv_dealloc_pd(c->pd), "%m");
		free(c->buf);
	}
	VT_EXPECT(!rdma_destroy_id(c->id), "%m");
}

static void conn_recv(struct conn *c)
{
	struct ibv_sge sge = { (uintptr_t)c->buf + MSG, MSG, c->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 2, .sg_list = &sge,
					.num_sge = 1 };

	VT_ASSERT(!ibv_post_recv(c->id->qp, &wr, &bad), "%m");
}

static void conn_send(struct conn *c)
{
	struct ibv_sge sge = { (uintptr_t)c->buf, MSG, c->mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = 1, .sg_list = &sge,
		.num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED };

	VT_ASSERT(!ibv_post_send(c->id->qp, &wr, &bad), "%m");
}

/*
 * The next completions of this connection: sent and received, in any order. The
 * peer may answer before its ACK gets here, so one of them may come early; it is
 * kept for the wait that it belongs to.
 */
static void conn_wait(struct conn *c, int sent, int received)
{
	struct ibv_wc wc;

	while (c->sent < sent || c->received < received) {
		VT_ASSERT(vt_poll(c->cq, &wc, WAIT_MS), "no completion");
		VT_ASSERT(wc.status == IBV_WC_SUCCESS, "wr_id %d: %s",
			  (int)wc.wr_id, ibv_wc_status_str(wc.status));
		if (wc.wr_id == 1)
			c->sent++;
		else
			c->received++;
		VT_ASSERT(c->sent <= 1 && c->received <= 1,
			  "too many completions");
	}
	c->sent -= sent;
	c->received -= received;
}

static struct rdma_cm_event *next_event(struct side *s)
{
	struct pollfd pfd = { .fd = s->ch->fd, .events = POLLIN };
	struct rdma_cm_event *ev;

	VT_ASSERT(poll(&pfd, 1, WAIT_MS) == 1, "end %c: no event; %d up, %d down",
		  s->end.side == VT_A ? 'A' : 'B', s->up, s->down);
	VT_ASSERT(!rdma_get_cm_event(s->ch, &ev), "%m");
	return ev;
}

static void make_addr(const struct plan *p, struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *in6 = (void *)ss;
	struct sockaddr_in *in = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	if (p->family == 4) {
		in->sin_family = AF_INET;
		in->sin_port = htons(PORT);
		inet_pton(AF_INET, getenv("VT_ADDR_B4"), &in->sin_addr);
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(PORT);
		inet_pton(AF_INET6, getenv("VT_ADDR_B6"), &in6->sin6_addr);
	}
}

static void server_request(struct side *s, struct rdma_cm_event *ev)
{
	struct rdma_conn_param param = {
		.responder_resources = 4, .initiator_depth = 4,
		.rnr_retry_count = 7,
	};
	struct rdma_cm_id *id = ev->id;
	struct conn *c;

	VT_ASSERT(ev->param.conn.private_data_len >= sizeof(PRIVATE) &&
		  !strcmp(ev->param.conn.private_data, PRIVATE),
		  "private data of %d bytes", ev->param.conn.private_data_len);
	if (s->plan->reject) {
		VT_ASSERT(!rdma_reject(id, "no", 3), "%m");
		rdma_ack_cm_event(ev);
		VT_EXPECT(!rdma_destroy_id(id), "%m");
		s->down++;
		return;
	}
	rdma_ack_cm_event(ev);
	c = &s->conn[s->n++];
	conn_init(c, id);
	conn_recv(c);
	VT_ASSERT(!rdma_accept(id, &param), "%m");
}

/* Receive one message, compare, answer. The client numbers its messages. */
static void server_data(struct side *s, int round)
{
	uint8_t want[MSG];
	uint32_t number;
	int i;

	for (i = 0; i < s->n; i++) {
		struct conn *c = &s->conn[i];

		conn_wait(c, 0, 1);
		/* the connection's number is where the pattern starts */
		memcpy(&number, c->buf + MSG, 4);
		number ^= 0x5eed0000;
		VT_ASSERT(number < MAX_CONN, "number %x", number);
		pattern(want, number, round, false);
		VT_ASSERT(!memcmp(want + 4, c->buf + MSG + 4, MSG - 4),
			  "message %d of connection %u", round, number);
		conn_recv(c);
		pattern(c->buf, number, round, true);
		conn_send(c);
		conn_wait(c, 1, 0);
	}
}

static void *server(void *arg)
{
	struct side *s = arg;
	struct rdma_cm_event *ev;
	int i, round;

	vt_enter(&s->end);
	while (s->up + s->down < s->plan->count) {
		ev = next_event(s);
		if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			server_request(s, ev);
			continue;
		}
		VT_ASSERT(ev->event == RDMA_CM_EVENT_ESTABLISHED, "%s",
			  rdma_event_str(ev->event));
		s->up++;
		rdma_ack_cm_event(ev);
	}
	for (round = 0; round < s->plan->rounds && s->n; round++)
		server_data(s, round);
	while (s->down < s->plan->count) {
		ev = next_event(s);
		if (ev->event != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
			VT_ASSERT(ev->event == RDMA_CM_EVENT_DISCONNECTED, "%s",
				  rdma_event_str(ev->event));
			s->down++;
			rdma_disconnect(ev->id);
		}
		rdma_ack_cm_event(ev);
	}
	for (i = 0; i < s->n; i++)
		conn_free(&s->conn[i]);
	return NULL;
}

static void client_event(struct side *s, struct rdma_cm_event *ev)
{
	struct rdma_conn_param param = {
		.private_data = PRIVATE, .private_data_len = sizeof(PRIVATE),
		.responder_resources = 4, .initiator_depth = 4,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	struct rdma_cm_id *id = ev->id;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		VT_ASSERT(!rdma_resolve_route(id, 5000), "%m");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		conn_init(id->context, id);
		conn_recv(id->context);
		VT_ASSERT(!rdma_connect(id, &param), "%m");
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		s->up++;
		break;
	case RDMA_CM_EVENT_REJECTED:
		VT_ASSERT(s->plan->reject, "rejected: %d", ev->status);
		VT_EXPECT(!strcmp(ev->param.conn.private_data, "no"),
			  "private data of the reject");
		s->down++;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		s->down++;
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:	/* of those that went first */
		break;
	default:
		vt_fail(__FILE__, __LINE__, "%s, status %d",
			rdma_event_str(ev->event), ev->status);
	}
	rdma_ack_cm_event(ev);
}

static void client_connect(struct side *s)
{
	struct sockaddr_storage addr;
	int i;

	make_addr(s->plan, &addr);
	for (i = 0; i < s->plan->count; i++) {
		struct conn *c = &s->conn[i];

		VT_ASSERT(!rdma_create_id(s->ch, &c->id, c, RDMA_PS_TCP), "%m");
		VT_ASSERT(!rdma_resolve_addr(c->id, NULL, (void *)&addr, 5000),
			  "%m");
	}
	while (s->up + s->down < s->plan->count)
		client_event(s, next_event(s));
}

static void client_data(struct side *s, int round)
{
	uint32_t number;
	uint8_t want[MSG];
	int i;

	for (i = 0; i < s->up; i++) {
		struct conn *c = &s->conn[i];

		pattern(c->buf, i, round, false);
		number = i ^ 0x5eed0000;
		memcpy(c->buf, &number, 4);
		conn_send(c);
	}
	for (i = 0; i < s->up; i++) {
		struct conn *c = &s->conn[i];

		conn_wait(c, 1, 1);
		pattern(want, i, round, true);
		VT_ASSERT(!memcmp(want, c->buf + MSG, MSG),
			  "answer %d of connection %d", round, i);
		conn_recv(c);
	}
}

static void client(struct side *s)
{
	int i, round;

	vt_enter(&s->end);
	client_connect(s);
	for (round = 0; round < s->plan->rounds && s->up; round++)
		client_data(s, round);
	for (i = 0; i < s->up; i++)
		VT_ASSERT(!rdma_disconnect(s->conn[i].id), "%m");
	while (s->down < s->plan->count)
		client_event(s, next_event(s));
	for (i = 0; i < s->plan->count; i++)
		conn_free(&s->conn[i]);
}

static void side_up(struct side *s, const struct plan *p, enum vt_side which)
{
	struct sockaddr_storage addr;

	s->plan = p;
	vt_open(&s->end, which, p->family);
	s->ch = rdma_create_event_channel();
	VT_ASSERT(s->ch, "%m");
	if (which == VT_A)
		return;
	make_addr(p, &addr);
	VT_ASSERT(!rdma_create_id(s->ch, &s->listener, NULL, RDMA_PS_TCP), "%m");
	VT_ASSERT(!rdma_bind_addr(s->listener, (void *)&addr), "%m");
	VT_ASSERT(!rdma_listen(s->listener, MAX_CONN + 28), "%m");
}

static void run_plan(const void *arg)
{
	static struct side a, b;
	const struct plan *p = arg;
	uint64_t start;
	pthread_t thread;

	side_up(&b, p, VT_B);
	side_up(&a, p, VT_A);
	start = vt_now_us();
	VT_ASSERT(!pthread_create(&thread, NULL, server, &b), "pthread");
	client(&a);
	pthread_join(thread, NULL);
	vt_note(MANY_NOTE "%d connections, %d up, %d rounds of %d bytes each way, %llu ms",
		p->count, a.up, p->rounds, MSG,
		(unsigned long long)(vt_now_us() - start) / 1000);
	VT_EXPECT(a.up == (p->reject ? 0 : p->count), "%d", a.up);
	vt_enter(&b.end);
	VT_EXPECT(!rdma_destroy_id(b.listener), "%m");
	rdma_destroy_event_channel(a.ch);
	rdma_destroy_event_channel(b.ch);
	vt_close(&a.end);
	vt_close(&b.end);
}

#define CASE(label, ...) { \
	.name = label, .fn = run_plan, \
	.arg = &(const struct plan){ __VA_ARGS__ }, .timeout_s = 120, \
}

static const struct vt_test tests[] = {
#ifdef MANY_CONN
	CASE("thousand_v4", .family = 4, .count = MANY_CONN, .rounds = 2),
	CASE("thousand_v6", .family = 6, .count = MANY_CONN, .rounds = 2),
#else
	CASE("one_v4", .family = 4, .count = 1, .rounds = 5),
	CASE("one_v6", .family = 6, .count = 1, .rounds = 5),
	CASE("hundred_v4", .family = 4, .count = 100, .rounds = 3),
	CASE("hundred_v6", .family = 6, .count = 100, .rounds = 3),
	CASE("reject_with_private_data", .family = 4, .count = 5,
	     .reject = true),
#endif
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
