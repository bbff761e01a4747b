// SPDX-License-Identifier: GPL-2.0
/*
 * 10,000 connected QPs and 100,000 MRs at once: how long it takes to make them
 * and what each takes in kernel memory, the RDMA core's part included; all of
 * them work; while they are idle nothing of the driver runs; all of the memory
 * comes back. With SCALE_PART in the environment only the last of that.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "mem.h"
#include "vt.h"

#define PAIRS		5000
#define QPS		(2 * PAIRS)
#define MRS		100000
#define CQS		4000
#define PERFTEST_QPS	1000
#define MSG		64
#define IDLE_S		10
#define LEFT_KB		65536	/* of the first time: what is kept for good */
#define LEFT_AGAIN_KB	128
#define AGAIN		10	/* a tenth of all that ... */
#define AGAIN_TIMES	6	/* ... at most so often */

/* Everything: end A has the even ones, end B the odd ones. */
static struct {
	struct vt_pair p;
	struct vt_qp qp[QPS];
	struct ibv_mr *mr[MRS];
	struct ibv_cq *cq[CQS];
	struct ibv_qp *perftest_qp[PERFTEST_QPS];
} all;

/* How many of them: all, then a part. */
static struct {
	int qps, mrs, cqs, perftest_qps;
	bool again;
} n;

static struct {
	long used, slab, percpu;
	uint64_t us;
} then;

static struct vt_end *end_of(int i)
{
	return i & 1 ? &all.p.eb : &all.p.ea;
}

static struct vt_buf *buf_of(int i)
{
	return i & 1 ? &all.p.bb : &all.p.ba;
}

static void mark(void)
{
	then.used = mem_used_kb();
	then.slab = mem_info("Slab");
	then.percpu = mem_info("Percpu");
	then.us = vt_now_us();
}

/* What was made since mark(). */
static void report(const char *what, long many)
{
	uint64_t ms = (vt_now_us() - then.us) / 1000;
	long kb = mem_used_kb() - then.used;

	/* the second time they take what the first ones left */
	if (n.again)
		return;
	vt_note("scale: %ld %s in %llu ms, %ld bytes each (slab %ld, per CPU %ld)",
		many, what, (unsigned long long)ms, kb * 1024 / many,
		(mem_info("Slab") - then.slab) * 1024 / many,
		(mem_info("Percpu") - then.percpu) * 1024 / many);
	VT_EXPECT(kb > 0, "nothing measured: %ld KB", kb);
}

static void progress(const char *what, int i, int of, int step)
{
	if (i && i % step == 0)
		vt_note("%d of %d %s", i, of, what);
}

static struct ibv_qp *make_qp(int i, int send_wr, int recv_wr)
{
	struct ibv_cq *cq = i & 1 ? all.p.b.scq : all.p.a.scq;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { send_wr, recv_wr, 1, 1, 0 },
	};

	return ibv_create_qp(end_of(i)->pd, &init);
}

static void make_cqs(void)
{
	int i;

	mark();
	for (i = 0; i < n.cqs; i++) {
		all.cq[i] = ibv_create_cq(end_of(i)->ctx, 16, NULL, NULL, 0);
		VT_ASSERT(all.cq[i], "CQ %d: %m", i);
	}
	report("idle CQs of 16 entries", n.cqs);
}

static void make_mrs(void)
{
	int i;

	mark();
	for (i = 0; i < n.mrs; i++) {
		all.mr[i] = ibv_reg_mr(end_of(i)->pd, buf_of(i)->p,
				       buf_of(i)->len, VT_ACCESS_ALL);
		VT_ASSERT(all.mr[i], "MR %d: %m", i);
		progress("MRs", i, n.mrs, 25000);
	}
	report("MRs of one page", n.mrs);
}

