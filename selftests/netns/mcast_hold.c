// SPDX-License-Identifier: GPL-2.0
/*
 * mcast_hold SIDE FAMILY COUNT: helper of netns/mcast.sh. A UD QP at end SIDE
 * (a or b) attaches to COUNT groups: 239.77.x.y or ff0e::77:x. Prints 'joined',
 * waits for a line or the end of input, detaches, prints 'left', waits for the
 * end of input. Exit status 0, or 1 with a reason.
 */
#include "vt.h"

static void group_of(int family, unsigned int i, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (family == 4) {
		gid->raw[10] = 0xff;
		gid->raw[11] = 0xff;
		gid->raw[12] = 239;
		gid->raw[13] = 77;
	} else {
		gid->raw[0] = 0xff;
		gid->raw[1] = 0x0e;
		gid->raw[13] = 0x77;
	}
	gid->raw[14] = i >> 8;
	gid->raw[15] = i;
}

static void wait_line(const char *say)
{
	char line[80];

	puts(say);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return;
}

int main(int argc, char **argv)
{
	struct vt_qp_cfg cfg = { .type = IBV_QPT_UD };
	union ibv_gid gid;
	struct vt_end end;
	struct vt_qp q;
	unsigned int i, n;
	int family;

	if (argc != 4) {
		fputs("usage: mcast_hold a|b 4|6 COUNT\n", stderr);
		return 2;
	}
	family = atoi(argv[2]);
	n = strtoul(argv[3], NULL, 0);
	vt_open(&end, *argv[1] == 'b' ? VT_B : VT_A, family);
	vt_qp_create(&end, &q, &cfg);
	VT_ASSERT(!vt_to_init(&q, 0), "%m");
	for (i = 0; i < n; i++) {
		group_of(family, i, &gid);
		VT_ASSERT(!ibv_attach_mcast(q.qp, &gid, 0), "%u: %m", i);
	}
	wait_line("joined");
	for (i = 0; i < n; i++) {
		group_of(family, i, &gid);
		VT_ASSERT(!ibv_detach_mcast(q.qp, &gid, 0), "%u: %m", i);
	}
	wait_line("left");
	vt_qp_destroy(&q);
	vt_close(&end);
	return 0;
}
