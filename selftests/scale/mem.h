/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel uses: all that is neither free nor page cache nor some
 * program's own data. The pages of queues that are mapped into one count.
 */
#ifndef SCALE_MEM_H
#define SCALE_MEM_H

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "vt.h"

/* KB of /proc/meminfo */
static inline long mem_info(const char *name)
{
	size_t len = strlen(name);
	char line[256];
	long kb = -1;
	FILE *f = fopen("/proc/meminfo", "r");

	VT_ASSERT(f, "%m");
	while (kb < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) && line[len] == ':')
			kb = atol(line + len + 1);
	fclose(f);
	VT_ASSERT(kb >= 0, "no %s", name);
	return kb;
}

static inline long mem_used_kb(void)
{
	return mem_info("MemTotal") - mem_info("MemFree") -
	       mem_info("Cached") - mem_info("Buffers") -
	       mem_info("AnonPages");
}

static inline void mem_tell(const char *path)
{
	int fd = open(path, O_WRONLY);

	/* what a kernel does not have it need not be told */
	if (fd < 0)
		return;
	if (write(fd, "1", 1) < 0)
		vt_note("%s: %m", path);
	close(fd);
}

/* What is free but kept, in slabs and for each CPU, goes back first. */
static inline long mem_settled_kb(void)
{
	glob_t slabs;
	size_t i;

	if (!glob("/sys/kernel/slab/*/shrink", 0, NULL, &slabs))
		for (i = 0; i < slabs.gl_pathc; i++)
			mem_tell(slabs.gl_pathv[i]);
	globfree(&slabs);
	mem_tell("/proc/sys/vm/compact_memory");
	return mem_used_kb();
}

#endif /* SCALE_MEM_H */
