// SPDX-License-Identifier: GPL-2.0
/*
 * Byte-exact data integrity with random work: operations, sizes (0 B to 16 MB),
 * scatter/gather splits (1 to 32 pieces), inline, immediate data, batches,
 * signalled and unsignalled, receives posted late (RNR), SRQ, IPv4 and IPv6,
 * path MTU 256 to 4096. A batch is posted by one end, waited for, then every
 * byte of every target window is compared: the pieces with what was sent, the
 * gaps and borders with a guard pattern. Completions must come exactly once, in
 * order, with the right opcode, length and immediate data.
 *
 * VT_SEED replays a run; VT_SECONDS (default 2) is the time for one case,
 * VT_MAX_LEN bounds a message and VT_ACK_TIMEOUT is the field of the Local ACK
 * Timeout (for lossy links), VT_FAMILY=4|6 overrides the family of the case's
 * addresses.
 */
#include <arpa/inet.h>
#include <unistd.h>

#include "vt.h"

#define REGION		(24u << 20)
#define MAX_LEN		(16u << 20)
#define UC_MAX_LEN	(256u << 10)
#define MAX_SGE		32
#define MAX_BATCH	16
#define INLINE_LEN	512
#define MIN_BATCHES	6
#define GUARD		0xa5
#define BORDER		32
#define GRH_LEN		40
#define KEYS		3

enum work { SEND, SEND_IMM, WRITE, WRITE_IMM, READ, CAS, FADD, OPS };

static const char * const op_names[OPS] = {
	"send", "send_imm", "write", "write_imm", "read", "cas", "fadd",
};

static const enum ibv_wr_opcode op_wr[OPS] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
};

static const enum ibv_wc_opcode op_wc[OPS] = {
	IBV_WC_SEND, IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE,
	IBV_WC_RDMA_READ, IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD,
};

/* A list of memory pieces and the window of the region they lie in. */
struct span {
	uint8_t *start, *end;
	int n;
	struct {
		uint8_t *p;
		uint32_t len;
		uint32_t lkey;
	} piece[MAX_SGE];
};

/* Registered memory, several keys for the same bytes. */
struct region {
	uint8_t *base, *next;
	struct ibv_mr *mr[KEYS];
};

struct node {
	struct vt_end end;
	struct vt_qp q;
	struct ibv_srq *srq;
	struct ibv_ah *ah;		/* UD: to the other node */
	struct region src, dst;
	uint32_t max_recv_sge;
};

/* One work request, what it reads and what it must leave behind. */
struct item {
	enum work op;
	uint32_t len;
	uint32_t skip;			/* GRH bytes before the data (UD) */
	struct span from, to;
	struct span recv;		/* posted receive, if any */
	bool has_recv, inlined, signalled;
	uint32_t imm;
	uint64_t old, operand, expect;	/* atomics */
	uint8_t copy[INLINE_LEN];
};

struct config {
	enum ibv_qp_type type;
	int family;
	enum ibv_mtu mtu;
	bool srq;
	bool big;			/* one 16 MB message of each operation */
};

struct run {
	const struct config *cfg;
	struct vt_rnd rnd;
	struct node node[2];
	struct item *items;
	uint32_t max_len;
	uint64_t wr_id;
	uint64_t count[OPS], bytes, batches, late;
};

static void region_init(struct run *r, struct node *n, struct region *reg)
{
	struct vt_buf b;
	int i;

	vt_buf_alloc(&n->end, &b, REGION, VT_ACCESS_ALL);
	reg->base = b.p;
	reg->mr[0] = b.mr;
	for (i = 1; i < KEYS; i++) {
		reg->mr[i] = ibv_reg_mr(n->end.pd, b.p, REGION, VT_ACCESS_ALL);
		VT_ASSERT(reg->mr[i], "%m");
	}
	vt_fill(&r->rnd, b.p, REGION);
}

static size_t region_room(const struct region *reg)
{
	return reg->base + REGION - reg->next;
}

