// SPDX-License-Identifier: GPL-2.0
/*
 * Not a test of its own: WRITEs over several QPs at once, for cores.sh and
 * lockstat.sh.
 *
 *   flows QPS THREADS SECONDS BYTES [shared]
 *
 * THREADS threads (a divisor of QPS), each tied to a CPU of its own as far as
 * there are, keep QPS / THREADS QPs full of WRITEs of BYTES, from end A to end
 * B. With "shared" all QPs have one CQ. Prints "flows: MESSAGES in US us", and
 * exits with 0 if each WRITE was completed without an error. The shell commands
 * FLOWS_BEFORE and FLOWS_AFTER of the environment run when the QPs are connected,
 * and when the last WRITE is completed: between them there is only the data path.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "vt.h"

#define MAX_QPS	64
#define DEPTH	8

static struct {
	struct vt_end ea, eb;
	struct vt_qp a[MAX_QPS], b[MAX_QPS];
	struct vt_buf from[MAX_QPS], to[MAX_QPS];
	atomic_int left[MAX_QPS];	/* that may be posted */
	atomic_ulong done;
	int qps, threads, bytes;
	uint64_t end_us;
} f;

/* The QP once more, with the CQ of the first one. */
static void share_cq(struct vt_qp *q)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = f.a[0].scq,
		.recv_cq = f.a[0].scq, .cap = { DEPTH, 1, 1, 1, 0 },
	};

	VT_ASSERT(!ibv_destroy_qp(q->qp), "%m");
	q->scq = f.a[0].scq;
	q->qp = ibv_create_qp(f.ea.pd, &init);
	VT_ASSERT(q->qp, "%m");
}

static void up(bool shared)
{
	struct vt_qp_cfg cfg = { .send_wr = DEPTH, .recv_wr = 1,
				 .cq_depth = DEPTH * MAX_QPS };
	int i;

	vt_open(&f.ea, VT_A, 4);
	vt_open(&f.eb, VT_B, 4);
	for (i = 0; i < f.qps; i++) {
		vt_qp_create(&f.ea, &f.a[i], &cfg);
		vt_qp_create(&f.eb, &f.b[i], &cfg);
		if (shared && i)
			share_cq(&f.a[i]);
		vt_connect(&f.a[i], &f.b[i], NULL);
		vt_buf_alloc(&f.ea, &f.from[i], f.bytes, VT_ACCESS_ALL);
		vt_buf_alloc(&f.eb, &f.to[i], f.bytes, VT_ACCESS_ALL);
		memset(f.from[i].p, i + 1, f.bytes);
		atomic_store(&f.left[i], DEPTH);
	}
}

static void post(int i)
{
	while (atomic_load(&f.left[i]) > 0) {
		atomic_fetch_sub(&f.left[i], 1);
		VT_ASSERT(!vt_post(&f.a[i], IBV_WR_RDMA_WRITE, i, f.from[i].p,
				   f.bytes, f.from[i].mr->lkey,
				   (uintptr_t)f.to[i].p, f.to[i].mr->rkey,
				   IBV_SEND_SIGNALED), "%m");
	}
}

static bool poll_one(int i)
{
	struct ibv_wc wc[16];
	int j, n = ibv_poll_cq(f.a[i].scq, 16, wc);

	VT_ASSERT(n >= 0, "%d", n);
	for (j = 0; j < n; j++) {
		VT_ASSERT(!wc[j].status, "%s", ibv_wc_status_str(wc[j].status));
		atomic_fetch_add(&f.left[wc[j].wr_id], 1);
	}
	atomic_fetch_add(&f.done, n);
	return n;
}

static void *flow(void *arg)
{
	int t = (intptr_t)arg, per = f.qps / f.threads, i;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(t % (int)sysconf(_SC_NPROCESSORS_ONLN), &set);
	VT_ASSERT(!pthread_setaffinity_np(pthread_self(), sizeof(set), &set),
		  "cannot be tied to a CPU");
	while (vt_now_us() < f.end_us) {
		bool any = false;

		for (i = t * per; i < (t + 1) * per; i++) {
			post(i);
			any |= poll_one(i);
		}
		if (!any)
			sched_yield();
	}
	return NULL;
}

/* What is still on its way; then both buffers are the same. */
static void finish(void)
{
	uint64_t until = vt_now_us() + 20000000;
	int i;

	for (i = 0; i < f.qps; i++) {
		while (atomic_load(&f.left[i]) < DEPTH) {
			VT_ASSERT(vt_now_us() < until, "no completion");
			if (!poll_one(i))
				usleep(100);
		}
		VT_ASSERT(!memcmp(f.from[i].p, f.to[i].p, f.bytes),
			  "wrong data on QP %d", i);
	}
}

/* The shell command that this variable holds, if any. */
static void command_of(const char *variable)
{
	const char *command = getenv(variable);

	VT_ASSERT(!command || !system(command), "%s: %s", variable, command);
}

int main(int argc, char **argv)
{
	pthread_t thread[MAX_QPS];
	unsigned long done;
	uint64_t start;
	intptr_t t;

	if (argc < 5) {
		fprintf(stderr, "usage: flows QPS THREADS SECONDS BYTES [shared]\n");
		return 2;
	}
	f.qps = atoi(argv[1]);
	f.threads = atoi(argv[2]);
	f.bytes = atoi(argv[4]);
	if (f.qps < 1 || f.qps > MAX_QPS || f.threads < 1 ||
	    f.qps % f.threads || f.bytes < 1)
		return 2;
	up(argc > 5);
	command_of("FLOWS_BEFORE");
	start = vt_now_us();
	f.end_us = start + atoi(argv[3]) * 1000000ull;
	for (t = 0; t < f.threads; t++)
		VT_ASSERT(!pthread_create(&thread[t], NULL, flow, (void *)t),
			  "pthread");
	for (t = 0; t < f.threads; t++)
		pthread_join(thread[t], NULL);
	done = atomic_load(&f.done);
	printf("flows: %lu in %llu us\n", done,
	       (unsigned long long)(vt_now_us() - start));
	finish();
	command_of("FLOWS_AFTER");
	return 0;
}
