// SPDX-License-Identifier: GPL-2.0
/*
 * Runs every row of the tables in Documentation/transport.rst: brings both ends
 * into the states that the row names, makes the event happen, and compares the
 * packets, completions, asynchronous events, states and memory with the row.
 * What a stock requester or responder would not send is written as raw packets.
 * How to read a row is explained there.
 */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "rst.h"
#include "vt.h"
#include "wire.h"

#define BUF_LEN 16384
#define RECV_OFF 8192		/* receives lie behind the target of RDMA */
#define LEN 64
#define TEXT 400

/* Columns of transport-rc, -uc and -ud. */
enum {
	C_REQUEST, C_A, C_B, C_COND, C_ANSWER, C_ACQE, C_ASTATE, C_BCQE,
	C_BEVENT, C_BSTATE, C_MEM,
};

/* Columns of transport-responses. */
enum { R_REQUEST, R_A, R_COND, R_SCRIPT, R_RESENT, R_ACQE, R_ASTATE };

/* One run of one row: a row with alternatives is run once for each. */
struct job {
	const struct rst_row *row;
	int family;
	char request[RST_CELL], a[RST_CELL], b[RST_CELL];
};

struct run {
	const struct job *job;
	enum ibv_qp_type type;
	struct vt_pair p;
	struct vt_qp ghost;		/* the end that is written raw */
	struct ibv_qp ghost_qp;
	struct wire wire;
	struct vt_conn ca, cb;
	struct ibv_pd *pd2;
	struct ibv_mr *mr2;
	struct ibv_mw *mw;
	struct vt_qp other;		/* of B */
	struct ibv_ah *ah;
	/* the request */
	enum ibv_wr_opcode op;
	uint64_t raddr;
	uint32_t rkey, lkey, len, qkey;
	uint8_t *laddr;
	/* receives of B */
	int recvs;
	uint32_t recv_len, recv_lkey;
	int64_t psn_base;	/* what "psn" is relative to; -1: the next */
	uint8_t before[BUF_LEN];	/* B's memory, before the request */
};

static int row_line;		/* of the row that runs */

/* --- words of the tables ------------------------------------------------ */

static const char * const state_names[] = {
	[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT",
	[IBV_QPS_RTR] = "RTR", [IBV_QPS_RTS] = "RTS", [IBV_QPS_SQD] = "SQD",
	[IBV_QPS_SQE] = "SQE", [IBV_QPS_ERR] = "ERR",
};

static enum ibv_qp_state state_of(const char *name)
{
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(state_names); i++)
		if (!strcmp(state_names[i], name))
			return i;
	vt_fail(__FILE__, __LINE__, "no state '%s'", name);
}

static const struct {
	const char *name;
	enum ibv_wr_opcode op;
} op_names[] = {
	{ "send", IBV_WR_SEND },
	{ "send_imm", IBV_WR_SEND_WITH_IMM },
	{ "write", IBV_WR_RDMA_WRITE },
	{ "write_imm", IBV_WR_RDMA_WRITE_WITH_IMM },
	{ "read", IBV_WR_RDMA_READ },
	{ "cas", IBV_WR_ATOMIC_CMP_AND_SWP },
	{ "fadd", IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ "atomic_write", IBV_WR_ATOMIC_WRITE },
};

static enum ibv_wr_opcode op_of(const char *name)
{
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(op_names); i++)
		if (!strcmp(op_names[i].name, name))
			return op_names[i].op;
	vt_fail(__FILE__, __LINE__, "no operation '%s'", name);
}

/* Operations whose length is no choice. */
static bool eight_bytes(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       op == IBV_WR_ATOMIC_FETCH_AND_ADD || op == IBV_WR_ATOMIC_WRITE;
}

