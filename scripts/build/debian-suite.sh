# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# Sourced: use one Debian suite that the machine is not subscribed to, without
# touching its apt configuration. Needs common.sh.

# debian_mirror: base URI of the Debian archive this machine uses.
# RDMA_SOFT_MIRROR=URI overrides.
debian_mirror()
{
	if [ -n "${RDMA_SOFT_MIRROR:-}" ]; then
		echo "$RDMA_SOFT_MIRROR"
		return 0
	fi
	# shellcheck disable=SC2016 # apt's own placeholders
	apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' |
		awk '$1 == "Debian" && $2 == "Debian" { print $3; found = 1; exit }
			END { exit !found }' ||
		die "no Debian archive in apt's sources; set RDMA_SOFT_MIRROR=URI"
}

# suite_lines SUITE...: sources.list lines for them.
suite_lines()
{
	local mirror key suite

	mirror=$(debian_mirror) || exit 1
	key=/usr/share/keyrings/debian-archive-keyring.gpg
	[ -e "$key" ] || die "$key is missing; run: apt-get install debian-archive-keyring"
	for suite; do
		echo "deb [signed-by=$key] $mirror $suite main"
	done
}

# suite_apt FOLDER SUITE...: prepare a private apt state in FOLDER and set the
# array SUITE_APT to the options that make apt-get and apt-cache use it.
suite_apt()
{
	local dir=$1

	shift
	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial" \
		"$dir/etc/parts" || die "cannot create $dir"
	suite_lines "$@" >"$dir/etc/sources.list" || exit 1
	: >"$dir/state/status"
	SUITE_APT=(-o "Dir::Etc::sourcelist=$dir/etc/sources.list"
		-o "Dir::Etc::sourceparts=$dir/etc/parts"
		-o "Dir::Etc::preferencesparts=$dir/etc/parts"
		-o "Dir::State=$dir/state"
		-o "Dir::State::status=$dir/state/status"
		-o "Dir::Cache=$dir/cache"
		-o "Acquire::Languages=none"
		-o "APT::Sandbox::User=root")
}
