// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous events: each is raised by what should raise it, once, for the
 * right object, and by nothing else in the test.
 */
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "vt.h"

#define LEN 4096

/* The next event of an end, which must be of this type; already acked. */
static void want_event(struct vt_end *e, enum ibv_event_type type,
		       const void *object)
{
	struct pollfd pfd = { .fd = e->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	VT_ASSERT(poll(&pfd, 1, 5000) == 1, "no event, expected: %s",
		  ibv_event_type_str(type));
	VT_ASSERT(!ibv_get_async_event(e->ctx, &ev), "%m");
	VT_ASSERT(ev.event_type == type, "%s, expected: %s",
		  ibv_event_type_str(ev.event_type), ibv_event_type_str(type));
	/* QP, CQ and SRQ lie in one union; a port has a number */
	if (object)
		VT_EXPECT(ev.element.qp == object, "of another object");
	ibv_ack_async_event(&ev);
}

static void want_no_event(struct vt_end *e, int ms)
{
	struct pollfd pfd = { .fd = e->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	if (poll(&pfd, 1, ms) != 1)
		return;
	VT_ASSERT(!ibv_get_async_event(e->ctx, &ev), "%m");
	vt_fail(__FILE__, __LINE__, "one event more: %s",
		ibv_event_type_str(ev.event_type));
}

static void write_once(struct vt_pair *p, uint64_t id, int rkey_xor,
		       enum ibv_wc_status status)
{
	VT_ASSERT(!vt_post(&p->a, IBV_WR_RDMA_WRITE, id, p->ba.p, 64,
			   p->ba.mr->lkey, (uintptr_t)p->bb.p,
			   p->bb.mr->rkey ^ rkey_xor, IBV_SEND_SIGNALED), "");
	VT_WANT(p->a.scq, id, status);
}

/* The first message to a QP in RTR, not the second. */
static void comm_est(const void *arg)
{
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, LEN);
	VT_ASSERT(!vt_to_reset(&p.b), "");
	VT_ASSERT(!vt_to_init(&p.b, 0), "");
	VT_ASSERT(!vt_to_rtr(&p.b, &p.a, &(struct vt_conn){ 0 }), "");
	write_once(&p, 1, 0, IBV_WC_SUCCESS);
	want_event(&p.eb, IBV_EVENT_COMM_EST, p.b.qp);
	write_once(&p, 2, 0, IBV_WC_SUCCESS);
	want_no_event(&p.eb, 50);
	want_no_event(&p.ea, 0);
	vt_pair_down(&p);
}

static int to_sqd(struct vt_qp *q, bool notify)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = notify,
	};

	return ibv_modify_qp(q->qp, &attr, IBV_QP_STATE |
			     IBV_QP_EN_SQD_ASYNC_NOTIFY);
}

static void sq_drained(const void *arg)
{
	bool notify = arg;
	struct vt_pair p;
	int i;

	vt_pair_up(&p, NULL, NULL, 65536);
	for (i = 0; i < 10; i++)
		VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_READ, i, p.ba.p, 65536,
				   p.ba.mr->lkey, (uintptr_t)p.bb.p,
				   p.bb.mr->rkey, IBV_SEND_SIGNALED), "");
	VT_ASSERT(!to_sqd(&p.a, notify), "%m");
	if (notify)
		want_event(&p.ea, IBV_EVENT_SQ_DRAINED, p.a.qp);
	want_no_event(&p.ea, 100);
	vt_pair_down(&p);
}

static struct ibv_srq *srq_of(struct vt_end *e, uint32_t limit)
{
	struct ibv_srq_init_attr init = { .attr = { 16, 1, 0 } };
	struct ibv_srq_attr attr = { .srq_limit = limit };
	struct ibv_srq *srq;

	vt_enter(e);
	srq = ibv_create_srq(e->pd, &init);
	VT_ASSERT(srq, "%m");
	if (limit)
		VT_ASSERT(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), "%m");
	return srq;
}

