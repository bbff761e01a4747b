// SPDX-License-Identifier: GPL-2.0
/*
 * The injector does what its rules say, to the packet they say and to no other.
 */
#include <arpa/inet.h>
#include <poll.h>

#include "recover.h"

/* --- the injector -------------------------------------------------------- */

static void grammar(const void *arg)
{
	static const struct {
		const char *rule, *why;
	} bad[] = {
		{ "bogus", "'bogus'" },
		{ "drop nth=0", "'nth=0'" },
		{ "drop nth=x", "'nth=x'" },
		{ "drop op=send_frist", "'op=send_frist'" },
		{ "drop color=red", "'color=red'" },
		{ "drop psn=0x1000000", "'psn=0x1000000'" },
		{ "drop psn=9-3", "'psn=9-3'" },
		{ "drop share=101%", "'share=101%'" },
		{ "drop share=5", "'share=5'" },
		{ "drop count=0", "'count=0'" },
		{ "drop dir=up", "'dir=up'" },
		{ "drop nth=2 every=3", "exclude" },
		{ "drop within=3ms", "'within=3ms'" },
		{ "delay", "'delay'" },
		{ "delay=11s", "'delay=11s'" },
		{ "delay=5", "'delay=5'" },
		{ "dup=0", "'dup=0'" },
		{ "dup=65", "'dup=65'" },
		{ "nak=maybe", "'nak=maybe'" },
		{ "rnr dir=tx", "dir=rx" },
		{ "wc=loc_prot", "dir" },
		{ "cqfull psn=3", "no op, psn" },
		{ "drop=1", "'drop=1'" },
		{ "remove 77", "77" },
	};
	static const char * const good[] = {
		"drop", "drop dir=tx qpn=0x11 op=send_first,0x0c psn=1-0x20 nth=3",
		"corrupt=30 share=0.25% seed=0x77 count=9", "note dir=both",
		"delay=10s", "reorder=3 within=200us every=2", "dup=64 count=all",
		"nak=psn", "wc=rem_op dir=rx", "cqfull dir=tx nth=4",
		"drop op=ack syn=rnr", "drop psn=0xfffff0-0x10", "# nothing", "",
		"drop op=request\ndup op=response\n",
	};
	struct vt_end e;
	char why[256];
	size_t i;
	int rc;

	(void)arg;
	vt_open(&e, VT_A, 4);
	fault_clear(&e);
	for (i = 0; i < VT_ARRAY_SIZE(bad); i++) {
		rc = fault_try(&e, bad[i].rule);
		VT_EXPECT(rc == EINVAL || rc == ENOENT, "'%s': %s", bad[i].rule,
			  strerror(rc));
		fault_error(&e, why, sizeof(why));
		VT_EXPECT(strstr(why, bad[i].why), "'%s' says '%s'",
			  bad[i].rule, why);
	}
	for (i = 0; i < VT_ARRAY_SIZE(good); i++) {
		rc = fault_try(&e, good[i]);
		VT_EXPECT(!rc, "'%s': %s", good[i], strerror(rc));
	}
	VT_EXPECT(!fault_try(&e, "remove 2"), "%m");
	VT_EXPECT(fault_try(&e, "remove 2") == ENOENT, "removed twice");
	fault_clear(&e);
	for (i = 0; i < 1024; i++)
		VT_ASSERT(!fault_try(&e, "note qpn=2"), "rule %d", (int)i);
	VT_EXPECT(fault_try(&e, "note qpn=2") == ENOSPC, "%m");
	fault_clear(&e);
	vt_close(&e);
}

/* 300 datagrams-like UC WRITEs one after the other: what is lost is listed. */
static size_t seeded_run(unsigned int seed, struct fault_hit *hits)
{
	struct vt_qp_cfg cfg = { .type = IBV_QPT_UC };
	struct vt_conn conn = { 0 };
	struct vt_pair p;
	size_t n;
	int i;

	up(&p, &cfg, &conn);
	fault_add(&p.ea, "drop dir=tx op=write share=10%% seed=%u", seed);
	fault_add(&p.ea, "corrupt dir=tx op=write share=10%% seed=%u", seed + 9);
	for (i = 0; i < 300; i++) {
		post(&p, IBV_WR_RDMA_WRITE, i, 0, 64);
		VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
	}
	n = fault_list(&p.ea, hits, LIST_MAX);
	VT_EXPECT(n == fault_hits(&p.ea), "%zu lines", n);
	down(&p);
	return n;
}

