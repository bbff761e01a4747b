// SPDX-License-Identifier: GPL-2.0
/*
 * Rules of recovery that are numbers: how often, how long, how many at a time.
 * Retry and RNR counts, timers, implied NAKs, windows of READs, queues that are
 * not ready; and that the injector itself does what it says, to the packet it
 * says and to no other.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault.h"

#define LEN		65536
#define LIST_MAX	512
#define PSN		0xfffff0u	/* wraps after 16 packets */
#define PSN_OF(n)	((PSN + (n)) & 0xffffff)
#define MSEC		1000ull

static void up(struct vt_pair *p, const struct vt_qp_cfg *cfg,
	       struct vt_conn *conn)
{
	conn->psn_a = PSN;
	vt_pair_up(p, cfg, conn, LEN);
	fault_clear(&p->ea);
	fault_clear(&p->eb);
}

static void down(struct vt_pair *p)
{
	fault_clear(&p->ea);
	fault_clear(&p->eb);
	vt_pair_down(p);
}

static void post(struct vt_pair *p, enum ibv_wr_opcode op, uint64_t id,
		 uint32_t off, uint32_t len)
{
	int rc = vt_post(&p->a, op, id, p->ba.p + off, len, p->ba.mr->lkey,
			 (uintptr_t)p->bb.p + off, p->bb.mr->rkey,
			 IBV_SEND_SIGNALED);

	VT_ASSERT(!rc, "request %d: %s", (int)id, strerror(rc));
}

static void recv_at(struct vt_pair *p, uint64_t id, uint32_t off, uint32_t len)
{
	VT_ASSERT(!vt_recv(&p->b, id, p->bb.p + off, len, p->bb.mr->lkey), "");
}

static void fill(struct vt_pair *p)
{
	struct vt_rnd r = { 7 };

	vt_fill(&r, p->ba.p, LEN);
	memset(p->bb.p, 0, LEN);
}

static void same(struct vt_pair *p, uint32_t off, uint32_t len)
{
	VT_EXPECT(!memcmp(p->ba.p + off, p->bb.p + off, len), "data at %u", off);
}

static unsigned int count_list(const struct vt_end *end, const char *action)
{
	struct fault_hit hits[LIST_MAX];
	size_t i, n = fault_list(end, hits, LIST_MAX);
	unsigned int sum = 0;

	for (i = 0; i < n; i++)
		sum += !strcmp(hits[i].action, action);
	return sum;
}

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

/* --- how long ------------------------------------------------------------ */

/* A gap is told by a NAK: nobody waits for a time-out. */
static void fast_nak(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 19 };
	uint64_t start, timeouts, naks;
	struct vt_pair p;
	int pos;

	(void)arg;
	up(&p, NULL, &conn);
	timeouts = fault_counter(&p.ea, "ack_timeouts");
	for (pos = 0; pos < 9; pos++) {
		fill(&p);
		fault_clear(&p.ea);
		naks = fault_counter(&p.ea, "naks_rcvd");
		fault_add(&p.ea, "drop dir=tx psn=0x%x", PSN_OF(pos * 11));
		/* ten packets and one more behind them */
		post(&p, IBV_WR_RDMA_WRITE, 1, 0, 2560);
		start = vt_now_us();
		post(&p, IBV_WR_RDMA_WRITE, 2, 3000, 1);
		VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
		VT_WANT(p.a.scq, 2, IBV_WC_SUCCESS);
		/* 2.1 s is the time-out */
		VT_EXPECT(vt_now_us() - start < 1000 * MSEC, "%d us",
			  (int)(vt_now_us() - start));
		same(&p, 0, 2560);
		naks = fault_counter(&p.ea, "naks_rcvd") - naks;
		VT_EXPECT(naks == 1, "%d NAKs", (int)naks);
	}
	VT_EXPECT(fault_counter(&p.ea, "ack_timeouts") == timeouts,
		  "there was a time-out");
	down(&p);
}

/* The last packet is lost: repaired after T, before 4 T (IBTA 9.7.6). */
static void tail_loss(const void *arg)
{
	static const struct { int enc; uint64_t us; } t[] = {
		{ 10, 4194 }, { 12, 16777 }, { 14, 67108 }, { 16, 268435 },
	};
	uint64_t start, took;
	struct vt_pair p;
	size_t i;

	(void)arg;
	for (i = 0; i < VT_ARRAY_SIZE(t); i++) {
		struct vt_conn conn = { .timeout = t[i].enc };

		up(&p, NULL, &conn);
		fault_add(&p.ea, "drop dir=tx op=write_last nth=1");
		start = vt_now_us();
		post(&p, IBV_WR_RDMA_WRITE, 1, 0, 10000);
		VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
		took = vt_now_us() - start;
		VT_EXPECT(took >= t[i].us, "%d: %d us", t[i].enc, (int)took);
		/* 4 T, and what a busy host adds */
		VT_EXPECT(took < 4 * t[i].us + 500 * MSEC, "%d: %d us",
			  t[i].enc, (int)took);
		down(&p);
	}
}

