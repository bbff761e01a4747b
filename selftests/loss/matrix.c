// SPDX-License-Identifier: GPL-2.0
/*
 * Recovery of RC, packet by packet: every operation, each of its packets lost,
 * doubled, late, out of order and corrupted, by position and not by chance.
 *
 * A case is a train of work requests of which one is looked at, alone or
 * between others, and one fault at one packet of it: of the request, of the
 * response, or an acknowledgment; where it leaves or where it arrives. After
 * it each byte must be right, each atomic executed once, and the completions
 * of both ends exactly those that are due, in order. That the fault happened
 * is asserted, too. The PSNs of the "wrap" cases go over the end at each
 * packet in turn.
 *
 * LOSS_SEED (default 1) is the start of the data.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <unistd.h>

#include "fault.h"

#define GUARD		0xa5
#define BORDER		32
#define SLOT		(160u << 10)	/* room for one request's data */
#define TRAIN_MAX	4
#define PSN_MASK	0xffffffu
#define TIMEOUT_ENC	12		/* 16.8 ms */
#define SHOWN_MAX	5		/* mismatches that are printed */

enum work { SEND, SEND_IMM, WRITE, WRITE_IMM, READ, CAS, FADD };

static const enum ibv_wr_opcode work_wr[] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
};

static const enum ibv_wc_opcode work_wc[] = {
	IBV_WC_SEND, IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE,
	IBV_WC_RDMA_READ, IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD,
};

static const char * const work_name[] = {
	"SEND", "SEND_IMM", "WRITE", "WRITE_IMM", "READ", "CAS", "FADD",
};

static bool is_atomic(enum work w)
{
	return w == CAS || w == FADD;
}

static bool takes_recv(enum work w)
{
	return w == SEND || w == SEND_IMM || w == WRITE_IMM;
}

static bool has_response(enum work w)
{
	return w == READ || is_atomic(w);
}

/* One request of a train. */
struct req {
	enum work work;
	uint32_t len;
	uint32_t psn, npkts;
	uint64_t old, operand;	/* atomics */
	uint8_t *a, *b;		/* its data at both ends */
};

struct ctx {
	struct vt_pair p;
	uint32_t mtu;
	uint32_t psn;		/* of A's next packet */
	struct vt_rnd rnd;
	unsigned int cases, faults, bad;
	char what[128];		/* the present case */
};

/* --- one train ----------------------------------------------------------- */

static void mismatch(struct ctx *c, const char *fmt, ...)
__attribute__((format(printf, 2, 3)));

static void mismatch(struct ctx *c, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (c->bad++ >= SHOWN_MAX)
		return;
	vt_note("%s: %s", c->what, text);
	fault_print(&c->p.ea, 8);
	fault_print(&c->p.eb, 8);
}

static void fill_req(struct ctx *c, struct req *r, int i)
{
	uint8_t *from, *to;

	r->a = c->p.ba.p + i * SLOT + BORDER;
	r->b = c->p.bb.p + i * SLOT + BORDER;
	memset(r->a - BORDER, GUARD, r->len + 2 * BORDER);
	memset(r->b - BORDER, GUARD, r->len + 2 * BORDER);
	r->npkts = is_atomic(r->work) || !r->len ? 1 :
		   (r->len + c->mtu - 1) / c->mtu;
	r->psn = c->psn;
	c->psn = (c->psn + r->npkts) & PSN_MASK;
	if (is_atomic(r->work)) {
		r->old = vt_rnd(&c->rnd);
		r->operand = vt_rnd(&c->rnd);
		memcpy(r->b, &r->old, 8);
		return;
	}
	from = r->work == READ ? r->b : r->a;
	to = r->work == READ ? r->a : r->b;
	vt_fill(&c->rnd, from, r->len);
	/* no byte may be right by chance */
	for (uint32_t k = 0; k < r->len; k++)
		to[k] = ~from[k];
}

