// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving in a netns: UDP sockets that own port 4791 and the netfilter hooks
 * that take packets before the sockets see them. Both exist while something
 * uses the netns: a link over one of its netdevs, or a GID of a link elsewhere
 * whose netdev lives here (the child interface of a container).
 *
 * One mutex covers all netns. It nests inside rtnl (the core adds GIDs under
 * it), so nothing below it may take rtnl. Users hold the netns's struct, never
 * the netns: it can go at any time, and marks the struct dead.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "netns.h"

#include <linux/debugfs.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/udp_tunnel.h>

#include "hold.h"
#include "inroute.h"
#include "link.h"
#include "net_rx.h"
#include "path.h"
#include "proto/hdr.h"

/**
 * struct rsoft_netns - receiving in one netns
 * @ref: one of the netns itself, one of each user
 * @net: the netns, NULL once it is being dismantled
 * @users: links and GIDs
 * @hooked: netfilter hooks are registered
 * @sk4: IPv4 socket
 * @sk6: IPv6 socket, NULL on a kernel booted without IPv6
 * @close: closes what the last user left open under rtnl
 * @routes: input routes, RCU
 *
 * All but @ref and @routes is under rsoft_netns_lock.
 */
struct rsoft_netns {
	refcount_t ref;
	struct net *net;
	unsigned int users;
	bool hooked;
	struct sock *sk4;
	struct sock *sk6;
	struct work_struct close;
	struct rsoft_inroutes routes;
};

static DEFINE_MUTEX(rsoft_netns_lock);
static unsigned int rsoft_netns_id __read_mostly;
struct dentry *rsoft_debugfs;
static bool rsoft_hook_on __read_mostly = true;

/*
 * Before conntrack's confirm and ipvlan's l3s hook (both INT_MAX), after every
 * filter: the order among equal priorities depends on which was loaded first.
 */
static const struct nf_hook_ops rsoft_hooks[] = {
	{
		.hook = rsoft_inroute_hook,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_PRE_ROUTING,
		.priority = INT_MAX,
	},
	{
		.hook = rsoft_rx_hook,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = INT_MAX - 1,
	},
#if IS_ENABLED(CONFIG_IPV6)
	{
		.hook = rsoft_rx_hook,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = INT_MAX - 1,
	},
#endif
};

struct rsoft_inroutes *rsoft_netns_routes(struct net *net)
{
	struct rsoft_netns *ns =
		*(struct rsoft_netns **)net_generic(net, rsoft_netns_id);

	return &ns->routes;
}

bool rsoft_hook_enabled(void)
{
	return READ_ONCE(rsoft_hook_on);
}

static void rsoft_netns_unref(struct rsoft_netns *ns)
{
	if (refcount_dec_and_test(&ns->ref))
		kfree(ns);
}

static int rsoft_sock_open(struct net *net, int family, struct sock **res)
{
	/* RoCE packets over IPv6 may come without a UDP checksum. */
	struct udp_port_cfg port = {
		.family = family,
		.local_udp_port = htons(RSOFT_UDP_PORT),
		.ipv6_v6only = family == AF_INET6,
	};
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type = 1,
		.encap_rcv = rsoft_rx_encap,
	};
	struct socket *sock;
	int err;

	err = udp_sock_create(net, &port, &sock);
	if (err)
		return err;

	rsoft_setup_udp_tunnel_sock(net, sock->sk, &tunnel);
	/* GRO merges what comes from NICs; the hook takes it unsplit. */
	udp_set_bit(GRO_ENABLED, sock->sk);
	udp_set_bit(ACCEPT_L4, sock->sk);
	*res = sock->sk;
	return 0;
}

/*
 * Not udp_tunnel_sock_release(): on some kernels it waits for readers of the
 * socket's private data, which this one has none of. UDP frees the socket
 * itself after an RCU period.
 */
static void rsoft_sock_close(struct sock **sk)
{
	struct socket *sock;

	if (!*sk)
		return;

	sock = (*sk)->sk_socket;
	*sk = NULL;
	kernel_sock_shutdown(sock, SHUT_RDWR);
	sock_release(sock);
}

static void rsoft_netns_unhook(struct rsoft_netns *ns, struct net *net)
{
	lockdep_assert_held(&rsoft_netns_lock);
	if (ns->hooked)
		nf_unregister_net_hooks(net, rsoft_hooks,
					ARRAY_SIZE(rsoft_hooks));
	ns->hooked = false;
}

static void rsoft_netns_close(struct rsoft_netns *ns, struct net *net)
{
	lockdep_assert_held(&rsoft_netns_lock);
	rsoft_netns_unhook(ns, net);
	rsoft_inroute_purge(&ns->routes);
	rsoft_sock_close(&ns->sk6);
	rsoft_sock_close(&ns->sk4);
}

static void rsoft_netns_explain(const struct net *net, int err)
{
	if (err == -EADDRINUSE)
		pr_err_ratelimited("netns %u: UDP port %u is taken, most likely by rdma_rxe: unload it or delete its links, else see 'ss -lunp sport = :%u' there, or use another netns\n",
				   net->ns.inum, RSOFT_UDP_PORT,
				   RSOFT_UDP_PORT);
	else
		pr_err_ratelimited("netns %u: cannot receive on UDP port %u: error %d\n",
				   net->ns.inum, RSOFT_UDP_PORT, err);
}

