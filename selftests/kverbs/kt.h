/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small harness for tests that are consumers of the kernel's verbs: checks,
 * clean-up, memory, connected pairs of QPs on two devices, completions.
 */
#ifndef KT_H
#define KT_H

#include <linux/completion.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

struct kt;

/**
 * struct kt_case - one test
 * @name: name in the results
 * @run: test; what it made through the helpers is removed after it
 */
struct kt_case {
	const char *name;
	void (*run)(struct kt *t);
};

/* Each group of tests ends its table with an empty row. */
extern const struct kt_case kt_frwr_cases[];
extern const struct kt_case kt_inval_cases[];
extern const struct kt_case kt_rights_cases[];
extern const struct kt_case kt_post_cases[];
extern const struct kt_case kt_drain_cases[];
extern const struct kt_case kt_cq_cases[];
extern const struct kt_case kt_srq_cases[];
extern const struct kt_case kt_big_cases[];

/**
 * struct kt - the test that runs
 * @dev: the two devices
 * @gid: address of each, RoCE v2 over IPv4
 * @gid_index: its index
 * @failed: number of checks that failed
 * @checks: number of checks
 * @undo: what to remove after the test, latest first
 * @rnd: state of the random numbers
 */
struct kt {
	struct ib_device *dev[2];
	union ib_gid gid[2];
	u8 gid_index[2];
	u32 failed;
	u32 checks;
	struct list_head undo;
	u32 rnd;
};

/**
 * kt_check() - note the result of a check
 * @t: test
 * @ok: it holds
 * @file: source file
 * @line: source line
 * @fmt: what to say if it does not
 *
 * Return: @ok.
 */
__printf(5, 6)
bool kt_check(struct kt *t, bool ok, const char *file, int line,
	      const char *fmt, ...);