static void make_qps(void)
{
	const struct vt_conn conn = { .rd_atomic = 1 };
	int i;

	mark();
	for (i = 0; i < n.qps; i++) {
		all.qp[i] = i & 1 ? all.p.b : all.p.a;
		all.qp[i].qp = make_qp(i, 4, 4);
		VT_ASSERT(all.qp[i].qp, "QP %d: %m", i);
		progress("QPs made", i, n.qps, 2500);
	}
	report("unconnected QPs, queues of 4", n.qps);
	for (i = 0; i < n.qps; i += 2) {
		vt_connect(&all.qp[i], &all.qp[i + 1], &conn);
		progress("QPs connected", i, n.qps, 2500);
	}
	report("connected idle QPs, queues of 4", n.qps);
}

/* The same with the queues that perftest asks for. */
static void make_perftest_qps(void)
{
	int i;

	mark();
	for (i = 0; i < n.perftest_qps; i++) {
		all.perftest_qp[i] = make_qp(i, 128, 512);
		VT_ASSERT(all.perftest_qp[i], "QP %d: %m", i);
	}
	report("unconnected QPs, queues of 128 and 512", n.perftest_qps);
}

/* A WRITE from A to B on this pair, from and to the next two MRs. */
static void transfer(int pair, int mr)
{
	struct vt_qp *a = &all.qp[2 * pair];
	uint64_t id = mr + 1;
	int off = mr % 32 * MSG;

	memcpy(all.p.ba.p + off, &id, sizeof(id));
	VT_ASSERT(!vt_post(a, IBV_WR_RDMA_WRITE, id, all.p.ba.p + off, MSG,
			   all.mr[mr]->lkey, (uintptr_t)all.p.bb.p + off,
			   all.mr[mr + 1]->rkey, IBV_SEND_SIGNALED), "%m");
	VT_WANT(a->scq, id, IBV_WC_SUCCESS);
	VT_ASSERT(!memcmp(all.p.bb.p + off, &id, sizeof(id)), "wrong data");
}

static void use_all(void)
{
	uint64_t start = vt_now_us();
	int i;

	for (i = 0; i < n.mrs / 2; i++) {
		transfer(i % (n.qps / 2), 2 * i);
		progress("WRITEs", i, n.mrs / 2, 10000);
	}
	vt_note("%s%d WRITEs, each MR once and each QP %d times, in %llu ms",
		n.again ? "" : "scale: ", n.mrs / 2, n.mrs / n.qps / 2,
		(unsigned long long)(vt_now_us() - start) / 1000);
}

/* The kernel's tracing: which function of the driver ran? */
static const char *tracing = "/sys/kernel/tracing";

static bool trace_file(const char *name, char *path, size_t len)
{
	snprintf(path, len, "%s/%s", tracing, name);
	return !access(path, F_OK);
}

static void trace_set(const char *name, const char *text)
{
	char path[256];
	int fd;

	VT_ASSERT(trace_file(name, path, sizeof(path)), "no %s", path);
	fd = open(path, O_WRONLY | O_TRUNC);
	VT_ASSERT(fd >= 0, "%s: %m", path);
	VT_ASSERT(write(fd, text, strlen(text)) == (ssize_t)strlen(text),
		  "%s: %m", path);
	close(fd);
}

static const char * const trace_events[] = {
	"events/timer/hrtimer_start/enable",
	"events/timer/hrtimer_expire_entry/enable",
	"events/timer/timer_start/enable",
	"events/timer/timer_expire_entry/enable",
	"events/workqueue/workqueue_execute_start/enable",
};

/* true if every function can be traced, not only timers and work items */
static bool trace_setup(void)
{
	char path[256], what[256] = "";
	size_t i;
	FILE *f;

	if (!trace_file("trace", path, sizeof(path)))
		VT_ASSERT(!mount("none", tracing, "tracefs", 0, NULL), "%m");
	trace_set("tracing_on", "0");
	trace_set("buffer_size_kb", "8192");
	for (i = 0; i < VT_ARRAY_SIZE(trace_events); i++)
		trace_set(trace_events[i], "1");
	trace_file("available_tracers", path, sizeof(path));
	f = fopen(path, "r");
	VT_ASSERT(f && fgets(what, sizeof(what), f), "%s: %m", path);
	fclose(f);
	if (!strstr(what, " function ") && strncmp(what, "function ", 9))
		return false;
	trace_set("set_ftrace_filter", ":mod:rdma_soft");
	trace_set("current_tracer", "function");
	return true;
}

