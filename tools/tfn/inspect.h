/* tfn inspect MODEL --text: what a model does with a sentence, as one page of HTML that needs
 * nothing else: weights of attention, norms of the residual stream and of the branches that are
 * added to it, the likeliest words behind each layer. All of it is read through the public calls:
 * tfn_model_attention, tfn_model_watch, tfn_model_lens.
 *
 * The page is well-formed XML too. Numbers of the attention stand in it as JSON, a row a line, in
 * ten-thousandths, without the zeros at a row's end; all else are tables. */
#ifndef INSPECT_H
#define INSPECT_H

#include "../common/cli.h"
#include "options.h"

int inspect_sentence(const settings *s, cli *c, const char *out);
#endif
