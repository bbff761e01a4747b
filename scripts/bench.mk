# SPDX-License-Identifier: GPL-2.0
#
# The benches; included by the top Makefile. BENCH: more options for
# tools/rdma-soft-bench or rdma-soft-bench-loss, e.g. BENCH='--rows write_*'.
# PROFILE: for tools/rdma-soft-profile.

.PHONY: bench bench-quick bench-uml bench-loss bench-deps profile
BENCH ?=
WORKLOAD ?= write_64k
PROFILE ?=
ROUNDS ?= 9

##@ Bench
bench: bench-deps ## rdma_soft, rxe and TCP in turns, judged by targets; JSON and HTML page [BENCH='options']
	@scripts/deps.sh storage
	@tools/rdma-soft-bench $(BENCH)

bench-quick: bench-deps ## the main rows once, in instruction mode, under 5 minutes [BENCH='options']
	@tools/rdma-soft-bench --quick $(BENCH)

bench-uml: ## WRITE and READ of 64 KiB beside rxe in native code under UML, in turns; a ratio [ROUNDS=9]
	@tools/rdma-soft-bench-uml $(ROUNDS)

bench-loss: bench-deps ## WRITE 64 KiB beside rxe over a wire that loses and reorders, judged by targets [BENCH='options']
	@tools/rdma-soft-bench-loss $(BENCH)

profile: bench-deps ## where the instructions of a message go, by stage and function [WORKLOAD=read_64k] [PROFILE='--driver rxe']
	@tools/rdma-soft-profile $(WORKLOAD) $(PROFILE)

bench-deps:
	@scripts/deps.sh build vm rdma bench
