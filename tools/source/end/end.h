/* Undefine all private macros, so that none is left for the program that includes this file. The
 * only exceptions are the lists and enumerator helpers of the api, because the implementation needs
 * them if it is included later than the declarations. */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY
@undefine
/* Restore the state of the compiler: see section ground. */
#if (defined __GNUC__ || defined __clang__) \
    && (defined TFNORM_NO_TRAINING || defined TFNORM_PLAIN || defined TFNORM_ONLY_KERNELS \
        || defined TFNORM_NO_TOKENIZERS || defined TFNORM_NO_METRICS || defined TFNORM_NO_FILES \
        || defined TFNORM_NO_IMPORT || defined TFNORM_NO_QUANT || defined TFNORM_NO_STDIO \
        || defined TFNORM_NO_MALLOC || defined TFNORM_NO_PICKLE || defined TFNORM_NO_GGUF)
#pragma GCC diagnostic pop
#endif
#if defined __clang__
#pragma STDC FP_CONTRACT DEFAULT
#elif defined __GNUC__
#pragma GCC pop_options
#endif
#endif
