// SPDX-License-Identifier: GPL-2.0
/* The driver exports nothing: this module has its own copy of the code. */
#include "../proto/aeth.c"
