/* map_elementwise: a scalar function, control flow and all, on every element.  The function is run
 * once into the region of a `map` operation without results; its results then say which types the
 * operation has, and the region moves over. */
#include "sema/builtin.h"

#include <assert.h>
#include <string.h>

enum { MOST_RESULTS = 64 };

/* A map operation with an empty region; block arguments: pack elements of each operand in turn. */
static TlOp *
new_map(TlSema *s, TlValue *const *in, unsigned n, const TlType *const *types, unsigned num_results,
        int64_t pack)
{
   assert(n > 0 && pack > 0);
   TlAttrInit attr = {TL_ATTR_PACK, {.i = pack}};
   return tl_build(&s->b, TL_OP_MAP, in, n, types, num_results, &attr, 1, 1);
}

static bool
fill_region(TlSema *s, const TlCall *call, TlOp *op, TlValue *const *in, unsigned n, unsigned pack,
            TlValue **results, unsigned *num_results)
{
   assert(op->opcode == TL_OP_MAP && op->num_regions == 1);
   TlBlock *block = op->regions[0]->block;
   TlValue **args = tl_new_array(s->arena, TlValue *, n * pack);
   for (unsigned i = 0; i < n * pack; i++)
      args[i] = tl_block_add_arg(block, tl_type_elem(in[i / pack]->type), "x");
   TlBuilder saved = s->b;
   s->b.block = block;
   s->b.before = NULL;
   bool ok = tl_sema_call_scalars(s, &call->args[0], args, n * pack, results, MOST_RESULTS,
                                  num_results, call->range);
   if (ok)
      tl_build(&s->b, TL_OP_YIELD, results, *num_results, NULL, 0, NULL, 0, 0);
   s->b = saved;
   return ok;
}

TlSv
tl_builtin_map_elementwise(TlSema *s, const TlCall *call)
{
   int64_t pack;
   unsigned n = call->num_rest, got = 0;
   if (!tl_call_int(s, call, 2, &pack))
      return tl_sv_poison();
   if (n == 0 || pack < 1 || pack > 16)
      return tl_sv_refuse(s, E0345, call->range, n ? "pack" : "args", "map_elementwise",
                          n ? (long long)pack : 0LL, n ? "1 to 16" : "a number of tiles");
   TlValue **in = tl_new_array(s->arena, TlValue *, n);
   TlValue *results[MOST_RESULTS];
   const TlType *types[MOST_RESULTS];
   const TlSv *fn = &call->args[0];
   if (fn->kind == TL_SV_POISON)
      return *fn;
   if (!tl_sv_may_be_called(fn)) {
      tl_report(s->diags, E0313, tl_call_arg_range(call, 0), call->row->name,
                "a function of scalars first", tl_sv_text(s, fn));
      tl_help(s->diags, "write 'def f(a): return a + 1' under @triton.jit, and pass f: "
                        "tl.map_elementwise(f, x)");
      return tl_sv_poison();
   }
   for (unsigned i = 0; i < n; i++)
      if (!(in[i] = tl_call_rest_value(s, call, i)))
         return tl_sv_poison();
   for (unsigned round = 0; round < 2; round++)
      for (unsigned i = 1; i < n; i++)
         if (!tl_sema_broadcast(s, &in[0], &in[i], call->range))
            return tl_sv_poison();
   if (!tl_type_is_tile(in[0]->type))
      return tl_sv_refuse(s, E0310, call->range, "map_elementwise",
                          tl_type_cstr(s->arena, in[0]->type));
   TlOp *probe = new_map(s, in, n, NULL, 0, pack);
   if (!fill_region(s, call, probe, in, n, (unsigned)pack, results, &got)) {
      tl_remove(probe);
      return tl_sv_poison();
   }
   if (got == 0 || got % (unsigned)pack) {
      tl_report(s->diags, E0340, call->range, "map_elementwise", (unsigned)pack,
                pack == 1 ? "" : "s", tl_arena_printf(s->arena, "%u", got));
      tl_remove(probe);
      return tl_sv_poison();
   }
   unsigned num = got / (unsigned)pack;
   for (unsigned i = 0; i < num; i++)
      types[i] = tl_type_with_elem(s->types, in[0]->type, results[i * (unsigned)pack]->type);
   TlOp *op = new_map(s, in, n, types, num, pack);
   TlRegion *unused = op->regions[0];
   op->regions[0] = probe->regions[0];
   op->regions[0]->parent = op;
   probe->regions[0] = unused;
   unused->parent = probe;
   tl_remove(probe);
   TlSv out[MOST_RESULTS];
   for (unsigned i = 0; i < num; i++)
      out[i] = tl_sv_value(tl_result(op, i));
   return num == 1 ? out[0] : tl_sv_tuple(s, out, num);
}
