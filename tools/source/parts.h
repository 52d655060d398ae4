/* What a part is compiled with as an object of its own, for tests and tools. The header has none of
 * this: there a SHARED function is static. */
#ifndef TFN__PARTS_H
#define TFN__PARTS_H
#ifndef TFNORM_ALL_ISA
#define TFNORM_ALL_ISA              /* tests compare all instruction sets */
#endif
#ifndef TFNORM_H
#define TFNORM_H
#include "api/open.h"
#include "api/api.h"
#include "api/api_kernels.h"
#include "api/api_tape.h"
#include "api/api_model.h"
#include "api/api_running.h"
#include "api/api_text.h"
#include "api/api_files.h"
#endif

/* Marks a function or table that other parts use, too. The word is as long as `static`, so that
 * arguments below it stay aligned in the header. */
#if defined __GNUC__ || defined __clang__
#define SHARED __attribute__((visibility("hidden")))
#else
#define SHARED
#endif
#endif /* TFN__PARTS_H */
