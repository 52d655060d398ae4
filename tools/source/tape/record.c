#include "record.h"
#include "../kernels/products.h"
#include "tape.h"
#include "op_table.h"

/* -- record ---------------------------------------------------------------------------------- */
/* A model is recorded once, so speed does not matter here. */
TFN__RARE

/* A recorded node has no pointers, so that a tape can be copied or be in flash. arg and number hold
 * the constants of an operation. The forward may save saved_cols floats per row for the backward;
 * the plan places them like a value.
 *
 * Every function that records follows one pattern: look at the inputs' nodes, check shapes and
 * options, append a node. The first error stays with the tape. After it nothing is recorded and
 * every call returns {0}, so a caller only needs to check when the tape is planned. */

/* Functions of the API check their tape first (tfn__recording). Private ones, which the builder
 * calls on its own tape, leave that to tfn__record. */
SHARED const tfn_var tfn__none = { 0 };

/* The node of a missing input, all zero. It is initialized as an array, because some C++ compilers
 * warn about { 0 } for structs. */
static const union tfn__zero_node {
    int64_t  zero[(sizeof(tfn_node) + sizeof(int64_t) - 1) / sizeof(int64_t)];
    tfn_node node;
} tfn__no_node = { { 0 } };

/* The layout of a tape's block: nodes, timeline, and while planning the items with their
 * order. A node has at most four entries (forward, again, prepare, backward) and five items of 36
 * bytes. The seed's entry is in the slack. */
#define TFN__NODE_BYTES (sizeof(tfn_node) + 4 * sizeof(int32_t) + 5 * 36)
#define TFN__TAPE_SLACK (4 * TFN__ALIGN)

/* Returns enough bytes for any tape of this many nodes. Afterwards tfn_tape.peak has the bytes that
 * were used. */
TFNORM_API size_t tfn_tape_bytes(int32_t nodes)
{
    size_t bytes = TFN__NODE_BYTES;
    if (nodes > 0) bytes = tfn__mul((size_t)nodes, TFN__NODE_BYTES);
    return tfn__sum(bytes, TFN__TAPE_SLACK);
}

/* True if the block has room for `bytes` more after the nodes; otherwise sets an error. */
SHARED bool tfn__has_room(tfn_tape *t, const char *op, size_t bytes)
{
    const size_t wanted = (size_t)t->count * sizeof *t->nodes + bytes;
    if (wanted > t->size)
        tfn__fail(&t->error, TFN_NO_MEMORY, op, "the block has %d bytes, but %d are needed",
                  (int64_t)t->size, (int64_t)wanted);
    return t->error.status == TFN_OK;
}

/* The tape takes as many nodes as fit into the block. Whether the plan fits, too, is known when it
 * is made: leaves need no items, and evaluation fewer. */
TFNORM_API void tfn_tape_init(tfn_tape *t, void *mem, size_t size, int32_t batch, int32_t source,
                              int32_t target, bool training)
{
    size_t skip = (0 - (size_t)(uintptr_t)mem) & (TFN__ALIGN - 1);      /* to the alignment */
    if (!t) return;
    TFNORM_MEMSET(t, 0, sizeof *t);
    t->error.node = -1;
    t->error.layer = -1;
    if (mem && size > skip) t->size = size - skip;
    if (mem) TFN__PERMIT(mem, size);
    if (!tfn__has_room(t, "tape", sizeof *t->nodes)) return;
    t->nodes = (tfn_node *)(void *)((unsigned char *)mem + skip);
    TFNORM_MEMSET(t->nodes, 0, sizeof *t->nodes);                       /* nodes[0] is "none" */
    t->count = 1;
    t->batch = batch;
    t->source = source;
    t->target = target;
    t->training = training;
    t->layer = -1;
}

/* Makes a tape that only counts the memory that recording would take. It needs memory for one node,
 * which it reuses for all. It does not know shapes, and reports no errors. */
