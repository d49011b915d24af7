/* Python's functions on values known at compile time: enumerate, zip, sorted, getattr .. */
#include "sema/builtin.h"
#include "sema/help.h"
#include "sema/host.h"
#include "sema/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TlSv
tl_host_bad(TlSema *s, const TlCall *c, const char *why)
{
   tl_report(s->diags, E0259, c->range, c->row->name, why);
   const char *other = tl_other_name(s, c->row->name), *dot = strrchr(c->row->name, '.');
   const char *name = dot ? dot + 1 : c->row->name;
   bool is_of_run = false;
   for (unsigned i = 0; i < c->num_args; i++)
      is_of_run |= tl_sv_is_runtime(&c->args[i]);
   if (is_of_run && other) /* round(tile) */
      tl_help(s->diags, "%s", other);
   else if (is_of_run && tl_builtin_find(TL_NS_TL, name)) /* math.sqrt(tile) */
      tl_help(s->diags, "%s", tl_help_of_run(s, c, name));
   else if (is_of_run && tl_builtin_find(TL_NS_LIBDEVICE, name))
      tl_help(s->diags, "of a value of the run it is libdevice.%s, of triton.language.extra", name);
   return tl_sv_poison();
}

TlSv
tl_host_raises(TlSema *s, const TlCall *c, const char *exception, const char *why)
{
   tl_report(s->diags, E0259, c->range, c->row->name, why);
   tl_raise_as(s, exception);
   return tl_sv_poison();
}

bool
tl_known_int(const TlSv *v, int64_t *out)
{
   bool is_int = (v->kind == TL_SV_INT && !v->is_large) || v->kind == TL_SV_BOOL;
   if (is_int)
      *out = v->kind == TL_SV_BOOL ? v->b : v->i;
   return is_int;
}

/* Counts changes of the first argument, which a function that is called may make. */
static uint64_t
call_version(const TlCall *c)
{
   const TlSv *v = c->num_rest ? &c->rest[0] : &c->args[0];
   const TlChange *change = tl_change_of(v);
   return change ? change->version : 0;
}

TlSv
tl_host_sort(TlSema *s, const TlCall *c, const TlSv *items, size_t len, const TlSv *key,
             const TlSv *reverse) /* insertion sort: lists of host code are short */
{
   bool down, ok = true;
   uint64_t version = call_version(c);
   if (!tl_host_truth(s, reverse, c->range, &down))
      return tl_sv_poison();
   TlSv out = tl_make_tuple(s, items, len, true), keys = tl_make_tuple(s, items, len, true);
   for (size_t i = 0; i < len && key->kind != TL_SV_NONE; i++) {
      keys.tuple->items[i] = tl_sema_call(s, key, &out.tuple->items[i], 1, c->range);
      if (keys.tuple->items[i].kind == TL_SV_POISON)
         return tl_sv_poison();
      if (call_version(c) != version)
         return tl_host_bad(s, c, "the key function changes the list");
   }
   for (size_t i = 1; i < len; i++)
      for (size_t k = i; k > 0; k--) {
         TlSv *of = keys.tuple->items, *val = out.tuple->items;
         int order = down ? tl_const_order(s, &of[k - 1], &of[k], c->range, &ok)
                          : tl_const_order(s, &of[k], &of[k - 1], c->range, &ok);
         if (ok && (order == 2 || of[k].kind == TL_SV_SET))
            return tl_host_bad(s, c, "the items have no order");
         if (!ok || !tl_step(s, c->range))
            return tl_sv_poison();
         if (order != -1)
            break;
         TlSv t = of[k];
         of[k] = of[k - 1], of[k - 1] = t;
         t = val[k];
         val[k] = val[k - 1], val[k - 1] = t;
      }
   return out;
}

HOST_FN(sorted)
{
   TlSv *items;
   size_t len;
   bool any_order = c->args[1].kind == TL_SV_NONE;
   bool ok = any_order ? tl_iterate_any_order(s, &c->args[0], c->range, &items, &len)
                       : items_of(s, c, &c->args[0], &items, &len);
   return ok ? tl_host_sort(s, c, items, len, &c->args[1], &c->args[2]) : tl_sv_poison();
}

