/* Classes as their definition leaves them: the order in which a class and its bases are asked, and
 * the fields that a dataclass, a NamedTuple or a class without __init__ is made of.  Rules are
 * Python's; what is not followed is marked, and nothing is said about it. */
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

/* The last word of an annotation, a base or what is called: "ClassVar" of typing.ClassVar[int]. */
static const char *
last_word(TlSema *s, const TlNode *n)
{
   const char *text = n->kind == TL_AST_STR ? tl_ast_Str(n)->value.data : tl_node_text(s, n);
   size_t len = strcspn(text, "[("), from = len;
   while (from && text[from - 1] != '.')
      from--;
   return tl_arena_strndup(s->arena, text + from, len - from);
}

static bool
is_word(TlSema *s, const TlNode *n, const char *word)
{
   return strcmp(last_word(s, n), word) == 0;
}

/* ---- bases ---- */
/* Bases without attributes or fields that a program sees. */
static bool
is_empty_base(TlSema *s, const TlNode *n)
{
   static const char *const names[] = {"object", "ABC", "Generic", "Protocol"};
   for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
      if (is_word(s, n, names[i]))
         return true;
   return false;
}

static const TlSvFunc *
base_class(TlSema *s, TlFrame *f, const TlNode *n)
{
   bool is_name = n->kind == TL_AST_NAME || n->kind == TL_AST_ATTRIBUTE;
   TlSv v = is_name ? tl_quiet_value(s, f, n, NULL) : tl_sv_none();
   return v.kind == TL_SV_FUNC && v.func->node->kind == TL_AST_CLASS ? v.func : NULL;
}

enum { MAX_CLASSES = 64 };

/* False: the class is there already, so that its place hangs on more than depth; or too many. */
static bool
add_class(TlSema *s, TlClassInfo *info, const TlSvFunc *cls)
{
   for (size_t i = 0; i < info->order.len; i++)
      if (info->order.data[i]->info == cls->info)
         return false;
   if (info->order.len == MAX_CLASSES)
      return false;
   tl_vec_push(s->arena, &info->order, cls);
   return true;
}

/* Depth first, which is Python's order where no class is met twice. */
static bool
add_bases(TlSema *s, TlFrame *f, const TlNodeList *bases, TlClassInfo *info, size_t *num_known)
{
   for (size_t i = 0; i < bases->len; i++) {
      const TlSvFunc *base = base_class(s, f, bases->data[i]);
      if (!base && is_empty_base(s, bases->data[i]))
         continue;
      const TlClassInfo *of = base ? tl_class_info(s, base) : NULL;
      if (!of || !add_class(s, info, base))
         return false;
      ++*num_known;
      for (size_t k = 0; k < of->order.len; k++)
         if (!add_class(s, info, of->order.data[k]))
            return false;
      if (of->is_cut)
         return false;
   }
   return true;
}

/* Where not all is known, or a class is met twice, the first base alone comes for certain next. */
static void
find_order(TlSema *s, TlFrame *f, const TlNodeList *bases, TlClassInfo *info)
{
   size_t known = 0;
   info->is_cut = !add_bases(s, f, bases, info, &known);
   if (info->is_cut && bases->len > 1)
      info->order.len = info->order.len && known ? 1 : 0;
}

/* ---- options ---- */
/* False: it is given, and is no literal. */
static bool
read_flag(const TlNode *call, const char *keyword, bool *out)
{
   const TlNode *n = tl_decorator_argument(call, keyword, -1);
   if (!n)
      return true;
   TlAstOp which = n->kind == TL_AST_CONST ? tl_ast_Const(n)->which : TL_AST_OP_NONE;
   *out = which == TL_AST_OP_TRUE;
   return which == TL_AST_OP_TRUE || which == TL_AST_OP_FALSE;
}

