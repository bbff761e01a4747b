// SPDX-License-Identifier: GPL-2.0
/*
 * The QP state machine: every pair of states for RC, UC and UD, each required
 * attribute missing once, each forbidden attribute present once, values out of
 * range, and that a refused modify leaves the QP as it was.
 */
#include <unistd.h>

#include "vt.h"

#define S(x) IBV_QPS_##x
#define STATES 7
#define ATTR_BITS 21

#define M_INIT_CONN (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define M_INIT_UD (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define M_RTR_UC (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define M_RTR_RC (M_RTR_UC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define M_RTS_RC (IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | \
		  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define M_ALT (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
#define M_OPT_RTR (IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX)
#define M_OPT_RTS (M_ALT | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER)
#define M_OPT_RTS_UC (M_ALT | IBV_QP_ACCESS_FLAGS)
#define M_OPT_SQD ((M_RTS_RC & ~IBV_QP_SQ_PSN) | IBV_QP_MAX_DEST_RD_ATOMIC | \
		   M_OPT_RTS | IBV_QP_PORT | IBV_QP_AV | IBV_QP_PKEY_INDEX)
#define M_QUERY ((1 << ATTR_BITS) - 1)

/* One legal transition: which attributes it needs and which it takes. */
struct edge {
	enum ibv_qp_state from, to;
	struct {
		int must, may;
	} rc, uc, ud;
};

