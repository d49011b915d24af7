/* Calls of builtins: the row's signature text is read once, arguments are bound to it, and the
 * row's function gets them in parameter order.  Defaults are literals or dtype names. */
#include "sema/builtin.h"
#include "sema/impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct Param {
   const char *name; /* interned */
   bool is_star, is_kw_star, kw_only, pos_only, has_default;
   TlSv value; /* of the default */
} Param;

typedef struct Signature {
   Param *param;
   unsigned num;
} Signature;

/* ---- the signature's text ---- */
static TlSv
read_default(TlSema *s, const char *p, size_t len)
{
   assert(len > 0);
   char *text = tl_arena_strndup(s->arena, p, len), *end;
   if (strcmp(text, "None") == 0)
      return tl_sv_none();
   if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
      return tl_sv_bool(text[0] == 'T');
   if ((text[0] == '\'' || text[0] == '"') && len >= 2)
      return tl_make_str(s, text + 1, len - 2);
   long long i = strtoll(text, &end, 0);
   if (end != text && !*end)
      return tl_sv_int(i);
   double f = strtod(text, &end);
   if (end != text && !*end)
      return tl_sv_float(f);
   if (strcmp(text, "()") == 0 || strcmp(text, "[]") == 0)
      return tl_make_tuple(s, NULL, 0, text[0] == '[');
   const char *name = tl_starts_with(text, "tl.") ? text + 3 : text;
   TlSv v;
   if (tl_dtype_constant(s, name, &v))
      return v;
   assert(false && "default of a builtin is not a literal");
   return tl_sv_none();
}

static const char *
skip_blank(const char *p)
{
   while (*p == ' ')
      p++;
   return p;
}

/* The first of the characters `ends` outside of brackets and quotes, or the end of the text. */
static const char *
end_at(const char *p, const char *ends)
{
   int depth = 0;
   char quote = 0;
   for (; *p && (depth || quote || !strchr(ends, *p)); p++) {
      if (quote)
         quote = *p == quote ? 0 : quote;
      else if (*p == '\'' || *p == '"')
         quote = *p;
      else
         depth += (*p == '(' || *p == '[') - (*p == ')' || *p == ']');
   }
   return p;
}

const char *
tl_parameter_end(const char *p)
{
   return end_at(p, ",");
}

const char *
tl_argument_end(const char *p)
{
   return end_at(p, ",)");
}

static const Signature *
signature_of(TlSema *s, const TlBuiltin *row)
{
   Signature *sig = tl_map_get(&s->impl->signatures, row);
   if (sig)
      return sig;
   sig = tl_new(s->arena, Signature);
   TL_VEC(Param) params = {0};
   bool kw_only = false;
   for (const char *p = skip_blank(row->signature ? row->signature : ""); *p;) {
      const char *end = tl_parameter_end(p);
      Param one = {.kw_only = kw_only};
      while (*p == '*') {
         one.is_kw_star = one.is_star;
         one.is_star = !one.is_star;
         p++;
      }
      size_t n = strcspn(p, "=, ");
      n = n < (size_t)(end - p) ? n : (size_t)(end - p);
      const char *eq = memchr(p, '=', (size_t)(end - p));
      one.name = tl_intern(s->strings, p, n);
      if (eq) {
         const char *v = skip_blank(eq + 1);
         size_t len = (size_t)(end - v);
         while (len && v[len - 1] == ' ')
            len--;
         one.has_default = true;
         one.value = read_default(s, v, len);
      }
      kw_only |= one.is_star;
      bool is_slash = n == 1 && *p == '/';
      for (size_t i = 0; is_slash && i < params.len; i++)
         params.data[i].pos_only = true;
      if (!is_slash && n && !(one.is_star && n == 0))
         tl_vec_push(s->arena, &params, one);
      p = *end ? skip_blank(end + 1) : end;
   }
   sig->param = params.data;
   sig->num = (unsigned)params.len;
   tl_map_put(&s->impl->signatures, row, sig);
   return sig;
}

/* ---- binding ---- */
typedef struct Bound {
   TlCall call;
   TlSv *rest;
} Bound;

static void
put(TlCall *c, unsigned i, TlSv v, TlRange range)
{
   assert(i < c->num_args);
   c->args[i] = v;
   c->given[i] = true;
   c->arg_ranges[i] = range;
}

