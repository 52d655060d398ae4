/* The peers that bench compares with: BLAS libraries in this process, PyTorch in separate
 * processes. Peers that are not installed are left out. */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PEERS = 5 };
typedef void peer_cblas(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                        int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef int peer_dnnl(char ta, char tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha,
                      const float *a, ptrdiff_t lda, const float *b, ptrdiff_t ldb, float beta,
                      float *c, ptrdiff_t ldc);
typedef struct peer {
    char  name[48];
    FILE *to, *from;                    /* pipes to a process */
    peer_cblas *cblas;
    peer_dnnl  *dnnl;
} peer;

void peer_gemm(const peer *p, bool ta, bool tb, int m, int n, int k, const float *a,
               const float *b, float *c);

int peers_blas(peer *p, bool avx512);

bool peer_tell(peer *p, const char *question, char *line, int room);

double peer_ask(peer *p, const char *question);

bool peer_file(char *path, size_t room);

int peers_torch(peer *p, const char *script, bool avx512);

int peer_program(peer *p, const char *program);
#endif