static int post_train(struct ctx *c, struct req *r, int n, bool one_call)
{
	struct ibv_send_wr wr[TRAIN_MAX] = { 0 }, *bad;
	struct ibv_sge sge[TRAIN_MAX];
	int i, rc = 0;

	for (i = 0; i < n; i++) {
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)r[i].a, .length = r[i].len,
			.lkey = c->p.ba.mr->lkey,
		};
		wr[i].wr_id = i;
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].opcode = work_wr[r[i].work];
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].imm_data = htonl(0xabc0 + i);
		wr[i].next = one_call && i + 1 < n ? &wr[i + 1] : NULL;
		if (is_atomic(r[i].work)) {
			wr[i].wr.atomic.remote_addr = (uintptr_t)r[i].b;
			wr[i].wr.atomic.rkey = c->p.bb.mr->rkey;
			wr[i].wr.atomic.compare_add =
				r[i].work == CAS ? r[i].old : r[i].operand;
			wr[i].wr.atomic.swap = r[i].operand;
		} else {
			wr[i].wr.rdma.remote_addr = (uintptr_t)r[i].b;
			wr[i].wr.rdma.rkey = c->p.bb.mr->rkey;
		}
	}
	if (one_call)
		return ibv_post_send(c->p.a.qp, wr, &bad);
	for (i = 0; i < n && !rc; i++)
		rc = ibv_post_send(c->p.a.qp, &wr[i], &bad);
	return rc;
}

static void check_send_wc(struct ctx *c, const struct req *r, int i)
{
	struct ibv_wc wc;

	if (!vt_poll(c->p.a.scq, &wc, 5000)) {
		mismatch(c, "no completion of request %d", i);
		return;
	}
	if (wc.wr_id != (uint64_t)i || wc.status)
		mismatch(c, "completion of request %llu with %s, want %d",
			 (unsigned long long)wc.wr_id,
			 ibv_wc_status_str(wc.status), i);
	else if (wc.opcode != work_wc[r->work])
		mismatch(c, "request %d: opcode %d", i, wc.opcode);
}

static void check_recv_wc(struct ctx *c, const struct req *r, int i)
{
	bool imm = r->work != SEND;
	struct ibv_wc wc;

	if (!vt_poll(c->p.b.rcq, &wc, 5000)) {
		mismatch(c, "no receive completion of request %d", i);
		return;
	}
	if (wc.wr_id != (uint64_t)i || wc.status || wc.byte_len != r->len)
		mismatch(c, "receive %llu with %s and %u bytes, want %d and %u",
			 (unsigned long long)wc.wr_id,
			 ibv_wc_status_str(wc.status), wc.byte_len, i, r->len);
	else if (imm != !!(wc.wc_flags & IBV_WC_WITH_IMM) ||
		 (imm && wc.imm_data != htonl(0xabc0 + i)))
		mismatch(c, "receive %d: immediate 0x%x", i, ntohl(wc.imm_data));
}

static void check_guard(struct ctx *c, const uint8_t *p, uint32_t len, int i,
			char side)
{
	for (int k = 0; k < BORDER; k++)
		if (p[-1 - k] != GUARD || p[len + k] != GUARD) {
			mismatch(c, "request %d: wrote beside its data at %c",
				 i, side);
			return;
		}
}

static void check_data(struct ctx *c, const struct req *r, int i)
{
	uint64_t orig, now, want;

	check_guard(c, r->a, r->len, i, 'A');
	check_guard(c, r->b, r->len, i, 'B');
	if (!is_atomic(r->work)) {
		if (memcmp(r->a, r->b, r->len))
			mismatch(c, "request %d: wrong data", i);
		return;
	}
	want = r->work == CAS ? r->operand : r->old + r->operand;
	memcpy(&orig, r->a, 8);
	memcpy(&now, r->b, 8);
	if (now != want)
		mismatch(c, "request %d: not executed exactly once", i);
	if (orig != r->old)
		mismatch(c, "request %d: wrong original value", i);
}

