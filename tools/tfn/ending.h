/* What is said at the end of a training of a text: how well it is predicted, and how it sounds. */
#ifndef ENDING_H
#define ENDING_H

#include "trainer.h"

/* Bits per byte beside those of guessing, and a sample of the saved model, on stderr. Nothing for
 * data that is no running text, or with --quiet. */
void say_learned(const trainer *t);
#endif