static bool
has_unpacking(const TlNode *call)
{
   const TlNodeList *args = &tl_ast_Call(call)->args;
   for (size_t i = 0; i < args->len; i++)
      if (args->data[i]->kind == TL_AST_KEYWORD && !tl_ast_Keyword(args->data[i])->name)
         return true;
   return false;
}

typedef struct Options { /* of @dataclass */
   bool init, eq, match_args, kw_only, frozen;
} Options;

/* The dataclass decorator of the class, or NULL. */
static const TlNode *
dataclass_of(const TlAstClass *c)
{
   for (size_t i = 0; i < c->decorators.len; i++)
      if (strcmp(tl_decorator_name(c->decorators.data[i]), "dataclass") == 0)
         return c->decorators.data[i];
   return NULL;
}

static bool
read_options(const TlNode *decorator, Options *o)
{
   *o = (Options){.init = true, .eq = true, .match_args = true};
   return decorator->kind != TL_AST_CALL ||
          (!has_unpacking(decorator) && read_flag(decorator, "init", &o->init) &&
           read_flag(decorator, "eq", &o->eq) &&
           read_flag(decorator, "match_args", &o->match_args) &&
           read_flag(decorator, "frozen", &o->frozen) &&
           read_flag(decorator, "kw_only", &o->kw_only));
}

/* ---- fields ---- */
/* A field that is declared again keeps its place. */
static void
add_field(TlSema *s, TlClassInfo *info, TlField field)
{
   for (size_t i = 0; i < info->fields.len; i++)
      if (info->fields.data[i].name == field.name) {
         info->fields.data[i] = field;
         return;
      }
   tl_vec_push(s->arena, &info->fields, field);
}

static void
inherit_fields(TlSema *s, TlClassInfo *info)
{
   info->is_unsure |= info->is_cut;
   for (size_t i = info->order.len; i-- > 0;) {
      const TlClassInfo *base = info->order.data[i]->info;
      if (!base->is_own_data)
         continue;
      info->is_unsure |= base->is_unsure;
      for (size_t k = 0; k < base->fields.len; k++)
         add_field(s, info, base->fields.data[k]);
   }
}

/* field(..): its default replaces the call as the class's attribute. */
static bool
read_field_call(TlSema *s, TlFrame *f, const TlNode *call, TlField *field)
{
   bool compare = true;
   if (has_unpacking(call) || !read_flag(call, "init", &field->is_argument) ||
       !read_flag(call, "kw_only", &field->by_name) || !read_flag(call, "compare", &compare))
      return false;
   field->is_compared = compare;
   const TlNode *value = tl_decorator_argument(call, "default", -1);
   const TlNode *factory = tl_decorator_argument(call, "default_factory", -1);
   field->has_default = value || factory;
   field->is_made = factory;
   if (!field->has_default)
      return true;
   const TlNode *n = value ? value : factory;
   const TlDiag *error;
   field->value = tl_quiet_value(s, f, n, &error);
   if (error)
      field->value = tl_sv_lost_by(s, error, NULL);
   return true;
}

static void
read_field(TlSema *s, const TlSvFunc *cls, TlFrame *f, const TlAstAnnAssign *n, bool by_name)
{
   TlField field = {.name = tl_ast_Name(n->target)->id,
                    .by_name = by_name,
                    .is_argument = true,
                    .is_attribute = !is_word(s, n->annotation, "InitVar"),
                    .is_compared = true};
   field.is_compared = field.is_attribute;
   bool is_call =
      n->value && n->value->kind == TL_AST_CALL && is_word(s, tl_ast_Call(n->value)->func, "field");
   if (!is_call || !cls->info->is_own_data)
      field.has_default = tl_class_attr(s, cls, field.name, &field.value);
   else if (!read_field_call(s, f, n->value, &field))
      cls->info->is_unsure = true;
   else if (field.has_default && !field.is_made)
      tl_frame_set(s, f, field.name, field.value, n->node.range);
   add_field(s, cls->info, field);
}