SHARED void tfn__tape_count(tfn_tape *t, tfn_node *node, bool training)
{
    TFNORM_MEMSET(t, 0, sizeof *t);
    TFNORM_MEMSET(node, 0, sizeof *node);
    t->nodes = node;
    t->size = SIZE_MAX;
    t->count = 1;
    t->training = training;
    t->counts = true;
}

/* Returns a node of a tape, or the only one of a tape that counts. */
SHARED tfn_node *tfn__node_at(const tfn_tape *t, int32_t id)
{
    if (t->counts) return t->nodes;
    return t->nodes + id;
}

/* Returns the next node after this one that is marked as the output of a layer, or none. On a tape
 * that counts, any node will do. */
SHARED tfn_var tfn__next_layer(const tfn_tape *t, tfn_var after)
{
    tfn_var x;
    x.id = t->count - 1;
    if (t->counts) return x;
    for (x.id = after.id + 1; x.id < t->count; x.id++)
        if (t->nodes[x.id].flags & TFN__LAYER) return x;
    return tfn__none;
}

/* Keeps the tape's first error, with the node and layer being recorded. */
SHARED tfn_var tfn__keep_tape_error(tfn_tape *t, tfn_status status, const char *op,
                                    const char *text, int64_t found, int64_t wanted)
{
    bool first = t->error.status == TFN_OK;
    if (t->counts) return tfn__none;
    tfn__keep_error(&t->error, status, op, text, found, wanted);
    if (first) {
        t->error.node = t->count;
        t->error.layer = t->layer;
    }
    return tfn__none;
}

/* True if the tape accepts another operation. */
SHARED bool tfn__recording(tfn_tape *t)
{
    if (!t) return false;
    tfn__made(&t->error, "tape", t->nodes);
    return t->error.status == TFN_OK;
}

/* True if x is a recorded node. */
SHARED bool tfn__known(const tfn_tape *t, tfn_var x) { return x.id > 0 && x.id < t->count; }

/* True if the value is not in the workspace, because it is in another region or does not exist. */
SHARED bool tfn__outside(const tfn_node *n)
{
    return tfn__is_leaf(n) || n->op == TFN__OP_CACHE || n->op == TFN__OP_ENCODED
        || n->op == TFN__OP_PROBE;
}

/* Checks what every operation needs: inputs that exist or are absent, known rows, room on the tape.
 */
static bool tfn__node_fits(tfn_tape *t, const char *name, int rows, int32_t count, int32_t cols,
                           const tfn_var *in)
{
    for (int i = 0; i < 3; i++)
        if (in[i].id < 0 || in[i].id >= t->count) {
            tfn__bad_shape(t, name, "an input is value %d, the tape has %d", in[i].id, t->count);
            return false;
        }
    if (rows < TFN_ROWS_FIXED || rows >= TFN_ROWS_COUNT)
        tfn__bad_shape(t, name, "rows of kind %d, the last kind is %d", rows, TFN_ROWS_COUNT - 1);
    else if (t->planned)
        tfn__tape_error(t, TFN_NOT_READY, name, "the tape is already planned", 0, 0);
    else if (cols < 0)
        tfn__bad_shape(t, name, "a size is %d, at least %d is expected", cols, 0);
    else if (rows == TFN_ROWS_FIXED && count < 0)
        tfn__bad_shape(t, name, "a size is %d, at least %d is expected", count, 0);
    return tfn__has_room(t, name, sizeof *t->nodes);
}

#ifdef TFNORM_PLAIN
SHARED const char tfn__plain_only[] = "left out by TFNORM_PLAIN";
#else
SHARED const char tfn__plain_only[] = "left out by TFNORM_NO_TRAINING: define TFNORM_ALL_NORMS";
#endif

/* Used for options, for dropout and for attention. */
SHARED const char tfn__no_dropout[] = "dropout is left out by TFNORM_NO_DROPOUT";

