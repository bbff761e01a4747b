/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User contexts and protection domains.
 */
#ifndef RSOFT_PD_H
#define RSOFT_PD_H

#include <rdma/ib_verbs.h>

/* ops of the device */
int rsoft_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
void rsoft_dealloc_ucontext(struct ib_ucontext *ibuc);
void rsoft_disassociate_ucontext(struct ib_ucontext *ibuc);
int rsoft_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int rsoft_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

#endif