static const char *status_name(enum ibv_wc_status s)
{
	static const char * const names[] = {
		[IBV_WC_SUCCESS] = "SUCCESS",
		[IBV_WC_LOC_LEN_ERR] = "LOC_LEN_ERR",
		[IBV_WC_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
		[IBV_WC_LOC_PROT_ERR] = "LOC_PROT_ERR",
		[IBV_WC_WR_FLUSH_ERR] = "FLUSH",
		[IBV_WC_BAD_RESP_ERR] = "BAD_RESP_ERR",
		[IBV_WC_LOC_ACCESS_ERR] = "LOC_ACCESS_ERR",
		[IBV_WC_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
		[IBV_WC_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
		[IBV_WC_REM_OP_ERR] = "REM_OP_ERR",
		[IBV_WC_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
		[IBV_WC_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
	};

	return s < VT_ARRAY_SIZE(names) && names[s] ? names[s] : "?";
}

static const char *event_name(enum ibv_event_type t)
{
	switch (t) {
	case IBV_EVENT_QP_FATAL:
		return "QP_FATAL";
	case IBV_EVENT_QP_REQ_ERR:
		return "QP_REQ_ERR";
	case IBV_EVENT_QP_ACCESS_ERR:
		return "QP_ACCESS_ERR";
	case IBV_EVENT_COMM_EST:
		return "COMM_EST";
	case IBV_EVENT_SQ_DRAINED:
		return "SQ_DRAINED";
	default:
		return ibv_event_type_str(t);
	}
}

/* "a, b" grows by "c"; text that is there already as the last word may not
 * be added again.
 */
static void add_text(char *list, const char *text, bool once)
{
	const char *last = strrchr(list, ',');
	size_t used = strlen(list);

	last = last ? last + 2 : list;
	if (once && !strcmp(last, text))
		return;
	VT_ASSERT(used + strlen(text) + 3 < TEXT, "%s", list);
	snprintf(list + used, TEXT - used, "%s%s", used ? ", " : "", text);
}

static void packet_text(const struct wire_pkt *pkt, uint32_t psn0, char *list,
			bool once)
{
	static const char * const naks[] = { "nak_seq", "nak_inv", "nak_access",
					     "nak_op" };
	const char *name = wire_op_name(pkt->opcode);
	int rel = (int32_t)((pkt->psn - psn0) << 8) >> 8;
	char text[60], nak[12];

	if ((pkt->opcode & 0x1f) == W_ACK) {
		snprintf(nak, sizeof(nak), "nak_%u", pkt->syn & 31);
		if ((pkt->syn & 0xe0) == 0x20)
			name = "rnr";
		else if ((pkt->syn & 0xe0) == 0x60)
			name = (pkt->syn & 31) < 4 ? naks[pkt->syn & 31] : nak;
		else if (pkt->syn & 0xe0)
			name = "reserved";
	}
	snprintf(text, sizeof(text), "%s %d", name ? name : "?", rel);
	add_text(list, text, once);
}

static void want_text(const char *what, const char *got, const char *want)
{
	if (!strcmp(want, "-"))
		return;
	if (!*got)
		got = "none";
	if (strcmp(got, want))
		vt_expect_failed("Documentation/transport.rst", row_line,
				 "%s: got '%s', the table says '%s'",
				 what, got, want);
}

/* --- conditions --------------------------------------------------------- */

struct cond {
	const char *name;
	void (*early)(struct run *r);	/* before the QPs are connected */
	void (*late)(struct run *r);	/* when memory and request are ready */
};

static void no_receive(struct run *r)
{
	r->recvs = 0;
}

static void one_receive(struct run *r)
{
	r->recvs = 1;
}

static void qp_no_rights(struct run *r)
{
	r->cb.access = -1;
}

static void depth_0(struct run *r)
{
	r->cb.rd_atomic = -1;
}

static void depth_1(struct run *r)
{
	r->cb.rd_atomic = 1;
}

static void retry_0(struct run *r)
{
	r->ca.retry_cnt = -1;
}

static void retry_2(struct run *r)
{
	r->ca.retry_cnt = 2;
	r->ca.timeout = 13;
}

static void rnr_0(struct run *r)
{
	r->ca.rnr_retry = -1;
}

static void rnr_2(struct run *r)
{
	r->ca.rnr_retry = 2;
	r->cb.min_rnr_timer = 1;
}

static void recv_short(struct run *r)
{
	r->recv_len = r->len - 1;
}

static void recv_key(struct run *r)
{
	r->recv_lkey ^= 0x5500;
}

static void key_index(struct run *r)
{
	r->rkey ^= 0x770000;
}

static void key_byte(struct run *r)
{
	r->rkey ^= 0x77;
}

static void beyond_end(struct run *r)
{
	r->raddr += BUF_LEN - r->len / 16 * 8;
}

static void below_start(struct run *r)
{
	r->raddr -= 8;
}

static void wraps(struct run *r)
{
	r->raddr = (uint64_t)-8;
}

static void misaligned(struct run *r)
{
	r->raddr += 1;
}

static void local_key(struct run *r)
{
	r->lkey ^= 0x5500;
}

static void too_long(struct run *r)
{
	r->len = 0x80000001;
}

static void qkey_bad(struct run *r)
{
	r->qkey ^= 1;
}

static void qkey_own(struct run *r)
{
	r->qkey = 0x80000000;
}

static void local_end(struct run *r)
{
	r->laddr = r->p.ba.p + BUF_LEN - r->len + 1;
}

static void empty(struct run *r)
{
	r->len = 0;
	r->raddr = 0xdeadbeef000;
	r->rkey = 0x12345678;
}

static void packets_3(struct run *r)
{
	r->len = 2 * vt_mtu_bytes(r->p.ea.port.active_mtu) + 100;
	r->recv_len = r->len;
}

static struct ibv_mr *again(struct vt_end *e, struct vt_buf *b,
			    struct ibv_pd *pd, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, b->p, b->len, access);

	(void)e;
	VT_ASSERT(mr, "%m");
	return mr;
}

/* Another region over the same bytes, in @pd or with @access only. */
static struct ibv_mr *second(struct run *r, struct vt_end *e, struct vt_buf *b,
			     bool other_pd, int access)
{
	if (other_pd) {
		r->pd2 = ibv_alloc_pd(e->ctx);
		VT_ASSERT(r->pd2, "%m");
	}
	r->mr2 = again(e, b, other_pd ? r->pd2 : e->pd, access);
	return r->mr2;
}

static void mr_other_pd(struct run *r)
{
	r->rkey = second(r, &r->p.eb, &r->p.bb, true, VT_ACCESS_ALL)->rkey;
}

static void mr_no_rights(struct run *r)
{
	r->rkey = second(r, &r->p.eb, &r->p.bb, false,
			 IBV_ACCESS_LOCAL_WRITE)->rkey;
}

static void mr_gone(struct run *r)
{
	r->rkey = second(r, &r->p.eb, &r->p.bb, false, VT_ACCESS_ALL)->rkey;
	VT_ASSERT(!ibv_dereg_mr(r->mr2), "%m");
	r->mr2 = NULL;
}

static void recv_other_pd(struct run *r)
{
	r->recv_lkey = second(r, &r->p.eb, &r->p.bb, true,
			      VT_ACCESS_ALL)->lkey;
}

static void recv_read_only(struct run *r)
{
	r->recv_lkey = second(r, &r->p.eb, &r->p.bb, false, 0)->lkey;
}

static void local_other_pd(struct run *r)
{
	r->lkey = second(r, &r->p.ea, &r->p.ba, true, VT_ACCESS_ALL)->lkey;
}

static void local_read_only(struct run *r)
{
	r->lkey = second(r, &r->p.ea, &r->p.ba, false, 0)->lkey;
}

/* --- states --------------------------------------------------------------- */

static void to_state(struct vt_qp *q, struct vt_qp *peer,
		     const struct vt_conn *conn, enum ibv_qp_state state)
{
	int rc;

	if (state == IBV_QPS_RESET)
		return;
	rc = vt_to_init(q, conn->access);
	VT_ASSERT(!rc, "INIT: %s", strerror(rc));
	if (state == IBV_QPS_INIT)
		return;
	rc = vt_to_rtr(q, peer, conn);
	VT_ASSERT(!rc, "RTR: %s", strerror(rc));
	if (state == IBV_QPS_RTR)
		return;
	rc = vt_to_rts(q, conn);
	VT_ASSERT(!rc, "RTS: %s", strerror(rc));
	if (state == IBV_QPS_SQD) {
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };

		rc = ibv_modify_qp(q->qp, &attr, IBV_QP_STATE);
		VT_ASSERT(!rc, "SQD: %s", strerror(rc));
	}
	if (state == IBV_QPS_ERR)
		VT_ASSERT(!vt_to_err(q), "ERR");
}

/* --- memory windows ------------------------------------------------------ */

static void want_bound(struct vt_qp *q, int rc)
{
	struct ibv_wc wc;

	VT_ASSERT(!rc, "bind: %s", strerror(rc));
	VT_WANT_WC(q->scq, 70, IBV_WC_SUCCESS, &wc);
}

/* The request goes through a window over @len bytes of B's memory. */
static void window(struct run *r, struct vt_qp *q, enum ibv_mw_type type,
		   size_t len, int access)
{
	struct ibv_mw_bind bind = { .wr_id = 70,
				    .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 70, .opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
	};

	r->mr2 = again(&r->p.eb, &r->p.bb, r->p.eb.pd,
		       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	r->mw = ibv_alloc_mw(r->p.eb.pd, type);
	VT_ASSERT(r->mw, "%m");
	bind.bind_info = (struct ibv_mw_bind_info){ r->mr2, r->raddr, len,
						    access };
	if (type == IBV_MW_TYPE_1) {
		want_bound(q, ibv_bind_mw(q->qp, r->mw, &bind));
		r->rkey = r->mw->rkey;
		return;
	}
	r->rkey = ibv_inc_rkey(r->mw->rkey);
	wr.bind_mw.mw = r->mw;
	wr.bind_mw.rkey = r->rkey;
	wr.bind_mw.bind_info = bind.bind_info;
	want_bound(q, ibv_post_send(q->qp, &wr, &bad));
}

#define MW_ALL (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		IBV_ACCESS_REMOTE_ATOMIC)

/* All rights but the one that the request needs. */
static int other_rights(struct run *r)
{
	switch (r->op) {
	case IBV_WR_RDMA_READ:
		return MW_ALL & ~IBV_ACCESS_REMOTE_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return MW_ALL & ~IBV_ACCESS_REMOTE_ATOMIC;
	default:
		return MW_ALL & ~IBV_ACCESS_REMOTE_WRITE;
	}
}

static void window_1(struct run *r)
{
	window(r, &r->p.b, IBV_MW_TYPE_1, r->len, MW_ALL);
}

static void window_2(struct run *r)
{
	window(r, &r->p.b, IBV_MW_TYPE_2, r->len, MW_ALL);
}

static void window_1_short(struct run *r)
{
	window(r, &r->p.b, IBV_MW_TYPE_1, r->len - 1, MW_ALL);
}

static void window_2_short(struct run *r)
{
	window(r, &r->p.b, IBV_MW_TYPE_2, r->len - 1, MW_ALL);
}

static void window_1_right(struct run *r)
{
	window(r, &r->p.b, IBV_MW_TYPE_1, r->len, other_rights(r));
}

static void window_2_right(struct run *r)
{
	window(r, &r->p.b, IBV_MW_TYPE_2, r->len, other_rights(r));
}

static void window_gone(struct run *r)
{
	window_1(r);
	VT_ASSERT(!ibv_dealloc_mw(r->mw), "%m");
	r->mw = NULL;
}

static void window_old_key(struct run *r)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 70, .opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
	};

	window_2(r);
	wr.invalidate_rkey = r->rkey;
	want_bound(&r->p.b, ibv_post_send(r->p.b.qp, &wr, &bad));
}

static void window_by_other(struct run *r, enum ibv_mw_type type)
{
	vt_qp_create(&r->p.eb, &r->other, NULL);
	to_state(&r->other, &r->other, &r->cb, IBV_QPS_RTS);
	window(r, &r->other, type, r->len, MW_ALL);
}

static void window_1_other(struct run *r)
{
	window_by_other(r, IBV_MW_TYPE_1);
}

static void window_2_other(struct run *r)
{
	window_by_other(r, IBV_MW_TYPE_2);
}

static const struct cond conds[] = {
	{ "no receive", no_receive, NULL },
	{ "one receive", one_receive, NULL },
	{ "QP without rights", qp_no_rights, NULL },
	{ "responder depth 0", depth_0, NULL },
	{ "responder depth 1", depth_1, NULL },
	{ "retry 0", retry_0, NULL },
	{ "retry 2", retry_2, NULL },
	{ "RNR retry 0", rnr_0, NULL },
	{ "RNR retry 2", rnr_2, NULL },
	{ "3 packets", NULL, packets_3 },
	{ "receive too short", NULL, recv_short },
	{ "receive with a wrong key", NULL, recv_key },
	{ "receive of another PD", NULL, recv_other_pd },
	{ "receive in a read-only MR", NULL, recv_read_only },
	{ "wrong key index", NULL, key_index },
	{ "wrong key byte", NULL, key_byte },
	{ "beyond the end", NULL, beyond_end },
	{ "below the start", NULL, below_start },
	{ "address wraps", NULL, wraps },
	{ "misaligned", NULL, misaligned },
	{ "empty", NULL, empty },
	{ "MR of another PD", NULL, mr_other_pd },
	{ "MR without rights", NULL, mr_no_rights },
	{ "MR gone", NULL, mr_gone },
	{ "window 1", NULL, window_1 },
	{ "window 2", NULL, window_2 },
	{ "window 1 of another QP", NULL, window_1_other },
	{ "window 2 of another QP", NULL, window_2_other },
	{ "window 1 too short", NULL, window_1_short },
	{ "window 2 too short", NULL, window_2_short },
	{ "window 1 without the right", NULL, window_1_right },
	{ "window 2 without the right", NULL, window_2_right },
	{ "window 1 gone", NULL, window_gone },
	{ "window 2 invalidated", NULL, window_old_key },
	{ "wrong local key", NULL, local_key },
	{ "local MR of another PD", NULL, local_other_pd },
	{ "local MR read-only", NULL, local_read_only },
	{ "beyond the local end", NULL, local_end },
	{ "longer than 2^31", NULL, too_long },
	{ "wrong Q_Key", NULL, qkey_bad },
	{ "Q_Key with top bit", NULL, qkey_own },
};

/* Apply the comma-separated conditions of a cell, the early or late halves. */
static void apply_conds(struct run *r, const char *cell, bool early)
{
	char name[RST_CELL];
	size_t i, len;

	while (*cell && strcmp(cell, "-")) {
		len = strcspn(cell, ",");
		snprintf(name, sizeof(name), "%.*s", (int)len, cell);
		for (i = 0; i < VT_ARRAY_SIZE(conds); i++)
			if (!strcmp(conds[i].name, name))
				break;
		VT_ASSERT(i < VT_ARRAY_SIZE(conds), "no condition '%s'", name);
		if (early && conds[i].early)
			conds[i].early(r);
		if (!early && conds[i].late)
			conds[i].late(r);
		cell += len;
		cell += strspn(cell, ", ");
	}
}

/* --- setting up --------------------------------------------------------- */

static void check_rights(struct vt_conn *c, enum ibv_qp_type type)
{
	if (type == IBV_QPT_UC && c->access >= 0)
		c->access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
}

static void open_ends(struct run *r)
{
	struct vt_qp_cfg cfg = { .type = r->type };

	if (strstr(r->job->request, "atomic_write")) {
		cfg.ex_ops = IBV_QP_EX_WITH_ATOMIC_WRITE |
			     IBV_QP_EX_WITH_SEND;
		cfg.inline_data = 64;
	}
	vt_open(&r->p.ea, VT_A, r->job->family);
	vt_open(&r->p.eb, VT_B, r->job->family);
	vt_buf_alloc(&r->p.ea, &r->p.ba, BUF_LEN, VT_ACCESS_ALL);
	vt_buf_alloc(&r->p.eb, &r->p.bb, BUF_LEN, VT_ACCESS_ALL);
	memset(r->p.ba.p, 0x5a, BUF_LEN);
	vt_qp_create(&r->p.ea, &r->p.a, &cfg);
	vt_qp_create(&r->p.eb, &r->p.b, &cfg);
	r->p.a.psn = 0xfffffe;		/* wraps in the first message */
	r->p.b.psn = 0x123456;
}

/* A number that no QP has: the end that the test plays itself. */
static void make_ghost(struct run *r, struct vt_qp *real)
{
	r->ghost_qp = *real->qp;
	r->ghost = *real;
	r->ghost.qp = &r->ghost_qp;
	vt_qp_destroy(real);
	real->qp = NULL;
}

static void post_recvs(struct run *r)
{
	int i, rc;

	for (i = 0; i < r->recvs; i++) {
		rc = vt_recv(&r->p.b, 100 + i, r->p.bb.p + RECV_OFF,
			     r->recv_len, r->recv_lkey);
		VT_ASSERT(!rc, "%s", strerror(rc));
	}
}

static int post_atomic_write(struct run *r, uint64_t id)
{
	struct ibv_qp_ex *qx = ibv_qp_to_qp_ex(r->p.a.qp);

	ibv_wr_start(qx);
	qx->wr_id = id;
	qx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(qx, r->rkey, r->raddr, r->laddr);
	return ibv_wr_complete(qx);
}

static int post_request(struct run *r, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)r->laddr, r->len, r->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = r->len ? 1 : 0,
		.opcode = r->op, .send_flags = IBV_SEND_SIGNALED,
	};

	if (r->type == IBV_QPT_UD) {
		wr.wr.ud.ah = r->ah;
		wr.wr.ud.remote_qpn = r->p.b.qp ? r->p.b.qp->qp_num :
						  r->ghost_qp.qp_num;
		wr.wr.ud.remote_qkey = r->qkey;
		return ibv_post_send(r->p.a.qp, &wr, &bad);
	}
	if (r->op == IBV_WR_ATOMIC_WRITE)
		return post_atomic_write(r, id);
	return vt_post(&r->p.a, r->op, id, r->len ? r->laddr : NULL, r->len,
		       r->lkey, r->raddr, r->rkey, IBV_SEND_SIGNALED);
}

