/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers that others present to us (QPN, key index, AH index): an RCU
 * table per kind, with numbers permuted so that one does not tell the next.
 */
#ifndef RSOFT_TABLE_H
#define RSOFT_TABLE_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/rcupdate.h>
#include <linux/xarray.h>

/**
 * struct rsoft_handle - what a table holds for one object
 * @node: chain of the bucket of @id
 * @ref: one for the table, one for each user of the object
 * @slot: place in the table, before permutation
 * @id: number that the outside uses
 * @obj: the object; valid while a reference is held
 * @gone: completed when @ref has fallen to zero
 * @rcu: defers freeing past concurrent lookups
 */
struct rsoft_handle {
	struct hlist_node node;
	refcount_t ref;
	u32 slot;
	u32 id;
	void *obj;
	struct completion gone;
	struct rcu_head rcu;
};

/**
 * struct rsoft_table - numbers of one kind, unique in the module
 * @xa: slots in use
 * @buckets: findable handles by the low bits of their number, which is as good
 *           as random; written under the lock of @xa
 * @mask: number of buckets - 1
 * @next: where the next search starts, so that numbers are reused last
 * @key: key of the permutation
 * @first: lowest number handed out
 * @last: highest number handed out
 */
struct rsoft_table {
	struct xarray xa;
	struct hlist_head *buckets;
	u32 mask;
	u32 next;
	u32 key[4];
	u32 first;
	u32 last;
};

extern struct rsoft_table rsoft_qp_table;
extern struct rsoft_table rsoft_key_table;
extern struct rsoft_table rsoft_ah_table;

/**
 * rsoft_tables_init() - set up the module's tables with random keys
 *
 * Context: module init.
 *
 * Return: 0, -ENOMEM.
 */
int rsoft_tables_init(void);

/**
 * rsoft_tables_exit() - release the tables; they must be empty
 *
 * Context: module exit, after all links are gone.
 */
void rsoft_tables_exit(void);

/**
 * rsoft_table_add() - reserve a number for an object, not yet findable
 * @t: table
 * @obj: the object
 * @gfp: allocation mode
 *
 * Return: a handle with one reference, whose id is the number;
 * ERR_PTR(-ENOMEM) without memory, ERR_PTR(-ENOSPC) if all are in use.
 */
struct rsoft_handle *rsoft_table_add(struct rsoft_table *t, void *obj,
				     gfp_t gfp);

/**
 * rsoft_table_publish() - make a fully built object findable
 * @t: table
 * @h: handle from rsoft_table_add()
 *
 * Context: any; cannot fail.
 */
void rsoft_table_publish(struct rsoft_table *t, struct rsoft_handle *h);

/**
 * rsoft_table_get() - find an object by number and take a reference
 * @t: table
 * @id: number as presented
 *
 * Context: BH disabled.
 *
 * Return: the handle, NULL if there is none. Release with rsoft_handle_put().
 */
struct rsoft_handle *rsoft_table_get(struct rsoft_table *t, u32 id);

/**
 * rsoft_handle_get() - take one more reference
 * @h: handle on which the caller holds one
 */
static inline void rsoft_handle_get(struct rsoft_handle *h)
{
	refcount_inc(&h->ref);
}

/**
 * rsoft_handle_put() - release a reference
 * @h: handle
 *
 * Context: any. The object may be gone on return.
 */
void rsoft_handle_put(struct rsoft_handle *h);

/**
 * rsoft_table_hide() - make an object unfindable
 * @t: table
 * @h: handle
 *
 * Context: any; users that hold a reference keep it.
 */
void rsoft_table_hide(struct rsoft_table *t, struct rsoft_handle *h);

/**
 * rsoft_table_remove() - hide an object, wait for its users, free the handle
 * @t: table
 * @h: handle; freed
 *
 * Waits for ever on a count that always falls, and reports after 10 s (list
 * report on a destroy that gave up and freed a busy object).
 *
 * Context: may sleep; the caller's own reference is the table's.
 */
void rsoft_table_remove(struct rsoft_table *t, struct rsoft_handle *h);

#endif