static const struct edge edges[] = {
	{ S(RESET), S(INIT), { M_INIT_CONN }, { M_INIT_CONN }, { M_INIT_UD } },
	{ S(INIT), S(INIT), { 0, M_INIT_CONN }, { 0, M_INIT_CONN },
	  { 0, M_INIT_UD } },
	{ S(INIT), S(RTR), { M_RTR_RC, M_OPT_RTR }, { M_RTR_UC, M_OPT_RTR },
	  { 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY } },
	{ S(RTR), S(RTS), { M_RTS_RC, M_OPT_RTS },
	  { IBV_QP_SQ_PSN, M_OPT_RTS_UC }, { IBV_QP_SQ_PSN, IBV_QP_QKEY } },
	{ S(RTS), S(RTS), { 0, M_OPT_RTS }, { 0, M_OPT_RTS_UC },
	  { 0, IBV_QP_QKEY } },
	{ S(RTS), S(SQD), { 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	  { 0, IBV_QP_EN_SQD_ASYNC_NOTIFY }, { 0, IBV_QP_EN_SQD_ASYNC_NOTIFY } },
	{ S(SQD), S(RTS), { 0, M_OPT_RTS }, { 0, M_OPT_RTS_UC },
	  { 0, IBV_QP_QKEY } },
	{ S(SQD), S(SQD), { 0, M_OPT_SQD },
	  { 0, IBV_QP_AV | IBV_QP_PKEY_INDEX | M_OPT_RTS_UC },
	  { 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY } },
	{ S(SQE), S(RTS), { -1 }, { 0, IBV_QP_ACCESS_FLAGS },
	  { 0, IBV_QP_QKEY } },
};

static const char * const state_names[STATES] = {
	"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR",
};

/* Returns whether the pair is legal and its attribute masks. */
static bool edge_find(enum ibv_qp_type type, enum ibv_qp_state from,
		      enum ibv_qp_state to, int *must, int *may)
{
	size_t i;

	*must = 0;
	*may = 0;
	if (to == S(RESET) || to == S(ERR))
		return to == S(RESET) || from != S(RESET);
	for (i = 0; i < VT_ARRAY_SIZE(edges); i++) {
		const struct edge *e = &edges[i];

		if (e->from != from || e->to != to)
			continue;
		*must = type == IBV_QPT_RC ? e->rc.must :
			type == IBV_QPT_UC ? e->uc.must : e->ud.must;
		*may = type == IBV_QPT_RC ? e->rc.may :
		       type == IBV_QPT_UC ? e->uc.may : e->ud.may;
		return *must >= 0;
	}
	return false;
}

static void good_attr(const struct vt_end *e, struct ibv_qp_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->port_num = 1;
	attr->qkey = VT_QKEY;
	attr->path_mtu = e->port.active_mtu;
	attr->dest_qp_num = 0x123;
	attr->max_dest_rd_atomic = 4;
	attr->max_rd_atomic = 4;
	attr->min_rnr_timer = 12;
	attr->timeout = 14;
	attr->retry_cnt = 3;
	attr->rnr_retry = 3;
	attr->cap.max_send_wr = 16;
	attr->cap.max_recv_wr = 16;
	attr->alt_port_num = 1;
	attr->path_mig_state = IBV_MIG_MIGRATED;
	vt_ah_attr(e, e, &attr->ah_attr);
	attr->alt_ah_attr = attr->ah_attr;
}

static int try_modify(struct vt_qp *q, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr;

	good_attr(q->end, &attr);
	attr.qp_state = to;
	return ibv_modify_qp(q->qp, &attr, mask | IBV_QP_STATE);
}

static void bring_to(struct vt_qp *q, enum ibv_qp_state state)
{
	static const enum ibv_qp_state run_way[] = {
		S(INIT), S(RTR), S(RTS), S(SQD),
	};
	static const enum ibv_qp_state err_way[] = { S(INIT), S(ERR) };
	const enum ibv_qp_state *way = state == S(ERR) ? err_way : run_way;
	enum ibv_qp_state at = S(RESET);
	int must, may, rc;
	size_t i;

	rc = try_modify(q, S(RESET), 0);
	VT_ASSERT(!rc, "to RESET: %s", strerror(rc));
	for (i = 0; at != state; i++) {
		edge_find(q->qp->qp_type, at, way[i], &must, &may);
		rc = try_modify(q, way[i], must);
		VT_ASSERT(!rc, "%s to %s: %s", state_names[at],
			  state_names[way[i]], strerror(rc));
		at = way[i];
	}
	VT_ASSERT(vt_state(q) == state, "%s", state_names[state]);
}

static void want_refused(struct vt_qp *q, enum ibv_qp_state from,
			 enum ibv_qp_state to, int mask, const char *what)
{
	int rc = try_modify(q, to, mask);

	VT_EXPECT(rc == EINVAL, "%s to %s with mask %x (%s): %d (%s)",
		  state_names[from], state_names[to], mask, what, rc,
		  strerror(rc));
	if (vt_state(q) != from) {
		vt_expect_failed(__FILE__, __LINE__,
				 "%s to %s with mask %x (%s) changed the state",
				 state_names[from], state_names[to], mask, what);
		bring_to(q, from);
	}
}

static void one_pair(struct vt_qp *q, enum ibv_qp_state from,
		     enum ibv_qp_state to)
{
	int must, may, bit, rc;

	if (!edge_find(q->qp->qp_type, from, to, &must, &may)) {
		want_refused(q, from, to, 0, "no such transition");
		return;
	}
	for (bit = 1; bit < 1 << ATTR_BITS; bit <<= 1) {
		if (bit == IBV_QP_STATE || bit == IBV_QP_CUR_STATE)
			continue;
		if (must & bit)
			want_refused(q, from, to, must & ~bit, "one missing");
		else if (!(may & bit))
			want_refused(q, from, to, must | bit, "one too many");
		/* going on from a state the QP left would test nothing */
		VT_ASSERT(vt_state(q) == from, "lost state %s",
			  state_names[from]);
	}
	rc = try_modify(q, to, must);
	VT_EXPECT(!rc, "%s to %s: %s", state_names[from], state_names[to],
		  strerror(rc));
	if (!rc)
		VT_EXPECT(vt_state(q) == to, "%s to %s", state_names[from],
			  state_names[to]);
	bring_to(q, from);
}

static void all_pairs(const void *arg)
{
	static const enum ibv_qp_state froms[] = {
		S(RESET), S(INIT), S(RTR), S(RTS), S(SQD), S(ERR),
	};
	struct vt_qp_cfg cfg = { .type = *(const enum ibv_qp_type *)arg };
	struct vt_end e;
	struct vt_qp q;
	size_t i, to;

	vt_open(&e, VT_A, 4);
	vt_qp_create(&e, &q, &cfg);
	for (i = 0; i < VT_ARRAY_SIZE(froms); i++) {
		bring_to(&q, froms[i]);
		for (to = 0; to < STATES; to++)
			one_pair(&q, froms[i], to);
	}
	vt_qp_destroy(&q);
	vt_close(&e);
}

/* One attribute with a value that must be refused. */
struct bad_value {
	const char *what;
	enum ibv_qp_state from, to;
	size_t offset, size;
	uint32_t value;		/* little endian, the rest of the field zero */
};

#define VALUE(text, from_, to_, field, bytes, value_) { \
	.what = text, .from = S(from_), .to = S(to_), \
	.offset = offsetof(struct ibv_qp_attr, field), \
	.size = bytes, \
	.value = value_, \
}

