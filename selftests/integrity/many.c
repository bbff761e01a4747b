// SPDX-License-Identifier: GPL-2.0
/*
 * Not a test of its own: QPs that all transfer at once, for the bench under UML.
 *
 *   many write|read QPS BYTES MESSAGES
 *
 * Each QP transfers MESSAGES of BYTES from end A (read: to it), eight at a time.
 * Status 0: all completed without error. MB/s: MB = 2^20 bytes.
 */
#include "vt.h"

#define MAX_QPS	64
#define DEPTH	8

static struct vt_end a, b;
static struct vt_qp qa[MAX_QPS], qb[MAX_QPS];
static struct vt_buf src, dst;
static enum ibv_wr_opcode op;
static uint32_t bytes;
static int qps, messages, sent[MAX_QPS];

static void next(int i)
{
	if (sent[i]++ >= messages)
		return;
	VT_ASSERT(!vt_post(&qa[i], op, i, src.p, bytes, src.mr->lkey,
			   (uintptr_t)dst.p, dst.mr->rkey, IBV_SEND_SIGNALED),
		  "post: %m");
}

static void transfer(const void *arg)
{
	struct vt_qp_cfg cfg = { 0 };
	struct ibv_wc wc;
	uint64_t start;
	int i, d, done = 0;

	(void)arg;
	vt_open(&a, VT_A, 4);
	vt_open(&b, VT_B, 4);
	vt_buf_alloc(&a, &src, bytes, VT_ACCESS_ALL);
	vt_buf_alloc(&b, &dst, bytes, VT_ACCESS_ALL);
	for (i = 0; i < qps; i++) {
		vt_qp_create(&a, &qa[i], &cfg);
		vt_qp_create(&b, &qb[i], &cfg);
		vt_connect(&qa[i], &qb[i], NULL);
	}
	start = vt_now_us();
	for (d = 0; d < DEPTH; d++)
		for (i = 0; i < qps; i++)
			next(i);
	for (i = 0; done < qps * messages; i = (i + 1) % qps) {
		if (!vt_poll(qa[i].scq, &wc, 1))
			continue;
		VT_ASSERT(wc.status == IBV_WC_SUCCESS, "QP %d: status %d", i,
			  wc.status);
		done++;
		next(i);
	}
	start = vt_now_us() - start;
	vt_note("%d messages of %u bytes on %d QPs, %.1f MB/s", done, bytes,
		qps, (double)done * bytes / 1.048576 / start);
	for (i = 0; i < qps; i++) {
		vt_qp_destroy(&qa[i]);
		vt_qp_destroy(&qb[i]);
	}
	vt_buf_free(&src);
	vt_buf_free(&dst);
	vt_close(&a);
	vt_close(&b);
}

int main(int argc, char **argv)
{
	static const struct vt_test tests[] = {
		{ "transfer", transfer, NULL, 120 },
	};

	if (argc != 5)
		return 2;
	op = argv[1][0] == 'r' ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	qps = atoi(argv[2]);
	bytes = atoi(argv[3]);
	messages = atoi(argv[4]);
	if (qps < 1 || qps > MAX_QPS)
		return 2;
	return vt_main(1, argv, tests, VT_ARRAY_SIZE(tests));
}
