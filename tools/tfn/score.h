/* tfn score: BLEU, ROUGE, WER and CER of the lines of two files. */
#ifndef SCORE_H
#define SCORE_H

#include "../common/cli.h"
#include "options.h"

/* Scores generated lines against reference lines. */
int score(settings *s, cli *c);
#endif
