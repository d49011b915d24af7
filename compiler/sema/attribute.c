/* Attributes of values: of modules, objects, tuples with names, functions, and what a value of the
 * run or a type answers.  What is not there is an error here, with what was meant. */
#include "sema/help.h"
#include "sema/impl.h"

#include <string.h>

static bool
find_attribute(TlSema *s, const TlSv *self, const char *name, TlRange range, TlSv *out)
{
   switch (self->kind) {
   case TL_SV_MODULE:
      return tl_module_attr(s, self->module, name, out);
   case TL_SV_OBJECT:
      if (tl_class_of(self) && tl_class_attr(s, tl_class_of(self), "__getattribute__", out)) {
         *out = tl_sv_lost(s, tl_range_text(s, range), range);
         return true;
      }
      if (tl_object_get(self, name, out))
         return true;
      if (tl_object_get(self, "__class__", out) && tl_class_attr(s, out->func, name, out))
         return tl_bind_method(s, self, range, out);
      if (strcmp(self->fields->type_name, "device properties") == 0) {
         *out = tl_sv_lost(s, tl_range_text(s, range), range);
         return true;
      }
      break;
   case TL_SV_TUPLE:
      for (size_t i = 0; self->tuple->names && i < self->tuple->len; i++)
         if (strcmp(self->tuple->names[i], name) == 0) {
            *out = self->tuple->items[i];
            return true;
         }
      break;
   case TL_SV_FUNC:
      if (self->func->node->kind == TL_AST_CLASS && tl_class_attr(s, self->func, name, out))
         return tl_bind_class_method(s, self, out);
      if (strcmp(name, "__name__") == 0) {
         *out = tl_make_str(s, self->func->name, strlen(self->func->name));
         return true;
      }
      if (strcmp(name, "fn") == 0 || strcmp(name, "__wrapped__") == 0) {
         *out = *self;
         return true;
      }
      break;
   case TL_SV_OPAQUE:
      if (self->opaque->module) { /* of an import that finds nothing: that is what is wrong */
         *out = *self;
         return true;
      }
      *out =
         tl_sv_lost_of(s, self, tl_arena_printf(s->arena, "%s.%s", self->opaque->why, name), range);
      if (self->opaque->is_device_name &&
          (strcmp(name, "lower") == 0 || strcmp(name, "upper") == 0)) {
         TlLost *lost = tl_new(s->arena, TlLost);
         *lost = *out->opaque;
         lost->is_device_name = true;
         out->opaque = lost;
      }
      return true;
   default:
      break;
   }
   if (tl_sv_is_number(self) && strcmp(name, "value") == 0) {
      *out = tl_weaken(s, *self);
      out->member_of = 0;
      return true;
   }
   if ((self->kind == TL_SV_STR || self->kind == TL_SV_TYPE || self->kind == TL_SV_NONE) &&
       strcmp(name, "value") == 0) {
      *out = *self;
      out->member_of = 0;
      return true;
   }
   if (tl_host_method(s, self, name, out))
      return true;
   if (tl_attr_of_value(s, self, name, range, out))
      return true;
   const TlBuiltin *row = tl_builtin_method(name);
   bool may = tl_sv_is_runtime(self) || tl_sv_is_number(self);
   if (row && may) {
      TlSv *copy = tl_new(s->arena, TlSv);
      *copy = *self;
      *out = (TlSv){.kind = TL_SV_BUILTIN, .builtin = {row, copy}};
      return true;
   }
   return false;
}

TlHas
tl_try_attribute(TlSema *s, const TlSv *self, const char *name, TlRange range, TlSv *out)
{
   TlQuiet q;
   tl_quiet_begin(s, &q);
   bool has = find_attribute(s, self, name, range, out);
   const TlDiag *error = tl_quiet_end(s, &q);
   if (error)
      return tl_is_plain_object(s, self) && tl_forget_raised(s, error, "AttributeError")
                ? TL_HAS_NOT
                : TL_HAS_FAILED;
   if (tl_is_host_module_value(self) && has && tl_is_host_module_value(out))
      has = false;
   bool may_be_constexpr = tl_sv_is_number(self) || self->kind == TL_SV_STR ||
                           self->kind == TL_SV_TYPE || self->kind == TL_SV_NONE;
   if (may_be_constexpr && tl_in_host(s) && strcmp(name, "value") == 0)
      return TL_HAS_UNKNOWN; /* tl.constexpr(3) is 3 here, and only the one has a value */
   return has ? TL_HAS_IT : tl_lacks_attribute(s, self, name) ? TL_HAS_NOT : TL_HAS_UNKNOWN;
}

