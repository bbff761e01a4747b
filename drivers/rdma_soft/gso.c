// SPDX-License-Identifier: GPL-2.0
/*
 * The decision about UDP GSO, and its attributes: "gso" is the switch, "gso_used"
 * says what came of it for the link's netdev. Beside them "payload_by_reference",
 * off unless switched on: see rsoft_tx_alike().
 */
#include "gso.h"

#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "device.h"
#include "path.h"

static const char * const gso_names[] = {
	[RSOFT_GSO_AUTO] = "auto",
	[RSOFT_GSO_ON] = "on",
	[RSOFT_GSO_OFF] = "off",
};

static int gso_is_nic(struct net_device *ndev, struct netdev_nested_priv *priv)
{
	return ndev->dev.parent && ndev->features & NETIF_F_GSO_UDP_L4;
}

/*
 * Netdevs of virtual kinds have no parent and either pass an skb of many packets
 * on whole or let the kernel cut it. What lies behind the far end of a veth is
 * not seen.
 */
static bool gso_hits_nic(struct net_device *ndev)
{
	struct netdev_nested_priv priv = {};

	return gso_is_nic(ndev, &priv) ||
	       netdev_walk_all_lower_dev_rcu(ndev, gso_is_nic, &priv);
}

bool rsoft_gso_wanted(const struct rsoft_dev *dev, struct net_device *ndev,
		      bool ipv6)
{
	switch (READ_ONCE(dev->gso)) {
	case RSOFT_GSO_ON:
		return true;
	case RSOFT_GSO_OFF:
		return false;
	default:
		return ipv6 || !gso_hits_nic(ndev);
	}
}

static struct rsoft_dev *gso_dev(struct device *d)
{
	return rdma_device_to_drv_device(d, struct rsoft_dev, ib_dev);
}

static ssize_t gso_show(struct device *d, struct device_attribute *attr,
			char *buf)
{
	u8 now = READ_ONCE(gso_dev(d)->gso);
	int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(gso_names); i++)
		n += sysfs_emit_at(buf, n, i == now ? "%s[%s]" : "%s%s",
				   i ? " " : "", gso_names[i]);
	return n + sysfs_emit_at(buf, n, "\n");
}

static ssize_t gso_store(struct device *d, struct device_attribute *attr,
			 const char *buf, size_t count)
{
	int i = sysfs_match_string(gso_names, buf);

	if (i < 0)
		return i;
	WRITE_ONCE(gso_dev(d)->gso, i);
	/* paths decide again */
	rsoft_path_flush();
	return count;
}
static DEVICE_ATTR_RW(gso);

static ssize_t gso_used_show(struct device *d, struct device_attribute *attr,
			     char *buf)
{
	struct rsoft_dev *dev = gso_dev(d);
	bool v4, v6;

	rcu_read_lock();
	v4 = rsoft_gso_wanted(dev, dev->ndev, false);
	v6 = rsoft_gso_wanted(dev, dev->ndev, true);
	rcu_read_unlock();
	return sysfs_emit(buf, "ipv4 %s ipv6 %s\n", v4 ? "yes" : "no",
			  v6 ? "yes" : "no");
}
static DEVICE_ATTR_RO(gso_used);

static ssize_t payload_by_reference_show(struct device *d,
					 struct device_attribute *attr,
					 char *buf)
{
	return sysfs_emit(buf, "%s\n",
			  READ_ONCE(gso_dev(d)->by_ref) ? "on" : "off");
}

static ssize_t payload_by_reference_store(struct device *d,
					  struct device_attribute *attr,
					  const char *buf, size_t count)
{
	bool on;
	int err;

	err = kstrtobool(buf, &on);
	if (err)
		return err;
	WRITE_ONCE(gso_dev(d)->by_ref, on);
	return count;
}
static DEVICE_ATTR_RW(payload_by_reference);

static struct attribute *gso_attrs[] = {
	&dev_attr_gso.attr,
	&dev_attr_gso_used.attr,
	&dev_attr_payload_by_reference.attr,
	NULL,
};

const struct attribute_group rsoft_gso_group = {
	.attrs = gso_attrs,
};
