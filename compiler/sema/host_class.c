/* Classes of host code and of kernels, as far as kernels use them: NamedTuple (a tuple with field
 * names), dataclass-like and @aggregate classes (objects with fields, __init__
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
/* What a class's method is by its decorator. */
static TlMethodKind
method_kind(const TlAstFunction *f)
{
   TlMethodKind kind = TL_METHOD_PLAIN;
   for (size_t i = 0; i < f->decorators.len; i++) {
      const char *name = tl_decorator_name(f->decorators.data[i]);
      if (strcmp(name, "staticmethod") == 0)
         kind = TL_METHOD_STATIC;
      else if (strcmp(name, "classmethod") == 0)
         kind = TL_METHOD_CLASS;
      else if (strcmp(name, "property") == 0)
         kind = TL_METHOD_PROPERTY;
      else if (strcmp(name, "cached_property") == 0)
         kind = TL_METHOD_CACHED_PROPERTY;
      else if (!tl_is_jit_decorator(f->decorators.data[i]))
         kind = TL_METHOD_UNKNOWN;
   }
   return kind;
}

static bool
is_abstract(const TlAstFunction *f)
{
   for (size_t i = 0; i < f->decorators.len; i++)
      if (tl_starts_with(tl_decorator_name(f->decorators.data[i]), "abstract"))
         return true;
   return false;
}

/* One statement of a class's body.  What is not followed loses the names that it binds. */
static void
class_stmt(TlSema *s, const TlSvFunc *cls, TlFrame *f, TlNode *n)
{
   if (n->kind == TL_AST_FUNCTION) {
      TlSvFunc *fn = tl_func_value(s, cls->source, cls->closure, n);
      tl_define_function(s, f, fn);
      fn->method = method_kind(tl_ast_Function(n));
      fn->is_abstract = is_abstract(tl_ast_Function(n));
      tl_frame_set(s, f, fn->name, (TlSv){.kind = TL_SV_FUNC, .func = fn}, n->range);
      return;
   }
   TlNodeList one = {&n, 1, 1};
   TlQuiet q;
   tl_quiet_begin(s, &q);
   f->act->errors = s->diags->num_errors;
   tl_stmt_block(s, f, &one, 0, NULL);
   const TlDiag *error = tl_quiet_end(s, &q);
   if (!error && cls->enum_kind != TL_ENUM_NONE)
      tl_number_member(s, f, n);
   if (!error)
      return;
   TlMap names;
   tl_map_init(&names, s->arena);
   tl_bound_names(s, &one, &names);
   for (size_t i = 0; i < names.cap; i++)
      if (names.slots[i].used)
         tl_frame_set(s, f, (const char *)names.slots[i].key, tl_sv_lost_by(s, error, NULL),
                      n->range);
}

/* A base's __init_subclass__ is not called: what it may assign or change is lost. */
static void
lose_to_hook(TlSema *s, TlSvFunc *cls)
{
   TlSv hook, self = {.kind = TL_SV_FUNC, .func = cls};
   if (!tl_class_attr(s, cls, "__init_subclass__", &hook))
      return;
   const TlLost *lost = tl_sv_lost(s, "what __init_subclass__ changes", cls->node->range).opaque;
   for (size_t i = 0; i < cls->class_frame->vars.len; i++)
      if (tl_change_of(&cls->class_frame->vars.data[i].value))
         tl_lose_values(s, &cls->class_frame->vars.data[i].value, 1, lost);
   tl_lose_values(s, &self, 1, lost);
   tl_lose_values(s, &hook, 1, lost);
}

void
tl_define_class(TlSema *s, TlSvFunc *cls)
{
   assert(cls->node->kind == TL_AST_CLASS && !cls->class_frame);
   TlActivation *act = tl_new(s->arena, TlActivation);
   act->is_host = true;
   act->errors = s->diags->num_errors;
   act->caller = s->impl->act;
   TlFrame *f = tl_frame_new(s, cls->closure, cls->source, act);
   f->is_class = true;
   cls->class_frame = f;
   TlActivation *outer = s->impl->act;
   s->impl->act = act;
   const TlAstClass *c = tl_ast_Class(cls->node);
   cls->enum_kind = tl_enum_kind(s, f, c);
   for (size_t i = 0; i < c->body.len; i++)
      if (c->body.data[i])
         class_stmt(s, cls, f, c->body.data[i]);
   tl_describe_class(s, cls);
   if (cls->enum_kind != TL_ENUM_NONE)
      tl_make_members(s, cls);
   s->impl->act = outer;
   lose_to_hook(s, cls);
}