/* Returns the macro that omits an operation. Compiles to nothing in builds with all operations. */
static const char *tfn__left_out(int op)
{
    const bool trains = op == TFN__OP_LOSS || op == TFN__OP_TARGETS || op == TFN__OP_NUMBERS;
    const bool caches = op == TFN__OP_CACHE || op == TFN__OP_ENCODED || op == TFN__OP_CACHED;
    const bool encodes = op == TFN__OP_FRAMES || op == TFN__OP_ENCODED || op == TFN__OP_FIRST
                      || op == TFN__OP_NUMBERS;
    if (!TFN__TRAINS && trains) return "left out by TFNORM_NO_TRAINING";
    if (!TFN__PAIRS && encodes) return "left out by TFNORM_ARCHS";
    if (!TFN__ROTATES && op == TFN__OP_ROTARY) return "left out by TFNORM_POSITIONS";
    if (!TFN__GATES && op == TFN__OP_GATED) return "left out by TFNORM_ACTIVATIONS";
    if (TFN__TRAINS && !TFN__DROPS && op == TFN__OP_DROPOUT) return tfn__no_dropout;
    if (!TFN__DECODES && caches) return "left out by TFNORM_NO_DECODERS";
    if (!TFN__SCALES && op == TFN__OP_SCALE) return "left out by TFNORM_NO_SCALES";
    if (!TFN__SENTENCES) return "left out by TFNORM_ONLY_DECODERS";
    return NULL;
}

/* Only linear maps, and for tables embeddings and transposed maps, can read packed weights. Any
 * other operation would read their bytes as floats. Recording it is an error here, so operations
 * need not know about packed weights. */
static bool tfn__reads_packed(tfn_tape *t, int op, int input, tfn_var x)
{
    const bool reader = (op == TFN__OP_LINEAR && input == 1) || op == TFN__OP_EMBED;
    if (!TFN__PACKS || t->counts || t->nodes[x.id].op != TFN__OP_PARAM) return true;
    if (!t->nodes[x.id].arg[TFN__PARAM_WEIGHTS] || reader) return true;
    tfn__tape_error(t, TFN_BAD_OPTION, tfn__ops[op].name,
                    "only linear maps and embeddings read weights of fewer bits", 0, 0);
    return false;
}

/* Appends a node whose value has `cols` columns, made from a, b and c. `rows` is a symbol, or
 * `count` rows if FIXED. Inputs that are {0} are absent. Returns NULL after an error. */
SHARED tfn_node *tfn__record(tfn_tape *t, int op, int rows, int32_t count, int32_t cols,
                             tfn_var a, tfn_var b, tfn_var c)
{
    tfn_node *n;
    const tfn_var in[3] = { a, b, c };
    if (!TFN__ALL && op == TFN__OP_NONE)
        tfn__tape_error(t, TFN_UNSUPPORTED, tfn__ops[op].name, tfn__plain_only, 0, 0);
    if (op > TFN__OP_INPUT && !tfn__ops[op].forward)
        tfn__tape_error(t, TFN_UNSUPPORTED, tfn__ops[op].name, tfn__left_out(op), 0, 0);
    if (t->error.status != TFN_OK) return NULL;
    if (!tfn__node_fits(t, tfn__ops[op].name, rows, count, cols, in)) return NULL;
    for (int i = 0; i < 3; i++)
        if (!tfn__reads_packed(t, op, i, in[i])) return NULL;

    n = tfn__node_at(t, t->count++);
    TFNORM_MEMSET(n, 0, sizeof *n);
    n->op = (uint8_t)op;
    t->placed += !tfn__outside(n);
    n->rows = (uint8_t)rows;
    n->count = count;
    n->cols = cols;
    if (t->counts) n->cols = 1;
    n->reads = tfn__ops[op].reads;
    n->layer = (int16_t)t->layer;
    n->segment = t->segment;
    for (int i = 0; i < 3; i++) n->in[i] = in[i].id;
    for (int life = 0; life < 2; life++) {              /* no place yet */
        n->value[life] = -1;
        n->saved[life] = -1;
    }
    n->grad = -1;
    return n;
}

/* Records a leaf of rows x cols in memory of the caller. */
static tfn_node *tfn__record_leaf(tfn_tape *t, int op, int rows, int32_t count, int32_t cols)
{
    return tfn__record(t, op, rows, count, cols, tfn__none, tfn__none, tfn__none);
}

