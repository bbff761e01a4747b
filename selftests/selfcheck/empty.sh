#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs nothing and exits with success.
set -u

exit 0
