// SPDX-License-Identifier: GPL-2.0
/*
 * Rules of recovery that are numbers: how often, how long. Retry and RNR counts,
 * timers, probes, queues that are not ready, late and strange answers.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recover.h"

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

/* How long an answer takes is known after these. */
static void learn_rtt(struct vt_pair *p)
{
	int k;

	for (k = 0; k < 20; k++) {
		post(p, IBV_WR_RDMA_WRITE, k, 0, 256);
		VT_WANT(p->a.scq, k, IBV_WC_SUCCESS);
	}
}

static void tail_probe(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 20 };
	uint64_t start, timeouts, probes;
	const struct tail *t;
	struct vt_pair p;
	uint32_t len;
	size_t i;

	(void)arg;
	up(&p, NULL, &conn);
	fill(&p);
	learn_rtt(&p);
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

/* A peer that answers again is asked early again: the pause was the other's. */
static void probes_start_anew(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 20 };
	uint64_t start, probes, first, second;
	struct vt_pair p;

	(void)arg;
	up(&p, NULL, &conn);
	fill(&p);
	learn_rtt(&p);
	probes = fault_counter(&p.ea, "probes");
	/*
	 * Ten packets and probes after 2, 4, .. 256 ms; fewer where answers take long,
	 * and then the time-out, which sends all again.
	 */
	fault_add(&p.ea, "drop dir=tx op=request count=18");
	start = vt_now_us();
	post(&p, IBV_WR_RDMA_WRITE, 1, 0, 10 * 256);
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	first = vt_now_us() - start;
	VT_EXPECT(first >= 256 * MSEC, "%d us", (int)first);
	probes = fault_counter(&p.ea, "probes") - probes;
	VT_EXPECT(probes >= 4, "%d probes, %u dropped in %d us", (int)probes,
		  fault_hits(&p.ea), (int)first);
	fault_clear(&p.ea);
	fault_add(&p.ea, "drop dir=tx op=write_last");
	start = vt_now_us();
	post(&p, IBV_WR_RDMA_WRITE, 2, 0, 10 * 256);
	VT_WANT(p.a.scq, 2, IBV_WC_SUCCESS);
	second = vt_now_us() - start;
	VT_EXPECT(fault_hits(&p.ea) == 1, "nothing was lost");
	VT_EXPECT(second < first / 2, "%d us, %d us before", (int)second,
		  (int)first);
	down(&p);
}

/* A peer that is gone is not asked without end: fewer each time. */
static void probes_end(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 14,
				.retry_cnt = 2 };
	uint64_t start, took;
	struct vt_pair p;

	(void)arg;
	up(&p, NULL, &conn);
	fill(&p);
	learn_rtt(&p);
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
	{ "fast_nak", fast_nak },
	{ "tail_loss", tail_loss },
	{ "tail_probe", tail_probe },
	{ "probes_start_anew", probes_start_anew },
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
	{ "ghost_acks", ghost_acks },
	{ "late_ack", late_ack },
	{ "fatal_nak_lost", fatal_nak_lost },
	{ "destroy_with_held", destroy_with_held },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
