// SPDX-License-Identifier: GPL-2.0
/* Tells insncount.c, outside the guest, that an interval begins. x86-64. */
#include "mark.h"

int main(void)
{
	__asm__ volatile("nopl %c0(%%rax)" : : "i" (MARK_DISP));
	return 0;
}
