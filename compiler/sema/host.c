/* Host Python that kernels' files use at compile time: Python's functions on known values, a little
 * of math, os, itertools and functools, what triton offers outside of kernels, and methods of
 * strings, lists and dicts.  The environment is never read: os.environ.get gives its default. */
#include "sema/impl.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define HOST_FN(name) static TlSv host_##name(TlSema *s, const TlCall *c)

static TlSv
bad(TlSema *s, const TlCall *c, const char *why)
{
   tl_report(s->diags, E0259, c->range, c->row->name, why);
   return tl_sv_poison();
}

static bool
items_of(TlSema *s, const TlCall *c, const TlSv *v, TlSv **items, size_t *len)
{
   return tl_iterate(s, v, c->range, items, len);
}

static bool
truth_of(const TlSv *v)
{
   return !tl_sv_is_runtime(v) && tl_const_truth(v);
}

/* ---- Python's functions ---- */
HOST_FN(enumerate)
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   TlSv out = tl_make_tuple(s, items, len, true);
   for (size_t i = 0; i < len; i++) {
      TlSv pair[2] = {tl_sv_int((int64_t)i + c->args[1].i), items[i]};
      out.tuple->items[i] = tl_make_tuple(s, pair, 2, false);
   }
   return out;
}

HOST_FN(zip)
{
   TlSv **columns = tl_new_array(s->arena, TlSv *, c->num_rest);
   size_t shortest = 0;
   for (unsigned i = 0; i < c->num_rest; i++) {
      size_t len;
      if (!items_of(s, c, &c->rest[i], &columns[i], &len))
         return tl_sv_poison();
      shortest = i == 0 || len < shortest ? len : shortest;
   }
   TlSv *rows = tl_new_array(s->arena, TlSv, shortest);
   TlSv *row = tl_new_array(s->arena, TlSv, c->num_rest);
   for (size_t r = 0; r < shortest; r++) {
      for (unsigned i = 0; i < c->num_rest; i++)
         row[i] = columns[i][r];
      rows[r] = tl_make_tuple(s, row, c->num_rest, false);
   }
   return tl_make_tuple(s, rows, shortest, true);
}

HOST_FN(reversed)
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   TlSv out = tl_make_tuple(s, items, len, true);
   for (size_t i = 0; i < len; i++)
      out.tuple->items[i] = items[len - 1 - i];
   return out;
}

HOST_FN(sorted) /* stable insertion sort: lists of host code are short */
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   TlSv out = tl_make_tuple(s, items, len, true), keys = tl_make_tuple(s, items, len, true);
   for (size_t i = 0; i < len && c->args[1].kind != TL_SV_NONE; i++) {
      keys.tuple->items[i] = tl_sema_call(s, &c->args[1], &items[i], 1, c->range);
      if (keys.tuple->items[i].kind == TL_SV_POISON)
         return tl_sv_poison();
   }
   bool down = truth_of(&c->args[2]), ok = true;
   for (size_t i = 1; i < len; i++)
      for (size_t k = i; k > 0; k--) {
         TlSv *key = keys.tuple->items, *val = out.tuple->items;
         int order = down ? tl_const_order(s, &key[k - 1], &key[k], c->range, &ok)
                          : tl_const_order(s, &key[k], &key[k - 1], c->range, &ok);
         if (!ok || !tl_step(s, c->range))
            return tl_sv_poison();
         if (order != -1)
            break;
         TlSv t = key[k];
         key[k] = key[k - 1], key[k - 1] = t;
         t = val[k];
         val[k] = val[k - 1], val[k - 1] = t;
      }
   return out;
}

