// SPDX-License-Identifier: GPL-2.0
/* Memory regions: rights, mappings, memlock, huge pages, life time of keys. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vt.h"

#define LEN 65536

static void *map(size_t len, int prot, int flags)
{
	void *p = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags,
		       -1, 0);

	VT_ASSERT(p != MAP_FAILED, "mmap: %m");
	return p;
}

/* Registering must fail and say so. */
static void want_no_mr(struct ibv_pd *pd, void *p, size_t len, int access,
		       const char *what)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr(pd, p, len, access);
	VT_EXPECT(!mr && errno, "%s was registered", what);
	if (mr)
		ibv_dereg_mr(mr);
}

static void bad_arguments(const void *arg)
{
	struct vt_end e;
	void *p, *ro;

	(void)arg;
	vt_open(&e, VT_A, 4);
	p = map(LEN, PROT_READ | PROT_WRITE, 0);
	ro = map(LEN, PROT_READ, 0);
	want_no_mr(e.pd, p, LEN, IBV_ACCESS_REMOTE_WRITE,
		   "remote write without local write");
	want_no_mr(e.pd, p, LEN, IBV_ACCESS_REMOTE_ATOMIC,
		   "remote atomic without local write");
	want_no_mr(e.pd, p, LEN, 1 << 19, "an unknown access flag");
	want_no_mr(e.pd, p, 0, IBV_ACCESS_LOCAL_WRITE, "zero length");
	want_no_mr(e.pd, p, 1ull << 46, IBV_ACCESS_LOCAL_WRITE, "64 TB");
	want_no_mr(e.pd, p, ~0ull, IBV_ACCESS_LOCAL_WRITE,
		   "a range that wraps");
	want_no_mr(e.pd, ro, LEN, IBV_ACCESS_LOCAL_WRITE,
		   "a read-only mapping for local write");
	want_no_mr(e.pd, ro, LEN, VT_ACCESS_ALL,
		   "a read-only mapping for remote write");
	munmap(p, LEN);
	want_no_mr(e.pd, p, LEN, IBV_ACCESS_LOCAL_WRITE, "no mapping at all");
	/* half of the range is mapped */
	p = map(LEN, PROT_READ | PROT_WRITE, 0);
	munmap((char *)p + LEN / 2, LEN / 2);
	want_no_mr(e.pd, p, LEN, IBV_ACCESS_LOCAL_WRITE, "a hole");
	vt_close(&e);
}

static void optional_flags(const void *arg)
{
	struct ibv_mr *mr;
	struct vt_end e;
	void *p;

	(void)arg;
	vt_open(&e, VT_A, 4);
	p = map(LEN, PROT_READ | PROT_WRITE, 0);
	mr = ibv_reg_mr(e.pd, p, LEN, VT_ACCESS_ALL |
			IBV_ACCESS_RELAXED_ORDERING);
	VT_ASSERT(mr, "relaxed ordering: %m");
	VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	vt_close(&e);
}

/* WRITE len bytes from a to b and compare. */
static void write_check(struct vt_pair *p, void *from, uint32_t lkey, void *to,
			uint32_t rkey, uint32_t len)
{
	VT_ASSERT(!vt_post(&p->a, IBV_WR_RDMA_WRITE, 1, from, len, lkey,
			   (uintptr_t)to, rkey, IBV_SEND_SIGNALED), "");
	VT_WANT(p->a.scq, 1, IBV_WC_SUCCESS);
	VT_ASSERT(!memcmp(from, to, len), "data");
}

static void read_only_source(const void *arg)
{
	struct ibv_mr *mr;
	struct vt_pair p;
	char *ro;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, LEN);
	ro = map(LEN, PROT_READ | PROT_WRITE, 0);
	memset(ro, 0x5c, LEN);
	VT_ASSERT(!mprotect(ro, LEN, PROT_READ), "%m");
	mr = ibv_reg_mr(p.ea.pd, ro, LEN, 0);
	VT_ASSERT(mr, "read-only memory for reading: %m");
	write_check(&p, ro, mr->lkey, p.bb.p, p.bb.mr->rkey, LEN);
	VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	vt_pair_down(&p);
}

