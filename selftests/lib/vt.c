// SPDX-License-Identifier: GPL-2.0
/* vt: common code of the verbs test programs, see vt.h. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vt.h"

#define VT_EXIT_FAIL 1
#define VT_EXIT_SKIP 4
#define VT_TIMEOUT_S 60		/* environment: VT_LIMIT_S, for all tests */
#define VT_WANT_MS 20000	/* environment: VT_WANT_MS; VT_SHOW, a command then */
#define VT_SKIP_LEN 200

/* Written by the child, read by the parent that prints the result line. */
static struct vt_shared {
	char skip_reason[VT_SKIP_LEN];
	int failures;
} *vt_shared;

static void vt_diag(const char *prefix, const char *fmt, va_list ap)
{
	printf("# %s", prefix);
	vprintf(fmt, ap);
	printf("\n");
	fflush(stdout);
}

void vt_fail(const char *file, int line, const char *fmt, ...)
{
	char where[256];
	va_list ap;

	snprintf(where, sizeof(where), "%s:%d: ", file, line);
	va_start(ap, fmt);
	vt_diag(where, fmt, ap);
	va_end(ap);
	_exit(VT_EXIT_FAIL);
}

void vt_expect_failed(const char *file, int line, const char *fmt, ...)
{
	char where[256];
	va_list ap;

	snprintf(where, sizeof(where), "%s:%d: ", file, line);
	va_start(ap, fmt);
	vt_diag(where, fmt, ap);
	va_end(ap);
	vt_shared->failures++;
}

void vt_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(vt_shared->skip_reason, VT_SKIP_LEN, fmt, ap);
	va_end(ap);
	_exit(VT_EXIT_SKIP);
}

void vt_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vt_diag("", fmt, ap);
	va_end(ap);
}

uint64_t vt_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Returns the child's wait status, or -1 if it had to be killed. */
static int vt_wait_child(pid_t pid, int timeout_s)
{
	uint64_t end = vt_now_us() + (uint64_t)timeout_s * 1000000;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (vt_now_us() > end) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		usleep(2000);
	}
	return status;
}

static bool vt_run_one(const struct vt_test *t, int number)
{
	int timeout = t->timeout_s ? t->timeout_s : VT_TIMEOUT_S;
	const char *limit = getenv("VT_LIMIT_S");
	int status;
	pid_t pid;

	if (limit)
		timeout = atoi(limit);
	memset(vt_shared, 0, sizeof(*vt_shared));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		t->fn(t->arg);
		fflush(stdout);
		_exit(vt_shared->failures ? VT_EXIT_FAIL : 0);
	}
	status = pid < 0 ? -1 : vt_wait_child(pid, timeout);
	if (status == -1)
		printf("# no end after %d s\n", timeout);
	else if (WIFSIGNALED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));

	if (status != -1 && WIFEXITED(status) && !WEXITSTATUS(status)) {
		printf("ok %d - %s\n", number, t->name);
	} else if (status != -1 && WIFEXITED(status) &&
		   WEXITSTATUS(status) == VT_EXIT_SKIP) {
		printf("ok %d - %s # SKIP %s\n", number, t->name,
		       vt_shared->skip_reason);
	} else {
		printf("not ok %d - %s\n", number, t->name);
		fflush(stdout);
		return false;
	}
	fflush(stdout);
	return true;
}

/* Does the name contain one of the comma-separated patterns? */
bool vt_matches(const char *name, const char *patterns)
{
	char list[4096], *p, *rest;

	if (!patterns || !*patterns)
		return true;
	snprintf(list, sizeof(list), "%s", patterns);
	for (p = strtok_r(list, ",", &rest); p; p = strtok_r(NULL, ",", &rest))
		if (strstr(name, p))
			return true;
	return false;
}