static const struct bad_value bad_values[] = {
	VALUE("port 0", RESET, INIT, port_num, 1, 0),
	VALUE("port 2", RESET, INIT, port_num, 1, 2),
	VALUE("pkey index 200", RESET, INIT, pkey_index, 2, 200),
	VALUE("path MTU 4096 on a 1500 byte netdev", INIT, RTR, path_mtu, 4,
	      IBV_MTU_4096),
	VALUE("path MTU code 0", INIT, RTR, path_mtu, 4, 0),
	VALUE("path MTU code 7", INIT, RTR, path_mtu, 4, 7),
	VALUE("max_dest_rd_atomic 255", INIT, RTR, max_dest_rd_atomic, 1, 255),
	VALUE("min_rnr_timer 32", INIT, RTR, min_rnr_timer, 1, 32),
	VALUE("AV without GRH", INIT, RTR, ah_attr.is_global, 1, 0),
	VALUE("sgid index past the table", INIT, RTR, ah_attr.grh.sgid_index, 1,
	      250),
	VALUE("AV of port 3", INIT, RTR, ah_attr.port_num, 1, 3),
	VALUE("zero destination GID", INIT, RTR, ah_attr.grh.dgid, 16, 0),
	VALUE("max_rd_atomic 255", RTR, RTS, max_rd_atomic, 1, 255),
	VALUE("timeout 32", RTR, RTS, timeout, 1, 32),
	VALUE("retry_cnt 8", RTR, RTS, retry_cnt, 1, 8),
	VALUE("rnr_retry 8", RTR, RTS, rnr_retry, 1, 8),
};

static void set_value(struct ibv_qp_attr *attr, const struct bad_value *b)
{
	uint8_t *field = (uint8_t *)attr + b->offset;

	memset(field, 0, b->size);
	memcpy(field, &b->value, b->size < 4 ? b->size : 4);
}

static void bad_values_refused(const void *arg)
{
	struct ibv_qp_attr attr;
	struct vt_end e;
	struct vt_qp q;
	int must, may, rc;
	size_t i;

	(void)arg;
	vt_open(&e, VT_A, 4);
	vt_qp_create(&e, &q, NULL);
	for (i = 0; i < VT_ARRAY_SIZE(bad_values); i++) {
		const struct bad_value *b = &bad_values[i];

		bring_to(&q, b->from);
		edge_find(IBV_QPT_RC, b->from, b->to, &must, &may);
		good_attr(&e, &attr);
		attr.qp_state = b->to;
		set_value(&attr, b);
		rc = ibv_modify_qp(q.qp, &attr, must | IBV_QP_STATE);
		VT_EXPECT(rc, "%s was accepted", b->what);
		VT_EXPECT(vt_state(&q) == b->from, "%s changed the state",
			  b->what);
	}
	vt_qp_destroy(&q);
	vt_close(&e);
}

static void query_after_modify(const void *arg)
{
	struct vt_conn conn = {
		.mtu = IBV_MTU_512, .timeout = 15, .retry_cnt = 5,
		.rnr_retry = 4, .min_rnr_timer = 9, .rd_atomic = 7,
		.psn_a = 0x123456, .psn_b = 0xfffffe,
		.access = IBV_ACCESS_REMOTE_WRITE,
	};
	struct vt_qp_cfg cfg = { .send_wr = 33, .recv_wr = 21, .send_sge = 3,
				 .recv_sge = 5, .inline_data = 100 };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr at;
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, &cfg, &conn, 4096);
	VT_ASSERT(!ibv_query_qp(p.a.qp, &at, M_QUERY, &init), "%m");
	VT_EXPECT(at.qp_state == IBV_QPS_RTS, "%d", at.qp_state);
	VT_EXPECT(at.path_mtu == IBV_MTU_512, "%d", at.path_mtu);
	VT_EXPECT(at.timeout == 15, "%d", at.timeout);
	VT_EXPECT(at.retry_cnt == 5, "%d", at.retry_cnt);
	VT_EXPECT(at.rnr_retry == 4, "%d", at.rnr_retry);
	VT_EXPECT(at.min_rnr_timer == 9, "%d", at.min_rnr_timer);
	VT_EXPECT(at.max_rd_atomic == 7, "%d", at.max_rd_atomic);
	VT_EXPECT(at.max_dest_rd_atomic == 7, "%d", at.max_dest_rd_atomic);
	VT_EXPECT(at.sq_psn == 0x123456, "%x", at.sq_psn);
	VT_EXPECT(at.rq_psn == 0xfffffe, "%x", at.rq_psn);
	VT_EXPECT(at.dest_qp_num == p.b.qp->qp_num, "%x", at.dest_qp_num);
	VT_EXPECT(at.qp_access_flags == IBV_ACCESS_REMOTE_WRITE, "%x",
		  at.qp_access_flags);
	VT_EXPECT(at.port_num == 1, "%d", at.port_num);
	VT_EXPECT(at.ah_attr.is_global, "");
	VT_EXPECT(!memcmp(&at.ah_attr.grh.dgid, &p.eb.gid, 16), "");
	VT_EXPECT(at.ah_attr.grh.sgid_index == p.ea.gid_index, "%d",
		  at.ah_attr.grh.sgid_index);
	VT_EXPECT(init.qp_type == IBV_QPT_RC, "%d", init.qp_type);
	VT_EXPECT(init.send_cq == p.a.scq && init.recv_cq == p.a.rcq, "CQs");
	VT_EXPECT(init.cap.max_send_wr >= 33, "%d", init.cap.max_send_wr);
	VT_EXPECT(init.cap.max_recv_wr >= 21, "%d", init.cap.max_recv_wr);
	VT_EXPECT(init.cap.max_send_sge >= 3, "%d", init.cap.max_send_sge);
	VT_EXPECT(init.cap.max_recv_sge >= 5, "%d", init.cap.max_recv_sge);
	VT_EXPECT(init.cap.max_inline_data >= 100, "%d",
		  init.cap.max_inline_data);
	vt_pair_down(&p);
}

