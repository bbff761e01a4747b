// SPDX-License-Identifier: GPL-2.0
/*
 * Ownership and scheduling of a QP's two engines.
 *
 * Who has a reason to run an engine sets an event, then tries to own it. Who
 * owns it takes all events, works, lets go, and looks at the events again. The
 * full barrier on both sides makes sure that one of the two sees the other.
 */
#include <linux/mm.h>

#include "engine.h"
#include "qp.h"
#include "stack.h"

/* Turns of an owner that others keep busy, until the workqueue goes on. */
#define ENGINE_TURNS 16

static bool engine_try_own(struct rsoft_engine *e)
{
	return atomic_cmpxchg_acquire(&e->own, 0, RSOFT_ENGINE_OWNED) == 0;
}

static void engine_disown(struct rsoft_engine *e)
{
	atomic_fetch_andnot_release(RSOFT_ENGINE_OWNED, &e->own);
	/* pairs with engine_note(): the event or the ownership is seen */
	smp_mb__after_atomic();
}

static void engine_note(struct rsoft_engine *e, enum rsoft_event ev)
{
	set_bit(ev, &e->events);
	/* pairs with engine_disown() */
	smp_mb__after_atomic();
}

/* Continue on the workqueue; the reference is dropped by the work. */
static void engine_defer_on(struct rsoft_engine *e, int cpu)
{
	rsoft_handle_get(e->qp->h);
	if (queue_work_on(cpu, rsoft_wq, &e->work))
		rsoft_qp_count(e->qp, RSOFT_CNT_DEFERRED);
	else
		rsoft_handle_put(e->qp->h);
}

void rsoft_engine_again(struct rsoft_engine *e)
{
	rsoft_handle_get(e->qp->h);
	/* tasklet_schedule() does not tell if it was scheduled before */
	if (test_and_set_bit(TASKLET_STATE_SCHED, &e->kick.state))
		rsoft_handle_put(e->qp->h);
	else
		__tasklet_schedule(&e->kick);
}

/*
 * The budget is used up. A softirq goes on in a softirq, so that a process that
 * polls on this CPU does not come first: the kernel hands softirqs that do not
 * end to ksoftirqd.
 */
static void engine_defer(struct rsoft_engine *e)
{
	if (!in_serving_softirq()) {
		engine_defer_on(e, WORK_CPU_UNBOUND);
		return;
	}
	rsoft_qp_count(e->qp, RSOFT_CNT_DEFERRED);
	rsoft_engine_again(e);
}

/* A place: the CPU that sends, and how many runs have sent before. */
static int place_cpu(unsigned long place)
{
	return place & U16_MAX;
}

static unsigned long place_next(unsigned long place, int cpu)
{
	BUILD_BUG_ON(CONFIG_NR_CPUS > U16_MAX);
	return (place | U16_MAX) + 1 + cpu;
}

static bool engine_may_leave(const struct rsoft_engine *e)
{
	if (rsoft_stack_pending(e->qp))
		return false;
	return e->qp->ibqp.qp_type != IB_QPT_UC ||
	       READ_ONCE(e->settled) == e->place;
}

bool rsoft_engine_may_send(struct rsoft_engine *e)
{
	int last = place_cpu(e->place), cpu = smp_processor_id();

	if (last != cpu && cpu_online(last) && !engine_may_leave(e)) {
		engine_defer_on(e, last);
		return false;
	}
	WRITE_ONCE(e->place, place_next(e->place, cpu));
	return true;
}

static void engine_put_skb(struct rsoft_engine *e, struct sk_buff *skb)
{
	spin_lock_bh(&e->queue.lock);
	e->queued -= skb->truesize;
	spin_unlock_bh(&e->queue.lock);
	kfree_skb(skb);
}

static struct rsoft_rx_cb *engine_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct rsoft_rx_cb) > sizeof(skb->cb));
	return (struct rsoft_rx_cb *)skb->cb;
}

/* Keep what is left of a run for later; the caller keeps its skb. */
static void engine_enqueue(struct rsoft_engine *e, const struct rsoft_rx *rx)
{
	struct sk_buff *skb;

	if (rx->whole)
		skb = skb_get(rx->skb);
	else
		skb = skb_clone(rx->skb, GFP_ATOMIC);
	if (!skb) {
		rsoft_qp_drop(e->qp, RSOFT_DROP_NOMEM);
		return;
	}
	rsoft_rx_detach(skb);
	rsoft_rx_save(rx, engine_cb(skb));

	spin_lock_bh(&e->queue.lock);
	if (e->queued + skb->truesize > RSOFT_ENGINE_QUEUE_MAX) {
		spin_unlock_bh(&e->queue.lock);
		rsoft_qp_drop(e->qp, RSOFT_DROP_QUEUE);
		kfree_skb(skb);
		return;
	}
	e->queued += skb->truesize;
	__skb_queue_tail(&e->queue, skb);
	spin_unlock_bh(&e->queue.lock);
	rsoft_qp_count(e->qp, RSOFT_CNT_HANDOFFS);
}

/*
 * Work through the queue until it is empty, must wait, or the budget is used
 * up. Returns true if anything was processed.
 */
static noinline bool engine_drain_queue(struct rsoft_engine *e, u32 *budget)
{
	bool any = false;
	struct rsoft_rx rx;
	struct sk_buff *skb;
	u32 before;

	while (!e->blocked && *budget) {
		skb = skb_dequeue(&e->queue);
		if (!skb)
			break;
		rsoft_rx_load(&rx, engine_cb(skb), skb);
		before = rx.len;
		e->ops->rx(e->qp, &rx);
		*budget -= min(*budget, before - rx.len);
		any = true;
		if (rx.len) {
			rsoft_rx_save(&rx, engine_cb(skb));
			skb_queue_head(&e->queue, skb);
			break;
		}
		engine_put_skb(e, skb);
	}
	return any;
}

