// SPDX-License-Identifier: GPL-2.0
/*
 * Back-pressure. What a QP has in the stack is what its socket is charged for;
 * the stack takes that off by itself and calls no code of ours. So a device's
 * sum is kept by those who send: each QP's share as it was seen last. It can
 * only be too high, and before somebody waits for it all shares are looked at.
 */
#include "stack.h"

#include <linux/ktime.h>
#include <net/sock.h>

#include "build.h"
#include "device.h"
#include "qp.h"
#include "timer.h"

/* The shares of a device's QPs are not looked at more often than this. */
#define STACK_LOOK_NS	(50 * NSEC_PER_USEC)
/* Many may wait for a device: each looks less often than one that waits alone. */
#define STACK_DEV_NS	(500 * NSEC_PER_USEC)

static u32 stack_bytes(const struct rsoft_qp *qp)
{
	/* one is the socket's own */
	return refcount_read(&qp->sock->sk->sk_wmem_alloc) - 1;
}

bool rsoft_stack_pending(const struct rsoft_qp *qp)
{
	return stack_bytes(qp) > 0;
}

void rsoft_stack_note(struct rsoft_qp *qp)
{
	u32 now = stack_bytes(qp);

	/* both engines come here: each takes off what the other put in */
	atomic_add(now - xchg(&qp->stack_noted, now), &qp->dev->stack_bytes);
}

void rsoft_stack_forget(struct rsoft_qp *qp)
{
	atomic_sub(xchg(&qp->stack_noted, 0), &qp->dev->stack_bytes);
}

/* Look at all shares; whoever finds another at it has his answer. */
static void stack_look(struct rsoft_dev *dev)
{
	u64 now = ktime_get_ns();
	struct rsoft_qp *qp;
	unsigned long flags;

	if (now - READ_ONCE(dev->stack_looked_ns) < STACK_LOOK_NS ||
	    !spin_trylock_irqsave(&dev->qp_lock, flags))
		return;
	list_for_each_entry(qp, &dev->qps, node) {
		if (READ_ONCE(qp->stack_noted))
			rsoft_stack_note(qp);
	}
	WRITE_ONCE(dev->stack_looked_ns, now);
	spin_unlock_irqrestore(&dev->qp_lock, flags);
}

/*
 * A device's QPs share one queue. Who has nothing in it may add an skb when the
 * others' share is used up: else those who wait by the timer would never get
 * ahead of those who are woken by ACKs.
 */
static bool stack_dev_full(const struct rsoft_qp *qp)
{
	int sum = atomic_read(&qp->dev->stack_bytes);

	return sum > (rsoft_stack_pending(qp) ? RSOFT_STACK_DEV_MAX :
						RSOFT_STACK_DEV_FULL);
}

bool rsoft_stack_full(struct rsoft_qp *qp)
{
	if (stack_bytes(qp) > RSOFT_STACK_QP_MAX)
		return true;
	if (likely(!stack_dev_full(qp)))
		return false;
	stack_look(qp->dev);
	return stack_dev_full(qp);
}

u64 rsoft_stack_wait_ns(const struct rsoft_qp *qp, u8 refused)
{
	u64 ns = rsoft_tx_wait_ns(refused);

	return stack_dev_full(qp) ? max_t(u64, ns, STACK_DEV_NS) : ns;
}

void rsoft_stack_wait(struct rsoft_qp *qp, struct rsoft_engine *e,
		      struct hrtimer *t, u8 refused)
{
	if (stack_bytes(qp) > RSOFT_STACK_QP_MAX)
		rsoft_engine_again(e);
	else
		rsoft_timer_tx(qp, t, rsoft_stack_wait_ns(qp, refused));
}

bool rsoft_stack_waits(struct rsoft_qp *qp, bool *wait, struct hrtimer *t,
		       u8 refused)
{
	if (!rsoft_stack_full(qp))
		*wait = false;
	else if (*wait && !hrtimer_is_queued(t))
		rsoft_timer_tx(qp, t, rsoft_stack_wait_ns(qp, refused));
	return *wait;
}
