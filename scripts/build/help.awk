# SPDX-License-Identifier: GPL-2.0
# Turns "##@ Group" and "target: ... ## text" lines of makefiles into help,
# groups in the order they appear, the one named "Help" last.
/^##@ / {
	group = substr($0, 5)
	if (!(group in text) && group != "Help")
		order[++n] = group
	next
}
/^[a-zA-Z0-9_-]+:.*## / {
	target = what = $0
	sub(/:.*/, "", target)
	sub(/^.*## /, "", what)
	text[group] = text[group] sprintf("  make %-15s %s\n", target, what)
}
END {
	order[++n] = "Help"
	for (i = 1; i <= n; i++)
		if (text[order[i]] != "")
			printf "%s%s\n%s", (i > 1 ? "\n" : ""), order[i], text[order[i]]
}
