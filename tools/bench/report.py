# SPDX-License-Identifier: GPL-2.0
"""Medians, ratios, verdicts; the summary, bench.json and bench.html."""

import collections
import datetime
import html
import json
import math
import os
import platform
import statistics
import subprocess

import tables

TOLERANCE = 0.10    # of rxe's figures in instruction mode, from the reference
AGREE = 0.05        # in instruction mode what a target compares differs at most so much between runs
MODE_NAME = {"icount": "instruction mode", "wall": "wall clock, 2 CPUs", "hosts": "between hosts"}
ORDER = ("rdma_soft", "rxe", "tcp")
COLOUR = {"rdma_soft": "#1f6fb2", "rxe": "#c8541b", "tcp": "#5a5a5a"}
SPARE = ("#2a8a57", "#8a4fb0", "#a08000")


def summarise(samples, wls):
    """(mode, driver, id) -> median, spread, values and the other figures' medians."""
    groups = {}
    for mode, driver, wid, fig in samples:
        groups.setdefault((mode, driver, wid), []).append(fig)
    results = []
    for (mode, driver, wid), figs in groups.items():
        w = wls[wid]
        ok = [f for f in figs if f]
        r = {"mode": mode, "driver": driver, "id": wid, "title": w["title"], "unit": tables.unit(w),
             "failed": len(figs) - len(ok), "values": [f[0] for f in ok], "median": None,
             "runs": [f[0] if f else None for f in figs]}
        if ok:
            m = statistics.median(r["values"])
            r["median"] = m
            r["spread"] = (max(r["values"]) - min(r["values"])) / m
            r["more"] = {k: statistics.median([f[1][k] for f in ok if k in f[1]]) for k in ok[0][1]}
            if mode == "icount":
                r["instructions_per_message"] = tables.instructions_per_message(w, m)
        results.append(r)
    return results


def compare(v, mine, other, less):
    """Fill in ratio and verdict. In instruction mode a 'must' is met only if each run
    meets it, and runs agree if neither figure differs by more than AGREE between them."""
    def reached(ratio, limit):
        return ratio <= limit if less else ratio >= limit
    v["ratio"] = mine["median"] / other["median"]
    v["ratios"] = [a / b for a, b in zip(mine["runs"], other["runs"]) if a and b]
    judged = v["ratios"] if v["mode"] == "icount" else [v["ratio"]]
    v["runs"], v["runs_met"] = len(judged), sum(reached(r, v["must"]) for r in judged)
    v["verdict"] = "met" if judged and v["runs_met"] == v["runs"] else "missed"
    if v["moonshot"]:
        v["moonshot_met"] = reached(v["ratio"], v["moonshot"])
    if v["mode"] == "icount":
        v["spread_ours"], v["spread_theirs"] = mine["spread"], other["spread"]
        v["agree"] = max(mine["spread"], other["spread"]) <= AGREE if v["runs"] > 1 else None


def judge(results):
    """The verdict on every target, and why the run is void (empty: it is not)."""
    by = {(r["mode"], r["driver"], r["id"]): r for r in results}
    wls = tables.workloads()

    verdicts, void = [], []
    for t in tables.targets():
        w, mode, vs = wls[t["id"]], t["mode"], t["versus"]
        mine = by.get((mode, "rdma_soft", t["id"]), {})
        if vs == "rxe":
            other = by.get((mode, "rxe", t["id"]), {})
        elif vs == "tcp":
            other = by.get((mode, "tcp", "tcp"), {})
        else:
            other = by.get((mode, "rdma_soft", vs), {})
        ours, theirs = mine.get("median"), other.get("median")
        v = dict(t, title=w["title"], unit=tables.unit(w), ours=ours, theirs=theirs, ratio=None,
                 verdict="not measured", moonshot_met=None)
        if ours and theirs:
            compare(v, mine, other, tables.less_is_better(w))
        if mode == "icount" and vs == "rxe" and theirs:
            off = theirs / t["base"] - 1
            v["reference_off"] = off
            if abs(off) > TOLERANCE:
                void.append("rxe, %s: %.4g instead of %.4g %s (%+.0f %%)" % (
                    w["title"], theirs, t["base"], v["unit"], 100 * off))
        if mode != "hosts" and any((mode, "rdma_soft", i) in by for i in wls):
            verdicts.append(v)
    return verdicts, void


