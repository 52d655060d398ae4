/* normlab list: the rows as tables, of text or Markdown. */
#ifndef LIST_H
#define LIST_H

#include "../../tfnorm.h"
#include "../common/cli.h"
#include <stdint.h>

/* -- what stands in the tables ----------------------------------------------------------------- */

/* The row's year stands behind the first of its papers, unless one stands there already; in
 * parentheses behind a name that ends in a digit, such as "OLMo 2". */
const char *paper_text(char *text, const char *paper, int32_t year);

/* The paper of the part that the recipe is known for. */
const char *recipe_paper(char *text, const tfn_recipe *r);

/* -- the command ------------------------------------------------------------------------------- */

int list_command(cli *c);
#endif
