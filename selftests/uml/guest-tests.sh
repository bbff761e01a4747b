#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Guest side of tests.sh: runs selftests/run.sh in a UML guest. $TESTS is a
# comma-separated list of tests, $MODULE the module, $SUBTEST a name pattern.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# The root file system is the host's, read-only.
mkdir -p /run/tmp
export TMPDIR=/run/tmp MODULE KTAP_PATTERN=${SUBTEST:-} OUT=/run/out
IFS=, read -ra tests <<<"$TESTS"
"$here/../run.sh" "${tests[@]}"