/* Lay len bytes out in n pieces with random gaps between them. */
static void span_layout(struct run *r, struct region *reg, struct span *s,
			uint32_t len, int n)
{
	uint8_t *p = reg->next + BORDER + vt_rnd_below(&r->rnd, 64);
	uint32_t piece;
	int i;

	s->start = reg->next;
	s->n = n;
	for (i = 0; i < n; i++) {
		piece = i == n - 1 ? len : vt_rnd_below(&r->rnd, len + 1);
		/* uneven: often small pieces next to large ones */
		if (i < n - 1 && vt_rnd_below(&r->rnd, 2))
			piece = vt_rnd_below(&r->rnd, piece / 16 + 1);
		s->piece[i].p = p;
		s->piece[i].len = piece;
		s->piece[i].lkey = reg->mr[vt_rnd_below(&r->rnd, KEYS)]->lkey;
		p += piece + 1 + vt_rnd_below(&r->rnd, 24);
		len -= piece;
	}
	s->end = p + BORDER;
	reg->next = s->end;
}

/* One contiguous piece, aligned for atomics if asked. */
static void span_flat(struct run *r, struct region *reg, struct span *s,
		      uint32_t len, bool align)
{
	uint8_t *p;

	span_layout(r, reg, s, len, 1);
	if (align) {
		p = s->piece[0].p;
		s->piece[0].p = (uint8_t *)(((uintptr_t)p + 7) & ~(uintptr_t)7);
		s->end += 8;
		reg->next = s->end;
	}
}

static void span_guard(const struct span *s)
{
	memset(s->start, GUARD, s->end - s->start);
}

static void guard_check(const uint8_t *p, const uint8_t *end, const char *what)
{
	for (; p < end; p++)
		if (*p != GUARD)
			vt_fail(__FILE__, __LINE__,
				"%s: byte outside of the target was written", what);
}

/* Everything of a target window but its pieces is as it was. */
static void span_check_gaps(const struct span *s, const char *what)
{
	const uint8_t *p = s->start;
	int i;

	for (i = 0; i < s->n; i++) {
		guard_check(p, s->piece[i].p, what);
		p = s->piece[i].p + s->piece[i].len;
	}
	guard_check(p, s->end, what);
}

/* Compare len bytes of two piece lists, then the rest of 'to' with the guard. */
static void span_compare(const struct span *from, const struct span *to,
			 uint32_t skip, uint32_t len, const char *what)
{
	uint32_t fo = 0, to_off = skip, done = 0, n;
	int f = 0, t = 0;

	while (t < to->n && to_off >= to->piece[t].len && done < len + skip)
		to_off -= to->piece[t++].len;
	while (done < len) {
		while (f < from->n && fo == from->piece[f].len)
			fo = 0, f++;
		while (t < to->n && to_off == to->piece[t].len)
			to_off = 0, t++;
		VT_ASSERT(f < from->n && t < to->n, "%s: test is wrong", what);
		n = len - done;
		if (n > from->piece[f].len - fo)
			n = from->piece[f].len - fo;
		if (n > to->piece[t].len - to_off)
			n = to->piece[t].len - to_off;
		if (memcmp(from->piece[f].p + fo, to->piece[t].p + to_off, n))
			vt_fail(__FILE__, __LINE__,
				"%s of %u bytes: data differs in bytes %u to %u",
				what, len, done, done + n);
		fo += n;
		to_off += n;
		done += n;
	}
	for (; t < to->n; t++, to_off = 0)
		if (to_off < to->piece[t].len)
			guard_check(to->piece[t].p + to_off,
				    to->piece[t].p + to->piece[t].len, what);
}

static uint32_t log_below(struct run *r, uint32_t max)
{
	uint32_t top = 1;

	while (top < max && vt_rnd_below(&r->rnd, 8))
		top <<= 1;
	return vt_rnd_below(&r->rnd, (top < max ? top : max) + 1);
}

