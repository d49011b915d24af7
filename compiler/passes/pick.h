/* Where the registers of a pick's operands come from.  A pick may have as many operands as results,
 * so the table is made once: a search for each register would be quadratic. */
#ifndef TL_PASSES_PICK_H
#define TL_PASSES_PICK_H

#include "ir/ir.h"

typedef struct TlPickSource {
   uint32_t arg; /* operand */
   uint32_t reg; /* register of that operand */
} TlPickSource;

/* One entry for each register of the operands in order; operand i has count[i] registers.  Lives in
 * the arena. */
static inline TlPickSource *
tl_pick_sources(TlArena *arena, const uint32_t *count, uint32_t num_args)
{
   size_t total = 0, n = 0;
   for (uint32_t a = 0; a < num_args; a++)
      total += count[a];
   TlPickSource *s = tl_new_array(arena, TlPickSource, total);
   for (uint32_t a = 0; a < num_args; a++)
      for (uint32_t r = 0; r < count[a]; r++)
         s[n++] = (TlPickSource){a, r};
   return s;
}

#endif