static void defaults(struct run *r, const struct job *job)
{
	const char *t = job->row->table;

	memset(r, 0, sizeof(*r));
	r->job = job;
	r->type = strstr(t, "-uc") ? IBV_QPT_UC :
		  strstr(t, "-ud") ? IBV_QPT_UD : IBV_QPT_RC;
	r->recvs = 2;
	r->recv_len = r->type == IBV_QPT_UD ? LEN + 40 : LEN;
	r->len = LEN;
	r->qkey = VT_QKEY;
	r->ca.timeout = 15;
	r->psn_base = -1;
}

static void ready_memory(struct run *r)
{
	r->laddr = r->p.ba.p;
	r->lkey = r->p.ba.mr->lkey;
	r->raddr = (uintptr_t)r->p.bb.p;
	r->rkey = r->p.bb.mr->rkey;
	r->recv_lkey = r->p.bb.mr->lkey;
}

static void close_all(struct run *r)
{
	wire_close(&r->wire);
	if (r->ah)
		ibv_destroy_ah(r->ah);
	if (r->p.a.qp)
		vt_qp_destroy(&r->p.a);
	if (r->p.b.qp)
		vt_qp_destroy(&r->p.b);
	if (r->other.qp)
		vt_qp_destroy(&r->other);
	if (r->mw)
		VT_EXPECT(!ibv_dealloc_mw(r->mw), "%m");
	if (r->mr2)
		ibv_dereg_mr(r->mr2);
	if (r->pd2)
		ibv_dealloc_pd(r->pd2);
	vt_buf_free(&r->p.ba);
	vt_buf_free(&r->p.bb);
	vt_close(&r->p.ea);
	vt_close(&r->p.eb);
}

