#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The part of interop/rxe that 'make check' runs.
set -u
INTEROP=quick
export INTEROP
# shellcheck source=selftests/interop/rxe.sh
. "${HERE:?start this by selftests/run.sh}/interop/rxe.sh"
