/* Classes of host code and of kernels, as far as kernels use them: NamedTuple (a tuple with field
 * names), Enum (its members), dataclass-like and @aggregate classes (objects with fields, __init__
 * and methods).  Also what decorators say about a kernel's launch. */
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

bool
tl_is_constexpr_annotation(const TlNode *n)
{
   if (!n)
      return false;
   if (n->kind == TL_AST_NAME)
      return strcmp(tl_ast_Name(n)->id, "constexpr") == 0;
   if (n->kind == TL_AST_ATTRIBUTE)
      return strcmp(tl_ast_Attribute(n)->name, "constexpr") == 0;
   if (n->kind == TL_AST_STR) {
      const char *t = tl_ast_Str(n)->value.data;
      return strcmp(t, "constexpr") == 0 || strcmp(t, "tl.constexpr") == 0;
   }
   /* constexpr | None, Optional[constexpr]: as in Triton, who names it somewhere means it */
   if (n->kind == TL_AST_BINARY)
      return tl_is_constexpr_annotation(tl_ast_Binary(n)->left) ||
             tl_is_constexpr_annotation(tl_ast_Binary(n)->right);
   if (n->kind == TL_AST_SUBSCRIPT) {
      const TlNodeList *in = &tl_ast_Subscript(n)->indices;
      for (size_t i = 0; i < in->len; i++)
         if (tl_is_constexpr_annotation(in->data[i]))
            return true;
   }
   return false;
}

/* ---- classes ---- */
static TlFrame *
class_frame(TlSema *s, const TlSvFunc *cls)
{
   assert(cls->node->kind == TL_AST_CLASS);
   if (cls->class_frame)
      return cls->class_frame;
   TlActivation *act = tl_new(s->arena, TlActivation);
   act->is_host = true;
   act->caller = s->impl->act;
   TlFrame *f = tl_frame_new(s, cls->closure, cls->source, act);
   f->is_class = true;
   TlSvFunc *mine = (TlSvFunc *)(uintptr_t)cls;
   mine->class_frame = f;
   const TlAstClass *c = tl_ast_Class(cls->node);
   TlDiags *saved = s->diags, quiet;
   tl_diags_init(&quiet, s->arena, s->sources);
   s->diags = &quiet;
   for (size_t i = 0; i < c->body.len; i++) {
      const TlNode *n = c->body.data[i];
      if (n && n->kind == TL_AST_FUNCTION) {
         TlSvFunc *fn = tl_func_value(s, cls->source, cls->closure, n);
         tl_frame_set(s, f, fn->name, (TlSv){.kind = TL_SV_FUNC, .func = fn}, n->range);
      } else if (n && (n->kind == TL_AST_ASSIGN || n->kind == TL_AST_ANN_ASSIGN)) {
         TlNodeList one = {(TlNode *[]){(TlNode *)(uintptr_t)n}, 1, 1};
         tl_stmt_block(s, f, &one, 0, NULL);
      }
   }
   s->diags = saved;
   return f;
}

static bool
has_base(TlSema *s, const TlAstClass *c, const char *name)
{
   for (size_t i = 0; i < c->bases.len; i++) {
      const char *dotted = tl_dotted_text(s, c->bases.data[i]);
      const char *dot = dotted ? strrchr(dotted, '.') : NULL;
      if (dotted && strcmp(dot ? dot + 1 : dotted, name) == 0)
         return true;
   }
   return false;
}

bool
tl_class_attr(TlSema *s, const TlSvFunc *cls, const char *name, TlSv *out)
{
   TlFrame *f = class_frame(s, cls);
   TlVar *v = tl_frame_var(f, tl_intern_cstr(s->strings, name));
   if (v)
      *out = v->value;
   return v != NULL;
}

/* Field names in order: annotated names of the body. */
static unsigned
class_fields(TlSema *s, const TlAstClass *c, const char ***names)
{
   unsigned n = 0;
   *names = tl_new_array(s->arena, const char *, c->body.len);
   for (size_t i = 0; i < c->body.len; i++) {
      const TlNode *b = c->body.data[i];
      if (b && b->kind == TL_AST_ANN_ASSIGN && tl_ast_AnnAssign(b)->target->kind == TL_AST_NAME)
         (*names)[n++] = tl_ast_Name(tl_ast_AnnAssign(b)->target)->id;
   }
   return n;
}