static int rsoft_netns_open(struct rsoft_netns *ns)
{
	int err = 0;

	lockdep_assert_held(&rsoft_netns_lock);
	/* What the last user left behind may not be closed yet: use it. */
	if (ns->hooked)
		return 0;

	err = rsoft_sock_open(ns->net, AF_INET, &ns->sk4);
	if (err)
		goto err_close;

	if (ipv6_mod_enabled())
		err = rsoft_sock_open(ns->net, AF_INET6, &ns->sk6);
	if (err)
		goto err_close;

	err = nf_register_net_hooks(ns->net, rsoft_hooks,
				    ARRAY_SIZE(rsoft_hooks));
	if (err)
		goto err_close;
	ns->hooked = true;
	return 0;

err_close:
	rsoft_netns_explain(ns->net, err);
	rsoft_netns_close(ns, ns->net);
	return err;
}

struct rsoft_netns *rsoft_netns_get(struct net *net)
{
	struct rsoft_netns *ns;
	int err = -ENODEV;

	mutex_lock(&rsoft_netns_lock);
	ns = *(struct rsoft_netns **)net_generic(net, rsoft_netns_id);
	if (ns && ns->net)
		err = rsoft_netns_open(ns);
	if (!err) {
		ns->users++;
		refcount_inc(&ns->ref);
	}
	mutex_unlock(&rsoft_netns_lock);

	return err ? ERR_PTR(err) : ns;
}

void rsoft_netns_put(struct rsoft_netns *ns)
{
	mutex_lock(&rsoft_netns_lock);
	if (!--ns->users && ns->net)
		rsoft_netns_close(ns, ns->net);
	mutex_unlock(&rsoft_netns_lock);
	rsoft_netns_unref(ns);
}

void rsoft_netns_put_later(struct rsoft_netns *ns)
{
	mutex_lock(&rsoft_netns_lock);
	if (!--ns->users && ns->net)
		schedule_work(&ns->close);
	mutex_unlock(&rsoft_netns_lock);
	rsoft_netns_unref(ns);
}

static void rsoft_netns_close_work(struct work_struct *work)
{
	struct rsoft_netns *ns = container_of(work, struct rsoft_netns, close);

	mutex_lock(&rsoft_netns_lock);
	if (!ns->users && ns->net)
		rsoft_netns_close(ns, ns->net);
	mutex_unlock(&rsoft_netns_lock);
}

static int __net_init rsoft_net_init(struct net *net)
{
	struct rsoft_netns **slot = net_generic(net, rsoft_netns_id);
	struct rsoft_netns *ns;

	ns = kzalloc(sizeof(*ns), GFP_KERNEL);
	if (!ns)
		return -ENOMEM;

	refcount_set(&ns->ref, 1);
	ns->net = net;
	INIT_WORK(&ns->close, rsoft_netns_close_work);
	*slot = ns;
	return 0;
}

/* No packet may find us any more; the core waits an RCU period after this. */
static void __net_exit rsoft_net_pre_exit(struct net *net)
{
	struct rsoft_netns *ns =
		*(struct rsoft_netns **)net_generic(net, rsoft_netns_id);

	mutex_lock(&rsoft_netns_lock);
	ns->net = NULL;
	rsoft_netns_unhook(ns, net);
	mutex_unlock(&rsoft_netns_lock);
}

/*
 * Before the netdevs of the netns go (a pernet device exits before those that
 * were there earlier), so that nothing waits for the links' references.
 */
static void __net_exit rsoft_net_exit(struct net *net)
{
	struct rsoft_netns **slot = net_generic(net, rsoft_netns_id);
	struct rsoft_netns *ns = *slot;

	rsoft_link_remove_net(net);
	cancel_work_sync(&ns->close);

	mutex_lock(&rsoft_netns_lock);
	rsoft_netns_close(ns, net);
	*slot = NULL;
	mutex_unlock(&rsoft_netns_lock);
	rsoft_netns_unref(ns);
}

static struct pernet_operations rsoft_net_ops = {
	.init = rsoft_net_init,
	.pre_exit = rsoft_net_pre_exit,
	.exit = rsoft_net_exit,
	.id = &rsoft_netns_id,
	.size = sizeof(struct rsoft_netns *),
};

int rsoft_netns_init(void)
{
	int err;

	err = register_pernet_device(&rsoft_net_ops);
	if (err)
		return err;

	/* A kernel without debugfs runs with the defaults. */
	rsoft_debugfs = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_bool("hook", 0644, rsoft_debugfs, &rsoft_hook_on);
	debugfs_create_u32("hold_us", 0644, rsoft_debugfs, &rsoft_hold_us);
	return 0;
}

void rsoft_netns_exit(void)
{
	unregister_pernet_device(&rsoft_net_ops);
	/* after the last link took its own folder out of it */
	debugfs_remove_recursive(rsoft_debugfs);
	/* A hook or encap_rcv that began before has left the module. */
	synchronize_net();
}