/* --- results ------------------------------------------------------------ */

static void add_cqe(char *list, const struct ibv_wc *wc)
{
	char text[60];

	if (wc->status == IBV_WC_SUCCESS || wc->status == IBV_WC_WR_FLUSH_ERR)
		snprintf(text, sizeof(text), "%s", status_name(wc->status));
	else
		snprintf(text, sizeof(text), "%s/%#x", status_name(wc->status),
			 wc->vendor_err);
	add_text(list, text, wc->status == IBV_WC_WR_FLUSH_ERR);
}

/* All completions, in order, until the list says what is wanted and is quiet. */
static void want_cqes(const char *what, struct ibv_cq *cq, uint64_t first_id,
		      const char *want, int quiet_ms)
{
	int wait = strcmp(want, "none") ? 5000 : quiet_ms;
	char list[TEXT] = "";
	uint64_t id = first_id;
	struct ibv_wc wc;

	while (vt_poll(cq, &wc, strcmp(list, want) ? wait : quiet_ms)) {
		VT_EXPECT(wc.wr_id == id, "%s: wr_id %llu, expected %llu", what,
			  (unsigned long long)wc.wr_id, (unsigned long long)id);
		id = wc.wr_id + 1;
		add_cqe(list, &wc);
	}
	want_text(what, list, want);
}