static bool
take_field(TlSema *s, const TlSvFunc *cls, const TlArgs *args, unsigned i, const char *name,
           TlRange range, TlSv *out)
{
   if (i < args->num_pos) {
      *out = args->pos[i];
      return true;
   }
   for (unsigned k = 0; k < args->num_kw; k++)
      if (args->kw_name[k] == name) {
         *out = args->kw[k];
         return true;
      }
   if (tl_class_attr(s, cls, name, out))
      return true;
   tl_report(s->diags, E0251, range, cls->name, name);
   return false;
}

TlSv
tl_instantiate(TlSema *s, TlFrame *f, const TlSvFunc *cls, const TlArgs *args, TlRange range)
{
   assert(cls->node->kind == TL_AST_CLASS);
   const TlAstClass *c = tl_ast_Class(cls->node);
   TlSv init, cls_sv = {.kind = TL_SV_FUNC, .func = (TlSvFunc *)(uintptr_t)cls};
   if (has_base(s, c, "Enum") || has_base(s, c, "IntEnum"))
      return args->num_pos == 1 ? args->pos[0] : tl_sv_poison();
   const char **names;
   unsigned n = class_fields(s, c, &names);
   if (!has_base(s, c, "NamedTuple") && tl_class_attr(s, cls, "__init__", &init) &&
       init.kind == TL_SV_FUNC) {
      TlSv self = tl_object_new(s, cls->name);
      tl_object_set(s, &self, "__class__", cls_sv);
      TlSvFunc *bound = tl_new(s->arena, TlSvFunc);
      *bound = *init.func;
      bound->self = &self;
      bound->is_compiled = f && !tl_is_host(f);
      unsigned errors = s->diags->num_errors;
      tl_invoke_func(s, f, bound, args, range);
      return s->diags->num_errors == errors ? self : tl_sv_poison();
   }
   if (args->num_pos > n) {
      tl_report(s->diags, E0252, range, cls->name, n, args->num_pos);
      return tl_sv_poison();
   }
   TlSv *values = tl_new_array(s->arena, TlSv, n);
   for (unsigned i = 0; i < n; i++)
      if (!take_field(s, cls, args, i, names[i], range, &values[i]))
         return tl_sv_poison();
   if (has_base(s, c, "NamedTuple")) {
      TlSv t = tl_make_tuple(s, values, n, false);
      t.tuple->names = names;
      return t;
   }
   TlSv o = tl_object_new(s, cls->name);
   tl_object_set(s, &o, "__class__", cls_sv);
   for (unsigned i = 0; i < n; i++)
      tl_object_set(s, &o, names[i], values[i]);
   return o;
}

/* ---- decorators ---- */
const char *
tl_decorator_name(const TlNode *n)
{
   while (n->kind == TL_AST_CALL)
      n = tl_ast_Call(n)->func;
   if (n->kind == TL_AST_NAME)
      return tl_ast_Name(n)->id;
   return n->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(n)->name : "";
}

const TlNode *
tl_decorator_argument(const TlNode *decorator, const char *keyword, int position)
{
   if (decorator->kind != TL_AST_CALL)
      return NULL;
   const TlNodeList *args = &tl_ast_Call(decorator)->args;
   int pos = 0;
   for (size_t i = 0; i < args->len; i++) {
      const TlNode *n = args->data[i];
      if (n->kind == TL_AST_KEYWORD) {
         if (tl_ast_Keyword(n)->name && strcmp(tl_ast_Keyword(n)->name, keyword) == 0)
            return tl_ast_Keyword(n)->value;
      } else if (n->kind != TL_AST_STARRED && pos++ == position) {
         return n;
      }
   }
   return NULL;
}

static int
int_argument(TlSema *s, TlFrame *f, const TlNode *decorator, const char *keyword)
{
   const TlNode *n = tl_decorator_argument(decorator, keyword, -1);
   if (!n)
      return 0;
   TlSv v = tl_eval_expr(s, f, n);
   if (v.kind == TL_SV_INT && v.i > 0 && v.i <= 1024)
      return (int)v.i;
   if (v.kind != TL_SV_POISON)
      tl_report(s->diags, E0260, n->range, keyword, tl_sv_describe(s, &v));
   return 0;
}

