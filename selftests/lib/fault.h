/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fault: the driver's injector (Documentation/faults.rst) and its counters, as
 * tests need them. Rules belong to an end; what goes wrong fails the test.
 */
#ifndef FAULT_H
#define FAULT_H

#include "vt.h"

/* One line of "injected". */
struct fault_hit {
	unsigned int rule;
	char action[16];
	char dir[4];
	uint32_t qpn, psn, opcode;
	char name[24];
};

/* Add a rule, printf-style; it is refused: the test fails. */
__attribute__((format(printf, 2, 3)))
void fault_add(const struct vt_end *end, const char *fmt, ...);
/* Write a rule; 0 or the errno with which it was refused. */
int fault_try(const struct vt_end *end, const char *rule);
/* Last error line of "faults"; "" if there is none. */
void fault_error(const struct vt_end *end, char *buf, size_t size);
/* Remove all rules of an end, empty its list. */
void fault_clear(const struct vt_end *end);
/* Sum of the hits of all rules but "note" ones. */
unsigned int fault_hits(const struct vt_end *end);
/* The list, at most max lines; returns their number. */
size_t fault_list(const struct vt_end *end, struct fault_hit *hits, size_t max);
/* Print the list of both ends, a few lines of each. */
void fault_print(const struct vt_end *end, size_t max);
/* A counter of "rdma statistic", fresh. */
uint64_t fault_counter(const struct vt_end *end, const char *name);

#endif
