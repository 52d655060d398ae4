/* tfnorm.h as boards use it. Sketches include this file, the library is compiled with it: what is
 * left out here is left out everywhere. `>> config` in tfnorm.h has all macros. */
#ifndef TFNORM_BOARD_H
#define TFNORM_BOARD_H
#define TFNORM_NO_STDIO
#define TFNORM_NO_MALLOC
#define TFNORM_NO_METRICS
#define TFNORM_NO_FILES
#define TFNORM_NO_TRAINING              /* away with this line: training, too, in 100 KB more */
#ifndef __FP_FAST_FMAF
#define TFNORM_EXACT                    /* without an FPU the bits of the others, slowly */
#endif
#include "tfnorm.h"
#endif
