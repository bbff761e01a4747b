/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What `rdma resource show -dd` says about the driver's objects.
 */
#ifndef RSOFT_RESTRACK_H
#define RSOFT_RESTRACK_H

struct ib_cq;
struct ib_mr;
struct ib_qp;
struct ib_srq;
struct sk_buff;

/* ops of the device; -EMSGSIZE if the message is full */
int rsoft_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp);
int rsoft_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int rsoft_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr);
int rsoft_fill_res_srq(struct sk_buff *msg, struct ib_srq *ibsrq);

#endif
