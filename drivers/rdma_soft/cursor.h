/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A place in the memory of a work request or of an RDMA operation.
 */
#ifndef RSOFT_CURSOR_H
#define RSOFT_CURSOR_H

#include "mr.h"
#include "wqe.h"

/**
 * struct rsoft_cursor - walks a list of pieces of memory
 * @qp: QP that the memory is accessed for
 * @sge: pieces
 * @num: number of pieces
 * @idx: piece at @pos
 * @off: offset of @pos in that piece
 * @pos: offset from the start of the list
 * @need: RSOFT_ACC_* that each access needs
 * @ref: region of piece @idx, held, empty if not looked up yet
 * @flat: if not NULL the memory is this buffer and @sge is not used
 * @at: address of the byte at @pos, if @ready is not 0
 * @ready: bytes from @pos on that are known to lie in one piece from @at on
 */
struct rsoft_cursor {
	const struct rsoft_qp *qp;
	const struct rsoft_sge *sge;
	u32 num;
	u32 idx;
	u32 off;
	u64 pos;
	u32 need;
	struct rsoft_mref ref;
	const u8 *flat;
	u8 *at;
	u32 ready;
};

/**
 * rsoft_cursor_init() - start at the first byte of a list
 * @c: cursor
 * @qp: QP that the memory is accessed for
 * @sge: pieces; must outlive the cursor
 * @num: number of pieces
 * @need: RSOFT_ACC_* that each access needs
 */
void rsoft_cursor_init(struct rsoft_cursor *c, const struct rsoft_qp *qp,
		       const struct rsoft_sge *sge, u32 num, u32 need);

/**
 * rsoft_cursor_flat() - start at the first byte of a kernel buffer
 * @c: cursor
 * @buf: buffer; must outlive the cursor
 */
void rsoft_cursor_flat(struct rsoft_cursor *c, const void *buf);

/* What the functions below do when it is not at hand. */
void rsoft_cursor_move(struct rsoft_cursor *c, u64 pos);
void *rsoft_cursor_find(struct rsoft_cursor *c, u32 want, u32 *run,
			enum rsoft_access *why);

/**
 * rsoft_cursor_hold() - start with a region that is held already
 * @c: cursor as rsoft_cursor_init() left it
 * @ref: region of its first piece, checked for all of it, or of none; taken over
 */
static inline void rsoft_cursor_hold(struct rsoft_cursor *c,
				     struct rsoft_mref *ref)
{
	c->ref = *ref;
	*ref = (struct rsoft_mref){};
}

/**
 * rsoft_cursor_seek() - move to an offset
 * @c: cursor
 * @pos: offset from the start of the list
 *
 * Cheap if @pos is where the cursor is.
 */
static inline void rsoft_cursor_seek(struct rsoft_cursor *c, u64 pos)
{
	if (c->pos != pos)
		rsoft_cursor_move(c, pos);
}

/**
 * rsoft_cursor_next() - address of the bytes at the cursor, and move past them
 * @c: cursor
 * @want: bytes wanted, more than 0
 * @run: set to the bytes that are contiguous, 1..@want
 * @why: set to the rule that was broken if the result is NULL
 *
 * Return: kernel address, NULL if the access is refused or the list ends.
 */
static inline void *rsoft_cursor_next(struct rsoft_cursor *c, u32 want,
				      u32 *run, enum rsoft_access *why)
{
	void *at = c->at;

	if (c->ready < want)
		return rsoft_cursor_find(c, want, run, why);
	c->at += want;
	c->ready -= want;
	c->off += want;
	c->pos += want;
	*run = want;
	return at;
}

/**
 * rsoft_cursor_put() - copy bytes to the cursor, and move past them
 * @c: cursor
 * @data: bytes
 * @len: how many
 *
 * Return: RSOFT_ACCESS_OK, or why the access is refused or that the list ends;
 * a part may be copied then.
 */
enum rsoft_access rsoft_cursor_put(struct rsoft_cursor *c, const void *data,
				   u32 len);

/**
 * rsoft_cursor_release() - let go of the region held
 * @c: cursor
 */
void rsoft_cursor_release(struct rsoft_cursor *c);

#endif
