// SPDX-License-Identifier: GPL-2.0
/*
 * churn ROUNDS BUILD-DIR: eight threads at once make, use, change and take away
 * what a link stands on, in the rig of lib/net.sh (VT_* variables). Each thread
 * does its own turn again and again: links_a and links_b make and delete the
 * link of their end, netdevs deletes a veth pair below its link, names renames
 * and moves a netdev below its link, netns leaves a netns with a link in it,
 * 'changes' alters MTU, address and state of the rig's netdevs, traffic runs all
 * operations, killed kills a process that uses every kind of object.
 * A round is over when each of the eight has ended one turn more; fast threads
 * are a few turns ahead. So N rounds are N turns of each thread at least, with
 * five links made and gone in each round.
 * What a thread wants may be gone already, so calls may fail; each kind of call
 * must succeed in a tenth of the rounds at least.
 *
 * Prints '# ' lines: progress each minute, with the kernel stack of a thread that
 * has had no turn for SLOW_MS; then each thread with its turns and their mean
 * time, each kind of call with how often it went well, its mean and longest time
 * in ms, and 'rounds=N longest_ms=N' in the end.
 * Exit status 0, 1 for a kind of call that hardly ever went well, 2 for usage,
 * 3 if a thread had no turn for STUCK_S seconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <pthread.h>
#include <rdma/rdma_netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vt.h"

#define STUCK_S		400
#define SAY_MS		60000
#define SLOW_MS		30000
/* Turns that a thread may be ahead of the slowest. */
#define LEAD		4
#define LEN		4096

/* --- what was done, and how long it took ---------------------------------- */

enum call {
	LINK_ADD, LINK_DEL, NETDEV_NEW, NETDEV_DEL, NETDEV_RENAME, NETDEV_MOVE,
	NETDEV_FLAGS, NETDEV_MTU, ADDR_ADD, ADDR_DEL, NETNS_NEW, NETNS_LEAVE,
	TRAFFIC, KILLED, CALLS
};

static const char * const call_names[CALLS] = {
	"link_add", "link_del", "netdev_new", "netdev_del", "netdev_rename",
	"netdev_move", "netdev_flags", "netdev_mtu", "addr_add", "addr_del",
	"netns_new", "netns_leave", "traffic", "killed",
};

static struct {
	atomic_uint good, bad, longest_ms;
	atomic_ullong total_ms;
} stat[CALLS];

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

static void done(enum call call, uint64_t start, bool good)
{
	unsigned int ms = now_ms() - start, old = stat[call].longest_ms;

	while (ms > old &&
	       !atomic_compare_exchange_weak(&stat[call].longest_ms, &old, ms))
		;
	stat[call].total_ms += ms;
	if (good)
		stat[call].good++;
	else
		stat[call].bad++;
}

/* --- netlink --------------------------------------------------------------- */

/* A request under construction, and the socket of its protocol. */
struct nl {
	int fd;
	union {
		struct nlmsghdr h;
		char buf[LEN];
	};
};

