/* What all programs for a board leave out. */
#define TFNORM_NO_MALLOC
#define TFNORM_NO_STDIO
#define TFNORM_NO_TOKENIZERS
#define TFNORM_NO_METRICS
