/* The options of bench, which all benches read. */
#ifndef OPTION_H
#define OPTION_H

#include "../../tfnorm.h"
#include <stdbool.h>

enum { ROUNDS = 31 };
struct bench_option {
    tfn_isa isa;
    int threads, rounds;
    bool json, quick, peers, counts;
    const char *only;
    const char *ggml, *runq;             /* programs of others, for bench quant */
    double minutes;                      /* of bench learn; 0: not given */
    char script[300];                    /* of PyTorch, beside this program's folder */
    char tfn[300];                       /* the program beside this one */
};
extern struct bench_option option;
#endif