static TlSv
any_all(TlSema *s, const TlCall *c, bool any)
{
   TlSv *items;
   size_t len;
   bool truth;
   if (!tl_iterate_any_order(s, &c->args[0], c->range, &items, &len))
      return tl_sv_poison();
   s->steps += len / TL_ITEMS_OF_STEP;
   for (size_t i = 0; i < len; i++) {
      if (!tl_host_truth(s, &items[i], c->range, &truth))
         return tl_sv_poison();
      if (truth == any) {
         tl_iter_unsure(&c->args[0]);
         return tl_sv_bool(any);
      }
   }
   return tl_sv_bool(!any);
}

HOST_FN(any)
{
   return any_all(s, c, true);
}

HOST_FN(all)
{
   return any_all(s, c, false);
}

HOST_FN(sum)
{
   TlSv *items, total = c->args[1];
   size_t len;
   if (!tl_iterate_any_order(s, &c->args[0], c->range, &items, &len))
      return tl_sv_poison();
   if (total.kind == TL_SV_STR)
      return tl_host_bad(s, c, "strings are not summed");
   s->steps += len / TL_ITEMS_OF_STEP;
   for (size_t i = 0; i < len && total.kind != TL_SV_POISON; i++) {
      bool in_order = len < 2 || items[i].kind == TL_SV_INT || items[i].kind == TL_SV_BOOL;
      if (c->args[0].kind == TL_SV_SET && !in_order)
         return tl_host_bad(s, c, "the order of a set's items is not known");
      total = tl_apply_binary(s, TL_AST_OP_ADD, &total, &items[i], c->range);
   }
   return total;
}

static TlSv
sequence(TlSema *s, const TlCall *c, bool is_list)
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   return tl_make_tuple(s, items, len, is_list);
}

HOST_FN(list)
{
   return sequence(s, c, true);
}

HOST_FN(tuple)
{
   return sequence(s, c, false);
}

HOST_FN(dict)
{
   TlSv d = tl_dict_new(s);
   bool ok = tl_host_dict_add(s, c, &d, &c->args[0]);
   if (ok && c->args[1].kind == TL_SV_DICT)
      ok = tl_host_dict_add(s, c, &d, &c->args[1]);
   return ok ? d : tl_sv_poison();
}

HOST_FN(len)
{
   const TlSv *v = &c->args[0];
   TlSv *items;
   size_t len;
   switch (v->kind) {
   case TL_SV_STR:
      return tl_sv_int((int64_t)tl_text_len(s, v->s));
   case TL_SV_TUPLE:
   case TL_SV_SET:
      return tl_sv_int((int64_t)v->tuple->len);
   case TL_SV_DICT:
      return tl_sv_int((int64_t)v->fields->len);
   case TL_SV_RANGE:
      return items_of(s, c, v, &items, &len) ? tl_sv_int((int64_t)len) : tl_sv_poison();
   case TL_SV_ITER:
      if (v->iter->is_view && items_of(s, c, v, &items, &len))
         return tl_sv_int((int64_t)len);
      return tl_host_bad(s, c, "an iterator has no length");
   default:
      if (tl_is_enum(s, v))
         return items_of(s, c, v, &items, &len) ? tl_sv_int((int64_t)len) : tl_sv_poison();
      return tl_is_plain(v) ? tl_host_raises(s, c, "TypeError", "the value has no length")
                            : tl_host_bad(s, c, "the length is not known");
   }
}

/* min and max: the first of equal items. */
static TlSv
extremum(TlSema *s, const TlCall *c, bool is_max)
{
   enum { KEY = 1, DEFAULT };
   TlSv *items = c->rest, best_key = tl_sv_none();
   size_t len = c->num_rest, best = 0;
   bool has_key = c->args[KEY].kind != TL_SV_NONE, ok = true;
   uint64_t version = call_version(c);
   if (len == 1)
      ok = has_key ? items_of(s, c, &c->rest[0], &items, &len)
                   : tl_iterate_any_order(s, &c->rest[0], c->range, &items, &len);
   if (!ok)
      return tl_sv_poison();
   if (len == 0)
      return c->num_rest == 1 && c->given[DEFAULT]
                ? c->args[DEFAULT]
                : tl_host_raises(s, c, c->num_rest ? "ValueError" : "TypeError",
                                 "there is no item");
   s->steps += len / TL_ITEMS_OF_STEP;
   for (size_t i = 0; i < len; i++) {
      TlSv key = has_key ? tl_sema_call(s, &c->args[KEY], &items[i], 1, c->range) : items[i];
      if (key.kind == TL_SV_POISON)
         return key;
      if (call_version(c) != version)
         return tl_host_bad(s, c, "the key function changes the list");
      int order = 0;
      if (i > 0)
         order = is_max ? tl_const_order(s, &best_key, &key, c->range, &ok)
                        : tl_const_order(s, &key, &best_key, c->range, &ok);
      if (!ok)
         return tl_sv_poison();
      if (order == 2)
         return tl_host_bad(s, c, "the items have no order");
      if (i == 0 || order == -1)
         best = i, best_key = key;
   }
   return items[best];
}

