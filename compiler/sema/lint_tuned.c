/* Configurations that are measured in place.  Each measurement launches the kernel many times on
 * the arrays of the caller: what adds to an array adds as often, unless @autotune clears it before
 * each launch or puts it back, or a hook does. */
#include "ir/walk.h"
#include "sema/generic.h"
#include "sema/lint_access.h"

#include <string.h>

static const TlNode *
autotune_of(TlSema *s, const TlSvFunc *fn)
{
   const TlNodeList *d = &tl_ast_Function(fn->node)->decorators;
   for (size_t i = 0; i < d->len; i++)
      if (d->data[i]->kind == TL_AST_CALL &&
          strcmp(tl_decorator_name(d->data[i]), "autotune") == 0 &&
          !tl_is_of_other_package(s, fn, d->data[i]))
         return d->data[i];
   return NULL;
}

static bool
has_no_hook(TlSv *config)
{
   TlSv hook;
   return config->kind == TL_SV_OBJECT && strcmp(config->fields->type_name, "Config") == 0 &&
          (!tl_object_get(config, "pre_hook", &hook) || hook.kind == TL_SV_NONE);
}

/* Two configurations or more, however the list is made, without a hook. */
static bool
is_measured_in_place(TlSema *s, const TlSvFunc *fn, const TlNode *autotune)
{
   const TlNode *list = tl_decorator_argument(autotune, "configs", 0);
   if (!list || tl_decorator_argument(autotune, "pre_hook", -1) ||
       tl_decorator_argument(autotune, "post_hook", -1))
      return false;
   const TlDiag *error = NULL;
   TlSv v = tl_decorator_value(s, fn, list, &error);
   if (error || v.kind != TL_SV_TUPLE || v.tuple->len < 2)
      return false;
   for (size_t i = 0; i < v.tuple->len; i++)
      if (!has_no_hook(&v.tuple->items[i]))
         return false;
   return true;
}

/* Is the array named, or may it be, in reset_to_zero=[..]? */
static bool
is_listed(TlSema *s, const TlNode *autotune, const char *option, const char *array)
{
   const TlNode *list = tl_decorator_argument(autotune, option, -1);
   if (!list || list->kind != TL_AST_LIST)
      return list != NULL;
   for (size_t i = 0; i < tl_ast_List(list)->items.len; i++) {
      TlSv v = tl_quiet_value(s, tl_module_frame(s, s->impl->main),
                              tl_ast_List(list)->items.data[i], NULL);
      if (v.kind != TL_SV_STR || strcmp(v.s.data, array) == 0)
         return true;
   }
   return false;
}

/* store(p, load(p) + v) */
static bool
adds_in_place(const TlLintFacts *f, const TlLintAccess *store)
{
   if (store->op->opcode != TL_OP_STORE)
      return false;
   const TlOp *sum = tl_lint_before_casts(tl_arg(store->op, 1))->def;
   if (!sum || sum->opcode != TL_OP_ADD)
      return false;
   for (unsigned i = 0; i < 2; i++) {
      const TlOp *load = tl_lint_before_casts(tl_arg(sum, i))->def;
      for (size_t k = 0; load && load->opcode == TL_OP_LOAD && k < f->all.len; k++)
         if (f->all.data[k].op == load && f->all.data[k].base == store->base)
            return true;
   }
   return false;
}

void
tl_lint_tuned(TlLintFacts *f)
{
   TlSema *s = f->s;
   const TlSvFunc *fn = tl_function_of(s, f->func->name);
   const TlNode *autotune = fn ? autotune_of(s, fn) : NULL;
   if (!autotune || !is_measured_in_place(s, fn, autotune))
      return;
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *x = &f->all.data[i];
      const char *array = x->base && tl_lint_is_argument(x->base) ? x->base->name : NULL;
      bool is_sum = x->op->opcode == TL_OP_ATOMIC_RMW
                       ? strcmp(tl_source_name(x->op), "atomic_add") == 0
                       : adds_in_place(f, x);
      if (!array || !is_sum || x->op->range.file != s->impl->main->file ||
          is_listed(s, autotune, "reset_to_zero", array) ||
          is_listed(s, autotune, "restore_value", array))
         continue;
      tl_report(s->diags, W0293, x->op->range, array);
      tl_help(s->diags,
              "reset_to_zero=[\"%.40s\"] clears it before each launch that is measured, "
              "restore_value=[\"%.40s\"] puts it back",
              array, array);
      tl_note(s->diags, N0200, autotune->range, "configurations are measured by launches of it");
      return;
   }
}
