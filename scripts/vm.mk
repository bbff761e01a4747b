# SPDX-License-Identifier: GPL-2.0
#
# The test VM and the demo; included by the top Makefile.

.PHONY: vm vm2 demo vm-prepare

##@ Test VM
vm: vm-deps modules ## shell in the test VM, or CMD='...' in netns a [VM_SETUP=none] [ICOUNT=1]
	@selftests/vm/vm.sh

vm2: vm-deps modules ## two VMs joined by a wire: CMD='...' in VM 1, CMD2='...' in VM 2
	@selftests/vm/vm2.sh

demo: ## installs what is missing, builds, shows RDMA traffic beside in-tree rxe (root)
	@scripts/demo/demo.sh

.PHONY: vm-deps
vm-deps:
	@scripts/deps.sh build vm rdma

# What CI caches: kernel and initramfs of the VM.
vm-prepare: vm-deps
	@selftests/vm/run-vm.sh --prepare >/dev/null

vm vm2: override export CMD := $(value CMD)
vm vm2: override export CMD2 := $(value CMD2)
vm vm2: override export ICOUNT := $(ICOUNT)
vm vm2: override export VM_SETUP := $(VM_SETUP)
