/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types for the pure protocol code: in the kernel the kernel's own, in user
 * space (fuzzers, unit programs) the few names that this folder uses.
 */
#ifndef RSOFT_PROTO_TYPES_H
#define RSOFT_PROTO_TYPES_H

#ifdef __KERNEL__
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#else
#include "user_types.h"
#endif

#endif
