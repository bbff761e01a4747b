// SPDX-License-Identifier: GPL-2.0
/*
 * User contexts and protection domains. Both are names only: what belongs to a
 * context are the mappings of its rings, which the core keeps, and a PD is
 * compared by its address on each access.
 */
#include "pd.h"

#include "device.h"

int rsoft_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	if (READ_ONCE(to_rdev(ibuc->device)->gone))
		return -EIO;
	return 0;
}

void rsoft_dealloc_ucontext(struct ib_ucontext *ibuc)
{
}

/*
 * The device goes while a process has it open. Rings are ordinary pages that
 * the mappings keep, so there is nothing to take away from the process; its
 * QPs were moved to ERR before and pollers find the flushed completions.
 */
void rsoft_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

int rsoft_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

int rsoft_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}
