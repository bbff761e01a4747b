/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether a netdev is given skbs of many packets (UDP GSO), and the device
 * attributes that show and switch it.
 */
#ifndef RSOFT_GSO_H
#define RSOFT_GSO_H

#include <linux/types.h>

struct attribute_group;
struct net_device;
struct rsoft_dev;

/* What the administrator wants, in rsoft_dev.gso. */
enum rsoft_gso {
	RSOFT_GSO_AUTO,	/* as the netdev is */
	RSOFT_GSO_ON,
	RSOFT_GSO_OFF,
};

/* Attributes of the device, in /sys/class/infiniband/DEVICE. */
extern const struct attribute_group rsoft_gso_group;

/**
 * rsoft_gso_wanted() - may a netdev be given skbs of many packets
 * @dev: device that sends
 * @ndev: netdev that the route leads to
 * @ipv6: packets are IPv6
 *
 * The iCRC covers the IPv4 ID. The kernel counts it up by one for each packet
 * that it cuts, and the iCRCs are computed for that; what a NIC does that cuts
 * by itself is not known. So it is not given IPv4 packets to cut unless the
 * administrator says so.
 *
 * Context: RCU read section.
 *
 * Return: true if it may.
 */
bool rsoft_gso_wanted(const struct rsoft_dev *dev, struct net_device *ndev,
		      bool ipv6);

#endif
