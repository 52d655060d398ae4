#ifndef TFN__FIELDS_H
#define TFN__FIELDS_H
#include "../ground/ground.h"

#if !defined TFNORM_NO_FILES

/* Options stand in __metadata__ as texts under their names. Enumerations have the names of their
 * rows, so that a file means the same where a later version has more of them; files of format 1,
 * version 0.1, have numbers. */
enum {
    TFN__FIELD_BOOL, TFN__FIELD_WHOLE, TFN__FIELD_REAL,
    TFN__FIELD_CHOICE,                  /* an enumerator, by the name of its row; 0 may have none */
    TFN__FIELD_ISA,                     /* by its name, as tfn_isa_find has it */
    TFN__FIELD_NAME,                    /* of a recipe */
    TFN__FIELD_ROW,                     /* of a norm or initialization, perhaps the user's own */
    TFN__FIELD_GROUP,                   /* of parameters */
    TFN__FIELD_TOPOLOGY                 /* a row, perhaps the user's own, by its name */
};
/* When a model must have the same value as the file: never, always, or to train on; or no file has
 * the option. */
enum { TFN__MAY_DIFFER, TFN__SAME_ALWAYS, TFN__SAME_TO_TRAIN, TFN__NOT_SAVED };

/* How an option is called, what it is, and where it stands in tfn_model_desc. A new option is a row
 * here: a test finds those of tfn_model_desc that are missing. */
typedef struct tfn__field {
    char    name[28];
    uint8_t type, same;
    bool    later;                      /* files of 0.1 lack it: it is written where it is not 0,
                                         * and 0 where a file does not have it */
    size_t  at, size;
} tfn__field;

enum {
    TFN__FIELDS = 121,
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
#endif
#endif /* TFN__FIELDS_H */
