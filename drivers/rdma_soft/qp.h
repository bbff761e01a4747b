/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue pair: what both engines know, and what each alone owns.
 */
#ifndef RSOFT_QP_H
#define RSOFT_QP_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "cq.h"
#include "device.h"
#include "engine.h"
#include "hold.h"
#include "mr.h"
#include "path.h"
#include "proto/qp_sm.h"
#include "ring.h"
#include "srq.h"
#include "table.h"
#include "wqe.h"

/**
 * struct rsoft_sq - send queue
 * @ring: ring of a user QP
 * @lock: kernel producers; irqsave
 * @win: private WQEs, a power of two of them, @stride bytes each
 * @stride: bytes from one private WQE to the next
 * @mask: number of private WQEs - 1
 * @head: next WQE to be fetched (user) or posted (kernel, under @lock)
 * @next: first WQE that still has packets to send (owner of the send engine)
 * @tail: oldest WQE without a completion (owner of the send engine)
 * @max_wr: WQEs the consumer may have outstanding
 * @max_sge: pieces per WQE
 * @max_inline: inline bytes per WQE
 * @sig_all: every WQE gets a completion
 *
 * @head, @next and @tail run freely and are masked on use.
 */
struct rsoft_sq {
	struct rsoft_ring ring;
	spinlock_t lock;	/* kernel producers */
	void *win;
	u32 stride;
	u32 mask;
	u32 head;
	u32 next;
	u32 tail;
	u32 max_wr;
	u32 max_sge;
	u32 max_inline;
	bool sig_all;
};

/**
 * struct rsoft_rq - receive queue of a QP without SRQ
 * @ring: receive WQEs
 * @lock: kernel producers; irqsave
 * @max_wr: WQEs the consumer may have outstanding
 * @max_sge: pieces per WQE
 */
struct rsoft_rq {
	struct rsoft_ring ring;
	spinlock_t lock;	/* kernel producers */
	u32 max_wr;
	u32 max_sge;
};

/* A loss that is repaired by sending again only what is known to be missing. */
enum rsoft_hole {
	RSOFT_HOLE_NONE,
	RSOFT_HOLE_FILL,	/* packets are being sent again */
	RSOFT_HOLE_PARK,	/* they are sent; nothing else until the answer */
	RSOFT_HOLE_AHEAD,	/* they are sent; new ones follow meanwhile */
};

enum rsoft_hole_why {
	RSOFT_HOLE_NAK,		/* the peer missed a request */
	RSOFT_HOLE_READ,	/* responses were missing */
	RSOFT_HOLE_PROBE,	/* no answer came */
};

/* Does the peer keep what comes behind a gap? */
enum rsoft_keeps {
	RSOFT_KEEPS_UNKNOWN,
	RSOFT_KEEPS_YES,
	RSOFT_KEEPS_NO,
};

/* A request was refused behind one whose responses are missing. */
enum rsoft_later {
	RSOFT_LATER_NONE,
	RSOFT_LATER_NAK,	/* it was lost, what follows may be kept */
	RSOFT_LATER_ALL,	/* all from there on has to be sent again */
};

/**
 * struct rsoft_req - requester: owned by the send engine
 * @psn: PSN of the next packet to send
 * @psn_max: one past the highest PSN ever sent; @psn is behind it while
 *           packets are sent again
 * @una: oldest PSN without an acknowledgment
 * @win_base: start of the send window: @una, or the end of the last READ
 * @rd_active: READs and atomics that wait for responses
 * @max_rd: QP's max_rd_atomic, at least 1
 * @retry_left: time-outs and sequence errors until the request is given up
 * @rnr_left: RNR NAKs until the request is given up
 * @rnr_wait: waiting for the RNR timer
 * @tx_wait: waiting for the stack to take bytes
 * @tx_refused: times in a row that the stack refused the next packet
 * @nak_seen: already went back for the present gap
 * @extended: times the present time-out was put off
 * @heard: the peer answered since it made progress last
 * @ack_pkts: messages sent since an AckReq
 * @ack_bytes: payload bytes sent since an AckReq
 * @hole: repair of a loss
 * @hole_why: what it is about
 * @hole_left: packets that are still to be sent again
 * @hole_n: packets to be sent again at the next NAK
 * @hole_end: PSN behind those that were sent again
 * @hole_base: win_base before the repair
 * @keeps: does the peer keep early packets
 * @keeps_naks: NAKs since it was found that it does not
 * @later: a request has to be sent again once its turn comes
 * @later_psn: its PSN
 * @probes: probes for an answer since the last one
 * @rtt_psn: an acknowledgment of what is before it ends the measurement
 * @rtt_skip: packets that ask for an ACK to pass until the next measurement
 * @rtt_ns: when the measured packet was sent; 0: none is
 * @rtt: round-trip times; srtt_us is read without lock
 * @deadline: when the oldest unacknowledged packet times out, ns; 0 is off
 * @ack_timer: Local ACK Timeout
 * @rnr_timer: RNR wait
 * @tx_timer: looks again if the stack took our bytes
 * @drained: IB_EVENT_SQ_DRAINED was raised for the present SQD
 * @hold: small messages of a stream wait for each other
 */