HOST_FN(map)
{
   TlSv *items;
   size_t len;
   if (c->num_rest != 1)
      return bad(s, c, "one iterable is supported");
   if (!items_of(s, c, &c->rest[0], &items, &len))
      return tl_sv_poison();
   TlSv out = tl_make_tuple(s, items, len, true);
   for (size_t i = 0; i < len; i++) {
      out.tuple->items[i] = tl_sema_call(s, &c->args[0], &items[i], 1, c->range);
      if (out.tuple->items[i].kind == TL_SV_POISON)
         return tl_sv_poison();
   }
   return out;
}

HOST_FN(filter)
{
   TlSv *items;
   size_t len, n = 0;
   if (!items_of(s, c, &c->args[1], &items, &len))
      return tl_sv_poison();
   TlSv out = tl_make_tuple(s, items, len, true);
   for (size_t i = 0; i < len; i++) {
      TlSv keep = c->args[0].kind == TL_SV_NONE
                     ? items[i]
                     : tl_sema_call(s, &c->args[0], &items[i], 1, c->range);
      if (keep.kind == TL_SV_POISON)
         return keep;
      if (truth_of(&keep))
         out.tuple->items[n++] = items[i];
   }
   out.tuple->len = n;
   return out;
}

static TlSv
any_all(TlSema *s, const TlCall *c, bool any)
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   for (size_t i = 0; i < len; i++)
      if (truth_of(&items[i]) == any)
         return tl_sv_bool(any);
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
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   for (size_t i = 0; i < len && total.kind != TL_SV_POISON; i++)
      total = tl_apply_binary(s, TL_AST_OP_ADD, &total, &items[i], c->range);
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

HOST_FN(set)
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   return tl_unique_items(s, items, len);
}

HOST_FN(dict)
{
   TlSv d = tl_dict_new(s);
   const TlSv *from[2] = {&c->args[0], &c->args[1]};
   for (unsigned k = 0; k < 2; k++)
      for (size_t i = 0; from[k]->kind == TL_SV_DICT && i < from[k]->fields->len; i++)
         tl_dict_set(s, &d, &from[k]->fields->keys[i], from[k]->fields->values[i]);
   for (size_t i = 0; c->args[0].kind == TL_SV_TUPLE && i < c->args[0].tuple->len; i++) {
      const TlSv *pair = &c->args[0].tuple->items[i];
      if (pair->kind != TL_SV_TUPLE || pair->tuple->len != 2)
         return bad(s, c, "the items must be pairs");
      tl_dict_set(s, &d, &pair->tuple->items[0], pair->tuple->items[1]);
   }
   return d;
}

static TlSv
text_of(TlSema *s, const TlSv *v, bool as_str)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   tl_sv_repr(s, v, as_str, &sb);
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

HOST_FN(str)
{
   return text_of(s, &c->args[0], true);
}

HOST_FN(repr)
{
   return text_of(s, &c->args[0], false);
}

HOST_FN(hasattr)
{
   if (c->args[1].kind != TL_SV_STR)
      return bad(s, c, "the name must be a string");
   return tl_sv_bool(tl_has_attribute(s, &c->args[0], c->args[1].s.data));
}

HOST_FN(getattr)
{
   if (c->args[1].kind != TL_SV_STR)
      return bad(s, c, "the name must be a string");
   if (c->given[2] && !tl_has_attribute(s, &c->args[0], c->args[1].s.data))
      return c->args[2];
   TlText name = c->args[1].s;
   return tl_attribute(s, NULL, &c->args[0], tl_intern(s->strings, name.data, name.len), c->range);
}

HOST_FN(callable)
{
   (void)s;
   return tl_sv_bool(c->args[0].kind == TL_SV_FUNC || c->args[0].kind == TL_SV_BUILTIN);
}