/* What no NAK can tell: each of it makes up for itself before the time-out. */
static const struct tail {
	const char *name;
	enum ibv_wr_opcode op;
	bool at_b;
	const char *rules;
} tails[] = {
	{ "last", IBV_WR_RDMA_WRITE, false, "drop dir=tx op=write_last" },
	{ "last_two", IBV_WR_RDMA_WRITE, false,
	  "drop dir=tx op=write_middle nth=38\ndrop dir=tx op=write_last" },
	{ "all", IBV_WR_RDMA_WRITE, false, "drop dir=tx op=write count=40" },
	{ "last_and_again", IBV_WR_RDMA_WRITE, false,
	  "drop dir=tx op=write_last count=3" },
	{ "ack", IBV_WR_RDMA_WRITE, true, "drop dir=tx op=ack" },
	{ "acks", IBV_WR_RDMA_WRITE, true, "drop dir=tx op=ack count=3" },
	{ "nak", IBV_WR_RDMA_WRITE, true,
	  "drop dir=rx op=write_middle nth=9\ndrop dir=tx op=ack syn=nak" },
	{ "read_request", IBV_WR_RDMA_READ, false, "drop dir=tx op=read_req" },
	{ "read_last", IBV_WR_RDMA_READ, true, "drop dir=tx op=read_resp_last" },
	{ "atomic", IBV_WR_ATOMIC_FETCH_AND_ADD, true,
	  "drop dir=tx op=atomic_ack" },
};

static void tail_probe(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 20 };
	uint64_t start, timeouts, probes;
	const struct tail *t;
	struct vt_pair p;
	uint32_t len;
	size_t i;
	int k;

	(void)arg;
	up(&p, NULL, &conn);
	fill(&p);
	/* how long an answer takes is known from these */
	for (k = 0; k < 20; k++) {
		post(&p, IBV_WR_RDMA_WRITE, k, 0, 256);
		VT_WANT(p.a.scq, k, IBV_WC_SUCCESS);
	}
	timeouts = fault_counter(&p.ea, "ack_timeouts");
	for (i = 0; i < VT_ARRAY_SIZE(tails); i++) {
		t = &tails[i];
		fill(&p);
		probes = fault_counter(&p.ea, "probes");
		fault_add(t->at_b ? &p.eb : &p.ea, "%s", t->rules);
		len = t->op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : 40 * 256;
		start = vt_now_us();
		post(&p, t->op, 1, 0, len);
		VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
		/* 4.3 s is the time-out */
		VT_EXPECT(vt_now_us() - start < 4294 * MSEC, "%s: %d us",
			  t->name, (int)(vt_now_us() - start));
		if (t->op != IBV_WR_ATOMIC_FETCH_AND_ADD)
			same(&p, 0, len);
		VT_EXPECT(fault_hits(t->at_b ? &p.eb : &p.ea), "%s", t->name);
		probes = fault_counter(&p.ea, "probes") - probes;
		VT_EXPECT(probes && probes <= 8, "%s: %d probes", t->name,
			  (int)probes);
		fault_clear(&p.ea);
		fault_clear(&p.eb);
	}
	VT_EXPECT(fault_counter(&p.ea, "ack_timeouts") == timeouts,
		  "there was a time-out");
	down(&p);
}

/* A peer that is gone is not asked without end: fewer each time. */
static void probes_end(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 14,
				.retry_cnt = 2 };
	uint64_t start, took;
	struct vt_pair p;
	int k;

	(void)arg;
	up(&p, NULL, &conn);
	fill(&p);
	for (k = 0; k < 20; k++) {
		post(&p, IBV_WR_RDMA_WRITE, k, 0, 256);
		VT_WANT(p.a.scq, k, IBV_WC_SUCCESS);
	}
	fault_add(&p.ea, "drop dir=tx op=request count=all");
	start = vt_now_us();
	post(&p, IBV_WR_RDMA_WRITE, 1, 0, 10 * 256);
	VT_WANT(p.a.scq, 1, IBV_WC_RETRY_EXC_ERR);
	took = vt_now_us() - start;
	VT_EXPECT(took >= 3 * 67108, "%d us", (int)took);
	/* all of it three times, and 2, 4, 8, 16, 32 ms after each a packet */
	VT_EXPECT(fault_hits(&p.ea) >= 30 && fault_hits(&p.ea) <= 30 + 3 * 6,
		  "%u packets", fault_hits(&p.ea));
	down(&p);
}

