// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows of type 1 and 2B, invalidation and ATOMIC WRITE as processes
 * use them: who may bind what, what a window grants, to whom, and until when.
 */
#include <unistd.h>

#include "vt.h"

#define LEN	16384
#define R_W	IBV_ACCESS_REMOTE_WRITE
#define R_R	IBV_ACCESS_REMOTE_READ
#define R_A	IBV_ACCESS_REMOTE_ATOMIC
#define L_W	IBV_ACCESS_LOCAL_WRITE
#define BIND	IBV_ACCESS_MW_BIND

/* A pair; end A has a region that may have windows. */
struct rig {
	struct vt_pair p;
	struct ibv_mr *mr;
};

static void rig_up(struct rig *r, int access)
{
	struct vt_qp_cfg cfg = { .sig_all = true };

	vt_pair_up(&r->p, &cfg, NULL, LEN);
	r->mr = ibv_reg_mr(r->p.ea.pd, r->p.ba.p, LEN, access);
	VT_ASSERT(r->mr, "%m");
}

static void rig_down(struct rig *r)
{
	VT_EXPECT(!ibv_dereg_mr(r->mr), "%m");
	vt_pair_down(&r->p);
}

static struct ibv_mw *window(struct rig *r, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(r->p.ea.pd, type);

	VT_ASSERT(mw, "%m");
	return mw;
}

/* Bind by a work request of QP q; the window's key becomes the next one. */
static void bind_by(struct vt_qp *q, struct ibv_mw *mw, struct ibv_mr *mr,
		    void *addr, uint64_t len, int access,
		    enum ibv_wc_status want)
{
	struct ibv_mw_bind b = {
		.wr_id = 70,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { mr, (uintptr_t)addr, len, access },
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = 70,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	/* the library keeps some mistakes to itself */
	if (mw->type == IBV_MW_TYPE_1 && mr->pd == mw->pd) {
		VT_ASSERT(!ibv_bind_mw(q->qp, mw, &b), "%m");
	} else {
		wr.bind_mw.mw = mw;
		wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
		wr.bind_mw.bind_info = b.bind_info;
		VT_ASSERT(!ibv_post_send(q->qp, &wr, &bad), "%m");
	}
	VT_WANT_WC(q->scq, 70, want, &wc);
	if (want != IBV_WC_SUCCESS)
		return;
	VT_EXPECT(wc.opcode == IBV_WC_BIND_MW, "opcode %d", wc.opcode);
	if (mw->type == IBV_MW_TYPE_2)
		mw->rkey = wr.bind_mw.rkey;
}

/* Opcodes that only kernel consumers have, and some that nobody has. */
static void kernel_opcodes(const void *arg)
{
	static const int ops[] = { 0x20, 0x21, 10, 11, 12, 13, 14, 200, -1 };
	struct vt_qp_cfg cfg = { .sig_all = true };
	struct ibv_send_wr *bad, wr = { .wr_id = 1 };
	struct vt_pair p;
	size_t i;

	(void)arg;
	for (i = 0; i < VT_ARRAY_SIZE(ops); i++) {
		vt_pair_up(&p, &cfg, NULL, LEN);
		wr.opcode = ops[i];
		VT_ASSERT(!ibv_post_send(p.a.qp, &wr, &bad), "opcode %d: %m",
			  ops[i]);
		VT_WANT(p.a.scq, 1, IBV_WC_LOC_QP_OP_ERR);
		VT_EXPECT(vt_state(&p.a) == IBV_QPS_ERR, "state %d",
			  vt_state(&p.a));
		vt_pair_down(&p);
	}
}

static void bind(struct rig *r, struct ibv_mw *mw, uint32_t off, uint64_t len,
		 int access, enum ibv_wc_status want)
{
	bind_by(&r->p.a, mw, r->mr, r->p.ba.p + off, len, access, want);
}

/* Peer B uses the key. */
static void use(struct rig *r, enum ibv_wr_opcode op, uint32_t key,
		uint32_t off, uint32_t len, enum ibv_wc_status want)
{
	struct vt_pair *p = &r->p;

	VT_ASSERT(!vt_post(&p->b, op, 71, p->bb.p, len, p->bb.mr->lkey,
			   (uintptr_t)p->ba.p + off, key, IBV_SEND_SIGNALED),
		  "post");
	VT_WANT(p->b.scq, 71, want);
}

static void local_inv(struct rig *r, uint32_t key, enum ibv_wc_status want)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 72,
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = key,
	};
	struct ibv_wc wc;

	VT_ASSERT(!ibv_post_send(r->p.a.qp, &wr, &bad), "%m");
	VT_WANT_WC(r->p.a.scq, 72, want, &wc);
	VT_EXPECT(want != IBV_WC_SUCCESS || wc.opcode == IBV_WC_LOCAL_INV,
		  "opcode %d", wc.opcode);
}