static TlFrame *
class_frame(TlSema *s, const TlSvFunc *cls)
{
   if (!cls->class_frame)
      tl_define_class(s, (TlSvFunc *)(uintptr_t)cls);
   return cls->class_frame;
}

const TlClassInfo *
tl_class_info(TlSema *s, const TlSvFunc *cls)
{
   class_frame(s, cls);
   return cls->info;
}

bool
tl_has_base(TlSema *s, const TlAstClass *c, const char *name)
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
   const char *id = tl_intern_cstr(s->strings, name);
   TlVar *v = tl_frame_var(class_frame(s, cls), id);
   for (size_t i = 0; !v && cls->info && i < cls->info->order.len; i++)
      v = tl_frame_var(class_frame(s, cls->info->order.data[i]), id);
   if (v)
      *out = v->value;
   return v && v->state == TL_VAR_BOUND;
}

void
tl_class_lose(TlSema *s, const TlSv *cls, const char *name, TlRange range)
{
   if (cls->kind != TL_SV_FUNC || cls->func->node->kind != TL_AST_CLASS)
      return;
   TlFrame *f = class_frame(s, cls->func);
   const char *id = tl_intern_cstr(s->strings, name);
   const char *why = tl_arena_printf(s->arena, "'%s.%s' (it is assigned outside of the class)",
                                     cls->func->name, name);
   TlVar *v = tl_frame_var(f, id);
   if (!v) {
      tl_vec_push(s->arena, &f->vars, (TlVar){.name = id});
      v = &tl_vec_last(&f->vars);
   }
   f->rebinds++;
   s->impl->changes++;
   *v = (TlVar){
      .name = id, .value = tl_sv_lost(s, why, range), .range = range, .seq = ++s->impl->seq};
}

/* Is it among the class's own __slots__, where it has them? */
static bool
has_slot(TlSema *s, const TlSvFunc *cls, const char *name)
{
   const TlVar *v = tl_frame_var(class_frame(s, cls), tl_intern_cstr(s->strings, "__slots__"));
   if (!v)
      return true;
   if (v->value.kind == TL_SV_STR)
      return strcmp(v->value.s.data, name) == 0;
   for (size_t i = 0; v->value.kind == TL_SV_TUPLE && i < v->value.tuple->len; i++) {
      const TlSv *item = &v->value.tuple->items[i];
      if (item->kind == TL_SV_STR && strcmp(item->s.data, name) == 0)
         return true;
   }
   return false;
}

bool
tl_class_lets_assign(TlSema *s, const TlSv *self, const char *name, TlRange range)
{
   const TlSvFunc *cls = tl_class_of(self);
   TlSv is;
   if (!cls)
      return true;
   const char *why = NULL;
   if (tl_class_info(s, cls) && cls->info->is_frozen) {
      tl_report(s->diags, E0231, range, tl_sv_describe(s, self));
      tl_raise_as(s, "AttributeError");
      return false;
   }
   if (tl_class_attr(s, cls, "__setattr__", &is))
      why = "its __setattr__ may say what an assignment does";
   else if (tl_class_attr(s, cls, name, &is) && is.kind == TL_SV_FUNC &&
            (is.func->method == TL_METHOD_PROPERTY || is.func->method == TL_METHOD_UNKNOWN))
      why = "its property says what an assignment does";
   else if (!has_slot(s, cls, name))
      why = "its __slots__ may have no room for the field";
   if (why)
      tl_report(s->diags, E0259, range, cls->name, why);
   return !why;
}

static TlSvFunc *
bound_to(TlSema *s, const TlSvFunc *fn, const TlSv *self)
{
   TlSvFunc *bound = tl_new(s->arena, TlSvFunc);
   *bound = *fn;
   bound->self = tl_new(s->arena, TlSv);
   *bound->self = *self;
   return bound;
}

