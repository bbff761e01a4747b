// SPDX-License-Identifier: GPL-2.0
/* rst: tables of a document as input of a test, see rst.h. */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rst.h"

struct reader {
	const char *path;
	char table[40];
	int line, cols;
	struct rst_row *rows;
	int n;
};

static void die(const struct reader *r, const char *why)
{
	fprintf(stderr, "%s:%d: %s\n", r->path, r->line, why);
	exit(2);
}

/* Without blanks at both ends. */
static void trimmed(char *to, size_t size, const char *from, size_t len)
{
	while (len && isspace((unsigned char)*from)) {
		from++;
		len--;
	}
	while (len && isspace((unsigned char)from[len - 1]))
		len--;
	snprintf(to, size, "%.*s", (int)len, from);
}

static int columns(const char *text)
{
	int n = 1;

	while ((text = strchr(text, '|'))) {
		text++;
		n++;
	}
	return n;
}

static void add_row(struct reader *r, const char *text)
{
	struct rst_row *row;
	size_t len;
	int i;

	if (columns(text) != r->cols || r->cols > RST_COLS)
		die(r, "this row has another number of cells than the header");
	r->rows = realloc(r->rows, (r->n + 1) * sizeof(*r->rows));
	if (!r->rows)
		die(r, "no memory");
	row = &r->rows[r->n++];
	snprintf(row->table, sizeof(row->table), "%s", r->table);
	row->line = r->line;
	row->cols = r->cols;
	for (i = 0; i < r->cols; i++) {
		len = strcspn(text, "|");
		if (len >= RST_CELL)
			die(r, "a cell is too long");
		trimmed(row->cell[i], RST_CELL, text, len);
		text += len + 1;
	}
}

/* Lines inside a csv-table: options, then rows. */
static void table_line(struct reader *r, const char *text, const char *prefix)
{
	while (isspace((unsigned char)*text))
		text++;
	if (!*text)
		return;
	if (!strncmp(text, ":name:", 6))
		trimmed(r->table, sizeof(r->table), text + 6, strlen(text + 6));
	else if (!strncmp(text, ":header:", 8))
		r->cols = columns(text + 8);
	else if (*text != ':' && !strncmp(r->table, prefix, strlen(prefix)))
		add_row(r, text);
}

int rst_rows(const char *path, const char *prefix, struct rst_row **rows)
{
	struct reader r = { .path = path };
	char text[2048];
	int inside = 0;
	FILE *f = fopen(path, "r");

	if (!f) {
		perror(path);
		exit(2);
	}
	while (fgets(text, sizeof(text), f)) {
		r.line++;
		if (!strncmp(text, ".. csv-table::", 14)) {
			inside = 1;
			r.cols = 0;
			r.table[0] = 0;
		} else if (inside && !isspace((unsigned char)*text)) {
			inside = 0;
		} else if (inside) {
			table_line(&r, text, prefix);
		}
	}
	fclose(f);
	*rows = r.rows;
	return r.n;
}

int rst_word(const char **cell, char *word, int size)
{
	int len;

	while (isspace((unsigned char)**cell))
		(*cell)++;
	len = strcspn(*cell, " \t");
	snprintf(word, size, "%.*s", len, *cell);
	*cell += len;
	return len;
}