static void
read_config(const TlSv *configs, TlMeta *m)
{
   TlSv *items, v;
   size_t len;
   if (configs->kind != TL_SV_TUPLE || !configs->tuple->len)
      return;
   items = configs->tuple->items;
   len = configs->tuple->len;
   for (size_t i = 0; i < len; i++) {
      if (items[i].kind != TL_SV_OBJECT || strcmp(items[i].fields->type_name, "Config") != 0)
         continue;
      if (tl_object_get(&items[i], "kwargs", &v) && v.kind == TL_SV_DICT)
         m->config = v;
      int64_t given = tl_object_get(&items[i], "given", &v) && v.kind == TL_SV_INT ? v.i : 0;
      if ((given >> 1 & 1) && tl_object_get(&items[i], "num_warps", &v) && v.kind == TL_SV_INT)
         m->config_warps = (int)v.i;
      if ((given >> 2 & 1) && tl_object_get(&items[i], "num_stages", &v) && v.kind == TL_SV_INT)
         m->config_stages = (int)v.i;
      return;
   }
}

void
tl_read_decorators(TlSema *s, const TlSvFunc *fn, TlMeta *m)
{
   assert(fn->node->kind == TL_AST_FUNCTION);
   *m = (TlMeta){.config = tl_sv_none()};
   const TlNodeList *d = &tl_ast_Function(fn->node)->decorators;
   TlFrame *f = tl_module_frame(s, fn->source);
   f->parent = fn->closure;
   for (size_t i = 0; i < d->len; i++) {
      const TlNode *n = d->data[i];
      const char *last = tl_decorator_name(n);
      if (tl_is_jit_decorator(n)) {
         int warps = int_argument(s, f, n, "num_warps"),
             stages = int_argument(s, f, n, "num_stages");
         m->num_warps = warps ? warps : m->num_warps;
         m->num_stages = stages ? stages : m->num_stages;
         m->num_ctas = int_argument(s, f, n, "num_ctas");
         const TlNode *grid = tl_decorator_argument(n, "grid", -1);
         m->grid = grid ? tl_grid_text(s, fn, grid) : NULL;
      } else if (strcmp(last, "heuristics") == 0) {
         const TlNode *values = tl_decorator_argument(n, "values", 0);
         if (values)
            tl_vec_push(s->arena, &m->heuristics, values);
      } else if (strstr(last, "autotune") || strcmp(last, "libtuner") == 0) {
         const TlNode *configs = tl_decorator_argument(n, "configs", 0);
         m->autotune = n;
         if (configs) {
            TlSv v = tl_quiet_value(s, f, configs, NULL);
            read_config(&v, m);
         }
      } else if (strcmp(last, "constexpr_function") != 0) {
         tl_report(s->diags, R0200, n->range, tl_node_text(s, n));
      }
   }
}

/* The parameter that one item of do_not_specialize means: its name, or its index.  A .py file may
 * hold any expression here; what it does not make a name or an index is left alone. */
static TlKernelParam *
param_meant(TlKernelInfo *k, const TlSv *item)
{
   if (item->kind == TL_SV_INT)
      return item->i >= 0 && item->i < (int64_t)k->num_params ? &k->params[item->i] : NULL;
   for (unsigned i = 0; item->kind == TL_SV_STR && i < k->num_params; i++)
      if (strlen(k->params[i].name) == item->s.len &&
          memcmp(k->params[i].name, item->s.data, item->s.len) == 0)
         return &k->params[i];
   return NULL;
}

static void
mark_params(TlSema *s, TlFrame *f, const TlNode *list, TlKernelInfo *k, bool align_only)
{
   if (!list)
      return;
   TlSv v = tl_quiet_value(s, f, list, NULL);
   for (size_t i = 0; v.kind == TL_SV_TUPLE && i < v.tuple->len; i++) {
      TlKernelParam *p = param_meant(k, &v.tuple->items[i]);
      if (p)
         *(align_only ? &p->no_align : &p->no_specialize) = true;
   }
}

void
tl_read_no_specialize(TlSema *s, const TlSvFunc *fn, TlKernelInfo *k)
{
   const TlNodeList *d = &tl_ast_Function(fn->node)->decorators;
   TlFrame *f = tl_module_frame(s, fn->source);
   f->parent = fn->closure;
   for (size_t i = 0; i < d->len; i++) {
      const TlNode *n = d->data[i];
      if (!tl_is_jit_decorator(n))
         continue;
      mark_params(s, f, tl_decorator_argument(n, "do_not_specialize", -1), k, false);
      mark_params(s, f, tl_decorator_argument(n, "do_not_specialize_on_alignment", -1), k, true);
   }
}
