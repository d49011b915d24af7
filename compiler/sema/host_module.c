/* Modules of Python's library and of packages, as far as kernels' files use them at compile time: a
 * little of math, os, itertools and functools, and what triton and torch say of the target. */
#include "sema/builtin.h"
#include "base/utf8.h"
#include "sema/host.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* functools.partial(fn, *args, **kwargs): the function with these arguments in front. */
HOST_FN(partial)
{
   enum { FN, ARGS, KWARGS };
   bool is_partial =
      c->args[FN].kind == TL_SV_OBJECT && strcmp(c->args[FN].fields->type_name, "partial") == 0;
   if (c->args[FN].kind != TL_SV_FUNC && c->args[FN].kind != TL_SV_BUILTIN && !is_partial)
      return tl_host_bad(s, c, "a known function is needed");
   TlSv p = tl_object_new(s, "partial");
   tl_object_set(s, &p, "func", c->args[FN]);
   tl_object_set(s, &p, "args", tl_make_tuple(s, c->rest, c->num_rest, false));
   tl_object_set(s, &p, "keywords",
                 c->args[KWARGS].kind == TL_SV_DICT ? c->args[KWARGS] : tl_dict_new(s));
   return p;
}

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

HOST_FN(cached)
{
   return tl_cached_function(s, &c->args[0], TL_KEEP_ALL);
}

HOST_FN(cached_by) /* lru_cache(maxsize=4)(f) */
{
   const TlSv *most = &c->args[0];
   unsigned keep = most->kind == TL_SV_NONE ? TL_KEEP_ALL
                   : most->i < 0            ? 0
                   : most->i > INT_MAX      ? INT_MAX
                                            : (unsigned)most->i;
   return tl_cached_function(s, &c->args[1], keep);
}

static const TlBuiltin row_cached_by = {
   0, "decorator", "self, fn", tl_host_cached_by, TL_BUILTIN_HOST, ""};

HOST_FN(lru_cache) /* lru_cache(f), or lru_cache(maxsize=4) as a decorator */
{
   if (c->args[0].kind == TL_SV_FUNC)
      return tl_cached_function(s, &c->args[0], TL_KEEP_USUAL);
   if (c->args[0].kind != TL_SV_INT && c->args[0].kind != TL_SV_NONE)
      return tl_host_bad(s, c, "maxsize is a number or None");
   TlSv *most = tl_new(s->arena, TlSv);
   *most = c->args[0];
   return (TlSv){.kind = TL_SV_BUILTIN, .builtin = {&row_cached_by, most}};
}

/* functools.wraps(f)(g): g by f's name. */
HOST_FN(wrapped)
{
   enum { OF, FN };
   if (c->args[OF].kind != TL_SV_FUNC || c->args[FN].kind != TL_SV_FUNC)
      return c->args[FN];
   TlSvFunc *fn = tl_new(s->arena, TlSvFunc);
   *fn = *c->args[FN].func;
   fn->name = c->args[OF].func->name;
   return (TlSv){.kind = TL_SV_FUNC, .func = fn};
}

static const TlBuiltin row_wrapped = {0, "decorator", "self, fn", tl_host_wrapped, TL_BUILTIN_HOST,
                                      ""};