void
tl_help_own_module(TlSema *s, const TlSourceModule *source, const char *name)
{
   enum { MAX_NAMES = 8 };
   TlNearest n = {.name = name};
   const TlGlobal *near = NULL;
   TlSb names;
   unsigned num = 0;
   tl_sb_init(&names, s->arena);
   for (size_t i = 0; i < source->order.len; i++) {
      const TlGlobal *g = source->order.data[i];
      const char *best = n.best;
      if (g->state == TL_GLOBAL_DELETED)
         continue;
      tl_nearest_try(&n, g->name);
      near = n.best == best ? near : g;
      bool is_own = !g->import && g->name[0] != '_';
      if (is_own && num < MAX_NAMES)
         tl_sb_printf(&names, "%s%s", num ? ", " : "", g->name);
      else if (is_own && num == MAX_NAMES)
         tl_sb_str(&names, ", ..");
      num += is_own;
   }
   if (near) {
      tl_help(s->diags, "did you mean '%s'?", near->name);
      tl_note(s->diags, N0200, near->range,
              tl_arena_printf(s->arena, "'%s' is bound here", near->name));
   } else if (num) {
      tl_help(s->diags, "what the file has: %s", tl_sb_cstr(&names));
   } else {
      tl_help(s->diags, "the file binds no names; a module is a file of its own, %s.py or %s.tile",
              name, name);
   }
}

/* "tl.int8" of v.astype(tl.int8), torch.int8 or "int8"; NULL: another. */
static const char *
type_behind(TlSema *s, TlRange range)
{
   const TlSource *src = tl_source(s->sources, range.file);
   if (!src || range.end >= src->len || src->text[range.end] != '(')
      return NULL;
   const char *at = src->text + range.end + 1;
   size_t len = strcspn(at, ")(,\n");
   if (len > 40 || at[len] != ')')
      return NULL;
   const char *word = tl_arena_strndup(s->arena, at, len), *dot = strrchr(word, '.');
   TlSv type;
   word = dot ? dot + 1 : word;
   TlDtype dtype;
   if (tl_dtype_from_text(word, strlen(word), &dtype)) /* fp16 */
      word = tl_dtype_info[dtype].triton_name;
   return tl_dtype_constant(s, word, &type) ? tl_arena_printf(s->arena, "tl.%s", word) : NULL;
}

/* torch.max(x, dim).indices: a reduction, sort and topk give the values alone. */
static bool
help_indices(TlSema *s, const TlSv *self, const char *name)
{
   bool is_index = tl_word_is_listed("indices", name);
   if (self->kind != TL_SV_VALUE || (!is_index && !tl_word_is_listed("values", name)))
      return false;
   const TlOp *op = self->value->def;
   bool is_reduced = op && op->opcode == TL_OP_REDUCE && op->num_args == 1;
   const char *call = is_reduced ? tl_range_text(s, op->range) : "";
   size_t len = strlen(call);
   bool has_call = (strstr(call, "max(") || strstr(call, "min(")) && call[len - 1] == ')' &&
                   len <= 80 && !strchr(call, '\n');
   if (!is_index)
      tl_help(s->diags, "there are no pairs of values and indices: it is the values, leave .%s out",
              name);
   else if (has_call)
      tl_help(s->diags,
              "%.3s gives the values alone; with the index it is: value, index = %.*s, "
              "return_indices=True)",
              strstr(call, "max(") ? "max" : "min", (int)len - 1, call);
   else
      tl_help(s->diags, "only values are given; for the greatest of a tile, value, index = "
                        "tl.max(x, axis=0, return_indices=True) has both");
   return true;
}

