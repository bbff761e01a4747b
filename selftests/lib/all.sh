# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What a shell test sources: the libraries. TREE and HERE come from run.sh.

set -u
: "${HERE:?start tests by selftests/run.sh}"
# shellcheck source=selftests/lib/ktap.sh
. "$HERE/lib/ktap.sh"
# shellcheck source=selftests/lib/rdma.sh
. "$HERE/lib/rdma.sh"
# shellcheck source=selftests/lib/net.sh
. "$HERE/lib/net.sh"
# shellcheck source=selftests/lib/cm.sh
. "$HERE/lib/cm.sh"
