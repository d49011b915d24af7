/* What evaluation found out, kept for editors. */
#include "sema/impl.h"

#include <assert.h>

void
tl_sema_watch(TlSema *s)
{
   s->impl->seen = tl_new(s->arena, TlMap);
   tl_map_init(s->impl->seen, s->arena);
}

void
tl_see(TlSema *s, TlRange range, const TlSv *v)
{
   TlMap *seen = s->impl->seen;
   if (!seen || range.file != s->impl->main->file || v->kind == TL_SV_POISON)
      return;
   const void *key = (const void *)(uintptr_t)range.begin;
   TlSv *kept = tl_map_get(seen, key);
   if (!kept) {
      kept = tl_new(s->arena, TlSv);
      tl_map_put(seen, key, kept);
   }
   *kept = *v;
}

const TlSv *
tl_sema_seen(TlSema *s, uint32_t offset)
{
   return s->impl->seen ? tl_map_get(s->impl->seen, (const void *)(uintptr_t)offset) : NULL;
}

TlSv
tl_sema_meaning(TlSema *s, const TlNode *n)
{
   assert(s->impl->main);
   return tl_quiet_value(s, tl_module_frame(s, s->impl->main), n, NULL);
}

bool
tl_sv_definition(const TlSv *v, const TlNode **node, uint32_t *file)
{
   if (v->kind == TL_SV_MODULE && v->module->kind == TL_MOD_SOURCE && v->module->source) {
      *node = NULL;
      *file = v->module->source->file;
      return true;
   }
   if (v->kind != TL_SV_FUNC || !v->func->source || v->func->source->is_stdlib)
      return false;
   *node = v->func->node;
   *file = v->func->source->file;
   return true;
}

uint32_t
tl_sv_namespaces(const TlSv *v)
{
   return v->kind == TL_SV_MODULE && v->module->kind == TL_MOD_BUILTIN ? v->module->ns : 0;
}

const TlNode *
tl_sv_member(const TlSv *module, size_t i)
{
   bool is_file = module->kind == TL_SV_MODULE && module->module->kind == TL_MOD_SOURCE;
   const TlSourceModule *source = is_file ? module->module->source : NULL;
   return source && i < source->functions.len ? source->functions.data[i]->node : NULL;
}

const char *
tl_sv_constant(const TlSv *module, size_t i, const TlSv **value, TlRange *range)
{
   bool is_file = module->kind == TL_SV_MODULE && module->module->kind == TL_MOD_SOURCE;
   const TlSourceModule *source = is_file ? module->module->source : NULL;
   for (size_t k = 0; source && k < source->order.len; k++) {
      const TlGlobal *g = source->order.data[k];
      bool is_constant = tl_sv_is_number(&g->value) || g->value.kind == TL_SV_STR ||
                         g->value.kind == TL_SV_TYPE || g->value.kind == TL_SV_TUPLE;
      if (g->state != TL_GLOBAL_READY || !is_constant || i--)
         continue;
      *value = &g->value;
      *range = g->range;
      return g->name;
   }
   return NULL;
}
