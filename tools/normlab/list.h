/* normlab list: the rows as tables, of text or Markdown. */
#ifndef LIST_H
#define LIST_H

#include "../../tfnorm.h"
#include "../common/cli.h"
#include <stdint.h>

/* -- content of the tables --------------------------------------------------------------------- */

/* The papers of a row. The year follows the first paper, unless that has one already; it is in
 * parentheses after a name that ends in a digit, such as "OLMo 2". */
const char *paper_text(char *text, const char *paper, int32_t year);

/* The paper of the part that the recipe is known for. */
const char *recipe_paper(char *text, const tfn_recipe *r);

/* -- the command ------------------------------------------------------------------------------- */

int list_command(cli *c);
#endif