static void srq_post(struct ibv_srq *srq, struct vt_buf *b, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)b->p, 64, b->mr->lkey };
	struct ibv_recv_wr *bad, wr = { id, NULL, &sge, 1 };

	VT_ASSERT(!ibv_post_srq_recv(srq, &wr, &bad), "");
}

/* A pair whose B uses a shared receive queue. */
struct srq_pair {
	struct vt_pair p;
	struct ibv_srq *srq;
	char *ring;		/* its shared memory */
};

/* Start of the newest area mapped from the device. */
static char *newest_map(const char *known)
{
	static char maps[1 << 16];
	char line[512];
	size_t used = 0;
	char *at = NULL;
	FILE *f = fopen("/proc/self/maps", "r");

	VT_ASSERT(f, "%m");
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/dev/infiniband/uverbs"))
			continue;
		line[strcspn(line, " ")] = 0;
		if (known && strstr(known, line))
			continue;
		at = (char *)strtoul(line, NULL, 16);
		used += snprintf(maps + used, sizeof(maps) - used, "%s ", line);
	}
	fclose(f);
	return known ? at : maps;
}

static void srq_pair_up(struct srq_pair *s, uint32_t limit)
{
	struct vt_qp_cfg cfg = { 0 };
	char *known;

	vt_open(&s->p.ea, VT_A, 4);
	vt_open(&s->p.eb, VT_B, 4);
	vt_buf_alloc(&s->p.ea, &s->p.ba, LEN, VT_ACCESS_ALL);
	vt_buf_alloc(&s->p.eb, &s->p.bb, LEN, VT_ACCESS_ALL);
	vt_qp_create(&s->p.ea, &s->p.a, NULL);
	known = newest_map(NULL);
	s->srq = srq_of(&s->p.eb, limit);
	known = strdup(known);
	s->ring = newest_map(known);
	free(known);
	cfg.srq = s->srq;
	vt_qp_create(&s->p.eb, &s->p.b, &cfg);
	vt_connect(&s->p.a, &s->p.b, NULL);
}

static void srq_pair_down(struct srq_pair *s)
{
	vt_qp_destroy(&s->p.a);
	vt_qp_destroy(&s->p.b);
	VT_EXPECT(!ibv_destroy_srq(s->srq), "%m");
	vt_buf_free(&s->p.ba);
	vt_buf_free(&s->p.bb);
	vt_close(&s->p.ea);
	vt_close(&s->p.eb);
}

static void send_64(struct vt_pair *p, uint64_t id, enum ibv_wc_status status)
{
	VT_ASSERT(!vt_post(&p->a, IBV_WR_SEND, id, p->ba.p, 64,
			   p->ba.mr->lkey, 0, 0, IBV_SEND_SIGNALED), "");
	VT_WANT(p->a.scq, id, status);
}

/* A QP in ERR takes no more from its SRQ, and says so. */
static void last_wqe_reached(const void *arg)
{
	struct srq_pair s;

	(void)arg;
	srq_pair_up(&s, 0);
	srq_post(s.srq, &s.p.bb, 1);
	srq_post(s.srq, &s.p.bb, 2);
	send_64(&s.p, 7, IBV_WC_SUCCESS);
	VT_WANT(s.p.b.rcq, 1, IBV_WC_SUCCESS);
	VT_ASSERT(!vt_to_err(&s.p.b), "");
	want_event(&s.p.eb, IBV_EVENT_QP_LAST_WQE_REACHED, s.p.b.qp);
	/* what is left belongs to the other QPs of the SRQ */
	VT_WANT_NONE(s.p.b.rcq, 30);
	want_no_event(&s.p.eb, 20);
	srq_pair_down(&s);
}

/* A peer's mistake ends the QP: the same event. */
static void last_wqe_after_fault(const void *arg)
{
	struct srq_pair s;

	(void)arg;
	srq_pair_up(&s, 0);
	srq_post(s.srq, &s.p.bb, 1);
	write_once(&s.p, 9, 0x77, IBV_WC_REM_ACCESS_ERR);
	want_event(&s.p.eb, IBV_EVENT_QP_ACCESS_ERR, s.p.b.qp);
	want_event(&s.p.eb, IBV_EVENT_QP_LAST_WQE_REACHED, s.p.b.qp);
	srq_pair_down(&s);
}

