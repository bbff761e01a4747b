// SPDX-License-Identifier: GPL-2.0
/* Create and destroy: bad arguments, objects in use, many objects, leaks. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vt.h"

static struct ibv_qp *try_qp(struct vt_end *e, struct ibv_cq *cq,
			     enum ibv_qp_type type, struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type, .send_cq = cq, .recv_cq = cq, .cap = cap,
	};

	errno = 0;
	return ibv_create_qp(e->pd, &init);
}

static void want_no_qp(struct vt_end *e, struct ibv_cq *cq,
		       enum ibv_qp_type type, struct ibv_qp_cap cap,
		       const char *what)
{
	struct ibv_qp *qp = try_qp(e, cq, type, cap);

	VT_EXPECT(!qp && (errno == EINVAL || errno == EOPNOTSUPP),
		  "%s: %s", what, qp ? "created" : strerror(errno));
	if (qp)
		ibv_destroy_qp(qp);
}

static void qp_bad_arguments(const void *arg)
{
	struct ibv_qp_cap ok = { 16, 16, 1, 1, 0 }, c;
	struct ibv_cq *cq;
	struct vt_end e;

	(void)arg;
	vt_open(&e, VT_A, 4);
	cq = ibv_create_cq(e.ctx, 64, NULL, NULL, 0);
	VT_ASSERT(cq, "%m");
	c = ok;
	c.max_send_wr = e.attr.max_qp_wr + 1;
	want_no_qp(&e, cq, IBV_QPT_RC, c, "max_send_wr");
	c = ok;
	c.max_recv_wr = e.attr.max_qp_wr + 1;
	want_no_qp(&e, cq, IBV_QPT_RC, c, "max_recv_wr");
	c = ok;
	c.max_send_sge = e.attr.max_sge + 1;
	want_no_qp(&e, cq, IBV_QPT_RC, c, "max_send_sge");
	c = ok;
	c.max_recv_sge = e.attr.max_sge + 1;
	want_no_qp(&e, cq, IBV_QPT_RC, c, "max_recv_sge");
	c = ok;
	c.max_inline_data = 1u << 20;
	want_no_qp(&e, cq, IBV_QPT_RC, c, "inline 1 MB");
	c = ok;
	c.max_send_wr = ~0u;
	want_no_qp(&e, cq, IBV_QPT_RC, c, "max_send_wr 2^32 - 1");
	c = ok;
	c.max_send_sge = ~0u;
	want_no_qp(&e, cq, IBV_QPT_RC, c, "max_send_sge 2^32 - 1");
	c = ok;
	c.max_inline_data = ~0u;
	want_no_qp(&e, cq, IBV_QPT_RC, c, "inline 2^32 - 1");
	want_no_qp(&e, cq, IBV_QPT_RAW_PACKET, ok, "raw packet QP");
	want_no_qp(&e, cq, 77, ok, "type 77");
	VT_EXPECT(!ibv_destroy_cq(cq), "%m");
	vt_close(&e);
}

static void qp_caps_are_true(const void *arg)
{
	struct ibv_qp_cap cap = { 100, 50, 7, 5, 300 };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp;
	struct vt_end e;

	(void)arg;
	vt_open(&e, VT_A, 4);
	init.send_cq = ibv_create_cq(e.ctx, 64, NULL, NULL, 0);
	VT_ASSERT(init.send_cq, "%m");
	init.recv_cq = init.send_cq;
	init.cap = cap;
	qp = ibv_create_qp(e.pd, &init);
	VT_ASSERT(qp, "%m");
	VT_EXPECT(init.cap.max_send_wr >= 100, "%u", init.cap.max_send_wr);
	VT_EXPECT(init.cap.max_recv_wr >= 50, "%u", init.cap.max_recv_wr);
	VT_EXPECT(init.cap.max_send_sge >= 7, "%u", init.cap.max_send_sge);
	VT_EXPECT(init.cap.max_recv_sge >= 5, "%u", init.cap.max_recv_sge);
	VT_EXPECT(init.cap.max_inline_data >= 300, "%u",
		  init.cap.max_inline_data);
	VT_EXPECT(qp->qp_num > 1 && qp->qp_num < 0xffffff, "%x", qp->qp_num);
	VT_EXPECT(!ibv_destroy_qp(qp), "%m");
	VT_EXPECT(!ibv_destroy_cq(init.send_cq), "%m");
	vt_close(&e);
}

static void ah_bad_arguments(const void *arg)
{
	struct ibv_ah_attr good, at;
	struct vt_end a, b;
	struct ibv_ah *ah;

	(void)arg;
	vt_open(&b, VT_B, 4);
	vt_open(&a, VT_A, 4);
	vt_ah_attr(&a, &b, &good);
	ah = ibv_create_ah(a.pd, &good);
	VT_ASSERT(ah, "%m");
	VT_EXPECT(!ibv_destroy_ah(ah), "%m");
	at = good;
	at.is_global = 0;
	VT_EXPECT(!ibv_create_ah(a.pd, &at), "no GRH");
	at = good;
	at.grh.sgid_index = 255;
	VT_EXPECT(!ibv_create_ah(a.pd, &at), "sgid index 255");
	at = good;
	at.port_num = 2;
	VT_EXPECT(!ibv_create_ah(a.pd, &at), "port 2");
	at = good;
	memset(&at.grh.dgid, 0, 16);
	VT_EXPECT(!ibv_create_ah(a.pd, &at), "zero destination");
	vt_close(&a);
	vt_close(&b);
}

static void pd_in_use(const void *arg)
{
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct vt_end e;
	char page[4096];
	int rc;

	(void)arg;
	vt_open(&e, VT_A, 4);
	pd = ibv_alloc_pd(e.ctx);
	VT_ASSERT(pd, "%m");
	mr = ibv_reg_mr(pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE);
	VT_ASSERT(mr, "%m");
	rc = ibv_dealloc_pd(pd);
	VT_EXPECT(rc == EBUSY, "%d", rc);
	VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	VT_EXPECT(!ibv_dealloc_pd(pd), "%m");
	vt_close(&e);
}

/* Hundreds of each at once; all numbers differ. */
static void many(const void *arg)
{
	enum { N = 300 };
	static struct ibv_qp *qp[N];
	static struct ibv_mr *mr[N];
	static struct ibv_ah *ah[N];
	struct ibv_qp_cap cap = { 4, 4, 1, 1, 0 };
	struct ibv_ah_attr at;
	struct ibv_cq *cq;
	static char page[4096];
	struct vt_end a, b;
	int i, j;

	(void)arg;
	vt_open(&b, VT_B, 4);
	vt_open(&a, VT_A, 4);
	vt_ah_attr(&a, &b, &at);
	cq = ibv_create_cq(a.ctx, 1024, NULL, NULL, 0);
	VT_ASSERT(cq, "%m");
	for (i = 0; i < N; i++) {
		qp[i] = try_qp(&a, cq, i & 1 ? IBV_QPT_RC : IBV_QPT_UD, cap);
		mr[i] = ibv_reg_mr(a.pd, page, sizeof(page), VT_ACCESS_ALL);
		ah[i] = ibv_create_ah(a.pd, &at);
		VT_ASSERT(qp[i] && mr[i] && ah[i], "number %d: %m", i);
		for (j = 0; j < i; j++)
			VT_ASSERT(qp[j]->qp_num != qp[i]->qp_num &&
				  mr[j]->rkey >> 8 != mr[i]->rkey >> 8,
				  "%d and %d", j, i);
	}
	for (i = 0; i < N; i++) {
		VT_EXPECT(!ibv_destroy_qp(qp[i]), "%m");
		VT_EXPECT(!ibv_dereg_mr(mr[i]), "%m");
		VT_EXPECT(!ibv_destroy_ah(ah[i]), "%m");
	}
	VT_EXPECT(!ibv_destroy_cq(cq), "%m");
	vt_close(&a);
	vt_close(&b);
}

