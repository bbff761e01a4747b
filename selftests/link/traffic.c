// SPDX-License-Identifier: GPL-2.0
/*
 * Not a test of its own: keeps RDMA traffic flowing between the two ends until
 * something takes a device away, for the tests of removal.
 *
 *   traffic STATUS-FILE [SECONDS]
 *
 * TRAFFIC_TIMEOUT is the local ACK timeout of the QPs (default 13: 33 ms, and an
 * error after 0.3 s; 18: 1 s and 8 s).
 *
 * The file holds one line, rewritten all the time: STATE BYTES FATAL EIO
 * STATE: run, end. FATAL: IBV_EVENT_DEVICE_FATAL events seen. EIO: verbs calls
 * on the dead device that failed with EIO (doorbell, arm, new object).
 *
 * Status 0: the traffic stopped with an error, DEVICE_FATAL came, the dead
 * device answers EIO and closing it works. 3: SECONDS passed (default 60) with
 * nothing happening; 2: the traffic stood still without any error.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "vt.h"

#define DEPTH 8
#define CHUNK 65536
#define STALL_US 20000000

static struct vt_pair p;
static uint64_t bytes;
static unsigned int fatal, eio;
static int status_fd;

static void status(const char *state)
{
	char line[80];
	int len;

	len = snprintf(line, sizeof(line), "%-4s %020llu %02u %02u\n", state,
		       (unsigned long long)bytes, fatal, eio);
	if (pwrite(status_fd, line, len, 0) != len)
		exit(4);
}

/* Take the async events that are there within ms. */
static void events(struct vt_end *e, int ms)
{
	struct pollfd pfd = { .fd = e->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	while (poll(&pfd, 1, ms) == 1 && (pfd.revents & POLLIN)) {
		if (ibv_get_async_event(e->ctx, &ev))
			return;
		if (ev.event_type == IBV_EVENT_DEVICE_FATAL)
			fatal++;
		ibv_ack_async_event(&ev);
		ms = 0;
	}
}

static int post(uint64_t id)
{
	return vt_post(&p.a, id & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, id,
		       p.ba.p + (id % DEPTH) * CHUNK, CHUNK, p.ba.mr->lkey,
		       (uintptr_t)p.bb.p + (id % DEPTH) * CHUNK,
		       p.bb.mr->rkey, IBV_SEND_SIGNALED);
}

/* Until an error: 0 it came, else the exit status. */
static int run(uint64_t until)
{
	uint64_t id = 0, last = vt_now_us(), now;
	struct ibv_wc wc;
	int n;

	while (id < DEPTH)
		if (post(id++))
			return 0;
	for (;;) {
		n = ibv_poll_cq(p.a.scq, 1, &wc);
		now = vt_now_us();
		if (n < 0)
			return 0;
		if (n && wc.status != IBV_WC_SUCCESS) {
			printf("# first bad completion: %s\n",
			       ibv_wc_status_str(wc.status));
			fflush(stdout);
			return 0;
		}
		if (n) {
			last = now;
			bytes += CHUNK;
			status("run");
			if (post(id++))
				return 0;
		} else {
			usleep(200);
		}
		events(&p.ea, 0);
		events(&p.eb, 0);
		if (fatal)
			return 0;
		if (now > until)
			return 3;
		if (now - last > STALL_US) {
			printf("# no completion for %u s\n", STALL_US / 1000000);
			return 2;
		}
	}
}

/* The device is gone: every call into the kernel must say EIO, none hang. */
static void probe_dead(struct vt_end *e, struct vt_qp *q)
{
	int rc;

	errno = 0;
	if (!ibv_alloc_pd(e->ctx) && errno == EIO)
		eio++;
	rc = ibv_req_notify_cq(q->scq, 0);
	if (rc == EIO || (rc && errno == EIO))
		eio++;
}

/* Errors are expected here: the objects are gone already. */
static void close_all(void)
{
	ibv_destroy_qp(p.a.qp);
	ibv_destroy_qp(p.b.qp);
	ibv_destroy_cq(p.a.scq);
	ibv_destroy_cq(p.a.rcq);
	ibv_destroy_cq(p.b.scq);
	ibv_destroy_cq(p.b.rcq);
	ibv_dereg_mr(p.ba.mr);
	ibv_dereg_mr(p.bb.mr);
	ibv_dealloc_pd(p.ea.pd);
	ibv_dealloc_pd(p.eb.pd);
	ibv_close_device(p.ea.ctx);
	ibv_close_device(p.eb.ctx);
}

static bool end_is_dead(struct vt_end *e)
{
	struct ibv_port_attr attr;
	int rc = ibv_query_port(e->ctx, 1, &attr);

	return rc == EIO || (rc && errno == EIO);
}

int main(int argc, char **argv)
{
	const char *timeout = getenv("TRAFFIC_TIMEOUT");
	struct vt_conn conn = {
		.timeout = timeout ? atoi(timeout) : 13,
		.retry_cnt = 7,
	};
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	uint64_t until;
	int rc, i;

	if (argc < 2 || home < 0)
		return 4;
	status_fd = open(argv[1], O_RDWR | O_CREAT, 0644);
	if (status_fd < 0)
		return 4;
	vt_pair_up(&p, NULL, &conn, DEPTH * CHUNK);
	/* this process must not be what keeps a namespace alive */
	if (setns(home, CLONE_NEWNET))
		return 4;
	if (p.ea.netns_fd >= 0)
		close(p.ea.netns_fd);
	if (p.eb.netns_fd >= 0)
		close(p.eb.netns_fd);
	until = vt_now_us() + (argc > 2 ? atoi(argv[2]) : 60) * 1000000ull;
	rc = run(until);
	if (rc) {
		status("end");
		return rc;
	}
	for (i = 0; i < 100 && !fatal; i++) {
		events(&p.ea, 50);
		events(&p.eb, 50);
	}
	if (end_is_dead(&p.ea))
		probe_dead(&p.ea, &p.a);
	if (end_is_dead(&p.eb))
		probe_dead(&p.eb, &p.b);
	close_all();
	status("end");
	if (!fatal)
		printf("# no DEVICE_FATAL\n");
	if (eio < 2)
		printf("# %u calls on the dead device failed with EIO, want 2\n",
		       eio);
	return fatal && eio >= 2 ? 0 : 1;
}