static uint32_t any_len(struct run *r)
{
	uint32_t mtu = vt_mtu_bytes(r->cfg->mtu), port;

	port = vt_mtu_bytes(r->node[0].end.port.active_mtu);
	if (r->cfg->type == IBV_QPT_UD && mtu > port)
		mtu = port;
	if (r->cfg->type == IBV_QPT_UD)
		return vt_rnd_below(&r->rnd, 4) ?
			vt_rnd_below(&r->rnd, mtu + 1) :
			mtu - vt_rnd_below(&r->rnd, 5);
	switch (vt_rnd_below(&r->rnd, 8)) {
	case 0:
		return vt_rnd_below(&r->rnd, 4) ? 1 : 0;
	case 1:
		return vt_rnd_below(&r->rnd, 17);
	case 2:
		return vt_rnd_below(&r->rnd, INLINE_LEN + 2);
	case 3:
		return mtu * (1 + vt_rnd_below(&r->rnd, 17)) - 1 +
			vt_rnd_below(&r->rnd, 3);
	case 4:
	case 5:
	case 6:
		return vt_rnd_below(&r->rnd, 64 << 10);
	default:
		return log_below(r, r->max_len);
	}
}

static uint32_t random_len(struct run *r)
{
	uint32_t len = any_len(r);

	return len < r->max_len ? len : r->max_len;
}

static enum work random_op(struct run *r, bool last)
{
	switch (r->cfg->type) {
	case IBV_QPT_UD:
		return vt_rnd_below(&r->rnd, 2);
	case IBV_QPT_UC:
		/* the receive completion of the last tells that all arrived */
		return last ? SEND : vt_rnd_below(&r->rnd, WRITE_IMM + 1);
	default:
		return vt_rnd_below(&r->rnd, OPS);
	}
}

static int random_pieces(struct run *r, uint32_t max)
{
	uint32_t n = vt_rnd_below(&r->rnd, 3) ?
		     1 + vt_rnd_below(&r->rnd, 4) :
		     1 + vt_rnd_below(&r->rnd, max);

	return n < max ? n : max;
}

static void plan_recv(struct run *r, struct node *rsp, struct item *it)
{
	uint32_t len = it->op == WRITE_IMM ? 16 : it->skip + it->len;

	len += vt_rnd_below(&r->rnd, 2) ? vt_rnd_below(&r->rnd, 100) : 0;
	span_layout(r, &rsp->dst, &it->recv, len,
		    random_pieces(r, rsp->max_recv_sge));
	span_guard(&it->recv);
	it->has_recv = true;
}

static void plan_atomic(struct run *r, struct node *req, struct node *rsp,
			struct item *it)
{
	it->len = 8;
	span_flat(r, &rsp->dst, &it->from, 8, true);
	span_flat(r, &req->dst, &it->to, 8, false);
	span_guard(&it->from);
	span_guard(&it->to);
	it->old = vt_rnd(&r->rnd);
	it->operand = vt_rnd(&r->rnd);
	memcpy(it->from.piece[0].p, &it->old, 8);
	it->expect = it->op == FADD ? it->old + it->operand : it->operand;
	/* half of the compares must fail: 'imm' tells which */
	it->imm = vt_rnd_below(&r->rnd, 2);
	if (it->op == CAS && it->imm)
		it->expect = it->old;
}

/* Choose one request and lay out its memory; false: no room for it. */
static bool plan_item(struct run *r, struct node *req, struct node *rsp,
		      struct item *it, enum work op, uint32_t len)
{
	size_t need = len + 4096;

	if (region_room(&req->src) < need || region_room(&req->dst) < need ||
	    region_room(&rsp->src) < need || region_room(&rsp->dst) < need)
		return false;
	memset(it, 0, offsetof(struct item, copy));
	it->op = op;
	it->len = len;
	it->imm = vt_rnd(&r->rnd);
	it->signalled = vt_rnd_below(&r->rnd, 2);
	it->skip = r->cfg->type == IBV_QPT_UD ? GRH_LEN : 0;
	switch (op) {
	case CAS:
	case FADD:
		plan_atomic(r, req, rsp, it);
		return true;
	case READ:
		span_flat(r, &rsp->src, &it->from, len, false);
		span_layout(r, &req->dst, &it->to, len,
			    random_pieces(r, MAX_SGE));
		span_guard(&it->to);
		return true;
	case WRITE:
	case WRITE_IMM:
		span_flat(r, &rsp->dst, &it->to, len, false);
		span_guard(&it->to);
		break;
	default:
		break;
	}
	span_layout(r, &req->src, &it->from, len, random_pieces(r, MAX_SGE));
	if (op != WRITE)
		plan_recv(r, rsp, it);
	it->inlined = len <= INLINE_LEN && vt_rnd_below(&r->rnd, 2);
	return true;
}

