#ifndef TFN__FIELDS_H
#define TFN__FIELDS_H
#include "../ground/ground.h"

/* A checkpoint has the options as texts under their names in __metadata__. An enumerator is
 * saved by the name of its row, so that a file keeps its meaning when a later version adds rows.
 * Files of format 1 (version 0.1) have numbers instead of names. */
enum {
    TFN__FIELD_BOOL, TFN__FIELD_WHOLE, TFN__FIELD_REAL,
    TFN__FIELD_CHOICE,                  /* an enumerator, by its row's name; 0 may have no name */
    TFN__FIELD_ISA,                     /* an instruction set, by its name for tfn_isa_find */
    TFN__FIELD_NAME,                    /* a recipe, by its name */
    TFN__FIELD_ROW,                     /* a norm or initialization, perhaps the user's own */
    TFN__FIELD_GROUP,                   /* a group of parameters */
    TFN__FIELD_TOPOLOGY                 /* a row, perhaps the user's own, by its name */
};
/* When must model and file have the same value: never, always, or only to resume training?
 * NOT_SAVED: no file has the option. */
enum { TFN__MAY_DIFFER, TFN__SAME_ALWAYS, TFN__SAME_TO_TRAIN, TFN__NOT_SAVED };

/* An option: its name, its type, and its place in tfn_model_desc. A new option is a new row; a test
 * finds members of tfn_model_desc without one. */
typedef struct tfn__field {
    char    name[28];
    uint8_t type, same;
    bool    later;                      /* added after 0.1: a file has it only if it is not 0, and a
                                         * file without it means 0 */
    size_t  at, size;
} tfn__field;

enum {
    TFN__FIELDS = 128,
    TFN__FIELD_ROOM = 128               /* bytes of a value's text */
};
extern SHARED const tfn__field tfn__fields[TFN__FIELDS];
SHARED const char *tfn__field_name(const tfn__field *x);
SHARED const char *tfn__choice_text(const tfn__field *x, int64_t value);
SHARED const char *tfn__field_text(const tfn__field *x, const tfn_model_desc *d, char *buf);
SHARED bool tfn__field_unset(const tfn__field *x, const char *text);
SHARED bool tfn__begins(const char **text, const char *word);
SHARED bool tfn__set_group(tfn_group *g, const char *text);
SHARED bool tfn__field_set(const tfn__field *x, tfn_model_desc *d, const char *text);
#endif /* TFN__FIELDS_H */