/* Returns the value of a node, or none for NULL. */
SHARED tfn_var tfn__var_of(const tfn_tape *t, const tfn_node *n)
{
    tfn_var v = tfn__none;
    if (n && t->counts) v.id = t->count - 1;
    else if (n) v.id = (int32_t)(n - t->nodes);
    return v;
}

/* Returns the value of a node and sets its argument and number, or none for NULL. */
SHARED tfn_var tfn__var_with(const tfn_tape *t, tfn_node *n, int32_t arg, float number)
{
    if (!n) return tfn__none;
    n->arg[0] = arg;
    n->number[0] = number;
    return tfn__var_of(t, n);
}

/* Returns the node of a required input. If it is missing, sets an error and returns the "none"
 * node. */
SHARED const tfn_node *tfn__need(tfn_tape *t, const char *op, tfn_var x)
{
    if (t->error.status == TFN_OK && !tfn__known(t, x))
        tfn__bad_shape(t, op, "an input is missing (value %d of %d)", x.id, t->count);
    if (t->error.status != TFN_OK) return &tfn__no_node.node;
    return tfn__node_at(t, x.id);
}

/* Checks that x is a parameter or table of rows x cols. */
SHARED bool tfn__check_param(tfn_tape *t, const char *op, tfn_var x, int32_t rows, int32_t cols)
{
    const tfn_node *n = tfn__need(t, op, x);
    if (t->error.status != TFN_OK) return false;
    if (n->rows != TFN_ROWS_FIXED)
        tfn__bad_shape(t, op, "a parameter is expected, not value %d", x.id, 0);
    else if (n->cols != cols)
        tfn__bad_shape(t, op, "a parameter has %d columns, %d are expected", n->cols, cols);
    else if (n->count != rows)
        tfn__bad_shape(t, op, "a parameter has %d rows, %d are expected", n->count, rows);
    return t->error.status == TFN_OK;
}
/* The same for an optional x. */
SHARED bool tfn__check_optional(tfn_tape *t, const char *op, tfn_var x, int32_t rows, int32_t cols)
{
    if (!x.id) return t->error.status == TFN_OK;
    return tfn__check_param(t, op, x, rows, cols);
}

/* Checks that two values have the same rows, as symbols, and the same channels. */
SHARED bool tfn__same_shape(tfn_tape *t, const char *op, const tfn_node *a, const tfn_node *b)
{
    if (t->error.status != TFN_OK) return false;
    if (a->rows != b->rows || (a->rows == TFN_ROWS_FIXED && a->count != b->count))
        tfn__bad_shape(t, op, "the inputs have different rows (kinds %d and %d)", a->rows, b->rows);
    else if (a->cols != b->cols)
        tfn__bad_shape(t, op, "one input has %d channels, the other %d", a->cols, b->cols);
    return t->error.status == TFN_OK;
}

/* Checks that rows are positions of sentences. */
SHARED bool tfn__has_time(tfn_tape *t, const char *op, const tfn_node *x)
{
    if (t->error.status != TFN_OK) return false;
    if (x->rows != TFN_ROWS_SOURCE && x->rows != TFN_ROWS_TARGET)
        tfn__bad_shape(t, op, "rows of kind %d are not positions in time", x->rows, 0);
    return t->error.status == TFN_OK;
}

/* Checks an index of a run's inputs or ints. */
SHARED bool tfn__slot_ok(tfn_tape *t, const char *op, int32_t slot)
{
    if (slot < 0 || slot >= TFN_SLOTS)
        tfn__bad_shape(t, op, "slot %d, there are %d", slot, TFN_SLOTS);
    return t->error.status == TFN_OK;
}

/* -- leaves ---------------------------------------------------------------------------------- */

/* Rounds up to whole vectors. The pieces of a region (parameters, tables, buffers, workspace) are
 * so padded. */
SHARED TFN__NOINLINE int64_t tfn__padded(int64_t floats) { return (floats + 15) / 16 * 16; }

