// SPDX-License-Identifier: GPL-2.0
/* Posting work: inline, full and deep queues, SGE limits, many READs, order. */
#include <arpa/inet.h>
#include <unistd.h>

#include "vt.h"

#define LEN 65536

static void inline_size(const void *arg)
{
	uint32_t len = *(const uint32_t *)arg;
	struct vt_qp_cfg cfg = { .inline_data = 512 };
	struct ibv_wc wc;
	struct vt_pair p;
	uint32_t i;

	vt_pair_up(&p, &cfg, NULL, LEN);
	VT_EXPECT(p.a.cap.max_inline_data >= 512, "%u",
		  p.a.cap.max_inline_data);
	for (i = 0; i < len; i++)
		p.ba.p[i] = i * 7 + 1;
	VT_ASSERT(!vt_recv(&p.b, 7, p.bb.p, LEN, p.bb.mr->lkey), "");
	/* the key of an inline request means nothing */
	VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND_WITH_IMM, 1, p.ba.p, len, 0xbad,
			   0, 0, IBV_SEND_INLINE | IBV_SEND_SIGNALED), "");
	memset(p.ba.p, 0xee, LEN);
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	VT_WANT_WC(p.b.rcq, 7, IBV_WC_SUCCESS, &wc);
	VT_EXPECT(wc.byte_len == len, "%u", wc.byte_len);
	for (i = 0; i < len; i++)
		VT_ASSERT(p.bb.p[i] == (uint8_t)(i * 7 + 1), "byte %u", i);
	VT_EXPECT(!p.bb.p[len], "one byte too many");
	vt_pair_down(&p);
}

static void inline_too_long(const void *arg)
{
	struct vt_qp_cfg cfg = { .inline_data = 512 };
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	VT_EXPECT(vt_post(&p.a, IBV_WR_SEND, 1, p.ba.p,
			  p.a.cap.max_inline_data + 1, 0, 0, 0,
			  IBV_SEND_INLINE | IBV_SEND_SIGNALED),
		  "%u bytes accepted", p.a.cap.max_inline_data + 1);
	VT_WANT_NONE(p.a.scq, 20);
	VT_EXPECT(vt_state(&p.a) == IBV_QPS_RTS, "%d", vt_state(&p.a));
	vt_pair_down(&p);
}

/* Post until refused, complete, post again. */
static void full_send_queue(const void *arg)
{
	struct vt_qp_cfg cfg = { .send_wr = 16, .recv_wr = 1024,
				 .cq_depth = 2048 };
	int i, n, rc = 0, round;
	struct vt_pair p;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	for (round = 0; round < 3; round++) {
		/* nothing posted at B: the queue cannot drain */
		for (n = 0; n < 1000; n++) {
			rc = vt_post(&p.a, IBV_WR_SEND, n, p.ba.p, 64,
				     p.ba.mr->lkey, 0, 0, IBV_SEND_SIGNALED);
			if (rc)
				break;
		}
		VT_EXPECT(rc == ENOMEM, "%d", rc);
		VT_ASSERT(n >= 16 && n >= (int)p.a.cap.max_send_wr,
			  "%d posted, capacity %u", n, p.a.cap.max_send_wr);
		for (i = 0; i < n; i++)
			VT_ASSERT(!vt_recv(&p.b, i, p.bb.p, 64,
					   p.bb.mr->lkey), "");
		for (i = 0; i < n; i++) {
			VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
			VT_WANT(p.b.rcq, i, IBV_WC_SUCCESS);
		}
	}
	vt_pair_down(&p);
}

static void full_recv_queue(const void *arg)
{
	struct vt_qp_cfg cfg = { .recv_wr = 16 };
	struct vt_pair p;
	int n, rc = 0;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	for (n = 0; n < 1000; n++) {
		rc = vt_recv(&p.b, n, p.bb.p, 64, p.bb.mr->lkey);
		if (rc)
			break;
	}
	VT_EXPECT(rc == ENOMEM, "%d", rc);
	VT_ASSERT(n >= 16 && n >= (int)p.b.cap.max_recv_wr,
		  "%d posted, capacity %u", n, p.b.cap.max_recv_wr);
	vt_pair_down(&p);
}

/* As deep as the device says, all in flight at once, every one arrives. */
static void deep_queues(const void *arg)
{
	struct vt_qp_cfg cfg = { .send_wr = 32767, .recv_wr = 32767,
				 .cq_depth = 32767 };
	struct vt_pair p;
	uint32_t i, n = 32767;
	struct ibv_wc wc;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	for (i = 0; i < n; i++)
		VT_ASSERT(!vt_recv(&p.b, i, p.bb.p, 64, p.bb.mr->lkey), "%u",
			  i);
	for (i = 0; i < n; i++)
		VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND_WITH_IMM, i, p.ba.p, 4,
				   p.ba.mr->lkey, 0, 0,
				   i == n - 1 ? IBV_SEND_SIGNALED : 0), "%u",
			  i);
	for (i = 0; i < n; i++) {
		VT_WANT_WC(p.b.rcq, i, IBV_WC_SUCCESS, &wc);
		VT_ASSERT(ntohl(wc.imm_data) == i, "%u", ntohl(wc.imm_data));
	}
	VT_WANT(p.a.scq, n - 1, IBV_WC_SUCCESS);
	vt_pair_down(&p);
}