/* Odd start and end, several pages, first and last byte. */
static void unaligned(const void *arg)
{
	static const struct {
		size_t off, len;
	} cases[] = {
		{ 1, 1 }, { 4095, 1 }, { 4095, 2 }, { 4000, 200 },
		{ 17, 20000 }, { 8191, 4097 }, { 0, 4096 }, { 123, 61234 },
	};
	struct vt_rnd r = { 42 };
	struct ibv_mr *mr;
	struct vt_pair p;
	uint8_t *t;
	size_t i;

	(void)arg;
	vt_pair_up(&p, NULL, NULL, LEN);
	vt_fill(&r, p.ba.p, LEN);
	t = map(LEN, PROT_READ | PROT_WRITE, 0);
	for (i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		size_t off = cases[i].off, len = cases[i].len;

		memset(t, 0, LEN);
		mr = ibv_reg_mr(p.eb.pd, t + off, len, VT_ACCESS_ALL);
		VT_ASSERT(mr, "%zu+%zu: %m", off, len);
		write_check(&p, p.ba.p + 3, p.ba.mr->lkey, t + off, mr->rkey,
			    len);
		VT_EXPECT(!off || !t[off - 1], "byte before");
		VT_EXPECT(!t[off + len], "byte behind");
		VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	}
	vt_pair_down(&p);
}

static void huge_pages(const void *arg)
{
	size_t len = 8u << 20;
	struct vt_rnd r = { 7 };
	struct ibv_mr *mr;
	struct vt_pair p;
	uint8_t *huge;
	FILE *f;

	(void)arg;
	if (access("/proc/sys/vm/nr_hugepages", F_OK))
		vt_skip("this kernel has no hugetlb pages");
	f = fopen("/proc/sys/vm/nr_hugepages", "w");
	VT_ASSERT(f && fputs("8\n", f) >= 0 && !fclose(f), "nr_hugepages: %m");
	vt_pair_up(&p, NULL, NULL, 8u << 20);
	huge = map(len, PROT_READ | PROT_WRITE, MAP_HUGETLB);
	vt_fill(&r, p.ba.p, len);
	mr = ibv_reg_mr(p.eb.pd, huge, len, VT_ACCESS_ALL);
	VT_ASSERT(mr, "%m");
	write_check(&p, p.ba.p, p.ba.mr->lkey, huge, mr->rkey, len);
	VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	munmap(huge, len);
	vt_pair_down(&p);
	f = fopen("/proc/sys/vm/nr_hugepages", "w");
	VT_EXPECT(f && fputs("0\n", f) >= 0 && !fclose(f), "nr_hugepages: %m");
}

/* Without CAP_IPC_LOCK the limit counts, and freeing gives it back. */
static void memlock_limit(const void *arg)
{
	struct __user_cap_header_struct hdr = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct cap[2];
	struct rlimit lim = { 1u << 20, 1u << 20 };
	struct ibv_mr *mr;
	struct vt_end e;
	void *p;
	int i;

	(void)arg;
	vt_open(&e, VT_A, 4);
	p = map(4u << 20, PROT_READ | PROT_WRITE, 0);
	VT_ASSERT(!setrlimit(RLIMIT_MEMLOCK, &lim), "%m");
	VT_ASSERT(!syscall(SYS_capget, &hdr, cap), "%m");
	cap[0].effective &= ~(1u << CAP_IPC_LOCK);
	cap[0].permitted &= ~(1u << CAP_IPC_LOCK);
	VT_ASSERT(!syscall(SYS_capset, &hdr, cap), "%m");
	errno = 0;
	mr = ibv_reg_mr(e.pd, p, 2u << 20, VT_ACCESS_ALL);
	VT_EXPECT(!mr && errno == ENOMEM, "2 MB with a limit of 1 MB: %m");
	for (i = 0; i < 20; i++) {
		mr = ibv_reg_mr(e.pd, p, 512u << 10, VT_ACCESS_ALL);
		VT_ASSERT(mr, "512 KB, round %d: %m", i);
		VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	}
	vt_close(&e);
}