bool
tl_bind_class_method(TlSema *s, const TlSv *cls, TlSv *out)
{
   if (out->kind != TL_SV_FUNC || out->func->node->kind != TL_AST_FUNCTION)
      return true;
   if (out->func->method == TL_METHOD_CLASS)
      out->func = bound_to(s, out->func, cls);
   else if (out->func->method != TL_METHOD_PLAIN && out->func->method != TL_METHOD_STATIC)
      *out = tl_sv_lost(s, out->func->name, out->func->node->range);
   return true;
}

bool
tl_bind_method(TlSema *s, const TlSv *self, TlRange range, TlSv *out)
{
   if (out->kind != TL_SV_FUNC || out->func->node->kind != TL_AST_FUNCTION ||
       out->func->method == TL_METHOD_STATIC)
      return true;
   if (out->func->method == TL_METHOD_UNKNOWN) {
      *out = tl_sv_lost(s, out->func->name, out->func->node->range);
      return true;
   }
   TlSvFunc *bound = bound_to(s, out->func, self);
   if (bound->method == TL_METHOD_CLASS)
      tl_object_get(self, "__class__", bound->self);
   out->func = bound;
   bool is_cached = bound->method == TL_METHOD_CACHED_PROPERTY;
   if (is_cached || bound->method == TL_METHOD_PROPERTY)
      *out = tl_sema_call(s, out, NULL, 0, range);
   if (is_cached && tl_in_host(s) && out->kind != TL_SV_POISON && tl_make_change(s, self, range))
      tl_object_set(s, self, bound->name, *out);
   return true;
}

/* ---- instances ---- */
/* The class whose constructor makes an instance: the first with __init__ (*init), or with fields
 * (*init is None). */
static const TlSvFunc *
constructor_of(TlSema *s, const TlSvFunc *cls, TlSv *init)
{
   const TlClassInfo *info = tl_class_info(s, cls);
   const char *name = tl_intern_cstr(s->strings, "__init__");
   *init = tl_sv_none();
   for (size_t i = 0; info && i <= info->order.len; i++) {
      const TlSvFunc *c = i ? info->order.data[i - 1] : cls;
      const TlVar *v = tl_frame_var(c->class_frame, name);
      if (v && v->value.kind == TL_SV_FUNC && !c->info->is_tuple)
         *init = v->value;
      if (init->kind == TL_SV_FUNC || c->info->has_init || c->info->is_tuple)
         return c;
   }
   return cls;
}

static TlSv
raise_type_error(TlSema *s)
{
   tl_raise_as(s, "TypeError");
   return tl_sv_poison();
}

static bool
by_keyword(const TlArgs *args, const char *name, TlSv *out)
{
   for (unsigned k = 0; k < args->num_kw; k++)
      if (args->kw_name[k] == name) {
         *out = args->kw[k];
         return true;
      }
   return false;
}

/* The value of one field; None where it gets none.  *next counts the arguments by position. */
static TlSv
take_field(TlSema *s, const TlSvFunc *cls, const TlField *field, const TlArgs *args, unsigned *next,
           TlRange range)
{
   TlSv v = tl_sv_none();
   bool is_named = field->is_argument && by_keyword(args, field->name, &v);
   if (field->is_argument && !field->by_name && *next < args->num_pos) {
      v = args->pos[(*next)++];
      if (!is_named)
         return v;
      tl_report(s->diags, E0254, range, cls->name, field->name);
      return raise_type_error(s);
   }
   if (is_named || (!field->has_default && !field->is_argument))
      return v;
   if (field->has_default)
      return field->is_made ? tl_sema_call(s, &field->value, NULL, 0, range) : field->value;
   tl_report(s->diags, E0251, range, cls->name, field->name);
   return raise_type_error(s);
}

static bool
is_argument(const TlClassInfo *info, const char *name)
{
   for (size_t i = 0; i < info->fields.len; i++)
      if (info->fields.data[i].name == name && info->fields.data[i].is_argument)
         return true;
   return false;
}

static bool
check_arguments(TlSema *s, const TlSvFunc *cls, const TlClassInfo *info, const TlArgs *args,
                unsigned taken, TlRange range)
{
   if (taken < args->num_pos) {
      tl_report(s->diags, E0252, range, cls->name, taken, args->num_pos);
      raise_type_error(s);
      return false;
   }
   for (unsigned i = 0; i < args->num_kw; i++)
      if (!is_argument(info, args->kw_name[i])) {
         tl_report(s->diags, E0253, args->kw_range[i], cls->name, args->kw_name[i]);
         raise_type_error(s);
         return false;
      }
   return true;
}

