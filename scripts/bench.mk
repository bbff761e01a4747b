# SPDX-License-Identifier: GPL-2.0
#
# The benches; included by the top Makefile. BENCH: more options for
# tools/rdma-soft-bench or rdma-soft-bench-loss, e.g. BENCH='--rows write_*'.

.PHONY: bench bench-quick bench-loss bench-deps
BENCH ?=

##@ Bench
bench: bench-deps ## rdma_soft, rxe and TCP in turns, judged by targets; JSON and HTML page [BENCH='options']
	@tools/rdma-soft-bench $(BENCH)

bench-quick: bench-deps ## the main rows once, in instruction mode, under 5 minutes [BENCH='options']
	@tools/rdma-soft-bench --quick $(BENCH)

bench-loss: bench-deps ## WRITE 64 KiB beside rxe over a wire that loses and reorders, judged by targets [BENCH='options']
	@tools/rdma-soft-bench-loss $(BENCH)

bench-deps:
	@scripts/deps.sh build vm rdma