static void srq_limit(const void *arg)
{
	struct srq_pair s;
	int i;

	(void)arg;
	srq_pair_up(&s, 2);
	for (i = 0; i < 5; i++)
		srq_post(s.srq, &s.p.bb, i);
	for (i = 0; i < 3; i++)
		send_64(&s.p, i, IBV_WC_SUCCESS);
	want_no_event(&s.p.eb, 30);
	send_64(&s.p, i, IBV_WC_SUCCESS);
	want_event(&s.p.eb, IBV_EVENT_SRQ_LIMIT_REACHED, s.srq);
	send_64(&s.p, i, IBV_WC_SUCCESS);
	want_no_event(&s.p.eb, 30);
	srq_pair_down(&s);
}

/*
 * An element that no library writes, put into the shared ring: the SRQ reports
 * it once, and gives nothing out any more.
 */
static void srq_err(const void *arg)
{
	uint32_t *word, elem;
	struct srq_pair s;
	int i;

	(void)arg;
	srq_pair_up(&s, 0);
	VT_ASSERT(s.ring, "no mapping of the SRQ");
	srq_post(s.srq, &s.p.bb, 0x1234567);
	srq_post(s.srq, &s.p.bb, 2);
	/* the ring's head is 384 bytes; behind wr_id lies the number of SGEs */
	word = (uint32_t *)(s.ring + 384);
	elem = 1 << *(uint32_t *)s.ring;
	VT_ASSERT(word[0] == 0x1234567, "wr_id is %#x", word[0]);
	for (i = 4; i < 10; i++)
		if (word[i] == 1)
			word[i] = 0x7fffffff;
	VT_ASSERT(elem >= 40, "%u", elem);
	send_64(&s.p, 7, IBV_WC_REM_OP_ERR);
	VT_WANT(s.p.b.rcq, 0x1234567, IBV_WC_LOC_QP_OP_ERR);
	want_event(&s.p.eb, IBV_EVENT_SRQ_ERR, s.srq);
	want_event(&s.p.eb, IBV_EVENT_QP_LAST_WQE_REACHED, s.p.b.qp);
	want_no_event(&s.p.eb, 20);
	srq_pair_down(&s);
}

static void qp_access_err(const void *arg)
{
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, LEN);
	write_once(&p, 1, 0x77, IBV_WC_REM_ACCESS_ERR);
	want_event(&p.eb, IBV_EVENT_QP_ACCESS_ERR, p.b.qp);
	want_no_event(&p.eb, 20);
	want_no_event(&p.ea, 0);
	vt_pair_down(&p);
}

static void qp_req_err(const void *arg)
{
	struct vt_conn conn = { .access = -1 };
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, NULL, &conn, LEN);
	write_once(&p, 1, 0, IBV_WC_REM_INV_REQ_ERR);
	want_event(&p.eb, IBV_EVENT_QP_REQ_ERR, p.b.qp);
	want_no_event(&p.eb, 20);
	want_no_event(&p.ea, 0);
	vt_pair_down(&p);
}

/* CQ overflow: the CQ is broken, and with it the QP that uses it. */
static void cq_err_and_qp_fatal(const void *arg)
{
	struct vt_qp_cfg cfg = { .cq_depth = 4, .one_cq = true };
	struct vt_pair p;
	int i;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	for (i = 0; i < 20; i++)
		if (vt_post(&p.a, IBV_WR_RDMA_WRITE, i, p.ba.p, 8,
			    p.ba.mr->lkey, (uintptr_t)p.bb.p, p.bb.mr->rkey,
			    IBV_SEND_SIGNALED))
			break;
	want_event(&p.ea, IBV_EVENT_CQ_ERR, p.a.scq);
	want_event(&p.ea, IBV_EVENT_QP_FATAL, p.a.qp);
	VT_EXPECT(vt_state(&p.a) == IBV_QPS_ERR, "state %d", vt_state(&p.a));
	want_no_event(&p.ea, 20);
	want_no_event(&p.eb, 0);
	vt_pair_down(&p);
}

