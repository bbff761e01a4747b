// SPDX-License-Identifier: GPL-2.0
/*
 * The test module itself. Its suites may run before any init function of a
 * module would (6.1 runs them at MODULE_STATE_COMING), so it has none, and no
 * parameters either.
 */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit tests of rdma_soft");
MODULE_LICENSE("GPL");