static void
find_fields(TlSema *s, const TlSvFunc *cls, TlFrame *f, bool by_name)
{
   const TlNodeList *body = &tl_ast_Class(cls->node)->body;
   for (size_t i = 0; i < body->len; i++) {
      const TlNode *n = body->data[i];
      if (!n || n->kind != TL_AST_ANN_ASSIGN || tl_ast_AnnAssign(n)->target->kind != TL_AST_NAME)
         continue;
      const TlAstAnnAssign *a = tl_ast_AnnAssign(n);
      s->steps += cls->info->fields.len / 16; /* those are looked through */
      if (!tl_step(s, n->range)) {
         cls->info->is_unsure = true;
         return;
      }
      if (cls->info->is_own_data && is_word(s, a->annotation, "KW_ONLY"))
         by_name = true;
      else if (!cls->info->is_own_data || !is_word(s, a->annotation, "ClassVar"))
         read_field(s, cls, f, a, by_name);
   }
}

/* What Python's @dataclass refuses. */
static void
find_fault(TlClassInfo *info)
{
   const TlField *with_default = NULL;
   for (size_t i = 0; i < info->fields.len && !info->fault; i++) {
      const TlField *field = &info->fields.data[i];
      const TlSv *v = &field->value;
      bool is_list = (v->kind == TL_SV_TUPLE || v->kind == TL_SV_SET) && v->tuple->is_list;
      if (field->has_default && !field->is_made && (is_list || v->kind == TL_SV_DICT)) {
         info->fault = "a list, set or dict is the default of a field; write default_factory";
         info->exception = "ValueError";
      } else if (field->is_argument && !field->by_name && !field->has_default && with_default) {
         info->fault = "a field without a default follows one that has a default";
         info->exception = "TypeError";
      }
      if (field->is_argument && !field->by_name && field->has_default)
         with_default = field;
   }
}

/* What a class pattern's parts by position are. */
static TlSv
names_by_position(TlSema *s, const TlClassInfo *info)
{
   TlSv *items = tl_new_array(s->arena, TlSv, info->fields.len + 1);
   size_t n = 0;
   for (size_t i = 0; i < info->fields.len; i++) {
      const TlField *field = &info->fields.data[i];
      if (field->is_argument && !field->by_name)
         items[n++] = tl_make_str(s, field->name, strlen(field->name));
   }
   return tl_make_tuple(s, items, n, false);
}

static void
set_match_args(TlSema *s, const TlSvFunc *cls, TlFrame *f)
{
   const char *name = tl_intern_cstr(s->strings, "__match_args__");
   TlRange range = cls->node->range;
   if (tl_frame_var(f, name))
      return;
   TlSv value = cls->info->is_unsure ? tl_sv_lost(s, name, range) : names_by_position(s, cls->info);
   tl_frame_set(s, f, name, value, range);
}

void
tl_describe_class(TlSema *s, TlSvFunc *cls)
{
   assert(cls->class_frame && !cls->info);
   TlClassInfo *info = cls->info = tl_new(s->arena, TlClassInfo);
   const TlAstClass *c = tl_ast_Class(cls->node);
   TlFrame *f = cls->class_frame;
   const TlNode *data = dataclass_of(c);
   Options o = {0};
   find_order(s, f, &c->bases, info);
   info->is_own_data = data;
   info->is_tuple = tl_has_base(s, c, "NamedTuple");
   info->is_unsure = data && !read_options(data, &o);
   info->has_init = data && o.init;
   info->has_eq = data && o.eq;
   info->is_frozen = data && o.frozen;
   for (size_t i = 0; i < info->order.len; i++)
      info->is_frozen |= info->order.data[i]->info->is_frozen;
   if (data)
      inherit_fields(s, info);
   find_fields(s, cls, f, o.kw_only);
   if (info->has_init && !info->is_unsure)
      find_fault(info);
   if ((data && (o.match_args || info->is_unsure)) || info->is_tuple)
      set_match_args(s, cls, f);
}
