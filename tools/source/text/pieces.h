#ifndef TFN__PIECES_H
#define TFN__PIECES_H
#include "../ground/ground.h"
#include "../ground/basics.h"

SHARED size_t tfn__run_of(const uint8_t *s, size_t n, size_t at, int wanted, size_t *last);
SHARED size_t tfn__word_behind_space(const uint8_t *s, size_t n);
SHARED size_t tfn__piece_of(tfn_tokenizer_kind kind, tfn_split split, const uint8_t *s, size_t n);
SHARED uint32_t tfn__hash(const uint8_t *s, size_t n);
SHARED uint32_t tfn__hash_pair(int32_t left, int32_t right);
SHARED int32_t *tfn__string_slot(int32_t *slots, const uint8_t *text, const int32_t *start,
                                 const uint8_t *s, size_t n);
SHARED int32_t *tfn__take_slots(tfn__arena *a, size_t n, tfn_error *e);
enum { TFN__SPECIAL_NAMES = 11 };
typedef struct tfn__special_name { char name[16]; tfn_special which; } tfn__special_name;
extern SHARED const tfn__special_name tfn__specials[TFN__SPECIAL_NAMES];
SHARED int tfn__special_row(const uint8_t *s, size_t n);
#endif /* TFN__PIECES_H */