static unsigned long slab_kb(void)
{
	unsigned long kb = 0, v;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "r");

	VT_ASSERT(f, "%m");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "SUnreclaim: %lu", &v) == 1)
			kb += v;
		if (sscanf(line, "VmallocUsed: %lu", &v) == 1)
			kb += v;
	}
	fclose(f);
	return kb;
}

/* Create and destroy over and over: memory does not grow with the rounds. */
static void no_leak(const void *arg)
{
	unsigned long before = 0, after;
	struct vt_pair p;
	int i;

	(void)arg;
	for (i = 0; i < 300; i++) {
		if (i == 100)
			before = slab_kb();
		vt_pair_up(&p, NULL, NULL, 4096);
		vt_pair_down(&p);
	}
	after = slab_kb();
	vt_note("slab and vmalloc: %lu KB before, %lu KB after", before, after);
	VT_EXPECT(after < before + 8192, "%lu KB more after 200 rounds",
		  after - before);
}

/* A process killed with traffic in flight leaves nothing behind. */
static void killed_process(const void *arg)
{
	struct vt_qp_cfg cfg = { .send_wr = 64 };
	struct vt_pair p;
	int i, n, status;
	pid_t pid;

	(void)arg;
	for (i = 0; i < 10; i++) {
		pid = fork();
		VT_ASSERT(pid >= 0, "%m");
		if (!pid) {
			vt_pair_up(&p, &cfg, NULL, 1u << 20);
			for (n = 0; n < 60; n++)
				vt_post(&p.a, n & 1 ? IBV_WR_RDMA_READ :
					IBV_WR_RDMA_WRITE, n, p.ba.p, 1u << 20,
					p.ba.mr->lkey, (uintptr_t)p.bb.p,
					p.bb.mr->rkey, IBV_SEND_SIGNALED);
			kill(getpid(), SIGKILL);
		}
		VT_ASSERT(waitpid(pid, &status, 0) == pid, "%m");
		VT_EXPECT(WIFSIGNALED(status), "status %x", status);
	}
	/* and the devices still work */
	vt_pair_up(&p, NULL, NULL, 4096);
	VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_WRITE, 1, p.ba.p, 4096,
			   p.ba.mr->lkey, (uintptr_t)p.bb.p, p.bb.mr->rkey,
			   IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	vt_pair_down(&p);
}

static const struct vt_test tests[] = {
	{ "qp_bad_arguments", qp_bad_arguments },
	{ "qp_caps_are_true", qp_caps_are_true },
	{ "ah_bad_arguments", ah_bad_arguments },
	{ "pd_in_use_is_ebusy", pd_in_use },
	{ "many", many },
	{ "no_leak", no_leak, .timeout_s = 120 },
	{ "killed_process", killed_process, .timeout_s = 120 },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
