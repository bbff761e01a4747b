// SPDX-License-Identifier: GPL-2.0
/*
 * What is executed once and in order, whatever is lost: READs and atomics within
 * their window, local operations, packets that came early.
 */
#include <unistd.h>

#include "recover.h"

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

/* Six long messages, of which B can keep only what it has room for. */
static void post_many(struct vt_pair *p)
{
	int i;

	fill(p);
	for (i = 0; i < 6; i++)
		post(p, IBV_WR_RDMA_WRITE, i, 0, LEN);
}

static void all_arrived(struct vt_pair *p)
{
	int i;

	for (i = 0; i < 6; i++)
		VT_WANT(p->a.scq, i, IBV_WC_SUCCESS);
	same(p, 0, LEN);
}

/* Never more is kept than the cap of a QP allows; what is not kept comes again. */
static void early_cap(const void *arg)
{
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 14 };
	uint64_t held, dropped;
	struct vt_pair p;

	(void)arg;
	up(&p, NULL, &conn);
	held = fault_counter(&p.eb, "early_held");
	dropped = fault_counter(&p.eb, "early_drops");
	/* every second one comes alone: an skb of its own for each behind a gap */
	fault_add(&p.ea, "drop dir=tx psn=0x%x count=1", PSN_OF(0));
	fault_add(&p.ea, "drop dir=tx op=write_middle every=2 count=500");
	post_many(&p);
	all_arrived(&p);
	held = fault_counter(&p.eb, "early_held") - held;
	dropped = fault_counter(&p.eb, "early_drops") - dropped;
	vt_note("%d kept, %d not", (int)held, (int)dropped);
	VT_EXPECT(held && dropped, "the cap was not met: nothing is shown");
	down(&p);
}

/*
 * What B keeps until nothing more is kept or let go. On a busy machine 20 ms may
 * pass without anybody else having run.
 */
static void settle(const struct vt_end *b)
{
	uint64_t last = 0, now;
	int quiet = 0;

	while (quiet < 10) {
		now = fault_counter(b, "early_held") +
		      fault_counter(b, "early_drops");
		quiet = now && now == last ? quiet + 1 : 0;
		last = now;
		usleep(20 * MSEC);
	}
}

/* A requester that has seen B keep packets behind a gap goes on behind one. */
static void learn_keeps(struct vt_pair *p)
{
	fault_add(&p->ea, "drop dir=tx psn=0x%x count=1", PSN_OF(2));
	post(p, IBV_WR_RDMA_WRITE, 1, 0, LEN);
	VT_WANT(p->a.scq, 1, IBV_WC_SUCCESS);
	fault_clear(&p->ea);
}

/*
 * All QPs together keep no more than 16 MiB, which 16 full ones have: one more
 * gets nothing, until another one is done.
 */
static void early_sum(const void *arg)
{
	static struct vt_pair full[16], late;
	struct vt_conn conn = { .mtu = IBV_MTU_256, .timeout = 20 };
	uint64_t held, dropped;
	size_t i;

	(void)arg;
	for (i = 0; i < VT_ARRAY_SIZE(full); i++)
		up(&full[i], NULL, &conn);
	up(&late, NULL, &conn);
	for (i = 0; i < VT_ARRAY_SIZE(full); i++)
		learn_keeps(&full[i]);
	learn_keeps(&late);
	fault_add(&late.ea, "drop dir=tx psn=0x%x count=all", PSN_OF(LEN / 256));
	fault_add(&late.ea, "drop dir=tx op=write_middle every=2 count=all");
	for (i = 0; i < VT_ARRAY_SIZE(full); i++)
		post_many(&full[i]);
	settle(&late.eb);
	held = fault_counter(&late.eb, "early_held");
	dropped = fault_counter(&late.eb, "early_drops");
	vt_note("%d kept, %d not", (int)held, (int)dropped);
	post_many(&late);
	settle(&late.eb);
	held = fault_counter(&late.eb, "early_held") - held;
	dropped = fault_counter(&late.eb, "early_drops") - dropped;
	vt_note("%d kept of one more, %d not", (int)held, (int)dropped);
	/*
	 * Less than one skb's room each was left by the others; more where those had
	 * one come again meanwhile. A QP alone has most of it kept, see early_cap.
	 */
	VT_EXPECT(held < dropped, "%d kept, %d not", (int)held, (int)dropped);

	fault_clear(&late.ea);
	for (i = 0; i < VT_ARRAY_SIZE(full); i++)
		all_arrived(&full[i]);
	all_arrived(&late);
	for (i = 0; i < VT_ARRAY_SIZE(full); i++)
		down(&full[i]);

	/* what they kept is given back */
	held = fault_counter(&late.eb, "early_held");
	fault_add(&late.ea, "drop dir=tx op=write_first nth=1");
	post_many(&late);
	all_arrived(&late);
	held = fault_counter(&late.eb, "early_held") - held;
	VT_EXPECT(held, "nothing is kept any more");
	down(&late);
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

static const struct vt_test tests[] = {
	{ "implied_nak", implied_nak },
	{ "read_window", read_window },
	{ "atomic_once", atomic_once },
	{ "local_once", local_once },
	{ "early_cap", early_cap },
	{ "early_sum", early_sum },
	{ "early_teardown", early_teardown },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