/* Run a command in A's namespace. */
static void shell(struct vt_end *e, const char *fmt, const char *name)
{
	char cmd[256];
	int rc;

	snprintf(cmd, sizeof(cmd), fmt, name);
	vt_enter(e);
	rc = system(cmd);
	VT_ASSERT(!rc, "'%s' ended with %d", cmd, rc);
}

static void port_events(const void *arg)
{
	const char *dev = getenv("VT_IF_A");
	struct vt_end e;

	(void)arg;
	VT_ASSERT(dev, "");
	vt_open(&e, VT_A, 4);
	shell(&e, "ip link set %s down", dev);
	want_event(&e, IBV_EVENT_PORT_ERR, NULL);
	want_no_event(&e, 50);
	shell(&e, "ip link set %s up", dev);
	want_event(&e, IBV_EVENT_PORT_ACTIVE, NULL);
	vt_close(&e);
}

static void gid_change(const void *arg)
{
	const char *dev = getenv("VT_IF_A");
	struct vt_end e;

	(void)arg;
	VT_ASSERT(dev, "");
	vt_open(&e, VT_A, 4);
	shell(&e, "ip addr add 10.9.99.1/24 dev %s", dev);
	want_event(&e, IBV_EVENT_GID_CHANGE, NULL);
	want_no_event(&e, 50);
	shell(&e, "ip addr del 10.9.99.1/24 dev %s", dev);
	want_event(&e, IBV_EVENT_GID_CHANGE, NULL);
	vt_close(&e);
}

/* The device goes away under a program: event, completions, no new work. */
static void device_fatal(const void *arg)
{
	const char *dev = getenv("VT_DEV_A"), *netdev = getenv("VT_IF_A");
	struct ibv_async_event ev;
	struct pollfd pfd = { .events = POLLIN };
	struct vt_pair p;
	char add[200];
	bool fatal = false;

	(void)arg;
	VT_ASSERT(dev && netdev, "");
	vt_pair_up(&p, NULL, NULL, LEN);
	VT_ASSERT(!vt_recv(&p.a, 5, p.ba.p, 64, p.ba.mr->lkey), "");
	shell(&p.ea, "rdma link del %s", dev);
	pfd.fd = p.ea.ctx->async_fd;
	while (!fatal && poll(&pfd, 1, 5000) == 1) {
		VT_ASSERT(!ibv_get_async_event(p.ea.ctx, &ev), "%m");
		fatal = ev.event_type == IBV_EVENT_DEVICE_FATAL;
		ibv_ack_async_event(&ev);
	}
	VT_EXPECT(fatal, "no DEVICE_FATAL");
	VT_WANT(p.a.rcq, 5, IBV_WC_WR_FLUSH_ERR);
	VT_EXPECT(vt_post(&p.a, IBV_WR_SEND, 6, p.ba.p, 64, p.ba.mr->lkey, 0,
			  0, IBV_SEND_SIGNALED), "a post was accepted");
	VT_EXPECT(!ibv_alloc_pd(p.ea.ctx), "a PD was allocated");
	snprintf(add, sizeof(add), "rdma link add %s type %s netdev %%s", dev,
		 getenv("DRIVER") ? getenv("DRIVER") : "rdma_soft");
	shell(&p.ea, add, netdev);
}

static const struct vt_test tests[] = {
	{ "comm_est", comm_est },
	{ "sq_drained", sq_drained, "notify" },
	{ "sq_drained_not_asked_for", sq_drained },
	{ "last_wqe_reached", last_wqe_reached },
	{ "last_wqe_after_fault", last_wqe_after_fault },
	{ "srq_limit_reached", srq_limit },
	{ "srq_err", srq_err },
	{ "qp_access_err", qp_access_err },
	{ "qp_req_err", qp_req_err },
	{ "cq_err_and_qp_fatal", cq_err_and_qp_fatal },
	{ "port_err_and_active", port_events },
	{ "gid_change", gid_change },
	{ "device_fatal", device_fatal },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
