# SPDX-License-Identifier: GPL-2.0
#
# The demo's table from results.tsv (see guest-demo.sh); how: the VM's kind. Of several rounds the best counts.

BEGIN {
	FS = "\t"
	title["ibv_devinfo"] = "ibv_devinfo"
	title["rping"] = "rping, 20 x 4 KiB"
	title["ib_write_bw"] = "ib_write_bw 64 KiB"
	title["ib_read_bw"] = "ib_read_bw 64 KiB"
	title["ib_send_lat"] = "ib_send_lat -e 8 B"
	title["ibv_ud_pingpong"] = "ibv_ud_pingpong 1 KiB"
	title["ib_atomic_lat"] = "ib_atomic_lat fetch+add"
	title["ib_atomic_bw"] = "ib_atomic_bw cmp+swap"
}
{
	k = $1 SUBSEP $2
	if (!($2 in seen)) {
		seen[$2] = 1
		order[++n] = $2
	}
	if ($3 != "ok") {
		bad[k] = 1
		next
	}
	bytes[$2] = $4
	if ($6 != "")
		unit[$2] = $6
	if (!(k in best) || ($6 == "us" ? $5 < best[k] : $5 > best[k]))
		best[k] = $5
}
function size(b)
{
	if (!b)
		return "-"
	if (b >= 1048576)
		return sprintf("%.1f MB", b / 1048576)
	return b >= 10240 ? sprintf("%.0f KB", b / 1024) : b " B"
}
function cell(part, t,	k)
{
	k = part SUBSEP t
	if (k in bad)
		return "FAILED"
	if (!(k in best))
		return "not run"
	return best[k] == "ok" ? "ok" : sprintf("%.1f", best[k])
}
function ratio(t,	s, x)
{
	if (!(t in unit) || (("soft", t) in bad) || (("rxe", t) in bad) || !(("soft", t) in best) || !(("rxe", t) in best))
		return "-"
	s = best["soft", t]
	x = best["rxe", t]
	return sprintf("%.2f", unit[t] == "us" ? x / s : s / x)
}
END {
	f = "%-24s %8s  %-7s %10s   %10s %10s %7s\n"
	printf f, "", "", "", "two netns", "one netns", "one netns", ""
	printf f, "test", "moved", "", "rdma_soft", "rdma_soft", "rxe", "ratio"
	for (i = 1; i <= n; i++) {
		t = order[i]
		printf f, t in title ? title[t] : t, size(bytes[t]), t in unit ? unit[t] : "",
			cell("pair", t), cell("soft", t), cell("rxe", t), ratio(t)
	}
	print ""
	print "ratio above 1: rdma_soft is better. us: median latency (ibv_ud_pingpong: mean round trip)."
	if (how ~ /instruction/) {
		print "Figures count the instructions of both ends on one emulated CPU, 1000 being 1 us: they repeat"
		print "on any machine, and compare drivers; they are not what a real CPU would show."
	} else if (how ~ /emulated/)
		print "Emulated CPUs: compare the columns only; a busy machine changes figures by a factor of 2."
}
