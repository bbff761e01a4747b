#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The test ends well, but what comes after it never does: the runner stands still.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"

t_stop_the_runner()
{
	kill -STOP "$(pgrep -o -f selftests/run.sh)"
}

ktap_plan 1
ktap_run stop_the_runner t_stop_the_runner
ktap_finish
