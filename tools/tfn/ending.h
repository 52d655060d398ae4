/* The messages after training on a text: how well the model predicts it, and a sample. */
#ifndef ENDING_H
#define ENDING_H

#include "trainer.h"

/* Prints bits per byte of the model and of guessing, and a sample of the saved model, on stderr.
 * Prints nothing for other data or with --quiet. */
void say_learned(const trainer *t);
#endif