/* The values of all fields; NULL after an error. */
static TlSv *
take_fields(TlSema *s, const TlSvFunc *cls, const TlClassInfo *info, const TlArgs *args,
            TlRange range)
{
   TlSv *values = tl_new_array(s->arena, TlSv, info->fields.len + 1);
   unsigned next = 0;
   for (size_t i = 0; i < info->fields.len; i++) {
      s->steps += args->num_kw / 16;
      if (!tl_step(s, range))
         return NULL;
      values[i] = take_field(s, cls, &info->fields.data[i], args, &next, range);
      if (values[i].kind == TL_SV_POISON)
         return NULL;
   }
   return check_arguments(s, cls, info, args, next, range) ? values : NULL;
}

static TlSv
new_instance(TlSema *s, const TlSvFunc *cls)
{
   TlSv self = tl_object_new(s, cls->name);
   TlSv of = {.kind = TL_SV_FUNC, .func = (TlSvFunc *)(uintptr_t)cls};
   tl_object_set(s, &self, "__class__", of);
   return self;
}

/* __init__ or __post_init__ of self; false after an error. */
static bool
call_init(TlSema *s, TlFrame *f, const TlSv *self, const TlSv *init, const TlArgs *args,
          TlRange range)
{
   TlSvFunc *bound = bound_to(s, init->func, self);
   bound->is_compiled = f && !tl_is_host(f);
   unsigned errors = s->diags->num_errors;
   tl_invoke_func(s, f, bound, args, range);
   return s->diags->num_errors == errors;
}

static TlSv
make_of_fields(TlSema *s, TlFrame *f, const TlSvFunc *cls, const TlClassInfo *info,
               const TlSv *values, TlRange range)
{
   TlSv self = new_instance(s, cls), after;
   TlArgs rest = {.pos = tl_new_array(s->arena, TlSv, info->fields.len + 1),
                  .pos_range = tl_new_array(s->arena, TlRange, info->fields.len + 1)};
   for (size_t i = 0; i < info->fields.len; i++) {
      const TlField *field = &info->fields.data[i];
      if (!field->is_attribute) {
         rest.pos_range[rest.num_pos] = range;
         rest.pos[rest.num_pos++] = values[i];
      } else if (field->is_argument || field->has_default) {
         tl_object_set(s, &self, field->name, values[i]);
      }
   }
   bool has_more = info->has_init && tl_class_attr(s, cls, "__post_init__", &after);
   if (has_more && after.kind == TL_SV_FUNC && !call_init(s, f, &self, &after, &rest, range))
      return tl_sv_poison();
   return self;
}

static TlSv
make_tuple(TlSema *s, const TlClassInfo *info, const TlSv *values)
{
   size_t n = info->fields.len;
   TlSv t = tl_make_tuple(s, values, n, false);
   const char **names = tl_new_array(s->arena, const char *, n);
   for (size_t i = 0; i < n; i++)
      names[i] = info->fields.data[i].name;
   if (t.kind == TL_SV_TUPLE)
      t.tuple->names = names;
   return t;
}

/* ---- abstract classes ---- */
/* A class whose bases or metaclass are of the module abc. */
static bool
is_of_abc(TlSema *s, const TlSvFunc *cls)
{
   const TlAstClass *c = tl_ast_Class(cls->node);
   for (size_t i = 0; i < c->bases.len; i++) {
      const TlNode *n = c->bases.data[i];
      if (n->kind == TL_AST_KEYWORD && tl_ends_with(tl_node_text(s, n), "ABCMeta"))
         return true;
   }
   return tl_has_base(s, c, "ABC") || tl_has_base(s, c, "Protocol");
}