/* Something waits in the queue and could be processed. */
static bool engine_has_rx(struct rsoft_engine *e)
{
	return !e->blocked && !skb_queue_empty_lockless(&e->queue);
}

/* Most of the time nothing waits: who queues a packet notes an event after. */
static bool engine_drain(struct rsoft_engine *e, u32 *budget)
{
	return engine_has_rx(e) && engine_drain_queue(e, budget);
}

/*
 * One turn of the owner. Returns true if more could be done at once.
 *
 * Packets come first: one that waits here may be the progress whose absence a
 * time-out would punish. If the budget ends before they do, so must the
 * time-out wait.
 */
static bool engine_turn(struct rsoft_engine *e, u32 *budget)
{
	unsigned long events = xchg(&e->events, 0);
	bool more;

	engine_drain(e, budget);
	if (events & BIT(RSOFT_EV_ACK_TIMER) && engine_has_rx(e)) {
		events &= ~BIT(RSOFT_EV_ACK_TIMER);
		rsoft_engine_post(e, RSOFT_EV_ACK_TIMER);
	}
	more = e->ops->run(e->qp, events, *budget);
	/* what the run unblocked */
	if (engine_drain(e, budget))
		more = e->ops->run(e->qp, 0, *budget);
	/* without a budget nothing was tried, not even what an event asked for */
	return more || !*budget || engine_has_rx(e);
}

void rsoft_engine_run(struct rsoft_engine *e, u32 budget)
{
	int turns = ENGINE_TURNS;
	bool more;

	do {
		if (!engine_try_own(e))
			return;
		more = engine_turn(e, &budget);
		engine_disown(e);
		if (more || !--turns) {
			engine_defer(e);
			return;
		}
	} while (READ_ONCE(e->events));
}

void rsoft_engine_rx(struct rsoft_engine *e, struct rsoft_rx *rx)
{
	u32 budget = RSOFT_BUDGET_SOFTIRQ;
	bool more;

	if (!engine_try_own(e)) {
		engine_enqueue(e, rx);
		engine_note(e, RSOFT_EV_RX);
		rsoft_engine_run(e, budget);
		return;
	}

	if (skb_queue_empty(&e->queue) && !e->blocked)
		e->ops->rx(e->qp, rx);
	if (rx->len)
		engine_enqueue(e, rx);
	more = engine_turn(e, &budget);
	engine_disown(e);
	if (more)
		engine_defer(e);
	else if (READ_ONCE(e->events))
		rsoft_engine_run(e, budget);
}

static void engine_work(struct work_struct *work)
{
	struct rsoft_engine *e = container_of(work, struct rsoft_engine, work);
	unsigned long place;
	bool here;

	/* who left it to this CPU may still own the engine, and look at events */
	engine_note(e, RSOFT_EV_AGAIN);
	local_bh_disable();
	rsoft_engine_run(e, RSOFT_BUDGET_WORK);
	place = READ_ONCE(e->place);
	here = place_cpu(place) == smp_processor_id();
	local_bh_enable();
	/* no softirq of this CPU is in the middle of anything that was sent here */
	if (here)
		WRITE_ONCE(e->settled, place);
	rsoft_handle_put(e->qp->h);
}

static void engine_kick(struct tasklet_struct *t)
{
	struct rsoft_engine *e = container_of(t, struct rsoft_engine, kick);

	rsoft_engine_run(e, RSOFT_BUDGET_SOFTIRQ);
	rsoft_handle_put(e->qp->h);
}

void rsoft_engine_schedule(struct rsoft_engine *e, enum rsoft_event ev)
{
	engine_note(e, ev);
	rsoft_engine_again(e);
}

void rsoft_engine_init(struct rsoft_engine *e, struct rsoft_qp *qp,
		       const struct rsoft_engine_ops *ops)
{
	e->qp = qp;
	e->ops = ops;
	atomic_set(&e->own, 0);
	e->events = 0;
	e->blocked = false;
	skb_queue_head_init(&e->queue);
	e->queued = 0;
	rsoft_early_init(&e->early);
	INIT_WORK(&e->work, engine_work);
	tasklet_setup(&e->kick, engine_kick);
	e->place = raw_smp_processor_id();
	e->settled = e->place;
	e->ip_id = get_random_u32();
}

void rsoft_engine_pause(struct rsoft_engine *e)
{
	might_sleep();
	lockdep_assert_held(&e->qp->ctl);
	atomic_or(RSOFT_ENGINE_PAUSED, &e->own);
	/* an owner works with BH disabled and a budget: a short wait */
	while (atomic_read_acquire(&e->own) & RSOFT_ENGINE_OWNED)
		usleep_range(5, 20);
}

void rsoft_engine_resume(struct rsoft_engine *e)
{
	lockdep_assert_held(&e->qp->ctl);
	atomic_fetch_andnot_release(RSOFT_ENGINE_PAUSED, &e->own);
	/* pairs with engine_note() */
	smp_mb__after_atomic();
	local_bh_disable();
	rsoft_engine_run(e, RSOFT_BUDGET_DOORBELL);
	local_bh_enable();
}

void rsoft_engine_purge(struct rsoft_engine *e)
{
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&e->queue)))
		engine_put_skb(e, skb);
	rsoft_early_drop(e->qp, &e->early);
}

void rsoft_engine_destroy(struct rsoft_engine *e)
{
	tasklet_kill(&e->kick);
	flush_work(&e->work);
	rsoft_engine_purge(e);
}
