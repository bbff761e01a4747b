#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Passes.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
ktap_plan 1
ktap_run good true
ktap_finish