def describe(run):
    """What was measured, where and when."""
    def out(*cmd):
        try:
            return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True, cwd=tables.TREE).stdout.strip()
        except OSError:
            return ""
    cpu = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            cpu = next((x.split(":", 1)[1].strip() for x in f if x.startswith("model name")), "")
    except OSError:
        pass
    return {"where": run["where"], "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "version": out("git", "-c", "safe.directory=*", "describe", "--always", "--dirty"),
            "host_kernel": platform.release(), "cpu": cpu, "rounds": run["rounds"], "quick": run["quick"]}


def merge(files):
    """One run from the results of several."""
    samples, rounds, quick, where = [], {}, False, []
    for name in files:
        try:
            with open(name, encoding="utf-8") as f:
                j = json.load(f)
            samples += [(m, d, i, tuple(v) if v else None) for m, d, i, v in j["samples"]]
            quick = quick or j["about"]["quick"]
            where.append(j["about"]["where"])
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise tables.BenchError("%s is no result of rdma-soft-bench: %s" % (name, e)) from e
    count = collections.Counter((m, d, i) for m, d, i, _ in samples)
    for (m, _, _), n in count.items():
        rounds[m] = max(n, rounds.get(m, 0))
    known = tables.workloads()
    strange = {i for _, _, i, _ in samples if i not in known}
    if strange:
        raise tables.BenchError("unknown workload %s in the results" % ", ".join(sorted(strange)))
    return {"where": ", ".join(dict.fromkeys(where)), "rounds": rounds, "quick": quick, "samples": samples}


def num(x):
    if x is None:
        return "-"
    return "%.0f" % x if x >= 10000 else "%.1f" % x


def drivers_of(results):
    seen = {r["driver"] for r in results}
    return [d for d in ORDER if d in seen] + sorted(seen - set(ORDER))


def table(results, mode):
    """Rows (title, unit, {driver: result}) of a mode, in table order."""
    rows = []
    for w in tables.workloads().values():
        cells = {r["driver"]: r for r in results if r["mode"] == mode and r["id"] == w["id"]}
        if cells:
            rows.append((w["title"], tables.unit(w), cells))
    return rows


def ratio(cells):
    """rdma_soft to rxe, as text; empty if one of them is not there."""
    ours, theirs = (cells.get(d, {}).get("median") for d in ("rdma_soft", "rxe"))
    return "%.2f" % (ours / theirs) if ours and theirs else ""


def verdict_text(v):
    s = v["verdict"]
    if v.get("runs", 1) > 1:
        n = v["runs_met"] if s == "met" else v["runs"] - v["runs_met"]
        s += " in %d of %d runs" % (n, v["runs"])
    if v["moonshot_met"]:
        s += ", moonshot too"
    if v.get("agree") is not None:
        s += "; runs %s (%.1f %%, %.1f %%)" % ("agree" if v["agree"] else "DIFFER",
                                               100 * v["spread_ours"], 100 * v["spread_theirs"])
    return s


def print_summary(about, results, verdicts, void):
    for mode in MODE_NAME:
        rows = table(results, mode)
        if not rows:
            continue
        names = drivers_of([r for r in results if r["mode"] == mode])
        print("\n%s, median of %s" % (MODE_NAME[mode], about["rounds"].get(mode, "?")))
        print("%-38s %-7s" % ("", "") + "".join("%12s" % d for d in names) + "   ratio  spread")
        for title, u, cells in rows:
            line = "%-38s %-7s" % (title, u)
            for d in names:
                c = cells.get(d)
                line += "%12s" % ("" if c is None else "FAILED" if c["failed"] else num(c["median"]))
            spread = max((c.get("spread", 0) for c in cells.values()), default=0)
            print(line + "%8s  %4.1f %%" % (ratio(cells), 100 * spread))
    if verdicts:
        print("\ntargets (ratio: rdma_soft to the other; us: less is better; runs agree if neither figure "
              "differs by more than %d %%)" % (100 * AGREE))
        f = "%-7s %-36s %-10s %9s %9s %7s %7s %9s  %s"
        print(f % ("mode", "workload", "versus", "ours", "theirs", "ratio", "must", "moonshot", ""))
        for v in verdicts:
            print(f % (v["mode"], v["title"], v["versus"], num(v["ours"]), num(v["theirs"]),
                       "-" if v["ratio"] is None else "%.2f" % v["ratio"], "%g" % v["must"],
                       "%g" % v["moonshot"] if v["moonshot"] else "-", verdict_text(v)))
    if void:
        print("\nVOID: rxe is not within %d %% of the reference in instruction mode:" % (100 * TOLERANCE))
        for x in void:
            print("  " + x)
    judged = {(v["mode"], d, v["id"]) for v in verdicts for d in ("rdma_soft", v["versus"])}
    wide = [r for r in results if r["mode"] == "icount" and r.get("spread", 0) > AGREE and
            (r["mode"], r["driver"], r["id"]) not in judged]
    for v in verdicts:
        if v["mode"] == "wall" and v["versus"] == "rxe" and v["theirs"] and not 0.5 < v["theirs"] / v["base"] < 2:
            print("note: wall clock, %s: rxe's figure is more than a factor of 2 from the reference (%g %s): "
                  "a busy host, or another CPU" % (v["title"], v["base"], v["unit"]))
    for r in wide:
        print("note: %s, %s (no target): the runs differ by %.0f %%" % (r["driver"], r["title"], 100 * r["spread"]))


