/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vt: what every verbs test program needs. Each test function runs in a child
 * of its own (a crash or a hang fails one test, not the program), both ends of
 * a connection are driven by one process: end A lives in VT_NS_A, end B in
 * VT_NS_B (unset: the current namespace), see lib/net.sh for the variables.
 *
 * Output is TAP: a plan, then one line per test, '# ' lines explain failures.
 */
#ifndef VT_H
#define VT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <infiniband/verbs.h>

#define VT_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum vt_side { VT_A, VT_B };

struct vt_test {
	const char *name;
	void (*fn)(const void *arg);
	const void *arg;
	int timeout_s;		/* 0: the default of 60 s */
};

/*
 * Run the table, print TAP. argv[1], if given, chooses: only names that contain
 * one of its comma-separated parts.
 */
bool vt_matches(const char *name, const char *patterns);
int vt_main(int argc, char **argv, const struct vt_test *tests, size_t n);

/* End the running test. */
__attribute__((noreturn, format(printf, 3, 4)))
void vt_fail(const char *file, int line, const char *fmt, ...);
__attribute__((noreturn, format(printf, 1, 2)))
void vt_skip(const char *fmt, ...);
__attribute__((format(printf, 1, 2)))
void vt_note(const char *fmt, ...);

/* A failed EXPECT is reported and the test goes on; it fails in the end. */
__attribute__((format(printf, 3, 4)))
void vt_expect_failed(const char *file, int line, const char *fmt, ...);

#define VT_ASSERT(cond, ...) \
	do { \
		if (!(cond)) \
			vt_fail(__FILE__, __LINE__, #cond ": " __VA_ARGS__); \
	} while (0)
#define VT_EXPECT(cond, ...) \
	do { \
		if (!(cond)) \
			vt_expect_failed(__FILE__, __LINE__, \
					 #cond ": " __VA_ARGS__); \
	} while (0)

/* One end: an opened device with a protection domain and one GID. */
struct vt_end {
	enum vt_side side;
	int family;			/* 4 or 6 */
	int netns_fd;			/* -1: the current namespace */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
};

void vt_open(struct vt_end *end, enum vt_side side, int family);
void vt_enter(const struct vt_end *end);	/* setns() to the end's netns */
void vt_close(struct vt_end *end);

/* A registered buffer. */
struct vt_buf {
	uint8_t *p;
	size_t len;
	struct ibv_mr *mr;
};

#define VT_ACCESS_ALL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

void vt_buf_alloc(struct vt_end *end, struct vt_buf *buf, size_t len,
		  int access);
void vt_buf_free(struct vt_buf *buf);

/* A queue pair with its CQs; zero fields of the config take defaults. */
struct vt_qp_cfg {
	enum ibv_qp_type type;		/* default RC */
	int send_wr, recv_wr;		/* default 64 */
	int send_sge, recv_sge;		/* default 1 */
	int inline_data;
	uint64_t ex_ops;		/* IBV_QP_EX_WITH_...: an extended QP */
	int cq_depth;			/* default 256 */
	bool sig_all;
	bool one_cq;
	struct ibv_srq *srq;
	struct ibv_comp_channel *chan;
};

struct vt_qp {
	struct vt_end *end;
	struct ibv_qp *qp;
	struct ibv_cq *scq, *rcq;
	uint32_t psn;
	struct ibv_qp_cap cap;
};

/* How two QPs are connected; zero fields take defaults. */
struct vt_conn {
	enum ibv_mtu mtu;		/* default: active MTU */
	int timeout;			/* default 16 = 268 ms */
	int retry_cnt;			/* default 7; -1 = 0 */
	int rnr_retry;			/* default 7; -1 = 0 */
	int min_rnr_timer;		/* default 12 = 0.64 ms */
	int rd_atomic;			/* default 16 */
	int access;			/* default VT_ACCESS_ALL; -1 = 0 */
	uint32_t psn_a, psn_b;		/* default random */
};

#define VT_QKEY 0x1ee7a5a5

void vt_qp_create(struct vt_end *end, struct vt_qp *q,
		  const struct vt_qp_cfg *cfg);
void vt_qp_destroy(struct vt_qp *q);
int vt_to_init(struct vt_qp *q, int access);
int vt_to_rtr(struct vt_qp *q, const struct vt_qp *peer,
	      const struct vt_conn *conn);
int vt_to_rts(struct vt_qp *q, const struct vt_conn *conn);
int vt_to_err(struct vt_qp *q);
int vt_to_reset(struct vt_qp *q);
enum ibv_qp_state vt_state(struct vt_qp *q);
void vt_connect(struct vt_qp *a, struct vt_qp *b, const struct vt_conn *conn);
void vt_ah_attr(const struct vt_end *from, const struct vt_end *to,
		struct ibv_ah_attr *attr);
struct ibv_ah *vt_ah(struct vt_end *from, const struct vt_end *to);

/* Both ends opened and connected in one call, for the many simple tests. */
struct vt_pair {
	struct vt_end ea, eb;
	struct vt_qp a, b;
	struct vt_buf ba, bb;
};

void vt_pair_up(struct vt_pair *p, const struct vt_qp_cfg *cfg,
		const struct vt_conn *conn, size_t len);
void vt_pair_down(struct vt_pair *p);

/* Work requests; return what the library returned (0 or an errno). */
int vt_post(struct vt_qp *q, enum ibv_wr_opcode op, uint64_t wr_id,
	    void *addr, uint32_t len, uint32_t lkey,
	    uint64_t raddr, uint32_t rkey, unsigned int flags);
int vt_recv(struct vt_qp *q, uint64_t wr_id, void *addr, uint32_t len,
	    uint32_t lkey);

/* Wait for one completion; false after timeout_ms without any. */
bool vt_poll(struct ibv_cq *cq, struct ibv_wc *wc, int timeout_ms);
/* One completion with this id and status, anything else fails the test. */
void vt_want(const char *file, int line, struct ibv_cq *cq, uint64_t wr_id,
	     enum ibv_wc_status status, struct ibv_wc *wc);
#define VT_WANT(cq, id, status) \
	vt_want(__FILE__, __LINE__, cq, id, status, NULL)
#define VT_WANT_WC(cq, id, status, wc) \
	vt_want(__FILE__, __LINE__, cq, id, status, wc)
/* No completion may be there, nor come within ms. */
void vt_want_none(const char *file, int line, struct ibv_cq *cq, int ms);
#define VT_WANT_NONE(cq, ms) vt_want_none(__FILE__, __LINE__, cq, ms)

uint64_t vt_now_us(void);
uint32_t vt_mtu_bytes(enum ibv_mtu mtu);

/* xorshift: a seed printed once replays a run. */
struct vt_rnd {
	uint64_t s;
};

uint64_t vt_rnd(struct vt_rnd *r);
uint32_t vt_rnd_below(struct vt_rnd *r, uint32_t n);
void vt_fill(struct vt_rnd *r, void *p, size_t len);

#endif /* VT_H */