/* Nothing comes through: n + 1 tries, a time-out after each. */
static void retry_count(const void *arg)
{
	static const int counts[] = { 0, 1, 3, 7 };
	uint64_t start, took, over;
	struct vt_pair p;
	size_t i;

	(void)arg;
	for (i = 0; i < VT_ARRAY_SIZE(counts); i++) {
		struct vt_conn conn = {
			.timeout = 12, .retry_cnt = counts[i] ? counts[i] : -1,
		};

		up(&p, NULL, &conn);
		over = fault_counter(&p.ea, "retry_exceeded");
		fault_add(&p.ea, "drop dir=tx op=request count=all");
		start = vt_now_us();
		post(&p, IBV_WR_RDMA_WRITE, 1, 0, 64);
		VT_WANT(p.a.scq, 1, IBV_WC_RETRY_EXC_ERR);
		took = vt_now_us() - start;
		VT_EXPECT(fault_hits(&p.ea) == counts[i] + 1u, "%d: sent %u times",
			  counts[i], fault_hits(&p.ea));
		VT_EXPECT(took >= (counts[i] + 1) * 16777ull, "%d: %d us",
			  counts[i], (int)took);
		VT_EXPECT(fault_counter(&p.ea, "retry_exceeded") == over + 1, "");
		VT_EXPECT(vt_state(&p.a) == IBV_QPS_ERR, "%d", vt_state(&p.a));
		down(&p);
	}
}

/* Progress gives the whole budget back. */
static void retry_budget_returns(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 12, .retry_cnt = 2 };
	struct vt_pair p;
	int i;

	(void)arg;
	up(&p, NULL, &conn);
	fill(&p);
	/*
	 * Each repetition gets one packet further and nothing behind it; only
	 * the next one, a duplicate by then, makes B say so.
	 */
	for (i = 0; i < 12; i++)
		fault_add(&p.ea, "drop dir=tx psn=0x%x count=%d", PSN_OF(i), i + 1);
	post(&p, IBV_WR_RDMA_WRITE, 1, 0, 12 * 256);
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	same(&p, 0, 12 * 256);
	VT_EXPECT(fault_hits(&p.ea) == 12 * 13 / 2, "%u", fault_hits(&p.ea));
	down(&p);
}

/* Time-out 0 is never; a later request finds the gap. */
static void timeout_never(const void *arg)
{
	struct vt_conn conn = { .timeout = -1 };
	struct vt_pair p;

	(void)arg;
	up(&p, NULL, &conn);
	fill(&p);
	fault_add(&p.ea, "drop dir=tx op=write nth=1");
	post(&p, IBV_WR_RDMA_WRITE, 1, 0, 64);
	VT_WANT_NONE(p.a.scq, 500);
	post(&p, IBV_WR_RDMA_WRITE, 2, 100, 64);
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	VT_WANT(p.a.scq, 2, IBV_WC_SUCCESS);
	same(&p, 0, 64);
	same(&p, 100, 64);
	down(&p);
}

/* --- not ready ----------------------------------------------------------- */

