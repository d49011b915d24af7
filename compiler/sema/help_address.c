/* What is loaded where an address belongs; see help.h. */
#include "sema/help.h"
#include "ir/control.h"
#include "sema/impl.h"

#include <string.h>

enum { MAX_STEPS = 100 };

/* The load that a sum begins with, or adds: the value, or a tile of it. */
static const TlOp *
load_in(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def, *found = NULL;
   if (++*steps > MAX_STEPS)
      return NULL;
   if (!op) { /* what a loop carries is what it was entered with */
      const TlOp *loop = v->block && v->block->region ? v->block->region->parent : NULL;
      if (!loop || !tl_is_loop(loop) || v->index < tl_first_carried(loop))
         return NULL;
      unsigned init = tl_first_init(loop) + v->index - tl_first_carried(loop);
      const TlValue *from = init < loop->num_args ? tl_arg(loop, init)
                            : v->name             ? tl_value_named(loop->block, v->name)
                                                  : NULL; /* of a loop that is not built yet */
      return from ? load_in(from, steps) : NULL;
   }
   if (op->opcode == TL_OP_LOAD)
      return op;
   if (tl_is_loop(op))
      return tl_first_init(op) + v->index < op->num_args
                ? load_in(tl_arg(op, tl_first_init(op) + v->index), steps)
                : NULL;
   bool goes_on = op->opcode == TL_OP_ADD || op->opcode == TL_OP_SUB || op->opcode == TL_OP_CAST ||
                  op->opcode == TL_OP_SPLAT || op->opcode == TL_OP_BROADCAST ||
                  tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS);
   for (unsigned i = 0; goes_on && !found && i < op->num_args; i++)
      found = load_in(tl_arg(op, i), steps);
   return found;
}

bool
tl_help_loaded_address(TlSema *s, const TlValue *v, TlRange at)
{
   unsigned steps = 0;
   const TlOp *load = load_in(v, &steps);
   if (!load || tl_dtype_info[tl_value_dtype(tl_result(load, 0))].bits == 64)
      return false; /* a table of addresses */
   const TlValue *loaded = tl_result(load, 0);
   const TlDtype dtype = tl_type_elem(loaded->type)->dtype;
   const char *text = tl_arg(load, 0)->def ? tl_range_text(s, tl_arg(load, 0)->def->range) : "";
   bool is_within =
      load->range.file == at.file && at.begin <= load->range.begin && load->range.end <= at.end;
   bool is_short = *text && strlen(text) <= 60 && !strchr(text, '\n');
   if (tl_dtype_is_int(dtype))
      tl_help(s->diags,
              "what is loaded is a number: an index is added to the pointer of an array, "
              "tl.load(x + %.40s)",
              loaded->name ? loaded->name : "index");
   else if (is_short)
      tl_help(s->diags,
              "what is loaded is a value; the address that it comes from is '%s', "
              "without tl.load",
              text);
   else
      tl_help(s->diags, "what is loaded is a value; its address is the pointer without tl.load");
   if (!is_within)
      tl_note(s->diags, N0200, load->range,
              tl_arena_printf(s->arena, "a value of %s is loaded here, and no address",
                              tl_dtype_info[dtype].text));
   return true;
}