static bool equal_lists(const struct fault_hit *a, size_t na,
			const struct fault_hit *b, size_t nb)
{
	size_t i;

	if (na != nb)
		return false;
	for (i = 0; i < na; i++)
		if (strcmp(a[i].action, b[i].action) || a[i].psn != b[i].psn ||
		    a[i].opcode != b[i].opcode || a[i].rule != b[i].rule)
			return false;
	return true;
}

static void same_seed_same_list(const void *arg)
{
	static struct fault_hit a[LIST_MAX], b[LIST_MAX], c[LIST_MAX];
	size_t na, nb, nc;

	(void)arg;
	na = seeded_run(42, a);
	nb = seeded_run(42, b);
	nc = seeded_run(43, c);
	/* 10 % and 9 % of 300; far off means a bad generator */
	VT_EXPECT(na > 30 && na < 90, "%zu hits", na);
	VT_EXPECT(equal_lists(a, na, b, nb), "the same seed, another list");
	VT_EXPECT(!equal_lists(a, na, c, nc), "another seed, the same list");
}

/* One packet of a super-packet is lost: the others arrive, and once. */
static void neighbours_untouched(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_1024, .timeout = 18 };
	struct fault_hit hits[LIST_MAX];
	unsigned int seen[20] = { 0 };
	uint64_t batches;
	struct vt_pair p;
	size_t i, n;

	(void)arg;
	up(&p, NULL, &conn);
	fill(&p);
	batches = fault_counter(&p.ea, "gso_batches");
	fault_add(&p.ea, "drop dir=tx psn=0x%x", PSN_OF(7));
	fault_add(&p.eb, "note dir=rx op=write count=19");
	post(&p, IBV_WR_RDMA_WRITE, 1, 0, 20 * 1024);
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	same(&p, 0, 20 * 1024);
	VT_EXPECT(fault_counter(&p.ea, "gso_batches") > batches,
		  "no super-packet was sent: nothing is shown");
	n = fault_list(&p.eb, hits, LIST_MAX);
	VT_EXPECT(n == 19, "%zu packets came first", n);
	for (i = 0; i < n; i++)
		if (((hits[i].psn - PSN) & 0xffffff) < 20)
			seen[(hits[i].psn - PSN) & 0xffffff]++;
	for (i = 0; i < 20; i++)
		VT_EXPECT(seen[i] == (i != 7), "packet %zu came %u times", i,
			  seen[i]);
	down(&p);
}

static void corrupt_is_noticed(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 18 };
	static const char * const rules[] = {
		"corrupt", "corrupt=13", "corrupt=100",
	};
	uint64_t before, after;
	struct vt_pair p;
	size_t i, at_b;

	(void)arg;
	up(&p, NULL, &conn);
	fill(&p);
	for (i = 0; i < VT_ARRAY_SIZE(rules); i++) {
		for (at_b = 0; at_b < 2; at_b++) {
			fault_clear(&p.ea);
			fault_clear(&p.eb);
			fault_add(at_b ? &p.eb : &p.ea, "%s dir=%s op=write_middle",
				  rules[i], at_b ? "rx" : "tx");
			before = fault_counter(&p.eb, "drop_icrc");
			post(&p, IBV_WR_RDMA_WRITE, i, 0, 1500);
			VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
			after = fault_counter(&p.eb, "drop_icrc");
			VT_EXPECT(after == before + 1, "%s: drop_icrc went by %d",
				  rules[i], (int)(after - before));
			same(&p, 0, 1500);
			memset(p.bb.p, 0, LEN);
		}
	}
	down(&p);
}