/* The longest delay of faults_all. */
#define DELAY_MAX_US 25000

static void reconnect(struct ctx *c, uint32_t psn)
{
	struct vt_conn conn = {
		.mtu = c->mtu == 256 ? IBV_MTU_256 : IBV_MTU_1024,
		.timeout = TIMEOUT_ENC, .psn_a = psn, .psn_b = 0x123456,
	};
	struct ibv_wc wc;

	fault_clear(&c->p.ea);
	fault_clear(&c->p.eb);
	VT_ASSERT(!vt_to_reset(&c->p.a) && !vt_to_reset(&c->p.b), "%m");
	/* the same PSNs come again: what was delayed must be gone (TIMEWAIT) */
	usleep(DELAY_MAX_US + 5000);
	while (ibv_poll_cq(c->p.a.scq, 1, &wc) > 0 ||
	       ibv_poll_cq(c->p.b.rcq, 1, &wc) > 0)
		;
	vt_connect(&c->p.a, &c->p.b, &conn);
	c->psn = psn;
}

/* Nothing may come that nobody asked for. */
static void check_quiet(struct ctx *c)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(c->p.a.scq, 1, &wc) || ibv_poll_cq(c->p.a.rcq, 1, &wc) ||
	    ibv_poll_cq(c->p.b.scq, 1, &wc) || ibv_poll_cq(c->p.b.rcq, 1, &wc))
		mismatch(c, "one completion too many (wr_id %llu, %s)",
			 (unsigned long long)wc.wr_id,
			 ibv_wc_status_str(wc.status));
}

/* Where a fault happens. */
struct site {
	bool at_b;		/* rule of B's device */
	const char *dir;
	const char *match;	/* op and syn */
};

/*
 * One case: n requests that were filled in, the fault already set. min_hits:
 * how often it must have fired.
 */
static void run_train(struct ctx *c, struct req *r, int n, bool one_call,
		      unsigned int min_hits)
{
	unsigned int before = c->bad, hits;
	int i, rc;

	c->cases++;
	for (i = 0; i < n; i++)
		if (takes_recv(r[i].work))
			VT_ASSERT(!vt_recv(&c->p.b, i, r[i].b, r[i].len,
					   c->p.bb.mr->lkey), "");
	rc = post_train(c, r, n, one_call);
	VT_ASSERT(!rc, "%s", strerror(rc));
	for (i = 0; i < n && c->bad == before; i++)
		check_send_wc(c, &r[i], i);
	for (i = 0; i < n && c->bad == before; i++)
		if (takes_recv(r[i].work))
			check_recv_wc(c, &r[i], i);
	for (i = 0; i < n && c->bad == before; i++)
		check_data(c, &r[i], i);
	if (c->bad == before)
		check_quiet(c);
	hits = fault_hits(&c->p.ea) + fault_hits(&c->p.eb);
	c->faults += hits;
	if (hits < min_hits && c->bad == before)
		mismatch(c, "the fault fired %u times, want %u", hits, min_hits);
	if (c->bad != before)
		reconnect(c, c->psn);
}

/* --- cases --------------------------------------------------------------- */

/* A message of n packets; the last one is odd in the short ones. */
static uint32_t len_of(const struct ctx *c, enum work w, int n)
{
	if (is_atomic(w))
		return 8;
	return n * c->mtu - (n == 1 ? 93 : n < 10 ? 3 : 0);
}

/* The train: the request alone, or with others around it. */
static int make_train(struct ctx *c, struct req *r, enum work w, int npkts,
		      bool alone, int *which)
{
	int n = 0, i;

	if (!alone)
		r[n++] = (struct req){ .work = WRITE, .len = 40 };
	*which = n;
	r[n++] = (struct req){ .work = w, .len = len_of(c, w, npkts) };
	if (!alone) {
		r[n++] = (struct req){ .work = FADD, .len = 8 };
		r[n++] = (struct req){ .work = SEND, .len = 100 };
	}
	for (i = 0; i < n; i++)
		fill_req(c, &r[i], i);
	return n;
}