/* n + 1 RNR NAKs and the time that they ask for between them. */
static void rnr_count(const void *arg)
{
	static const int counts[] = { 0, 1, 3, 6 };
	uint64_t start, took, sent;
	struct vt_pair p;
	size_t i;

	(void)arg;
	for (i = 0; i < VT_ARRAY_SIZE(counts); i++) {
		struct vt_conn conn = {
			.timeout = 18, .min_rnr_timer = 20,	/* 10.24 ms */
			.rnr_retry = counts[i] ? counts[i] : -1,
		};

		up(&p, NULL, &conn);
		recv_at(&p, 9, 0, 64);
		fault_add(&p.eb, "rnr dir=rx op=send count=all");
		sent = fault_counter(&p.eb, "rnr_naks_sent");
		start = vt_now_us();
		post(&p, IBV_WR_SEND, 1, 0, 64);
		VT_WANT(p.a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
		took = vt_now_us() - start;
		sent = fault_counter(&p.eb, "rnr_naks_sent") - sent;
		VT_EXPECT(sent == counts[i] + 1u, "%d: %d RNR NAKs", counts[i],
			  (int)sent);
		VT_EXPECT(took >= counts[i] * 10240ull, "%d: %d us", counts[i],
			  (int)took);
		VT_WANT_NONE(p.b.rcq, 10);
		down(&p);
	}
}

/* Each kind of value of the timer field is waited for. */
static void rnr_timer(const void *arg)
{
	static const struct { int enc; uint64_t us; } t[] = {
		{ 1, 10 }, { 7, 120 }, { 14, 1280 }, { 19, 7680 },
		{ 24, 40960 }, { 28, 163840 }, { 31, 491520 },
	};
	uint64_t start, took;
	struct vt_pair p;
	size_t i;

	(void)arg;
	for (i = 0; i < VT_ARRAY_SIZE(t); i++) {
		struct vt_conn conn = {
			.timeout = 18, .min_rnr_timer = t[i].enc, .rnr_retry = 1,
		};

		up(&p, NULL, &conn);
		recv_at(&p, 9, 0, 64);
		fault_add(&p.eb, "rnr dir=rx op=send");
		start = vt_now_us();
		post(&p, IBV_WR_SEND, 1, 0, 64);
		VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
		took = vt_now_us() - start;
		VT_WANT(p.b.rcq, 9, IBV_WC_SUCCESS);
		VT_EXPECT(took >= t[i].us, "field %d: %d us, want %d", t[i].enc,
			  (int)took, (int)t[i].us);
		VT_EXPECT(took < t[i].us + 300 * MSEC, "field %d: %d us", t[i].enc,
			  (int)took);
		down(&p);
	}
}

/* Idle time of all CPUs, us. */
static uint64_t idle_us(void)
{
	double up_s, idle_s;
	FILE *f = fopen("/proc/uptime", "r");
	int got;

	VT_ASSERT(f, "%m");
	got = fscanf(f, "%lf %lf", &up_s, &idle_s);
	VT_ASSERT(got == 2, "/proc/uptime");
	fclose(f);
	return idle_s * 1e6;
}

/* rnr_retry 7 is for ever: paced by the timer, and nearly without work. */
static void rnr_for_ever(const void *arg)
{
	struct vt_conn conn = {
		.timeout = 12, .min_rnr_timer = 22, .rnr_retry = 7, /* 20.5 ms */
	};
	uint64_t naks, idle, start, took;
	struct vt_pair p;

	(void)arg;
	up(&p, NULL, &conn);
	fill(&p);
	naks = fault_counter(&p.eb, "rnr_naks_sent");
	idle = idle_us();
	start = vt_now_us();
	post(&p, IBV_WR_SEND, 1, 0, 5000);
	sleep(2);
	idle = idle_us() - idle;
	naks = fault_counter(&p.eb, "rnr_naks_sent") - naks;
	/* last, so that no NAK is counted that came later */
	took = vt_now_us() - start;
	VT_EXPECT(naks > 7 && naks <= took / 20480 + 1, "%d RNR NAKs in %d us",
		  (int)naks, (int)took);
	vt_note("%d RNR NAKs in %d ms, CPUs idle for %d ms", (int)naks,
		(int)(took / 1000), (int)(idle / 1000));
	VT_EXPECT(idle * 2 >= took, "idle for %d of %d us", (int)idle,
		  (int)took);
	recv_at(&p, 9, 0, 5000);
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	VT_WANT(p.b.rcq, 9, IBV_WC_SUCCESS);
	same(&p, 0, 5000);
	down(&p);
}

static void wait_in_rnr(int fd)
{
	struct vt_conn conn = { .min_rnr_timer = 20 };
	struct vt_pair p;

	up(&p, NULL, &conn);
	post(&p, IBV_WR_SEND, 1, 0, 5000);
	usleep(50000);
	if (write(fd, "x", 1) != 1)
		_exit(1);
	pause();
}

static void rnr_killable(const void *arg)
{
	uint64_t start;
	int fds[2];
	char byte;
	pid_t pid;

	(void)arg;
	VT_ASSERT(!pipe(fds), "%m");
	pid = fork();
	if (!pid)
		wait_in_rnr(fds[1]);
	close(fds[1]);
	VT_ASSERT(read(fds[0], &byte, 1) == 1, "the child did not get there");
	start = vt_now_us();
	kill(pid, SIGKILL);
	VT_ASSERT(waitpid(pid, NULL, 0) == pid, "%m");
	VT_EXPECT(vt_now_us() - start < 2000 * MSEC, "took %d us",
		  (int)(vt_now_us() - start));
}

/* The RNR NAK itself is lost, doubled, late, corrupted: SRQ and plain queue. */
static void rnr_nak_faults(const void *arg)
{
	static const char * const faults[] = {
		"note", "drop", "dup=2", "delay=30ms", "reorder", "corrupt",
	};
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 12, .rnr_retry = 7,
				.min_rnr_timer = 14 };
	bool with_srq = arg;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct vt_qp_cfg cfg = { 0 };
	struct ibv_recv_wr *bad, wr = { .num_sge = 1 };
	struct ibv_sge sge;
	struct vt_pair p;
	uint64_t id = 0;
	size_t f, o;
	int len;

	memset(&p, 0, sizeof(p));
	vt_open(&p.ea, VT_A, 4);
	vt_open(&p.eb, VT_B, 4);
	vt_buf_alloc(&p.ea, &p.ba, LEN, VT_ACCESS_ALL);
	vt_buf_alloc(&p.eb, &p.bb, LEN, VT_ACCESS_ALL);
	vt_qp_create(&p.ea, &p.a, NULL);
	if (with_srq) {
		cfg.srq = ibv_create_srq(p.eb.pd, &init);
		VT_ASSERT(cfg.srq, "%m");
	}
	vt_qp_create(&p.eb, &p.b, &cfg);
	vt_connect(&p.a, &p.b, &conn);
	for (f = 0; f < VT_ARRAY_SIZE(faults); f++) {
		for (o = 0; o < VT_ARRAY_SIZE(ops); o++) {
			for (len = 100; len < 3000; len += 900) {
				fault_clear(&p.ea);
				fault_clear(&p.eb);
				fault_add(&p.eb, "%s dir=tx op=ack syn=rnr nth=1",
					  faults[f]);
				fill(&p);
				post(&p, ops[o], ++id, 0, len);
				/* nothing is posted: it waits */
				usleep(4000);
				sge = (struct ibv_sge){
					.addr = (uintptr_t)p.bb.p, .length = LEN,
					.lkey = p.bb.mr->lkey,
				};
				wr.sg_list = &sge;
				wr.wr_id = id;
				VT_ASSERT(!(with_srq ?
					    ibv_post_srq_recv(cfg.srq, &wr, &bad) :
					    ibv_post_recv(p.b.qp, &wr, &bad)), "");
				VT_WANT(p.a.scq, id, IBV_WC_SUCCESS);
				VT_WANT(p.b.rcq, id, IBV_WC_SUCCESS);
				same(&p, 0, len);
				VT_EXPECT(count_list(&p.eb, "note") +
					  fault_hits(&p.eb) == 1,
					  "%s: no RNR NAK", faults[f]);
			}
		}
	}
	usleep(40000);
	VT_WANT_NONE(p.a.scq, 0);
	VT_WANT_NONE(p.b.rcq, 0);
	fault_clear(&p.ea);
	fault_clear(&p.eb);
	vt_qp_destroy(&p.a);
	vt_qp_destroy(&p.b);
	if (with_srq)
		VT_EXPECT(!ibv_destroy_srq(cfg.srq), "%m");
	vt_buf_free(&p.ba);
	vt_buf_free(&p.bb);
	vt_close(&p.ea);
	vt_close(&p.eb);
}

