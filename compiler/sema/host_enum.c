/* Classes derived from enum's.  A member of Enum and Flag is an object of its own, equal to itself
 * alone; one of IntEnum, IntFlag, StrEnum and of a class that mixes in int or str is its value.
 * What a class may change by methods of its own (__new__, __init__, ..) is lost. */
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

static const struct {
   const char *base;
   TlEnumKind kind;
} kinds[] = {
   {"Enum", TL_ENUM_OBJECTS},   {"Flag", TL_ENUM_FLAGS},     {"IntEnum", TL_ENUM_VALUES},
   {"StrEnum", TL_ENUM_VALUES}, {"IntFlag", TL_ENUM_VALUES},
};

static TlEnumKind
kind_of_base(TlSema *s, TlFrame *f, const TlNode *base)
{
   const char *dotted = tl_dotted_text(s, base);
   const char *dot = dotted ? strrchr(dotted, '.') : NULL;
   for (size_t i = 0; dotted && i < sizeof kinds / sizeof kinds[0]; i++)
      if (strcmp(dot ? dot + 1 : dotted, kinds[i].base) == 0)
         return kinds[i].kind;
   TlSv v = dotted ? tl_quiet_value(s, f, base, NULL) : tl_sv_none();
   if (v.kind != TL_SV_FUNC || v.func->node->kind != TL_AST_CLASS)
      return TL_ENUM_NONE;
   tl_class_info(s, v.func);
   return v.func->enum_kind;
}

TlEnumKind
tl_enum_kind(TlSema *s, TlFrame *f, const TlAstClass *c)
{
   TlEnumKind kind = TL_ENUM_NONE;
   bool is_mixed = false;
   for (size_t i = 0; i < c->bases.len; i++) {
      const char *name = tl_dotted_text(s, c->bases.data[i]);
      is_mixed |= name && (strcmp(name, "int") == 0 || strcmp(name, "str") == 0 ||
                           strcmp(name, "float") == 0);
      TlEnumKind one = kind_of_base(s, f, c->bases.data[i]);
      kind = one == TL_ENUM_NONE ? kind : one;
   }
   return kind != TL_ENUM_NONE && is_mixed ? TL_ENUM_VALUES : kind;
}

bool
tl_is_member(const TlSv *v)
{
   return v->kind == TL_SV_OBJECT && v->fields->is_member;
}

/* ---- auto() ---- */
static bool
is_auto(TlSema *s, const TlNode *n)
{
   if (n->kind != TL_AST_CALL || tl_ast_Call(n)->args.len)
      return false;
   const char *name = tl_dotted_text(s, tl_ast_Call(n)->func);
   return name && (strcmp(name, "auto") == 0 || strcmp(name, "enum.auto") == 0);
}

void
tl_number_member(TlSema *s, TlFrame *f, const TlNode *n)
{
   if (n->kind != TL_AST_ASSIGN || tl_ast_Assign(n)->targets.len != 1 ||
       tl_ast_Assign(n)->targets.data[0]->kind != TL_AST_NAME ||
       !is_auto(s, tl_ast_Assign(n)->value))
      return;
   const char *name = tl_ast_Name(tl_ast_Assign(n)->targets.data[0])->id;
   const TlVar *last = NULL;
   for (size_t i = 0; i < f->vars.len; i++)
      if (f->vars.data[i].name != name && tl_is_plain(&f->vars.data[i].value))
         last = &f->vars.data[i];
   if (!last)
      tl_frame_set(s, f, name, tl_sv_int(1), n->range);
   else if (last->value.kind == TL_SV_INT && !last->value.is_large && last->value.i < INT64_MAX)
      tl_frame_set(s, f, name, tl_sv_int(last->value.i + 1), n->range);
}

/* ---- members ---- */
static bool
is_member_name(const char *name)
{
   size_t len = strlen(name);
   bool is_private = strncmp(name, "__", 2) == 0;
   return !is_private && !(len > 2 && name[0] == '_' && name[len - 1] == '_');
}

/* The class says itself how its members are made. */
static bool
makes_members(TlSema *s, const TlSvFunc *cls)
{
   static const char *const names[] = {"__new__", "__init__", "_generate_next_value_", "_ignore_"};
   TlSv v;
   for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
      if (tl_class_attr(s, cls, names[i], &v))
         return true;
   return false;
}

/* Members that are values have the operators and methods of these, unless the class has its own. */
static bool
changes_values(TlSema *s, const TlSvFunc *cls, const TlSv *value)
{
   static const char *const shown[] = {"__str__", "__repr__", "__format__"};
   const TlFrame *f = cls->class_frame;
   for (size_t i = 0; i < f->vars.len; i++) {
      const char *name = f->vars.data[i].name;
      TlSv method;
      if (f->vars.data[i].value.kind != TL_SV_FUNC)
         continue;
      bool is_own = tl_starts_with(name, "__") || tl_host_method(s, value, name, &method);
      for (size_t k = 0; k < sizeof shown / sizeof shown[0]; k++)
         is_own &= strcmp(name, shown[k]) != 0;
      if (is_own)
         return true;
   }
   return false;
}

/* The member that has this value already, or NULL. */
static const TlSv *
member_with(TlSema *s, const TlClassInfo *info, const TlSv *value)
{
   for (size_t i = 0; i < info->members.len; i++) {
      const TlSv *m = &info->members.data[i];
      TlSv has = *m;
      if (tl_is_member(m))
         tl_object_get(m, "value", &has);
      if (tl_const_equal(s, &has, value))
         return m;
   }
   return NULL;
}