const char *
tl_slip_help(const TlBuiltin *row, TlSlip slip, const char *param)
{
   static const struct {
      TlSlip slip;
      const char *builtin, *param, *help;
   } rows[] = {
#define TL_SLIP(slip, builtin, param, help) {TL_SLIP_##slip, builtin, param, help},
#include "sema/slips.def"
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (rows[i].slip == slip && (!*rows[i].builtin || strcmp(rows[i].builtin, row->name) == 0) &&
          strcmp(rows[i].param, param) == 0)
         return rows[i].help;
   return NULL;
}

const char *
tl_builtin_signature(TlArena *arena, const TlBuiltin *row, bool is_method)
{
   const char *rest = strchr(row->signature, ',');
   rest = rest ? rest + 2 : "";
   if (row->namespaces & TL_NS_DESCRIPTOR)
      return tl_arena_printf(arena, "desc.%s(%s)", row->name, rest);
   if (strcmp(row->signature, "self") == 0 && row->name[0] != '_')
      return tl_arena_printf(arena, "dtype.%s()", row->name);
   if (is_method)
      return tl_arena_printf(arena, "x.%s(%s)", row->name, rest);
   return tl_arena_printf(arena, "%s(%s)", row->name, row->signature);
}

/* What is known of such a slip, else how the builtin is called. */
static void
help_call(TlSema *s, const TlCall *c, TlSlip slip, const char *param)
{
   const char *help = tl_slip_help(c->row, slip, param);
   const char *form = tl_builtin_signature(s->arena, c->row, c->is_method);
   if (help && (slip == TL_SLIP_HAS_NO || slip == TL_SLIP_LACKS) && !strstr(help, "tl."))
      tl_help(s->diags, "%s; it is called as %s", help, form);
   else
      tl_help(s->diags, "%s", help ? help : form);
}

/* How it is called, below an error that says of an argument only that it does not fit. */
static void
help_with_form(TlSema *s, const TlCall *c)
{
   const char *form = tl_builtin_signature(s->arena, c->row, c->is_method);
   const TlDiag *d = s->diags->last;
   bool is_of_argument = d && (d->code == TL_DIAG_E0300 || d->code == TL_DIAG_E0313);
   if (is_of_argument && tl_has_usual_help(d))
      tl_help(s->diags, "it is called as %s; `tilec doc %s` has an example", form, c->row->name);
}

/* What the builtin calls a parameter that others call by this name; NULL: it has none. */
static const char *
own_name(const Signature *sig, const char *name)
{
   static const struct {
      const char *name, *own;
   } rows[] = {
#define TL_RENAMED(name, parameter) {name, parameter},
#include "sema/slips.def"
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      for (unsigned k = 0; strcmp(rows[i].name, name) == 0 && k < sig->num; k++)
         if (strcmp(sig->param[k].name, rows[i].own) == 0)
            return rows[i].own;
   return NULL;
}

/* What stands before the '.' of a method is not counted. */
static bool
report_excess(TlSema *s, const TlCall *c, const Signature *sig, TlRange range, unsigned num)
{
   unsigned own = c->is_method;
   const char *name = c->row->name;
   tl_report(s->diags, E0252, range, name, sig->num - own, num - own);
   bool has_offsets = c->is_method && sig->num > 1 && strcmp(sig->param[1].name, "offsets") == 0;
   if (has_offsets)
      tl_help(s->diags, "the offsets are one list: x.%s([i, j]%s)", name,
              sig->num > 2 ? ", value" : "");
   else
      help_call(s, c, TL_SLIP_MORE, "");
   return false;
}

/* load(x, offsets, mask, other=0.0): what counts the arguments one too far is the offsets. */
static bool
help_offsets(TlSema *s, const TlCall *c)
{
   const char *name = c->row->name;
   bool is_load = strcmp(name, "load") == 0;
   if ((!is_load && strcmp(name, "store") != 0 && !tl_starts_with(name, "atomic_")) ||
       c->is_method || c->args[0].kind != TL_SV_VALUE || c->args[1].kind != TL_SV_VALUE)
      return false;
   const TlType *pointer = c->args[0].value->type, *offset = c->args[1].value->type;
   const TlType *elem = tl_type_elem(offset);
   if (pointer->kind != TL_TYPE_PTR || elem->kind != TL_TYPE_SCALAR ||
       !tl_dtype_is_int(elem->dtype) || elem->dtype == TL_I1 ||
       (!is_load && !tl_type_is_tile(offset)))
      return false;
   const char *x = tl_range_text(s, tl_call_arg_range(c, 0));
   const char *by = tl_range_text(s, tl_call_arg_range(c, 1));
   tl_help(s->diags,
           "the second argument of '%s' is the %s, and got %s: offsets are added to the pointer, "
           "%s(%.40s + %s, %s)",
           name, is_load ? "mask" : "value", tl_type_cstr(s->arena, offset), name, x,
           strlen(by) <= 60 && !strchr(by, '\n') ? by : "offsets",
           is_load ? "mask, .." : "value, mask");
   return true;
}

/* where(v > 0, 0.1 * v): either value may be the one that is there. */
static bool
help_where(TlSema *s, const TlCall *c, const char *lacks)
{
   enum { MOST = 60 };
   if (strcmp(c->row->name, "where") != 0 || strcmp(lacks, "y") != 0 || c->is_method)
      return false;
   const char *test = tl_range_text(s, tl_call_arg_range(c, 0));
   const char *value = tl_range_text(s, tl_call_arg_range(c, 1));
   if (strlen(test) > MOST || strlen(value) > MOST || strchr(test, '\n') || strchr(value, '\n'))
      return false;
   tl_help(
      s->diags,
      "it takes both values, and '%s' is one of them: tl.where(%s, %s, other) has it where '%s' "
      "holds, tl.where(%s, other, %s) elsewhere; other may be 0",
      value, test, value, test, test, value);
   return true;
}

static bool
bind_keyword(TlSema *s, const TlBuiltin *row, const Signature *sig, const TlArgs *args, unsigned k,
             TlCall *c)
{
   assert(k < args->num_kw);
   const char *name = args->kw_name[k];
   TlNearest near = {.name = name};
   for (unsigned i = 0; i < sig->num; i++) {
      const Param *p = &sig->param[i];
      if (p->is_kw_star) {
         if (c->args[i].kind != TL_SV_DICT)
            c->args[i] = tl_dict_new(s);
         TlSv key = tl_make_str(s, name, strlen(name));
         tl_dict_set(s, &c->args[i], &key, args->kw[k]);
         c->given[i] = true;
         return true;
      }
      if (p->name == name && !p->is_star && !p->pos_only) {
         if (c->given[i]) {
            const char *help = tl_slip_help(row, TL_SLIP_MORE, "");
            tl_report(s->diags, E0254, args->kw_range[k], row->name, name);
            if (help_offsets(s, c))
               return false;
            if (help) /* zeros(16, 64, dtype=tl.float32) */
               tl_help(s->diags, "%s", help);
            else
               tl_help(s->diags, "give it once, by its place or by its name: %s",
                       tl_builtin_signature(s->arena, row, c->is_method));
            return false;
         }
         put(c, i, args->kw[k], args->kw_range[k]);
         return true;
      }
      tl_nearest_try(&near, p->name);
   }
   if (row->namespaces && (name[0] == '_' || strcmp(row->signature, "*args") == 0))
      return true; /* _semantic, _builder: Triton's own plumbing */
   tl_report(s->diags, E0253, args->kw_range[k], row->name, name);
   const char *own = own_name(sig, name), *next = NULL, *next_own = NULL;
   for (unsigned i = k + 1; i < args->num_kw && !next_own; i++) {
      next = args->kw_name[i];
      next_own = own_name(sig, next);
   }
   if (own && next_own && strcmp(own, next_own) != 0)
      tl_help(s->diags, "it is called '%s', and '%.40s' is called '%s'", own, next, next_own);
   else if (own)
      tl_help(s->diags, "it is called '%s'", own);
   else if (near.best && !tl_slip_help(row, TL_SLIP_HAS_NO, name))
      tl_help(s->diags, "did you mean '%s'?", near.best);
   else
      help_call(s, c, TL_SLIP_HAS_NO, name);
   return false;
}

static bool
bind_args(TlSema *s, const TlBuiltin *row, const Signature *sig, const TlArgs *args, TlCall *c)
{
   unsigned next = 0;
   TL_VEC(TlSv) rest = {0};
   TL_VEC(TlRange) rest_ranges = {0};
   for (unsigned i = 0; i < args->num_pos; i++) {
      while (next < sig->num && sig->param[next].kw_only)
         next++;
      bool star = next < sig->num && sig->param[next].is_star;
      if (next >= sig->num)
         return report_excess(s, c, sig, args->pos_range[i], args->num_pos);
      if (star) {
         tl_vec_push(s->arena, &rest, args->pos[i]);
         tl_vec_push(s->arena, &rest_ranges, args->pos_range[i]);
         if (!c->given[next]) {
            c->given[next] = true;
            c->arg_ranges[next] = args->pos_range[i];
         }
      } else {
         put(c, next++, args->pos[i], args->pos_range[i]);
      }
   }
   c->rest = rest.data;
   c->rest_ranges = rest_ranges.data;
   c->num_rest = (unsigned)rest.len;
   for (unsigned k = 0; k < args->num_kw; k++)
      if (!bind_keyword(s, row, sig, args, k, c))
         return false;
   for (unsigned i = 0; i < sig->num; i++) {
      const Param *p = &sig->param[i];
      if (c->given[i] || p->is_star || p->is_kw_star)
         continue;
      if (!p->has_default) {
         tl_report(s->diags, E0251, c->range, row->name, p->name);
         if (!help_where(s, c, p->name))
            help_call(s, c, TL_SLIP_LACKS, p->name);
         return false;
      }
      c->args[i] = p->value;
   }
   return true;
}

/* A shape given as `shape=(..)` where the signature has *shape. */
static void
spread_star_keyword(TlSema *s, const Signature *sig, TlArgs *args)
{
   for (unsigned i = 0; i < sig->num; i++) {
      if (!sig->param[i].is_star || sig->param[i].is_kw_star)
         continue;
      for (unsigned k = 0; k < args->num_kw; k++) {
         if (args->kw_name[k] != sig->param[i].name)
            continue;
         TlArgs moved = *args;
         moved.pos = tl_new_array(s->arena, TlSv, args->num_pos + 1);
         moved.pos_range = tl_new_array(s->arena, TlRange, args->num_pos + 1);
         for (unsigned p = 0; p < args->num_pos; p++) {
            moved.pos[p] = args->pos[p];
            moved.pos_range[p] = args->pos_range[p];
         }
         moved.pos[args->num_pos] = args->kw[k];
         moved.pos_range[moved.num_pos++] = args->kw_range[k];
         moved.kw_name = tl_new_array(s->arena, const char *, args->num_kw);
         moved.kw = tl_new_array(s->arena, TlSv, args->num_kw);
         moved.kw_range = tl_new_array(s->arena, TlRange, args->num_kw);
         moved.num_kw = 0;
         for (unsigned o = 0; o < args->num_kw; o++)
            if (o != k) {
               moved.kw_name[moved.num_kw] = args->kw_name[o];
               moved.kw[moved.num_kw] = args->kw[o];
               moved.kw_range[moved.num_kw++] = args->kw_range[o];
            }
         *args = moved;
         return;
      }
   }
}

/* ---- arguments that no builtin can take ---- */
static bool
opaque_argument(TlSema *s, const TlArgs *args, bool report)
{
   for (unsigned i = 0; i < args->num_pos + args->num_kw; i++) {
      bool is_pos = i < args->num_pos;
      const TlSv *v = is_pos ? &args->pos[i] : &args->kw[i - args->num_pos];
      if (!tl_is_foreign(v))
         continue;
      if (report)
         tl_report_opaque(s, v, is_pos ? args->pos_range[i] : args->kw_range[i - args->num_pos]);
      return true;
   }
   return false;
}

static bool
has_poison(const TlArgs *args)
{
   bool any = false;
   for (unsigned i = 0; i < args->num_pos; i++)
      any |= args->pos[i].kind == TL_SV_POISON;
   for (unsigned i = 0; i < args->num_kw; i++)
      any |= args->kw[i].kind == TL_SV_POISON;
   return any;
}

void
tl_blame_access(TlSema *s, const TlSv *fn, const TlArgs *args)
{
   const TlBuiltin *row = fn->kind == TL_SV_BUILTIN ? fn->builtin.row : NULL;
   bool is_access = row && (row->namespaces & TL_NS_TL) && !fn->builtin.self &&
                    (strcmp(row->name, "load") == 0 || strcmp(row->name, "store") == 0);
   const TlSv *first = is_access && args->num_pos ? &args->pos[0] : NULL;
   if (first && first->kind == TL_SV_VALUE && !tl_type_is_ptr_like(first->value->type))
      tl_blame_sv(s, first, TL_WANT_POINTER);
}

/* sum([a, b]), and sum([a, b], axis=0) as numpy takes it */
static TlSv
sum_of_items(TlSema *s, TlFrame *f, const TlSv *sum, const TlArgs *args, TlRange range)
{
   unsigned errors = s->diags->num_errors;
   TlSv v = tl_invoke_builtin(s, f, sum, args, range);
   if (s->diags->num_errors != errors && s->diags->last->code == TL_DIAG_E0253)
      tl_help(s->diags,
              "of a list or tuple 'sum' adds the items up, as a + b does; an axis is one of "
              "a tile: sum(a + b, axis=0)");
   return v;
}

TlSv
tl_invoke_builtin(TlSema *s, TlFrame *f, const TlSv *fn, const TlArgs *given, TlRange range)
{
   assert(fn->kind == TL_SV_BUILTIN && fn->builtin.row);
   const TlBuiltin *row = fn->builtin.row;
   const Signature *sig = signature_of(s, row);
   TlArgs args = *given;
   bool host = f && tl_is_host(f), host_row = !row->namespaces && (row->flags & TL_BUILTIN_HOST);
   if (fn->builtin.self) {
      args.num_pos++;
      args.pos = tl_new_array(s->arena, TlSv, args.num_pos);
      args.pos_range = tl_new_array(s->arena, TlRange, args.num_pos);
      args.pos[0] = *fn->builtin.self;
      args.pos_range[0] = range;
      for (unsigned i = 0; i < given->num_pos; i++) {
         args.pos[i + 1] = given->pos[i];
         args.pos_range[i + 1] = given->pos_range[i];
      }
   }
   bool needs_known = host_row ? tl_host_needs_known(row) : true;
   if (needs_known && opaque_argument(s, &args, !host))
      return host ? tl_sv_lost(s, tl_range_text(s, range), range) : tl_sv_poison();
   TlSv python_sum; /* sum([1, 2]) of known numbers; sum of a tile is the row's */
   if (strcmp(row->name, "sum") == 0 && !host_row && args.num_pos &&
       args.pos[0].kind == TL_SV_TUPLE && tl_host_builtin(s, "sum", &python_sum))
      return sum_of_items(s, f, &python_sum, given, range);
   bool asks_type = fn->builtin.self && fn->builtin.self->kind == TL_SV_TYPE;
   bool at_compile_time = host_row || asks_type || (row->flags & TL_BUILTIN_HOST) ||
                          (row->namespaces & (TL_NS_PYTHON | TL_NS_TRITON));
   if (host && (!at_compile_time || !s->b.block)) {
      if (strcmp(row->name, "print") == 0)
         return tl_sv_none();
      if (!at_compile_time)
         return tl_sv_lost(s, tl_range_text(s, range), range);
   }
   if (!host_row)
      spread_star_keyword(s, sig, &args);
   if (fn->builtin.self && (row->flags & TL_BUILTIN_MUTATES) &&
       !tl_may_change(s, f, fn->builtin.self, range))
      return tl_sv_poison();
   TlCall call = {.row = row, .range = range, .num_args = sig->num};
   call.is_method = fn->builtin.self != NULL;
   call.args = tl_new_array(s->arena, TlSv, sig->num);
   call.given = tl_new_array(s->arena, bool, sig->num);
   call.arg_ranges = tl_new_array(s->arena, TlRange, sig->num);
   if (!bind_args(s, row, sig, &args, &call))
      return tl_sv_poison();
   if (has_poison(&args)) {
      tl_blame_access(s, fn, &args);
      return tl_sv_poison();
   }
   if (host && strcmp(row->name, "print") == 0)
      return tl_sv_none();
   TlRange saved = s->b.range;
   unsigned errors = s->diags->num_errors;
   const char *around = s->impl->called;
   s->b.range = range;
   s->impl->called = row->name;
   TlSv v = row->fn(s, &call);
   s->b.range = saved;
   s->impl->called = around;
   if (s->diags->num_errors != errors)
      help_with_form(s, &call);
   return v;
}