HOST_FN(min)
{
   return extremum(s, c, false);
}

HOST_FN(max)
{
   return extremum(s, c, true);
}

HOST_FN(abs)
{
   TlSv zero = tl_sv_int(0), v = c->args[0];
   if (v.kind == TL_SV_FLOAT)
      return tl_sv_float(fabs(v.f));
   if (v.kind == TL_SV_BOOL)
      return tl_sv_int(v.b);
   if (v.kind == TL_SV_INT)
      return v.is_large || v.i >= 0 ? v : tl_const_binary(s, TL_AST_OP_SUB, &zero, &v, c->range);
   return tl_is_plain(&v) ? tl_host_raises(s, c, "TypeError", "a number is needed")
                          : tl_host_bad(s, c, "a known number is needed");
}

/* A number's text without the blanks around it; false: it is longer or odder than is read here. */
static bool
number_text(TlText t, char *out, size_t size)
{
   const char *p = t.data, *end = p + t.len;
   while (p < end && strchr(" \t\n\r", *p))
      p++;
   while (end > p && strchr(" \t\n\r", end[-1]))
      end--;
   size_t len = (size_t)(end - p);
   if (len == 0 || len >= size || memchr(p, '_', len))
      return false;
   for (size_t i = 0; i < len; i++)
      if ((unsigned char)p[i] >= 0x7f || (unsigned char)p[i] < 0x20)
         return false;
   memcpy(out, p, len);
   out[len] = '\0';
   return true;
}

/* int(text, base), the text with its sign: base 0 takes the prefix of a literal. */
static TlSv
int_of_text(TlSema *s, const TlCall *c, const char *text, unsigned base)
{
   static const struct {
      char letter;
      unsigned base;
   } prefixes[] = {{'b', 2}, {'o', 8}, {'x', 16}};
   bool is_negative = *text == '-', by_prefix = base == 0;
   text += *text == '-' || *text == '+';
   for (unsigned i = 0; *text == '0' && i < sizeof prefixes / sizeof prefixes[0]; i++)
      if ((text[1] | 0x20) == prefixes[i].letter && (by_prefix || base == prefixes[i].base)) {
         base = prefixes[i].base;
         text += 2;
         break;
      }
   if (base == 0 && *text == '0' && text[strspn(text, "0")])
      return tl_host_raises(s, c, "ValueError", "the text is not an integer");
   base = base ? base : 10;
   int64_t value = 0;
   if (!*text)
      return tl_host_raises(s, c, "ValueError", "the text is not an integer");
   bool fits = true;
   for (; *text; text++) {
      char letter = (char)(*text | 0x20);
      unsigned digit = *text >= '0' && *text <= '9'     ? (unsigned)(*text - '0')
                       : letter >= 'a' && letter <= 'z' ? (unsigned)(letter - 'a') + 10
                                                        : base;
      if (digit >= base)
         return tl_host_raises(s, c, "ValueError", "the text is not an integer");
      fits = fits && !__builtin_mul_overflow(value, (int64_t)base, &value) &&
             !(is_negative ? __builtin_sub_overflow(value, (int64_t)digit, &value)
                           : __builtin_add_overflow(value, (int64_t)digit, &value));
   }
   return fits ? tl_sv_int(value) : tl_host_bad(s, c, "the result does not fit in 64 bits");
}

