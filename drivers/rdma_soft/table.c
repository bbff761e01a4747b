// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of the numbers that others present to us. A slot is found by undoing
 * the permutation of the number; slots are handed out in a circle, so a number
 * comes back only after all others were used (a peer may still hold a QPN in
 * TIMEWAIT).
 *
 * A lookup reads the table under RCU and takes a reference unless the count is
 * already zero. Removal hides the entry, drops the table's reference and waits
 * for the last one; the handle itself lives on for a grace period.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "table.h"

#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "proto/access.h"

#define SLOT_MAX	0xffffff
#define SLOTS_BAD	3	/* of QPNs: 0, 1 and the last one */
#define REPORT_AFTER	(10 * HZ)

struct rsoft_table rsoft_qp_table;
struct rsoft_table rsoft_key_table;
struct rsoft_table rsoft_ah_table;

static void table_init(struct rsoft_table *t, u32 first, u32 last)
{
	xa_init_flags(&t->xa, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	t->first = first;
	t->last = last;
	t->next = get_random_u32() & SLOT_MAX;
	get_random_bytes(t->key, sizeof(t->key));
}

void rsoft_tables_init(void)
{
	/* QPNs 0 and 1 are the management QPs, the last one is multicast. */
	table_init(&rsoft_qp_table, 2, 0xfffffe);
	/* Index 0 would make key 0, which means "none" to some consumers. */
	table_init(&rsoft_key_table, 1, 0xfffffe);
	/* 0 in a WQE means "no number". */
	table_init(&rsoft_ah_table, 1, 0xffffff);
}

void rsoft_tables_exit(void)
{
	WARN_ON(!xa_empty(&rsoft_qp_table.xa));
	WARN_ON(!xa_empty(&rsoft_key_table.xa));
	WARN_ON(!xa_empty(&rsoft_ah_table.xa));
	xa_destroy(&rsoft_qp_table.xa);
	xa_destroy(&rsoft_key_table.xa);
	xa_destroy(&rsoft_ah_table.xa);
}

static bool id_usable(const struct rsoft_table *t, u32 id)
{
	return id >= t->first && id <= t->last;
}

static void slot_free(struct rsoft_table *t, u32 slot)
{
	unsigned long flags;

	xa_lock_irqsave(&t->xa, flags);
	__xa_erase(&t->xa, slot);
	xa_unlock_irqrestore(&t->xa, flags);
}

/* Reserve a slot whose number may be used. At most SLOTS_BAD others exist. */
static int slot_alloc(struct rsoft_table *t, u32 *slot, gfp_t gfp)
{
	unsigned long flags;
	int tries, ret;

	for (tries = 0; tries <= SLOTS_BAD; tries++) {
		xa_lock_irqsave(&t->xa, flags);
		ret = __xa_alloc_cyclic(&t->xa, slot, NULL,
					XA_LIMIT(0, SLOT_MAX), &t->next, gfp);
		xa_unlock_irqrestore(&t->xa, flags);
		if (ret < 0)
			return ret == -EBUSY ? -ENOSPC : ret;
		if (id_usable(t, rsoft_permute24(*slot, t->key)))
			return 0;
		slot_free(t, *slot);
	}
	return -ENOSPC;
}

struct rsoft_handle *rsoft_table_add(struct rsoft_table *t, void *obj,
				     gfp_t gfp)
{
	struct rsoft_handle *h;
	int ret;

	h = kzalloc(sizeof(*h), gfp | __GFP_ACCOUNT);
	if (!h)
		return ERR_PTR(-ENOMEM);

	ret = slot_alloc(t, &h->slot, gfp);
	if (ret) {
		kfree(h);
		return ERR_PTR(ret);
	}
	h->id = rsoft_permute24(h->slot, t->key);
	h->obj = obj;
	refcount_set(&h->ref, 1);
	init_completion(&h->gone);
	return h;
}

void rsoft_table_publish(struct rsoft_table *t, struct rsoft_handle *h)
{
	unsigned long flags;

	/* The slot is reserved, so the store needs no memory. */
	xa_lock_irqsave(&t->xa, flags);
	__xa_store(&t->xa, h->slot, h, 0);
	xa_unlock_irqrestore(&t->xa, flags);
}

struct rsoft_handle *rsoft_table_get(struct rsoft_table *t, u32 id)
{
	struct rsoft_handle *h;

	if (!id_usable(t, id))
		return NULL;

	rcu_read_lock();
	h = xa_load(&t->xa, rsoft_unpermute24(id, t->key));
	if (h && !refcount_inc_not_zero(&h->ref))
		h = NULL;
	rcu_read_unlock();
	return h;
}

void rsoft_handle_put(struct rsoft_handle *h)
{
	if (refcount_dec_and_test(&h->ref))
		complete(&h->gone);
}

void rsoft_table_hide(struct rsoft_table *t, struct rsoft_handle *h)
{
	unsigned long flags;

	/* Storing NULL in an allocating array keeps the slot reserved. */
	xa_lock_irqsave(&t->xa, flags);
	__xa_store(&t->xa, h->slot, NULL, 0);
	xa_unlock_irqrestore(&t->xa, flags);
}

void rsoft_table_remove(struct rsoft_table *t, struct rsoft_handle *h)
{
	rsoft_table_hide(t, h);
	rsoft_handle_put(h);
	if (!wait_for_completion_timeout(&h->gone, REPORT_AFTER)) {
		pr_warn("number %#x still has %u users after 10 s, waiting\n",
			h->id, refcount_read(&h->ref));
		wait_for_completion(&h->gone);
	}

	slot_free(t, h->slot);
	kfree_rcu(h, rcu);
}