static const char * const faults_all[] = {
	"drop", "dup", "dup=3", "delay=2ms", "reorder", "reorder=3", "corrupt",
	"delay=25ms",
};

#ifdef MATRIX_SHORT
static const int sizes[] = { 1, 3 };
#define WRAP_PKTS	3
#else
static const int sizes[] = { 1, 2, 3, 5, 34 };
#define LONG_PKTS	100
#define WRAP_PKTS	5
#endif

/* Faults at packet i of the message. count: how often. */
static void fault_at(struct ctx *c, const struct site *s, const char *fault,
		     uint32_t psn, const char *more)
{
	const struct vt_end *end = s->at_b ? &c->p.eb : &c->p.ea;
	const struct vt_qp *qp = s->at_b ? &c->p.b : &c->p.a;

	fault_add(end, "%s dir=%s qpn=0x%x %s psn=0x%x %s", fault, s->dir,
		  qp->qp->qp_num, s->match, psn, more);
}

static void one_case(struct ctx *c, enum work w, int npkts, bool alone,
		     const struct site *s, const char *fault, int pos,
		     const char *more, unsigned int min_hits)
{
	struct req r[TRAIN_MAX];
	int n, which;

	fault_clear(&c->p.ea);
	fault_clear(&c->p.eb);
	n = make_train(c, r, w, npkts, alone, &which);
	snprintf(c->what, sizeof(c->what),
		 "%s of %d packets%s, psn 0x%06x, %s %s at packet %d (%s %c) %s",
		 work_name[w], npkts, alone ? " alone" : "", r[which].psn,
		 fault, s->match, pos, s->dir, s->at_b ? 'B' : 'A', more);
	fault_at(c, s, fault, (r[which].psn + pos) & PSN_MASK, more);
	run_train(c, r, n, c->cases & 1, min_hits);
}

/* All packets of one message at one site. */
static void all_positions(struct ctx *c, enum work w, int npkts,
			  const struct site *s, bool response)
{
	int count = response || !has_response(w) ? npkts : 1;
	size_t f;
	int pos;

	for (f = 0; f < VT_ARRAY_SIZE(faults_all); f++) {
		/* the long delays cost time: not at each packet of a long one */
		bool slow = !strcmp(faults_all[f], "delay=25ms");

		for (pos = 0; pos < count; pos++) {
			if (slow && count > 5 && pos % 11)
				continue;
			one_case(c, w, npkts, pos & 1, s, faults_all[f], pos,
				 "", 1);
			if (count <= 5)
				one_case(c, w, npkts, !(pos & 1), s,
					 faults_all[f], pos, "", 1);
		}
	}
	/* lost, and lost again when it is repeated */
	for (pos = 0; pos < count; pos += count > 5 ? 5 : 1)
		one_case(c, w, npkts, pos & 1, s, "drop", pos, "count=2", 2);
}

static void begin(struct ctx *c, uint32_t mtu)
{
	const char *seed = getenv("LOSS_SEED");

	memset(c, 0, sizeof(*c));
	c->rnd.s = seed ? strtoull(seed, NULL, 0) : 1;
	c->mtu = mtu;
	vt_open(&c->p.ea, VT_A, 4);
	vt_open(&c->p.eb, VT_B, 4);
	vt_buf_alloc(&c->p.ea, &c->p.ba, TRAIN_MAX * SLOT, VT_ACCESS_ALL);
	vt_buf_alloc(&c->p.eb, &c->p.bb, TRAIN_MAX * SLOT, VT_ACCESS_ALL);
	vt_qp_create(&c->p.ea, &c->p.a, NULL);
	vt_qp_create(&c->p.eb, &c->p.b, NULL);
	reconnect(c, 0xffffe0);
}