static void want_events(const char *what, struct vt_end *e, const char *want)
{
	struct pollfd pfd = { .fd = e->ctx->async_fd, .events = POLLIN };
	int wait = strcmp(want, "none") ? 2000 : 0;
	struct ibv_async_event ev;
	char list[TEXT] = "";

	while (poll(&pfd, 1, strcmp(list, want) ? wait : 0) == 1) {
		VT_ASSERT(!ibv_get_async_event(e->ctx, &ev), "%m");
		add_text(list, event_name(ev.event_type), false);
		ibv_ack_async_event(&ev);
	}
	want_text(what, list, want);
}

static void want_state(const char *what, struct vt_qp *q, const char *want)
{
	uint64_t until = vt_now_us() + 1000000;
	const char *got;

	if (!q->qp || !strcmp(want, "-"))
		return;
	do {
		got = state_names[vt_state(q)];
		if (!strcmp(got, want))
			return;
		usleep(1000);
	} while (vt_now_us() < until);
	want_text(what, got, want);
}

/* Packets captured so far and until nothing new comes for quiet_ms. */
static void captured(struct run *r, bool outgoing, uint32_t psn0, bool once,
		     int quiet_ms, char *list)
{
	struct wire_pkt pkt;

	while (wire_recv(&r->wire, &pkt, quiet_ms))
		if (pkt.outgoing == outgoing)
			packet_text(&pkt, psn0, list, once);
}

/* B's memory after a request of a real A: no byte changed, or all that should. */
static const char *memory_is(struct run *r)
{
	bool send = r->op == IBV_WR_SEND || r->op == IBV_WR_SEND_WITH_IMM;
	bool write = r->op == IBV_WR_RDMA_WRITE ||
		     r->op == IBV_WR_RDMA_WRITE_WITH_IMM ||
		     r->op == IBV_WR_ATOMIC_WRITE;

	if (!memcmp(r->p.bb.p, r->before, send ? RECV_OFF : BUF_LEN))
		return "old";
	if (write && memcmp((void *)(uintptr_t)r->raddr, r->laddr, r->len))
		return "a part of it";
	return "new";
}

static void want_memory(struct run *r, const char *want)
{
	char text[20];

	if (isdigit((unsigned char)*want)) {
		snprintf(text, sizeof(text), "%u", r->p.bb.p[0]);
		want_text("memory", text, want);
	} else if (strcmp(want, "-")) {
		want_text("memory", memory_is(r), want);
	}
}

/* The QPs still work, or flush, as their states promise. */
static void want_life(struct run *r, const char *a, const char *b)
{
	enum ibv_wc_status want = IBV_WC_SUCCESS;

	if (!strcmp(a, "ERR"))
		want = IBV_WC_WR_FLUSH_ERR;
	else if (strcmp(a, "RTS") || r->type != IBV_QPT_RC ||
		 (strcmp(b, "RTS") && strcmp(b, "RTR")))
		return;
	r->op = IBV_WR_SEND;
	r->len = 0;
	/* one more than was there may be used up */
	if (want == IBV_WC_SUCCESS)
		VT_ASSERT(!vt_recv(&r->p.b, 200, NULL, 0, 0), "");
	VT_ASSERT(!post_request(r, 2), "");
	VT_WANT(r->p.a.scq, 2, want);
	VT_WANT_NONE(r->p.a.scq, 5);
}

/* --- a stock requester and a stock responder ---------------------------- */