static void nak_codes(const void *arg)
{
	static const struct {
		const char *rule;
		enum ibv_wc_status want;
	} t[] = {
		{ "nak=inv_req", IBV_WC_REM_INV_REQ_ERR },
		{ "nak=access", IBV_WC_REM_ACCESS_ERR },
		{ "nak=op", IBV_WC_REM_OP_ERR },
	};
	struct vt_conn conn = { 0 };
	struct vt_pair p;
	size_t i;

	(void)arg;
	for (i = 0; i < VT_ARRAY_SIZE(t); i++) {
		up(&p, NULL, &conn);
		fault_add(&p.eb, "%s dir=rx op=write nth=2", t[i].rule);
		post(&p, IBV_WR_RDMA_WRITE, 1, 0, 64);
		post(&p, IBV_WR_RDMA_WRITE, 2, 0, 64);
		post(&p, IBV_WR_RDMA_WRITE, 3, 0, 64);
		VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
		VT_WANT(p.a.scq, 2, t[i].want);
		VT_WANT(p.a.scq, 3, IBV_WC_WR_FLUSH_ERR);
		VT_WANT_NONE(p.a.scq, 20);
		VT_EXPECT(vt_state(&p.b) == IBV_QPS_ERR, "%d", vt_state(&p.b));
		down(&p);
	}
}

static void wc_errors(const void *arg)
{
	struct vt_conn conn = { 0 };
	struct vt_pair p;

	(void)arg;
	up(&p, NULL, &conn);
	fault_add(&p.ea, "wc=loc_prot dir=tx nth=2");
	post(&p, IBV_WR_RDMA_WRITE, 1, 0, 64);
	post(&p, IBV_WR_RDMA_WRITE, 2, 0, 64);
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	VT_WANT(p.a.scq, 2, IBV_WC_LOC_PROT_ERR);
	VT_EXPECT(vt_state(&p.a) == IBV_QPS_ERR, "%d", vt_state(&p.a));
	down(&p);

	up(&p, NULL, &conn);
	fault_add(&p.eb, "wc=loc_len dir=rx op=send");
	recv_at(&p, 5, 0, 64);
	post(&p, IBV_WR_SEND, 1, 0, 64);
	VT_WANT(p.b.rcq, 5, IBV_WC_LOC_LEN_ERR);
	VT_WANT(p.a.scq, 1, IBV_WC_REM_OP_ERR);
	down(&p);
}

static void cq_full(const void *arg)
{
	struct pollfd pfd = { .events = POLLIN };
	struct vt_conn conn = { 0 };
	struct ibv_async_event ev;
	struct vt_pair p;

	(void)arg;
	up(&p, NULL, &conn);
	fault_add(&p.ea, "cqfull dir=tx qpn=0x%x nth=2", p.a.qp->qp_num);
	post(&p, IBV_WR_RDMA_WRITE, 1, 0, 64);
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	post(&p, IBV_WR_RDMA_WRITE, 2, 0, 64);
	pfd.fd = p.ea.ctx->async_fd;
	VT_ASSERT(poll(&pfd, 1, 5000) == 1, "no event");
	VT_ASSERT(!ibv_get_async_event(p.ea.ctx, &ev), "%m");
	VT_EXPECT(ev.event_type == IBV_EVENT_CQ_ERR, "%s",
		  ibv_event_type_str(ev.event_type));
	VT_EXPECT(ev.event_type != IBV_EVENT_CQ_ERR || ev.element.cq == p.a.scq,
		  "another CQ");
	ibv_ack_async_event(&ev);
	VT_WANT_NONE(p.a.scq, 20);
	down(&p);
}

static const struct vt_test tests[] = {
	{ "grammar", grammar },
	{ "same_seed_same_list", same_seed_same_list },
	{ "neighbours_untouched", neighbours_untouched },
	{ "corrupt_is_noticed", corrupt_is_noticed },
	{ "nak_codes", nak_codes },
	{ "wc_errors", wc_errors },
	{ "cq_full", cq_full },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
