/* Tokens and positions: look up rows of a table, add them, or rotate by them. The gradients are
 * added to the rows that were read, in the order of the tokens, so that sums have one order.
 * Threads divide the columns among them. */

/* y (rows, cols) = scale * table[token], table (vocab, cols). A token outside 0 .. vocab - 1, which
 * padding may have, gives zeros, so that the table is never read out of bounds. */
static void TFN__N(tfn__embed_forward)(float *y, const float *table, const int32_t *tokens,
                                       ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t vocab, float scale)
{
    const TFN__V s = TFN__SET(scale);
    for (ptrdiff_t r = 0; r < rows; r++, y += cols) {
        const float *row = table;
        if (tokens[r] < 0 || tokens[r] >= vocab) {
            TFNORM_MEMSET(y, 0, (size_t)cols * sizeof(float));
            continue;
        }
        row += tokens[r] * cols;
        TFN__EACH(c, k, cols) TFN__PUT(y + c, TFN__MUL(s, TFN__GET(row + c, k)), k);
    }
}

/* y = x + table[start + t] for rows (batch, time). */
static void TFN__N(tfn__position_forward)(float *y, const float *x, const float *table,
                                          ptrdiff_t batch, ptrdiff_t time, ptrdiff_t cols,
                                          ptrdiff_t start)
{
    for (ptrdiff_t b = 0; b < batch; b++)
        for (ptrdiff_t t = 0; t < time; t++, x += cols, y += cols) {
            const float *row = table + (start + t) * cols;
            TFN__EACH(c, k, cols)
                TFN__PUT(y + c, TFN__ADD(TFN__GET(x + c, k), TFN__GET(row + c, k)), k);
        }
}

/* dtable[token] += scale * dy, token after token. Rows are ld apart. Threads must divide columns,
 * not tokens, because two tokens may be equal. */
static void TFN__N(tfn__embed_backward)(float *dtable, const float *dy, const int32_t *tokens,
                                        ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld,
                                        ptrdiff_t vocab, float scale)
{
    const TFN__V s = TFN__SET(scale);
    for (ptrdiff_t r = 0; r < rows; r++, dy += ld) {
        float *row = dtable;
        if (tokens[r] < 0 || tokens[r] >= vocab) continue;
        row += tokens[r] * ld;
        TFN__EACH(c, k, cols)
            TFN__PUT(row + c, TFN__FMA(s, TFN__GET(dy + c, k), TFN__GET(row + c, k)), k);
    }
}

/* dtable[start + t] = the sum of dy over the batch, as a chain. Rows are ld apart. */
static void TFN__N(tfn__position_backward)(float *dtable, const float *dy, ptrdiff_t batch,
                                           ptrdiff_t time, ptrdiff_t cols, ptrdiff_t ld,
                                           ptrdiff_t start, bool add)
{
    for (ptrdiff_t t = 0; t < time; t++) {
        float *row = dtable + (start + t) * ld;
        TFN__EACH(c, k, cols) {
            TFN__V sum = TFN__SET(0);
            if (add) sum = TFN__GET(row + c, k);
            for (ptrdiff_t b = 0; b < batch; b++)
                sum = TFN__ADD(sum, TFN__GET(dy + (b*time + t) * ld + c, k));
            TFN__PUT(row + c, sum, k);
        }
    }
}

/* Rotates one head (Su et al. 2021, eq. 15): each pair (a, b) = (x[j], x[j + D/2]) is rotated by
 * its angle to (a cos - b sin, b cos + a sin). `half` is D/2. The table holds the cosines, then the
 * sines. The inverse rotates back, which gives the gradient. */
static TFN__INLINE void TFN__N(tfn__rotate_head)(float *y, const float *x, const float *table,
                                                 ptrdiff_t half, bool inverse, bool add)
{
    TFN__EACH(j, k, half) {
        const TFN__V a = TFN__GET(x + j, k);
        const TFN__V b = TFN__GET(x + half + j, k);
        const TFN__V c = TFN__GET(table + j, k);
        TFN__V s = TFN__GET(table + half + j, k);
        TFN__V u, v;
        if (inverse) s = TFN__SUB(TFN__SET(0), s);
        u = TFN__SUB(TFN__MUL(a, c), TFN__MUL(b, s));
        v = TFN__ADD(TFN__MUL(b, c), TFN__MUL(a, s));
        if (add) {
            u = TFN__ADD(TFN__GET(y + j, k), u);
            v = TFN__ADD(TFN__GET(y + half + j, k), v);
        }
        TFN__PUT(y + j, u, k);
        TFN__PUT(y + half + j, v, k);
    }
}

/* Rotates all heads of rows (batch, time). The row at time t has position start + t. In decoding
 * `start` is the position of the first new token. */
static void TFN__N(tfn__rotary)(float *y, const float *x, const float *table, ptrdiff_t batch,
                                ptrdiff_t time, ptrdiff_t heads, ptrdiff_t head_size,
                                ptrdiff_t start, bool inverse, bool add)
{
    for (ptrdiff_t b = 0; b < batch; b++)
        for (ptrdiff_t t = 0; t < time; t++)
            for (ptrdiff_t h = 0; h < heads; h++, x += head_size, y += head_size)
                TFN__N(tfn__rotate_head)(y, x, table + (start + t) * head_size, head_size / 2,
                                         inverse, add);
}