static int span_sges(const struct span *s, struct ibv_sge *sge)
{
	int i;

	for (i = 0; i < s->n; i++) {
		sge[i].addr = (uintptr_t)s->piece[i].p;
		sge[i].length = s->piece[i].len;
		sge[i].lkey = s->piece[i].lkey;
	}
	return s->n;
}

static void post_recv(struct node *rsp, const struct item *it, uint64_t wr_id)
{
	struct ibv_sge sge[MAX_SGE];
	struct ibv_recv_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = span_sges(&it->recv, sge),
	};
	int rc;

	rc = rsp->srq ? ibv_post_srq_recv(rsp->srq, &wr, &bad) :
			ibv_post_recv(rsp->q.qp, &wr, &bad);
	VT_ASSERT(!rc, "%s", strerror(rc));
}

/* The data of an inline request is the library's after posting: change it. */
static void inline_keep(struct item *it)
{
	uint32_t off = 0;
	int i;

	for (i = 0; i < it->from.n; i++) {
		memcpy(it->copy + off, it->from.piece[i].p,
		       it->from.piece[i].len);
		off += it->from.piece[i].len;
	}
}

static void inline_scribble(struct run *r, struct item *it)
{
	int i;

	for (i = 0; i < it->from.n; i++)
		vt_fill(&r->rnd, it->from.piece[i].p, it->from.piece[i].len);
	it->from.n = 1;
	it->from.piece[0].p = it->copy;
	it->from.piece[0].len = it->len;
}

static void wr_remote(struct item *it, struct ibv_send_wr *wr,
		      struct node *req, struct node *rsp)
{
	const struct span *remote = it->op >= READ ? &it->from : &it->to;
	uint64_t addr = (uintptr_t)remote->piece[0].p;
	uint32_t rkey = rsp->dst.mr[0]->rkey;

	if (req->ah) {
		wr->wr.ud.ah = req->ah;
		wr->wr.ud.remote_qpn = rsp->q.qp->qp_num;
		wr->wr.ud.remote_qkey = VT_QKEY;
		return;
	}
	if (it->op < WRITE)
		return;
	if (it->op == READ)
		rkey = rsp->src.mr[0]->rkey;
	if (it->op < CAS) {
		wr->wr.rdma.remote_addr = addr;
		wr->wr.rdma.rkey = rkey;
		return;
	}
	wr->wr.atomic.remote_addr = addr;
	wr->wr.atomic.rkey = rkey;
	if (it->op == FADD) {
		wr->wr.atomic.compare_add = it->operand;
	} else {
		wr->wr.atomic.compare_add = it->imm ? ~it->old : it->old;
		wr->wr.atomic.swap = it->operand;
	}
}

static void post_send(struct run *r, struct node *req, struct node *rsp,
		      struct item *it, uint64_t wr_id)
{
	const struct span *local = it->op >= READ ? &it->to : &it->from;
	struct ibv_sge sge[MAX_SGE];
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = span_sges(local, sge),
		.opcode = op_wr[it->op],
		.imm_data = htonl(it->imm),
		.send_flags = it->signalled ? IBV_SEND_SIGNALED : 0,
	};
	int rc;

	wr_remote(it, &wr, req, rsp);
	if (it->inlined) {
		wr.send_flags |= IBV_SEND_INLINE;
		inline_keep(it);
	}
	rc = ibv_post_send(req->q.qp, &wr, &bad);
	VT_ASSERT(!rc, "%s of %u bytes in %d pieces: %s", op_names[it->op],
		  it->len, wr.num_sge, strerror(rc));
	if (it->inlined)
		inline_scribble(r, it);
}