static void end(struct ctx *c)
{
	fault_clear(&c->p.ea);
	fault_clear(&c->p.eb);
	/* what was held comes within this time */
	usleep(30000);
	snprintf(c->what, sizeof(c->what), "afterwards");
	check_quiet(c);
	VT_EXPECT(vt_state(&c->p.a) == IBV_QPS_RTS, "%d", vt_state(&c->p.a));
	VT_EXPECT(vt_state(&c->p.b) == IBV_QPS_RTS, "%d", vt_state(&c->p.b));
	vt_pair_down(&c->p);
	vt_note("%u cases, %u faults, %u mismatches", c->cases, c->faults,
		c->bad);
	VT_EXPECT(!c->bad, "%u mismatches", c->bad);
	VT_EXPECT(c->faults >= c->cases, "%u faults in %u cases", c->faults,
		  c->cases);
}

/* Each packet of short and long messages, at both ends of the wire. */
static void packet_lost(enum work w, const struct site *tx,
			const struct site *rx, bool response)
{
	struct ctx c;
	size_t i;

	begin(&c, 256);
	for (i = 0; i < VT_ARRAY_SIZE(sizes); i++) {
		if (is_atomic(w) && sizes[i] > 1)
			continue;
		all_positions(&c, w, sizes[i], tx, response);
		if (sizes[i] < 10)
			all_positions(&c, w, sizes[i], rx, response);
	}
	end(&c);
}

static void request_lost(const void *arg)
{
	static const struct site tx = { false, "tx", "op=request" };
	static const struct site rx = { true, "rx", "op=request" };

	packet_lost(*(const enum work *)arg, &tx, &rx, false);
}

static void response_lost(const void *arg)
{
	static const struct site tx = { true, "tx", "op=read_resp,atomic_ack" };
	static const struct site rx = { false, "rx", "op=read_resp,atomic_ack" };

	packet_lost(*(const enum work *)arg, &tx, &rx, true);
}

/* The acknowledgment of the last packet, and with it that of all before. */
static void ack_lost(const void *arg)
{
	static const struct site sites[] = {
		{ true, "tx", "op=ack syn=ack" },
		{ false, "rx", "op=ack syn=ack" },
	};
	enum work w = *(const enum work *)arg;
	size_t i, f, s;
	struct ctx c;

	begin(&c, 256);
	for (i = 0; i < VT_ARRAY_SIZE(sizes); i++)
		for (s = 0; s < VT_ARRAY_SIZE(sites); s++)
			for (f = 0; f < VT_ARRAY_SIZE(faults_all); f++)
				one_case(&c, w, sizes[i], true, &sites[s],
					 faults_all[f], sizes[i] - 1, "", 1);
	for (i = 0; i < VT_ARRAY_SIZE(sizes); i++)
		for (s = 0; s < VT_ARRAY_SIZE(sites); s++)
			one_case(&c, w, sizes[i], true, &sites[s], "drop",
				 sizes[i] - 1, "count=3", 3);
	end(&c);
}

/* The NAK of a lost packet is lost, doubled, late or corrupted itself. */
static void nak_lost(const void *arg)
{
	static const struct site req = { false, "tx", "op=request" };
	enum work w = *(const enum work *)arg;
	struct req r[TRAIN_MAX];
	struct ctx c;
	size_t f;
	int pos, n, which;

	begin(&c, 256);
	for (f = 0; f < VT_ARRAY_SIZE(faults_all); f++) {
		for (pos = 0; pos < 3; pos++) {
			fault_clear(&c.p.ea);
			fault_clear(&c.p.eb);
			n = make_train(&c, r, w, 3, false, &which);
			snprintf(c.what, sizeof(c.what),
				 "%s of 3 packets, packet %d lost, its NAK: %s",
				 work_name[w], pos, faults_all[f]);
			fault_at(&c, &req, "drop", (r[which].psn + pos) & PSN_MASK,
				 "");
			fault_add(&c.p.eb, "%s dir=tx op=ack syn=nak", faults_all[f]);
			run_train(&c, r, n, true, has_response(w) ? 1 : 2);
			if (has_response(w))
				break;
		}
	}
	end(&c);
}