/* A key is dead once deregistered, also for one of another PD. */
static void stale_and_foreign_keys(const void *arg)
{
	bool foreign = *(const bool *)arg;
	struct ibv_pd *other;
	struct ibv_mr *mr;
	struct vt_pair p;
	uint32_t rkey;

	vt_pair_up(&p, NULL, NULL, LEN);
	other = ibv_alloc_pd(p.eb.ctx);
	VT_ASSERT(other, "%m");
	mr = ibv_reg_mr(foreign ? other : p.eb.pd, p.bb.p, LEN, VT_ACCESS_ALL);
	VT_ASSERT(mr, "%m");
	rkey = mr->rkey;
	if (!foreign) {
		write_check(&p, p.ba.p, p.ba.mr->lkey, p.bb.p, rkey, 100);
		VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	}
	VT_ASSERT(!vt_post(&p.a, IBV_WR_RDMA_WRITE, 1, p.ba.p, 8,
			   p.ba.mr->lkey, (uintptr_t)p.bb.p, rkey,
			   IBV_SEND_SIGNALED), "");
	VT_WANT(p.a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	if (foreign)
		VT_EXPECT(!ibv_dereg_mr(mr), "%m");
	VT_EXPECT(!ibv_dealloc_pd(other), "%m");
	vt_pair_down(&p);
}

/* Keys are not handed out again at once, nor are they guessable by adding. */
static void keys_differ(const void *arg)
{
	uint32_t keys[64], step;
	struct ibv_mr *mr;
	struct vt_end e;
	int i, j, same_step = 0;
	void *p;

	(void)arg;
	vt_open(&e, VT_A, 4);
	p = map(4096, PROT_READ | PROT_WRITE, 0);
	for (i = 0; i < 64; i++) {
		mr = ibv_reg_mr(e.pd, p, 4096, VT_ACCESS_ALL);
		VT_ASSERT(mr, "%m");
		keys[i] = mr->rkey;
		VT_EXPECT(!ibv_dereg_mr(mr), "%m");
		for (j = 0; j < i; j++)
			VT_EXPECT(keys[j] != keys[i], "key %x again", keys[i]);
	}
	step = (keys[1] - keys[0]) >> 8;
	for (i = 2; i < 64; i++)
		same_step += ((keys[i] - keys[i - 1]) >> 8) == step;
	VT_EXPECT(same_step < 8, "%d of 62 indexes follow by adding %x",
		  same_step, step);
	vt_close(&e);
}

/* Deregistering while a long WRITE and READ run: error or success, no hang. */
static void dereg_in_flight(const void *arg)
{
	struct ibv_wc wc;
	struct vt_pair p;
	struct ibv_mr *mr;
	int i;

	(void)arg;
	for (i = 0; i < 6; i++) {
		vt_pair_up(&p, NULL, NULL, 4u << 20);
		mr = ibv_reg_mr(p.eb.pd, p.bb.p, 4u << 20, VT_ACCESS_ALL);
		VT_ASSERT(mr, "%m");
		VT_ASSERT(!vt_post(&p.a, i & 1 ? IBV_WR_RDMA_READ :
				   IBV_WR_RDMA_WRITE, 1, p.ba.p, 4u << 20,
				   p.ba.mr->lkey, (uintptr_t)p.bb.p, mr->rkey,
				   IBV_SEND_SIGNALED), "");
		usleep(i * 500);
		VT_ASSERT(!ibv_dereg_mr(mr), "%m");
		VT_ASSERT(vt_poll(p.a.scq, &wc, 10000), "no completion");
		VT_EXPECT(wc.status == IBV_WC_SUCCESS ||
			  wc.status == IBV_WC_REM_ACCESS_ERR ||
			  wc.status == IBV_WC_REM_OP_ERR, "%s",
			  ibv_wc_status_str(wc.status));
		vt_pair_down(&p);
	}
}

static const bool yes = true, no;

static const struct vt_test tests[] = {
	{ "bad_arguments", bad_arguments },
	{ "optional_access_flags", optional_flags },
	{ "read_only_source", read_only_source },
	{ "unaligned", unaligned },
	{ "huge_pages", huge_pages },
	{ "memlock_limit", memlock_limit },
	{ "stale_key", stale_and_foreign_keys, &no },
	{ "key_of_other_pd", stale_and_foreign_keys, &yes },
	{ "keys_differ", keys_differ },
	{ "dereg_in_flight", dereg_in_flight, .timeout_s = 120 },
};

int main(int argc, char **argv)
{
	return vt_main(argc, argv, tests, VT_ARRAY_SIZE(tests));
}
