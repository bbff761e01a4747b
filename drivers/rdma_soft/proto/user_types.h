/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel names that this folder uses, for builds in user space. Included
 * by types.h only.
 */
#ifndef RSOFT_PROTO_USER_TYPES_H
#define RSOFT_PROTO_USER_TYPES_H

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;

#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX
#define BIT(n)		(1UL << (n))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#ifndef __packed
#define __packed	__attribute((packed))
#endif

static inline void barrier(void)
{
	__asm__ __volatile__("" ::: "memory");
}

#define cpu_to_be16(x)	((__be16)htobe16(x))
#define cpu_to_be32(x)	((__be32)htobe32(x))
#define cpu_to_be64(x)	((__be64)htobe64(x))
#define cpu_to_le32(x)	((__le32)htole32(x))
#define be16_to_cpu(x)	be16toh((uint16_t)(x))
#define be32_to_cpu(x)	be32toh((uint32_t)(x))
#define be64_to_cpu(x)	be64toh((uint64_t)(x))
#define le32_to_cpu(x)	le32toh((uint32_t)(x))

#endif