/* How many lines name something of the driver; none was lost. */
static int trace_count(bool show)
{
	unsigned long kept, written;
	char path[256], line[512];
	bool complete = false;
	int hits = 0;
	FILE *f;

	trace_file("trace", path, sizeof(path));
	f = fopen(path, "r");
	VT_ASSERT(f, "%s: %m", path);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "# entries-in-buffer/entries-written: %lu/%lu",
			   &kept, &written) == 2)
			complete = kept == written;
		if (line[0] == '#' ||
		    (!strstr(line, "[rdma_soft]") && !strstr(line, " <-")))
			continue;
		line[strcspn(line, "\n")] = 0;
		if (show && hits < 20)
			vt_note("%s", line);
		hits++;
	}
	fclose(f);
	VT_ASSERT(complete, "the trace lost events");
	return hits;
}

/* Packets of both links so far. */
static long packets(void)
{
	static const char * const names[] = { "sent_pkts", "rcvd_pkts" };
	long sum = 0, v;
	char path[256];
	size_t i;
	FILE *f;

	for (i = 0; i < 4; i++) {
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/%s/ports/1/hw_counters/%s",
			 getenv(i & 1 ? "VT_DEV_B" : "VT_DEV_A"), names[i / 2]);
		f = fopen(path, "r");
		VT_ASSERT(f, "%s: %m", path);
		if (fscanf(f, "%ld", &v) != 1)
			vt_fail(__FILE__, __LINE__, "%s is no number", path);
		fclose(f);
		sum += v;
	}
	return sum;
}

/* IPv6 asks for routers now and then, which is not ours. */
static void no_router_solicitation(enum vt_side side)
{
	char path[256];
	FILE *f;

	vt_enter(side == VT_A ? &all.p.ea : &all.p.eb);
	snprintf(path, sizeof(path),
		 "/proc/sys/net/ipv6/conf/%s/router_solicitations",
		 getenv(side == VT_A ? "VT_IF_A" : "VT_IF_B"));
	f = fopen(path, "w");
	VT_ASSERT(f, "%s: %m", path);
	fprintf(f, "0\n");
	fclose(f);
}

static void stay_idle(void)
{
	bool functions = trace_setup();
	int busy, woken;
	long moved;

	no_router_solicitation(VT_A);
	no_router_solicitation(VT_B);
	trace_set("tracing_on", "1");
	transfer(0, 0);
	usleep(1000);
	trace_set("tracing_on", "0");
	busy = trace_count(false);
	VT_ASSERT(busy > 0, "one WRITE left no trace: the trace is blind");
	sleep(5);	/* timers that run out once more */
	trace_set("trace", " ");
	moved = packets();
	trace_set("tracing_on", "1");
	sleep(IDLE_S);
	trace_set("tracing_on", "0");
	moved = packets() - moved;
	woken = trace_count(true);
	vt_note("scale: unused for %d s: %d runs of %s (%d for one WRITE), %ld packets",
		IDLE_S, woken, functions ? "the driver's functions" :
		"its timers and work items", busy, moved);
	VT_EXPECT(!woken, "%d", woken);
	VT_EXPECT(!moved, "%ld", moved);
	if (functions) {
		trace_set("current_tracer", "nop");
		trace_set("set_ftrace_filter", " ");
	}
}

static void destroy_all(void)
{
	uint64_t start = vt_now_us();
	int i;

	for (i = 0; i < n.qps; i++) {
		VT_ASSERT(!ibv_destroy_qp(all.qp[i].qp), "QP %d: %m", i);
		progress("QPs destroyed", i, n.qps, 2500);
	}
	for (i = 0; i < n.perftest_qps; i++)
		VT_ASSERT(!ibv_destroy_qp(all.perftest_qp[i]), "QP %d: %m", i);
	for (i = 0; i < n.mrs; i++) {
		VT_ASSERT(!ibv_dereg_mr(all.mr[i]), "MR %d: %m", i);
		progress("MRs destroyed", i, n.mrs, 25000);
	}
	for (i = 0; i < n.cqs; i++)
		VT_ASSERT(!ibv_destroy_cq(all.cq[i]), "CQ %d: %m", i);
	vt_note("%sall destroyed in %llu ms", n.again ? "" : "scale: ",
		(unsigned long long)(vt_now_us() - start) / 1000);
}