struct rsoft_req {
	u32 psn;
	u32 psn_max;
	u32 una;
	u32 win_base;
	u32 rd_active;
	u32 max_rd;
	u8 retry_left;
	u8 rnr_left;
	bool rnr_wait;
	bool tx_wait;
	u8 tx_refused;
	bool nak_seen;
	u8 extended;
	bool heard;
	u32 ack_pkts;
	u32 ack_bytes;
	enum rsoft_hole hole;
	enum rsoft_hole_why hole_why;
	u32 hole_left;
	u32 hole_n;
	u32 hole_end;
	u32 hole_base;
	enum rsoft_keeps keeps;
	u8 keeps_naks;
	enum rsoft_later later;
	u32 later_psn;
	u8 probes;
	u8 rtt_skip;
	u32 rtt_psn;
	u64 rtt_ns;
	struct rsoft_rtt rtt;
	u64 deadline;
	struct hrtimer ack_timer;
	struct hrtimer rnr_timer;
	struct hrtimer tx_timer;
	bool drained;
	struct rsoft_hold hold;
};

/**
 * struct rsoft_rdres - one READ or atomic kept for repetition
 * @kind: RSOFT_KIND_READ, RSOFT_KIND_ATOMIC; NONE is an empty slot
 * @first_psn: PSN of the request, and of its first response
 * @last_psn: PSN of its last response
 * @va: address
 * @rkey: key
 * @len: bytes
 * @orig: result of an atomic
 * @msn: MSN of its responses
 */
struct rsoft_rdres {
	u8 kind;
	u32 first_psn;
	u32 last_psn;
	u64 va;
	u32 rkey;
	u32 len;
	u64 orig;
	u32 msn;
};

/**
 * struct rsoft_reading - READ response that is being sent
 * @active: there is one
 * @psn: PSN of the next response packet
 * @first_psn: PSN of the first response packet of the request
 * @va: address of the whole request's first byte
 * @rkey: key
 * @len: bytes of the whole request
 * @off: bytes sent
 * @msn: MSN of the responses
 * @ref: the region, from the check of the request to the end of the run that
 *       follows it
 */
struct rsoft_reading {
	bool active;
	u32 psn;
	u32 first_psn;
	u64 va;
	u32 rkey;
	u32 len;
	u32 off;
	u32 msn;
	struct rsoft_mref ref;
};

/**
 * struct rsoft_resp - responder: owned by the receive engine
 * @epsn: PSN expected next
 * @msn: messages completed
 * @seq: place in a multi-packet message
 * @nak_sent: a sequence NAK was sent for the present gap, or an RNR NAK
 * @rnr_sent: an RNR NAK was sent: the peer sends all again from @epsn on
 * @ack_due: an ACK is owed
 * @comm_est: IB_EVENT_COMM_EST was raised
 * @have_rwqe: @rwqe is in use by the message in progress
 * @rwqe: private copy of the receive WQE
 * @rcvd: bytes of the message received so far
 * @va: WRITE: where the next byte goes
 * @rkey: WRITE: key
 * @left: WRITE: bytes that are still to come
 * @wlen: WRITE: bytes of the whole message
 * @rdres: ring of READs and atomics kept for repetition
 * @rdres_mask: entries - 1
 * @rdres_head: next entry to use
 * @reading: READ response in progress
 * @tx_timer: looks again if the stack took our bytes, and after the QP went
 *            to ERR for receives posted since (there is no doorbell for them)
 * @tx_wait: waiting for the stack to take bytes
 * @tx_refused: times in a row that the stack refused the next packet
 * @flush_ns: time to the next look for late receives
 */
struct rsoft_resp {
	u32 epsn;
	u32 msn;
	enum rsoft_seq seq;
	bool nak_sent;
	bool rnr_sent;
	bool ack_due;
	bool comm_est;
	bool have_rwqe;
	struct rsoft_rwqe rwqe;
	u32 rcvd;
	u64 va;
	u32 rkey;
	u32 left;
	u32 wlen;
	struct rsoft_rdres *rdres;
	u32 rdres_mask;
	u32 rdres_head;
	struct rsoft_reading reading;
	struct hrtimer tx_timer;
	bool tx_wait;
	u8 tx_refused;
	u64 flush_ns;
};

/**
 * struct rsoft_qp - a queue pair
 * @ibqp: the core's part
 * @dev: device
 * @stats: where packets of this QP are counted: the device's, or those of the
 *         QP counter it is bound to. Read in RCU read sections and with BH
 *         disabled only
 * @h: entry in the QPN table
 * @node: in dev->qps
 * @qpn: number on the wire (1 for QP1, whatever its handle's id is)
 * @user: owner is a user process
 * @net_cookie: netns of that process
 * @ctl: serialises modify, query, destroy
 * @state_lock: serialises changes of @state; irqsave
 * @state: QP state; read without lock by the data path
 * @attr: attributes as set, under @ctl
 * @path: destination of RC and UC; replaced under @ctl with engines paused
 * @sock: socket charged for skbs in the stack
 * @stack_noted: bytes of that charge in dev->stack_bytes; changed by xchg()
 * @mtu_shift: log2 of the path MTU
 * @access: remote rights granted (qp_access_flags)
 * @qkey: UD: Q_Key
 * @remote_qpn: RC, UC: peer
 * @ack_timeout_ns: Local ACK Timeout, 0 is never
 * @min_rnr_enc: RNR timer field to send
 * @retry_cnt: as set
 * @rnr_retry: as set, 7 is for ever
 * @sq: send queue
 * @rq: receive queue
 * @send: send engine
 * @recv: receive engine
 * @req: requester
 * @resp: responder
 */
