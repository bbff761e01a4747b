// SPDX-License-Identifier: GPL-2.0
/* A short part of the matrix, for every check: short messages only. */
#define MATRIX_SHORT
#include "matrix.c"
