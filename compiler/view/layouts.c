/* The layouts of a LAID function, and the values that have them. */
#include "view/impl.h"

#include "ir/walk.h"

#include <ctype.h>
#include <string.h>

typedef struct Cx {
   TlView *view;
   const TlPrintIndex *index;
   TlMap line_of; /* const TlOp * -> line */
} Cx;

static unsigned
elem_bytes(const TlType *t)
{
   const TlType *elem = tl_type_elem(t);
   return elem->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[elem->dtype].bytes;
}

/* Where the value is defined: of an argument, the operation that its region belongs to. */
static uint32_t
line_of(const Cx *cx, const TlValue *value)
{
   const TlOp *op = value->def ? value->def : value->block->region->parent;
   return (uint32_t)(uintptr_t)tl_map_get(&cx->line_of, op);
}

static void
visit(void *user, const TlValue *value)
{
   Cx *cx = user;
   TlView *v = cx->view;
   const TlType *t = value->type;
   if (!t->layout)
      return;
   bool is_new = true;
   for (size_t i = 0; is_new && i < v->layouts.len; i++)
      is_new = v->layouts.data[i].layout != t->layout;
   if (is_new)
      tl_vec_push(v->arena, &v->layouts,
                  (TlViewLayout){t->layout, tl_map_get(&cx->index->layouts, t->layout)});
   TlViewUse use = {.layout = t->layout,
                    .name = cx->index->names[value->id],
                    .type = tl_type_cstr(v->arena, t),
                    .elem_bytes = elem_bytes(t),
                    .is_shared = t->kind == TL_TYPE_MEMDESC,
                    .line = line_of(cx, value)};
   tl_vec_push(v->arena, &v->uses, use);
}

void
tl_view_layouts(TlView *v, const TlFunc *laid, const TlPrintIndex *index, const uint32_t *lines)
{
   Cx cx = {.view = v, .index = index};
   tl_map_init(&cx.line_of, v->arena);
   for (size_t i = 0; i < index->ops.len; i++)
      tl_map_put(&cx.line_of, index->ops.data[i].op, (void *)(uintptr_t)lines[i]);
   tl_walk_values(laid->body->block, visit, &cx);
}

static const TlViewUse *
first_use(const TlView *v, const TlLinear *layout)
{
   for (size_t i = 0; i < v->uses.len; i++)
      if (v->uses.data[i].layout == layout)
         return &v->uses.data[i];
   return NULL;
}

static const TlViewUse *
use_called(const TlView *v, const char *name)
{
   const char *plain = name[0] == '%' ? name + 1 : name;
   for (size_t i = 0; i < v->layouts.len; i++)
      if (strcmp(v->layouts.data[i].name, name) == 0)
         return first_use(v, v->layouts.data[i].layout);
   for (size_t i = 0; i < v->uses.len; i++)
      if (v->uses.data[i].name && strcmp(v->uses.data[i].name, plain) == 0)
         return &v->uses.data[i];
   return NULL;
}

const TlLinear *
tl_view_find_layout(const TlView *v, const char *name, unsigned *bytes, const char **title)
{
   const TlViewUse *found = use_called(v, name);
   if (!found)
      return NULL;
   *bytes = found->elem_bytes;
   *title = name[0] == '#' ? tl_arena_printf(v->arena, "%s of %s", name, found->type)
                           : tl_arena_printf(v->arena, "%%%s: %s", found->name, found->type);
   return found->layout;
}

const char *
tl_view_layout_names(const TlView *v, const char *name)
{
   enum { MOST = 12 };
   TlNearest near = {.name = name[0] == '%' ? name + 1 : name};
   TlSb names;
   tl_sb_init(&names, v->arena);
   unsigned listed = 0;
   for (size_t i = 0; i < v->uses.len; i++) {
      const char *own = v->uses.data[i].name;
      bool is_known = !own || isdigit((unsigned char)*own); /* %12: no name of the source */
      for (size_t k = 0; k < i && !is_known; k++)
         is_known = v->uses.data[k].name && strcmp(v->uses.data[k].name, own) == 0;
      if (is_known)
         continue;
      tl_nearest_try(&near, own);
      if (listed++ < MOST)
         tl_sb_printf(&names, "%s%s", names.len ? ", " : "", own);
   }
   if (near.best)
      return tl_arena_printf(v->arena, "did you mean '%s'?", near.best);
   return listed ? tl_arena_printf(v->arena, "there are %s%s", tl_sb_cstr(&names),
                                   listed > MOST ? " and others" : "")
                 : "there is none with a name";
}

/* ---- as JSON ---- */
static void
put_numbers(TlSb *out, const char *key, const uint32_t *n, unsigned count)
{
   tl_json_open_field(out, key, '[');
   for (unsigned i = 0; i < count; i++)
      tl_json_int(out, NULL, n[i]);
   tl_json_close(out, ']');
}

static void
put_uses(const TlView *v, const TlLinear *l, TlSb *out)
{
   tl_json_open_field(out, "uses", '[');
   for (size_t i = 0; i < v->uses.len; i++) {
      const TlViewUse *u = &v->uses.data[i];
      if (u->layout != l || !u->name)
         continue;
      tl_json_open(out, '[');
      tl_json_str(out, NULL, u->name);
      tl_json_str(out, NULL, u->type);
      tl_json_int(out, NULL, u->line);
      tl_json_close(out, ']');
   }
   tl_json_close(out, ']');
}

static void
put_layout(const TlView *v, size_t i, TlSb *out)
{
   const TlLinear *l = v->layouts.data[i].layout;
   uint32_t dims[TL_LL_MAX_RANK], repeat[TL_LL_MAX_RANK], num[TL_HW_COUNT];
   const TlViewUse *first = first_use(v, l); /* what made it known */
   for (unsigned d = 0; d < l->rank; d++) {
      dims[d] = 1u << l->log2_dim[d];
      repeat[d] = l->repeat[d];
   }
   for (unsigned h = 0; h < TL_HW_COUNT; h++)
      num[h] = l->num[h];
   TlSb text;
   tl_sb_init(&text, v->arena);
   tl_ll_print(l, &text);
   tl_json_open(out, '{');
   tl_json_str(out, "name", v->layouts.data[i].name);
   tl_json_str(out, "text", tl_sb_cstr(&text));
   tl_json_bool(out, "shared", first->is_shared);
   tl_json_int(out, "bytes", first->elem_bytes);
   put_numbers(out, "dims", dims, l->rank);
   put_numbers(out, "repeat", repeat, l->rank);
   put_numbers(out, "num", num, TL_HW_COUNT);
   put_numbers(out, "col", l->col, tl_ll_in_bits(l));
   put_uses(v, l, out);
   tl_json_close(out, '}');
}

void
tl_view_put_layouts(TlView *v, TlSb *out)
{
   tl_json_open_field(out, "layouts", '[');
   for (size_t i = 0; i < v->layouts.len; i++)
      put_layout(v, i, out);
   tl_json_close(out, ']');
}
