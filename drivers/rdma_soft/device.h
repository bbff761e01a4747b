/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One ib_device over one netdev, and its limits.
 */
#ifndef RSOFT_DEVICE_H
#define RSOFT_DEVICE_H

#include <linux/netdevice.h>
#include <linux/tracepoint-defs.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "counters.h"

struct rsoft_handle;
struct rsoft_inject;
struct rsoft_link;

/* Limits; memory is the true bound of object counts (24-bit numbers). */
#define RSOFT_MAX_QP		0xfffff0
#define RSOFT_MAX_CQ		0xfffff0
#define RSOFT_MAX_MR		0xfffff0
#define RSOFT_MAX_MW		0xfffff0
#define RSOFT_MAX_AH		0xfffff0
#define RSOFT_MAX_SRQ		0xfffff0
#define RSOFT_MAX_PD		0x7ffffc
#define RSOFT_MAX_QP_WR		65535
#define RSOFT_MAX_SRQ_WR	65535
#define RSOFT_MAX_CQE		0xfffff
#define RSOFT_MAX_SGE		32
#define RSOFT_MAX_INLINE	1024
#define RSOFT_MAX_RD_ATOMIC	128
#define RSOFT_MAX_MSG		0x80000000u
#define RSOFT_MAX_FRMR_PAGES	1024
#define RSOFT_MAX_MR_SIZE	BIT_ULL(39)
/* As RoCE NICs have it: each entry costs three files in sysfs with each link. */
#define RSOFT_GID_TABLE_LEN	256
#define RSOFT_PKEY_TABLE_LEN	1
#define RSOFT_PORT		1

/**
 * struct rsoft_dev - a device
 * @ib_dev: the core's part, first
 * @link: the link that owns it (life cycle in link.c)
 * @ndev: netdev under it; a reference is held from creation until the link's
 *        removal, after unregistration
 * @gone: set before unregistration; get_netdev returns NULL, doorbells -EIO
 * @stats: per-CPU counters; of QPs that have none of their own, and of packets
 *         that belong to no QP
 * @qp_counters: counters of QPs by id (struct rsoft_qp_counter); its lock also
 *               protects @retired
 * @retired: sums of counters of QPs that are gone
 * @port_state: last IB_PORT_* that was reported by an event
 * @speed: last known speed of the netdev, Mb/s
 * @registered: registration succeeded; deallocation tells the link
 * @gsi: handle of QP1, found by destination address instead of QPN
 * @mcasts: attachments to multicast groups; under rtnl
 * @qp_lock: protects @qps; irqsave
 * @qps: all QPs of the device
 * @stack_bytes: the QPs' bytes in the stack, each as seen last (stack.c)
 * @stack_looked_ns: when all of them were looked at
 * @inject: faults on purpose; NULL in a build without them
 * @gso: enum rsoft_gso, as set by the administrator
 * @by_ref: payload may be sent by reference, as set by the administrator
 */
struct rsoft_dev {
	struct ib_device ib_dev;
	struct rsoft_link *link;
	struct net_device *ndev;
	bool gone;
	struct rsoft_stats __percpu *stats;
	struct xarray qp_counters;
	struct rsoft_stats retired;
	enum ib_port_state port_state;
	u32 speed;
	bool registered;
	struct rsoft_handle __rcu *gsi;
	u32 mcasts;
	spinlock_t qp_lock;	/* qps */
	struct list_head qps;
	atomic_t stack_bytes;
	u64 stack_looked_ns;
	struct rsoft_inject *inject;
	u8 gso;
	bool by_ref;
};

static inline struct rsoft_dev *to_rdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct rsoft_dev, ib_dev);
}

/**
 * struct rsoft_ucontext - a process that opened the device
 * @ibuc: the core's part
 */
struct rsoft_ucontext {
	struct ib_ucontext ibuc;
};

/**
 * struct rsoft_pd - protection domain
 * @ibpd: the core's part
 */
struct rsoft_pd {
	struct ib_pd ibpd;
};

static inline struct rsoft_pd *to_rpd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct rsoft_pd, ibpd);
}

/**
 * rsoft_dev_create() - build a device over a netdev and register it
 * @name: name of the ib_device, as the user gave it
 * @ndev: netdev; a reference is taken and kept
 * @link: owner, stored before registration so that callbacks find it
 *
 * Whoever unregisters the device, the core then calls rsoft_link_dealloc() and
 * drops its own reference on the struct device. From success on, these belong
 * to @link, which releases them after unregistration: a second reference on
 * the struct device, the one on @ndev, and dev->stats.
 *
 * Context: may sleep, without rtnl.
 *
 * Return: the registered device, or ERR_PTR of an errno from the core
 * (-ENFILE if the name is taken, -ENOMEM, -EINVAL); @link is not told then.
 */
struct rsoft_dev *rsoft_dev_create(const char *name, struct net_device *ndev,
				   struct rsoft_link *link);

/**
 * rsoft_dev_port_event() - report a change of the port's state
 * @dev: device
 *
 * Reads the netdev and dispatches IB_EVENT_PORT_ACTIVE or IB_EVENT_PORT_ERR
 * if the state differs from the last one reported.
 */
void rsoft_dev_port_event(struct rsoft_dev *dev);

/**
 * rsoft_dev_port_state() - state that the netdev gives the port
 * @ndev: netdev
 *
 * Return: IB_PORT_ACTIVE if it is up and has a carrier, else IB_PORT_DOWN.
 */
enum ib_port_state rsoft_dev_port_state(const struct net_device *ndev);

/**
 * rsoft_dev_mtu() - largest path MTU that packets of a netdev carry
 * @mtu: netdev MTU in bytes
 *
 * Room is kept for IPv6, UDP, BTH, the longest extension headers and iCRC.
 *
 * Return: IB_MTU_256 .. IB_MTU_4096; IB_MTU_256 also for less.
 */
enum ib_mtu rsoft_dev_mtu(unsigned int mtu);

static inline void rsoft_count_add(struct rsoft_dev *dev,
				   enum rsoft_counter id, u64 n)
{
	this_cpu_add(dev->stats->c[id], n);
}

static inline void rsoft_count(struct rsoft_dev *dev, enum rsoft_counter id)
{
	this_cpu_inc(dev->stats->c[id]);
}

DECLARE_TRACEPOINT(rsoft_drop);

/**
 * rsoft_trace_drop() - tell the tracepoint of drops
 * @dev: device
 * @qpn: QP, 0 if the packet belongs to none
 * @why: reason
 */
void rsoft_trace_drop(const struct rsoft_dev *dev, u32 qpn,
		      enum rsoft_drop why);

/* A packet that belongs to no QP. */
static inline void rsoft_count_drop(struct rsoft_dev *dev, enum rsoft_drop why)
{
	this_cpu_inc(dev->stats->c[rsoft_drop_counter(why)]);
	if (tracepoint_enabled(rsoft_drop))
		rsoft_trace_drop(dev, 0, why);
}

#endif