HOST_FN(int)
{
   TlSv v = c->args[0];
   char text[128];
   int64_t base = 10;
   bool has_base = c->args[1].kind != TL_SV_NONE;
   if (has_base && (!tl_known_int(&c->args[1], &base) || v.kind != TL_SV_STR))
      return tl_host_bad(s, c, "a base is a known integer, for a text");
   if (base != 0 && (base < 2 || base > 36))
      return tl_host_raises(s, c, "ValueError", "a base is 0 or 2 to 36");
   if (v.kind == TL_SV_STR)
      return number_text(v.s, text, sizeof text) ? int_of_text(s, c, text, (unsigned)base)
                                                 : tl_host_bad(s, c, "the text is no plain number");
   if (v.kind == TL_SV_FLOAT)
      return tl_host_whole(s, c, trunc(v.f));
   if (v.kind == TL_SV_BOOL)
      return tl_sv_int(v.b);
   if (v.kind == TL_SV_INT) {
      v.member_of = 0;
      return v;
   }
   return tl_is_plain(&v) ? tl_host_raises(s, c, "TypeError", "a number is needed")
                          : tl_host_bad(s, c, "a known number is needed");
}

HOST_FN(float)
{
   TlSv v = c->args[0];
   char text[64], *end;
   if (v.kind == TL_SV_STR) {
      if (!number_text(v.s, text, sizeof text) || strpbrk(text, "xX(nN"))
         return tl_host_bad(s, c, "the text is no plain number");
      double f = strtod(text, &end);
      return *end ? tl_host_raises(s, c, "ValueError", "the text is not a number") : tl_sv_float(f);
   }
   if (tl_sv_is_number(&v))
      return tl_sv_float(tl_known_double(&v));
   return tl_is_plain(&v) ? tl_host_raises(s, c, "TypeError", "a number is needed")
                          : tl_host_bad(s, c, "a known number is needed");
}

HOST_FN(bool)
{
   bool truth;
   return tl_host_truth(s, &c->args[0], c->range, &truth) ? tl_sv_bool(truth) : tl_sv_poison();
}

/* ---- questions about values ---- */
typedef enum Answer { NO, YES, UNKNOWN } Answer;

static Answer
is_of_class(TlSema *s, const TlSvFunc *cls, const TlSvFunc *of, unsigned depth)
{
   if (cls->node == of->node)
      return YES;
   const TlNodeList *bases = &tl_ast_Class(cls->node)->bases;
   TlFrame *f = tl_frame_new(s, cls->closure, cls->source, NULL);
   Answer answer = NO;
   for (size_t i = 0; i < bases->len && depth < 16; i++) {
      TlSv v;
      bool is_class = bases->data[i]->kind == TL_AST_NAME &&
                      tl_lookup_quiet(s, f, tl_ast_Name(bases->data[i])->id, &v) &&
                      v.kind == TL_SV_FUNC && v.func->node->kind == TL_AST_CLASS;
      bool is_enum = cls->enum_kind == TL_ENUM_OBJECTS && bases->len == 1;
      Answer one = is_class ? is_of_class(s, v.func, of, depth + 1) : is_enum ? NO : UNKNOWN;
      answer = one == YES || answer == YES ? YES : one == UNKNOWN ? UNKNOWN : answer;
   }
   return answer;
}

static Answer
is_instance(TlSema *s, const TlCall *c, const TlSv *v, const TlSv *type)
{
   static const struct {
      const char *name;
      uint32_t kinds;
   } rows[] = {
      {"int", 1u << TL_SV_INT | 1u << TL_SV_LONG | 1u << TL_SV_BOOL},
      {"float", 1u << TL_SV_FLOAT},
      {"bool", 1u << TL_SV_BOOL},
      {"str", 1u << TL_SV_STR},
      {"dict", 1u << TL_SV_DICT},
   };
   if (type->kind == TL_SV_TUPLE) {
      Answer any = NO;
      for (size_t i = 0; any != YES && i < type->tuple->len; i++) {
         Answer one = is_instance(s, c, v, &type->tuple->items[i]);
         any = one == NO ? any : one;
      }
      return any;
   }
   if (v->kind == TL_SV_OPAQUE || (v->kind == TL_SV_OBJECT && type->kind == TL_SV_OPAQUE))
      return UNKNOWN;
   if (type->kind == TL_SV_FUNC && type->func->node->kind == TL_AST_CLASS) {
      const TlSvFunc *cls = tl_class_of(v);
      if (v->kind == TL_SV_TUPLE && v->tuple->names)
         return UNKNOWN;
      if (!cls)
         return tl_is_enum(s, type) && type->func->enum_kind == TL_ENUM_VALUES ? UNKNOWN : NO;
      return is_of_class(s, cls, type->func, 0);
   }
   if (type->kind != TL_SV_BUILTIN)
      return UNKNOWN;
   const char *name = type->builtin.row->name;
   bool is_list = v->kind == TL_SV_TUPLE && v->tuple->is_list;
   if (strcmp(name, "list") == 0 || strcmp(name, "tuple") == 0)
      return v->kind == TL_SV_TUPLE && is_list == (name[0] == 'l') ? YES : NO;
   if (strcmp(name, "set") == 0 || strcmp(name, "frozenset") == 0)
      return v->kind == TL_SV_SET && v->tuple->is_list == (name[0] == 's') ? YES : NO;
   if (v->kind == TL_SV_OBJECT && tl_has_method(s, v, "__init__"))
      return UNKNOWN; /* it may derive from any of them */
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (strcmp(rows[i].name, name) == 0)
         return rows[i].kinds >> v->kind & 1 ? YES : NO;
   if (!type->builtin.row->namespaces)
      return UNKNOWN;
   TlSv answer = tl_builtin_isinstance(s, c);
   return answer.kind == TL_SV_BOOL && answer.b ? YES : NO;
}

