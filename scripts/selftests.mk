# SPDX-License-Identifier: GPL-2.0
#
# Targets of the selftests; included by the top Makefile, also usable alone
# (make -f scripts/selftests.mk selftests).

SELFTESTS_DIR := selftests
SELFTESTS_OUT := build/selftests
# -Wno-missing-field-initializers: designated initializers leave the rest zero.
SELFTESTS_CFLAGS := -Wno-missing-field-initializers -std=gnu11 -O1 -g -Wall \
	-Wextra -Werror -I$(SELFTESTS_DIR)/lib

# Every C file of a test folder is one program.
SELFTESTS_SRC := $(wildcard $(addprefix $(SELFTESTS_DIR)/, \
	verbs/*.c integrity/*.c cm/*.c link/*.c netns/*.c loss/*.c \
	networks/*.c lifecycle/*.c scale/*.c))
SELFTESTS_BIN := $(SELFTESTS_SRC:$(SELFTESTS_DIR)/%.c=$(SELFTESTS_OUT)/%)
SELFTESTS_LIB := $(SELFTESTS_OUT)/lib/vt.o $(SELFTESTS_OUT)/lib/wire.o \
	$(SELFTESTS_OUT)/lib/rst.o $(SELFTESTS_OUT)/lib/fault.o

.PHONY: selftests check-vm check-uml check-verbs check-mutants check-perftest \
	check-wire check-interop check-networks check-lifecycle check-loss \
	soak-loss check-kverbs check-scale check-selfcheck clean-selftests

##@ Selftests
selftests: $(SELFTESTS_BIN) ## builds the test programs

$(SELFTESTS_LIB): $(SELFTESTS_OUT)/lib/%.o: $(SELFTESTS_DIR)/lib/%.c \
		$(wildcard $(SELFTESTS_DIR)/lib/*.h)
	@mkdir -p $(@D)
	$(CC) $(SELFTESTS_CFLAGS) -c -o $@ $<

$(SELFTESTS_BIN): $(SELFTESTS_OUT)/%: $(SELFTESTS_DIR)/%.c $(SELFTESTS_LIB)
	@mkdir -p $(@D)
	$(CC) $(SELFTESTS_CFLAGS) -o $@ $< $(SELFTESTS_LIB) \
		-lrdmacm -libverbs -lpthread

# Where one source is made of another, or has a header of its own.
$(SELFTESTS_OUT)/loss/short: $(SELFTESTS_DIR)/loss/matrix.c
$(SELFTESTS_OUT)/scale/thousand: $(SELFTESTS_DIR)/cm/many.c
$(addprefix $(SELFTESTS_OUT)/scale/,objects sequence): $(SELFTESTS_DIR)/scale/mem.h
$(addprefix $(SELFTESTS_OUT)/loss/,inject recover held): $(SELFTESTS_DIR)/loss/recover.h

check-vm: selftests ## selftests in the test VM [T='PATTERN...' or T=TEST:SUBTEST]
	$(SELFTESTS_DIR)/run-vm-tests.sh $(T)

check-uml: ## selftests under User Mode Linux [T='TEST...' or T=TEST:SUBTEST]
	$(SELFTESTS_DIR)/uml/tests.sh $(or $(T),verbs/query verbs/errors)

check-verbs: ## all tests on libibverbs under UML; every row of transport.rst
	$(SELFTESTS_DIR)/uml/tests.sh $(or $(T),$(shell awk '$$1 ~ /^verbs\// \
		{ print $$1 }' $(SELFTESTS_DIR)/tests.list))

check-kverbs: ## tests as a kernel consumer: UML, UML with sanitizers, VM [T='plain san vm']
	$(SELFTESTS_DIR)/kverbs/check.sh $(T)

check-mutants: ## does a named test notice each broken rule? [T='PATTERN...']
	$(SELFTESTS_DIR)/mutants/run.sh $(T)

check-wire: ## is each packet RoCEv2, and each answer the right one? (UML, scapy, tshark)
	$(SELFTESTS_DIR)/wire/check-wire.sh

check-interop: selftests modules ## against in-tree rxe, in one VM and in two, bytes compared
	$(SELFTESTS_DIR)/run-vm-tests.sh --suite interop
	$(SELFTESTS_DIR)/interop/two-vms.sh

check-loss: ## every fault at every packet, in UML and in the test VM; counts
	$(SELFTESTS_DIR)/loss/run.sh

soak-loss: ## random faults for an hour, all operations, verified [DURATION=s] [SEED=n]
	$(SELFTESTS_DIR)/loss/soak.sh

check-networks: selftests modules ## VLAN, bond, bridge, containers, VRF, tunnels, filters, no IPv6
	$(SELFTESTS_DIR)/run-vm-tests.sh --suite networks
	$(SELFTESTS_DIR)/run-vm-tests.sh --suite noipv6 --append ipv6.disable=1

check-lifecycle: selftests modules ## links come and go in use; stress in VM and UML with sanitizers [ROUNDS=N]
	$(SELFTESTS_DIR)/uml/tests.sh lifecycle/steps
	$(SELFTESTS_DIR)/uml/tests.sh --san lifecycle/stress
	$(SELFTESTS_DIR)/run-vm-tests.sh --suite lifecycle \
		$(if $(ROUNDS),--append ROUNDS=$(ROUNDS))

check-scale: selftests modules ## 10,000 QPs, 100,000 MRs, 1,000 and 20,000 connections: time and memory of each
	$(SELFTESTS_DIR)/scale/check.sh

check-perftest: selftests ## the whole perftest matrix in the test VM
	$(SELFTESTS_DIR)/run-vm-tests.sh --suite perftest

check-pyverbs: $(if $(UML)$(DEBIAN13),,modules) ## rdma-core's test suite in the test VM [RUNS=N] [UML=1] [DEBIAN13=1] [DRIVER=rxe] [T='PATTERN...']
	@scripts/deps.sh build vm rdma check
	$(SELFTESTS_DIR)/pyverbs/run.sh $(if $(RUNS),--runs $(RUNS)) $(if $(UML),--uml) \
		$(if $(DEBIAN13),--debian13) $(if $(DRIVER),--driver $(DRIVER)) $(T)

check-selfcheck: selftests ## do the test runners notice what fails?
	$(SELFTESTS_DIR)/selfcheck.sh
	$(SELFTESTS_DIR)/vm/test-run-vm.sh

clean-selftests:
	rm -rf $(SELFTESTS_OUT)
