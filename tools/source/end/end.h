/* No private macro is left for the program that includes this file, but for the lists and the
 * enumerators' helpers of the api: they are needed again where the header comes first and the
 * implementation later. Each stands under the section that defines it. */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY
@undefine
/* And the state of the compiler is what it was: see the ground section. */
#if (defined __GNUC__ || defined __clang__) \
    && (defined TFNORM_NO_TRAINING || defined TFNORM_PLAIN || defined TFNORM_ONLY_KERNELS \
        || defined TFNORM_NO_TOKENIZERS || defined TFNORM_NO_METRICS || defined TFNORM_NO_FILES \
        || defined TFNORM_NO_IMPORT || defined TFNORM_NO_QUANT || defined TFNORM_NO_STDIO \
        || defined TFNORM_NO_MALLOC || defined TFNORM_NO_PICKLE)
#pragma GCC diagnostic pop
#endif
#if defined __clang__
#pragma STDC FP_CONTRACT DEFAULT
#elif defined __GNUC__
#pragma GCC pop_options
#endif
#endif
