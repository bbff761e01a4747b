#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Skips something that skips.txt does not list.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
ktap_plan 1
ktap_run unlisted skip 'for no reason'
ktap_finish