int vt_main(int argc, char **argv, const struct vt_test *tests, size_t n)
{
	const char *pattern = argc > 1 ? argv[1] : NULL;
	int planned = 0, number = 0;
	bool good = true;
	size_t i;

	vt_shared = mmap(NULL, sizeof(*vt_shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (vt_shared == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	for (i = 0; i < n; i++)
		if (vt_matches(tests[i].name, pattern))
			planned++;
	printf("1..%d\n", planned);
	for (i = 0; i < n; i++)
		if (vt_matches(tests[i].name, pattern))
			good &= vt_run_one(&tests[i], ++number);
	return good && planned ? 0 : 1;
}

static const char *vt_env(const char *name, enum vt_side side,
			  const char *suffix)
{
	char var[64];

	snprintf(var, sizeof(var), "%s_%c%s", name, side == VT_A ? 'A' : 'B',
		 suffix);
	return getenv(var);
}

void vt_enter(const struct vt_end *end)
{
	if (end->netns_fd >= 0)
		VT_ASSERT(!setns(end->netns_fd, CLONE_NEWNET), "%m");
}

static void vt_want_gid(const struct vt_end *end, union ibv_gid *gid)
{
	const char *addr = vt_env("VT_ADDR", end->side,
				  end->family == 4 ? "4" : "6");

	VT_ASSERT(addr, "VT_ADDR_x%d is not set: run this by selftests/run.sh",
		  end->family);
	memset(gid, 0, sizeof(*gid));
	if (end->family == 6) {
		VT_ASSERT(inet_pton(AF_INET6, addr, gid->raw) == 1, "%s", addr);
		return;
	}
	gid->raw[10] = 0xff;
	gid->raw[11] = 0xff;
	VT_ASSERT(inet_pton(AF_INET, addr, gid->raw + 12) == 1, "%s", addr);
}

/* GIDs are filled in by a work item of the core: wait for ours. */
static void vt_find_gid(struct vt_end *end)
{
	uint64_t until = vt_now_us() + 5000000;
	struct ibv_gid_entry table[64];
	union ibv_gid gid;
	ssize_t i, n;

	vt_want_gid(end, &gid);
	do {
		n = ibv_query_gid_table(end->ctx, table, 64, 0);
		VT_ASSERT(n >= 0, "%s", strerror(-n));
		for (i = 0; i < n; i++) {
			if (table[i].gid_type != IBV_GID_TYPE_ROCE_V2 ||
			    memcmp(table[i].gid.raw, gid.raw, 16))
				continue;
			end->gid = gid;
			end->gid_index = table[i].gid_index;
			return;
		}
		usleep(20000);
	} while (vt_now_us() < until);
	vt_fail(__FILE__, __LINE__, "no RoCE v2 GID for the IPv%d address of end %c",
		end->family, end->side == VT_A ? 'A' : 'B');
}

void vt_open(struct vt_end *end, enum vt_side side, int family)
{
	const char *dev = vt_env("VT_DEV", side, "");
	const char *ns = vt_env("VT_NS", side, "");
	struct ibv_device **list;
	int i, n;

	memset(end, 0, sizeof(*end));
	end->side = side;
	end->family = family;
	end->netns_fd = -1;
	VT_ASSERT(dev, "VT_DEV_x is not set: run this by selftests/run.sh");
	if (ns && *ns) {
		end->netns_fd = open(ns, O_RDONLY | O_CLOEXEC);
		VT_ASSERT(end->netns_fd >= 0, "%s: %m", ns);
		vt_enter(end);
	}
	list = ibv_get_device_list(&n);
	VT_ASSERT(list, "%m");
	for (i = 0; i < n; i++)
		if (!strcmp(ibv_get_device_name(list[i]), dev))
			end->ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	VT_ASSERT(end->ctx, "cannot open device %s: %m", dev);
	VT_ASSERT(!ibv_query_device(end->ctx, &end->attr), "%m");
	VT_ASSERT(!ibv_query_port(end->ctx, 1, &end->port), "%m");
	end->pd = ibv_alloc_pd(end->ctx);
	VT_ASSERT(end->pd, "%m");
	vt_find_gid(end);
}

void vt_close(struct vt_end *end)
{
	VT_EXPECT(!ibv_dealloc_pd(end->pd), "%m");
	VT_EXPECT(!ibv_close_device(end->ctx), "%m");
	if (end->netns_fd >= 0)
		close(end->netns_fd);
}

void vt_buf_alloc(struct vt_end *end, struct vt_buf *buf, size_t len,
		  int access)
{
	buf->len = len;
	buf->p = mmap(NULL, len ? len : 1, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	VT_ASSERT(buf->p != MAP_FAILED, "%m");
	buf->mr = ibv_reg_mr(end->pd, buf->p, len, access);
	VT_ASSERT(buf->mr, "%zu bytes: %m", len);
}

void vt_buf_free(struct vt_buf *buf)
{
	VT_EXPECT(!ibv_dereg_mr(buf->mr), "%m");
	munmap(buf->p, buf->len ? buf->len : 1);
}

static struct ibv_cq *vt_cq(struct vt_end *end, const struct vt_qp_cfg *cfg)
{
	int depth = cfg->cq_depth ? cfg->cq_depth : 256;
	struct ibv_cq *cq = ibv_create_cq(end->ctx, depth, NULL, cfg->chan, 0);

	VT_ASSERT(cq, "%d entries: %m", depth);
	return cq;
}

static struct ibv_qp *vt_ex_qp(struct vt_end *end, const struct vt_qp_cfg *cfg,
			       struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_type = init->qp_type, .send_cq = init->send_cq,
		.recv_cq = init->recv_cq, .srq = init->srq, .cap = init->cap,
		.sq_sig_all = init->sq_sig_all, .pd = end->pd,
		.send_ops_flags = cfg->ex_ops,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(end->ctx, &ex);

	init->cap = ex.cap;
	return qp;
}

void vt_qp_create(struct vt_end *end, struct vt_qp *q,
		  const struct vt_qp_cfg *cfg)
{
	static const struct vt_qp_cfg none;
	struct ibv_qp_init_attr init = { 0 };

	if (!cfg)
		cfg = &none;
	memset(q, 0, sizeof(*q));
	q->end = end;
	vt_enter(end);
	q->scq = vt_cq(end, cfg);
	q->rcq = cfg->one_cq ? q->scq : vt_cq(end, cfg);
	init.qp_type = cfg->type ? cfg->type : IBV_QPT_RC;
	init.send_cq = q->scq;
	init.recv_cq = q->rcq;
	init.srq = cfg->srq;
	init.sq_sig_all = cfg->sig_all;
	init.cap.max_send_wr = cfg->send_wr ? cfg->send_wr : 64;
	init.cap.max_recv_wr = cfg->recv_wr ? cfg->recv_wr : 64;
	init.cap.max_send_sge = cfg->send_sge ? cfg->send_sge : 1;
	init.cap.max_recv_sge = cfg->recv_sge ? cfg->recv_sge : 1;
	init.cap.max_inline_data = cfg->inline_data;
	q->qp = cfg->ex_ops ? vt_ex_qp(end, cfg, &init) :
			      ibv_create_qp(end->pd, &init);
	VT_ASSERT(q->qp, "%m");
	q->cap = init.cap;
}

void vt_qp_destroy(struct vt_qp *q)
{
	VT_EXPECT(!ibv_destroy_qp(q->qp), "%m");
	VT_EXPECT(!ibv_destroy_cq(q->scq), "%m");
	if (q->rcq != q->scq)
		VT_EXPECT(!ibv_destroy_cq(q->rcq), "%m");
}

int vt_to_init(struct vt_qp *q, int access)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = VT_QKEY,
		.qp_access_flags = access < 0 ? 0 :
				   access ? access : VT_ACCESS_ALL,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	vt_enter(q->end);
	mask |= q->qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY :
					       IBV_QP_ACCESS_FLAGS;
	if (q->qp->qp_type == IBV_QPT_UC)
		attr.qp_access_flags &= ~(IBV_ACCESS_REMOTE_READ |
					  IBV_ACCESS_REMOTE_ATOMIC);
	return ibv_modify_qp(q->qp, &attr, mask);
}

void vt_ah_attr(const struct vt_end *from, const struct vt_end *to,
		struct ibv_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->is_global = 1;
	attr->port_num = 1;
	attr->grh.dgid = to->gid;
	attr->grh.sgid_index = from->gid_index;
	attr->grh.hop_limit = 64;
}

struct ibv_ah *vt_ah(struct vt_end *from, const struct vt_end *to)
{
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	vt_enter(from);
	vt_ah_attr(from, to, &attr);
	ah = ibv_create_ah(from->pd, &attr);
	VT_ASSERT(ah, "%m");
	return ah;
}

static int vt_default(int value, int dflt)
{
	return value < 0 ? 0 : value ? value : dflt;
}

int vt_to_rtr(struct vt_qp *q, const struct vt_qp *peer,
	      const struct vt_conn *conn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask = IBV_QP_STATE;

	vt_enter(q->end);
	if (q->qp->qp_type == IBV_QPT_UD)
		return ibv_modify_qp(q->qp, &attr, mask);

	attr.path_mtu = conn->mtu ? conn->mtu : q->end->port.active_mtu;
	attr.dest_qp_num = peer->qp->qp_num;
	attr.rq_psn = peer->psn;
	vt_ah_attr(q->end, peer->end, &attr.ah_attr);
	mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (q->qp->qp_type == IBV_QPT_RC) {
		attr.max_dest_rd_atomic = vt_default(conn->rd_atomic, 16);
		attr.min_rnr_timer = vt_default(conn->min_rnr_timer, 12);
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	return ibv_modify_qp(q->qp, &attr, mask);
}

int vt_to_rts(struct vt_qp *q, const struct vt_conn *conn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = q->psn,
		.timeout = vt_default(conn->timeout, 16),
		.retry_cnt = vt_default(conn->retry_cnt, 7),
		.rnr_retry = vt_default(conn->rnr_retry, 7),
		.max_rd_atomic = vt_default(conn->rd_atomic, 16),
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	vt_enter(q->end);
	if (q->qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(q->qp, &attr, mask);
}

static int vt_to_state(struct vt_qp *q, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(q->qp, &attr, IBV_QP_STATE);
}

int vt_to_err(struct vt_qp *q)
{
	return vt_to_state(q, IBV_QPS_ERR);
}

int vt_to_reset(struct vt_qp *q)
{
	return vt_to_state(q, IBV_QPS_RESET);
}

enum ibv_qp_state vt_state(struct vt_qp *q)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	VT_ASSERT(!ibv_query_qp(q->qp, &attr, IBV_QP_STATE, &init), "%m");
	return attr.qp_state;
}

void vt_connect(struct vt_qp *a, struct vt_qp *b, const struct vt_conn *conn)
{
	static const struct vt_conn none;
	struct vt_rnd r = { vt_now_us() | 1 };
	int rc;

	if (!conn)
		conn = &none;
	a->psn = conn->psn_a ? conn->psn_a : vt_rnd_below(&r, 1 << 24);
	b->psn = conn->psn_b ? conn->psn_b : vt_rnd_below(&r, 1 << 24);
	rc = vt_to_init(a, conn->access);
	VT_ASSERT(!rc, "A: %s", strerror(rc));
	rc = vt_to_init(b, conn->access);
	VT_ASSERT(!rc, "B: %s", strerror(rc));
	rc = vt_to_rtr(a, b, conn);
	VT_ASSERT(!rc, "A to RTR: %s", strerror(rc));
	rc = vt_to_rtr(b, a, conn);
	VT_ASSERT(!rc, "B to RTR: %s", strerror(rc));
	rc = vt_to_rts(a, conn);
	VT_ASSERT(!rc, "A to RTS: %s", strerror(rc));
	rc = vt_to_rts(b, conn);
	VT_ASSERT(!rc, "B to RTS: %s", strerror(rc));
}

void vt_pair_up(struct vt_pair *p, const struct vt_qp_cfg *cfg,
		const struct vt_conn *conn, size_t len)
{
	vt_open(&p->ea, VT_A, 4);
	vt_open(&p->eb, VT_B, 4);
	vt_buf_alloc(&p->ea, &p->ba, len, VT_ACCESS_ALL);
	vt_buf_alloc(&p->eb, &p->bb, len, VT_ACCESS_ALL);
	vt_qp_create(&p->ea, &p->a, cfg);
	vt_qp_create(&p->eb, &p->b, cfg);
	vt_connect(&p->a, &p->b, conn);
}

void vt_pair_down(struct vt_pair *p)
{
	vt_qp_destroy(&p->a);
	vt_qp_destroy(&p->b);
	vt_buf_free(&p->ba);
	vt_buf_free(&p->bb);
	vt_close(&p->ea);
	vt_close(&p->eb);
}

int vt_post(struct vt_qp *q, enum ibv_wr_opcode op, uint64_t wr_id,
	    void *addr, uint32_t len, uint32_t lkey,
	    uint64_t raddr, uint32_t rkey, unsigned int flags)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)addr, .length = len, .lkey = lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = addr ? 1 : 0,
		.opcode = op,
		.send_flags = flags,
	};

	wr.imm_data = htonl((uint32_t)wr_id);
	if (op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = raddr;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = raddr;
		wr.wr.rdma.rkey = rkey;
	}
	return ibv_post_send(q->qp, &wr, &bad);
}

int vt_recv(struct vt_qp *q, uint64_t wr_id, void *addr, uint32_t len,
	    uint32_t lkey)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)addr, .length = len, .lkey = lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = addr ? 1 : 0,
	};

	return ibv_post_recv(q->qp, &wr, &bad);
}