/* RNR at each packet of a message, and a loss right behind it. */
static void rnr_and_loss(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 12, .rnr_retry = 7,
				.min_rnr_timer = 12 };
	struct vt_pair p;
	int pos, lost;

	(void)arg;
	up(&p, NULL, &conn);
	for (pos = 0; pos < 5; pos++) {
		for (lost = 0; lost < 5; lost++) {
			uint32_t psn = PSN_OF((pos * 5 + lost) * 5);

			fault_clear(&p.ea);
			fault_clear(&p.eb);
			fill(&p);
			recv_at(&p, 9, 0, 1280);
			fault_add(&p.eb, "rnr dir=rx psn=0x%x",
				  (psn + pos) & 0xffffff);
			fault_add(&p.ea, "drop dir=tx psn=0x%x nth=%d",
				  (psn + lost) & 0xffffff, lost < pos ? 1 : 2);
			post(&p, IBV_WR_SEND, 1, 0, 1280);
			VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
			VT_WANT(p.b.rcq, 9, IBV_WC_SUCCESS);
			same(&p, 0, 1280);
			VT_EXPECT(fault_hits(&p.eb) == 1, "no RNR at %d", pos);
		}
	}
	down(&p);
}

/* --- READs and atomics --------------------------------------------------- */

/* A response that is missing when a later one comes is asked for at once. */
static void implied_nak(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 19 };
	uint64_t naks, start;
	struct vt_pair p;
	int pos;

	(void)arg;
	up(&p, NULL, &conn);
	for (pos = 0; pos < 8; pos++) {
		struct vt_rnd r = { pos + 1 };
		uint32_t psn = PSN_OF(pos * 9);

		fault_clear(&p.eb);
		vt_fill(&r, p.bb.p, 4096);
		memset(p.ba.p, 0, 4096);
		naks = fault_counter(&p.ea, "implied_naks");
		fault_add(&p.eb, "drop dir=tx op=read_resp psn=0x%x",
			  (psn + pos) & 0xffffff);
		start = vt_now_us();
		post(&p, IBV_WR_RDMA_READ, 1, 0, 2048);
		post(&p, IBV_WR_RDMA_READ, 2, 2048, 64);
		VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
		VT_WANT(p.a.scq, 2, IBV_WC_SUCCESS);
		VT_EXPECT(vt_now_us() - start < 1000 * MSEC, "%d us",
			  (int)(vt_now_us() - start));
		same(&p, 0, 2048 + 64);
		VT_EXPECT(fault_counter(&p.ea, "implied_naks") == naks + 1,
			  "packet %d: %d implied NAKs", pos,
			  (int)(fault_counter(&p.ea, "implied_naks") - naks));
	}
	down(&p);
}

