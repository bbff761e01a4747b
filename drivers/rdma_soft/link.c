// SPDX-License-Identifier: GPL-2.0
/*
 * Life cycle of links.
 *
 * A link is a struct of ours with its own references. It outlives its
 * ib_device's registration, because anyone may end that: `rdma link del` and
 * the removal of another driver with our driver id (both inside the core), the
 * end of the netdev or of its netns, our own exit. All of them only ask; the
 * removal itself is one work item per link, queued once, in a workqueue of our
 * own:
 *
 *	mark the device gone, flush user QPs
 *	ib_unregister_device()		(a fence if someone else was first)
 *	free the UDP port, leave the list
 *	wait for RCU readers, release counters, netdev and ib_device
 *
 * A link that is still being built is removed by its builder. Why not the
 * core's queued unregistration: it must be fenced with ib_unregister_driver(),
 * which would take rdma_rxe's devices away too.
 *
 * User QPs must be flushed before ib_uverbs tears the contexts down, whoever
 * unregisters. The core offers no driver callback there (7.x has one for
 * `rdma link del` only), but removes its clients in the reverse order of their
 * registration: so the driver is a client of the core as well, registered
 * after ib_uverbs, and its remove callback is that place.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "link.h"

#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <rdma/rdma_netlink.h>

#include "device.h"
#include "inject.h"
#include "mcast.h"
#include "netns.h"
#include "path.h"
#include "qp.h"

/* IPv4, UDP, BTH, RETH, a path MTU of 256, iCRC. */
#define RSOFT_LINK_MIN_MTU (20 + 8 + 12 + 16 + 256 + 4)

/* Protects membership, state and doomed; RCU readers see membership. */
static DEFINE_SPINLOCK(rsoft_links_lock);
static LIST_HEAD(rsoft_links);

/*
 * Not WQ_MEM_RECLAIM: removal flushes the core's own queues, which are not.
 */
static struct workqueue_struct *rsoft_link_wq;

static void rsoft_link_put(struct rsoft_link *link)
{
	if (refcount_dec_and_test(&link->ref))
		kfree_rcu(link, rcu);
}

static struct rsoft_link *rsoft_link_find(const struct net_device *ndev)
{
	struct rsoft_link *link;

	lockdep_assert_held(&rsoft_links_lock);
	list_for_each_entry(link, &rsoft_links, node)
		if (link->ndev == ndev)
			return link;
	return NULL;
}

struct rsoft_dev *rsoft_link_dev_rcu(const struct net_device *ndev)
{
	struct rsoft_link *link;

	list_for_each_entry_rcu(link, &rsoft_links, node)
		if (link->ndev == ndev)
			return READ_ONCE(link->dev);
	return NULL;
}

/* Ask for removal, once; any number of askers at the same time. */
static void rsoft_link_doom_locked(struct rsoft_link *link)
{
	lockdep_assert_held(&rsoft_links_lock);
	link->doomed = true;
	if (link->state != RSOFT_LINK_LIVE)
		return;

	link->state = RSOFT_LINK_DYING;
	queue_work(rsoft_link_wq, &link->work);
}

static void rsoft_link_doom(struct rsoft_link *link)
{
	spin_lock(&rsoft_links_lock);
	rsoft_link_doom_locked(link);
	spin_unlock(&rsoft_links_lock);
}

/* Whoever is first, frees the port: it is free when `rdma link del` returns. */
static void rsoft_link_release_ns(struct rsoft_link *link)
{
	struct rsoft_netns *ns = xchg(&link->ns, NULL);

	if (ns)
		rsoft_netns_put(ns);
}

static void rsoft_link_unlist(struct rsoft_link *link)
{
	spin_lock(&rsoft_links_lock);
	list_del_rcu(&link->node);
	spin_unlock(&rsoft_links_lock);
}

static void rsoft_link_quiesce(struct rsoft_dev *dev)
{
	if (READ_ONCE(dev->gone))
		return;

	WRITE_ONCE(dev->gone, true);
	rsoft_qp_flush_users(dev);
}

static void rsoft_link_remove(struct work_struct *work)
{
	struct rsoft_link *link = container_of(work, struct rsoft_link, work);
	struct rsoft_dev *dev = link->dev;

	rsoft_inject_stop(dev);
	rsoft_link_quiesce(dev);
	ib_unregister_device(&dev->ib_dev);
	rsoft_link_release_ns(link);

	rsoft_link_unlist(link);
	/* The receive path found the device by address or in the list. */
	synchronize_rcu();
	rsoft_inject_destroy(dev);
	free_percpu(dev->stats);
	dev_put(link->ndev);
	put_device(&dev->ib_dev.dev);

	complete_all(&link->done);
	rsoft_link_put(link);
}