bool vt_poll(struct ibv_cq *cq, struct ibv_wc *wc, int timeout_ms)
{
	uint64_t until = vt_now_us() + (uint64_t)timeout_ms * 1000;
	int n, idle = 0;

	for (;;) {
		n = ibv_poll_cq(cq, 1, wc);
		VT_ASSERT(n >= 0, "poll_cq returned %d", n);
		if (n)
			return true;
		if (vt_now_us() > until)
			return false;
		/* leave the CPU to the kernel's own threads */
		if (++idle > 200)
			usleep(100);
		else
			sched_yield();
	}
}

/* What the driver says of its QPs, twice: does anything move? */
static void show_state(void)
{
	const char *cmd = getenv("VT_SHOW");
	int i;

	for (i = 0; cmd && i < 2; i++) {
		fflush(NULL);
		if (system(cmd))
			vt_note("%s failed", cmd);
		sleep(1);
	}
}

void vt_want(const char *file, int line, struct ibv_cq *cq, uint64_t wr_id,
	     enum ibv_wc_status status, struct ibv_wc *wc)
{
	const char *ms = getenv("VT_WANT_MS");
	struct ibv_wc own;

	if (!wc)
		wc = &own;
	if (!vt_poll(cq, wc, ms ? atoi(ms) : VT_WANT_MS)) {
		show_state();
		vt_fail(file, line, "no completion for wr_id %llu (want %s)",
			(unsigned long long)wr_id, ibv_wc_status_str(status));
	}
	if (wc->wr_id != wr_id || wc->status != status)
		vt_fail(file, line,
			"completion of wr_id %llu with %s, want %llu with %s",
			(unsigned long long)wc->wr_id,
			ibv_wc_status_str(wc->status),
			(unsigned long long)wr_id, ibv_wc_status_str(status));
}

void vt_want_none(const char *file, int line, struct ibv_cq *cq, int ms)
{
	struct ibv_wc wc;

	if (vt_poll(cq, &wc, ms))
		vt_fail(file, line, "unexpected completion: wr_id %llu, %s",
			(unsigned long long)wc.wr_id,
			ibv_wc_status_str(wc.status));
}

uint32_t vt_mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << mtu;
}

uint64_t vt_rnd(struct vt_rnd *r)
{
	r->s ^= r->s << 13;
	r->s ^= r->s >> 7;
	r->s ^= r->s << 17;
	return r->s;
}

uint32_t vt_rnd_below(struct vt_rnd *r, uint32_t n)
{
	return n ? (uint32_t)((vt_rnd(r) >> 16) % n) : 0;
}

void vt_fill(struct vt_rnd *r, void *p, size_t len)
{
	uint8_t *c = p;
	uint64_t v;

	for (; len >= 8; len -= 8, c += 8) {
		v = vt_rnd(r);
		memcpy(c, &v, 8);
	}
	v = vt_rnd(r);
	memcpy(c, &v, len);
}
