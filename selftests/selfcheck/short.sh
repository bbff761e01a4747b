#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ends before its plan is done.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
ktap_plan 2
ktap_run good true
exit 0
