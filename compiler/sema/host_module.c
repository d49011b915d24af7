/* Modules of Python's library and of packages, as far as kernels' files use them at compile time: a
 * little of math, os, itertools and functools, and what triton offers outside of kernels.  The
 * environment is never read: os.environ.get gives its default. */
#include "sema/host.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A decorator or wrapper that gives the function back. */
HOST_FN(same)
{
   (void)s;
   return c->args[0];
}

static const TlBuiltin row_same = {0, "decorator", "fn", tl_host_same, TL_BUILTIN_HOST, ""};

HOST_FN(decorator)
{
   (void)s;
   (void)c;
   return (TlSv){.kind = TL_SV_BUILTIN, .builtin = {&row_same, NULL}};
}

HOST_FN(jit) /* triton.jit(f), or triton.jit(debug=True) as a decorator */
{
   if (c->args[0].kind != TL_SV_FUNC)
      return tl_host_decorator(s, c);
   TlSvFunc *fn = tl_new(s->arena, TlSvFunc);
   *fn = *c->args[0].func;
   fn->is_compiled = true;
   return (TlSv){.kind = TL_SV_FUNC, .func = fn};
}

/* ---- math ---- */
static TlSv
math1(TlSema *s, const TlCall *c, double (*fn)(double))
{
   if (!tl_sv_is_number(&c->args[0]))
      return tl_host_bad(s, c, "a known number is needed");
   return tl_sv_float(fn(tl_known_double(&c->args[0])));
}