struct rsoft_qp {
	struct ib_qp ibqp;
	struct rsoft_dev *dev;
	struct rsoft_stats __percpu *stats;
	struct rsoft_handle *h;
	struct list_head node;
	u32 qpn;
	bool user;
	u64 net_cookie;
	struct mutex ctl;		/* modify, query, destroy */
	spinlock_t state_lock;		/* changes of state */
	enum rsoft_qps state;
	struct ib_qp_attr attr;
	struct rsoft_path __rcu *path;
	struct socket *sock;
	u32 stack_noted;
	u8 mtu_shift;
	u32 access;
	u32 qkey;
	u32 remote_qpn;
	u64 ack_timeout_ns;
	u8 min_rnr_enc;
	u8 retry_cnt;
	u8 rnr_retry;
	struct rsoft_sq sq;
	struct rsoft_rq rq;
	struct rsoft_engine send;
	struct rsoft_engine recv;
	struct rsoft_req req;
	struct rsoft_resp resp;
};

static inline struct rsoft_qp *to_rqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct rsoft_qp, ibqp);
}

static inline u32 rsoft_qp_caps(const struct rsoft_qp *qp)
{
	return rsoft_qps_caps(READ_ONCE(qp->state));
}

static inline bool rsoft_qp_is_dgram(const struct rsoft_qp *qp)
{
	return qp->ibqp.qp_type == IB_QPT_UD || qp->ibqp.qp_type == IB_QPT_GSI;
}

static inline void rsoft_qp_count(struct rsoft_qp *qp, enum rsoft_counter id)
{
	this_cpu_inc(READ_ONCE(qp->stats)->c[id]);
}

static inline void rsoft_qp_count_add(struct rsoft_qp *qp,
				      enum rsoft_counter id, u64 n)
{
	this_cpu_add(READ_ONCE(qp->stats)->c[id], n);
}

static inline void rsoft_qp_drop(struct rsoft_qp *qp, enum rsoft_drop why)
{
	rsoft_qp_count(qp, rsoft_drop_counter(why));
	if (tracepoint_enabled(rsoft_drop))
		rsoft_trace_drop(qp->dev, qp->qpn, why);
}

/**
 * rsoft_qp_lookup() - find a QP by the number in a packet
 * @qpn: destination QPN, not 1
 *
 * Context: BH disabled.
 *
 * Return: the QP with a reference (put with rsoft_handle_put(qp->h)), or NULL.
 */
struct rsoft_qp *rsoft_qp_lookup(u32 qpn);

/**
 * rsoft_qp_gsi() - find QP1 of a device
 * @dev: device
 *
 * Context: RCU read section.
 *
 * Return: the QP with a reference, or NULL.
 */
struct rsoft_qp *rsoft_qp_gsi(struct rsoft_dev *dev);

/**
 * rsoft_qp_rx() - give packets to the engine they are for
 * @qp: held QP; netns and addresses were checked
 * @rx: packets of one direction
 * @opcode: BTH opcode of the first one
 *
 * Context: softirq.
 */
void rsoft_qp_rx(struct rsoft_qp *qp, struct rsoft_rx *rx, u8 opcode);

/**
 * rsoft_qp_set_state() - change the state of a QP
 * @qp: QP; its state_lock is held
 * @state: new state
 */
void rsoft_qp_set_state(struct rsoft_qp *qp, enum rsoft_qps state);

/**
 * rsoft_qp_error() - move a QP to ERR from anywhere and start the flush
 * @qp: held QP
 *
 * Context: any; engines are scheduled, not run.
 */
void rsoft_qp_error(struct rsoft_qp *qp);

/**
 * rsoft_qp_flush_users() - move all user QPs of a device to ERR and flush
 * @dev: device, already marked gone
 *
 * Rings stay mapped after removal and pollers would spin for ever: they find
 * flush completions instead. Bounded to 200 ms.
 *
 * Context: may sleep; before user space loses the device.
 */
void rsoft_qp_flush_users(struct rsoft_dev *dev);

/**
 * rsoft_qp_event() - raise an asynchronous event of a QP
 * @qp: held QP
 * @type: event
 *
 * Context: any.
 */
void rsoft_qp_event(struct rsoft_qp *qp, enum ib_event_type type);

/* ops of the device, in qp.c, qp_modify.c and wqe.c */
int rsoft_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		    struct ib_udata *udata);
int rsoft_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int rsoft_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata);
int rsoft_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
int rsoft_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr);
int rsoft_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr);

#endif
