// SPDX-License-Identifier: GPL-2.0
/*
 * Every kind of memory that can be registered, what must not be, limits, forks,
 * processes that die in the middle of a call, users without rights.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vt.h"

#define PAGE 4096
#define LEN (64 * PAGE)
#define HUGE (2 << 20)
#define NOBODY 65534

/* A pair whose buffers are not registered yet. */
static void pair_bare(struct vt_pair *p)
{
	vt_open(&p->ea, VT_A, 4);
	vt_open(&p->eb, VT_B, 4);
	vt_buf_alloc(&p->ea, &p->ba, LEN, VT_ACCESS_ALL);
	vt_buf_alloc(&p->eb, &p->bb, LEN, VT_ACCESS_ALL);
	vt_qp_create(&p->ea, &p->a, NULL);
	vt_qp_create(&p->eb, &p->b, NULL);
	vt_connect(&p->a, &p->b, NULL);
}

static void move(struct vt_pair *p, enum ibv_wr_opcode op, void *local,
		 uint32_t lkey, void *remote, uint32_t rkey, uint32_t len)
{
	VT_ASSERT(!vt_post(&p->a, op, 1, local, len, lkey, (uintptr_t)remote,
			   rkey, IBV_SEND_SIGNALED), "");
	VT_WANT(p->a.scq, 1, IBV_WC_SUCCESS);
}

/* The memory as target and as source, at an odd offset. */
static void use_memory(uint8_t *mem, size_t len)
{
	struct vt_rnd r = { 0x1234567 };
	uint32_t n = (len < LEN ? len : LEN) - 100;
	struct ibv_mr *mr;
	struct vt_pair p;

	pair_bare(&p);
	mr = ibv_reg_mr(p.eb.pd, mem, len, VT_ACCESS_ALL);
	VT_ASSERT(mr, "%zu bytes: %m", len);
	vt_fill(&r, p.ba.p, LEN);
	move(&p, IBV_WR_RDMA_WRITE, p.ba.p, p.ba.mr->lkey, mem + 33, mr->rkey,
	     n);
	VT_ASSERT(!memcmp(mem + 33, p.ba.p, n), "not what was written");
	mem[33] ^= 0xff;
	move(&p, IBV_WR_RDMA_READ, p.ba.p, p.ba.mr->lkey, mem + 33, mr->rkey,
	     n);
	VT_ASSERT(!memcmp(mem + 33, p.ba.p, n), "not what was read");
	/* the last byte of a large region */
	move(&p, IBV_WR_RDMA_WRITE, p.ba.p, p.ba.mr->lkey, mem + len - 1,
	     mr->rkey, 1);
	VT_EXPECT(mem[len - 1] == p.ba.p[0], "the last byte");
	VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	vt_pair_down(&p);
}

static void anonymous(const void *arg)
{
	void *m = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)arg;
	VT_ASSERT(m != MAP_FAILED, "%m");
	use_memory(m, LEN);
}

/* Shared memory: what comes by RDMA is seen through another mapping. */
static void shared(const void *arg)
{
	int fd = memfd_create("rdma", 0);
	uint8_t *m, *other;

	(void)arg;
	VT_ASSERT(fd >= 0 && !ftruncate(fd, LEN), "%m");
	m = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	other = mmap(NULL, LEN, PROT_READ, MAP_SHARED, fd, 0);
	VT_ASSERT(m != MAP_FAILED && other != MAP_FAILED, "%m");
	use_memory(m, LEN);
	VT_EXPECT(!memcmp(m, other, LEN), "the other mapping differs");
}

static void huge_tlb(const void *arg)
{
	FILE *f = fopen("/proc/sys/vm/nr_hugepages", "w");
	void *m;

	(void)arg;
	if (!f)
		vt_skip("this kernel has no hugetlb pages");
	fprintf(f, "4\n");
	fclose(f);
	m = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	VT_ASSERT(m != MAP_FAILED, "%m");
	use_memory(m, 2 * HUGE);
	munmap(m, 2 * HUGE);
	f = fopen("/proc/sys/vm/nr_hugepages", "w");
	fprintf(f, "0\n");
	fclose(f);
}