static const enum ibv_mw_type type1 = IBV_MW_TYPE_1, type2 = IBV_MW_TYPE_2;

/* Data goes through a window to the right place and nowhere else. */
static void write_and_read(const void *arg)
{
	struct ibv_mw *mw;
	struct rig r;
	int i;

	rig_up(&r, L_W | BIND);
	mw = window(&r, *(const enum ibv_mw_type *)arg);
	memset(r.p.ba.p, 0, LEN);
	for (i = 0; i < LEN; i++)
		r.p.bb.p[i] = i * 7 + 1;
	bind(&r, mw, 100, 5000, R_W | R_R, IBV_WC_SUCCESS);
	use(&r, IBV_WR_RDMA_WRITE, mw->rkey, 100, 5000, IBV_WC_SUCCESS);
	VT_EXPECT(!memcmp(r.p.ba.p + 100, r.p.bb.p, 5000), "written");
	for (i = 0; i < 100; i++)
		VT_EXPECT(!r.p.ba.p[i], "byte %d before it", i);
	for (i = 5100; i < LEN; i++)
		VT_EXPECT(!r.p.ba.p[i], "byte %d behind it", i);
	memset(r.p.bb.p, 0, LEN);
	use(&r, IBV_WR_RDMA_READ, mw->rkey, 200, 4900, IBV_WC_SUCCESS);
	VT_EXPECT(!memcmp(r.p.ba.p + 200, r.p.bb.p, 4900), "read");
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	rig_down(&r);
}

/* One access that the window must refuse. */
struct refuse {
	enum ibv_mw_type type;
	int access;
	enum ibv_wr_opcode op;
	int32_t off;		/* from the window's start */
	uint32_t len;
	bool good;
};

static const struct refuse refusals[] = {
	{ IBV_MW_TYPE_1, R_W | R_R | R_A, IBV_WR_RDMA_WRITE, 0, 4096, true },
	{ IBV_MW_TYPE_1, R_W | R_R | R_A, IBV_WR_RDMA_WRITE, 0, 4097 },
	{ IBV_MW_TYPE_1, R_W | R_R | R_A, IBV_WR_RDMA_WRITE, -1, 1 },
	{ IBV_MW_TYPE_1, R_W | R_R | R_A, IBV_WR_RDMA_READ, 4096, 1 },
	{ IBV_MW_TYPE_1, R_R | R_A, IBV_WR_RDMA_WRITE, 0, 8 },
	{ IBV_MW_TYPE_1, R_W | R_A, IBV_WR_RDMA_READ, 0, 8 },
	{ IBV_MW_TYPE_1, R_W | R_R, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8 },
	{ IBV_MW_TYPE_1, R_A, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, true },
	{ IBV_MW_TYPE_2, R_W | R_R | R_A, IBV_WR_RDMA_WRITE, 0, 4096, true },
	{ IBV_MW_TYPE_2, R_W | R_R | R_A, IBV_WR_RDMA_WRITE, 0, 4097 },
	{ IBV_MW_TYPE_2, R_W | R_R | R_A, IBV_WR_RDMA_WRITE, -1, 1 },
	{ IBV_MW_TYPE_2, R_W | R_R | R_A, IBV_WR_RDMA_READ, 4096, 1 },
	{ IBV_MW_TYPE_2, R_R | R_A, IBV_WR_RDMA_WRITE, 0, 8 },
	{ IBV_MW_TYPE_2, R_W | R_A, IBV_WR_RDMA_READ, 0, 8 },
	{ IBV_MW_TYPE_2, R_W | R_R, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8 },
	{ IBV_MW_TYPE_2, R_A, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, true },
};