/* Never more READs under way than max_rd_atomic, also when some are lost. */
static void read_window(const void *arg)
{
	static const int windows[] = { 1, 2, 5, 16 };
	struct fault_hit hits[LIST_MAX];
	struct vt_pair p;
	size_t i, n, w;
	int k;

	(void)arg;
	for (w = 0; w < VT_ARRAY_SIZE(windows); w++) {
		struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 16,
					.rd_atomic = windows[w] };
		bool out[64] = { 0 };
		int now = 0, most = 0;
		struct vt_rnd r = { w + 1 };

		up(&p, NULL, &conn);
		vt_fill(&r, p.bb.p, LEN);
		fault_add(&p.ea, "note dir=tx op=read_req");
		fault_add(&p.ea, "note dir=rx op=read_resp_last,read_resp_only");
		fault_add(&p.eb, "drop dir=tx op=read_resp_last every=7 count=3");
		fault_add(&p.eb, "delay=40ms dir=tx op=read_resp count=all");
		for (k = 0; k < 30; k++)
			post(&p, IBV_WR_RDMA_READ, k, k * 1024, 512);
		for (k = 0; k < 30; k++) {
			VT_WANT(p.a.scq, k, IBV_WC_SUCCESS);
			same(&p, k * 1024, 512);
		}
		n = fault_list(&p.ea, hits, LIST_MAX);
		for (i = 0; i < n; i++) {
			uint32_t id = ((hits[i].psn - PSN) & 0xffffff) / 2;

			VT_ASSERT(id < 64, "PSN 0x%x", hits[i].psn);
			if (!strcmp(hits[i].dir, "tx") && !out[id])
				out[id] = true, now++;
			else if (!strcmp(hits[i].dir, "rx") && out[id])
				out[id] = false, now--;
			most = now > most ? now : most;
		}
		VT_EXPECT(most <= windows[w], "%d under way, window %d", most,
			  windows[w]);
		VT_EXPECT(most == windows[w], "%d only, window %d", most,
			  windows[w]);
		down(&p);
	}
}

/* An atomic whose answer is lost again and again is executed once. */
static void atomic_once(const void *arg)
{
	struct vt_conn conn = { .timeout = 12 };
	uint64_t one = 1, executed;
	struct vt_pair p;
	unsigned int lost;
	int i;

	(void)arg;
	up(&p, NULL, &conn);
	memset(p.bb.p, 0, 64);
	executed = fault_counter(&p.eb, "atomic_reqs");
	for (i = 0; i < 10; i++) {
		fault_clear(&p.eb);
		lost = 1 + i % 4;
		fault_add(&p.eb, "drop dir=tx op=atomic_ack count=%u", lost);
		post(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, i, 64 * i, 8);
		VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
		VT_EXPECT(!memcmp(p.bb.p + 64 * i, &one, 8), "atomic %d", i);
		VT_EXPECT(fault_hits(&p.eb) == lost, "%u lost",
			  fault_hits(&p.eb));
	}
	VT_EXPECT(fault_counter(&p.eb, "atomic_reqs") == executed + 10, "%d",
		  (int)(fault_counter(&p.eb, "atomic_reqs") - executed));
	down(&p);
}

/* --- local operations ---------------------------------------------------- */

/*
 * WRITE, LOCAL_INV of the window's old key, bind of the new one, WRITE, SEND: a
 * second execution of the bind would find the window bound, and fail.
 */
static void post_local(struct vt_pair *p, struct ibv_mw *mw, struct ibv_mr *mr,
		       uint32_t old_key, uint32_t new_key)
{
	struct ibv_send_wr *bad, wr[5] = { 0 };
	struct ibv_sge sge[5];
	int i, rc;

	for (i = 0; i < 5; i++) {
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)p->ba.p + i * 1024, .length = 600,
			.lkey = p->ba.mr->lkey,
		};
		wr[i].wr_id = i;
		wr[i].next = i < 4 ? &wr[i + 1] : NULL;
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].wr.rdma.remote_addr = (uintptr_t)p->bb.p + i * 1024;
		wr[i].wr.rdma.rkey = p->bb.mr->rkey;
	}
	wr[1].opcode = IBV_WR_LOCAL_INV;
	wr[1].num_sge = 0;
	wr[1].invalidate_rkey = old_key;
	wr[2].opcode = IBV_WR_BIND_MW;
	wr[2].num_sge = 0;
	wr[2].bind_mw.mw = mw;
	wr[2].bind_mw.rkey = new_key;
	wr[2].bind_mw.bind_info = (struct ibv_mw_bind_info){
		mr, (uintptr_t)p->ba.p + 32768, 4096, IBV_ACCESS_REMOTE_WRITE,
	};
	wr[4].opcode = IBV_WR_SEND;
	if (!old_key)
		wr[0].next = &wr[2];
	rc = ibv_post_send(p->a.qp, wr, &bad);
	VT_ASSERT(!rc, "%s", strerror(rc));
}

/* The peer writes through the window, then takes its key back. */
static void use_window(struct vt_pair *p, uint32_t key, bool take)
{
	struct ibv_sge sge = {
		(uintptr_t)p->bb.p, 300, p->bb.mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = 51, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_INV, .send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = key,
	};
	struct ibv_wc wc;

	VT_ASSERT(!vt_post(&p->b, IBV_WR_RDMA_WRITE, 50, p->bb.p, 300,
			   p->bb.mr->lkey, (uintptr_t)p->ba.p + 32768, key,
			   IBV_SEND_SIGNALED), "");
	VT_WANT(p->b.scq, 50, IBV_WC_SUCCESS);
	if (!take)
		return;
	fault_clear(&p->ea);
	fault_add(&p->ea, "drop dir=tx op=ack syn=ack count=2");
	VT_ASSERT(!vt_recv(&p->a, 52, p->ba.p + 40000, 1000, p->ba.mr->lkey), "");
	VT_ASSERT(!ibv_post_send(p->b.qp, &wr, &bad), "");
	VT_WANT(p->b.scq, 51, IBV_WC_SUCCESS);
	VT_WANT_WC(p->a.rcq, 52, IBV_WC_SUCCESS, &wc);
	VT_EXPECT(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == key,
		  "flags %x", wc.wc_flags);
	VT_WANT_NONE(p->a.rcq, 0);
}