#define KT_OK(t, cond, fmt, ...) \
	kt_check(t, cond, __FILE__, __LINE__, #cond ": " fmt, ##__VA_ARGS__)
#define KT_BAD(t, cond, fmt, ...) (!KT_OK(t, cond, fmt, ##__VA_ARGS__))

/**
 * kt_defer() - do something after the test
 * @t: test
 * @fn: function
 * @arg: its argument
 *
 * Runs at once, and fails the test, without memory.
 */
void kt_defer(struct kt *t, void (*fn)(void *arg), void *arg);

/**
 * kt_rnd() - a random number, the same in each run
 * @t: test
 * @below: limit
 *
 * Return: number below the limit.
 */
u32 kt_rnd(struct kt *t, u32 below);

/* --- memory ------------------------------------------------------------ */

/**
 * struct kt_mem - memory in pieces that do not follow each other
 * @t: test
 * @num: pieces
 * @order: log2 of the pages of a piece
 * @chunk: pieces
 * @va: all of it in one view
 * @len: bytes
 */
struct kt_mem {
	struct kt *t;
	u32 num;
	u32 order;
	struct page **chunk;
	u8 *va;
	size_t len;
};

/**
 * kt_mem_new() - get memory, filled with random bytes
 * @t: test
 * @num: pieces
 * @order: log2 of the pages of a piece
 *
 * Return: memory, released after the test; NULL (and the test failed) if there
 * is none.
 */
struct kt_mem *kt_mem_new(struct kt *t, u32 num, u32 order);

/**
 * kt_map() - describe a range of it to a fast region
 * @mem: memory
 * @mr: region
 * @off: first byte
 * @len: bytes
 * @page_size: block size, at most that of a piece
 *
 * Return: 0 if the region took all of it.
 */
int kt_map(struct kt_mem *mem, struct ib_mr *mr, u32 off, u32 len,
	   u32 page_size);

/**
 * kt_buf() - a plain buffer that the DMA key reaches
 * @t: test
 * @len: bytes, at most 4 MiB
 *
 * Return: zeroed memory, released after the test; NULL without (the test has
 * failed then).
 */
void *kt_buf(struct kt *t, size_t len);

/**
 * kt_sge() - a piece of memory by the DMA key
 * @pd: protection domain
 * @buf: memory from kt_buf()
 * @len: bytes
 *
 * Return: the piece.
 */
static inline struct ib_sge kt_sge(struct ib_pd *pd, void *buf, u32 len)
{
	return (struct ib_sge){ (uintptr_t)buf, len, pd->local_dma_lkey };
}

/* --- QPs --------------------------------------------------------------- */

/**
 * struct kt_opts - what a pair is like; 0 takes the default
 * @type: IB_QPT_RC by default
 * @access: remote rights of the QPs, all by default; KT_NO_ACCESS for none
 * @depth: work requests in each queue, 64
 * @cqe: entries of the send CQs, as many as can be needed
 * @sig_req: only signalled requests complete
 * @psn: first PSN of both directions
 * @mtu: path MTU, the port's
 * @srq: ends receive from an SRQ
 * @rnr_retry: 0 stands for 7, for ever; KT_NO_RETRY for none
 */
struct kt_opts {
	enum ib_qp_type type;
	int access;
	u32 depth;
	u32 cqe;
	bool sig_req;
	u32 psn;
	enum ib_mtu mtu;
	bool srq;
	u8 rnr_retry;
};

#define KT_NO_ACCESS	BIT(30)
#define KT_NO_RETRY	0xff
#define KT_ACCESS_ALL	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)
#define KT_EVENTS	32

/**
 * struct kt_end - one end of a pair
 * @t: test
 * @idx: device
 * @dev: device
 * @pd: protection domain
 * @scq: completions of sends
 * @rcq: completions of receives
 * @srq: SRQ, if asked for
 * @qp: QP
 * @event: number of events of each type, of QP, CQs and SRQ
 * @scq_calls: number of times the handler of @scq was called
 */
struct kt_end {
	struct kt *t;
	u32 idx;
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *scq;
	struct ib_cq *rcq;
	struct ib_srq *srq;
	struct ib_qp *qp;
	atomic_t event[KT_EVENTS];
	atomic_t scq_calls;
};

/**
 * struct kt_pair - two connected QPs
 * @a: end on the first device
 * @b: end on the second device
 */
struct kt_pair {
	struct kt_end a;
	struct kt_end b;
};

/**
 * kt_pair_new() - make a connected pair
 * @t: test
 * @opts: what it is like, NULL for all defaults
 *
 * Return: pair in RTS, removed after the test; NULL (and the test has failed).
 */
struct kt_pair *kt_pair_new(struct kt *t, const struct kt_opts *opts);

/**
 * kt_mr_new() - a fast region
 * @e: end that gets it
 * @pd: protection domain, NULL for the end's
 * @num: blocks
 *
 * Return: region, removed after the test; NULL (and the test has failed).
 */
struct ib_mr *kt_mr_new(struct kt_end *e, struct ib_pd *pd, u32 num);

/**
 * kt_state() - state of a QP
 * @e: end
 *
 * Return: state, IB_QPS_RESET if it cannot be asked for.
 */
enum ib_qp_state kt_state(struct kt_end *e);

/**
 * kt_wait_event() - wait for an event
 * @e: end
 * @type: event
 *
 * Return: true if it came within 5 s.
 */
bool kt_wait_event(struct kt_end *e, enum ib_event_type type);

/* --- work requests ----------------------------------------------------- */

/**
 * union kt_wr - one send work request of any kind
 * @wr: what all kinds begin with
 * @rdma: WRITE and READ
 * @atomic: atomics
 * @reg: REG_MR
 * @ud: datagrams
 */
union kt_wr {
	struct ib_send_wr wr;
	struct ib_rdma_wr rdma;
	struct ib_atomic_wr atomic;
	struct ib_reg_wr reg;
	struct ib_ud_wr ud;
};

/**
 * kt_send() - fill in a SEND
 * @w: request
 * @id: wr_id
 * @sge: payload, NULL for none
 */
void kt_send(union kt_wr *w, u64 id, struct ib_sge *sge);

/**
 * kt_rdma() - fill in a WRITE or READ
 * @w: request
 * @id: wr_id
 * @op: IB_WR_RDMA_WRITE or IB_WR_RDMA_READ
 * @sge: payload, NULL for none
 * @raddr: remote address
 * @rkey: remote key
 */
void kt_rdma(union kt_wr *w, u64 id, enum ib_wr_opcode op, struct ib_sge *sge,
	     u64 raddr, u32 rkey);

/**
 * kt_reg() - fill in a REG_MR, with the key that the region has now
 * @w: request
 * @id: wr_id
 * @mr: region, mapped
 * @access: IB_ACCESS_*
 */
void kt_reg(union kt_wr *w, u64 id, struct ib_mr *mr, int access);

/**
 * kt_inv() - fill in a LOCAL_INV
 * @w: request
 * @id: wr_id
 * @key: key
 */
void kt_inv(union kt_wr *w, u64 id, u32 key);

/**
 * kt_post() - post requests that were filled in
 * @e: end
 * @w: requests, linked here in this order
 * @num: number
 *
 * Return: what ib_post_send() returned.
 */
int kt_post(struct kt_end *e, union kt_wr *w, u32 num);

/**
 * kt_recv() - post a receive
 * @e: end
 * @id: wr_id
 * @sge: memory, NULL for none
 *
 * Return: what the core returned.
 */
int kt_recv(struct kt_end *e, u64 id, struct ib_sge *sge);

/**
 * kt_wc_patience() - wait longer for completions from now on
 * @ms: how much longer than 20 s, ms; 0: no longer
 */
void kt_wc_patience(unsigned int ms);

/**
 * kt_wc() - wait for a completion
 * @cq: queue
 * @wc: filled in
 *
 * Return: true if there was one within 20 s, and what kt_wc_patience() added.
 */
bool kt_wc(struct ib_cq *cq, struct ib_wc *wc);

/**
 * kt_want_at() - the next completion must be this one
 * @t: test
 * @cq: queue
 * @id: wr_id
 * @status: status
 * @line: source line
 *
 * Return: true if it was.
 */
bool kt_want_at(struct kt *t, struct ib_cq *cq, u64 id,
		enum ib_wc_status status, int line);

#define KT_WANT(t, cq, id, status) kt_want_at(t, cq, id, status, __LINE__)

/**
 * kt_none_at() - there must be no completion
 * @t: test
 * @cq: queue
 * @line: source line
 *
 * Return: true if there was none.
 */
bool kt_none_at(struct kt *t, struct ib_cq *cq, int line);

#define KT_NONE(t, cq) kt_none_at(t, cq, __LINE__)

/**
 * kt_do() - post one request that must end so
 * @e: end
 * @w: request
 * @status: status
 *
 * Return: true if it did.
 */
bool kt_do(struct kt_end *e, union kt_wr *w, enum ib_wc_status status);

/**
 * kt_map_reg() - map memory and register it
 * @e: end
 * @mr: region
 * @mem: memory
 * @off: first byte
 * @len: bytes
 * @page_size: block size
 * @access: IB_ACCESS_*
 *
 * Return: true if the region is valid now.
 */
bool kt_map_reg(struct kt_end *e, struct ib_mr *mr, struct kt_mem *mem, u32 off,
		u32 len, u32 page_size, int access);

#endif