HOST_FN(round)
{
   (void)s;
   if (!tl_sv_is_number(&c->args[0]))
      return bad(s, c, "a number is needed");
   double v = tl_known_double(&c->args[0]);
   if (c->args[1].kind == TL_SV_INT) {
      double scale = pow(10, (double)c->args[1].i);
      return tl_sv_float(nearbyint(v * scale) / scale);
   }
   return tl_sv_int((int64_t)nearbyint(v));
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

/* A decorator or wrapper that gives the function back. */
HOST_FN(same)
{
   (void)s;
   return c->args[0];
}

static const TlBuiltin row_same = {0, "decorator", "fn", host_same, TL_BUILTIN_HOST, ""};

HOST_FN(decorator)
{
   (void)s;
   (void)c;
   return (TlSv){.kind = TL_SV_BUILTIN, .builtin = {&row_same, NULL}};
}

HOST_FN(jit) /* triton.jit(f), or triton.jit(debug=True) as a decorator */
{
   if (c->args[0].kind != TL_SV_FUNC)
      return host_decorator(s, c);
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
      return bad(s, c, "a known number is needed");
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

static TlSv
to_int(TlSema *s, const TlCall *c, double (*fn)(double))
{
   TlSv v = math1(s, c, fn);
   if (v.kind != TL_SV_FLOAT)
      return v;
   if (!(fabs(v.f) < 9.2e18))
      return bad(s, c, "the result does not fit in 64 bits");
   return tl_sv_int((int64_t)v.f);
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

HOST_FN(math_gcd)
{
   if (c->args[0].kind != TL_SV_INT || c->args[1].kind != TL_SV_INT)
      return bad(s, c, "known integers are needed");
   uint64_t a = (uint64_t)(c->args[0].i < 0 ? -c->args[0].i : c->args[0].i);
   uint64_t b = (uint64_t)(c->args[1].i < 0 ? -c->args[1].i : c->args[1].i);
   while (b) {
      uint64_t t = a % b;
      a = b;
      b = t;
   }
   return tl_sv_int((int64_t)a);
}

/* ---- itertools, functools, os, triton ---- */
HOST_FN(product)
{
   if (c->args[1].kind != TL_SV_INT || c->args[1].i < 0 || c->args[1].i > 8)
      return bad(s, c, "repeat must be 0 to 8");
   unsigned repeat = (unsigned)c->args[1].i, num = c->num_rest * repeat;
   TlSv **column = tl_new_array(s->arena, TlSv *, num);
   size_t *len = tl_new_array(s->arena, size_t, num), total = 1;
   for (unsigned i = 0; i < num; i++) {
      if (!items_of(s, c, &c->rest[i % c->num_rest], &column[i], &len[i]))
         return tl_sv_poison();
      if (__builtin_mul_overflow(total, len[i], &total) || total > 100000)
         return bad(s, c, "more than 100000 combinations");
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
      return bad(s, c, "nothing to reduce");
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
      return bad(s, c, "the name must be a string");
   return tl_module_value(s, c->args[0].s.data);
}

HOST_FN(find_spec) /* None for a module that does not exist */
{
   if (c->args[0].kind != TL_SV_STR)
      return bad(s, c, "the name must be a string");
   TlSv m = tl_module_value(s, c->args[0].s.data);
   return m.module->kind == TL_MOD_BUILTIN || tl_is_host_module(m.module->name) ? m : tl_sv_none();
}

HOST_FN(namedtuple)
{
   TlSv fields = c->args[1];
   if (c->args[0].kind != TL_SV_STR || fields.kind != TL_SV_TUPLE)
      return bad(s, c, "a name and a list of field names are needed");
   TlSv o = tl_object_new(s, "namedtuple");
   tl_object_set(s, &o, "fields", fields);
   return o;
}

/* ---- tables ---- */
#define ROW(name, signature, fn)                                                                   \
   {                                                                                               \
      0, name, signature, host_##fn, TL_BUILTIN_HOST, ""                                           \
   }
static const TlBuiltin python_row[] = {
   ROW("enumerate", "iterable, start=0", enumerate),
   ROW("zip", "*iterables, strict=False", zip),
   ROW("reversed", "sequence", reversed),
   ROW("sorted", "iterable, key=None, reverse=False", sorted),
   ROW("map", "function, *iterables", map),
   ROW("filter", "function, iterable", filter),
   ROW("any", "iterable", any),
   ROW("all", "iterable", all),
   ROW("sum", "iterable, start=0", sum),
   ROW("list", "iterable=()", list),
   ROW("tuple", "iterable=()", tuple),
   ROW("set", "iterable=()", set),
   ROW("frozenset", "iterable=()", set),
   ROW("iter", "iterable", list),
   ROW("dict", "mapping=None, **items", dict),
   ROW("str", "object=''", str),
   ROW("repr", "object", repr),
   ROW("hasattr", "object, name", hasattr),
   ROW("getattr", "object, name, default=None", getattr),
   ROW("callable", "object", callable),
   ROW("round", "number, ndigits=None", round),
   ROW("divmod", "a, b", divmod),
   ROW("pow", "a, b", pow),
};

static const TlBuiltin module_row[] = {
   ROW("math.sqrt", "x", math_sqrt),
   ROW("math.exp", "x", math_exp),
   ROW("math.log", "x, base=None", math_log),
   ROW("math.log2", "x", math_log2),
   ROW("math.log10", "x", math_log10),
   ROW("math.fabs", "x", math_fabs),
   ROW("math.sin", "x", math_sin),
   ROW("math.cos", "x", math_cos),
   ROW("math.tanh", "x", math_tanh),
   ROW("math.ceil", "x", math_ceil),
   ROW("math.floor", "x", math_floor),
   ROW("math.prod", "iterable", math_prod),
   ROW("math.gcd", "a, b", math_gcd),
   ROW("math.pow", "a, b", pow),
   ROW("itertools.product", "*iterables, repeat=1", product),
   ROW("functools.reduce", "function, iterable, initial=None", reduce),
   ROW("functools.lru_cache", "*args, **kwargs", decorator),
   ROW("functools.cache", "fn", same),
   ROW("functools.partial", "fn", same),
   ROW("functools.wraps", "*args, **kwargs", decorator),
   ROW("collections.namedtuple", "name, fields", namedtuple),
   ROW("importlib.import_module", "name, package=None", import_module),
   ROW("importlib.util.find_spec", "name, package=None", find_spec),
   ROW("os.getenv", "key, default=None", getenv),
   ROW("os.environ.get", "key, default=None", getenv),
   ROW("triton.Config",
       "kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, **others",
       config),
   ROW("triton.runtime.autotuner.Config",
       "kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, **others",
       config),
   ROW("triton.jit", "fn=None, **options", jit),
   ROW("triton.constexpr_function", "fn", same),
   ROW("triton.autotune", "*args, **options", decorator),
   ROW("triton.heuristics", "*args, **options", decorator),
   ROW("triton.runtime.driver.active.get_current_target", "", current_target),
   ROW("torch.cuda.is_available", "", yes),
   ROW("torch.cuda.get_device_capability", "*device", capability),
   ROW("torch.xpu.is_available", "", no),
   ROW("torch.compiler.is_compiling", "", no),
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

bool
tl_host_builtin(TlSema *s, const char *name, TlSv *out)
{
   for (size_t i = 0; i < COUNT(python_row); i++)
      if (strcmp(python_row[i].name, name) == 0) {
         *out = (TlSv){.kind = TL_SV_BUILTIN, .builtin = {&python_row[i], NULL}};
         return true;
      }
   if (strcmp(name, "Config") == 0) /* triton.Config, bare in a .tile file */
      return tl_host_module_attr(s, "triton", name, out);
   if (strcmp(name, "__name__") == 0) {
      *out = tl_make_str(s, "tilec", 5);
      return true;
   }
   /* exceptions and types of host code that appear in conditions */
   static const char *const opaque[] = {"object",
                                        "type",
                                        "Exception",
                                        "ValueError",
                                        "TypeError",
                                        "RuntimeError",
                                        "NotImplementedError",
                                        "ImportError",
                                        "AssertionError",
                                        "property",
                                        "staticmethod",
                                        "classmethod",
                                        "super",
                                        "id",
                                        "open",
                                        "KeyError",
                                        "input",
                                        "bytes",
                                        "slice",
                                        "complex",
                                        "vars",
                                        "globals"};
   for (size_t i = 0; i < COUNT(opaque); i++)
      if (strcmp(opaque[i], name) == 0) {
         *out = (TlSv){.kind = TL_SV_OPAQUE, .opaque = opaque[i]};
         return true;
      }
   return false;
}

static bool
constant_attr(TlSema *s, const char *dotted, TlSv *out)
{
   static const struct {
      const char *name;
      double value;
   } number[] = {{"math.pi", 3.141592653589793},
                 {"math.e", 2.718281828459045},
                 {"math.tau", 6.283185307179586},
                 {"math.inf", INFINITY},
                 {"math.nan", NAN}};
   static const struct {
      const char *name, *value; /* NULL: None */
   } text[] = {{"triton.__version__", "3.6.0"},
               {"torch.version.hip", NULL},
               {"torch.version.cuda", "12.8"},
               {"torch.__version__", "2.9.0"},
               {"sys.platform", "linux"}};
   for (size_t i = 0; i < COUNT(number); i++)
      if (strcmp(number[i].name, dotted) == 0) {
         *out = tl_sv_float(number[i].value);
         return true;
      }
   for (size_t i = 0; i < COUNT(text); i++)
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
   for (size_t i = 0; i < COUNT(module_row); i++)
      if (strcmp(module_row[i].name, dotted) == 0) {
         *out = (TlSv){.kind = TL_SV_BUILTIN, .builtin = {&module_row[i], NULL}};
         return true;
      }
   if (constant_attr(s, dotted, out))
      return true;
   static const char *const host_part[] = {
      "triton.runtime",   "triton.testing", "triton.tools", "triton.backends",
      "triton.compiler",  "triton.ops",     "triton.knobs", "triton.experimental",
      "triton.autotuner", "triton.profiler"};
   for (size_t i = 0; i < COUNT(host_part); i++)
      if (has_prefix(dotted, host_part[i])) {
         *out = tl_module_value(s, dotted);
         return true;
      }
   return false;
}

bool
tl_is_host_module(const char *name)
{
   static const char *const known[] = {"torch",
                                       "numpy",
                                       "os",
                                       "sys",
                                       "math",
                                       "typing",
                                       "functools",
                                       "itertools",
                                       "collections",
                                       "dataclasses",
                                       "enum",
                                       "warnings",
                                       "logging",
                                       "contextlib",
                                       "inspect",
                                       "packaging",
                                       "einops",
                                       "pytest",
                                       "time",
                                       "random",
                                       "re",
                                       "json",
                                       "pathlib",
                                       "copy",
                                       "abc",
                                       "types",
                                       "operator",
                                       "transformers",
                                       "jax",
                                       "pandas",
                                       "matplotlib",
                                       "argparse",
                                       "subprocess",
                                       "importlib",
                                       "threading",
                                       "platform",
                                       "datetime",
                                       "hashlib",
                                       "builtins",
                                       "__future__",
                                       "typing_extensions",
                                       "tqdm",
                                       "string",
                                       "struct",
                                       "ctypes",
                                       "glob",
                                       "shutil",
                                       "tempfile",
                                       "traceback",
                                       "statistics",
                                       "cutlass",
                                       "apex",
                                       "deepspeed",
                                       "pickle",
                                       "sqlite3",
                                       "io",
                                       "gc",
                                       "weakref",
                                       "textwrap",
                                       "multiprocessing",
                                       "concurrent",
                                       "asyncio",
                                       "socket",
                                       "uuid",
                                       "pkg_resources",
                                       "torchvision",
                                       "triton.runtime",
                                       "triton.testing",
                                       "triton.tools",
                                       "triton.backends",
                                       "triton.compiler",
                                       "triton.ops",
                                       "triton.knobs",
                                       "triton.experimental",
                                       "triton.profiler"};
   for (size_t i = 0; i < COUNT(known); i++)
      if (has_prefix(name, known[i]))
         return true;
   return false;
}

/* ---- methods of strings, lists and dicts ---- */
HOST_FN(str_case)
{
   bool up = c->row->name[0] == 'u';
   TlSv v = tl_make_str(s, c->args[0].s.data, c->args[0].s.len);
   char *p = tl_arena_strndup(s->arena, v.s.data, v.s.len);
   for (size_t i = 0; i < v.s.len; i++)
      p[i] = (char)(up ? toupper((unsigned char)p[i]) : tolower((unsigned char)p[i]));
   v.s.data = p;
   return v;
}

HOST_FN(str_strip)
{
   const char *p = c->args[0].s.data, *e = p + c->args[0].s.len;
   while (p < e && isspace((unsigned char)*p))
      p++;
   while (e > p && isspace((unsigned char)e[-1]))
      e--;
   return tl_make_str(s, p, (size_t)(e - p));
}

HOST_FN(str_ends) /* startswith, endswith: one string or a tuple of them */
{
   bool start = c->row->name[0] == 's';
   TlText t = c->args[0].s;
   const TlSv *items = &c->args[1];
   size_t n = 1;
   if (items->kind == TL_SV_TUPLE) {
      n = items->tuple->len;
      items = items->tuple->items;
   }
   for (size_t i = 0; i < n; i++) {
      if (items[i].kind != TL_SV_STR)
         return bad(s, c, "a string is needed");
      TlText w = items[i].s;
      if (w.len <= t.len && memcmp(start ? t.data : t.data + t.len - w.len, w.data, w.len) == 0)
         return tl_sv_bool(true);
   }
   return tl_sv_bool(false);
}

HOST_FN(str_split)
{
   TlText t = c->args[0].s;
   TL_VEC(TlSv) out = {0};
   const char *p = t.data, *end = t.data + t.len;
   if (c->args[1].kind == TL_SV_STR && c->args[1].s.len) {
      TlText sep = c->args[1].s;
      for (const char *q = p; q + sep.len <= end;) {
         if (memcmp(q, sep.data, sep.len) != 0) {
            q++;
            continue;
         }
         tl_vec_push(s->arena, &out, tl_make_str(s, p, (size_t)(q - p)));
         p = q += sep.len;
      }
      tl_vec_push(s->arena, &out, tl_make_str(s, p, (size_t)(end - p)));
   } else {
      while (p < end) {
         while (p < end && isspace((unsigned char)*p))
            p++;
         const char *q = p;
         while (q < end && !isspace((unsigned char)*q))
            q++;
         if (q > p)
            tl_vec_push(s->arena, &out, tl_make_str(s, p, (size_t)(q - p)));
         p = q;
      }
   }
   return tl_make_tuple(s, out.data, out.len, true);
}

HOST_FN(str_join)
{
   TlSv *items;
   size_t len;
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   if (!items_of(s, c, &c->args[1], &items, &len))
      return tl_sv_poison();
   for (size_t i = 0; i < len; i++) {
      if (items[i].kind != TL_SV_STR)
         return bad(s, c, "strings are needed");
      if (i)
         tl_sb_mem(&sb, c->args[0].s.data, c->args[0].s.len);
      tl_sb_mem(&sb, items[i].s.data, items[i].s.len);
   }
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

HOST_FN(str_replace)
{
   TlText t = c->args[0].s, old, with;
   if (c->args[1].kind != TL_SV_STR || c->args[2].kind != TL_SV_STR || !c->args[1].s.len)
      return bad(s, c, "two strings are needed");
   old = c->args[1].s;
   with = c->args[2].s;
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   for (size_t i = 0; i < t.len;) {
      bool hit = i + old.len <= t.len && memcmp(t.data + i, old.data, old.len) == 0;
      tl_sb_mem(&sb, hit ? with.data : t.data + i, hit ? with.len : 1);
      i += hit ? old.len : 1;
   }
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

/* "{} {1} {name:>4}".format(..) */
HOST_FN(str_format)
{
   const char *p = c->args[0].s.data, *end = p + c->args[0].s.len;
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   unsigned next = 0;
   while (p < end) {
      if ((*p == '{' || *p == '}') && p + 1 < end && p[1] == *p) {
         tl_sb_char(&sb, *p);
         p += 2;
         continue;
      }
      const char *close = *p == '{' ? memchr(p, '}', (size_t)(end - p)) : NULL;
      if (!close) {
         tl_sb_char(&sb, *p++);
         continue;
      }
      const char *name = p + 1, *colon = memchr(name, ':', (size_t)(close - name));
      size_t len = (size_t)((colon ? colon : close) - name);
      TlSv key = tl_make_str(s, name, len), v = tl_sv_poison();
      bool found = false;
      bool digits = len > 0 && strspn(key.s.data, "0123456789") == len && len < 4;
      unsigned at = len == 0 ? next++ : 0;
      for (size_t i = 0; digits && i < len; i++)
         at = at * 10 + (unsigned)(name[i] - '0');
      if (len == 0 || digits) {
         found = at < c->num_rest;
         if (found)
            v = c->rest[at];
      } else if (c->args[2].kind == TL_SV_DICT) {
         v = tl_dict_get(&c->args[2], &key, &found);
      }
      if (!found)
         return bad(s, c, "a field of the format has no value");
      TlText spec = {colon ? colon + 1 : "", colon ? (size_t)(close - colon - 1) : 0};
      if (!spec.len)
         tl_sv_repr(s, &v, true, &sb);
      else if (!tl_format_number(s, &v, spec, c->range, &sb))
         return tl_sv_poison();
      p = close + 1;
   }
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

static void
list_push(TlSema *s, TlSvTuple *t, TlSv v)
{
   if (t->cap <= t->len) {
      size_t cap = t->len; /* what tl_vec_grow doubles */
      t->items = tl_vec_grow(s->arena, t->items, t->len, &cap, sizeof t->items[0]);
      t->cap = cap;
      s->steps += t->len / 8;
   }
   t->items[t->len++] = v;
}

HOST_FN(list_append)
{
   list_push(s, c->args[0].tuple, c->args[1]);
   return tl_sv_none();
}

HOST_FN(list_extend)
{
   TlSv *items;
   size_t len;
   if (!items_of(s, c, &c->args[1], &items, &len))
      return tl_sv_poison();
   for (size_t i = 0; i < len; i++)
      list_push(s, c->args[0].tuple, items[i]);
   return tl_sv_none();
}

HOST_FN(list_pop)
{
   TlSvTuple *t = c->args[0].tuple;
   int64_t at = c->args[1].kind == TL_SV_INT ? c->args[1].i : -1;
   at = at < 0 ? at + (int64_t)t->len : at;
   if (at < 0 || at >= (int64_t)t->len)
      return bad(s, c, "the index is out of range");
   TlSv v = t->items[at];
   for (size_t i = (size_t)at + 1; i < t->len; i++)
      t->items[i - 1] = t->items[i];
   t->len--;
   return v;
}

HOST_FN(seq_index)
{
   const TlSvTuple *t = c->args[0].tuple;
   for (size_t i = 0; i < t->len; i++)
      if (tl_const_equal(&t->items[i], &c->args[1]))
         return tl_sv_int((int64_t)i);
   return bad(s, c, "the value is not in the sequence");
}

HOST_FN(seq_count)
{
   (void)s;
   int64_t n = 0;
   for (size_t i = 0; i < c->args[0].tuple->len; i++)
      n += tl_const_equal(&c->args[0].tuple->items[i], &c->args[1]);
   return tl_sv_int(n);
}

HOST_FN(seq_copy)
{
   return tl_make_tuple(s, c->args[0].tuple->items, c->args[0].tuple->len,
                        c->args[0].tuple->is_list);
}

HOST_FN(dict_get)
{
   (void)s;
   bool found;
   TlSv v = tl_dict_get(&c->args[0], &c->args[1], &found);
   return found ? v : c->args[2];
}

HOST_FN(dict_items)
{
   const TlSvFields *d = c->args[0].fields;
   TlSv out = tl_make_tuple(s, d->values, d->len, true);
   for (size_t i = 0; i < d->len; i++) {
      TlSv pair[2] = {d->keys[i], d->values[i]};
      out.tuple->items[i] = tl_make_tuple(s, pair, 2, false);
   }
   return out;
}

HOST_FN(dict_keys)
{
   return tl_make_tuple(s, c->args[0].fields->keys, c->args[0].fields->len, true);
}

HOST_FN(dict_values)
{
   return tl_make_tuple(s, c->args[0].fields->values, c->args[0].fields->len, true);
}

HOST_FN(dict_update)
{
   for (unsigned k = 1; k < 3; k++)
      for (size_t i = 0; c->args[k].kind == TL_SV_DICT && i < c->args[k].fields->len; i++)
         tl_dict_set(s, &c->args[0], &c->args[k].fields->keys[i], c->args[k].fields->values[i]);
   return tl_sv_none();
}

static const TlBuiltin str_row[] = {
   ROW("upper", "self", str_case),
   ROW("lower", "self", str_case),
   ROW("strip", "self", str_strip),
   ROW("startswith", "self, prefix", str_ends),
   ROW("endswith", "self, suffix", str_ends),
   ROW("split", "self, sep=None", str_split),
   ROW("join", "self, iterable", str_join),
   ROW("replace", "self, old, new", str_replace),
   ROW("format", "self, *args, **fields", str_format),
};
static const TlBuiltin list_row[] = {
   ROW("append", "self, item", list_append), ROW("extend", "self, items", list_extend),
   ROW("pop", "self, index=-1", list_pop),   ROW("index", "self, item", seq_index),
   ROW("count", "self, item", seq_count),    ROW("copy", "self", seq_copy),
};
static const TlBuiltin dict_row[] = {
   ROW("get", "self, key, default=None", dict_get),
   ROW("items", "self", dict_items),
   ROW("keys", "self", dict_keys),
   ROW("values", "self", dict_values),
   ROW("update", "self, other=None, **items", dict_update),
};

bool
tl_is_host_mutation(const TlBuiltin *row)
{
   return row->fn == host_list_append || row->fn == host_list_extend || row->fn == host_list_pop ||
          row->fn == host_dict_update;
}

bool
tl_host_method(TlSema *s, const TlSv *self, const char *name, TlSv *out)
{
   const TlBuiltin *rows = NULL;
   size_t n = 0;
   if (self->kind == TL_SV_STR)
      rows = str_row, n = COUNT(str_row);
   else if (self->kind == TL_SV_TUPLE)
      rows = list_row, n = COUNT(list_row);
   else if (self->kind == TL_SV_DICT)
      rows = dict_row, n = COUNT(dict_row);
   for (size_t i = 0; i < n; i++) {
      bool mutates = rows == list_row && i < 3;
      if (strcmp(rows[i].name, name) != 0 || (mutates && !self->tuple->is_list))
         continue;
      TlSv *copy = tl_new(s->arena, TlSv);
      *copy = *self;
      *out = (TlSv){.kind = TL_SV_BUILTIN, .builtin = {&rows[i], copy}};
      return true;
   }
   return false;
}
