/* The public table of this instance, in the order of the struct. Kernels that the build omits are
 * NULL, so that a decoder links without those for training and for norms that it does not use. */
#define TFN__TRAIN(name) TFN__KEPT(TFN__TRAINS, TFN__N(name))
#define TFN__TRAIN_KEPT(condition, name) TFN__KEPT(TFN__TRAINS && (condition), TFN__N(name))
#define TFN__EXTRA(name) TFN__KEPT(TFN__ALL, TFN__N(name))  /* not for LayerNorm and RMSNorm */
#ifdef TFN__NO_FMA              /* true if TFN__FMA rounds once; plain C may do so */
#define TFN__HAS_FMA false
#elif TFN__W == 1
#define TFN__HAS_FMA TFN__PLAIN_FMA
#else
#define TFN__HAS_FMA true
#endif
SHARED const tfn_kernels TFN__N(tfn__kernels) = {
    TFN__ISA_NAME, TFN__ISA_ID, TFN__HAS_FMA,
    /* products */
    TFN__N(tfn__matmul), TFN__N(tfn__matmul_work), TFN__TRAIN(tfn__column_sum),
    /* norms and softmax of rows */
    TFN__N(tfn__norm_forward), TFN__TRAIN(tfn__norm_backward),
    TFN__TRAIN(tfn__norm_params_backward),
    TFN__KEPT(TFN__SENTENCES, TFN__N(tfn__softmax_forward)), TFN__TRAIN(tfn__softmax_backward),
    /* attention */
    TFN__KEPT(TFN__SENTENCES, TFN__N(tfn__attention_forward)), TFN__TRAIN(tfn__attention_backward),
    TFN__N(tfn__attention_work), TFN__KEPT(TFN__DECODES, TFN__N(tfn__attention_cached)),
    /* activations and gated units */
    TFN__N(tfn__activation_forward), TFN__TRAIN(tfn__activation_backward),
    TFN__KEPT(TFN__GATES, TFN__N(tfn__gated_forward)),
    TFN__TRAIN_KEPT(TFN__GATES, tfn__gated_backward),
    /* tokens and positions */
    TFN__N(tfn__embed_forward), TFN__TRAIN(tfn__embed_backward),
    TFN__N(tfn__position_forward), TFN__TRAIN(tfn__position_backward),
    TFN__KEPT(TFN__ROTATES, TFN__N(tfn__rotary)),
    /* dropout, sums, scales, and sums of all values */
    TFN__TRAIN_KEPT(TFN__DROPS, tfn__dropout), TFN__N(tfn__combine),
    TFN__KEPT(TFN__SCALES, TFN__N(tfn__scale_columns)),
    TFN__TRAIN_KEPT(TFN__SCALES, tfn__scale_columns_backward),
    TFN__KEPT(TFN__SENTENCES, TFN__N(tfn__dot)),
    TFN__EXTRA(tfn__absmax), TFN__EXTRA(tfn__round_to_half),
    /* loss, update */
    TFN__TRAIN(tfn__cross_entropy_forward), TFN__TRAIN(tfn__cross_entropy_backward),
    TFN__TRAIN(tfn__update),
    TFN__TRAIN_KEPT(TFN__BY_TENSOR, tfn__update_tensor),
    TFN__TRAIN_KEPT(TFN__BY_TENSOR, tfn__update_work),
    /* elementary functions */
    TFN__KEPT(TFN__USER_KERNELS, TFN__N(tfn__exp)),
    TFN__KEPT(TFN__USER_KERNELS, TFN__N(tfn__tanh)),
    TFN__KEPT(TFN__USER_KERNELS, TFN__N(tfn__erf)),
    /* initial weights */
    TFN__TRAIN_KEPT(TFN__MODELS, tfn__random_values),
    /* updates with packed moments */
#if TFN__PACKS
    TFN__TRAIN(tfn__update_packed),
#else
    NULL,
#endif
};
/* The next instance defines these anew. */
#undef TFN__TRAIN
#undef TFN__TRAIN_KEPT
#undef TFN__EXTRA
#undef TFN__HAS_FMA
#undef TFN__NO_FMA
#undef TFN__N
#undef TFN__ISA_NAME
#undef TFN__ISA_ID
#undef TFN__W
#undef TFN__V
#undef TFN__LOAD
#undef TFN__STORE
#undef TFN__LOADN
#undef TFN__STOREN
#undef TFN__MASK
#undef TFN__SET
#undef TFN__SETBITS
#undef TFN__ADD
#undef TFN__SUB
#undef TFN__MUL
#undef TFN__DIV
#undef TFN__FMA
#undef TFN__MIN
#undef TFN__MAX
#undef TFN__ROOT
#undef TFN__LESS
#undef TFN__BITS
#undef TFN__AND
#undef TFN__OR
#undef TFN__EXP2
#undef TFN__SCALE
#undef TFN__HALVES
#undef TFN__BF16
#undef TFN__F16
#undef TFN__F16_OF
#undef TFN__BF16_LOW
#undef TFN__F16_LOW
#undef TFN__F16_HIGH
#undef TFN__QUARTER
#undef TFN__QROW
#undef TFN__QLOAD
#undef TFN__ZIPLO
#undef TFN__ZIPHI
#undef TFN__GET
#undef TFN__PUT
#undef TFN__EACH
#undef TFN__LANES