static void nl_open(struct nl *nl, int protocol)
{
	struct timeval tv = { .tv_sec = STUCK_S };

	nl->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	if (nl->fd < 0)
		err(2, "netlink socket");
	setsockopt(nl->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}

static void *nl_begin(struct nl *nl, int type, int flags, size_t head)
{
	memset(nl->buf, 0, sizeof(nl->buf));
	nl->h.nlmsg_type = type;
	nl->h.nlmsg_flags = NLM_F_REQUEST | flags;
	nl->h.nlmsg_len = NLMSG_LENGTH(head);
	return NLMSG_DATA(&nl->h);
}

static struct nlattr *nl_put(struct nl *nl, int type, const void *data,
			     size_t len)
{
	struct nlattr *a = (void *)(nl->buf + NLMSG_ALIGN(nl->h.nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	if (len)
		memcpy((char *)a + NLA_HDRLEN, data, len);
	nl->h.nlmsg_len = NLMSG_ALIGN(nl->h.nlmsg_len) + NLA_ALIGN(a->nla_len);
	return a;
}

static void nl_put_str(struct nl *nl, int type, const char *s)
{
	nl_put(nl, type, s, strlen(s) + 1);
}

static void nl_end(struct nl *nl, struct nlattr *nest)
{
	nest->nla_len = nl->buf + nl->h.nlmsg_len - (char *)nest;
}

/* Send it; 0 or an errno. */
static int nl_call(struct nl *nl)
{
	struct nlmsgerr *e;
	ssize_t n;

	nl->h.nlmsg_flags |= NLM_F_ACK;
	if (send(nl->fd, nl->buf, nl->h.nlmsg_len, 0) < 0)
		return errno;
	do {
		n = recv(nl->fd, nl->buf, sizeof(nl->buf), 0);
		if (n < (ssize_t)NLMSG_LENGTH(sizeof(*e)))
			return n < 0 ? errno : EPROTO;
	} while (nl->h.nlmsg_type != NLMSG_ERROR);
	e = NLMSG_DATA(&nl->h);
	return -e->error;
}

/* --- one thread ------------------------------------------------------------ */

struct worker {
	const char *name;
	void (*turn)(struct worker *w);
	pthread_t thread;
	atomic_int tid;
	atomic_uint turns;
	atomic_ullong last_ms, in_turns_ms;
	unsigned int seed;
	struct nl rt, rdma;
	int home;		/* netns a or b */
};

static int netns_a, netns_b;
static const char *if_a, *if_b, *dev_a, *dev_b, *build;
static atomic_bool stop;

static void nap(struct worker *w, int max_ms)
{
	usleep(rand_r(&w->seed) % (max_ms * 1000));
}

static void sockets_open(struct worker *w)
{
	nl_open(&w->rt, NETLINK_ROUTE);
	nl_open(&w->rdma, NETLINK_RDMA);
}

static void sockets_close(struct worker *w)
{
	close(w->rt.fd);
	close(w->rdma.fd);
}

/* Enter netns a or b. */
static void go(struct worker *w, int ns)
{
	if (w->home == ns)
		return;
	if (w->home >= 0)
		sockets_close(w);
	if (setns(ns, CLONE_NEWNET))
		err(2, "setns");
	w->home = ns;
	sockets_open(w);
}

static int nldev(int cmd)
{
	return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmd);
}

static void link_add(struct worker *w, const char *dev, const char *netdev)
{
	uint64_t start = now_ms();

	nl_begin(&w->rdma, nldev(RDMA_NLDEV_CMD_NEWLINK), 0, 0);
	nl_put_str(&w->rdma, RDMA_NLDEV_ATTR_DEV_NAME, dev);
	nl_put_str(&w->rdma, RDMA_NLDEV_ATTR_LINK_TYPE, "rdma_soft");
	nl_put_str(&w->rdma, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	done(LINK_ADD, start, !nl_call(&w->rdma));
}

/* The index in a message of the dump if it is about @dev, else -1. */
static int link_index_of(const struct nlmsghdr *h, const char *dev)
{
	const char *at = (const char *)h + NLMSG_HDRLEN;
	const char *end = (const char *)h + h->nlmsg_len;
	bool named = false;
	uint32_t index = 0;

	while (end - at >= NLA_HDRLEN) {
		const struct nlattr *a = (const void *)at;

		if (a->nla_type == RDMA_NLDEV_ATTR_DEV_INDEX)
			memcpy(&index, at + NLA_HDRLEN, sizeof(index));
		if (a->nla_type == RDMA_NLDEV_ATTR_DEV_NAME)
			named = !strcmp(at + NLA_HDRLEN, dev);
		at += NLA_ALIGN(a->nla_len);
	}
	return named ? (int)index : -1;
}

static int link_index(struct nl *nl, const char *dev)
{
	static __thread char buf[65536];
	struct nlmsghdr *h;
	int found = -1;
	ssize_t n;

	nl_begin(nl, nldev(RDMA_NLDEV_CMD_GET), NLM_F_DUMP, 0);
	if (send(nl->fd, nl->buf, nl->h.nlmsg_len, 0) < 0)
		return -1;
	for (;;) {
		n = recv(nl->fd, buf, sizeof(buf), 0);
		if (n <= 0)
			return -1;
		for (h = (void *)buf; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_type == NLMSG_DONE ||
			    h->nlmsg_type == NLMSG_ERROR)
				return found;
			if (found < 0)
				found = link_index_of(h, dev);
		}
	}
}

static void link_del(struct worker *w, const char *dev)
{
	uint32_t index = link_index(&w->rdma, dev);
	uint64_t start = now_ms();

	if ((int)index < 0)
		return;
	nl_begin(&w->rdma, nldev(RDMA_NLDEV_CMD_DELLINK), 0, 0);
	nl_put(&w->rdma, RDMA_NLDEV_ATTR_DEV_INDEX, &index, sizeof(index));
	done(LINK_DEL, start, !nl_call(&w->rdma));
}

static void netdev_new(struct worker *w, const char *name, const char *peer)
{
	struct nlattr *info, *data, *other;
	struct ifinfomsg ifi = {};
	uint64_t start = now_ms();

	nl_begin(&w->rt, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(ifi));
	nl_put_str(&w->rt, IFLA_IFNAME, name);
	info = nl_put(&w->rt, IFLA_LINKINFO, NULL, 0);
	nl_put_str(&w->rt, IFLA_INFO_KIND, peer ? "veth" : "dummy");
	if (peer) {
		data = nl_put(&w->rt, IFLA_INFO_DATA, NULL, 0);
		other = nl_put(&w->rt, VETH_INFO_PEER, &ifi, sizeof(ifi));
		nl_put_str(&w->rt, IFLA_IFNAME, peer);
		nl_end(&w->rt, other);
		nl_end(&w->rt, data);
	}
	nl_end(&w->rt, info);
	done(NETDEV_NEW, start, !nl_call(&w->rt));
}

/* Begin a change of a netdev that is there. */
static struct ifinfomsg *netdev(struct worker *w, int type, const char *name)
{
	struct ifinfomsg *ifi = nl_begin(&w->rt, type, 0, sizeof(*ifi));

	ifi->ifi_index = if_nametoindex(name);
	return ifi->ifi_index ? ifi : NULL;
}

static void netdev_del(struct worker *w, const char *name)
{
	uint64_t start = now_ms();

	if (netdev(w, RTM_DELLINK, name))
		done(NETDEV_DEL, start, !nl_call(&w->rt));
}

static void netdev_up(struct worker *w, const char *name, bool up)
{
	struct ifinfomsg *ifi = netdev(w, RTM_NEWLINK, name);
	uint64_t start = now_ms();

	if (!ifi)
		return;
	ifi->ifi_change = IFF_UP;
	ifi->ifi_flags = up ? IFF_UP : 0;
	done(NETDEV_FLAGS, start, !nl_call(&w->rt));
}

static void netdev_mtu(struct worker *w, const char *name, uint32_t mtu)
{
	uint64_t start = now_ms();

	if (!netdev(w, RTM_NEWLINK, name))
		return;
	nl_put(&w->rt, IFLA_MTU, &mtu, sizeof(mtu));
	done(NETDEV_MTU, start, !nl_call(&w->rt));
}

static void netdev_rename(struct worker *w, const char *name, const char *to)
{
	uint64_t start = now_ms();

	if (!netdev(w, RTM_NEWLINK, name))
		return;
	nl_put_str(&w->rt, IFLA_IFNAME, to);
	done(NETDEV_RENAME, start, !nl_call(&w->rt));
}

static void netdev_move(struct worker *w, const char *name, uint32_t ns)
{
	uint64_t start = now_ms();

	if (!netdev(w, RTM_NEWLINK, name))
		return;
	nl_put(&w->rt, IFLA_NET_NS_FD, &ns, sizeof(ns));
	done(NETDEV_MOVE, start, !nl_call(&w->rt));
}

static void addr(struct worker *w, enum call what, const char *name,
		 const char *text)
{
	bool add = what == ADDR_ADD;
	uint64_t start = now_ms();
	struct ifaddrmsg *ifa;
	struct in_addr in;

	ifa = nl_begin(&w->rt, add ? RTM_NEWADDR : RTM_DELADDR,
		       add ? NLM_F_CREATE | NLM_F_REPLACE : 0, sizeof(*ifa));
	ifa->ifa_family = AF_INET;
	ifa->ifa_prefixlen = 24;
	ifa->ifa_index = if_nametoindex(name);
	if (!ifa->ifa_index || inet_pton(AF_INET, text, &in) != 1)
		return;
	nl_put(&w->rt, IFA_LOCAL, &in, sizeof(in));
	nl_put(&w->rt, IFA_ADDRESS, &in, sizeof(in));
	done(what, start, !nl_call(&w->rt));
}

/* --- what the threads do ---------------------------------------------------- */

static void turn_links_a(struct worker *w)
{
	go(w, netns_a);
	link_add(w, dev_a, if_a);
	nap(w, 400);
	link_del(w, dev_a);
}

static void turn_links_b(struct worker *w)
{
	go(w, netns_b);
	link_add(w, dev_b, if_b);
	nap(w, 500);
	link_del(w, dev_b);
}

/* A netdev goes below its link. */
static void turn_netdevs(struct worker *w)
{
	go(w, netns_a);
	netdev_new(w, "x0", "x1");
	addr(w, ADDR_ADD, "x0", "10.40.0.1");
	netdev_up(w, "x0", true);
	netdev_up(w, "x1", true);
	link_add(w, "softx", "x0");
	nap(w, 20);
	netdev_del(w, "x0");
}

/* A netdev is renamed, and moved away, below its link. */
static void turn_names(struct worker *w)
{
	go(w, netns_b);
	netdev_new(w, "y0", NULL);
	addr(w, ADDR_ADD, "y0", "10.41.0.1");
	netdev_up(w, "y0", true);
	link_add(w, "softy", "y0");
	netdev_up(w, "y0", false);
	netdev_rename(w, "y0", "y1");
	netdev_up(w, "y1", true);
	nap(w, 20);
	if (rand_r(&w->seed) & 1)
		link_del(w, "softy");
	netdev_move(w, "y1", netns_a);
	go(w, netns_a);
	netdev_del(w, "y1");
}

/* A netns ends with its link. */
static void turn_netns(struct worker *w)
{
	uint64_t start = now_ms();

	go(w, netns_a);
	sockets_close(w);
	done(NETNS_NEW, start, !unshare(CLONE_NEWNET));
	sockets_open(w);
	netdev_new(w, "z0", NULL);
	addr(w, ADDR_ADD, "z0", "10.42.0.1");
	netdev_up(w, "z0", true);
	link_add(w, "softz", "z0");
	nap(w, 20);
	sockets_close(w);
	start = now_ms();
	w->home = -1;
	go(w, netns_a);
	done(NETNS_LEAVE, start, true);
}

static void turn_changes(struct worker *w)
{
	static const uint32_t mtu[] = { 1500, 1000, 9000 };
	unsigned int i = w->turns % 3;

	go(w, netns_a);
	netdev_mtu(w, if_a, mtu[i]);
	addr(w, ADDR_ADD, if_a, "10.43.0.1");
	nap(w, 50);
	go(w, netns_b);
	netdev_mtu(w, if_b, mtu[i]);
	nap(w, 200);
	if (!i) {
		netdev_up(w, if_b, false);
		netdev_up(w, if_b, true);
	}
	go(w, netns_a);
	addr(w, ADDR_DEL, if_a, "10.43.0.1");
}

static pid_t start(const char *path, const char *arg)
{
	char file[512];
	pid_t pid;
	int null;

	snprintf(file, sizeof(file), "%s/%s", build, path);
	pid = fork();
	if (pid)
		return pid;
	setpgid(0, 0);
	null = open("/dev/null", O_RDWR);
	dup2(null, 1);
	dup2(null, 2);
	setenv("VT_SECONDS", "0", 1);
	setenv("VT_MAX_LEN", "50000", 1);
	execl(file, file, arg, NULL);
	_exit(127);
}

/* All operations, to the end if nothing comes in between. */
static void turn_traffic(struct worker *w)
{
	static const char * const cases[] = { "rc_v4_mtu_1024", "ud_v4" };
	uint64_t begin = now_ms();
	int status = 0, i;
	pid_t pid;

	pid = start("integrity/random", cases[w->turns & 1]);
	for (i = 0; i < 30 && !waitpid(pid, &status, WNOHANG); i++)
		usleep(10000);
	if (i == 30) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	/* that it ran is what counts: links go all the time */
	done(TRAFFIC, begin, pid > 0 && (!WIFEXITED(status) ||
					 WEXITSTATUS(status) != 127));
}

/* Every kind of object in use when its process dies. */
static void turn_killed(struct worker *w)
{
	uint64_t begin;
	int status;
	pid_t pid;

	pid = start("lifecycle/objects", "2");
	nap(w, 500);
	begin = now_ms();
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	done(KILLED, begin, WIFSIGNALED(status));
}

static struct worker workers[] = {
	{ "links_a", turn_links_a },
	{ "links_b", turn_links_b },
	{ "netdevs", turn_netdevs },
	{ "names", turn_names },
	{ "netns", turn_netns },
	{ "changes", turn_changes },
	{ "traffic", turn_traffic },
	{ "killed", turn_killed },
};

#define WORKERS VT_ARRAY_SIZE(workers)

static unsigned int slowest(void)
{
	unsigned int i, n = UINT32_MAX;

	for (i = 0; i < WORKERS; i++)
		if (workers[i].turns < n)
			n = workers[i].turns;
	return n;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t begin;

	w->tid = gettid();
	w->home = -1;
	go(w, netns_a);
	while (!stop) {
		/* processes start slowly in an emulated machine */
		if (w->turns > slowest() + LEAD) {
			usleep(20000);
			w->last_ms = now_ms();
			continue;
		}
		begin = now_ms();
		w->turn(w);
		w->turns++;
		w->last_ms = now_ms();
		w->in_turns_ms += w->last_ms - begin;
		/* one kernel thread more for the others */
		sched_yield();
	}
	return NULL;
}

/* --- all of it --------------------------------------------------------------- */

static const char *env(const char *name)
{
	const char *v = getenv(name);

	if (!v)
		errx(2, "%s is not set: run it in the rig of lib/net.sh", name);
	return v;
}

static int env_netns(const char *name)
{
	int fd = open(env(name), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		err(2, "%s", env(name));
	return fd;
}

/* Where a thread is that has had no turn for long: in the kernel, or napping. */
static void say_where(const struct worker *w)
{
	char path[64], line[128];
	FILE *f;

	printf("# thread %s: no turn for %llu s\n", w->name,
	       (now_ms() - w->last_ms) / 1000);
	snprintf(path, sizeof(path), "/proc/self/task/%d/stack", w->tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		printf("#   %s", line);
	if (f)
		fclose(f);
}

static void say_progress(unsigned int rounds)
{
	unsigned int i;

	printf("# %u rounds\n", rounds);
	for (i = 0; i < WORKERS; i++)
		if (now_ms() > workers[i].last_ms + SLOW_MS)
			say_where(&workers[i]);
	fflush(stdout);
}

/* Rounds that are over. Ends the program if a thread is stuck. */
static unsigned int rounds_over(void)
{
	unsigned int i;

	for (i = 0; i < WORKERS; i++) {
		if (now_ms() > workers[i].last_ms + STUCK_S * 1000) {
			printf("# thread %s is stuck\n", workers[i].name);
			fflush(stdout);
			_exit(3);
		}
	}
	return slowest();
}

static int report(unsigned int rounds)
{
	unsigned int i, longest = 0;
	int rc = 0;

	for (i = 0; i < WORKERS; i++)
		printf("# thread %s: %u turns of %llu ms\n", workers[i].name,
		       workers[i].turns,
		       workers[i].in_turns_ms / (workers[i].turns ?: 1));
	for (i = 0; i < CALLS; i++) {
		bool rare = stat[i].good < (rounds + 9) / 10;
		unsigned int n = stat[i].good + stat[i].bad;

		printf("# %s: %u of %u, mean %llu ms, longest %u ms%s\n",
		       call_names[i], stat[i].good, n,
		       stat[i].total_ms / (n ?: 1), stat[i].longest_ms,
		       rare ? " TOO RARE" : "");
		if (rare)
			rc = 1;
		if (i != TRAFFIC && stat[i].longest_ms > longest)
			longest = stat[i].longest_ms;
	}
	printf("rounds=%u longest_ms=%u\n", rounds, longest);
	return rc;
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc == 3 ? atoi(argv[1]) : 0, i, n;
	uint64_t said = now_ms();

	if (!rounds) {
		fputs("usage: churn ROUNDS BUILD-DIR\n", stderr);
		return 2;
	}
	build = argv[2];
	netns_a = env_netns("VT_NS_A");
	netns_b = env_netns("VT_NS_B");
	if_a = env("VT_IF_A");
	if_b = env("VT_IF_B");
	dev_a = env("VT_DEV_A");
	dev_b = env("VT_DEV_B");
	for (i = 0; i < WORKERS; i++) {
		workers[i].seed = i + 1;
		workers[i].last_ms = now_ms();
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	while ((n = rounds_over()) < rounds) {
		if (now_ms() > said + SAY_MS) {
			said = now_ms();
			say_progress(n);
		}
		usleep(100000);
	}
	stop = true;
	/* each thread ends its turn, or is stuck */
	for (i = 0; i < WORKERS; i++) {
		workers[i].last_ms = now_ms();
		while (pthread_tryjoin_np(workers[i].thread, NULL)) {
			rounds_over();
			usleep(100000);
		}
	}
	return report(n);
}
