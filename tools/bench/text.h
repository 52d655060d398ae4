/* bench data: text to ids, ids to batches, and beam search back to sentences. */
#ifndef TEXT_H
#define TEXT_H

#include "shapes.h"

/* `path` NULL: a generated text. */
void bench_data(const char *path, const shape *s);
#endif
