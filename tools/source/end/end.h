/* Undefine all private macros, so that none is left for the program that includes this file. The
 * only exceptions are the lists and enumerator helpers of the api, because the implementation needs
 * them if it is included later than the declarations. */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY
/* Restore the state of the compiler: see section ground. */
#if (defined __GNUC__ || defined __clang__) && TFN__OMITS
#pragma GCC diagnostic pop
#endif
#if defined __clang__
#pragma STDC FP_CONTRACT DEFAULT
#elif defined __GNUC__
#pragma GCC pop_options
#endif
@undefine
#endif