/* The name of a method that is left abstract, or NULL. */
static const char *
abstract_method(TlSema *s, const TlSvFunc *cls)
{
   const TlClassInfo *info = tl_class_info(s, cls);
   bool is_abc = is_of_abc(s, cls);
   for (size_t i = 0; info && i < info->order.len; i++)
      is_abc |= is_of_abc(s, info->order.data[i]);
   for (size_t i = 0; info && is_abc && i <= info->order.len; i++) {
      const TlFrame *f = class_frame(s, i ? info->order.data[i - 1] : cls);
      for (size_t k = 0; k < f->vars.len; k++) {
         TlSv v = f->vars.data[k].value;
         if (v.kind == TL_SV_FUNC && v.func->is_abstract &&
             tl_class_attr(s, cls, f->vars.data[k].name, &v) && v.kind == TL_SV_FUNC &&
             v.func->is_abstract)
            return f->vars.data[k].name;
      }
   }
   return NULL;
}

/* False after an error: the class cannot be made an instance of. */
static bool
check_concrete(TlSema *s, const TlSvFunc *cls, TlRange range)
{
   const char *method = abstract_method(s, cls);
   if (!method)
      return true;
   tl_report(s->diags, E0259, range, cls->name,
             tl_arena_printf(s->arena, "its method '%s' is abstract", method));
   if (!cls->info->is_cut)
      tl_raise_as(s, "TypeError");
   return false;
}

/* In Python annotations alone make no constructor; in a kernel they declare the fields. */
static bool
takes_no_arguments(TlSema *s, const TlSvFunc *cls)
{
   const TlAstClass *c = tl_ast_Class(cls->node);
   return tl_in_host(s) && !cls->source->is_tile && !c->decorators.len && !c->bases.len;
}

TlSv
tl_instantiate(TlSema *s, TlFrame *f, const TlSvFunc *cls, const TlArgs *args, TlRange range)
{
   assert(cls->node->kind == TL_AST_CLASS);
   TlSv init, made = {.kind = TL_SV_FUNC, .func = (TlSvFunc *)(uintptr_t)cls};
   if (tl_is_enum(s, &made))
      return tl_member_of_value(s, cls, args, range);
   TlSv maker;
   if (!check_concrete(s, cls, range))
      return tl_sv_poison();
   if (tl_class_attr(s, cls, "__new__", &maker)) {
      tl_report(s->diags, E0259, range, cls->name, "its __new__ may say what it makes");
      return tl_sv_poison();
   }
   const TlSvFunc *by = constructor_of(s, cls, &init);
   if (init.kind == TL_SV_FUNC) {
      TlSv self = new_instance(s, cls);
      return call_init(s, f, &self, &init, args, range) ? self : tl_sv_poison();
   }
   const TlClassInfo *info = by->info;
   if ((args->num_pos || args->num_kw) && takes_no_arguments(s, by)) {
      tl_report(s->diags, E0252, range, cls->name, 0u, args->num_pos + args->num_kw);
      return raise_type_error(s);
   }
   if (!info || info->is_unsure || (info->is_tuple && by != cls)) {
      tl_report(s->diags, E0259, range, cls->name, "the fields of this class are not all known");
      return tl_sv_poison();
   }
   const TlSv *values = take_fields(s, cls, info, args, range);
   if (!values)
      return tl_sv_poison();
   return info->is_tuple ? make_tuple(s, info, values)
                         : make_of_fields(s, f, cls, info, values, range);
}

/* ---- definitions ---- */
typedef struct Argument { /* of a decorator, where the function was defined */
   TlSv value;
   const TlDiag *error;
} Argument;

static void
keep_arguments(TlSema *s, TlFrame *f, TlSvFunc *fn, const TlNode *decorator)
{
   if (decorator->kind != TL_AST_CALL)
      return;
   const TlNodeList *args = &tl_ast_Call(decorator)->args;
   for (size_t i = 0; i < args->len; i++) {
      const TlNode *n = args->data[i];
      if (n->kind == TL_AST_STARRED)
         continue;
      if (n->kind == TL_AST_KEYWORD)
         n = tl_ast_Keyword(n)->value;
      Argument *a = tl_new(s->arena, Argument);
      a->value = tl_quiet_value(s, f, n, &a->error);
      tl_map_put(fn->decorated, n, a);
   }
}

TlSv
tl_decorator_value(TlSema *s, const TlSvFunc *fn, const TlNode *n, const TlDiag **error)
{
   const Argument *a = fn->decorated ? tl_map_get(fn->decorated, n) : NULL;
   if (a) {
      if (error)
         *error = a->error;
      return a->value;
   }
   TlFrame *f = tl_module_frame(s, fn->source);
   f->parent = fn->closure;
   return tl_quiet_value(s, f, n, error);
}

