/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of QEMU's plug-in interface (version 1) that is used here; distributions do
 * not package the header.
 */
#ifndef PROFILE_QEMU_PLUGIN_H
#define PROFILE_QEMU_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*tb_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*tb_exec_cb)(unsigned int cpu, void *user);
typedef void (*exit_cb)(qemu_plugin_id_t id, void *user);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_cb cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, tb_exec_cb cb,
					  int flags, void *user);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_cb cb, void *user);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t idx);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

/* what QEMU looks for in a plug-in */
extern int qemu_plugin_version;
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			char **argv);

#endif
