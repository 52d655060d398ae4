#ifndef TFN__PLAN_H
#define TFN__PLAN_H
#include "../ground/ground.h"
#include "tape.h"

/* Plans a tape: writes the timeline and finds a place in the workspace for every buffer. Run walks
 * the result. Builds on record and the table of operations. */

/* Kinds of entries. REDO is a forward in the second life. SEED writes the gradient 1 of the last
 * value. PREPARE takes a linear map's gradient back through its activation. */
enum { TFN__FORWARD, TFN__REDO, TFN__SEED, TFN__PREPARE, TFN__BACKWARD, TFN__ENTRY_KINDS = 8 };

SHARED int32_t tfn__timeline_entry(int32_t node, int32_t kind);
/* The two parts of an entry. Without training the kind is a constant, so that a small build has no
 * code of the others. */
static TFN__INLINE int32_t tfn__entry_node(int32_t entry) { return entry / TFN__ENTRY_KINDS; }
static TFN__FOLD int32_t tfn__entry_kind(int32_t entry)
{
    if (!TFN__TRAINS) return TFN__FORWARD;
    return entry % TFN__ENTRY_KINDS;
}

/* Buffers of a node: its value and its saved array, and in training also both in a second life, and
 * the gradient. Life l of the value is buffer TFN__VALUE + 2*l, and of saved TFN__SAVE + 2*l. */
enum { TFN__VALUE, TFN__SAVE, TFN__VALUE2, TFN__SAVE2, TFN__GRAD, TFN__BUFFERS };

/* Returns the life of a node that an entry uses. The backward uses the second one, if there is one.
 */
static TFN__INLINE int tfn__life_of(const tfn_node *n, bool again)
{
    if (again && (n->flags & TFN__AGAIN)) return 1;
    return 0;
}
SHARED int64_t tfn__rows_at(const tfn_node *n, int64_t batch, int64_t source, int64_t target);
SHARED int64_t tfn__rows_max(const tfn_tape *t, const tfn_node *n);
SHARED int64_t tfn__saved_floats(const tfn_node *n, int64_t rows);

/* A buffer during planning: its life on the timeline (first -1: none) and its place. */
typedef struct tfn__item {
    int64_t size, at;           /* floats; offset among the values */
    int32_t first, last;        /* entries; last = order_count: to the end, and after it */
    int32_t next;               /* the next placed item, or -1 */
    int32_t owner;              /* node * TFN__BUFFERS + buffer, in rising order */
} tfn__item;
SHARED size_t tfn__order_end(const tfn_tape *t);
SHARED size_t tfn__plan_bytes(const tfn_tape *t);
#endif /* TFN__PLAN_H */
