/* Functions that keep their results: functools.cache and lru_cache.  The same arguments give the
 * same object, and what the function changes is changed once.  Kept are results of arguments whose
 * equality is plain, integers, texts and None by position; with others the function may change
 * nothing, nor give what may be changed, as it is not known which call made it.  The same from
 * where on results may have been dropped. */
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

enum { MAX_KEPT = 128, MAX_KEY = 16 };

typedef struct Kept {
   const TlSv *args;
   unsigned num;
   TlSv value;
} Kept;

struct TlMemo {
   TL_VEC(Kept) rows;
   unsigned most;       /* results that Python keeps */
   unsigned num_others; /* calls whose results it may keep besides */
   bool may_drop;       /* it may have dropped some */
};

static bool
is_key(const TlArgs *args)
{
   for (unsigned i = 0; i < args->num_pos; i++)
      if (args->pos[i].kind != TL_SV_INT && args->pos[i].kind != TL_SV_STR &&
          args->pos[i].kind != TL_SV_NONE)
         return false;
   return !args->num_kw;
}

static bool
is_same(TlSema *s, const Kept *k, const TlArgs *args)
{
   if (k->num != args->num_pos)
      return false;
   for (unsigned i = 0; i < k->num; i++)
      if (k->args[i].kind != args->pos[i].kind || !tl_const_equal(s, &k->args[i], &args->pos[i]))
         return false;
   return true;
}

TlSv
tl_cached_function(TlSema *s, const TlSv *fn, unsigned most)
{
   if (fn->kind != TL_SV_FUNC || fn->func->node->kind == TL_AST_CLASS || fn->func->is_compiled ||
       !most)
      return *fn;
   TlSvFunc *cached = tl_new(s->arena, TlSvFunc);
   *cached = *fn->func;
   cached->memo = tl_new(s->arena, TlMemo);
   cached->memo->most = most;
   return (TlSv){.kind = TL_SV_FUNC, .func = cached};
}

static TlSv
run_unkept(TlSema *s, TlFrame *f, const TlSvFunc *plain, const TlArgs *args, TlRange range)
{
   TlPure p;
   tl_pure_begin(s, &p);
   TlSv v = tl_pure_end(s, &p, tl_invoke_func(s, f, plain, args, range));
   if (v.kind == TL_SV_POISON || !tl_change_of(&v))
      return v;
   tl_report(s->diags, E0259, range, plain->name, "which of the results it kept this is");
   return tl_sv_poison();
}

TlSv
tl_invoke_cached(TlSema *s, TlFrame *f, const TlSvFunc *fn, const TlArgs *args, TlRange range)
{
   TlMemo *memo = fn->memo;
   bool is_kept = is_key(args) && args->num_pos <= MAX_KEY;
   assert(memo && !fn->is_compiled);
   for (size_t i = 0; is_kept && !memo->may_drop && i < memo->rows.len; i++)
      if (is_same(s, &memo->rows.data[i], args))
         return memo->rows.data[i].value;
   TlSvFunc *plain = tl_new(s->arena, TlSvFunc); /* the activation keeps it */
   *plain = *fn;
   plain->memo = NULL;
   memo->may_drop |= memo->rows.len + memo->num_others >= memo->most;
   if (!is_kept || memo->may_drop || memo->rows.len >= MAX_KEPT) {
      memo->num_others++;
      return run_unkept(s, f, plain, args, range);
   }
   TlSv v = tl_invoke_func(s, f, plain, args, range);
   if (v.kind == TL_SV_POISON)
      return v;
   TlSv *keys = tl_new_array(s->arena, TlSv, args->num_pos + 1);
   for (unsigned i = 0; i < args->num_pos; i++)
      keys[i] = args->pos[i];
   Kept kept = {.args = keys, .num = args->num_pos, .value = v};
   tl_vec_push(s->arena, &memo->rows, kept);
   return v;
}
