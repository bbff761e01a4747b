// SPDX-License-Identifier: GPL-2.0
/*
 * Timers of a QP. All are soft hrtimers: their handlers run in softirq, note an
 * event and run the engine, or leave the event to its owner.
 *
 * The Local ACK Timeout is lazy: progress only moves qp->req.deadline, and the
 * handler starts the timer again for what is left. A QP that makes progress
 * touches the timer once per time-out period instead of once per ACK.
 */
#include "timer.h"

static enum hrtimer_restart timer_run(struct rsoft_engine *e,
				      enum rsoft_event ev)
{
	rsoft_engine_post(e, ev);
	/* the event is seen by the owner if we fail to own the engine */
	smp_mb__after_atomic();
	rsoft_engine_run(e, RSOFT_BUDGET_SOFTIRQ);
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart ack_timer_fn(struct hrtimer *t)
{
	struct rsoft_qp *qp = container_of(t, struct rsoft_qp, req.ack_timer);

	return timer_run(&qp->send, RSOFT_EV_ACK_TIMER);
}

static enum hrtimer_restart rnr_timer_fn(struct hrtimer *t)
{
	struct rsoft_qp *qp = container_of(t, struct rsoft_qp, req.rnr_timer);

	return timer_run(&qp->send, RSOFT_EV_RNR_TIMER);
}

static enum hrtimer_restart send_timer_fn(struct hrtimer *t)
{
	struct rsoft_qp *qp = container_of(t, struct rsoft_qp, req.tx_timer);

	return timer_run(&qp->send, RSOFT_EV_TX_TIMER);
}

static enum hrtimer_restart hold_timer_fn(struct hrtimer *t)
{
	struct rsoft_qp *qp = container_of(t, struct rsoft_qp, req.hold.timer);

	/* left from a hold that ended otherwise */
	if (!READ_ONCE(qp->req.hold.on))
		return HRTIMER_NORESTART;
	return timer_run(&qp->send, RSOFT_EV_HOLD_TIMER);
}

static enum hrtimer_restart gap_timer_fn(struct hrtimer *t)
{
	return timer_run(container_of(t, struct rsoft_engine, early.timer),
			 RSOFT_EV_GAP_TIMER);
}

static enum hrtimer_restart recv_timer_fn(struct hrtimer *t)
{
	struct rsoft_qp *qp = container_of(t, struct rsoft_qp, resp.tx_timer);

	return timer_run(&qp->recv, RSOFT_EV_TX_TIMER);
}

void rsoft_timers_init(struct rsoft_qp *qp)
{
	hrtimer_setup(&qp->req.ack_timer, ack_timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	hrtimer_setup(&qp->req.rnr_timer, rnr_timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	hrtimer_setup(&qp->req.tx_timer, send_timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	hrtimer_setup(&qp->req.hold.timer, hold_timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	hrtimer_setup(&qp->resp.tx_timer, recv_timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	hrtimer_setup(&qp->send.early.timer, gap_timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	hrtimer_setup(&qp->recv.early.timer, gap_timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}

void rsoft_timers_stop(struct rsoft_qp *qp)
{
	hrtimer_cancel(&qp->req.ack_timer);
	hrtimer_cancel(&qp->req.rnr_timer);
	hrtimer_cancel(&qp->req.tx_timer);
	hrtimer_cancel(&qp->req.hold.timer);
	hrtimer_cancel(&qp->resp.tx_timer);
	hrtimer_cancel(&qp->send.early.timer);
	hrtimer_cancel(&qp->recv.early.timer);
}

/* A probe without a sign that something is missing goes out not earlier. */
#define TAIL_PROBE_MIN_NS	(2 * (u64)NSEC_PER_MSEC)

/*
 * When to probe for an answer, from the last one on; at most the time-out. The
 * last packets, their ACK or a NAK may be lost, and nothing tells; but only who
 * knows how long answers take on this path can say that one is late.
 */
static u64 timer_probe_ns(const struct rsoft_qp *qp)
{
	u64 ns = rsoft_rtt_probe_us(&qp->req.rtt) * (u64)NSEC_PER_USEC;

	if (qp->req.hole == RSOFT_HOLE_NONE) {
		if (!ns)
			return qp->ack_timeout_ns;
		ns = max(ns, TAIL_PROBE_MIN_NS);
	}
	/* however long one answer took, one probe comes before the time-out */
	if (!ns || ns > qp->ack_timeout_ns / 4)
		ns = qp->ack_timeout_ns / 4;
	return min(ns << min_t(u8, qp->req.probes, 16), qp->ack_timeout_ns);
}

/* While there is a deadline the timer runs. */
static void timer_ensure(struct rsoft_qp *qp)
{
	/* not hrtimer_active(), which is true inside the timer's handler */
	if (!hrtimer_is_queued(&qp->req.ack_timer))
		rsoft_timer_probe(qp);
}

void rsoft_timer_sent(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;

	if (!qp->ack_timeout_ns)
		return;
	if (!req->deadline)
		req->deadline = ktime_get_ns() + qp->ack_timeout_ns;
	timer_ensure(qp);
}

void rsoft_timer_probe(struct rsoft_qp *qp)
{
	if (qp->ack_timeout_ns)
		hrtimer_start(&qp->req.ack_timer,
			      ns_to_ktime(timer_probe_ns(qp)),
			      HRTIMER_MODE_REL_SOFT);
}

void rsoft_timer_acked(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;

	if (!qp->ack_timeout_ns)
		return;
	if (req->una == req->psn_max) {
		req->deadline = 0;
		return;
	}
	req->deadline = ktime_get_ns() + qp->ack_timeout_ns;
	/* it may have fired while there was no deadline, before a repair */
	timer_ensure(qp);
}

/* When the next probe is due, ns. */
static u64 timer_probe_at(const struct rsoft_qp *qp)
{
	return qp->req.deadline - qp->ack_timeout_ns + timer_probe_ns(qp);
}

bool rsoft_timer_probe_due(struct rsoft_qp *qp)
{
	return qp->req.deadline && ktime_get_ns() >= timer_probe_at(qp);
}

bool rsoft_timer_expired(struct rsoft_qp *qp)
{
	struct rsoft_req *req = &qp->req;
	u64 now = ktime_get_ns();
	u64 next;

	if (!req->deadline)
		return false;
	if (now >= req->deadline)
		return true;
	next = timer_probe_at(qp);
	/* one that is due starts the timer again */
	if (next > now)
		hrtimer_start(&req->ack_timer, ns_to_ktime(next - now),
			      HRTIMER_MODE_REL_SOFT);
	return false;
}

void rsoft_timer_rnr(struct rsoft_qp *qp, u64 ns)
{
	hrtimer_start(&qp->req.rnr_timer, ns_to_ktime(ns),
		      HRTIMER_MODE_REL_SOFT);
}

void rsoft_timer_gap(struct rsoft_engine *e, u64 ns)
{
	if (!hrtimer_is_queued(&e->early.timer))
		hrtimer_start(&e->early.timer, ns_to_ktime(ns),
			      HRTIMER_MODE_REL_SOFT);
}

void rsoft_timer_tx(struct rsoft_qp *qp, struct hrtimer *t, u64 ns)
{
	hrtimer_start(t, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
}