static void
keep_defaults(TlSema *s, TlFrame *f, TlSvFunc *fn)
{
   const TlNodeList *params = fn->node->kind == TL_AST_LAMBDA ? &tl_ast_Lambda(fn->node)->params
                                                              : &tl_ast_Function(fn->node)->params;
   fn->defaults = tl_new_array(s->arena, TlSv, params->len + 1);
   for (size_t i = 0; i < params->len; i++) {
      const TlNode *n = tl_ast_Param(params->data[i])->default_value;
      const TlDiag *error = NULL;
      fn->defaults[i] = n ? tl_quiet_value(s, f, n, &error) : tl_sv_none();
      if (error)
         fn->defaults[i] = tl_sv_lost_by(s, error, NULL);
   }
}

/* Decorators that leave what a function computes as it is, and those of classes that host_fields.c
 * reads or that add nothing which is followed here. */
static bool
is_transparent(TlSema *s, const TlNode *decorator)
{
   static const char *const names[] = {"constexpr_function", "no_grad",        "overload",
                                       "inference_mode",     "contextmanager", "dataclass",
                                       "aggregate",          "_aggregate",     "final",
                                       "runtime_checkable",  "unique",         "total_ordering"};
   const char *last = tl_decorator_name(decorator), *text = tl_node_text(s, decorator);
   for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
      if (strcmp(last, names[i]) == 0)
         return true;
   return tl_starts_with(text, "torch.") || tl_starts_with(text, "triton.");
}

TlSv *
tl_eval_decorators(TlSema *s, TlFrame *f, const TlSvFunc *fn, const TlNodeList *d)
{
   TlSv *values = tl_new_array(s->arena, TlSv, d->len);
   for (size_t i = 0; i < d->len && !fn->is_entry; i++) {
      const TlDiag *error;
      if (is_transparent(s, d->data[i]))
         continue;
      /* What is raised may be caught; else the name alone is lost. */
      values[i] =
         s->impl->tries ? tl_eval_expr(s, f, d->data[i]) : tl_quiet_value(s, f, d->data[i], &error);
      if (values[i].kind == TL_SV_POISON && s->impl->tries)
         return NULL;
   }
   return values;
}

TlSv
tl_apply_decorators(TlSema *s, TlSvFunc *fn, const TlNodeList *d, const TlSv *values)
{
   TlSv v = {.kind = TL_SV_FUNC, .func = fn};
   for (size_t i = d->len; i-- > 0 && !fn->is_entry;) {
      const TlSv *with = &values[i];
      if (is_transparent(s, d->data[i]))
         continue;
      bool is_known = with->kind == TL_SV_FUNC || with->kind == TL_SV_BUILTIN;
      if (!is_known)
         return tl_sv_lost(s,
                           tl_arena_printf(s->arena, "'%s' (the decorator '%s' is not known)",
                                           fn->name, tl_node_text(s, d->data[i])),
                           d->data[i]->range);
      v = tl_sema_call(s, with, &v, 1, d->data[i]->range);
   }
   return v;
}