HOST_FN(wraps)
{
   TlSv *of = tl_new(s->arena, TlSv);
   *of = c->args[0];
   return (TlSv){.kind = TL_SV_BUILTIN, .builtin = {&row_wrapped, of}};
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
   if (!tl_sv_is_number(&c->args[0])) {
      TlSv bad = tl_host_bad(s, c, "a known number is needed");
      const char *dot = strrchr(c->row->name, '.'), *name = dot ? dot + 1 : c->row->name;
      const char *text = tl_range_text(s, tl_call_arg_range(c, 0)), *over = strchr(text, '/');
      if (strcmp(name, "ceil") == 0 && over && over[1] != '/') /* math.ceil(n / B) */
         tl_help(s->diags, "whole blocks are counted by tl.cdiv(%.*s, %s)",
                 (int)(over - text) - (over > text && over[-1] == ' '), text,
                 over + 1 + strspn(over + 1, " "));
      return bad;
   }
   double x = tl_known_double(&c->args[0]), y = fn(x);
   if (isnan(y) && !isnan(x))
      return tl_host_raises(s, c, "ValueError", "it is not defined there");
   if (!isfinite(y) && isfinite(x))
      return tl_host_bad(s, c, "the result is no finite number");
   return tl_sv_float(y);
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
   if (v.kind == TL_SV_POISON || c->args[1].kind == TL_SV_NONE)
      return v;
   double base = tl_sv_is_number(&c->args[1]) ? log(tl_known_double(&c->args[1])) : 0;
   if (!isfinite(base) || base == 0)
      return tl_host_bad(s, c, "a known base is needed");
   return tl_sv_float(v.f / base);
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

HOST_FN(math_pow)
{
   if (!tl_sv_is_number(&c->args[0]) || !tl_sv_is_number(&c->args[1]))
      return tl_host_bad(s, c, "known numbers are needed");
   TlSv x = tl_sv_float(tl_known_double(&c->args[0]));
   return tl_const_binary(s, TL_AST_OP_POW, &x, &c->args[1], c->range);
}

static bool
two_numbers(TlSema *s, const TlCall *c, double *x, double *y)
{
   if (!tl_sv_is_number(&c->args[0]) || !tl_sv_is_number(&c->args[1])) {
      tl_host_bad(s, c, "known numbers are needed");
      return false;
   }
   *x = tl_known_double(&c->args[0]);
   *y = tl_known_double(&c->args[1]);
   return true;
}

HOST_FN(math_fmod)
{
   double x, y;
   if (!two_numbers(s, c, &x, &y))
      return tl_sv_poison();
   return isfinite(x) && y != 0 ? tl_sv_float(fmod(x, y))
                                : tl_host_raises(s, c, "ValueError", "it is not defined there");
}

HOST_FN(math_copysign)
{
   double x, y;
   return two_numbers(s, c, &x, &y) ? tl_sv_float(copysign(x, y)) : tl_sv_poison();
}

HOST_FN(math_isqrt)
{
   const TlSv *n = &c->args[0];
   if (n->kind != TL_SV_INT || (!n->is_large && n->i < 0))
      return tl_host_bad(s, c, "a known integer that is not negative is needed");
   uint64_t root = 0;
   for (unsigned bit = 32; bit-- > 0;) {
      uint64_t next = root | 1ull << bit;
      if (next <= (uint64_t)n->i / next)
         root = next;
   }
   return tl_sv_int((int64_t)root);
}

HOST_FN(math_factorial)
{
   enum { MOST = 20 }; /* 21! has more than 64 bits */
   const TlSv *n = &c->args[0];
   if (n->kind != TL_SV_INT || n->i < 0 || n->i > MOST)
      return tl_host_bad(s, c, "a known integer from 0 to 20 is needed");
   int64_t product = 1;
   for (int64_t i = 2; i <= n->i; i++)
      product *= i;
   return tl_sv_int(product);
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

HOST_FN(int_bit_length)
{
   int64_t bits = 0;
   for (uint64_t n = size_of(&c->args[0]); n; n >>= 1)
      bits++;
   (void)s;
   return tl_sv_int(bits);
}

HOST_FN(int_bit_count)
{
   (void)s;
   return tl_sv_int(__builtin_popcountll(size_of(&c->args[0])));
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
   TlSv *rows = tl_new_array(s->arena, TlSv, total), *row = tl_new_array(s->arena, TlSv, num);
   for (size_t r = 0; r < total; r++) {
      size_t rest = r;
      for (unsigned i = num; i-- > 0; rest /= len[i])
         row[i] = column[i][rest % len[i]];
      rows[r] = tl_make_tuple(s, row, num, false);
   }
   return tl_make_iter(s, "product", rows, total); /* it keeps copies of its arguments */
}

/* The next choice of r of n places in Python's order; false after the last.  Those of a combination
 * rise, those of a permutation differ. */
static bool
next_choice(size_t *at, size_t r, size_t n, bool rising)
{
   for (size_t i = r; i-- > 0;) {
      for (at[i]++; at[i] < n; at[i]++) {
         bool is_taken = false;
         for (size_t k = 0; k < i; k++)
            is_taken |= at[k] == at[i];
         if (rising ? at[i] <= n - (r - i) : !is_taken)
            break;
      }
      if (at[i] >= n)
         continue;
      for (size_t k = i + 1; k < r; k++) { /* the least that may follow */
         at[k] = rising ? at[k - 1] + 1 : 0;
         for (size_t j = 0; !rising && j < k; j++)
            if (at[j] == at[k]) {
               at[k]++;
               j = (size_t)-1;
            }
      }
      return true;
   }
   return false;
}

static TlSv
choices(TlSema *s, const TlCall *c, bool rising)
{
   enum { MOST = 100000, MOST_ITEMS = 64 }; /* of one choice */
   TL_VEC(TlSv) rows = {0};
   TlSv *items;
   size_t n;
   const TlSv *of = &c->args[1];
   if (!items_of(s, c, &c->args[0], &items, &n))
      return tl_sv_poison();
   if (of->kind != TL_SV_INT && !(of->kind == TL_SV_NONE && !rising))
      return tl_host_bad(s, c, "how many is not known");
   if (of->kind == TL_SV_INT && (of->i < 0 || of->is_large))
      return tl_host_raises(s, c, "ValueError", "r must not be negative");
   size_t r = of->kind == TL_SV_NONE ? n : (size_t)of->i;
   if (r > n)
      return tl_make_iter(s, c->row->name, NULL, 0);
   if (r > MOST_ITEMS)
      return tl_host_bad(s, c, "more than 64 items in a choice");
   size_t *at = tl_new_array(s->arena, size_t, r + 1);
   TlSv *row = tl_new_array(s->arena, TlSv, r + 1);
   for (size_t i = 0; i < r; i++)
      at[i] = i;
   do {
      for (size_t i = 0; i < r; i++)
         row[i] = items[at[i]];
      s->steps += r;
      if (rows.len == MOST || !tl_step(s, c->range))
         return tl_host_bad(s, c, "more than 100000 choices");
      tl_vec_push(s->arena, &rows, tl_make_tuple(s, row, r, false));
   } while (next_choice(at, r, n, rising));
   return tl_make_iter(s, c->row->name, rows.data, rows.len);
}

HOST_FN(combinations)
{
   return choices(s, c, true);
}

HOST_FN(permutations)
{
   return choices(s, c, false);
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
   const TlChange *change = tl_change_of(&c->args[1]);
   uint64_t version = change ? change->version : 0;
   for (; i < len && acc.kind != TL_SV_POISON; i++) {
      TlSv pair[2] = {acc, items[i]};
      acc = tl_sema_call(s, &c->args[0], pair, 2, c->range);
      if (change && change->version != version)
         return tl_host_bad(s, c, "the function changes the list");
   }
   return acc;
}

/* ---- the environment ---- */
/* The variable's text, or None; false after a report: it is not known. */
bool
tl_host_environment(TlSema *s, const TlSv *name, TlRange range, TlSv *out)
{
   const TlSemaOptions *o = &s->impl->options;
   *out = tl_sv_none();
   if (name->kind != TL_SV_STR || s->impl->environ_changed) {
      tl_report(s->diags, E0259, range, "os.environ",
                s->impl->environ_changed ? "the program changes it" : "a known name is needed");
      return false;
   }
   const char *text = tl_arena_strndup(s->arena, name->s.data, name->s.len);
   const char *value = o->environment ? o->environment(o->user, text) : NULL;
   if (value && !tl_utf8_is_valid(value, strlen(value))) {
      tl_report(s->diags, E0259, range, "os.environ", "its value is no text in UTF-8");
      return false;
   }
   if (value)
      *out = tl_make_str(s, value, strlen(value));
   return true;
}

HOST_FN(getenv)
{
   TlSv v;
   if (!tl_host_environment(s, &c->args[0], c->range, &v))
      return tl_sv_poison();
   return v.kind == TL_SV_NONE ? c->args[1] : v;
}

/* ---- triton and torch ---- */
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

static unsigned
capability(const TlSema *s)
{
   return s->impl->options.capability ? s->impl->options.capability : 90;
}

HOST_FN(current_target)
{
   (void)c;
   TlSv o = tl_object_new(s, "GPUTarget");
   tl_object_set(s, &o, "backend", tl_make_str(s, "cuda", 4));
   tl_object_set(s, &o, "arch", tl_sv_int(capability(s)));
   tl_object_set(s, &o, "warp_size", tl_sv_int(32));
   return o;
}

HOST_FN(capability)
{
   (void)c;
   TlSv pair[2] = {tl_sv_int(capability(s) / 10), tl_sv_int(capability(s) % 10)};
   return tl_make_tuple(s, pair, 2, false);
}

HOST_FN(capability_geq)
{
   const TlSv *major = &c->args[0], *minor = &c->args[1];
   if (major->kind != TL_SV_INT || minor->kind != TL_SV_INT)
      return tl_host_bad(s, c, "a capability is two numbers");
   unsigned own = capability(s);
   return tl_sv_bool(own / 10 > major->i || (own / 10 == major->i && own % 10 >= minor->i));
}

HOST_FN(device_name)
{
   TlSv v = tl_sv_lost(s, tl_range_text(s, c->range), c->range);
   TlLost *lost = tl_new(s->arena, TlLost);
   *lost = *v.opaque;
   lost->is_device_name = true;
   return (TlSv){.kind = TL_SV_OPAQUE, .opaque = lost};
}

/* torch's: what the capability says. */
HOST_FN(device_properties)
{
   (void)c;
   TlSv o = tl_object_new(s, "device properties");
   tl_object_set(s, &o, "major", tl_sv_int(capability(s) / 10));
   tl_object_set(s, &o, "minor", tl_sv_int(capability(s) % 10));
   tl_object_set(s, &o, "warp_size", tl_sv_int(32));
   return o;
}

static const struct {
   unsigned capability, bytes;
} shared_memory[] = {
/* of a block, at most */
#define TL_HOST_SHARED(capability, bytes) {capability, bytes},
#include "sema/host.def"
};

/* triton's: a dict of which only what the capability says is known. */
HOST_FN(driver_properties)
{
   TlSv d = tl_dict_new(s);
   d.fields->type_name = "device properties";
   for (size_t i = 0; i < sizeof shared_memory / sizeof shared_memory[0]; i++)
      if (shared_memory[i].capability == capability(s)) {
         TlSv key = tl_make_str(s, "max_shared_mem", 14);
         tl_dict_set(s, &d, &key, tl_sv_int(shared_memory[i].bytes));
      }
   return d.fields->len ? d : tl_host_bad(s, c, "this target's properties are not known");
}

/* `part in name` of the GPU's name: what the target's capability rules out is false. */
bool
tl_device_has_name(TlSema *s, TlText part, bool *known)
{
   static const struct {
      const char *name;
      unsigned capability; /* 0 = no GPU of NVIDIA */
   } gpus[] = {
#define TL_HOST_GPU(name, capability) {name, capability},
#include "sema/host.def"
   };
   *known = false;
   if (part.len == 6 && strncasecmp(part.data, "nvidia", 6) == 0) {
      *known = true;
      return true;
   }
   bool is_listed = false;
   for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++)
      if (strlen(gpus[i].name) == part.len && strncasecmp(gpus[i].name, part.data, part.len) == 0) {
         is_listed = true;
         if (gpus[i].capability == capability(s))
            return false; /* it may be this one or another of the capability */
      }
   *known = is_listed;
   return false;
}

/* is_rocm(), current_platform.is_cuda() .. of modules that are not at hand: the target decides. */
bool
tl_host_platform(const char *call, bool *out)
{
   static const struct {
      const char *name;
      bool value;
   } platforms[] = {
#define TL_HOST_PLATFORM(name, value) {name, value},
#include "sema/host.def"
   };
   if (!tl_ends_with(call, "()"))
      return false;
   const char *dot = strrchr(call, '.'), *name = dot ? dot + 1 : call;
   for (size_t i = 0; i < sizeof platforms / sizeof platforms[0]; i++)
      if (tl_is_word(platforms[i].name, name, strlen(name) - 2)) {
         *out = platforms[i].value;
         return true;
      }
   return false;
}

/* ---- torch.finfo, torch.iinfo ---- */
static const struct {
   const char *name;
   unsigned bits;
   double max, eps, tiny;
} floats[] = {
#define TL_HOST_FINFO(name, bits, max, eps, tiny) {"torch." name, bits, max, eps, tiny},
#include "sema/host.def"
};

static const char *
dtype_name(const TlSv *v)
{
   return tl_is_host_module_value(v) ? v->module->name : "";
}

bool
tl_is_torch_dtype(const TlSv *v)
{
   static const char *const others[] = {"torch.uint8", "torch.int8",  "torch.int16",
                                        "torch.int32", "torch.int64", "torch.bool"};
   const char *name = dtype_name(v);
   bool is_one = false;
   for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
      is_one |= strcmp(floats[i].name, name) == 0;
   for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
      is_one |= strcmp(others[i], name) == 0;
   return is_one;
}

HOST_FN(finfo)
{
   const char *name = dtype_name(&c->args[0]);
   for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
      if (strcmp(floats[i].name, name) != 0)
         continue;
      TlSv o = tl_object_new(s, "finfo");
      tl_object_set(s, &o, "bits", tl_sv_int(floats[i].bits));
      tl_object_set(s, &o, "max", tl_sv_float(floats[i].max));
      tl_object_set(s, &o, "min", tl_sv_float(-floats[i].max));
      tl_object_set(s, &o, "eps", tl_sv_float(floats[i].eps));
      tl_object_set(s, &o, "tiny", tl_sv_float(floats[i].tiny));
      tl_object_set(s, &o, "smallest_normal", tl_sv_float(floats[i].tiny));
      return o;
   }
   return tl_host_bad(s, c, "a known floating-point dtype of torch is needed");
}