/* PSNs go over the end at each packet of the train. */
static void psn_wrap(const void *arg)
{
	static const struct site req = { false, "tx", "op=request" };
	static const struct site resp = { true, "tx", "op=read_resp,atomic_ack" };
	static const char * const faults[] = { "drop", "dup", "reorder", "delay=2ms" };
	enum work w = *(const enum work *)arg;
	int npkts = is_atomic(w) ? 1 : WRAP_PKTS;
	const struct site *s = has_response(w) ? &resp : &req;
	struct ctx c;
	int off, pos;
	size_t f;

	begin(&c, 256);
	for (off = 0; off <= npkts + 2; off++) {
		for (f = 0; f < VT_ARRAY_SIZE(faults); f++) {
			reconnect(&c, (0 - off) & PSN_MASK ? (0 - off) & PSN_MASK :
				  PSN_MASK);
			for (pos = 0; pos < npkts; pos++) {
				one_case(&c, w, npkts, false, s, faults[f], pos,
					 "", 1);
				if (pos + 1 < npkts)
					reconnect(&c, off ? (0 - off) & PSN_MASK :
						  PSN_MASK);
			}
		}
	}
	end(&c);
}

#ifndef MATRIX_SHORT
/* Long enough for acknowledgments in the middle of a message. */
static void long_message(const void *arg)
{
	static const struct site req = { false, "tx", "op=request" };
	static const struct site resp = { true, "tx", "op=read_resp" };
	enum work w = *(const enum work *)arg;
	const struct site *s = w == READ ? &resp : &req;
	static const char * const faults[] = { "drop", "reorder=5", "corrupt" };
	struct ctx c;
	size_t f;
	int pos;

	begin(&c, 1024);
	for (f = 0; f < VT_ARRAY_SIZE(faults); f++)
		for (pos = 0; pos < LONG_PKTS; pos++)
			one_case(&c, w, LONG_PKTS, pos & 1, s, faults[f], pos,
				 "", 1);
	end(&c);
}

#endif

#define W(w) (&(const enum work){ w })
#define CASE(name, fn, w) { name, fn, W(w), 300 }

static const struct vt_test tests[] = {
	CASE("send_request", request_lost, SEND),
	CASE("send_imm_request", request_lost, SEND_IMM),
	CASE("write_request", request_lost, WRITE),
	CASE("write_imm_request", request_lost, WRITE_IMM),
	CASE("read_request", request_lost, READ),
	CASE("cas_request", request_lost, CAS),
	CASE("fadd_request", request_lost, FADD),
	CASE("read_response", response_lost, READ),
	CASE("cas_response", response_lost, CAS),
	CASE("fadd_response", response_lost, FADD),
	CASE("send_ack", ack_lost, SEND),
	CASE("send_imm_ack", ack_lost, SEND_IMM),
	CASE("write_ack", ack_lost, WRITE),
	CASE("write_imm_ack", ack_lost, WRITE_IMM),
	CASE("send_nak", nak_lost, SEND),
	CASE("write_nak", nak_lost, WRITE),
	CASE("read_nak", nak_lost, READ),
	CASE("fadd_nak", nak_lost, FADD),
	CASE("send_wrap", psn_wrap, SEND),
	CASE("write_imm_wrap", psn_wrap, WRITE_IMM),
	CASE("read_wrap", psn_wrap, READ),
	CASE("cas_wrap", psn_wrap, CAS),
	CASE("fadd_wrap", psn_wrap, FADD),
#ifndef MATRIX_SHORT
	CASE("send_long", long_message, SEND),
	CASE("write_long", long_message, WRITE),
	CASE("write_imm_long", long_message, WRITE_IMM),
	CASE("read_long", long_message, READ),
#endif
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