static void check_recv_wc(struct run *r, struct node *req, struct node *rsp,
			  const struct item *it, const struct ibv_wc *wc)
{
	bool imm = it->op == SEND_IMM || it->op == WRITE_IMM;

	VT_ASSERT(wc->opcode == (it->op == WRITE_IMM ?
				 IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV),
		  "opcode %d of a received %s", wc->opcode, op_names[it->op]);
	VT_ASSERT(wc->byte_len == it->len + it->skip,
		  "%u, sent %u", wc->byte_len, it->len);
	VT_ASSERT(!!(wc->wc_flags & IBV_WC_WITH_IMM) == imm, "%s flags %x",
		  op_names[it->op], wc->wc_flags);
	VT_ASSERT(!imm || ntohl(wc->imm_data) == it->imm, "%x, sent %x",
		  ntohl(wc->imm_data), it->imm);
	VT_ASSERT(wc->qp_num == rsp->q.qp->qp_num, "%u", wc->qp_num);
	if (r->cfg->type != IBV_QPT_UD)
		return;
	VT_ASSERT(wc->wc_flags & IBV_WC_GRH, "flags %x", wc->wc_flags);
	VT_ASSERT(wc->src_qp == req->q.qp->qp_num, "%u, sent by %u",
		  wc->src_qp, req->q.qp->qp_num);
}

static void wait_batch(struct run *r, struct node *req, struct node *rsp,
		       int n, uint64_t first)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < n; i++) {
		struct item *it = &r->items[i];

		if (it->has_recv) {
			VT_WANT_WC(rsp->q.rcq, first + i, IBV_WC_SUCCESS, &wc);
			check_recv_wc(r, req, rsp, it, &wc);
		}
		if (it->signalled) {
			VT_WANT_WC(req->q.scq, first + i, IBV_WC_SUCCESS, &wc);
			VT_ASSERT(wc.opcode == op_wc[it->op], "%d for %s",
				  wc.opcode, op_names[it->op]);
		}
	}
	VT_WANT_NONE(req->q.scq, 0);
	VT_WANT_NONE(rsp->q.rcq, 0);
	VT_WANT_NONE(rsp->q.scq, 0);
}

static void check_grh(const struct item *it, const struct node *req,
		      const struct node *rsp)
{
	uint8_t grh[GRH_LEN];
	uint32_t off = 0, n;
	int i;

	for (i = 0; i < it->recv.n && off < GRH_LEN; i++) {
		n = it->recv.piece[i].len;
		n = n < GRH_LEN - off ? n : GRH_LEN - off;
		memcpy(grh + off, it->recv.piece[i].p, n);
		off += n;
	}
	if (req->end.family == 6) {
		VT_ASSERT(!memcmp(grh + 8, req->end.gid.raw, 16), "GRH source");
		VT_ASSERT(!memcmp(grh + 24, rsp->end.gid.raw, 16), "GRH dest");
		return;
	}
	VT_ASSERT(grh[20] == 0x45, "IPv4 header in the GRH starts with %x",
		  grh[20]);
	VT_ASSERT(!memcmp(grh + 32, req->end.gid.raw + 12, 4), "GRH source");
	VT_ASSERT(!memcmp(grh + 36, rsp->end.gid.raw + 12, 4), "GRH dest");
}

static void check_atomic(const struct item *it)
{
	uint64_t got;

	memcpy(&got, it->to.piece[0].p, 8);
	VT_ASSERT(got == it->old, "%s returned %llx, the value was %llx",
		  op_names[it->op], (unsigned long long)got,
		  (unsigned long long)it->old);
	memcpy(&got, it->from.piece[0].p, 8);
	VT_ASSERT(got == it->expect, "%s left %llx, want %llx",
		  op_names[it->op], (unsigned long long)got,
		  (unsigned long long)it->expect);
	span_check_gaps(&it->from, op_names[it->op]);
	span_check_gaps(&it->to, op_names[it->op]);
}

static void check_item(struct run *r, struct node *req, struct node *rsp,
		       const struct item *it)
{
	const struct span *to = it->op < WRITE ? &it->recv : &it->to;
	const char *what = op_names[it->op];

	r->count[it->op]++;
	r->bytes += it->len;
	if (it->op >= CAS) {
		check_atomic(it);
		return;
	}
	span_compare(&it->from, to, it->skip, it->len, what);
	span_check_gaps(to, what);
	if (it->skip)
		check_grh(it, req, rsp);
	if (it->op == WRITE_IMM)	/* the receive's memory stays untouched */
		guard_check(it->recv.start, it->recv.end, what);
}

static void region_rewind(struct node *n)
{
	n->src.next = n->src.base;
	n->dst.next = n->dst.base;
}