/* Records a parameter of rows x cols, the next in the flat vector. */
TFNORM_API tfn_var tfn_param(tfn_tape *t, int32_t rows, int32_t cols)
{
    if (!tfn__recording(t)) return tfn__none;
    tfn_node *n = tfn__record_leaf(t, TFN__OP_PARAM, TFN_ROWS_FIXED, rows, cols);
    if (!n) return tfn__none;
    n->value[0] = t->params;
    n->value[1] = t->params;
    n->grad = t->grads;
    t->params += tfn__padded((int64_t)rows * cols);
    t->grads += tfn__padded((int64_t)rows * cols);
    return tfn__var_of(t, n);
}

/* Records a parameter at the place an earlier tape gave it. If this tape may have it already,
 * returns that node, because the flags of its gradient are counted by node. `grad` is the place of
 * its gradient; frozen and packed parameters have none (below 0). */
SHARED tfn_var tfn__param_at(tfn_tape *t, const tfn__packed *p, int64_t at, int64_t grad,
                             bool shared)
{
    const int64_t grads = t->grads;
    tfn_var x;
    if (shared && !t->counts)
        for (x.id = 1; x.id < t->count; x.id++)
            if (t->nodes[x.id].op == TFN__OP_PARAM && t->nodes[x.id].value[0] == at) return x;
    t->params = at;
    t->grads = grad;
    x = tfn_param(t, p->rows, p->cols);
    if (grad < 0) {
        t->grads = grads;
        if (x.id) tfn__node_at(t, x.id)->grad = -1;
    }
    if (!TFN__PACKS || !x.id || !p->type) return x;
    t->params = at + tfn__padded((int64_t)(tfn__packed_bytes(p) / sizeof(float)));
    tfn__node_at(t, x.id)->arg[TFN__PARAM_WEIGHTS] = (int32_t)p->type;
    tfn__node_at(t, x.id)->arg[TFN__PARAM_TABLE] = p->table;
    return x;
}

/* Records constant data, such as sinusoids, as the next in the tables region. */
SHARED tfn_var tfn__table(tfn_tape *t, int32_t rows, int32_t cols)
{
    tfn_node *n = tfn__record_leaf(t, TFN__OP_TABLE, TFN_ROWS_FIXED, rows, cols);
    if (!n) return tfn__none;
    n->value[0] = t->tables;
    n->value[1] = t->tables;
    t->tables += tfn__padded((int64_t)rows * cols);
    return tfn__var_of(t, n);
}

/* Records numbers that training changes after an update, such as running statistics, at their place
 * in the buffers region. */
SHARED tfn_var tfn__buffer_at(tfn_tape *t, int32_t rows, int32_t cols, int64_t at)
{
    tfn_node *n = tfn__record_leaf(t, TFN__OP_BUFFER, TFN_ROWS_FIXED, rows, cols);
    if (!n) return tfn__none;
    n->value[0] = at;
    n->value[1] = at;
    t->buffers = at + tfn__padded((int64_t)rows * cols);
    return tfn__var_of(t, n);
}

/* Records floats that the caller binds for each run, such as frames of speech. They have no
 * gradient. */
TFNORM_API tfn_var tfn_input(tfn_tape *t, int32_t slot, tfn_rows rows, int32_t cols)
{
    if (!tfn__recording(t)) return tfn__none;
    if (!tfn__slot_ok(t, "input", slot)) return tfn__none;
    t->inputs_read |= UINT32_C(1) << slot;
    return tfn__var_with(t, tfn__record_leaf(t, TFN__OP_INPUT, (int)rows, 1, cols), slot, 0);
}

/* A copy, whose padding can be 0, for operations that would read NaN there. The value is in the
 * workspace, so it is not a leaf. It has no gradient either. */
SHARED tfn_var tfn__frames(tfn_tape *t, int32_t slot, tfn_rows rows, int32_t cols)
{
    t->inputs_read |= UINT32_C(1) << slot;
    return tfn__var_with(t, tfn__record_leaf(t, TFN__OP_FRAMES, (int)rows, 1, cols), slot, 0);
}
TFN__RARE_END