HOST_FN(isinstance)
{
   Answer a = is_instance(s, c, &c->args[0], &c->args[1]);
   return a == UNKNOWN ? tl_host_bad(s, c, "the type of this value is not known")
                       : tl_sv_bool(a == YES);
}

HOST_FN(setattr)
{
   if (c->args[1].kind == TL_SV_STR)
      tl_class_lose(s, &c->args[0], c->args[1].s.data, c->range);
   if (c->args[1].kind != TL_SV_STR || c->args[0].kind != TL_SV_OBJECT)
      return tl_host_bad(s, c, "an object and a name are needed");
   if (!tl_class_lets_assign(s, &c->args[0], c->args[1].s.data, c->range) ||
       !tl_make_change(s, &c->args[0], c->range))
      return tl_sv_poison();
   tl_object_set(s, &c->args[0], c->args[1].s.data, c->args[2]);
   return tl_sv_none();
}

static const char *
attribute_name(TlSema *s, const TlCall *c)
{
   return tl_intern(s->strings, c->args[1].s.data, c->args[1].s.len);
}

/* False: not known. */
static bool
library_has(TlSema *s, const TlSv *self, const char *name, bool *has)
{
   return self->kind == TL_SV_MODULE && self->module->kind != TL_MOD_SOURCE &&
          tl_host_module_has(tl_arena_printf(s->arena, "%s.%s", self->module->name, name), has);
}

/* False after an error: the name of an attribute, argument 1. */
static bool
check_name(TlSema *s, const TlCall *c)
{
   bool is_name =
      c->args[1].kind == TL_SV_STR && !memchr(c->args[1].s.data, '\0', c->args[1].s.len);
   if (!is_name)
      tl_host_bad(s, c, "the name must be a string");
   return is_name;
}

HOST_FN(hasattr)
{
   if (!check_name(s, c))
      return tl_sv_poison();
   const TlSv *self = &c->args[0];
   bool has;
   if (library_has(s, self, c->args[1].s.data, &has))
      return tl_sv_bool(has);
   if (self->kind == TL_SV_OPAQUE)
      return tl_host_bad(s, c, "the attributes of this value are not known");
   TlSv value;
   TlHas it = tl_try_attribute(s, self, attribute_name(s, c), c->range, &value);
   if (it == TL_HAS_UNKNOWN)
      return tl_host_bad(s, c, "whether there is such an attribute is not known");
   return it == TL_HAS_FAILED ? tl_sv_poison() : tl_sv_bool(it == TL_HAS_IT);
}

HOST_FN(getattr)
{
   if (!check_name(s, c))
      return tl_sv_poison();
   if (c->args[0].kind == TL_SV_OPAQUE)
      return tl_host_bad(s, c, "the attributes of this value are not known");
   const char *name = attribute_name(s, c);
   if (!c->given[2])
      return tl_attribute(s, NULL, &c->args[0], name, c->range);
   TlSv value;
   bool has;
   if (library_has(s, &c->args[0], name, &has) && !has)
      return c->args[2];
   TlHas it = tl_try_attribute(s, &c->args[0], name, c->range, &value);
   if (it == TL_HAS_UNKNOWN)
      return tl_host_bad(s, c, "whether there is such an attribute is not known");
   return it == TL_HAS_FAILED ? tl_sv_poison() : it == TL_HAS_IT ? value : c->args[2];
}