static TlSv
new_member(TlSema *s, const TlSvFunc *cls, const TlVar *v)
{
   if (cls->enum_kind == TL_ENUM_VALUES) {
      TlSv value = v->value;
      value.member_of = cls->info->enum_number;
      return value;
   }
   TlSv m = tl_object_new(s, cls->name);
   m.fields->is_member = true;
   tl_object_set(s, &m, "__class__",
                 (TlSv){.kind = TL_SV_FUNC, .func = (TlSvFunc *)(uintptr_t)cls});
   tl_object_set(s, &m, "name", tl_make_str(s, v->name, strlen(v->name)));
   tl_object_set(s, &m, "value", v->value);
   return m;
}

static bool
is_unique(const TlSvFunc *cls)
{
   const TlNodeList *d = &tl_ast_Class(cls->node)->decorators;
   for (size_t i = 0; i < d->len; i++)
      if (strcmp(tl_decorator_name(d->data[i]), "unique") == 0)
         return true;
   return false;
}

void
tl_make_members(TlSema *s, TlSvFunc *cls)
{
   assert(cls->info && cls->enum_kind != TL_ENUM_NONE);
   TlFrame *f = cls->class_frame;
   bool is_own = makes_members(s, cls);
   bool is_flag = tl_has_base(s, tl_ast_Class(cls->node), "IntFlag");
   bool is_known = !is_flag && s->impl->num_enums < TL_SOME_ENUM - 1;
   cls->info->enum_number = is_known ? ++s->impl->num_enums : TL_SOME_ENUM;
   for (size_t i = 0; i < f->vars.len && tl_step(s, cls->node->range); i++) {
      TlVar *v = &f->vars.data[i];
      if (v->state != TL_VAR_BOUND || v->value.kind == TL_SV_FUNC || !is_member_name(v->name))
         continue;
      bool is_value = cls->enum_kind == TL_ENUM_VALUES;
      if (is_own || !tl_is_plain(&v->value) ||
          (is_value &&
           changes_values(s, cls,
                          &v->value))) { /* an alias of another one, for all that is known */
         v->value = tl_sv_lost(s, v->name, v->range);
         cls->info->lacks_members = true;
         continue;
      }
      const TlSv *same = member_with(s, cls->info, &v->value);
      if (same) {
         v->value = *same;
         if (is_unique(cls)) {
            cls->info->fault = "two members of an enumeration under @unique have one value";
            cls->info->exception = "ValueError";
         }
         continue;
      }
      v->value = new_member(s, cls, v);
      tl_vec_push(s->arena, &cls->info->members, v->value);
   }
}

/* ---- lookups ---- */
static TlSv
not_known(TlSema *s, const TlSvFunc *cls, TlRange range)
{
   tl_report(s->diags, E0259, range, cls->name,
             "the members of this enumeration are not all known");
   return tl_sv_poison();
}

TlSv
tl_member_of_value(TlSema *s, const TlSvFunc *cls, const TlArgs *args, TlRange range)
{
   TlSv own;
   const TlClassInfo *info = tl_class_info(s, cls);
   if (args->num_pos != 1 || args->num_kw) {
      tl_report(s->diags, E0259, range, cls->name, "an enumeration is called with one value");
      return tl_sv_poison();
   }
   const TlSv *value = &args->pos[0], *found;
   unsigned errors = s->diags->num_errors;
   for (size_t i = 0; tl_is_member(value) && i < info->members.len; i++)
      if (info->members.data[i].fields == value->fields)
         return *value;
   found = member_with(s, info, value);
   if (s->diags->num_errors != errors)
      return tl_sv_poison();
   if (found)
      return *found;
   bool is_open = cls->enum_kind == TL_ENUM_FLAGS || tl_class_attr(s, cls, "_missing_", &own) ||
                  tl_has_base(s, tl_ast_Class(cls->node), "IntFlag");
   if (info->lacks_members || is_open)
      return not_known(s, cls, range);
   tl_report(
      s->diags, E0259, range, cls->name,
      tl_arena_printf(s->arena, "no member has the value %s", tl_sv_constant_text(s, value)));
   tl_raise_as(s, "ValueError");
   return tl_sv_poison();
}

TlSv
tl_member_of_name(TlSema *s, const TlSvFunc *cls, const TlSv *name, TlRange range)
{
   tl_class_info(s, cls);
   TlSv out;
   bool is_name = name->kind == TL_SV_STR && is_member_name(name->s.data);
   if (is_name && tl_class_attr(s, cls, name->s.data, &out) && out.kind != TL_SV_FUNC)
      return out;
   tl_report(s->diags, E0259, range, cls->name,
             tl_arena_printf(s->arena, "no member has the name %s", tl_sv_constant_text(s, name)));
   if (name->kind == TL_SV_STR && is_name)
      tl_raise_as(s, "KeyError");
   return tl_sv_poison();
}

bool
tl_members(TlSema *s, const TlSvFunc *cls, TlRange range, TlSv **items, size_t *len)
{
   const TlClassInfo *info = tl_class_info(s, cls);
   bool is_flags =
      cls->enum_kind == TL_ENUM_FLAGS || tl_has_base(s, tl_ast_Class(cls->node), "IntFlag");
   if (info->lacks_members || is_flags) { /* of flags only those of one bit */
      not_known(s, cls, range);
      return false;
   }
   *items = info->members.data;
   *len = info->members.len;
   return true;
}

bool
tl_is_enum(TlSema *s, const TlSv *v)
{
   if (v->kind != TL_SV_FUNC || v->func->node->kind != TL_AST_CLASS)
      return false;
   tl_class_info(s, v->func);
   return v->func->enum_kind != TL_ENUM_NONE;
}
