/* Beam search, ours and PyTorch's; a part of bench data. */
#ifndef BEAM_H
#define BEAM_H

#include "shapes.h"

extern const shape beams[];
void bench_beam(const shape *s);
#endif