static void transparent_huge(const void *arg)
{
	uint8_t *m = mmap(NULL, 3 * HUGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)arg;
	VT_ASSERT(m != MAP_FAILED, "%m");
	m = (uint8_t *)(((uintptr_t)m + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
	/* a kernel without them refuses, the memory is good all the same */
	if (madvise(m, 2 * HUGE, MADV_HUGEPAGE))
		vt_note("no transparent huge pages: %m");
	memset(m, 1, 2 * HUGE);
	use_memory(m, 2 * HUGE);
}

/* Pages of a file, read-only: a source, never a target. */
static void file_pages(const void *arg)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct vt_pair p;
	struct ibv_mr *mr;
	struct stat st;
	uint8_t *m;

	(void)arg;
	VT_ASSERT(fd >= 0 && !fstat(fd, &st), "%m");
	m = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	VT_ASSERT(m != MAP_FAILED && st.st_size >= 2 * PAGE, "%m");
	pair_bare(&p);
	VT_EXPECT(!ibv_reg_mr(p.ea.pd, m, 2 * PAGE, IBV_ACCESS_LOCAL_WRITE),
		  "read-only pages were registered for writing");
	mr = ibv_reg_mr(p.ea.pd, m, 2 * PAGE, 0);
	VT_ASSERT(mr, "%m");
	move(&p, IBV_WR_RDMA_WRITE, m + 5, mr->lkey, p.bb.p, p.bb.mr->rkey,
	     PAGE);
	VT_EXPECT(!memcmp(p.bb.p, m + 5, PAGE), "data");
	VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	mr = ibv_reg_mr(p.eb.pd, m, 2 * PAGE, IBV_ACCESS_REMOTE_READ);
	VT_ASSERT(mr, "%m");
	move(&p, IBV_WR_RDMA_READ, p.ba.p, p.ba.mr->lkey, m + 9, mr->rkey, 100);
	VT_EXPECT(!memcmp(p.ba.p, m + 9, 100), "data read");
	VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	vt_pair_down(&p);
}

static void read_only_anonymous(const void *arg)
{
	uint8_t *m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;
	struct vt_end e;

	(void)arg;
	VT_ASSERT(m != MAP_FAILED, "%m");
	memset(m, 7, PAGE);
	VT_ASSERT(!mprotect(m, PAGE, PROT_READ), "%m");
	vt_open(&e, VT_A, 4);
	VT_EXPECT(!ibv_reg_mr(e.pd, m, PAGE, VT_ACCESS_ALL),
		  "registered for writing");
	mr = ibv_reg_mr(e.pd, m, PAGE, IBV_ACCESS_REMOTE_READ);
	VT_ASSERT(mr, "for reading: %m");
	VT_EXPECT(m[5] == 7, "content changed");
	VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	vt_close(&e);
}

static uint64_t pinned_kb(void)
{
	unsigned long long kb = 0;
	char line[200];
	FILE *f = fopen("/proc/self/status", "r");

	VT_ASSERT(f, "%m");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %llu", &kb) == 1)
			break;
	fclose(f);
	return kb;
}

/* A hole in the range: refused, and what was pinned before it is let go. */
static void hole(const void *arg)
{
	uint64_t before;
	struct vt_end e;
	uint8_t *m;

	(void)arg;
	vt_open(&e, VT_A, 4);
	m = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	VT_ASSERT(m != MAP_FAILED, "%m");
	before = pinned_kb();
	munmap(m + LEN / 2, PAGE);
	errno = 0;
	VT_EXPECT(!ibv_reg_mr(e.pd, m, LEN, VT_ACCESS_ALL), "registered");
	VT_EXPECT(errno == EFAULT || errno == ENOMEM, "%m");
	VT_EXPECT(pinned_kb() == before, "%llu kB pinned, before: %llu",
		  (unsigned long long)pinned_kb(), (unsigned long long)before);
	vt_close(&e);
}

/* The pages stay when the program unmaps them, until deregistration. */
static void unmapped_later(const void *arg)
{
	struct vt_pair p;
	struct ibv_mr *mr;
	uint8_t *m;

	(void)arg;
	pair_bare(&p);
	m = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	VT_ASSERT(m != MAP_FAILED, "%m");
	memset(m, 0x3c, LEN);
	mr = ibv_reg_mr(p.eb.pd, m, LEN, VT_ACCESS_ALL);
	VT_ASSERT(mr, "%m");
	munmap(m, LEN);
	move(&p, IBV_WR_RDMA_READ, p.ba.p, p.ba.mr->lkey, m, mr->rkey, LEN);
	VT_EXPECT(p.ba.p[0] == 0x3c && p.ba.p[LEN - 1] == 0x3c, "data");
	move(&p, IBV_WR_RDMA_WRITE, p.ba.p, p.ba.mr->lkey, m, mr->rkey, LEN);
	VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	vt_pair_down(&p);
}

/* A child after fork: the parent's memory still is what the peer writes to. */
static void with_fork(const void *arg)
{
	bool dontfork = arg;
	struct vt_pair p;
	int status, i;
	pid_t pid;

	pair_bare(&p);
	if (dontfork)
		VT_ASSERT(!madvise(p.bb.p, LEN, MADV_DONTFORK), "%m");
	memset(p.bb.p, 1, LEN);
	pid = fork();
	VT_ASSERT(pid >= 0, "%m");
	if (!pid) {
		if (!dontfork)
			p.bb.p[0] = 99;
		pause();
		_exit(0);
	}
	for (i = 2; i < 6; i++) {
		/* a page that is written by the CPU, then by the peer */
		memset(p.bb.p, 0x80 + i, LEN);
		memset(p.ba.p, i, LEN);
		move(&p, IBV_WR_RDMA_WRITE, p.ba.p, p.ba.mr->lkey, p.bb.p,
		     p.bb.mr->rkey, LEN);
		VT_ASSERT(!memcmp(p.ba.p, p.bb.p, LEN),
			  "round %d: the peer writes to another page", i);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	vt_pair_down(&p);
}

static void become_nobody(struct vt_end *e)
{
	VT_ASSERT(!setgid(NOBODY) && !setuid(NOBODY), "%m");
	/* setns() is not for users; they are in the right namespace already */
	close(e->netns_fd);
	e->netns_fd = -1;
}

/* A user needs no rights for anything but memory above the limit. */
static void unprivileged(const void *arg)
{
	struct vt_end e, same;
	struct vt_buf b;
	struct vt_qp q1, q2;

	(void)arg;
	vt_open(&e, VT_A, 4);
	ibv_dealloc_pd(e.pd);
	ibv_close_device(e.ctx);
	VT_ASSERT(!setgid(NOBODY) && !setuid(NOBODY), "%m");
	unsetenv("VT_NS_A");
	vt_open(&e, VT_A, 4);
	same = e;
	vt_buf_alloc(&e, &b, 16 * PAGE, VT_ACCESS_ALL);
	vt_qp_create(&e, &q1, NULL);
	vt_qp_create(&same, &q2, NULL);
	vt_connect(&q1, &q2, NULL);
	memset(b.p, 5, PAGE);
	VT_ASSERT(!vt_post(&q1, IBV_WR_RDMA_WRITE, 1, b.p, PAGE, b.mr->lkey,
			   (uintptr_t)b.p + 8 * PAGE, b.mr->rkey,
			   IBV_SEND_SIGNALED), "");
	VT_WANT(q1.scq, 1, IBV_WC_SUCCESS);
	VT_EXPECT(b.p[9 * PAGE - 1] == 5, "data");
	vt_qp_destroy(&q1);
	vt_qp_destroy(&q2);
	vt_buf_free(&b);
	VT_EXPECT(system("rdma link del \"$VT_DEV_A\" 2>/dev/null"),
		  "a user deleted the link");
	vt_close(&e);
}

/* The limit counts what is registered, and gives back what is not any more. */
static void memlock_counts(const void *arg)
{
	struct rlimit lim = { 32 * PAGE, 32 * PAGE };
	struct ibv_mr *mr[3];
	struct vt_end e;
	uint8_t *m;
	int i;

	(void)arg;
	vt_open(&e, VT_A, 4);
	VT_ASSERT(!setrlimit(RLIMIT_MEMLOCK, &lim), "%m");
	become_nobody(&e);
	m = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	VT_ASSERT(m != MAP_FAILED, "%m");
	for (i = 0; i < 20; i++) {
		mr[0] = ibv_reg_mr(e.pd, m, 16 * PAGE, VT_ACCESS_ALL);
		VT_ASSERT(mr[0], "round %d: %m", i);
		mr[1] = ibv_reg_mr(e.pd, m + 16 * PAGE, 12 * PAGE,
				   VT_ACCESS_ALL);
		VT_ASSERT(mr[1], "round %d: %m", i);
		errno = 0;
		mr[2] = ibv_reg_mr(e.pd, m + 32 * PAGE, 16 * PAGE,
				   VT_ACCESS_ALL);
		VT_ASSERT(!mr[2] && errno == ENOMEM, "round %d: above: %m", i);
		VT_ASSERT(!ibv_dereg_mr(mr[0]) && !ibv_dereg_mr(mr[1]), "%m");
	}
	VT_EXPECT(!pinned_kb(), "%llu kB stay pinned",
		  (unsigned long long)pinned_kb());
	vt_close(&e);
}

/* --- processes that die ------------------------------------------------- */

/* All verbs in a circle, until somebody ends it. */
static void verbs_for_ever(void)
{
	struct ibv_srq_init_attr sinit = { .attr = { 16, 1, 0 } };
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct vt_pair p;
	int i;

	for (;;) {
		vt_pair_up(&p, NULL, NULL, LEN);
		for (i = 0; i < 8; i++) {
			vt_recv(&p.b, i, p.bb.p, PAGE, p.bb.mr->lkey);
			vt_post(&p.a, i % 2 ? IBV_WR_SEND : IBV_WR_RDMA_READ,
				i, p.ba.p, i % 2 ? 4000 : LEN, p.ba.mr->lkey,
				(uintptr_t)p.bb.p, p.bb.mr->rkey,
				IBV_SEND_SIGNALED);
		}
		vt_poll(p.a.scq, &wc, 1);
		ibv_resize_cq(p.a.scq, 300);
		srq = ibv_create_srq(p.eb.pd, &sinit);
		ah = vt_ah(&p.ea, &p.eb);
		ibv_destroy_ah(ah);
		vt_to_err(&p.b);
		vt_to_reset(&p.b);
		if (srq)
			ibv_destroy_srq(srq);
		vt_pair_down(&p);
	}
}

static int objects_left(const char *kind)
{
	char cmd[200], line[100] = "";
	int n = -1;
	FILE *f;

	/* objects of processes have a pid, those of the kernel do not */
	snprintf(cmd, sizeof(cmd), "rdma res show %s | grep -c ' pid '", kind);
	f = popen(cmd, "r");
	VT_ASSERT(f, "%m");
	if (fgets(line, sizeof(line), f))
		n = atoi(line);
	pclose(f);
	return n;
}

static void killed_anywhere(const void *arg)
{
	static const char * const kinds[] = { "qp", "cq", "mr", "pd" };
	struct vt_rnd r = { 0xdeadbeef };
	int i, status, wait;
	struct vt_pair p;
	pid_t pid;

	(void)arg;
	for (i = 0; i < 120; i++) {
		pid = fork();
		VT_ASSERT(pid >= 0, "%m");
		if (!pid)
			verbs_for_ever();
		usleep(vt_rnd_below(&r, 30000));
		kill(pid, SIGKILL);
		VT_ASSERT(waitpid(pid, &status, 0) == pid, "%m");
		VT_ASSERT(WIFSIGNALED(status), "round %d: it ended by itself",
			  i);
	}
	for (i = 0; i < (int)VT_ARRAY_SIZE(kinds); i++) {
		for (wait = 0; wait < 50 && objects_left(kinds[i]); wait++)
			usleep(100000);
		VT_EXPECT(!objects_left(kinds[i]), "%d objects of kind %s left",
			  objects_left(kinds[i]), kinds[i]);
	}
	/* and the device still works */
	pair_bare(&p);
	move(&p, IBV_WR_RDMA_WRITE, p.ba.p, p.ba.mr->lkey, p.bb.p,
	     p.bb.mr->rkey, LEN);
	vt_pair_down(&p);
}

static void *wait_event(void *arg)
{
	struct vt_end *e = arg;
	struct ibv_async_event ev;

	ibv_get_async_event(e->ctx, &ev);
	return NULL;
}

/* exit() while another thread sleeps in the kernel, requests under way. */
static void exit_with_thread_waiting(const void *arg)
{
	int i, status;
	pid_t pid;

	(void)arg;
	for (i = 0; i < 10; i++) {
		pid = fork();
		VT_ASSERT(pid >= 0, "%m");
		if (!pid) {
			struct vt_pair p;
			pthread_t t;
			int k;

			vt_pair_up(&p, NULL, NULL, LEN);
			pthread_create(&t, NULL, wait_event, &p.ea);
			for (k = 0; k < 8; k++)
				vt_post(&p.a, IBV_WR_RDMA_READ, k, p.ba.p, LEN,
					p.ba.mr->lkey, (uintptr_t)p.bb.p,
					p.bb.mr->rkey, IBV_SEND_SIGNALED);
			_exit(17);
		}
		alarm(30);
		VT_ASSERT(waitpid(pid, &status, 0) == pid, "%m");
		alarm(0);
		VT_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 17,
			  "status %#x", status);
	}
}

/* --- rdma cgroup -------------------------------------------------------- */

#define CG "/sys/fs/cgroup/rdma-test"

static bool write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	bool ok;

	if (!f)
		return false;
	ok = fputs(text, f) >= 0;
	return !fclose(f) && ok;
}