def colour(driver, names):
    return COLOUR.get(driver) or SPARE[[n for n in names if n not in COLOUR].index(driver) % len(SPARE)]


W, H, LEFT, BOTTOM, TOP, RIGHT = 600, 300, 62, 44, 14, 170


def nice_ticks(top):
    if top <= 0:
        return [0, 1]
    step = 10 ** math.floor(math.log10(top))
    for k in (0.2, 0.5, 1, 2):
        if top / (step * k) <= 6:
            step *= k
            break
    return [step * i for i in range(int(math.ceil(top / step)) + 1)]


def svg_frame(ticks, y, ylabel):
    s = ['<svg viewBox="0 0 %d %d" role="img">' % (W, H)]
    for t in ticks:
        s.append('<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>' % (LEFT, W - RIGHT, y(t), y(t)))
        s.append('<text x="%d" y="%.1f" text-anchor="end">%g</text>' % (LEFT - 6, y(t) + 4, t))
    s.append('<text x="14" y="%d" transform="rotate(-90 14 %d)" text-anchor="middle">%s</text>' % (
        H // 2 - 10, H // 2 - 10, html.escape(ylabel)))
    return s


def size_name(x):
    for div, u in ((2 ** 20, "MiB"), (1024, "KiB")):
        if x >= div:
            return "%g %s" % (x / div, u)
    return "%g" % x


def lines_chart(series, names, ylabel, xlabel, xname):
    """series: [(driver, dash, label, [(x, y)])]; x on a log2 axis."""
    xs = sorted({x for s in series for x, _ in s[3]})
    top = max(y for s in series for _, y in s[3])
    ticks = nice_ticks(top)
    lo, hi = math.log2(xs[0]), math.log2(xs[-1]) if xs[-1] > xs[0] else math.log2(xs[0]) + 1

    def px(x):
        return LEFT + 10 + (math.log2(x) - lo) / (hi - lo) * (W - RIGHT - LEFT - 20)

    def py(y):
        return H - BOTTOM - y / ticks[-1] * (H - BOTTOM - TOP)
    s = svg_frame(ticks, py, ylabel)
    for x in xs:
        s.append('<text x="%.1f" y="%d" text-anchor="middle">%s</text>' % (px(x), H - BOTTOM + 16, xname(x)))
    s.append('<text x="%.1f" y="%d" text-anchor="middle">%s</text>' % ((LEFT + W - RIGHT) / 2, H - 8, html.escape(xlabel)))
    for i, (driver, dash, label, pts) in enumerate(series):
        c = colour(driver, names)
        d = ' stroke-dasharray="6 4"' if dash else ""
        s.append('<polyline fill="none" stroke="%s" stroke-width="2"%s points="%s"/>' % (
            c, d, " ".join("%.1f,%.1f" % (px(x), py(y)) for x, y in sorted(pts))))
        for x, y in pts:
            s.append('<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s, %s: %s</title></circle>' % (
                px(x), py(y), c, html.escape(label), xname(x), num(y)))
        s.append('<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="%s" stroke-width="2"%s/>' % (
            W - RIGHT + 8, W - RIGHT + 30, TOP + 8 + 18 * i, TOP + 8 + 18 * i, c, d))
        s.append('<text x="%d" y="%d">%s</text>' % (W - RIGHT + 34, TOP + 12 + 18 * i, html.escape(label)))
    return "\n".join(s + ["</svg>"])


def bars_chart(groups, names, ylabel):
    """groups: [(label, [(driver, part, value)])]; shades from the first part to the last."""
    top = max(v for _, bars in groups for _, _, v in bars)
    ticks = nice_ticks(top)

    def py(y):
        return H - BOTTOM - y / ticks[-1] * (H - BOTTOM - TOP)
    s = svg_frame(ticks, py, ylabel)
    room = (W - RIGHT - LEFT) / len(groups)
    for g, (label, bars) in enumerate(groups):
        wide = (room - 16) / len(bars)
        for i, (driver, part, v) in enumerate(bars):
            shade = {"typical": 1, "p99": .65, "p99.9": .4}.get(part, 1)
            s.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" opacity="%g"><title>%s, %s: %s</title></rect>' % (
                LEFT + room * g + 8 + wide * i, py(v), max(wide - 2, 1), H - BOTTOM - py(v),
                colour(driver, names), shade, html.escape(driver), part, num(v)))
        s.append('<text x="%.1f" y="%d" text-anchor="middle">%s</text>' % (
            LEFT + room * (g + .5), H - BOTTOM + 16, html.escape(label)))
    shown = list(dict.fromkeys(d for _, bars in groups for d, _, _ in bars))
    for i, d in enumerate(shown):
        s.append('<rect x="%d" y="%d" width="12" height="12" fill="%s"/>' % (W - RIGHT + 10, TOP + 2 + 18 * i, colour(d, names)))
        s.append('<text x="%d" y="%d">%s</text>' % (W - RIGHT + 28, TOP + 12 + 18 * i, html.escape(d)))
    for i, t in enumerate(("dark: typical", "paler: 99 %", "palest: 99.9 %")):
        s.append('<text x="%d" y="%d">%s</text>' % (W - RIGHT + 10, TOP + 12 + 18 * (i + len(shown)), t))
    return "\n".join(s + ["</svg>"])


