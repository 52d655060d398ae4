/* Formulas in texts as HTML: x_0, beta_ii^2, L^-0.5, sqrt(2), <= and +- in print form. Other
 * formats keep the texts as they are written. */
#ifndef FORMULA_H
#define FORMULA_H

#include <stdio.h>

void formula_html(FILE *f, const char *text);
#endif