/* Local operations are executed once, whatever is repeated around them. */
static void local_once(const void *arg)
{
	static const char * const faults[] = { "drop", "reorder=2", "delay=20ms" };
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 12 };
	uint32_t psn = PSN, key = 0, next;
	struct ibv_mw *mw;
	struct ibv_mr *mr;
	struct vt_pair p;
	size_t f;
	int i, pos;

	(void)arg;
	up(&p, NULL, &conn);
	mr = ibv_reg_mr(p.ea.pd, p.ba.p, LEN, VT_ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(p.ea.pd, IBV_MW_TYPE_2);
	VT_ASSERT(mr && mw, "%m");
	next = ibv_inc_rkey(mw->rkey);
	for (f = 0; f < VT_ARRAY_SIZE(faults); f++) {
		/* 3 packets each: WRITE, WRITE, SEND */
		for (pos = 0; pos < 9; pos++) {
			fault_clear(&p.ea);
			fill(&p);
			recv_at(&p, 9, 4096, 1000);
			fault_add(&p.ea, "%s dir=tx op=request psn=0x%x",
				  faults[f], (psn + pos) & 0xffffff);
			post_local(&p, mw, mr, key, next);
			for (i = 0; i < 5; i++)
				if (i != 1 || key)
					VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
			VT_WANT(p.b.rcq, 9, IBV_WC_SUCCESS);
			VT_EXPECT(fault_hits(&p.ea) == 1, "packet %d: no fault", pos);
			/* the library does it for windows of type 1 only */
			mw->rkey = next;
			psn = (psn + 9) & 0xffffff;
			same(&p, 0, 600);
			same(&p, 3 * 1024, 600);
			same(&p, 4 * 1024, 600);
			use_window(&p, next, pos & 1);
			key = pos & 1 ? 0 : next;
			next = ibv_inc_rkey(next);
		}
	}
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	down(&p);
}

/* --- early packets ------------------------------------------------------- */

/* Never more is kept than the cap of a QP allows; what is not kept comes again. */
static void early_cap(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 14 };
	uint64_t held, dropped;
	struct vt_pair p;

	(void)arg;
	up(&p, NULL, &conn);
	fill(&p);
	held = fault_counter(&p.eb, "early_held");
	dropped = fault_counter(&p.eb, "early_drops");
	/* every second one comes alone: an skb of its own for each behind a gap */
	fault_add(&p.ea, "drop dir=tx psn=0x%x count=1", PSN_OF(0));
	fault_add(&p.ea, "drop dir=tx op=write_middle every=2 count=127");
	post(&p, IBV_WR_RDMA_WRITE, 1, 0, LEN);
	post(&p, IBV_WR_RDMA_WRITE, 2, 0, LEN);
	post(&p, IBV_WR_RDMA_WRITE, 3, 0, LEN);
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	VT_WANT(p.a.scq, 2, IBV_WC_SUCCESS);
	VT_WANT(p.a.scq, 3, IBV_WC_SUCCESS);
	same(&p, 0, LEN);
	held = fault_counter(&p.eb, "early_held") - held;
	dropped = fault_counter(&p.eb, "early_drops") - dropped;
	vt_note("%d kept, %d not", (int)held, (int)dropped);
	VT_EXPECT(held && dropped, "the cap was not met: nothing is shown");
	down(&p);
}

/* A QP goes, is reset or fails while early packets wait behind a gap. */
static void early_teardown(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 19 };
	uint64_t held, dropped;
	struct vt_pair p;
	int i;

	(void)arg;
	for (i = 0; i < 6; i++) {
		up(&p, NULL, &conn);
		held = fault_counter(&p.eb, "early_held");
		dropped = fault_counter(&p.eb, "early_drops");
		/* a request of A, or a response of B, never comes */
		fault_add(&p.ea, "drop dir=tx psn=0x%x count=all", PSN_OF(2));
		post(&p, IBV_WR_RDMA_WRITE, 1, 0, 10000);
		while (fault_counter(&p.eb, "early_held") == held)
			usleep(1000);
		if (i % 3 == 1)
			VT_EXPECT(!vt_to_reset(&p.b), "%m");
		if (i % 3 == 2)
			VT_EXPECT(!vt_to_err(&p.b), "%m");
		if (i % 3)
			VT_EXPECT(fault_counter(&p.eb, "early_drops") > dropped,
				  "%d: they were not let go", i);
		down(&p);
	}
}

/* --- late and strange answers -------------------------------------------- */