static void cgroup_limits(const void *arg)
{
	const char *dev = getenv("VT_DEV_A");
	struct ibv_pd *pd[10];
	char text[100];
	struct vt_end e;
	int n;

	(void)arg;
	mkdir("/sys/fs/cgroup", 0755);
	if (access("/sys/fs/cgroup/cgroup.procs", F_OK) &&
	    system("mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null"))
		vt_skip("this kernel has no cgroups");
	if (!write_file("/sys/fs/cgroup/cgroup.subtree_control", "+rdma"))
		vt_skip("this kernel has no rdma cgroup");
	mkdir(CG, 0755);
	snprintf(text, sizeof(text), "%s hca_handle=2 hca_object=5", dev);
	VT_ASSERT(write_file(CG "/rdma.max", text), "rdma.max: %m");
	snprintf(text, sizeof(text), "%d", getpid());
	VT_ASSERT(write_file(CG "/cgroup.procs", text), "%m");
	/* the PD of the end is the first of five objects */
	vt_open(&e, VT_A, 4);
	for (n = 0; n < 10; n++) {
		errno = 0;
		pd[n] = ibv_alloc_pd(e.ctx);
		if (!pd[n])
			break;
	}
	VT_EXPECT(n == 4 && errno == EAGAIN, "%d PDs, then %m", n);
	while (n--)
		VT_EXPECT(!ibv_dealloc_pd(pd[n]), "%m");
	pd[0] = ibv_alloc_pd(e.ctx);
	VT_EXPECT(pd[0], "after the release: %m");
	if (pd[0])
		ibv_dealloc_pd(pd[0]);
	vt_close(&e);
	write_file("/sys/fs/cgroup/cgroup.procs", text);
	rmdir(CG);
}

static const struct vt_test tests[] = {
	{ "anonymous", anonymous },
	{ "shared", shared },
	{ "hugetlb", huge_tlb },
	{ "transparent_huge", transparent_huge },
	{ "file_pages", file_pages },
	{ "read_only_anonymous", read_only_anonymous },
	{ "hole", hole },
	{ "unmapped_later", unmapped_later },
	{ "fork_copies", with_fork },
	{ "fork_with_dontfork", with_fork, "dontfork" },
	{ "unprivileged", unprivileged },
	{ "memlock_counts", memlock_counts },
	{ "killed_anywhere", killed_anywhere, .timeout_s = 120 },
	{ "exit_with_thread_waiting", exit_with_thread_waiting },
	{ "cgroup_limits", cgroup_limits },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
