#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Kernel consumer: everything but the messages of 1 and 2 GiB.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/kverbs/lib.sh
. "$HERE/kverbs/lib.sh"

kverbs_run 4200
exit