static void most_sges(const void *arg)
{
	struct vt_qp_cfg cfg = { .send_sge = 32, .recv_sge = 32 };
	struct ibv_send_wr *bads, wr = { .wr_id = 1, .num_sge = 32,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_recv_wr *badr, rr = { .wr_id = 2, .num_sge = 32 };
	struct ibv_sge s[33], r[33];
	struct vt_pair p;
	int i;

	(void)arg;
	vt_pair_up(&p, &cfg, NULL, LEN);
	for (i = 0; i < 33; i++) {
		memset(p.ba.p + i * 1000, i + 1, 999);
		s[i] = (struct ibv_sge){ (uintptr_t)p.ba.p + i * 1000, 999,
					 p.ba.mr->lkey };
		r[i] = (struct ibv_sge){ (uintptr_t)p.bb.p + i * 1001, 999,
					 p.bb.mr->lkey };
	}
	wr.sg_list = s;
	rr.sg_list = r;
	VT_ASSERT(!ibv_post_recv(p.b.qp, &rr, &badr), "%m");
	VT_ASSERT(!ibv_post_send(p.a.qp, &wr, &bads), "%m");
	VT_WANT(p.a.scq, 1, IBV_WC_SUCCESS);
	VT_WANT(p.b.rcq, 2, IBV_WC_SUCCESS);
	for (i = 0; i < 32; i++)
		VT_ASSERT(!memcmp(p.ba.p + i * 1000, p.bb.p + i * 1001, 999),
			  "piece %d", i);
	wr.num_sge = p.a.cap.max_send_sge + 1;
	rr.num_sge = p.b.cap.max_recv_sge + 1;
	if (wr.num_sge <= 33)
		VT_EXPECT(ibv_post_send(p.a.qp, &wr, &bads), "one SGE more");
	if (rr.num_sge <= 33)
		VT_EXPECT(ibv_post_recv(p.b.qp, &rr, &badr), "one SGE more");
	vt_pair_down(&p);
}

/* More READs and atomics than rd_atomic allows at once: all of them complete. */
static void many_reads(const void *arg)
{
	struct vt_conn conn = { .rd_atomic = *(const int *)arg };
	struct vt_qp_cfg cfg = { .send_wr = 128 };
	struct vt_pair p;
	uint64_t i;

	vt_pair_up(&p, &cfg, &conn, LEN);
	for (i = 0; i < LEN; i++)
		p.bb.p[i] = i * 13;
	for (i = 0; i < 64; i++)
		VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_READ, i,
				   p.ba.p + i * 1024, 1024, p.ba.mr->lkey,
				   (uintptr_t)p.bb.p + i * 1024,
				   p.bb.mr->rkey, IBV_SEND_SIGNALED), "");
	for (i = 0; i < 64; i++)
		VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
	VT_ASSERT(!memcmp(p.ba.p, p.bb.p, LEN), "data");
	memset(p.bb.p, 0, 8);
	for (i = 0; i < 64; i++)
		VT_ASSERT(!vt_post(&p.a, IBV_WR_ATOMIC_FETCH_AND_ADD, i,
				   p.ba.p + i * 8, 8, p.ba.mr->lkey,
				   (uintptr_t)p.bb.p, p.bb.mr->rkey,
				   IBV_SEND_SIGNALED), "");
	for (i = 0; i < 64; i++) {
		VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
		VT_ASSERT(*(uint64_t *)(p.ba.p + i * 8) == i, "add %d returned %d",
			  (int)i, (int)*(uint64_t *)(p.ba.p + i * 8));
	}
	VT_EXPECT(*(uint64_t *)p.bb.p == 64, "");
	vt_pair_down(&p);
}

/* A fenced SEND of what a READ fetched carries the fetched bytes. */
static void fence(const void *arg)
{
	struct vt_pair p;
	int i;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, LEN);
	for (i = 0; i < 20; i++) {
		memset(p.ba.p, 0, 4096);
		memset(p.bb.p, i + 1, 4096);
		memset(p.bb.p + 8192, 0, 4096);
		VT_ASSERT(!vt_recv(&p.b, 7, p.bb.p + 8192, 4096,
				   p.bb.mr->lkey), "");
		VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_READ, 1, p.ba.p, 4096,
				   p.ba.mr->lkey, (uintptr_t)p.bb.p,
				   p.bb.mr->rkey, 0), "");
		VT_ASSERT(!vt_post(&p.a, IBV_WR_SEND, 2, p.ba.p, 4096,
				   p.ba.mr->lkey, 0, 0, IBV_SEND_SIGNALED |
				   IBV_SEND_FENCE), "");
		VT_WANT(p.a.scq, 2, IBV_WC_SUCCESS);
		VT_WANT(p.b.rcq, 7, IBV_WC_SUCCESS);
		VT_ASSERT(!memcmp(p.bb.p, p.bb.p + 8192, 4096), "round %d", i);
	}
	vt_pair_down(&p);
}

