/* normlab report: the findings as a self-contained page of HTML, or as a table of Markdown.
 * Measures nothing: verdicts come from the file of measurements. */
#ifndef REPORT_H
#define REPORT_H

#include "../common/cli.h"

int report_command(cli *c);
#endif
