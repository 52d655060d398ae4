/* Parts that all programs for a board leave out. With BOARD_SMALL, decode.c and train.c keep only
 * what they need; without it they have everything else, and the same bits. */
#define TFNORM_NO_MALLOC
#define TFNORM_NO_STDIO
#define TFNORM_NO_TOKENIZERS
#define TFNORM_NO_METRICS
#ifdef BOARD_SMALL
#ifndef BOARD_PACKED            /* packed weights */
#define TFNORM_NO_QUANT
#endif
#define TFNORM_NO_SCALES
#define TFNORM_ARCHS       TFN_SET(TFN_ARCH_DECODER)
#define TFNORM_NORMS       TFN_SET(TFN_NORM_LAYER)
#define TFNORM_POSITIONS   TFN_SET(TFN_POSITION_ROTARY)
#define TFNORM_ACTIVATIONS TFN_SET(TFN_ACTIVATION_GELU_TANH)
#define TFNORM_OPTIMIZERS  TFN_SET(TFN_OPTIMIZER_ADAMW)
#define TFNORM_SCHEDULES   TFN_SET(TFN_SCHEDULE_CONSTANT)
#endif
