/* normlab report: the findings as a self-contained page of HTML, or as a table of Markdown.
 * Measures nothing: verdicts come from the file of measurements. */
#ifndef REPORT_H
#define REPORT_H

#include "../common/cli.h"
#include <stdio.h>

/* Writes a cell of a Markdown table without bars and line ends; NULL: an empty one. */
void markdown_cell(FILE *f, const char *text);

int report_command(cli *c);
#endif
