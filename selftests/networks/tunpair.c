// SPDX-License-Identifier: GPL-2.0
/*
 * tunpair NETNS IF NETNS IF: a tun netdev in each namespace; what is sent on one
 * is received on the other, until the process is killed. Exit status 1 with a
 * reason if they cannot be made.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int make_tun(const char *netns, const char *name)
{
	struct ifreq ifr = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int ns, fd;

	ns = open(netns, O_RDONLY);
	if (ns < 0 || setns(ns, CLONE_NEWNET))
		err(1, "%s", netns);
	close(ns);
	fd = open("/dev/net/tun", O_RDWR);
	if (fd < 0)
		err(1, "/dev/net/tun");
	strncpy(ifr.ifr_name, name, IFNAMSIZ - 1);
	if (ioctl(fd, TUNSETIFF, &ifr))
		err(1, "%s", name);
	return fd;
}

int main(int argc, char **argv)
{
	static char buf[65536];
	struct pollfd p[2];
	ssize_t n;
	int i;

	if (argc != 5) {
		fputs("usage: tunpair NETNS IF NETNS IF\n", stderr);
		return 2;
	}
	for (i = 0; i < 2; i++) {
		p[i].fd = make_tun(argv[1 + 2 * i], argv[2 + 2 * i]);
		p[i].events = POLLIN;
	}
	while (poll(p, 2, -1) > 0) {
		for (i = 0; i < 2; i++) {
			if (!(p[i].revents & POLLIN))
				continue;
			n = read(p[i].fd, buf, sizeof(buf));
			/* the other end may be down: then it is lost */
			if (n > 0 && write(p[!i].fd, buf, n) != n)
				continue;
		}
	}
	return 0;
}
