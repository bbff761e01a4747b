# SPDX-License-Identifier: GPL-2.0
# Turns "##@ Group" and "target: ... ## text" lines of makefiles into help.
/^##@ / { group = substr($0, 5); next }
/^[a-zA-Z0-9_-]+:.*## / {
	target = $0; sub(/:.*/, "", target)
	text = $0; sub(/^.*## /, "", text)
	if (group != shown) { printf "%s%s\n", (shown ? "\n" : ""), group; shown = group }
	printf "  make %-12s %s\n", target, text
}
