/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The header's name on newer kernels. This folder is on the include path only
 * where the kernel has no such file.
 */
#ifndef _RDMA_SOFT_COMPAT_LINUX_UNALIGNED_H
#define _RDMA_SOFT_COMPAT_LINUX_UNALIGNED_H

#include <asm/unaligned.h>

#endif /* _RDMA_SOFT_COMPAT_LINUX_UNALIGNED_H */
