/* normlab report: the findings as one self-contained page of HTML, or as a table of Markdown.
 * Nothing is measured: the verdicts come from the file of measurements. */
#ifndef REPORT_H
#define REPORT_H

#include "../common/cli.h"

int report_command(cli *c);
#endif
