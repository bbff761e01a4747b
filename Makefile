# SPDX-License-Identifier: GPL-2.0
#
# rdma_soft: RDMA over any Ethernet device, as a kernel module. 'make help'.

MODULE_DIR := drivers/rdma_soft
KDIR ?= $(shell scripts/build/kdir.sh)
MOD_MAKE = $(MAKE) -C $(KDIR) M=$(CURDIR)
# Kernel build switches that come from the command line are passed on:
# W=1 (more warnings), C=1|2 (sparse), CF=, V=1.
STAGE ?=
SUITE ?=

.DEFAULT_GOAL := modules
.PHONY: modules install clean distclean help check kunit style sparse

##@ Build
modules: ## build drivers/rdma_soft/rdma_soft.ko [KDIR=DIR] [W=1] [C=2]
	@test -n "$(KDIR)"
	+$(MOD_MAKE) modules

install: modules ## install the module for KDIR's kernel and run depmod (root)
	+$(MOD_MAKE) CONFIG_MODULE_SIG_ALL= DEPMOD=true modules_install
	depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) \
		$$(awk -F'"' '/UTS_RELEASE/ { print $$2 }' \
			$(KDIR)/include/generated/utsrelease.h)

clean: ## remove what the builds left in the tree
	$(if $(KDIR),+$(MOD_MAKE) clean)
	rm -rf build

##@ Check
check: ## everything CI runs; last line "N passed, N failed, N skipped" [STAGE=name]
	scripts/check.sh $(STAGE)

kunit: ## unit tests under User Mode Linux, in seconds once cached [SUITE=name]
	selftests/uml/kunit.sh plain $(SUITE)

style: ## checkpatch --strict, kernel-doc, shellcheck and the project's own rules
	scripts/check-style.sh

sparse: ## type and endian check (sparse)
	scripts/check-sparse.sh

-include scripts/vm.mk
-include scripts/selftests.mk
-include scripts/bench.mk

##@ Help
help: ## this list
	@awk -f scripts/build/help.awk $(MAKEFILE_LIST)