TlSv
tl_define_function(TlSema *s, TlFrame *f, TlSvFunc *fn)
{
   if (fn->node->kind != TL_AST_FUNCTION) {
      keep_defaults(s, f, fn);
      return tl_sv_none();
   }
   const TlNodeList *d = &tl_ast_Function(fn->node)->decorators;
   const TlSv *values = f->is_class ? NULL : tl_eval_decorators(s, f, fn, d);
   keep_defaults(s, f, fn);
   if (!d->len)
      return (TlSv){.kind = TL_SV_FUNC, .func = fn};
   fn->decorated = tl_new(s->arena, TlMap);
   tl_map_init(fn->decorated, s->arena);
   for (size_t i = 0; i < d->len; i++)
      if (fn->is_entry || is_transparent(s, d->data[i]))
         keep_arguments(s, f, fn, d->data[i]);
   if (f->is_class)
      return tl_sv_none();
   return values ? tl_apply_decorators(s, fn, d, values) : tl_sv_poison();
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
int_argument(TlSema *s, const TlSvFunc *fn, const TlNode *decorator, const char *keyword)
{
   const TlNode *n = tl_decorator_argument(decorator, keyword, -1);
   if (!n)
      return 0;
   const TlDiag *error;
   TlSv v = tl_decorator_value(s, fn, n, &error);
   if (error)
      tl_diag_emit(s->diags, error->code, error->range, "%s", error->text);
   bool is_warps = strcmp(keyword, "num_warps") == 0;
   if (is_warps && v.kind == TL_SV_INT && v.i > 0 && v.i <= 1024 && (v.i & (v.i - 1)))
      tl_report_warps(s, n->range, v.i);
   if (v.kind == TL_SV_INT && v.i > 0 && v.i <= 1024)
      return (int)v.i;
   if (v.kind != TL_SV_POISON) {
      tl_report(s->diags, E0260, n->range, keyword, tl_sv_describe(s, &v));
      tl_help(s->diags, "write a number, as in %s=4", keyword);
   }
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

/* What decorators take, Triton's own and the language's (num_warps, num_stages, num_ctas, grid). */
static const struct {
   const char *decorator; /* "" any of the jit kind */
   const char *names;     /* in blanks */
} decorator_options[] = {
   {"", " num_warps num_stages num_ctas grid version repr launch_metadata do_not_specialize"
        " do_not_specialize_on_alignment debug noinline maxnreg fn "},
   {"heuristics", " values "},
   {"autotune", " configs key prune_configs_by reset_to_zero restore_value pre_hook post_hook"
                " warmup rep use_cuda_graph do_bench cache_results "},
};

static const char *
options_of(const TlNode *decorator)
{
   const char *name = tl_is_jit_decorator(decorator) ? "" : tl_decorator_name(decorator);
   for (size_t i = 0; i < sizeof decorator_options / sizeof decorator_options[0]; i++)
      if (strcmp(decorator_options[i].decorator, name) == 0)
         return decorator_options[i].names;
   return NULL; /* of others: they may take anything */
}

bool
tl_is_of_other_package(TlSema *s, const TlSvFunc *fn, const TlNode *decorator)
{
   const TlNode *callee = decorator->kind == TL_AST_CALL ? tl_ast_Call(decorator)->func : decorator;
   const char *dotted = tl_dotted_text(s, callee);
   if (!dotted || tl_starts_with(dotted, "triton."))
      return !dotted;
   TlSv v = tl_quiet_value(s, tl_module_frame(s, fn->source), callee, NULL);
   return v.kind == TL_SV_FUNC || v.kind == TL_SV_OPAQUE ||
          (tl_is_host_module_value(&v) && !tl_starts_with(v.module->name, "triton."));
}

static void
suggest_option(TlSema *s, const char *names, const char *name)
{
   TlNearest near = {.name = name};
   for (const char *p = names + 1; *p; p += strcspn(p, " ") + 1)
      tl_nearest_try(&near, tl_arena_strndup(s->arena, p, strcspn(p, " ")));
   TlSb all;
   tl_sb_init(&all, s->arena);
   for (const char *p = names + 1; *p; p += strcspn(p, " ") + 1)
      tl_sb_printf(&all, "%s%.*s", all.len ? ", " : "", (int)strcspn(p, " "), p);
   if (near.best)
      tl_help(s->diags, "did you mean '%s'?", near.best);
   else
      tl_help(s->diags, "its options are %s", tl_sb_cstr(&all));
}

/* Config(.., maxnreg=64) and jit(maxnreg=64): Triton would limit the registers. */
static void
find_maxnreg(void *user, TlNode *n)
{
   TlSema *s = user;
   const char *name = n->kind == TL_AST_KEYWORD ? tl_ast_Keyword(n)->name : NULL;
   if (name && strcmp(name, "maxnreg") == 0 && tl_ast_Keyword(n)->value->kind != TL_AST_CONST) {
      tl_report(s->diags, W0210, tl_ast_name_range(s->sources, n));
      tl_help(s->diags,
              "fewer warps leave more registers to each; -Rptxas tells what ptxas spills");
   }
   tl_ast_children(n, find_maxnreg, s);
}

/* Of an option that is compared, num_warps == 4, its name; NULL: something else. */
static const char *
compared_option(const TlNode *n)
{
   const TlNode *left = n->kind == TL_AST_COMPARE  ? tl_ast_Compare(n)->left
                        : n->kind == TL_AST_WALRUS ? tl_ast_Walrus(n)->target
                                                   : NULL;
   return left && left->kind == TL_AST_NAME ? tl_ast_Name(left)->id : NULL;
}

/* @kernel(4), @kernel(num_warps == 4) */
static void
check_positions(TlSema *s, const TlNode *decorator)
{
   const TlNodeList *args = &tl_ast_Call(decorator)->args;
   for (size_t k = 0; k < args->len; k++) {
      const TlNode *a = args->data[k];
      const char *option = compared_option(a);
      bool is_value = a->kind == TL_AST_INT || a->kind == TL_AST_STR || a->kind == TL_AST_FLOAT ||
                      a->kind == TL_AST_TUPLE || a->kind == TL_AST_LIST || a->kind == TL_AST_DICT;
      if (!is_value && !option && a->kind != TL_AST_NAME)
         continue;
      tl_report(s->diags, E0252, a->range, tl_decorator_name(decorator), 0, (unsigned)k + 1);
      if (option)
         tl_help(s->diags, "an option is given by '=': %s=..", option);
      else
         tl_help(s->diags, "options are given by name: num_warps=4, num_stages=3, grid=(..)");
      return;
   }
}

void
tl_check_decorators(TlSema *s, const TlSvFunc *fn)
{
   const TlNodeList *d = &tl_ast_Function(fn->node)->decorators;
   for (size_t i = 0; i < d->len; i++) {
      const char *names = d->data[i]->kind == TL_AST_CALL ? options_of(d->data[i]) : NULL;
      if (names && tl_is_of_other_package(s, fn, d->data[i]))
         continue;
      if (names)
         find_maxnreg(s, d->data[i]);
      if (names && tl_is_jit_decorator(d->data[i]))
         check_positions(s, d->data[i]);
      for (size_t k = 0; names && k < tl_ast_Call(d->data[i])->args.len; k++) {
         const TlNode *a = tl_ast_Call(d->data[i])->args.data[k];
         const char *name = a->kind == TL_AST_KEYWORD ? tl_ast_Keyword(a)->name : NULL;
         if (!name || strstr(names, tl_arena_printf(s->arena, " %s ", name)))
            continue;
         tl_report(s->diags, E0303, tl_ast_name_range(s->sources, a), tl_decorator_name(d->data[i]),
                   name);
         suggest_option(s, names, name);
      }
   }
}

void
tl_read_decorators(TlSema *s, const TlSvFunc *fn, TlMeta *m)
{
   assert(fn->node->kind == TL_AST_FUNCTION);
   *m = (TlMeta){.config = tl_sv_none()};
   const TlNodeList *d = &tl_ast_Function(fn->node)->decorators;
   for (size_t i = 0; i < d->len; i++) {
      const TlNode *n = d->data[i];
      const char *last = tl_decorator_name(n);
      if (tl_is_jit_decorator(n)) {
         int warps = int_argument(s, fn, n, "num_warps"),
             stages = int_argument(s, fn, n, "num_stages");
         m->num_warps = warps ? warps : m->num_warps;
         m->num_stages = stages ? stages : m->num_stages;
         m->num_ctas = int_argument(s, fn, n, "num_ctas");
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
            TlSv v = tl_decorator_value(s, fn, configs, NULL);
            read_config(&v, m);
         }
      } else if (strcmp(last, "constexpr_function") != 0 && strcmp(last, "must_use_result") != 0 &&
                 strcmp(last, "staticmethod") != 0) {
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
mark_params(TlSema *s, const TlSvFunc *fn, const TlNode *list, TlKernelInfo *k, bool align_only)
{
   if (!list)
      return;
   TlSv v = tl_decorator_value(s, fn, list, NULL);
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
   for (size_t i = 0; i < d->len; i++) {
      const TlNode *n = d->data[i];
      if (!tl_is_jit_decorator(n))
         continue;
      mark_params(s, fn, tl_decorator_argument(n, "do_not_specialize", -1), k, false);
      mark_params(s, fn, tl_decorator_argument(n, "do_not_specialize_on_alignment", -1), k, true);
   }
}