#define MATH1(name, fn)                                                                            \
   HOST_FN(math_##name)                                                                            \
   {                                                                                               \
      return math1(s, c, fn);                                                                      \
   }
MATH1(sqrt, sqrt)
MATH1(exp, exp)
MATH1(log2, log2)
MATH1(log10, log10)
MATH1(fabs, fabs)
MATH1(sin, sin)
MATH1(cos, cos)
MATH1(tanh, tanh)

HOST_FN(math_log)
{
   TlSv v = math1(s, c, log);
   if (v.kind == TL_SV_FLOAT && tl_sv_is_number(&c->args[1]))
      v.f /= log(tl_known_double(&c->args[1]));
   return v;
}

TlSv
tl_host_whole(TlSema *s, const TlCall *c, double v)
{
   if (!(fabs(v) < 0x1p63))
      return tl_host_bad(s, c, "the result does not fit in 64 bits");
   return tl_sv_int((int64_t)v);
}

static TlSv
to_int(TlSema *s, const TlCall *c, double (*fn)(double))
{
   const TlSv *v = &c->args[0];
   if (v->kind == TL_SV_INT)
      return *v;
   TlSv out = math1(s, c, fn);
   return out.kind == TL_SV_FLOAT ? tl_host_whole(s, c, out.f) : out;
}

HOST_FN(math_ceil)
{
   return to_int(s, c, ceil);
}

HOST_FN(math_floor)
{
   return to_int(s, c, floor);
}

HOST_FN(math_prod)
{
   TlSv *items, total = tl_sv_int(1);
   size_t len;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   for (size_t i = 0; i < len && total.kind != TL_SV_POISON; i++)
      total = tl_apply_binary(s, TL_AST_OP_MUL, &total, &items[i], c->range);
   return total;
}

static uint64_t
size_of(const TlSv *v)
{
   assert(v->kind == TL_SV_INT);
   return v->is_large || v->i >= 0 ? (uint64_t)v->i : 0 - (uint64_t)v->i;
}

HOST_FN(math_gcd)
{
   if (c->args[0].kind != TL_SV_INT || c->args[1].kind != TL_SV_INT)
      return tl_host_bad(s, c, "known integers are needed");
   uint64_t a = size_of(&c->args[0]), b = size_of(&c->args[1]);
   while (b) {
      uint64_t t = a % b;
      a = b;
      b = t;
   }
   TlSv v = tl_sv_int((int64_t)a);
   v.is_large = a > INT64_MAX;
   return v;
}

/* ---- itertools, functools, os, triton ---- */
HOST_FN(product)
{
   if (c->args[1].kind != TL_SV_INT || c->args[1].i < 0 || c->args[1].i > 8)
      return tl_host_bad(s, c, "repeat must be 0 to 8");
   unsigned repeat = (unsigned)c->args[1].i, num = c->num_rest * repeat;
   TlSv **column = tl_new_array(s->arena, TlSv *, num);
   size_t *len = tl_new_array(s->arena, size_t, num), total = 1;
   for (unsigned i = 0; i < num; i++) {
      if (!items_of(s, c, &c->rest[i % c->num_rest], &column[i], &len[i]))
         return tl_sv_poison();
      if (__builtin_mul_overflow(total, len[i], &total) || total > 100000)
         return tl_host_bad(s, c, "more than 100000 combinations");
   }
   TlSv out = tl_make_tuple(s, NULL, 0, true), *row = tl_new_array(s->arena, TlSv, num);
   out.tuple->items = tl_new_array(s->arena, TlSv, total);
   for (size_t r = 0; r < total; r++) {
      size_t rest = r;
      for (unsigned i = num; i-- > 0; rest /= len[i])
         row[i] = column[i][rest % len[i]];
      out.tuple->items[out.tuple->len++] = tl_make_tuple(s, row, num, false);
   }
   return out;
}

HOST_FN(reduce)
{
   TlSv *items;
   size_t len, i = 0;
   if (!items_of(s, c, &c->args[1], &items, &len))
      return tl_sv_poison();
   if (len == 0 && !c->given[2])
      return tl_host_bad(s, c, "nothing to reduce");
   TlSv acc = c->given[2] ? c->args[2] : items[i++];
   for (; i < len && acc.kind != TL_SV_POISON; i++) {
      TlSv pair[2] = {acc, items[i]};
      acc = tl_sema_call(s, &c->args[0], pair, 2, c->range);
   }
   return acc;
}

HOST_FN(getenv)
{
   (void)s;
   return c->args[1];
}

HOST_FN(config)
{
   static const char *const field[] = {"kwargs",   "num_warps", "num_stages",
                                       "num_ctas", "maxnreg",   "pre_hook"};
   TlSv o = tl_object_new(s, "Config");
   int64_t given = 0; /* what the program said itself, bit by bit */
   for (unsigned i = 0; i < 6; i++) {
      tl_object_set(s, &o, field[i], c->args[i]);
      given |= (int64_t)c->given[i] << i;
   }
   tl_object_set(s, &o, "given", tl_sv_int(given));
   return o;
}

HOST_FN(current_target)
{
   (void)c;
   TlSv o = tl_object_new(s, "GPUTarget");
   tl_object_set(s, &o, "backend", tl_make_str(s, "cuda", 4));
   tl_object_set(s, &o, "arch", tl_sv_int(90));
   tl_object_set(s, &o, "warp_size", tl_sv_int(32));
   return o;
}

HOST_FN(capability)
{
   (void)c;
   TlSv pair[2] = {tl_sv_int(9), tl_sv_int(0)};
   return tl_make_tuple(s, pair, 2, false);
}

HOST_FN(yes)
{
   (void)s;
   (void)c;
   return tl_sv_bool(true);
}

HOST_FN(no)
{
   (void)s;
   (void)c;
   return tl_sv_bool(false);
}

HOST_FN(import_module)
{
   if (c->args[0].kind != TL_SV_STR)
      return tl_host_bad(s, c, "the name must be a string");
   return tl_module_value(s, c->args[0].s.data);
}

HOST_FN(find_spec) /* None for a module that does not exist */
{
   if (c->args[0].kind != TL_SV_STR)
      return tl_host_bad(s, c, "the name must be a string");
   TlSv m = tl_module_value(s, c->args[0].s.data);
   return m.module->kind == TL_MOD_BUILTIN || tl_is_host_module(m.module->name) ? m : tl_sv_none();
}

HOST_FN(namedtuple)
{
   TlSv fields = c->args[1];
   if (c->args[0].kind != TL_SV_STR || fields.kind != TL_SV_TUPLE)
      return tl_host_bad(s, c, "a name and a list of field names are needed");
   TlSv o = tl_object_new(s, "namedtuple");
   tl_object_set(s, &o, "fields", fields);
   return o;
}

/* ---- look-up ---- */
static const TlBuiltin members[] = {
#define TL_HOST_MEMBER(name, signature, function)                                                  \
   {0, name, signature, tl_host_##function, TL_BUILTIN_HOST, ""},
#include "sema/host.def"
};

static bool
constant_attr(TlSema *s, const char *dotted, TlSv *out)
{
   static const struct {
      const char *name;
      double value;
   } number[] = {
#define TL_HOST_NUMBER(name, value) {name, value},
#include "sema/host.def"
   };
   static const struct {
      const char *name, *value; /* NULL: None */
   } text[] = {
#define TL_HOST_TEXT(name, text) {name, text},
#include "sema/host.def"
   };
   for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
      if (strcmp(number[i].name, dotted) == 0) {
         *out = tl_sv_float(number[i].value);
         return true;
      }
   for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
      if (strcmp(text[i].name, dotted) == 0) {
         *out = text[i].value ? tl_make_str(s, text[i].value, strlen(text[i].value)) : tl_sv_none();
         return true;
      }
   return false;
}

static bool
has_prefix(const char *name, const char *prefix)
{
   size_t n = strlen(prefix);
   return strncmp(name, prefix, n) == 0 && (name[n] == '.' || !name[n]);
}

bool
tl_host_module_attr(TlSema *s, const char *module, const char *name, TlSv *out)
{
   const char *dotted = tl_arena_printf(s->arena, "%s.%s", module, name);
   for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
      if (strcmp(members[i].name, dotted) == 0) {
         *out = (TlSv){.kind = TL_SV_BUILTIN, .builtin = {&members[i], NULL}};
         return true;
      }
   if (constant_attr(s, dotted, out))
      return true;
   static const char *const parts[] = {
#define TL_HOST_PART(name) name,
#include "sema/host.def"
   };
   for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
      if (has_prefix(dotted, parts[i])) {
         *out = tl_module_value(s, dotted);
         return true;
      }
   return false;
}

bool
tl_is_host_module(const char *name)
{
   static const char *const known[] = {
#define TL_HOST_MODULE(name) name,
#define TL_HOST_PART(name) name,
#include "sema/host.def"
   };
   for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
      if (has_prefix(name, known[i]))
         return true;
   return false;
}
