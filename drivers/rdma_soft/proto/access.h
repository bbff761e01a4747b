/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who may touch which memory: the one rule that every access by key goes
 * through (IBTA 10.6.3; ReDMArk, USENIX Security 2021).
 */
#ifndef RSOFT_PROTO_ACCESS_H
#define RSOFT_PROTO_ACCESS_H

#include "types.h"

/* Rights, with the values of enum ib_access_flags. */
#define RSOFT_ACC_LOCAL_WRITE	BIT(0)
#define RSOFT_ACC_REMOTE_WRITE	BIT(1)
#define RSOFT_ACC_REMOTE_READ	BIT(2)
#define RSOFT_ACC_REMOTE_ATOMIC	BIT(3)
#define RSOFT_ACC_MW_BIND	BIT(4)
#define RSOFT_ACC_ZERO_BASED	BIT(5)
#define RSOFT_ACC_FLUSH_GLOBAL	BIT(8)
#define RSOFT_ACC_FLUSH_PERSIST	BIT(9)
/* Those that a peer uses, and a window grants. */
#define RSOFT_ACC_REMOTE	(RSOFT_ACC_REMOTE_WRITE | \
				 RSOFT_ACC_REMOTE_READ | \
				 RSOFT_ACC_REMOTE_ATOMIC)

enum rsoft_access {
	RSOFT_ACCESS_OK,
	RSOFT_ACCESS_KEY,	/* no such key, or its variant byte differs */
	RSOFT_ACCESS_STATE,	/* the object is not valid for access now */
	RSOFT_ACCESS_PD,	/* another protection domain or QP */
	RSOFT_ACCESS_RIGHTS,	/* a right is missing */
	RSOFT_ACCESS_RANGE,	/* outside the region, or it wraps */
	RSOFT_ACCESS_ALIGN,	/* atomic address not a multiple of eight */
};

/**
 * struct rsoft_region - what an access is checked against
 * @key: full 32-bit key now in force (lkey or rkey)
 * @valid: the object may be accessed in its present state
 * @owner_ok: the QP belongs to the object's PD (type 2 windows: is its QP)
 * @all: covers the whole address space (kernel DMA key)
 * @rights: RSOFT_ACC_* granted; local read is always granted
 * @start: first address
 * @len: bytes
 */
struct rsoft_region {
	u32	key;
	bool	valid;
	bool	owner_ok;
	bool	all;
	u32	rights;
	u64	start;
	u64	len;
};

/**
 * rsoft_access_check() - may these bytes be touched with this key
 * @region: the object found under the key's index
 * @key: key as presented
 * @need: RSOFT_ACC_* that the operation needs, 0 for a local read
 * @va: first address
 * @len: bytes; 0 is in range everywhere
 *
 * Overflow-safe in all arguments.
 *
 * Return: RSOFT_ACCESS_OK or the first rule that was broken, in the order of
 * enum rsoft_access.
 */
enum rsoft_access rsoft_access_check(const struct rsoft_region *region,
				     u32 key, u32 need, u64 va, u64 len);

/**
 * rsoft_key_index() - table index of a key
 * @key: lkey or rkey
 *
 * Return: upper 24 bits.
 */
static inline u32 rsoft_key_index(u32 key)
{
	return key >> 8;
}

/**
 * rsoft_key_make() - compose a key
 * @index: 24-bit table index
 * @variant: consumer-owned low byte
 *
 * Return: the key.
 */
static inline u32 rsoft_key_make(u32 index, u8 variant)
{
	return index << 8 | variant;
}

/**
 * rsoft_permute24() - keyed permutation of 24-bit numbers
 * @x: number below 2^24
 * @key: four random words
 *
 * A four-round Feistel network over two 12-bit halves, so that keys and QPNs
 * seen by a peer do not reveal the next ones.
 *
 * Return: the image, below 2^24.
 */
u32 rsoft_permute24(u32 x, const u32 key[4]);

/**
 * rsoft_unpermute24() - inverse of rsoft_permute24()
 * @y: number below 2^24
 * @key: four random words
 *
 * Return: the number whose image is @y.
 */
u32 rsoft_unpermute24(u32 y, const u32 key[4]);

#endif