static void post_recvs(struct run *r, struct node *rsp, int n, uint64_t first)
{
	int i;

	for (i = 0; i < n; i++)
		if (r->items[i].has_recv)
			post_recv(rsp, &r->items[i], first + i);
}

/* Post n planned items in one go, wait, check. */
static void run_batch(struct run *r, struct node *req, struct node *rsp, int n)
{
	bool late = r->cfg->type == IBV_QPT_RC && !vt_rnd_below(&r->rnd, 12);
	uint64_t first = r->wr_id;
	int i;

	r->wr_id += n;
	r->items[n - 1].signalled = true;
	if (!late)
		post_recvs(r, rsp, n, first);
	for (i = 0; i < n; i++)
		post_send(r, req, rsp, &r->items[i], first + i);
	if (late) {
		usleep(3000);
		post_recvs(r, rsp, n, first);
	}
	wait_batch(r, req, rsp, n, first);
	for (i = 0; i < n; i++)
		check_item(r, req, rsp, &r->items[i]);
	r->batches++;
	r->late += late;
}

static void random_batch(struct run *r)
{
	int dir = vt_rnd_below(&r->rnd, 2);
	struct node *req = &r->node[dir], *rsp = &r->node[!dir];
	int want = 1 + vt_rnd_below(&r->rnd, MAX_BATCH), n;

	region_rewind(req);
	region_rewind(rsp);
	for (n = 0; n < want; n++)
		if (!plan_item(r, req, rsp, &r->items[n],
			       random_op(r, n == want - 1), random_len(r)))
			break;
	/* a UC batch cut short must end with a SEND as well */
	if (n && r->cfg->type == IBV_QPT_UC && r->items[n - 1].op != SEND) {
		region_rewind(req);
		region_rewind(rsp);
		n = plan_item(r, req, rsp, &r->items[0], SEND, random_len(r));
	}
	if (n)
		run_batch(r, req, rsp, n);
}

static void big_batches(struct run *r)
{
	static const enum work ops[] = { SEND, SEND_IMM, WRITE, WRITE_IMM, READ };
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(ops); i++) {
		region_rewind(&r->node[0]);
		region_rewind(&r->node[1]);
		VT_ASSERT(plan_item(r, &r->node[i & 1], &r->node[!(i & 1)],
				    &r->items[0], ops[i], MAX_LEN), "room");
		run_batch(r, &r->node[i & 1], &r->node[!(i & 1)], 1);
	}
}

static void node_up(struct run *r, struct node *n, enum vt_side side)
{
	const char *family = getenv("VT_FAMILY");
	const struct config *c = r->cfg;
	struct vt_qp_cfg cfg = {
		.type = c->type, .send_sge = MAX_SGE, .recv_sge = MAX_SGE,
		.inline_data = INLINE_LEN,
	};

	vt_open(&n->end, side, family ? atoi(family) : c->family);
	region_init(r, n, &n->src);
	region_init(r, n, &n->dst);
	n->max_recv_sge = MAX_SGE;
	if (c->srq) {
		struct ibv_srq_init_attr init = { .attr.max_wr = 64 };

		if (n->end.attr.max_srq_sge < MAX_SGE)
			n->max_recv_sge = n->end.attr.max_srq_sge;
		init.attr.max_sge = n->max_recv_sge;
		n->srq = ibv_create_srq(n->end.pd, &init);
		VT_ASSERT(n->srq, "%m");
		cfg.srq = n->srq;
	}
	vt_qp_create(&n->end, &n->q, &cfg);
}

static void node_down(struct node *n)
{
	int i;

	if (n->ah)
		VT_EXPECT(!ibv_destroy_ah(n->ah), "%m");
	vt_qp_destroy(&n->q);
	if (n->srq)
		VT_EXPECT(!ibv_destroy_srq(n->srq), "%m");
	for (i = 0; i < KEYS; i++) {
		VT_EXPECT(!ibv_dereg_mr(n->src.mr[i]), "%m");
		VT_EXPECT(!ibv_dereg_mr(n->dst.mr[i]), "%m");
	}
	vt_close(&n->end);
}

