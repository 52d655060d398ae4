/* The header under one configuration macro, WITH_..., or all of them: see warnings.sh. */
#ifdef WITH_ALL
#define WITH_STATIC
#define WITH_ASSERT
#define WITH_NO_STDIO
#define WITH_NO_MALLOC
#define WITH_NO_TRAINING
#define WITH_NO_TOKENIZERS
#define WITH_ALL_NORMS
#define WITH_ONLY_KERNELS
#define WITH_NO_METRICS
#define WITH_NO_IMPORT
#define WITH_NO_PICKLE
#define WITH_NO_GGUF
#define WITH_NO_FILES
#define WITH_NO_QUANT
#define WITH_NO_SIMD
#define WITH_EXACT
#define WITH_REFERENCE
#define WITH_PARALLEL_FOR
#define WITH_MEM
#define WITH_SQRTF
#define WITH_FILE
#endif

#ifdef WITH_STATIC
#define TFNORM_STATIC
#endif
#ifdef WITH_API
#define TFNORM_API __attribute__((visibility("default")))
#endif
#ifdef WITH_ASSERT
#include <assert.h>
#define TFNORM_ASSERT(x) assert(x)
#endif
#ifdef WITH_NO_STDIO
#define TFNORM_NO_STDIO
#endif
#ifdef WITH_NO_MALLOC
#define TFNORM_NO_MALLOC
#endif
#ifdef WITH_NO_TRAINING
#define TFNORM_NO_TRAINING
#endif
#ifdef WITH_NO_TOKENIZERS
#define TFNORM_NO_TOKENIZERS
#endif
#ifdef WITH_ALL_NORMS
#define TFNORM_ALL_NORMS
#endif
#ifdef WITH_ONLY_KERNELS
#define TFNORM_ONLY_KERNELS
#endif
#ifdef WITH_NO_IMPORT
#define TFNORM_NO_IMPORT
#endif
#ifdef WITH_NO_PICKLE
#define TFNORM_NO_PICKLE
#endif
#ifdef WITH_NO_GGUF
#define TFNORM_NO_GGUF
#endif
#ifdef WITH_NO_QUANT
#define TFNORM_NO_QUANT
#endif
#ifdef WITH_NO_METRICS
#define TFNORM_NO_METRICS
#endif
#ifdef WITH_NO_FILES
#define TFNORM_NO_FILES
#endif
#ifdef WITH_NO_SIMD
#define TFNORM_NO_SIMD
#endif
#ifdef WITH_EXACT
#define TFNORM_EXACT
#endif
#ifdef WITH_REFERENCE
#define TFN__REFERENCE
#endif
#ifdef WITH_PARALLEL_FOR
#include "../../tools/common/threads.h"
#endif
#ifdef WITH_MEM
#include <string.h>
void *my_set(void *to, int byte, size_t size);
void *my_copy(void *to, const void *from, size_t size);
void *my_set(void *to, int byte, size_t size) { return memset(to, byte, size); }
void *my_copy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }
#define TFNORM_MEMSET my_set
#define TFNORM_MEMCPY my_copy
#endif
#ifdef WITH_SQRTF
#include <math.h>
float my_sqrt(float x);
float my_sqrt(float x) { return sqrtf(x); }
#define TFNORM_SQRTF my_sqrt
#endif
#ifdef WITH_FILE
#define TFNORM_FILE "tests/../tfnorm.h"
#endif

#ifdef WITH_SMALL
#define TFNORM_PLAIN
#define TFNORM_NO_SCALES
#define TFNORM_NO_MESSAGES
#define TFNORM_ARCHS       TFN_SET(TFN_ARCH_DECODER)
#define TFNORM_NORMS       TFN_SET(TFN_NORM_LAYER) | TFN_SET(TFN_NORM_RMS)
#define TFNORM_POSITIONS   TFN_SET(TFN_POSITION_LEARNED)
#define TFNORM_ACTIVATIONS TFN_SET(TFN_ACTIVATION_SWIGLU)
#define TFNORM_OPTIMIZERS  TFN_SET(TFN_OPTIMIZER_SGD)
#define TFNORM_SCHEDULES   TFN_SET(TFN_SCHEDULE_CONSTANT)
#endif
#ifdef WITH_LEAN
#define TFNORM_NO_DECODERS
#define TFNORM_NO_DROPOUT
#define TFNORM_NO_GROUPS
#endif
#ifdef WITH_ONLY_DECODERS
#define TFNORM_NO_TRAINING
#define TFNORM_ONLY_DECODERS
#endif

#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