static void
suggest_attribute(TlSema *s, const TlSv *self, const char *name)
{
   if (!tl_wants_help(s->diags))
      return;
   if (help_indices(s, self, name))
      return;
   TlNearest n = {.name = name};
   bool is_tl = self->kind == TL_SV_MODULE && self->module->kind == TL_MOD_BUILTIN &&
                (self->module->ns & TL_NS_TL);
   static const char limits[] = "max min eps tiny smallest_normal resolution inf nan finfo iinfo";
   if (self->kind == TL_SV_TYPE && tl_word_is_listed(limits, name)) {
      bool is_float = self->type->kind == TL_TYPE_SCALAR && tl_dtype_is_float(self->type->dtype);
      tl_help(s->diags, "write %s", tl_name_instead(is_float ? "finfo" : "iinfo"));
      return;
   }
   if (self->kind == TL_SV_BUILTIN && (self->builtin.row->namespaces & TL_NS_TL)) {
      tl_help(s->diags, "call it: tl.%s", tl_call_form(s, self->builtin.row));
      return; /* num_programs.y */
   }
   const char *other = is_tl || self->kind == TL_SV_VALUE || self->kind == TL_SV_TYPE
                          ? tl_other_name(s, name)
                          : NULL;
   const char *meant = is_tl && !other && !tl_suggest_builtin(s, TL_NS_TL, name)
                          ? tl_type_instead(s, name, true)
                          : NULL;
   if (meant)
      other = tl_arena_printf(s->arena, "write %s", meant);
   TlDtype dtype;
   bool is_triton = self->kind == TL_SV_MODULE && self->module->kind == TL_MOD_BUILTIN && !is_tl &&
                    (self->module->ns & TL_NS_TRITON);
   if (is_triton && tl_builtin_find(TL_NS_TL, name)) {
      tl_help(s->diags, "it is a name of triton.language: write tl.%s", name);
      return;
   }
   if (is_tl && tl_dtype_from_text(name, strlen(name), &dtype)) {
      tl_help(s->diags, "write tl.%s", tl_dtype_info[dtype].triton_name);
      return;
   }
   const char *as =
      other && strcmp(name, "astype") == 0 ? type_behind(s, s->diags->last->range) : NULL;
   if (as) {
      tl_help(s->diags, "write x.to(%s)", as);
      return;
   }
   if (other) {
      tl_help(s->diags, "%s", other);
      return;
   }
   if (self->kind == TL_SV_FLOAT && strstr(tl_range_text(s, s->diags->last->range), "..")) {
      tl_help(s->diags, "'..' makes no range: write range(0, n)");
      return;
   }
   TlSv type;
   if (self->kind == TL_SV_VALUE && tl_dtype_constant(s, name, &type)) { /* v.float32() */
      tl_help(s->diags, "types convert by x.to(tl.%s)", name);
      return;
   }
   const TlBuiltin *row = self->kind == TL_SV_VALUE ? tl_builtin_find(TL_NS_TL, name) : NULL;
   if (row && row->signature) { /* v.clamp(..) */
      tl_help(s->diags, "it is no method: write tl.%s", tl_call_form(s, row));
      return;
   }
   if (self->kind == TL_SV_MODULE && self->module->kind == TL_MOD_BUILTIN) {
      const char *near = tl_suggest_builtin(s, self->module->ns, name);
      if (near)
         tl_nearest_try(&n, near);
      if (strcmp(self->module->name, "triton") == 0)
         tl_nearest_try(&n, "language");
   } else if (self->kind == TL_SV_MODULE && self->module->kind == TL_MOD_SOURCE) {
      tl_help_own_module(s, self->module->source, name);
      return;
   } else if (self->kind == TL_SV_OBJECT) {
      for (size_t i = 0; i < self->fields->len; i++)
         tl_nearest_try(&n, self->fields->names[i]);
   } else if (self->kind == TL_SV_VALUE || self->kind == TL_SV_TYPE) {
      static const char *const own[] = {"dtype",  "shape",      "type",  "T",
                                        "scalar", "element_ty", "numel", "primitive_bitwidth"};
      for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
         tl_nearest_try(&n, own[i]);
      for (unsigned i = 0; (row = tl_builtin_at(i)); i++)
         if (row->flags & TL_BUILTIN_METHOD)
            tl_nearest_try(&n, row->name);
   }
   if (n.best)
      tl_help(s->diags, "did you mean '%s'?", n.best);
}

/* f(a. b): a variable or parameter of the kernel has this name. */
static bool
is_own_variable(const TlFrame *f, const char *name)
{
   if (!f || tl_is_host(f))
      return false;
   for (size_t i = 0; i < f->vars.len; i++)
      if (strcmp(f->vars.data[i].name, name) == 0)
         return f->vars.data[i].state == TL_VAR_BOUND;
   return false;
}

TlSv
tl_attribute(TlSema *s, TlFrame *f, const TlSv *self, const char *name, TlRange range)
{
   TlSv out;
   if (self->kind == TL_SV_POISON)
      return *self;
   unsigned errors = s->diags->num_errors;
   if (self->kind == TL_SV_VALUE)
      s->impl->blame.asked = self->value;
   if (find_attribute(s, self, name, range, &out))
      return out;
   if (s->diags->num_errors != errors)
      return tl_sv_poison();
   if (self->kind == TL_SV_MODULE)
      tl_report(s->diags, E0201, range, self->module->name, name);
   else
      tl_report(s->diags, E0202, range, tl_sv_describe(s, self), name);
   bool is_value = self->kind == TL_SV_VALUE || self->kind == TL_SV_INT;
   if (is_value && is_own_variable(f, name)) {
      tl_help(s->diags,
              "'%s' is a value of its own: is a ',' or an operator meant in place of the '.'?",
              name);
      return tl_sv_poison();
   }
   bool is_of_descriptor = strcmp(name, "load") == 0 || strcmp(name, "store") == 0 ||
                           strcmp(name, "gather") == 0 || strcmp(name, "scatter") == 0;
   if (self->kind == TL_SV_VALUE && !tl_name_instead(name) &&
       (is_of_descriptor || self->value->type->kind == TL_TYPE_SCALAR))
      tl_blame(s, self->value, TL_WANT_OTHER);
   if (self->kind == TL_SV_TYPE && strcmp(name, "element_ty") == 0)
      tl_blame(s, s->impl->blame.asked, TL_WANT_POINTER);
   if (self->kind == TL_SV_NONE || tl_is_plain_object(s, self))
      tl_raise_as(s, "AttributeError");
   if (self->kind == TL_SV_NONE && self->s.len)
      (void)tl_help_no_number(s, self);
   else if (self->kind == TL_SV_NONE)
      tl_help(s->diags, "test the argument with 'is not None' before it is used");
   else if (is_of_descriptor && self->kind == TL_SV_VALUE)
      tl_help(s->diags,
              "'%s' is a method of tensor descriptors: make one with "
              "make_tensor_descriptor, or use %s(pointer + offsets)",
              name, name);
   else
      suggest_attribute(s, self, name);
   return tl_sv_poison();
}
