// SPDX-License-Identifier: GPL-2.0
/* fault: see fault.h. */

#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "fault.h"

#define DEBUGFS "/sys/kernel/debug/rdma_soft"
#define COUNTERS "/sys/class/infiniband/%s/ports/1/hw_counters/%s"

static void fault_path(const struct vt_end *end, const char *file, char *path,
		       size_t size)
{
	snprintf(path, size, DEBUGFS "/%s/%s",
		 ibv_get_device_name(end->ctx->device), file);
}

static FILE *fault_open(const struct vt_end *end, const char *file)
{
	char path[256];
	FILE *f;

	fault_path(end, file, path, sizeof(path));
	f = fopen(path, "r");
	VT_ASSERT(f, "%s: %m", path);
	return f;
}

int fault_try(const struct vt_end *end, const char *rule)
{
	size_t len = strlen(rule);
	char path[256];
	int fd, rc = 0;

	fault_path(end, "faults", path, sizeof(path));
	fd = open(path, O_WRONLY);
	VT_ASSERT(fd >= 0, "%s: %m", path);
	if (write(fd, rule, len) != (ssize_t)len)
		rc = errno;
	close(fd);
	return rc;
}

void fault_add(const struct vt_end *end, const char *fmt, ...)
{
	char rule[256];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	vsnprintf(rule, sizeof(rule), fmt, ap);
	va_end(ap);
	rc = fault_try(end, rule);
	VT_ASSERT(!rc, "rule '%s': %s", rule, strerror(rc));
}

void fault_error(const struct vt_end *end, char *buf, size_t size)
{
	FILE *f = fault_open(end, "faults");
	char line[256];

	*buf = '\0';
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "# error: ", 9))
			snprintf(buf, size, "%s", line + 9);
	fclose(f);
}

void fault_clear(const struct vt_end *end)
{
	fault_add(end, "clear");
}

unsigned int fault_hits(const struct vt_end *end)
{
	FILE *f = fault_open(end, "faults");
	unsigned int hits, sum = 0;
	char line[256], *p;

	while (fgets(line, sizeof(line), f)) {
		p = strstr(line, " hits=");
		if (p && !strstr(line, " note ") &&
		    sscanf(p, " hits=%u", &hits) == 1)
			sum += hits;
	}
	fclose(f);
	return sum;
}

size_t fault_list(const struct vt_end *end, struct fault_hit *hits, size_t max)
{
	FILE *f = fault_open(end, "injected");
	char line[256];
	size_t n = 0;
	int got;

	while (n < max && fgets(line, sizeof(line), f)) {
		struct fault_hit *h = &hits[n];

		if (*line == '#')
			continue;
		got = sscanf(line, "%u %15s %3s %x %x %x %23s", &h->rule,
			     h->action, h->dir, &h->qpn, &h->psn, &h->opcode,
			     h->name);
		VT_ASSERT(got == 7, "'%s'", line);
		n++;
	}
	fclose(f);
	return n;
}

void fault_print(const struct vt_end *end, size_t max)
{
	struct fault_hit hits[64];
	size_t i, n;

	n = fault_list(end, hits, max < 64 ? max : 64);
	for (i = 0; i < n; i++)
		vt_note("  %c: %s %s qpn 0x%06x psn 0x%06x %s",
			end->side == VT_A ? 'A' : 'B', hits[i].action,
			hits[i].dir, hits[i].qpn, hits[i].psn, hits[i].name);
}

uint64_t fault_counter(const struct vt_end *end, const char *name)
{
	const char *dev = ibv_get_device_name(end->ctx->device);
	unsigned long long value = 0;
	char path[256];
	FILE *f;
	int got;

	/* the core keeps old values, for a tick even when told not to */
	snprintf(path, sizeof(path), COUNTERS, dev, "lifespan");
	f = fopen(path, "w");
	VT_ASSERT(f, "%s: %m", path);
	fprintf(f, "0\n");
	fclose(f);
	usleep(21000);
	snprintf(path, sizeof(path), COUNTERS, dev, name);
	f = fopen(path, "r");
	VT_ASSERT(f, "%s: %m", path);
	got = fscanf(f, "%llu", &value);
	VT_ASSERT(got == 1, "%s", path);
	fclose(f);
	return value;
}
