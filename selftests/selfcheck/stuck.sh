#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The test ends well, but cleaning up after it never does: 'ip' hangs.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"

t_ip_hangs()
{
	local fake=/run/ip-that-hangs
	ip netns add stuck || fail "no namespace to clean up"
	printf '#!/bin/sh\nexec sleep 1000\n' > $fake
	chmod +x $fake
	mount --bind $fake "$(readlink -f "$(command -v ip)")" || fail "no mount"
}

ktap_plan 1
ktap_run ip_hangs t_ip_hangs
ktap_finish