def charts(results, mode, names):
    wls = tables.workloads()
    mine = [r for r in results if r["mode"] == mode and r["median"]]
    out = []

    def curve(kind, driver):
        return [(int(wls[r["id"]]["x"]), r["median"]) for r in mine
                if r["driver"] == driver and wls[r["id"]]["chart"] == kind]
    series = []
    for d in names:
        for kind, dash in (("write", False), ("read", True)):
            pts = curve(kind, d)
            if pts:
                series.append((d, dash, "%s %s" % (d, kind.upper()), pts))
    tcp = [r["median"] for r in mine if r["driver"] == "tcp"]
    if series:
        xs = [x for s in series for x, _ in s[3]]
        if tcp:
            series.append(("tcp", False, "tcp (iperf3)", [(x, tcp[0]) for x in sorted({min(xs), max(xs)})]))
        out.append(("Bandwidth over message size", lines_chart(series, names, "MB/s", "message size in bytes", size_name)))
    series = []
    for d in names:
        for kind, dash in (("write", False), ("read", True)):
            pts = [(int(wls[r["id"]]["x"]), r["instructions_per_message"] / int(wls[r["id"]]["x"])) for r in mine
                   if r["driver"] == d and wls[r["id"]]["chart"] == kind and r.get("instructions_per_message")]
            if pts:
                series.append((d, dash, "%s %s" % (d, kind.upper()), pts))
    if series:
        out.append(("Instructions of a message, divided by its bytes (both ends)",
                    lines_chart(series, names, "instructions per byte", "message size in bytes", size_name)))
    series = [(d, False, d, curve("qps", d)) for d in names if curve("qps", d)]
    if series:
        out.append(("Message rate over QPs (SEND 8 B)", lines_chart(series, names, "Kmsg/s", "QPs", lambda x: "%d" % x)))
    groups = []
    for w in wls.values():
        bars = []
        for d in names:
            for r in mine:
                if r["driver"] == d and r["id"] == w["id"] and w["chart"] == "lat":
                    bars += [(d, "typical", r["median"])] + [(d, k, r["more"][k]) for k in ("p99", "p99.9")]
        if bars:
            groups.append((w["program"] + (" " + w["options"] if w["options"] else ""), bars))
    if groups:
        out.append(("Latency, 8 B", bars_chart(groups, names, "us")))
    return out


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 1180px; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.5em } h2 { font-size: 1.2em; margin-top: 2em } h3 { font-size: 1em; margin: .5em 0 }
table { border-collapse: collapse; font-size: 14px } th, td { padding: 3px 10px; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left } .met { color: #17703a } .missed, .void { color: #b3261e; font-weight: 600 }
.none { color: #777 } .charts { display: flex; flex-wrap: wrap; gap: 1em } figure { margin: 0; flex: 1 1 520px }
svg { width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: #333 } svg .grid { stroke: #e2e2e2 }
"""


def page(about, results, verdicts, void):
    e = html.escape
    s = ['<!DOCTYPE html>', '<html lang="en"><head><meta charset="utf-8"><title>rdma_soft bench</title>',
         "<style>%s</style></head><body>" % STYLE, "<h1>rdma_soft beside rxe and TCP</h1>",
         "<p>%s; %s; version %s; %s, host kernel %s%s</p>" % (
             e(about["where"]), e(about["date"]), e(about["version"] or "unknown"), e(about["cpu"] or "unknown CPU"),
             e(about["host_kernel"]), "; quick" if about["quick"] else "")]
    if void:
        s.append('<p class="void">Void: rxe is not within %d %% of the reference: %s</p>' % (100 * TOLERANCE, e("; ".join(void))))
    if verdicts:
        s.append("<h2>Targets</h2><table><tr><th>workload</th><th>mode</th><th>versus</th><th>ours</th><th>theirs</th>"
                 "<th>unit</th><th>ratio</th><th>must</th><th>moonshot</th><th>verdict</th></tr>")
        for v in verdicts:
            cls = {"met": "met", "missed": "missed"}.get(v["verdict"], "none")
            s.append("<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s %g</td><td>%s</td>"
                     '<td class="%s">%s</td></tr>' % (
                         e(v["title"]), v["mode"], v["versus"], num(v["ours"]), num(v["theirs"]), v["unit"],
                         "-" if v["ratio"] is None else "%.2f" % v["ratio"], "&le;" if v["unit"] == "us" else "&ge;", v["must"],
                         "%g" % v["moonshot"] if v["moonshot"] else "-", cls, verdict_text(v)))
        s.append("</table>")
    for mode, title in MODE_NAME.items():
        rows = table(results, mode)
        if not rows:
            continue
        names = drivers_of([r for r in results if r["mode"] == mode])
        s.append("<h2>%s</h2>" % e(title[0].upper() + title[1:]))
        if mode == "icount":
            s.append("<p>One emulated CPU whose clock counts instructions, both ends on it: 1000 instructions are 1 us. "
                     "Compares drivers; says nothing about cache misses or several CPUs. Typical latencies are whole messages one way.</p>")
        s.append('<div class="charts">')
        for name, svg in charts(results, mode, names):
            s.append("<figure><h3>%s</h3>%s</figure>" % (e(name), svg))
        s.append("</div><table><tr><th>workload</th><th>unit</th>%s<th>rdma_soft / rxe</th></tr>" % "".join(
            "<th>%s</th>%s" % (e(d), "<th>instr./msg</th>" if mode == "icount" and d != "tcp" else "") for d in names))
        for what, u, cells in rows:
            s.append("<tr><td>%s</td><td>%s</td>" % (e(what), u))
            for d in names:
                c = cells.get(d)
                s.append("<td>%s</td>" % ("" if c is None else "failed" if c["failed"] else num(c["median"])))
                if mode == "icount" and d != "tcp":
                    s.append("<td>%s</td>" % ("%.0f" % c["instructions_per_message"]
                                              if c and c.get("instructions_per_message") else ""))
            s.append("<td>%s</td></tr>" % ratio(cells))
        s.append("</table>")
    s.append("<p>MB/s: MB = 2<sup>20</sup> bytes. Median of the rounds.</p></body></html>")
    return "\n".join(s) + "\n"


def write(run, out):
    """Judge, print the summary, write both files; returns the exit status."""
    results = summarise(run["samples"], tables.workloads())
    verdicts, void = judge(results)
    about = run.get("about") or describe(run)
    os.makedirs(out, exist_ok=True)
    failed = [r for r in results if r["failed"]]
    with open(os.path.join(out, "bench.json"), "w", encoding="utf-8") as f:
        json.dump({"about": about, "void": void, "targets": verdicts, "results": results,
                   "samples": run["samples"]}, f, indent=1)
        f.write("\n")
    with open(os.path.join(out, "bench.html"), "w", encoding="utf-8") as f:
        f.write(page(about, results, verdicts, void))
    print_summary(about, results, verdicts, void)
    judged = [v for v in verdicts if v["ratio"] is not None]
    missed = [v for v in judged if v["verdict"] == "missed"]
    differ = [v for v in judged if v.get("agree") is False]
    if judged:
        print("\n%s%d of %d targets met, %d not measured" % (
            "VOID: " if void else "", len(judged) - len(missed), len(judged), len(verdicts) - len(judged)))
    several = [v for v in judged if v.get("agree") is not None]
    if several:
        print("runs in instruction mode agree within %d %%: %d of %d targets" % (
            100 * AGREE, len(several) - len(differ), len(several)))
    print("page: %s\ndata: %s" % (os.path.join(out, "bench.html"), os.path.join(out, "bench.json")))
    if failed:
        print("FAILED: " + ", ".join("%s %s" % (r["driver"], r["id"]) for r in failed))
        return 4
    if void:
        return 3
    if missed:
        return 1
    return 5 if differ else 0
