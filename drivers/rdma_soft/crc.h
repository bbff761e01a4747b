/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32 as the invariant CRC needs it, in the fastest way this kernel has.
 */
#ifndef RSOFT_CRC_H
#define RSOFT_CRC_H

#include <linux/types.h>

/**
 * rsoft_crc_init() - find out what computes fastest
 *
 * Context: module init; may load a crypto module.
 */
void rsoft_crc_init(void);

/**
 * rsoft_crc_exit() - undo rsoft_crc_init()
 *
 * Context: module exit, when nothing computes any more.
 */
void rsoft_crc_exit(void);

/**
 * rsoft_crc32() - go on with a CRC-32 (little endian, as crc32_le())
 * @crc: state so far; the first call gets ~0
 * @p: bytes
 * @len: number of bytes
 *
 * Context: any.
 *
 * Return: the state, not inverted.
 */
u32 rsoft_crc32(u32 crc, const void *p, size_t len);

#endif
