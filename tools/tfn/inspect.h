/* tfn inspect MODEL --text shows how a model reads a sentence, as one self-contained page of HTML:
 * attention weights, norms of the residual stream and of the branches added to it, and the
 * likeliest words after each layer. It uses only public calls: tfn_model_attention,
 * tfn_model_watch, tfn_model_lens.
 *
 * The page is also well-formed XML. It contains the attention as JSON, a row a line, in
 * ten-thousandths, without trailing zeros. Everything else is a table. */
#ifndef INSPECT_H
#define INSPECT_H

#include "../common/cli.h"
#include "options.h"

int inspect_sentence(const settings *s, cli *c, const char *out);
#endif
