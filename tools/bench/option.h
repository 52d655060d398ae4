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
    const char *program;                 /* answers the questions of torch_peer.py; NULL: none */
    const char *ggml, *runq;             /* folder of ggml, program runq, for bench quant */
    int simulate;                        /* threads, for bench threads; 0: real ones */
    double barrier, bandwidth;           /* of the simulation: ns (0: measured), GB/s */
    double minutes;                      /* for bench learn; 0: not given */
    char script[300];                    /* path of torch_peer.py */
    char tfn[300];                       /* path of tfn, in this program's folder */
};
extern struct bench_option option;
#endif
