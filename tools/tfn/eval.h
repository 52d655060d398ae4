/* tfn eval: loss, perplexity and accuracy of a model; BLEU, ROUGE and WER of its texts. */
#ifndef EVAL_H
#define EVAL_H

#include "../../tfnorm.h"
#include "../common/cli.h"
#include "models.h"
#include "options.h"

void put_rouge(const tfn_rouge *r);

/* Opens a file in batches. Without a file: the test split of a task or of lines, or the held-out
 * part of a text. */
void open_corpus(bundle *b, corpus *x, const settings *s, const char *path);

int eval(settings *s, cli *c);
#endif