static void run_real(struct run *r)
{
	const struct job *job = r->job;
	char (*c)[RST_CELL] = (void *)job->row->cell;
	bool gone = !strcmp(job->b, "gone");
	bool never = !strcmp(c[C_ANSWER], "none") &&
		     strstr(c[C_ACQE], "RETRY_EXC");
	char list[TEXT] = "";
	int rc;

	if (never) {
		r->ca.timeout = 13;
		r->ca.retry_cnt = 1;
	}
	open_ends(r);
	check_rights(&r->cb, r->type);
	to_state(&r->p.b, &r->p.a, &r->cb,
		 gone ? IBV_QPS_RTS : state_of(job->b));
	to_state(&r->p.a, &r->p.b, &r->ca, state_of(job->a));
	ready_memory(r);
	r->op = op_of(job->request);
	if (eight_bytes(r->op))
		r->len = 8;
	apply_conds(r, c[C_COND], false);
	if (r->op == IBV_WR_ATOMIC_CMP_AND_SWP)
		r->p.bb.p[0] = 1;	/* equal: swaps in 0 */
	memcpy(r->before, r->p.bb.p, BUF_LEN);
	if (r->type == IBV_QPT_UD)
		r->ah = vt_ah(&r->p.ea, &r->p.eb);
	if (gone)
		make_ghost(r, &r->p.b);
	else if (strcmp(job->b, "RESET"))
		post_recvs(r);
	wire_open(&r->wire, &r->p.ea, &r->p.eb);

	rc = post_request(r, 1);
	if (rc == EINVAL || !strcmp(c[C_ACQE], "EINVAL")) {
		want_text("post", rc == EINVAL ? "EINVAL" : strerror(rc),
			  c[C_ACQE]);
		VT_WANT_NONE(r->p.a.scq, 10);
	} else {
		VT_ASSERT(!rc, "post: %s", strerror(rc));
		want_cqes("completions of A", r->p.a.scq, 1, c[C_ACQE], 20);
	}
	if (!gone) {
		want_cqes("completions of B", r->p.b.rcq, 100, c[C_BCQE], 10);
		want_state("B", &r->p.b, c[C_BSTATE]);
	}
	want_state("A", &r->p.a, c[C_ASTATE]);
	captured(r, false, r->p.a.psn, true, 5, list);
	want_text("answer", list, c[C_ANSWER]);
	want_events("events of B", &r->p.eb, c[C_BEVENT]);
	want_events("events of A", &r->p.ea, "none");
	want_memory(r, c[C_MEM]);
	want_life(r, c[C_ASTATE], gone ? "gone" : c[C_BSTATE]);
	close_all(r);
}

/* --- packets as a script ------------------------------------------------ */

static int number(struct run *r, const char *text)
{
	int mtu = vt_mtu_bytes(r->p.ea.port.active_mtu);

	if (!strncmp(text, "mtu", 3))
		return mtu + (text[3] ? atoi(text + 3) : 0);
	return strtoul(text, NULL, 0);
}

static void bad_key(struct run *r, struct wire_pkt *p, const char *how)
{
	if (!strcmp(how, "byte"))
		p->rkey ^= 0x77;
	else if (!strcmp(how, "index"))
		p->rkey ^= 0x770000;
	else
		vt_fail(__FILE__, __LINE__, "key %s?", how);
	(void)r;
}

/* "word value" inside the parentheses of a packet. */
static void modify_packet(struct run *r, struct wire_pkt *p, const char *word,
			  const char *value)
{
	int v = number(r, value);

	if (!strcmp(word, "psn"))
		p->psn = ((r->psn_base >= 0 ? (uint32_t)r->psn_base : p->psn) +
			  v) & 0xffffff;
	else if (!strcmp(word, "len"))
		p->len = v;
	else if (!strcmp(word, "dma"))
		p->dma_len = v;
	else if (!strcmp(word, "dma31"))
		p->dma_len = 0x80000000u + v;
	else if (!strcmp(word, "va"))
		p->va += v;
	else if (!strcmp(word, "key"))
		bad_key(r, p, value);
	else if (!strcmp(word, "ackreq"))
		p->ackreq = v;
	else if (!strcmp(word, "pkey"))
		p->pkey = v;
	else if (!strcmp(word, "qkey"))
		p->qkey += v;
	else if (!strcmp(word, "qpn"))
		p->qpn += v;
	else if (!strcmp(word, "tver"))
		p->tver = v;
	else if (!strcmp(word, "icrc"))
		p->bad_icrc = true;
	else if (!strcmp(word, "source"))
		p->src[p->v6 ? 15 : 3] += v;
	else if (!strcmp(word, "cut"))
		p->cut = v;
	else if (!strcmp(word, "pad"))
		p->pad = v;
	else if (!strcmp(word, "opcode"))
		p->opcode = v;
	else if (!strcmp(word, "syn"))
		p->syn = v;
	else
		vt_fail(__FILE__, __LINE__, "no packet word '%s'", word);
}

/* Syndromes of the names that stand for an acknowledge packet. */
static int syndrome(const char *name)
{
	static const char * const naks[] = { "nak_seq", "nak_inv", "nak_access",
					     "nak_op" };
	size_t i;

	if (!strcmp(name, "ack"))
		return 0x1f;
	if (!strcmp(name, "rnr"))
		return 0x21;	/* 0.01 ms */
	for (i = 0; i < VT_ARRAY_SIZE(naks); i++)
		if (!strcmp(name, naks[i]))
			return 0x60 | i;
	if (!strncmp(name, "nak_", 4))
		return 0x60 | atoi(name + 4);
	return -1;
}