static void report(struct run *r)
{
	char line[256];
	int i, len = 0;

	for (i = 0; i < OPS; i++)
		if (r->count[i])
			len += snprintf(line + len, sizeof(line) - len,
					" %s %llu", op_names[i],
					(unsigned long long)r->count[i]);
	vt_note("%llu batches, %llu bytes, late receives %llu:%s",
		(unsigned long long)r->batches, (unsigned long long)r->bytes,
		(unsigned long long)r->late, line);
}

static void integrity(const void *arg)
{
	const char *seed = getenv("VT_SEED"), *secs = getenv("VT_SECONDS");
	const char *max_len = getenv("VT_MAX_LEN");
	const char *timeout = getenv("VT_ACK_TIMEOUT");
	struct run r = { .cfg = arg };
	struct vt_conn conn = { .mtu = r.cfg->mtu, .min_rnr_timer = 12,
				.timeout = timeout ? atoi(timeout) : 0 };
	uint64_t until;

	r.rnd.s = seed ? strtoull(seed, NULL, 0) : vt_now_us() * 2654435761u + 1;
	r.max_len = max_len ? strtoul(max_len, NULL, 0) :
		    r.cfg->type == IBV_QPT_UC ? UC_MAX_LEN : MAX_LEN;
	vt_note("seed %#llx", (unsigned long long)r.rnd.s);
	r.items = calloc(MAX_BATCH, sizeof(*r.items));
	VT_ASSERT(r.items, "%m");
	node_up(&r, &r.node[0], VT_A);
	node_up(&r, &r.node[1], VT_B);
	vt_connect(&r.node[0].q, &r.node[1].q, &conn);
	if (r.cfg->type == IBV_QPT_UD) {
		r.node[0].ah = vt_ah(&r.node[0].end, &r.node[1].end);
		r.node[1].ah = vt_ah(&r.node[1].end, &r.node[0].end);
	}
	if (r.cfg->big)
		big_batches(&r);
	until = vt_now_us() + (secs ? atoi(secs) : 2) * 1000000ull;
	while (!r.cfg->big && (vt_now_us() < until || r.batches < MIN_BATCHES))
		random_batch(&r);
	report(&r);
	node_down(&r.node[0]);
	node_down(&r.node[1]);
}

#define CASE(label, ...) { \
	.name = label, \
	.fn = integrity, \
	.arg = &(const struct config){ __VA_ARGS__ }, \
	.timeout_s = 120, \
}

static const struct vt_test tests[] = {
	CASE("rc_16M_v4_mtu_1024", IBV_QPT_RC, 4, IBV_MTU_1024, .big = true),
	CASE("rc_16M_v6_mtu_4096", IBV_QPT_RC, 6, IBV_MTU_4096, .big = true),
	CASE("rc_v4_mtu_256", IBV_QPT_RC, 4, IBV_MTU_256),
	CASE("rc_v6_mtu_512", IBV_QPT_RC, 6, IBV_MTU_512),
	CASE("rc_v4_mtu_1024", IBV_QPT_RC, 4, IBV_MTU_1024),
	CASE("rc_v6_mtu_1024", IBV_QPT_RC, 6, IBV_MTU_1024),
	CASE("rc_v4_mtu_2048", IBV_QPT_RC, 4, IBV_MTU_2048),
	CASE("rc_v6_mtu_4096", IBV_QPT_RC, 6, IBV_MTU_4096),
	CASE("rc_v4_mtu_4096", IBV_QPT_RC, 4, IBV_MTU_4096),
	CASE("rc_srq_v4_mtu_1024", IBV_QPT_RC, 4, IBV_MTU_1024, .srq = true),
	CASE("uc_v4_mtu_1024", IBV_QPT_UC, 4, IBV_MTU_1024),
	CASE("uc_v6_mtu_4096", IBV_QPT_UC, 6, IBV_MTU_4096),
	CASE("uc_v4_mtu_256", IBV_QPT_UC, 4, IBV_MTU_256),
	CASE("ud_v4", IBV_QPT_UD, 4, IBV_MTU_4096),
	CASE("ud_v6", IBV_QPT_UD, 6, IBV_MTU_4096),
	CASE("ud_srq_v4", IBV_QPT_UD, 4, IBV_MTU_4096, .srq = true),
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
