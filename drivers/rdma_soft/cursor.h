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
 * @pd: protection domain that the keys must belong to
 * @sge: pieces
 * @num: number of pieces
 * @idx: piece at @pos
 * @off: offset of @pos in that piece
 * @pos: offset from the start of the list
 * @need: RSOFT_ACC_* that each access needs
 * @mr: region of piece @idx, held, NULL if not looked up yet
 * @flat: if not NULL the memory is this buffer and @sge is not used
 */
struct rsoft_cursor {
	struct ib_pd *pd;
	const struct rsoft_sge *sge;
	u32 num;
	u32 idx;
	u32 off;
	u64 pos;
	u32 need;
	struct rsoft_mr *mr;
	const u8 *flat;
};

/**
 * rsoft_cursor_init() - start at the first byte of a list
 * @c: cursor
 * @pd: protection domain
 * @sge: pieces; must outlive the cursor
 * @num: number of pieces
 * @need: RSOFT_ACC_* that each access needs
 */
void rsoft_cursor_init(struct rsoft_cursor *c, struct ib_pd *pd,
		       const struct rsoft_sge *sge, u32 num, u32 need);

/**
 * rsoft_cursor_flat() - start at the first byte of a kernel buffer
 * @c: cursor
 * @buf: buffer; must outlive the cursor
 */
void rsoft_cursor_flat(struct rsoft_cursor *c, const void *buf);

/**
 * rsoft_cursor_seek() - move to an offset
 * @c: cursor
 * @pos: offset from the start of the list
 *
 * Cheap if @pos is where the cursor is.
 */
void rsoft_cursor_seek(struct rsoft_cursor *c, u64 pos);

/**
 * rsoft_cursor_next() - address of the bytes at the cursor, and move past them
 * @c: cursor
 * @want: bytes wanted, more than 0
 * @run: set to the bytes that are contiguous, 1..@want
 * @why: set to the rule that was broken if the result is NULL
 *
 * Return: kernel address, NULL if the access is refused or the list ends.
 */
void *rsoft_cursor_next(struct rsoft_cursor *c, u32 want, u32 *run,
			enum rsoft_access *why);

/**
 * rsoft_cursor_release() - let go of the region held
 * @c: cursor
 */
void rsoft_cursor_release(struct rsoft_cursor *c);

#endif
