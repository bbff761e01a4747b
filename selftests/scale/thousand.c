// SPDX-License-Identifier: GPL-2.0
/* cm/many in numbers that take too long for every check. */
#define MANY_CONN 1000
#include "../cm/many.c"