HOST_FN(callable)
{
   if (c->args[0].kind == TL_SV_OBJECT || c->args[0].kind == TL_SV_MODULE ||
       c->args[0].kind == TL_SV_OPAQUE)
      return tl_host_bad(s, c, "whether it may be called is not known");
   return tl_sv_bool(c->args[0].kind == TL_SV_FUNC || c->args[0].kind == TL_SV_BUILTIN);
}

enum { MAX_DIGITS = 300 };

HOST_FN(round)
{
   const TlSv *v = &c->args[0];
   int64_t digits = 0;
   if (!tl_sv_is_number(v))
      return tl_host_bad(s, c, "a number is needed");
   bool is_whole = c->args[1].kind == TL_SV_NONE;
   if (!is_whole && !tl_sv_const_int(&c->args[1], &digits))
      return tl_host_bad(s, c, "the number of digits must be a known integer");
   if (v->kind != TL_SV_FLOAT) {
      if (digits < 0)
         return tl_host_bad(s, c, "integers are rounded to whole numbers only");
      return v->kind == TL_SV_BOOL ? tl_sv_int(v->b) : *v;
   }
   if (is_whole)
      return tl_host_whole(s, c, nearbyint(v->f));
   if (digits < 0 || digits > MAX_DIGITS)
      return tl_host_bad(s, c, "a float is rounded to 0 to 300 digits");
   if (!isfinite(v->f))
      return *v;
   const char *text = tl_arena_printf(s->arena, "%.*f", (int)digits, v->f);
   return tl_sv_float(strtod(text, NULL)); /* rounds the exact value, as Python does */
}

HOST_FN(divmod)
{
   TlSv pair[2] = {
      tl_apply_binary(s, TL_AST_OP_FLOORDIV, &c->args[0], &c->args[1], c->range),
      tl_apply_binary(s, TL_AST_OP_MOD, &c->args[0], &c->args[1], c->range),
   };
   return tl_make_tuple(s, pair, 2, false);
}

HOST_FN(pow)
{
   return tl_apply_binary(s, TL_AST_OP_POW, &c->args[0], &c->args[1], c->range);
}

static const TlBuiltin rows[] = {
#define TL_HOST_PYTHON(name, signature, function)                                                  \
   {0, name, signature, tl_host_##function, TL_BUILTIN_HOST, ""},
#include "sema/host.def"
};

bool
tl_host_needs_known(const TlBuiltin *row)
{
   static const char *const takes_any[] = {"isinstance", "hasattr", "getattr", "setattr",
                                           "callable",   "dict",    "print"};
   bool is_ours = row >= rows && row < rows + sizeof rows / sizeof rows[0];
   for (size_t i = 0; is_ours && i < sizeof takes_any / sizeof takes_any[0]; i++)
      is_ours = strcmp(takes_any[i], row->name) != 0;
   return is_ours;
}

bool
tl_host_builtin(TlSema *s, const char *name, TlSv *out)
{
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (strcmp(rows[i].name, name) == 0) {
         *out = (TlSv){.kind = TL_SV_BUILTIN, .builtin = {&rows[i], NULL}};
         return true;
      }
   if (strcmp(name, "Config") == 0) /* triton.Config, bare in a .tile file */
      return tl_host_module_attr(s, "triton", name, out);
   if (strcmp(name, "__name__") == 0) {
      *out = tl_make_str(s, "tilec", 5);
      return true;
   }
   /* exceptions and types of host code that appear in conditions */
   static const TlLost opaque[] = {
#define TL_HOST_OPAQUE(name) {.why = name},
#define TL_HOST_EXCEPTION(name, base) {.why = name},
#include "sema/host.def"
   };
   for (size_t i = 0; i < sizeof opaque / sizeof opaque[0]; i++)
      if (strcmp(opaque[i].why, name) == 0) {
         *out = (TlSv){.kind = TL_SV_OPAQUE, .opaque = &opaque[i]};
         return true;
      }
   return false;
}