static void rights_of_window(const void *arg)
{
	const struct refuse *w;
	struct ibv_mw *mw;
	struct rig r;
	size_t i;

	(void)arg;
	for (i = 0; i < VT_ARRAY_SIZE(refusals); i++) {
		w = &refusals[i];
		rig_up(&r, L_W | BIND);
		mw = window(&r, w->type);
		bind(&r, mw, 4096, 4096, w->access, IBV_WC_SUCCESS);
		memset(r.p.ba.p, 0x11, LEN);
		memset(r.p.bb.p, 0x22, LEN);
		use(&r, w->op, mw->rkey, 4096 + w->off, w->len,
		    w->good ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
		if (!w->good)
			VT_EXPECT(r.p.ba.p[4096 + w->off] == 0x11 &&
				  r.p.bb.p[0] == 0x22, "row %zu: data moved",
				  i);
		VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
		rig_down(&r);
	}
}

/* What of a region may be bound. */
struct may {
	int mr, mw;
	bool good;
};

static const struct may rights[] = {
	{ L_W | BIND, R_W, true }, { L_W | BIND, R_R, true },
	{ L_W | BIND, R_A, true }, { L_W | BIND, 0, true },
	{ BIND, R_R, true }, { BIND, R_W, false }, { BIND, R_A, false },
	{ L_W, R_R, false }, { L_W | R_W | R_R | R_A, R_W, false },
	{ L_W | BIND, L_W | R_W, true }, { L_W | BIND, BIND, false },
};

static void rights_to_bind(const void *arg)
{
	enum ibv_mw_type type = *(const enum ibv_mw_type *)arg;
	struct ibv_mw *mw;
	struct rig r;
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(rights); i++) {
		rig_up(&r, rights[i].mr);
		mw = window(&r, type);
		bind(&r, mw, 0, 4096, rights[i].mw,
		     rights[i].good ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR);
		VT_EXPECT(vt_state(&r.p.a) ==
			  (rights[i].good ? IBV_QPS_RTS : IBV_QPS_ERR),
			  "row %zu: state %d", i, vt_state(&r.p.a));
		VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
		rig_down(&r);
	}
}

/* Ranges that are not the region's. */
static void range_to_bind(const void *arg)
{
	static const struct {
		int64_t off;
		uint64_t len;
	} bad[] = {
		{ -1, 2 }, { 0, LEN + 1 }, { LEN, 1 }, { LEN - 1, 2 },
		{ 0, ~0ull }, { 1, ~0ull }, { -4096, 4096 },
	};
	struct ibv_mw *mw;
	struct rig r;
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(bad); i++) {
		rig_up(&r, L_W | BIND);
		mw = window(&r, *(const enum ibv_mw_type *)arg);
		bind(&r, mw, bad[i].off, bad[i].len, R_R, IBV_WC_MW_BIND_ERR);
		VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
		rig_down(&r);
	}
}

/* Type 1: bound again at any time; the old key is dead then. */
static void bind_again(const void *arg)
{
	uint32_t old;
	struct ibv_mw *mw;
	struct rig r;
	int i;

	(void)arg;
	rig_up(&r, L_W | BIND);
	mw = window(&r, IBV_MW_TYPE_1);
	for (i = 0; i < 300; i++) {
		bind(&r, mw, i, 4096, R_R, IBV_WC_SUCCESS);
		use(&r, IBV_WR_RDMA_READ, mw->rkey, i, 4096, IBV_WC_SUCCESS);
	}
	old = mw->rkey;
	bind(&r, mw, 0, 4096, R_R, IBV_WC_SUCCESS);
	VT_EXPECT(mw->rkey != old, "the key stayed");
	use(&r, IBV_WR_RDMA_READ, old, 0, 8, IBV_WC_REM_ACCESS_ERR);
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	rig_down(&r);
}

