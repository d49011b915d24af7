/* What the index of an access is computed of, for helps about it.  Private to causes.c. */
#ifndef TL_EXEC_CAUSE_INDEX_H
#define TL_EXEC_CAUSE_INDEX_H

#include "exec/reach.h"

/* How many an index has that was loaded: what the next one in the address is multiplied by beyond
 * it, rows, in (b * rows + index) * n, or how many fit into an array of `count` elements; NULL: it
 * is not known. */
const char *tl_index_limit(const TlLaunched *l, const TlOp *access, const TlValue *index,
                           int64_t count);
/* "kvh = h % group", of a remainder by `count` in the index; NULL: there is none. */
const char *tl_index_remainder(const TlLaunched *l, const TlOp *access, int64_t count);
/* The axis of the grid along which alone both programs differ, and whose program_id the index has
 * nothing of, but for what was loaded; -1: none.  *is_loaded: where that comes from moves along
 * it. */
int tl_index_lacks(const TlLaunched *l, const TlOp *access, const uint32_t *one,
                   const uint32_t *other, bool *is_loaded);

#endif