HOST_FN(iinfo)
{
   const char *name = dtype_name(&c->args[0]);
   bool is_unsigned = tl_starts_with(name, "torch.u");
   const char *digits = tl_skip_prefix(name, is_unsigned ? "torch.uint" : "torch.int");
   unsigned bits = !digits                     ? 0
                   : strcmp(digits, "8") == 0  ? 8
                   : strcmp(digits, "16") == 0 ? 16
                   : strcmp(digits, "32") == 0 ? 32
                   : strcmp(digits, "64") == 0 ? 64
                                               : 0;
   if (!bits)
      return tl_host_bad(s, c, "a known integer dtype of torch is needed");
   uint64_t all = UINT64_MAX >> (64 - bits);
   TlSv max = tl_sv_int((int64_t)(is_unsigned ? all : all >> 1));
   max.is_large = is_unsigned && bits == 64;
   TlSv o = tl_object_new(s, "iinfo");
   tl_object_set(s, &o, "bits", tl_sv_int(bits));
   tl_object_set(s, &o, "max", max);
   tl_object_set(s, &o, "min", tl_sv_int(is_unsigned ? 0 : -(int64_t)(all >> 1) - 1));
   return o;
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
   return tl_imported_module(s, c->args[0].s.data);
}

HOST_FN(find_spec) /* None for a module that does not exist */
{
   if (c->args[0].kind != TL_SV_STR)
      return tl_host_bad(s, c, "the name must be a string");
   TlSv m = tl_module_value(s, c->args[0].s.data);
   if (m.module->kind != TL_MOD_BUILTIN && !tl_is_host_module(m.module->name))
      return tl_sv_none();
   TlSv spec = tl_object_new(s, "ModuleSpec"), loader = tl_object_new(s, "Loader"), exec;
   if (tl_host_module_attr(s, "importlib.machinery.Loader", "exec_module", &exec))
      tl_object_set(s, &loader, "exec_module", exec);
   tl_object_set(s, &spec, "name", c->args[0]);
   tl_object_set(s, &spec, "loader", loader);
   tl_object_set(s, &spec, "module", m);
   return spec;
}