static const char * const kinds[] = {
	"MemFree", "Cached", "AnonPages", "Slab", "SUnreclaim", "PageTables",
	"VmallocUsed", "KernelStack", "Percpu",
};

struct level {
	long used, kind[VT_ARRAY_SIZE(kinds)];
};

static void level(struct level *l)
{
	size_t i;

	l->used = mem_settled_kb();
	for (i = 0; i < VT_ARRAY_SIZE(kinds); i++)
		l->kind[i] = mem_info(kinds[i]);
}

/* Memory that the end of an RCU period gives back takes a moment. */
static long left_kb(const struct level *before, long limit)
{
	char where[512] = "";
	struct level now;
	size_t i;
	int wait;

	for (wait = 0; wait < 8; wait++) {
		level(&now);
		if (now.used - before->used < limit)
			break;
		sleep(1);
	}
	for (i = 0; i < VT_ARRAY_SIZE(kinds); i++)
		snprintf(where + strlen(where), sizeof(where) - strlen(where),
			 ", %s %+ld", kinds[i], now.kind[i] - before->kind[i]);
	vt_note("after %d QPs, %d MRs, %d CQs: %ld KB more in use than before%s",
		n.qps + n.perftest_qps, n.mrs, n.cqs,
		now.used - before->used, where);
	return now.used - before->used;
}

/* What the core knows of, as a line for each device. */
static void resources(char *text, size_t len)
{
	FILE *f = popen("rdma resource show", "r");
	size_t got;

	VT_ASSERT(f, "%m");
	got = fread(text, 1, len - 1, f);
	text[got] = 0;
	VT_ASSERT(!pclose(f) && strstr(text, " qp "), "rdma resource: %s", text);
}

static void set_parts(int part)
{
	n.again = part > 1;
	n.qps = QPS / part;
	n.mrs = MRS / part;
	n.cqs = CQS / part;
	n.perftest_qps = PERFTEST_QPS / part;
}

/* KB more in use afterwards */
static long one_cycle(int part, long limit)
{
	struct level before;
	char res[2][512];
	long left;

	set_parts(part);
	resources(res[0], sizeof(res[0]));
	level(&before);
	make_cqs();
	make_mrs();
	make_qps();
	make_perftest_qps();
	use_all();
	if (part == 1)
		stay_idle();
	destroy_all();
	left = left_kb(&before, limit);
	resources(res[1], sizeof(res[1]));
	VT_EXPECT(!strcmp(res[0], res[1]), "before %s after %s", res[0], res[1]);
	return left;
}

/*
 * What an object leaves behind is more each time. What is kept to be used again is
 * not: there is a time after which nothing more is in use than before it.
 */
static void all_comes_back(void)
{
	long left = 0;
	int i;

	for (i = 0; i < AGAIN_TIMES; i++) {
		left = one_cycle(AGAIN, LEFT_AGAIN_KB);
		if (left < LEFT_AGAIN_KB)
			break;
	}
	vt_note("scale: %d QPs, %d MRs, %d CQs again, time %d: %ld KB more in use than before",
		n.qps + n.perftest_qps, n.mrs, n.cqs, i + 1, left);
	VT_EXPECT(left < LEFT_AGAIN_KB, "%ld KB", left);
}

static void objects(const void *arg)
{
	const struct vt_qp_cfg cfg = { .one_cq = true };
	long left;

	vt_pair_up(&all.p, &cfg, NULL, 4096);
	memset(&all.qp, 0, sizeof(all.qp));	/* pages of our own */
	if (!getenv("SCALE_PART")) {
		left = one_cycle(1, LEFT_KB);
		VT_EXPECT(left < LEFT_KB, "%ld KB", left);
	}
	all_comes_back();
	vt_pair_down(&all.p);
	(void)arg;
}

static const struct vt_test tests[] = {
	{ "objects", objects, NULL, 1500 },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
