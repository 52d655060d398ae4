/* The next file of all_list.h. At file scope this includes the file with its main renamed; in the
 * main of all.c it calls that. */
#define ALL_JOIN(a, b) a##b
#define ALL_PATH(folder, name) ALL_STRING(folder/ALL_JOIN(test_, name).c)
#define ALL_STRING(path) ALL_STRING_OF(path)
#define ALL_STRING_OF(path) #path
#define ALL_MAIN(folder, name) ALL_JOIN(name, _main)
#define ALL_CALL(folder, name) if (all_wants(argc, argv, #name)) ALL_JOIN(name, _main)();
#define ALL_OF(macro, file) macro(file)
#ifdef ALL_CALLS
ALL_OF(ALL_CALL, ALL_FILE)
#else
#define main ALL_OF(ALL_MAIN, ALL_FILE)
#include ALL_OF(ALL_PATH, ALL_FILE)
#undef main
#endif
#undef ALL_FILE
#undef ALL_JOIN
#undef ALL_PATH
#undef ALL_STRING
#undef ALL_STRING_OF
#undef ALL_MAIN
#undef ALL_CALL
#undef ALL_OF