void rsoft_link_dealloc(struct ib_device *ibdev)
{
	struct rsoft_link *link = to_rdev(ibdev)->link;

	rsoft_link_release_ns(link);
	rsoft_link_doom(link);
}

void rsoft_link_remove_net(const struct net *net)
{
	struct rsoft_link *link, *found;

	do {
		found = NULL;
		spin_lock(&rsoft_links_lock);
		list_for_each_entry(link, &rsoft_links, node) {
			if (link->net != net)
				continue;
			rsoft_link_doom_locked(link);
			found = link;
		}
		if (found)
			refcount_inc(&found->ref);
		spin_unlock(&rsoft_links_lock);

		if (found) {
			wait_for_completion(&found->done);
			rsoft_link_put(found);
		}
	} while (found);
}

static int rsoft_link_check(const struct net_device *ndev)
{
	ASSERT_RTNL();

	if (ndev->reg_state != NETREG_REGISTERED)
		return -ENODEV;

	/*
	 * The core takes the addresses of a VLAN to the device over its lower
	 * netdev, and to that one only.
	 */
	if (is_vlan_dev(ndev)) {
		pr_warn_ratelimited("%s: no link over it: a link over %s serves the addresses of its VLANs too\n",
				    netdev_name(ndev),
				    netdev_name(vlan_dev_real_dev(ndev)));
		return -EOPNOTSUPP;
	}

	if (!__in_dev_get_rtnl(ndev) && !__in6_dev_get(ndev)) {
		pr_warn_ratelimited("%s: no link over it: the device carries no IP\n",
				    netdev_name(ndev));
		return -EOPNOTSUPP;
	}

	if (ndev->mtu < RSOFT_LINK_MIN_MTU) {
		pr_warn_ratelimited("%s: no link over it: MTU %u is too small, set %u or more\n",
				    netdev_name(ndev), ndev->mtu,
				    RSOFT_LINK_MIN_MTU);
		return -EINVAL;
	}
	return 0;
}

/*
 * Enter a link into the list, unless its netdev has one. One that is on its
 * way out is returned in @old, held, to be waited for.
 */
static int rsoft_link_list(struct rsoft_link *link, struct rsoft_link **old)
{
	struct rsoft_link *other;
	int err = 0;

	spin_lock(&rsoft_links_lock);
	other = rsoft_link_find(link->ndev);
	if (!other) {
		list_add_rcu(&link->node, &rsoft_links);
	} else if (other->doomed) {
		refcount_inc(&other->ref);
		*old = other;
		err = -EAGAIN;
	} else {
		err = -EEXIST;
	}
	spin_unlock(&rsoft_links_lock);
	return err;
}

/*
 * Under rtnl the netdev neither unregisters nor changes its netns: the
 * notifier either finds the link in the list or comes too early for it.
 */
static int rsoft_link_enter(struct rsoft_link *link, struct net_device *ndev,
			    struct net **net)
{
	struct rsoft_link *old = NULL;
	int err;

	do {
		rtnl_lock();
		err = rsoft_link_check(ndev);
		if (!err) {
			link->ndev = ndev;
			link->net = dev_net(ndev);
			err = rsoft_link_list(link, &old);
		}
		if (!err)
			*net = get_net(dev_net(ndev));
		rtnl_unlock();

		if (err == -EAGAIN) {
			wait_for_completion(&old->done);
			rsoft_link_put(old);
		}
	} while (err == -EAGAIN);
	return err;
}

static struct rsoft_link *rsoft_link_alloc(void)
{
	struct rsoft_link *link = kzalloc(sizeof(*link), GFP_KERNEL);

	if (!link)
		return NULL;

	refcount_set(&link->ref, 1);
	link->state = RSOFT_LINK_NEW;
	INIT_WORK(&link->work, rsoft_link_remove);
	init_completion(&link->done);
	return link;
}

static void rsoft_link_go_live(struct rsoft_link *link, struct rsoft_dev *dev)
{
	spin_lock(&rsoft_links_lock);
	WRITE_ONCE(link->dev, dev);
	link->state = RSOFT_LINK_LIVE;
	if (link->doomed)
		rsoft_link_doom_locked(link);
	spin_unlock(&rsoft_links_lock);
}

/* The device of a live link, kept registered until ib_device_put(). */
static struct rsoft_dev *rsoft_link_get_dev(const struct net_device *ndev)
{
	struct rsoft_dev *dev = NULL;
	struct rsoft_link *link;