/* What a good packet of this opcode carries. */
static void fill_packet(struct run *r, struct wire_pkt *p, int nth)
{
	unsigned int op = p->opcode & 0x1f;
	int mtu = vt_mtu_bytes(r->p.ea.port.active_mtu);

	p->va = r->raddr;
	p->rkey = r->rkey;
	p->qkey = VT_QKEY;
	p->sqpn = 0x77;
	p->dma_len = op == W_WRITE_FIRST ? mtu + 16 : 16;
	p->swap = op == W_FADD ? 1 : 7;
	p->msn = 1;
	p->ackreq = true;
	switch (op) {
	case W_SEND_FIRST:
	case W_SEND_MIDDLE:
	case W_WRITE_FIRST:
	case W_WRITE_MIDDLE:
	case W_READ_FIRST:
	case W_READ_MIDDLE:
		p->len = mtu;
		p->ackreq = false;
		break;
	case W_READ:
	case W_CAS:
	case W_FADD:
	case W_ACK:
	case W_ATOMIC_ACK:
		break;
	case W_ATOMIC_WRITE:
		p->len = 8;
		p->dma_len = 8;
		break;
	default:
		p->len = 16;
	}
	memset(p->payload, nth, sizeof(p->payload));
}

/*
 * The packet that the script names next, moves *script behind it. *psn is that
 * of a good packet; it advances unless the packet sets its own.
 */
static bool script_packet(struct run *r, const char **script,
			  struct vt_end *from, struct vt_end *to, uint32_t qpn,
			  uint32_t *psn, int nth, struct wire_pkt *p)
{
	static const uint8_t service[] = {
		[IBV_QPT_RC] = 0x00, [IBV_QPT_UC] = 0x20, [IBV_QPT_UD] = 0x60,
	};
	char name[40], word[40], value[40];
	int len = strcspn(*script, "(,"), n = 0, op, syn, words;
	int mtu = vt_mtu_bytes(r->p.ea.port.active_mtu);
	bool own_psn = false;

	if (!**script)
		return false;
	snprintf(name, sizeof(name), "%.*s", len, *script);
	*script += len;
	syn = syndrome(name);
	op = syn >= 0 ? W_ACK : wire_op_by_name(name);
	VT_ASSERT(op >= 0, "no packet '%s'", name);
	wire_init(p, from, to, op | service[r->type], qpn, *psn);
	fill_packet(r, p, nth);
	p->syn = syn >= 0 ? syn : 0x1f;
	while (**script == '(' || **script == ';') {
		words = sscanf(*script + 1, " %39[a-z0-9] %39[a-z0-9+-]%n",
			       word, value, &n);
		VT_ASSERT(words == 2, "'%s'", *script);
		modify_packet(r, p, word, value);
		own_psn |= !strcmp(word, "psn");
		*script += 1 + n;
	}
	*script += strspn(*script, "), ");
	if (!own_psn)
		*psn += op == W_READ && p->dma_len ?
			(p->dma_len + mtu - 1) / mtu : 1;
	/* what the length asks for, unless it is wrong on purpose */
	if (!p->pad)
		p->pad = -p->len & 3;
	return true;
}

/* --- the test is the requester ------------------------------------------ */

static void run_raw_requester(struct run *r)
{
	char (*c)[RST_CELL] = (void *)r->job->row->cell;
	const char *script = r->job->request;
	char list[TEXT] = "";
	struct wire_pkt p;
	uint32_t psn;
	int nth = 1;

	open_ends(r);
	check_rights(&r->cb, r->type);
	make_ghost(r, &r->p.a);
	to_state(&r->p.b, &r->ghost, &r->cb, state_of(r->job->b));
	ready_memory(r);
	r->recv_len = BUF_LEN - RECV_OFF;
	if (strstr(c[C_COND], "too short"))
		r->len = 16;
	apply_conds(r, c[C_COND], false);
	post_recvs(r);
	wire_open(&r->wire, &r->p.ea, &r->p.eb);

	psn = r->ghost.psn;
	while (script_packet(r, &script, &r->p.ea, &r->p.eb,
			     r->p.b.qp->qp_num, &psn, nth++, &p)) {
		wire_send(&r->wire, &p);
		/* each is dealt with before the next one comes */
		captured(r, false, r->ghost.psn, false, 2, list);
	}
	captured(r, false, r->ghost.psn, false, 30, list);
	want_text("answer", list, c[C_ANSWER]);
	want_cqes("completions of B", r->p.b.rcq, 100, c[C_BCQE], 10);
	want_state("B", &r->p.b, c[C_BSTATE]);
	want_events("events of B", &r->p.eb, c[C_BEVENT]);
	want_memory(r, c[C_MEM]);
	close_all(r);
}

/* --- the test is the responder ------------------------------------------ */

/* Wait until A has sent as many packets as its requests have at least. */
static void wait_requests(struct run *r, int requests)
{
	struct wire_pkt p;
	int ends = 0;

	while (ends < requests) {
		VT_ASSERT(wire_recv(&r->wire, &p, 3000), "A sends nothing");
		switch (p.opcode & 0x1f) {
		case W_SEND_FIRST:
		case W_SEND_MIDDLE:
		case W_WRITE_FIRST:
		case W_WRITE_MIDDLE:
			break;
		default:
			ends++;
		}
	}
}