/* RESET forgets: the same two QPs are connected again and carry data. */
static void reset_and_reuse(const void *arg)
{
	struct vt_pair p;
	int i;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, 65536);
	for (i = 0; i < 5; i++) {
		memset(p.ba.p, 0x40 + i, 65536);
		VT_ASSERT(!vt_recv(&p.b, 7, p.bb.p, 65536, p.bb.mr->lkey), "");
		VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, 9, p.ba.p, 65536,
				   p.ba.mr->lkey, 0, 0, IBV_SEND_SIGNALED), "");
		VT_WANT(p.b.rcq, 7, IBV_WC_SUCCESS);
		VT_WANT(p.a.scq, 9, IBV_WC_SUCCESS);
		VT_ASSERT(!memcmp(p.ba.p, p.bb.p, 65536), "round %d", i);
		/* leave posted receives behind: RESET must drop them */
		VT_ASSERT(!vt_recv(&p.b, 66, p.bb.p, 65536, p.bb.mr->lkey), "");
		VT_ASSERT(!vt_to_reset(&p.a), "");
		VT_ASSERT(!vt_to_reset(&p.b), "");
		VT_EXPECT(vt_recv(&p.b, 1, p.bb.p, 8, p.bb.mr->lkey),
			  "post_recv in RESET was accepted");
		vt_connect(&p.a, &p.b, NULL);
	}
	VT_WANT_NONE(p.b.rcq, 50);
	vt_pair_down(&p);
}

/* Requests of a QP that is not in RTS are refused by the doorbell. */
static void post_send_before_rts(const void *arg)
{
	struct vt_end e;
	struct vt_buf b;
	struct vt_qp q;

	(void)arg;
	vt_open(&e, VT_A, 4);
	vt_buf_alloc(&e, &b, 4096, VT_ACCESS_ALL);
	vt_qp_create(&e, &q, NULL);
	VT_EXPECT(vt_post(&q, IBV_WR_SEND, 1, b.p, 8, b.mr->lkey, 0, 0, 0),
		  "accepted in RESET");
	bring_to(&q, S(INIT));
	VT_EXPECT(vt_post(&q, IBV_WR_SEND, 1, b.p, 8, b.mr->lkey, 0, 0, 0),
		  "accepted in INIT");
	bring_to(&q, S(RTR));
	VT_EXPECT(vt_post(&q, IBV_WR_SEND, 1, b.p, 8, b.mr->lkey, 0, 0, 0),
		  "accepted in RTR");
	VT_WANT_NONE(q.scq, 20);
	vt_qp_destroy(&q);
	vt_buf_free(&b);
	vt_close(&e);
}

static const enum ibv_qp_type rc = IBV_QPT_RC, uc = IBV_QPT_UC,
			      ud = IBV_QPT_UD;

static const struct vt_test tests[] = {
	{ "rc_all_pairs", all_pairs, &rc },
	{ "uc_all_pairs", all_pairs, &uc },
	{ "ud_all_pairs", all_pairs, &ud },
	{ "bad_values_refused", bad_values_refused },
	{ "query_after_modify", query_after_modify },
	{ "reset_and_reuse", reset_and_reuse },
	{ "post_send_before_rts", post_send_before_rts },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