/* ACKs that come when all is done are counted and mean nothing. */
static void ghost_acks(const void *arg)
{
	struct vt_conn conn = { .timeout = 12 };
	uint64_t again;
	struct vt_pair p;
	int i;

	(void)arg;
	up(&p, NULL, &conn);
	fill(&p);
	again = fault_counter(&p.ea, "retransmits");
	fault_add(&p.eb, "dup=20 dir=tx op=ack count=all");
	for (i = 0; i < 30; i++) {
		post(&p, IBV_WR_RDMA_WRITE, i, i * 64, 64);
		VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
	}
	VT_WANT_NONE(p.a.scq, 20);
	VT_EXPECT(fault_counter(&p.ea, "retransmits") == again,
		  "copies of ACKs made it send again");
	same(&p, 0, 30 * 64);
	down(&p);
}

/* The ACK comes after the requester went back: no further packet is repeated. */
static void late_ack(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 13 }; /* 33.5 ms */
	struct vt_pair p;
	int i;

	(void)arg;
	up(&p, NULL, &conn);
	fill(&p);
	for (i = 0; i < 10; i++) {
		fault_clear(&p.eb);
		fault_clear(&p.ea);
		/* all answers of the first try come when the second is out */
		fault_add(&p.eb, "delay=%dms dir=tx op=ack nth=1", 30 + i * 4);
		fault_add(&p.eb, "drop dir=tx op=ack nth=1");
		post(&p, IBV_WR_RDMA_WRITE, 2 * i, i * 4096, 2000);
		post(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, 2 * i + 1, 60000, 8);
		VT_WANT(p.a.scq, 2 * i, IBV_WC_SUCCESS);
		VT_WANT(p.a.scq, 2 * i + 1, IBV_WC_SUCCESS);
		same(&p, i * 4096, 2000);
	}
	usleep(80000);
	VT_WANT_NONE(p.a.scq, 0);
	VT_EXPECT(vt_state(&p.a) == IBV_QPS_RTS, "%d", vt_state(&p.a));
	down(&p);
}

/* A NAK that says "access" is lost: the requester ends with RETRY_EXC. */
static void fatal_nak_lost(const void *arg)
{
	struct vt_conn conn = { .timeout = 12, .retry_cnt = 2 };
	struct vt_pair p;

	(void)arg;
	up(&p, NULL, &conn);
	fault_add(&p.eb, "drop dir=tx op=ack syn=nak");
	VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_WRITE, 1, p.ba.p, 64,
			   p.ba.mr->lkey, (uintptr_t)p.bb.p,
			   p.bb.mr->rkey ^ 0x100, IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 1, IBV_WC_RETRY_EXC_ERR);
	VT_EXPECT(vt_state(&p.b) == IBV_QPS_ERR, "%d", vt_state(&p.b));
	down(&p);
}

/* QPs and rules go while packets are held; those come, or go with the link. */
static void destroy_with_held(const void *arg)
{
	struct vt_conn conn = { .timeout = 12 };
	struct vt_pair p;
	int i;

	(void)arg;
	for (i = 0; i < 5; i++) {
		up(&p, NULL, &conn);
		fault_add(&p.ea, "delay=%dms dir=tx op=request count=all",
			  i < 4 ? 60 : 9000);
		fault_add(&p.eb, "delay=60ms dir=rx op=request count=all");
		post(&p, IBV_WR_RDMA_WRITE, 1, 0, 10000);
		usleep(20000);
		down(&p);
	}
	usleep(200000);
}

static const struct vt_test tests[] = {
	{ "grammar", grammar },
	{ "same_seed_same_list", same_seed_same_list },
	{ "neighbours_untouched", neighbours_untouched },
	{ "corrupt_is_noticed", corrupt_is_noticed },
	{ "nak_codes", nak_codes },
	{ "wc_errors", wc_errors },
	{ "cq_full", cq_full },
	{ "fast_nak", fast_nak },
	{ "tail_loss", tail_loss },
	{ "tail_probe", tail_probe },
	{ "probes_end", probes_end },
	{ "retry_count", retry_count },
	{ "retry_budget_returns", retry_budget_returns },
	{ "timeout_never", timeout_never },
	{ "rnr_count", rnr_count },
	{ "rnr_timer", rnr_timer },
	{ "rnr_for_ever", rnr_for_ever },
	{ "rnr_killable", rnr_killable },
	{ "rnr_nak_faults", rnr_nak_faults },
	{ "rnr_nak_faults_srq", rnr_nak_faults, "srq" },
	{ "rnr_and_loss", rnr_and_loss },
	{ "implied_nak", implied_nak },
	{ "read_window", read_window },
	{ "atomic_once", atomic_once },
	{ "local_once", local_once },
	{ "early_cap", early_cap },
	{ "early_teardown", early_teardown },
	{ "ghost_acks", ghost_acks },
	{ "late_ack", late_ack },
	{ "fatal_nak_lost", fatal_nak_lost },
	{ "destroy_with_held", destroy_with_held },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