static void run_raw_responder(struct run *r)
{
	char (*c)[RST_CELL] = (void *)r->job->row->cell;
	const char *script = c[R_SCRIPT], *ops = r->job->request;
	char list[TEXT] = "", op[40];
	struct wire_pkt p;
	uint32_t psn;
	int n = 0, nth = 1;

	r->ca.timeout = r->ca.timeout == 15 ? 18 : r->ca.timeout;
	open_ends(r);
	make_ghost(r, &r->p.b);
	to_state(&r->p.a, &r->ghost, &r->ca, IBV_QPS_RTS);
	ready_memory(r);
	apply_conds(r, c[R_COND], false);
	wire_open(&r->wire, &r->p.eb, &r->p.ea);
	while (rst_word(&ops, op, sizeof(op))) {
		uint32_t len = r->len;

		r->op = op_of(op);
		if (eight_bytes(r->op))
			r->len = 8;
		VT_ASSERT(!post_request(r, ++n), "");
		r->len = len;
	}
	wait_requests(r, n);
	/* A learns how long answers take, and does not probe meanwhile */
	if (strcmp(script, "nothing"))
		usleep(40000);
	if (!strcmp(r->job->a, "SQD")) {
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };

		VT_ASSERT(!ibv_modify_qp(r->p.a.qp, &attr, IBV_QP_STATE), "%m");
	} else if (!strcmp(r->job->a, "ERR")) {
		VT_ASSERT(!vt_to_err(&r->p.a), "");
	}
	psn = r->p.a.psn;
	r->psn_base = psn;
	while (strcmp(script, "nothing") &&
	       script_packet(r, &script, &r->p.eb, &r->p.ea,
			     r->p.a.qp->qp_num, &psn, nth++, &p)) {
		wire_send(&r->wire, &p);
		captured(r, false, r->p.a.psn, false, 2, list);
	}
	want_cqes("completions of A", r->p.a.scq, 1, c[R_ACQE], 20);
	captured(r, false, r->p.a.psn, false, 10, list);
	want_text("packets of A", list, c[R_RESENT]);
	want_state("A", &r->p.a, c[R_ASTATE]);
	want_events("events of A", &r->p.ea, "none");
	close_all(r);
}

/* --- rows to tests ------------------------------------------------------ */

static void run_job(const void *arg)
{
	const struct job *job = arg;
	const struct rst_row *row = job->row;
	struct run *r = malloc(sizeof(*r));
	bool responses = strstr(row->table, "-responses");

	VT_ASSERT(r, "");
	row_line = row->line;
	defaults(r, job);
	apply_conds(r, row->cell[responses ? R_COND : C_COND], true);
	if (responses)
		run_raw_responder(r);
	else if (!strcmp(job->a, "raw"))
		run_raw_requester(r);
	else
		run_real(r);
	free(r);
}

/* Letters and digits of the cells, for the test's name: rc-psn/..., rc6-psn/... */
static char *name_of(const struct job *job)
{
	const struct rst_row *row = job->row;
	bool responses = strstr(row->table, "-responses");
	const char *table = row->table + strlen("transport-");
	const char *v6 = job->family == 6 ? "6" : "";
	char text[900], *name = malloc(sizeof(text)), *to = name;
	const char *from = text;

	VT_ASSERT(name, "");
	if (responses)
		snprintf(text, sizeof(text), "responses%s/%s/%s/%s/%s",
			 v6, job->request, job->a, row->cell[R_COND],
			 row->cell[R_SCRIPT]);
	else
		snprintf(text, sizeof(text), "%.2s%s%s/%s/%s/%s/%s",
			 table, v6, table + 2, job->request, job->a, job->b,
			 row->cell[C_COND]);
	for (; *from; from++) {
		if (isalnum((unsigned char)*from) || strchr("/_+-", *from))
			*to++ = *from;
		else if (to > name && to[-1] != '_')
			*to++ = '_';
	}
	while (to > name && strchr("_-/", to[-1]))
		to--;
	*to = 0;
	return name;
}

struct jobs {
	struct vt_test *tests;
	int n;
};

static void add_job(struct jobs *jobs, const struct rst_row *row, int family,
		    const char *request, const char *a, const char *b)
{
	struct job *job = calloc(1, sizeof(*job));

	jobs->tests = realloc(jobs->tests,
			      (jobs->n + 1) * sizeof(*jobs->tests));
	VT_ASSERT(job && jobs->tests, "");
	job->row = row;
	job->family = family;
	snprintf(job->request, sizeof(job->request), "%s", request);
	snprintf(job->a, sizeof(job->a), "%s", a);
	snprintf(job->b, sizeof(job->b), "%s", b);
	jobs->tests[jobs->n++] = (struct vt_test){
		.name = name_of(job), .fn = run_job, .arg = job,
	};
}

/* One job for each combination of the alternatives of a row. */
static void expand(struct jobs *jobs, const struct rst_row *row, int family)
{
	const char *reqs = row->cell[C_REQUEST], *as, *bs;
	bool raw = !strcmp(row->cell[C_A], "raw");
	char req[RST_CELL], a[20], b[20];

	if (strstr(row->table, "-responses")) {
		as = row->cell[R_A];
		while (rst_word(&as, a, sizeof(a)))
			add_job(jobs, row, family, row->cell[R_REQUEST], a,
				"raw");
		return;
	}
	for (;;) {
		if (raw)
			snprintf(req, sizeof(req), "%s", row->cell[C_REQUEST]);
		else if (!rst_word(&reqs, req, sizeof(req)))
			return;
		as = row->cell[C_A];
		while (rst_word(&as, a, sizeof(a))) {
			bs = row->cell[C_B];
			while (rst_word(&bs, b, sizeof(b)))
				add_job(jobs, row, family, req, a, b);
		}
		if (raw)
			return;
	}
}

int main(int argc, char **argv)
{
	const char *tree = getenv("TREE");
	struct jobs jobs = { 0 };
	struct rst_row *rows;
	char path[PATH_MAX];
	int i, n, rc, rows_run = 0, run = 0;
	const struct rst_row *last = NULL;

	snprintf(path, sizeof(path), "%s/Documentation/transport.rst",
		 tree ? tree : ".");
	n = rst_rows(path, "transport-", &rows);
	for (i = 0; i < n; i++) {
		expand(&jobs, &rows[i], 4);
		expand(&jobs, &rows[i], 6);
	}
	rc = vt_main(argc, argv, jobs.tests, jobs.n);
	for (i = 0; i < jobs.n; i++) {
		const struct job *job = jobs.tests[i].arg;

		if (!vt_matches(jobs.tests[i].name, argc > 1 ? argv[1] : NULL))
			continue;
		run++;
		rows_run += job->row != last;
		last = job->row;
	}
	printf("# transport.rst: %d of %d rows run, %d of %d cases\n",
	       rows_run, n, run, jobs.n);
	return rc;
}
