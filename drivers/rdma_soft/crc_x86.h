/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32 by carry-less multiplication on x86-64.
 */
#ifndef RSOFT_CRC_X86_H
#define RSOFT_CRC_X86_H

#include <linux/types.h>

/* Fewest bytes for the functions below. */
#define RSOFT_CRC_X86_MIN 64

#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)

/**
 * rsoft_crc_x86_usable() - does this CPU have the instructions
 *
 * Return: true if the functions below may be called.
 */
bool rsoft_crc_x86_usable(void);

/**
 * rsoft_crc_x86_enter() - begin a section that uses vector registers
 *
 * Context: any; preemption is off until rsoft_crc_x86_leave().
 *
 * Return: true if the section began, false where it must not (the interrupted
 * code uses the registers itself).
 */
bool rsoft_crc_x86_enter(void);

/**
 * rsoft_crc_x86_leave() - end a section
 */
void rsoft_crc_x86_leave(void);

/**
 * rsoft_crc_x86() - go on with a CRC
 * @crc: state so far
 * @p: bytes
 * @len: how many, at least RSOFT_CRC_X86_MIN
 *
 * Context: inside a section.
 *
 * Return: the state.
 */
u32 rsoft_crc_x86(u32 crc, const void *p, size_t len);

/**
 * rsoft_crc_x86_copy() - copy, and go on with a CRC over the copy
 * @crc: state so far
 * @to: where the bytes go
 * @from: bytes, each read once
 * @len: how many, a multiple of RSOFT_CRC_X86_MIN, not 0
 *
 * Context: inside a section.
 *
 * Return: the state.
 */
u32 rsoft_crc_x86_copy(u32 crc, void *to, const void *from, size_t len);

#else

static inline bool rsoft_crc_x86_usable(void)
{
	return false;
}

static inline bool rsoft_crc_x86_enter(void)
{
	return false;
}

static inline void rsoft_crc_x86_leave(void)
{
}

static inline u32 rsoft_crc_x86(u32 crc, const void *p, size_t len)
{
	return crc;
}

static inline u32 rsoft_crc_x86_copy(u32 crc, void *to, const void *from,
				     size_t len)
{
	return crc;
}

#endif
#endif