/* Type 1: without a length it is unbound, and the region may go. */
static void unbind(const void *arg)
{
	struct ibv_mw *mw;
	struct rig r;

	(void)arg;
	rig_up(&r, L_W | BIND);
	mw = window(&r, IBV_MW_TYPE_1);
	bind(&r, mw, 0, 4096, R_R, IBV_WC_SUCCESS);
	VT_EXPECT(ibv_dereg_mr(r.mr) == EBUSY, "a region with a window went");
	bind(&r, mw, 0, 0, 0, IBV_WC_SUCCESS);
	use(&r, IBV_WR_RDMA_READ, mw->rkey, 0, 8, IBV_WC_REM_ACCESS_ERR);
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	rig_down(&r);
}

/* A region stays while windows are bound to it; its rights are not theirs. */
static void region_with_windows(const void *arg)
{
	struct ibv_mw *mw[20];
	struct rig r;
	size_t i;

	(void)arg;
	rig_up(&r, L_W | BIND);
	for (i = 0; i < VT_ARRAY_SIZE(mw); i++) {
		mw[i] = window(&r, i & 1 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
		bind(&r, mw[i], i * 8, 8, R_R, IBV_WC_SUCCESS);
	}
	for (i = 0; i < VT_ARRAY_SIZE(mw); i++) {
		VT_EXPECT(ibv_dereg_mr(r.mr) == EBUSY, "%zu windows gone", i);
		use(&r, IBV_WR_RDMA_READ, mw[i]->rkey, i * 8, 8,
		    IBV_WC_SUCCESS);
		VT_EXPECT(!ibv_dealloc_mw(mw[i]), "%m");
	}
	use(&r, IBV_WR_RDMA_READ, r.mr->rkey, 0, 8, IBV_WC_REM_ACCESS_ERR);
	rig_down(&r);
}

/* Type 2 belongs to the QP that bound it. */
static void other_qp(const void *arg)
{
	enum ibv_mw_type type = *(const enum ibv_mw_type *)arg;
	struct vt_qp_cfg cfg = { .sig_all = true };
	struct vt_conn conn = {};
	struct vt_qp a2, b2;
	struct ibv_mw *mw;
	struct rig r;

	rig_up(&r, L_W | BIND);
	vt_qp_create(&r.p.ea, &a2, &cfg);
	vt_qp_create(&r.p.eb, &b2, &cfg);
	vt_connect(&a2, &b2, &conn);
	mw = window(&r, type);
	bind(&r, mw, 0, 4096, R_R, IBV_WC_SUCCESS);
	VT_ASSERT(!vt_post(&b2, IBV_WR_RDMA_READ, 1, r.p.bb.p, 8,
			   r.p.bb.mr->lkey, (uintptr_t)r.p.ba.p, mw->rkey, 0),
		  "post");
	VT_WANT(b2.scq, 1, type == IBV_MW_TYPE_2 ? IBV_WC_REM_ACCESS_ERR :
						   IBV_WC_SUCCESS);
	use(&r, IBV_WR_RDMA_READ, mw->rkey, 0, 8, IBV_WC_SUCCESS);
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	vt_qp_destroy(&a2);
	vt_qp_destroy(&b2);
	rig_down(&r);
}

static void other_pd(const void *arg)
{
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct rig r;

	rig_up(&r, L_W | BIND);
	pd = ibv_alloc_pd(r.p.ea.ctx);
	VT_ASSERT(pd, "%m");
	mr = ibv_reg_mr(pd, r.p.ba.p, LEN, L_W | BIND);
	VT_ASSERT(mr, "%m");
	mw = window(&r, *(const enum ibv_mw_type *)arg);
	bind_by(&r.p.a, mw, mr, r.p.ba.p, 64, R_R, IBV_WC_MW_BIND_ERR);
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	VT_EXPECT(!ibv_dealloc_pd(pd), "%m");
	rig_down(&r);
}

/* Type 2 must be invalidated first, and needs a length. */
static void type2_states(const void *arg)
{
	struct ibv_mw *mw;
	struct rig r;
	int i;

	(void)arg;
	rig_up(&r, L_W | BIND);
	mw = window(&r, IBV_MW_TYPE_2);
	for (i = 0; i < 300; i++) {
		bind(&r, mw, i, 4096, R_R, IBV_WC_SUCCESS);
		use(&r, IBV_WR_RDMA_READ, mw->rkey, i, 4096, IBV_WC_SUCCESS);
		local_inv(&r, mw->rkey, IBV_WC_SUCCESS);
	}
	bind(&r, mw, 0, 4096, R_R, IBV_WC_SUCCESS);
	bind(&r, mw, 0, 4096, R_R, IBV_WC_MW_BIND_ERR);
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	rig_down(&r);

	rig_up(&r, L_W | BIND);
	mw = window(&r, IBV_MW_TYPE_2);
	bind(&r, mw, 0, 0, R_R, IBV_WC_MW_BIND_ERR);
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	rig_down(&r);
}

static void inv_then_use(const void *arg)
{
	struct ibv_mw *mw;
	struct rig r;

	(void)arg;
	rig_up(&r, L_W | BIND);
	mw = window(&r, IBV_MW_TYPE_2);
	bind(&r, mw, 0, 4096, R_R, IBV_WC_SUCCESS);
	local_inv(&r, mw->rkey, IBV_WC_SUCCESS);
	use(&r, IBV_WR_RDMA_READ, mw->rkey, 0, 8, IBV_WC_REM_ACCESS_ERR);
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	rig_down(&r);
}

/* What a process may not invalidate. */
static void inv_refused(const void *arg)
{
	struct ibv_mw *mw;
	struct rig r;

	(void)arg;
	rig_up(&r, L_W | BIND);
	mw = window(&r, IBV_MW_TYPE_1);
	bind(&r, mw, 0, 4096, R_R, IBV_WC_SUCCESS);
	local_inv(&r, mw->rkey, IBV_WC_MW_BIND_ERR);
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	rig_down(&r);

	rig_up(&r, L_W | BIND | R_R);
	local_inv(&r, r.mr->rkey, IBV_WC_MW_BIND_ERR);
	rig_down(&r);

	rig_up(&r, L_W | BIND);
	local_inv(&r, 0, IBV_WC_MW_BIND_ERR);
	rig_down(&r);
}

/* The peer gives the window back; the receive tells which. */
static void send_inv(struct rig *r, uint32_t key, enum ibv_wc_status send,
		     enum ibv_wc_status recv)
{
	struct ibv_sge sge = { (uintptr_t)r->p.bb.p, 64, r->p.bb.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 80,
		.opcode = IBV_WR_SEND_WITH_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.invalidate_rkey = key,
	};
	struct ibv_wc wc;

	VT_ASSERT(!vt_recv(&r->p.a, 81, r->p.ba.p, LEN, r->p.ba.mr->lkey),
		  "recv");
	VT_ASSERT(!ibv_post_send(r->p.b.qp, &wr, &bad), "%m");
	VT_WANT(r->p.b.scq, 80, send);
	VT_WANT_WC(r->p.a.rcq, 81, recv, &wc);
	if (recv != IBV_WC_SUCCESS)
		return;
	VT_EXPECT(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == key,
		  "flags %#x, key %#x", wc.wc_flags, wc.invalidated_rkey);
	VT_EXPECT(wc.byte_len == 64, "%u bytes", wc.byte_len);
}

static void inv_by_peer(const void *arg)
{
	struct ibv_mw *mw;
	struct rig r;
	int i;

	(void)arg;
	rig_up(&r, L_W | BIND);
	mw = window(&r, IBV_MW_TYPE_2);
	for (i = 0; i < 50; i++) {
		bind(&r, mw, i, 4096, R_R, IBV_WC_SUCCESS);
		use(&r, IBV_WR_RDMA_READ, mw->rkey, i, 4096, IBV_WC_SUCCESS);
		send_inv(&r, mw->rkey, IBV_WC_SUCCESS, IBV_WC_SUCCESS);
	}
	/* unbound: the region may go */
	VT_EXPECT(!ibv_dereg_mr(r.mr), "%m");
	r.mr = ibv_reg_mr(r.p.ea.pd, r.p.ba.p, LEN, L_W);
	use(&r, IBV_WR_RDMA_READ, mw->rkey, 49, 8, IBV_WC_REM_ACCESS_ERR);
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	rig_down(&r);
}

static void inv_by_peer_refused(const void *arg)
{
	struct ibv_mw *mw;
	struct rig r;

	(void)arg;
	/* a region, a window of type 1, one that is not bound */
	rig_up(&r, L_W | R_R);
	send_inv(&r, r.mr->rkey, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR);
	rig_down(&r);

	rig_up(&r, L_W | BIND);
	mw = window(&r, IBV_MW_TYPE_1);
	bind(&r, mw, 0, 4096, R_R, IBV_WC_SUCCESS);
	send_inv(&r, mw->rkey, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR);
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	rig_down(&r);

	rig_up(&r, L_W | BIND);
	mw = window(&r, IBV_MW_TYPE_2);
	send_inv(&r, mw->rkey, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR);
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	rig_down(&r);
}

/* A window that went takes its key with it. */
static void dealloc_then_use(const void *arg)
{
	uint32_t key;
	struct ibv_mw *mw;
	struct rig r;

	rig_up(&r, L_W | BIND);
	mw = window(&r, *(const enum ibv_mw_type *)arg);
	bind(&r, mw, 0, 4096, R_R, IBV_WC_SUCCESS);
	key = mw->rkey;
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	use(&r, IBV_WR_RDMA_READ, key, 0, 8, IBV_WC_REM_ACCESS_ERR);
	rig_down(&r);
}

/* The process ends with everything bound; the core tidies up. */
static void exit_while_bound(const void *arg)
{
	struct rig r;
	int i;

	(void)arg;
	rig_up(&r, L_W | BIND);
	for (i = 0; i < 10; i++)
		bind(&r, window(&r, i & 1 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1),
		     0, 4096, R_R | R_W, IBV_WC_SUCCESS);
}

/* A key of a window is none for local use. */
static void not_local(const void *arg)
{
	struct ibv_mw *mw;
	struct rig r;

	rig_up(&r, L_W | BIND);
	mw = window(&r, *(const enum ibv_mw_type *)arg);
	bind(&r, mw, 0, 4096, R_R | R_W, IBV_WC_SUCCESS);
	VT_ASSERT(!vt_post(&r.p.a, IBV_WR_RDMA_WRITE, 1, r.p.ba.p, 8, mw->rkey,
			   (uintptr_t)r.p.bb.p, r.p.bb.mr->rkey, 0), "post");
	VT_WANT(r.p.a.scq, 1, IBV_WC_LOC_PROT_ERR);
	VT_EXPECT(!ibv_dealloc_mw(mw), "%m");
	rig_down(&r);
}

/* QPs with the new way of posting. */
static void ex_pair(struct vt_pair *p, int qp_access)
{
	struct vt_conn conn = { .access = qp_access };
	struct vt_qp_cfg cfg = {
		.sig_all = true, .inline_data = 64,
		.ex_ops = IBV_QP_EX_WITH_ATOMIC_WRITE,
	};

	memset(p, 0, sizeof(*p));
	vt_open(&p->ea, VT_A, 4);
	vt_open(&p->eb, VT_B, 4);
	vt_qp_create(&p->ea, &p->a, &cfg);
	vt_qp_create(&p->eb, &p->b, &cfg);
	vt_connect(&p->a, &p->b, &conn);
	vt_buf_alloc(&p->ea, &p->ba, LEN, VT_ACCESS_ALL);
	vt_buf_alloc(&p->eb, &p->bb, LEN, VT_ACCESS_ALL);
}

static void post_atomic_write(struct vt_qp *q, uint64_t raddr, uint32_t rkey,
			      const uint64_t *val)
{
	struct ibv_qp_ex *qx = ibv_qp_to_qp_ex(q->qp);

	ibv_wr_start(qx);
	qx->wr_id = 90;
	qx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(qx, rkey, raddr, val);
	VT_ASSERT(!ibv_wr_complete(qx), "%m");
}

static void atomic_write(const void *arg)
{
	uint64_t val, *at;
	struct vt_pair p;
	struct ibv_wc wc;
	int i;

	(void)arg;
	ex_pair(&p, 0);
	memset(p.ba.p, 0, LEN);
	for (i = 0; i < 200; i++) {
		val = 0x0102030405060708ull * (i + 1);
		at = (uint64_t *)p.ba.p + 1 + i;
		post_atomic_write(&p.b, (uintptr_t)at, p.ba.mr->rkey, &val);
		VT_WANT_WC(p.b.scq, 90, IBV_WC_SUCCESS, &wc);
		VT_EXPECT(wc.opcode == IBV_WC_ATOMIC_WRITE, "opcode %d",
			  wc.opcode);
		VT_EXPECT(*at == val && !at[1] && !*(uint64_t *)p.ba.p,
			  "%#llx", (unsigned long long)*at);
	}
	vt_pair_down(&p);
}

static void atomic_write_refused(const void *arg)
{
	static const struct {
		int off, key_xor, qp_access;
		enum ibv_wc_status want;
	} bad[] = {
		{ 4, 0, 0, IBV_WC_REM_INV_REQ_ERR },
		{ LEN, 0, 0, IBV_WC_REM_ACCESS_ERR },
		{ -8, 0, 0, IBV_WC_REM_ACCESS_ERR },
		{ 0, 0x100, 0, IBV_WC_REM_ACCESS_ERR },
		{ 0, 0, R_R | R_A, IBV_WC_REM_INV_REQ_ERR },
	};
	uint64_t val = ~0ull;
	struct vt_pair p;
	size_t i;
	int j;

	(void)arg;
	for (i = 0; i < VT_ARRAY_SIZE(bad); i++) {
		ex_pair(&p, bad[i].qp_access);
		memset(p.ba.p, 0, LEN);
		post_atomic_write(&p.b, (uintptr_t)p.ba.p + bad[i].off,
				  p.ba.mr->rkey ^ bad[i].key_xor, &val);
		VT_WANT(p.b.scq, 90, bad[i].want);
		for (j = 0; j < LEN; j++)
			VT_EXPECT(!p.ba.p[j], "row %zu wrote", i);
		vt_pair_down(&p);
	}
}

static const struct vt_test tests[] = {
	{ "type1_write_and_read", write_and_read, &type1 },
	{ "type2_write_and_read", write_and_read, &type2 },
	{ "rights_of_window", rights_of_window },
	{ "type1_rights_to_bind", rights_to_bind, &type1 },
	{ "type2_rights_to_bind", rights_to_bind, &type2 },
	{ "type1_range_to_bind", range_to_bind, &type1 },
	{ "type2_range_to_bind", range_to_bind, &type2 },
	{ "type1_bind_again", bind_again },
	{ "type1_unbind", unbind },
	{ "region_with_windows", region_with_windows },
	{ "type1_other_qp", other_qp, &type1 },
	{ "type2_other_qp", other_qp, &type2 },
	{ "type1_other_pd", other_pd, &type1 },
	{ "type2_other_pd", other_pd, &type2 },
	{ "type2_states", type2_states },
	{ "type2_inv_then_use", inv_then_use },
	{ "inv_refused", inv_refused },
	{ "inv_by_peer", inv_by_peer },
	{ "inv_by_peer_refused", inv_by_peer_refused },
	{ "type1_dealloc_then_use", dealloc_then_use, &type1 },
	{ "type2_dealloc_then_use", dealloc_then_use, &type2 },
	{ "kernel_opcodes", kernel_opcodes },
	{ "exit_while_bound", exit_while_bound },
	{ "type1_not_local", not_local, &type1 },
	{ "type2_not_local", not_local, &type2 },
	{ "atomic_write", atomic_write },
	{ "atomic_write_refused", atomic_write_refused },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
