/* SPDX-License-Identifier: GPL-2.0 */
/* rst: tables of a document as input of a test. */
#ifndef RST_H
#define RST_H

#define RST_COLS 12
#define RST_CELL 160

struct rst_row {
	char table[40];			/* the table's :name: */
	int line;			/* in the document */
	int cols;
	char cell[RST_COLS][RST_CELL];
};

/*
 * All rows of the csv-tables (delimiter '|') of the document whose name starts
 * with prefix. Each table must have exactly the columns that its header names.
 * Returns the number of rows; *rows is from malloc. Exits when something is
 * wrong with the document.
 */
int rst_rows(const char *path, const char *prefix, struct rst_row **rows);

/* The blank-separated words of a cell, one after the other; 0 at the end. */
int rst_word(const char **cell, char *word, int size);

#endif /* RST_H */
