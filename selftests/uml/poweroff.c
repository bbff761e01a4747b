// SPDX-License-Identifier: GPL-2.0
/*
 * Last act of init in a UML guest: power off without an init system. Linked
 * statically, so that it works whatever the test did to the mounts.
 */
#include <sys/reboot.h>
#include <unistd.h>

int main(void)
{
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