	spin_lock(&rsoft_links_lock);
	link = rsoft_link_find(ndev);
	if (link && link->state == RSOFT_LINK_LIVE &&
	    ib_device_try_get(&link->dev->ib_dev))
		dev = link->dev;
	spin_unlock(&rsoft_links_lock);
	return dev;
}

static void rsoft_link_port_event(const struct net_device *ndev)
{
	struct rsoft_dev *dev = rsoft_link_get_dev(ndev);

	if (!dev)
		return;

	rsoft_dev_port_event(dev);
	ib_device_put(&dev->ib_dev);
}

static int rsoft_newlink(const char *name, struct net_device *ndev)
{
	struct rsoft_link *link;
	struct rsoft_netns *ns;
	struct rsoft_dev *dev;
	struct net *net;
	int err;

	link = rsoft_link_alloc();
	if (!link)
		return -ENOMEM;

	err = rsoft_link_enter(link, ndev, &net);
	if (err)
		goto err_put;

	ns = rsoft_netns_get(net);
	put_net(net);
	err = PTR_ERR_OR_ZERO(ns);
	if (err)
		goto err_unlist;
	link->ns = ns;

	dev = rsoft_dev_create(name, ndev, link);
	err = PTR_ERR_OR_ZERO(dev);
	if (err)
		goto err_release_ns;

	rsoft_link_go_live(link, dev);
	/* what the notifier could not tell a link that was not live */
	rsoft_link_port_event(ndev);
	return 0;

err_release_ns:
	rsoft_link_release_ns(link);
err_unlist:
	rsoft_link_unlist(link);
	complete_all(&link->done);
err_put:
	rsoft_link_put(link);
	/* The core's word for a name that is taken says something else. */
	return err == -ENFILE ? -EEXIST : err;
}

static struct rdma_link_ops rsoft_link_ops = {
	.type = "rdma_soft",
	.newlink = rsoft_newlink,
};

static void rsoft_link_ndev_gone(const struct net_device *ndev)
{
	struct rsoft_link *link;

	spin_lock(&rsoft_links_lock);
	link = rsoft_link_find(ndev);
	if (link)
		rsoft_link_doom_locked(link);
	spin_unlock(&rsoft_links_lock);
}

/*
 * Under rtnl: nothing here waits. A new MAC address needs nothing: the core
 * replaces the GID that is made from it, and the node GUID stays.
 */
static int rsoft_netdev_event(struct notifier_block *nb, unsigned long event,
			      void *ptr)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(ptr);

	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		rsoft_link_port_event(ndev);
		break;
	case NETDEV_CHANGEMTU:
	case NETDEV_FEAT_CHANGE:
	case NETDEV_CHANGEUPPER:
		rsoft_path_flush();
		break;
	case NETDEV_UNREGISTER:
		rsoft_link_ndev_gone(ndev);
		rsoft_mcast_ndev_gone(ndev);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block rsoft_netdev_nb = {
	.notifier_call = rsoft_netdev_event,
};

/* For its removal alone. */
static int rsoft_client_add(struct ib_device *ibdev)
{
	if (ibdev->ops.owner != THIS_MODULE)
		return -EOPNOTSUPP;
	return 0;
}

static void rsoft_client_remove(struct ib_device *ibdev, void *data)
{
	rsoft_link_quiesce(to_rdev(ibdev));
}

static struct ib_client rsoft_client = {
	.name = KBUILD_MODNAME,
	.add = rsoft_client_add,
	.remove = rsoft_client_remove,
};

int rsoft_link_init(void)
{
	int err;

	rsoft_link_wq = alloc_workqueue("rdma_soft_link", WQ_UNBOUND, 0);
	if (!rsoft_link_wq)
		return -ENOMEM;

	err = ib_register_client(&rsoft_client);
	if (err)
		goto err_wq;
	err = rsoft_netns_init();
	if (err)
		goto err_client;
	err = register_netdevice_notifier(&rsoft_netdev_nb);
	if (err)
		goto err_netns;
	rdma_link_register(&rsoft_link_ops);
	return 0;

err_netns:
	rsoft_netns_exit();
err_client:
	ib_unregister_client(&rsoft_client);
err_wq:
	destroy_workqueue(rsoft_link_wq);
	return err;
}

void rsoft_link_exit(void)
{
	/* Waits for builders, so that every link is live or dying. */
	rdma_link_unregister(&rsoft_link_ops);
	/* The core says UNREGISTER to a notifier that leaves: all links go. */
	unregister_netdevice_notifier(&rsoft_netdev_nb);
	/* Waits for the links of every netns. */
	rsoft_netns_exit();
	destroy_workqueue(rsoft_link_wq);
	WARN_ON_ONCE(!list_empty(&rsoft_links));
	ib_unregister_client(&rsoft_client);
}
