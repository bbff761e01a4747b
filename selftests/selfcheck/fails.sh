#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# One of two subtests fails.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
ktap_plan 2
ktap_run good true
ktap_run bad false
ktap_finish
