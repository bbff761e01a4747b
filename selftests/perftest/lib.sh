# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the lines of matrix.txt; sourced by full.sh and quick.sh.

MATRIX=$HERE/perftest/matrix.txt
PERFTEST_PORT=18515

# matrix_lines TAG: 'family|command|message', TAG '' = all.
matrix_lines()
{
	awk -F '[|]' -v tag="$1" '
		/^[ \t]*(#|$)/ { next }
		tag == "" || index($1, tag) {
			gsub(/^[ \t]+|[ \t]+$/, "", $2)
			gsub(/^[ \t]+|[ \t]+$/, "", $3)
			gsub(/^[ \t]+|[ \t]+$/, "", $4)
			print $2 "|" $3 "|" $4
		}' "$MATRIX"
}

# rows_good COMMAND OUTPUT: as many result rows as sizes, none without a result:
# message rate of _bw, typical time of _lat are both the fifth column.
rows_good()
{
	local want=1 rows
	case $1 in
	*' -c UD -a'*) want=10 ;;
	*' -a'*) want=23 ;;
	esac
	rows=$(awk '
		$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 5 && $5 + 0 > 0 { n++ }
		END { print n + 0 }' "$2")
	if ((rows != want)); then
		tail -n 30 "$2" | sed 's/^/# client: /'
		fail "$rows result rows, want $want"
	fi
}

# perftest FAMILY COMMAND
perftest()
{
	local family=$1 command=$2 addr ga gb ready=tcp_listening
	local -a words server client
	read -ra words <<< "$command"
	if [ "$family" = 6 ]; then
		ga=$(gid_index "$DEVA" $A6) gb=$(gid_index "$DEVB" $B6)
	else
		ga=$(gid_index "$DEVA" $A4) gb=$(gid_index "$DEVB" $B4)
	fi
	addr=$B4
	server=("${words[@]}" -F -d "$DEVB")
	client=("${words[@]}" -F -d "$DEVA")
	if [[ " $command " == *' -R '* ]]; then
		ready=cm_listening
		client+=("--source_ip=$A4")
	else
		# a busy host stops the guest for longer than the default allows
		server+=(-x "$gb" -u 17)
		client+=(-x "$ga" -u 17)
	fi
	CM_TIMEOUT=150 run_both $ready $PERFTEST_PORT "${server[@]}" -- \
		"${client[@]}" "$addr"
	rows_good "$command" "$OUT_C"
}

# refused COMMAND MESSAGE: perftest itself says no, with these words.
refused()
{
	local out rc=0
	local -a words
	read -ra words <<< "$1"
	out=$(in_a timeout 20 "${words[@]}" -d "$DEVA" 2>&1) || rc=$?
	((rc && rc != 124)) || fail "'$1' ended with $rc"
	[[ $out == *"$2"* ]] || fail "'$1' said: $out"
}

# run_matrix TAG
run_matrix()
{
	local line family command message
	local -a lines
	mapfile -t lines < <(matrix_lines "$1")
	ktap_plan ${#lines[@]}
	rig_up 1500
	for line in "${lines[@]}"; do
		IFS='|' read -r family command message <<< "$line"
		if [ -n "$message" ]; then
			ktap_run "refused: $command" refused "$command" "$message"
		else
			ktap_run "IPv$family: $command" \
				crossed perftest "$family" "$command"
		fi
	done
	ktap_finish
}
