#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In a UML guest, for selfcheck.sh: speaks for 8 seconds, then says nothing more.
set -u
for i in 1 2 3 4; do
	echo "word $i"
	sleep 2
done
sleep 600
