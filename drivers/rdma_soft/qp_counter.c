// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of single QPs, or of groups of them (`rdma statistic qp`). A QP that
 * is bound to a counter counts there *instead of* in the device's counters: the
 * core adds both when it shows the port, and the data path has the same work
 * with and without.
 *
 * The core knows a counter by the id that the driver gives it when the first QP
 * is bound; what is counted is found by that id.
 */
#include "qp_counter.h"

#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "qp.h"

/**
 * struct rsoft_qp_counter - what is counted for the QPs of one counter
 * @stats: per-CPU counters
 * @rcu: defers freeing until no engine counts here any more
 */
struct rsoft_qp_counter {
	struct rsoft_stats __percpu *stats;
	struct rcu_head rcu;
};

static struct rsoft_qp_counter *counter_find(struct rdma_counter *counter)
{
	return xa_load(&to_rdev(counter->device)->qp_counters, counter->id);
}

static void counter_free(struct rsoft_qp_counter *c)
{
	free_percpu(c->stats);
	kfree(c);
}

static void counter_free_rcu(struct rcu_head *rcu)
{
	counter_free(container_of(rcu, struct rsoft_qp_counter, rcu));
}

static struct rsoft_qp_counter *counter_create(struct rdma_counter *counter)
{
	struct rsoft_qp_counter *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	c->stats = alloc_percpu(struct rsoft_stats);
	if (c->stats && !xa_alloc(&to_rdev(counter->device)->qp_counters,
				  &counter->id, c, xa_limit_31b, GFP_KERNEL))
		return c;
	counter_free(c);
	return NULL;
}

u64 rsoft_qp_counters_sum(struct rsoft_dev *dev, enum rsoft_counter id)
{
	struct rsoft_qp_counter *c;
	unsigned long idx;
	u64 sum;

	xa_lock(&dev->qp_counters);
	sum = dev->retired.c[id];
	xa_for_each(&dev->qp_counters, idx, c)
		sum += rsoft_stats_sum(c->stats, id);
	xa_unlock(&dev->qp_counters);
	return sum;
}

struct rdma_hw_stats *
rsoft_qp_counter_alloc_stats(struct rdma_counter *counter)
{
	return rsoft_counters_alloc();
}

int rsoft_qp_counter_update(struct rdma_counter *counter)
{
	struct rsoft_qp_counter *c = counter_find(counter);

	if (!c)
		return -EINVAL;
	rsoft_counters_fill(counter->stats, c->stats);
	return 0;
}

/* The core holds the counter's mutex. */
int rsoft_qp_counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp)
{
	struct rsoft_qp_counter *c;

	/* ids start at 1 */
	c = counter->id ? counter_find(counter) : counter_create(counter);
	if (!c)
		return -ENOMEM;
	WRITE_ONCE(to_rqp(ibqp)->stats, c->stats);
	ibqp->counter = counter;
	return 0;
}

int rsoft_qp_counter_unbind(struct ib_qp *ibqp)
{
	struct rsoft_qp *qp = to_rqp(ibqp);

	WRITE_ONCE(qp->stats, qp->dev->stats);
	ibqp->counter = NULL;
	return 0;
}

/*
 * The last QP was unbound and the core has read the counter. What an engine
 * that is just running still counts here is lost.
 */
int rsoft_qp_counter_dealloc(struct rdma_counter *counter)
{
	struct rsoft_dev *dev = to_rdev(counter->device);
	struct rsoft_qp_counter *c;
	unsigned int i;

	if (!counter->id)
		return 0;
	xa_lock(&dev->qp_counters);
	c = __xa_erase(&dev->qp_counters, counter->id);
	for (i = 0; c && i < RSOFT_CNT_MAX; i++)
		dev->retired.c[i] += rsoft_stats_sum(c->stats, i);
	xa_unlock(&dev->qp_counters);
	if (c)
		call_rcu(&c->rcu, counter_free_rcu);
	return 0;
}