HOST_FN(module_from_spec)
{
   TlSv m;
   if (c->args[0].kind == TL_SV_OBJECT && tl_object_get(&c->args[0], "module", &m))
      return m;
   return tl_host_bad(s, c, "it takes what importlib.util.find_spec() found");
}

HOST_FN(exec_module) /* modules that are known are there already */
{
   (void)s;
   (void)c;
   return tl_sv_none();
}

/* A release; what compares is its numbers without zeros at the end, as packaging has it.  Versions
 * before or behind a release, as 3.0.0rc1 and 2.9.0+cu128, are not followed. */
HOST_FN(version)
{
   enum { MOST_NUMBERS = 8, MOST_DIGITS = 9 };
   static const char *const parts[] = {"major", "minor", "micro"};
   TlSv number[MOST_NUMBERS], v = tl_object_new(s, TL_VERSION_TYPE);
   size_t num = 0, kept = 0;
   const char *p = c->args[0].kind == TL_SV_STR ? c->args[0].s.data : "";
   for (bool more = true; more; p++) {
      size_t digits = strspn(p, "0123456789");
      if (!digits || digits > MOST_DIGITS || num == MOST_NUMBERS)
         return tl_host_bad(s, c, "a release as in \"3.6.0\" is needed");
      number[num++] = tl_sv_int(strtol(p, NULL, 10));
      p += digits;
      more = *p == '.';
   }
   if (p[-1])
      return tl_host_bad(s, c, "a release as in \"3.6.0\" is needed");
   for (size_t i = 0; i < num; i++)
      if (number[i].i)
         kept = i + 1;
   for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
      tl_object_set(s, &v, parts[i], i < num ? number[i] : tl_sv_int(0));
   tl_object_set(s, &v, "release", tl_make_tuple(s, number, num, false));
   tl_object_set(s, &v, TL_VERSION_KEY, tl_make_tuple(s, number, kept, false));
   return v;
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

/* The backends that Triton finds installed: here it is NVIDIA's, whose driver is active. */
static TlSv
backends(TlSema *s)
{
   TlSv all = tl_dict_new(s), key = tl_make_str(s, "nvidia", 6), is_active;
   TlSv backend = tl_object_new(s, "Backend"), driver = tl_object_new(s, "CudaDriver");
   if (tl_host_module_attr(s, "triton.backends.nvidia.driver.CudaDriver", "is_active", &is_active))
      tl_object_set(s, &driver, "is_active", is_active);
   tl_object_set(s, &backend, "driver", driver);
   tl_dict_set(s, &all, &key, backend);
   return all;
}

static TlSv
type_checking(TlSema *s)
{
   (void)s;
   return tl_sv_bool(false);
}

static bool
made_attr(TlSema *s, const char *dotted, TlSv *out)
{
   static const struct {
      const char *name;
      TlSv (*make)(TlSema *s);
   } values[] = {
#define TL_HOST_VALUE(name, function) {name, function},
#include "sema/host.def"
   };
   for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
      if (strcmp(values[i].name, dotted) == 0) {
         *out = values[i].make(s);
         return true;
      }
   return false;
}

/* hasattr() of a library's module. */
bool
tl_host_module_has(const char *dotted, bool *has)
{
   static const struct {
      const char *name;
      bool has;
   } rows[] = {
#define TL_HOST_HAS(name) {name, true},
#define TL_HOST_LACKS(name) {name, false},
#include "sema/host.def"
   };
   static const struct {
      const char *module, *names;
   } whole[] = {
#define TL_HOST_HAS_ONLY(module, names) {module, names},
#include "sema/host.def"
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (strcmp(rows[i].name, dotted) == 0) {
         *has = rows[i].has;
         return true;
      }
   for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
      const char *name = tl_skip_prefix(dotted, whole[i].module);
      if (name && *name++ == '.') {
         *has = tl_word_is_listed(whole[i].names, name);
         return true;
      }
   }
   return false;
}

/* "torch.cuda" and "torch.cuda.amp" are below "torch.cuda". */
static bool
is_below(const char *name, const char *module)
{
   const char *rest = tl_skip_prefix(name, module);
   return rest && (*rest == '.' || !*rest);
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
   if (constant_attr(s, dotted, out) || made_attr(s, dotted, out))
      return true;
   static const char *const parts[] = {
#define TL_HOST_PART(name) name,
#include "sema/host.def"
   };
   for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
      if (is_below(dotted, parts[i])) {
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
      if (is_below(name, known[i]))
         return true;
   return false;
}

bool
tl_host_may_have_source(const char *name)
{
   static const char *const sources[] = {
#define TL_HOST_SOURCE(name) name,
#include "sema/host.def"
   };
   for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
      if (is_below(name, sources[i]))
         return true;
   return false;
}

bool
tl_sv_python_member(const TlSv *module, size_t i, const char **name, const char **signature)
{
   static const struct {
      const char *name, *signature;
   } rows[] = {
#define TL_HOST_MEMBER(name, signature, function) {name, signature},
#define TL_HOST_NUMBER(name, value) {name, NULL},
#define TL_HOST_TEXT(name, text) {name, NULL},
#include "sema/host.def"
   };
   if (!tl_is_host_module_value(module))
      return false;
   for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
      const char *dot = tl_skip_prefix(rows[k].name, module->module->name);
      if (!dot || *dot != '.' || strchr(dot + 1, '.') || i--)
         continue;
      *name = dot + 1;
      *signature = rows[k].signature;
      return true;
   }
   return false;
}