/* PSNs start just below the 24-bit wrap. */
static void psn_wrap(const void *arg)
{
	struct vt_conn conn = { .psn_a = 0xfffff0, .psn_b = 0xfffffe };
	struct vt_pair p;
	uint64_t i;

	(void)arg;
	vt_pair_up(&p, NULL, &conn, LEN);
	for (i = 0; i < LEN; i++)
		p.ba.p[i] = i * 3;
	for (i = 0; i < 4; i++) {
		memset(p.bb.p, 0, LEN);
		VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_WRITE, i, p.ba.p, LEN,
				   p.ba.mr->lkey, (uintptr_t)p.bb.p,
				   p.bb.mr->rkey, IBV_SEND_SIGNALED), "");
		VT_WANT(p.a.scq, i, IBV_WC_SUCCESS);
		VT_ASSERT(!memcmp(p.ba.p, p.bb.p, LEN), "round %d", (int)i);
		memset(p.bb.p, 0, LEN);
		VT_ASSERT(!vt_post(&p.b, IBV_WR_RDMA_READ, i, p.bb.p, LEN,
				   p.bb.mr->lkey, (uintptr_t)p.ba.p,
				   p.ba.mr->rkey, IBV_SEND_SIGNALED), "");
		VT_WANT(p.b.scq, i, IBV_WC_SUCCESS);
		VT_ASSERT(!memcmp(p.ba.p, p.bb.p, LEN), "round %d", (int)i);
	}
	vt_pair_down(&p);
}

/* A QP connected to itself, and two QPs of one device. */
static void same_device(const void *arg)
{
	bool self = *(const bool *)arg;
	struct vt_buf src, dst;
	struct vt_end e;
	struct vt_qp a, b;
	struct vt_qp *to = self ? &a : &b;

	vt_open(&e, VT_A, 4);
	vt_buf_alloc(&e, &src, LEN, VT_ACCESS_ALL);
	vt_buf_alloc(&e, &dst, LEN, VT_ACCESS_ALL);
	vt_qp_create(&e, &a, NULL);
	if (!self)
		vt_qp_create(&e, &b, NULL);
	if (self) {
		struct vt_conn conn = { 0 };

		a.psn = 100;
		VT_ASSERT(!vt_to_init(&a, 0), "");
		VT_ASSERT(!vt_to_rtr(&a, &a, &conn), "");
		VT_ASSERT(!vt_to_rts(&a, &conn), "");
	} else {
		vt_connect(&a, &b, NULL);
	}
	memset(src.p, 0x3c, LEN);
	VT_ASSERT(!vt_recv(to, 7, dst.p, LEN, dst.mr->lkey), "");
	VT_ASSERT(!vt_post(&a, IBV_WR_SEND, 1, src.p, LEN, src.mr->lkey, 0, 0,
			   IBV_SEND_SIGNALED), "");
	VT_WANT(a.scq, 1, IBV_WC_SUCCESS);
	VT_WANT(to->rcq, 7, IBV_WC_SUCCESS);
	VT_ASSERT(!memcmp(src.p, dst.p, LEN), "data");
	vt_qp_destroy(&a);
	if (!self)
		vt_qp_destroy(&b);
	vt_buf_free(&src);
	vt_buf_free(&dst);
	vt_close(&e);
}

static const uint32_t in0, in1 = 1, in511 = 511, in512 = 512;
static const int rd1 = 1, rd16 = 16, rd128 = 128;
static const bool yes = true, no;

static const struct vt_test tests[] = {
	{ "inline_0", inline_size, &in0 },
	{ "inline_1", inline_size, &in1 },
	{ "inline_511", inline_size, &in511 },
	{ "inline_512", inline_size, &in512 },
	{ "inline_too_long", inline_too_long },
	{ "full_send_queue", full_send_queue },
	{ "full_recv_queue", full_recv_queue },
	{ "deep_queues_32767", deep_queues, .timeout_s = 120 },
	{ "sge_32", most_sges },
	{ "reads_rd_atomic_1", many_reads, &rd1 },
	{ "reads_rd_atomic_16", many_reads, &rd16 },
	{ "reads_rd_atomic_128", many_reads, &rd128 },
	{ "fence", fence },
	{ "psn_wrap", psn_wrap },
	{ "two_qps_of_one_device", same_device, &no },
	{ "qp_to_itself", same_device, &yes },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
