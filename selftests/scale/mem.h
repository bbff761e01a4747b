/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel uses: all that is neither free nor page cache nor this
 * program's own data. The pages of queues that are mapped here count.
 */
#ifndef SCALE_MEM_H
#define SCALE_MEM_H

#include "vt.h"

/* KB behind "NAME:" in a file of /proc */
static inline long mem_field(const char *path, const char *name)
{
	size_t len = strlen(name);
	char line[256];
	long kb = -1;
	FILE *f = fopen(path, "r");

	VT_ASSERT(f, "%s: %m", path);
	while (kb < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) && line[len] == ':')
			kb = atol(line + len + 1);
	fclose(f);
	VT_ASSERT(kb >= 0, "%s: no %s", path, name);
	return kb;
}

static inline long mem_info(const char *name)
{
	return mem_field("/proc/meminfo", name);
}

static inline long mem_used_kb(void)
{
	return mem_info("MemTotal") - mem_info("MemFree") -
	       mem_info("Cached") - mem_info("Buffers") -
	       mem_field("/proc/self/status", "RssAnon");
}

#endif /* SCALE_MEM_H */
