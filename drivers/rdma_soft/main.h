/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module.
 */
#ifndef RSOFT_MAIN_H
#define RSOFT_MAIN_H

/* Version of the driver, and the same as the devices' firmware version. */
#define RSOFT_VERSION	"0.1.0"
#define RSOFT_FW_VER	(0ull << 32 | 1u << 16 | 0u)

#endif
