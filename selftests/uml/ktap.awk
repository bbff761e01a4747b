# SPDX-License-Identifier: GPL-2.0
#
# Reads the debugfs results of one KUnit suite (-v suite=NAME -v prefix=TEXT) and prints one
# TAP result per test case. A suite without a plan, without cases, with fewer
# cases than planned or without its own final line is a failure: a test that
# crashed leaves exactly that.
function result(ok, name, note)
{
	printf "%s - %s.%s.%s%s\n", ok ? "ok" : "not ok", prefix, suite, name, note
}

# Cases are indented by four columns, their parameters by eight, and the line
# of the suite itself is not indented.
/^    1\.\.[0-9]+/ {
	planned = $0
	sub(/^ *1\.\./, "", planned)
	planned += 0
	have_plan = 1
	next
}
/^    (ok|not ok) [0-9]+/ {
	ok = ($1 == "ok")
	line = $0
	note = ""
	if (match(line, / # SKIP.*/)) {
		note = substr(line, RSTART)
		line = substr(line, 1, RSTART - 1)
	}
	sub(/^ *(not )?ok [0-9]+ (- )?/, "", line)
	sub(/ #.*/, "", line)
	if (ok && params_failed) {
		ok = 0
		note = note " # " params_failed " parameters failed"
	}
	cases++
	failed += !ok
	trouble = params_failed = 0
	result(ok, line, note)
	next
}
/^        not ok / { params_failed++ ; next }
/^(ok|not ok) [0-9]+/ {
	if (index($0, suite)) {
		finished = 1
		suite_ok = ($1 == "ok")
		if (!suite_ok)
			suite_failed = 1
	}
	next
}
# What a failed expectation says, up to the next result.
/EXPECTATION FAILED|ASSERTION FAILED|crashed|timed out/ { trouble = 1 }
trouble { print "# " suite ": " $0 }
END {
	if (!have_plan || planned == 0)
		result(0, "plan", " # no test planned")
	else if (cases != planned)
		result(0, "plan", " # " planned " planned, " cases + 0 " ran")
	if (!finished)
		result(0, "end", " # the suite did not finish (crashed?)")
	else if (suite_failed && !failed)
		result(0, "suite", " # the kernel reports the suite as failed")
}
