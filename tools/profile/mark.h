/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PROFILE_MARK_H
#define PROFILE_MARK_H

/* The mark is nopl MARK_DISP(%rax): "mark" as the displacement of a no-op. */
#define MARK_DISP 0x6b72616d

#endif
