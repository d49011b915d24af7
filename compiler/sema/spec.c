/* One specialisation of one kernel: which kernel, what each parameter is, then its body.
 *
 * A signature has one entry for each parameter, in order; or one for each parameter that is not
 * constexpr and has no -D value, in order, when the counts say so.  What a parameter is comes from
 * the first of: its signature entry, -D, a heuristic, the first autotune configuration, its own
 * annotation, its default.  An entry that is a value (64, None, 'x', i32:1) makes the parameter a
 * compile-time constant, whether it is annotated constexpr or not. */
#include "sema/generic.h"
#include "sema/spec.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- signature entries ---- */
typedef struct Entry {
   TlRange range; /* in the signature's own source text */
   const char *text;
} Entry;

typedef struct Spec {
   const TlSvFunc *fn;
   const TlAstFunction *ast;
   const TlSpecialization *given;
   TlMeta meta;
   uint32_t sig_file;
   TL_VEC(Entry) entries;
   TlSpecArg *args;
   unsigned num;
   const char **heuristic_failed; /* of each parameter: why its heuristic gives no value, or NULL */
} Spec;

static const TlAstParam *
param(const Spec *p, unsigned i)
{
   return tl_ast_Param(p->ast->params.data[i]);
}

static bool
is_constexpr(const Spec *p, unsigned i)
{
   return tl_is_constexpr_annotation(param(p, i)->annotation);
}

static void
split_signature(TlSema *s, Spec *p, const char *text)
{
   size_t len = strlen(text), start = 0;
   p->sig_file = tl_sources_add(s->sources, "<signature>", text, len);
   int depth = 0;
   char quote = 0;
   for (size_t i = 0; i <= len; i++) {
      char c = i < len ? text[i] : ',';
      if (quote) {
         quote = c == quote ? 0 : quote;
      } else if (c == '\'' || c == '"') {
         quote = c;
      } else if (strchr("([{<", c) && c) {
         depth++;
      } else if (strchr(")]}>", c) && c) {
         depth--;
      }
      if ((c == ',' && depth <= 0 && !quote) || i == len) {
         size_t b = start, e = i;
         while (b < e && isspace((unsigned char)text[b]))
            b++;
         while (e > b && isspace((unsigned char)text[e - 1]))
            e--;
         Entry one = {.range = tl_range(p->sig_file, (uint32_t)b, (uint32_t)e)};
         one.text = tl_arena_strndup(s->arena, text + b, e - b);
         bool trailing = i == len && b == e;
         if (!trailing)
            tl_vec_push(s->arena, &p->entries, one);
         start = i + 1;
      }
   }
}

enum { MAX_TYPE_DEPTH = 16 }; /* as in IR text */

static const TlType *
parse_type(TlSema *s, const char *text, size_t len, unsigned depth)
{
   const char *end = text + len;
   bool is_ptr = len && *text == '*', is_const = false;
   TlDtype dtype;
   if (is_ptr)
      text++;
   while (text < end && *text == ' ')
      text++;
   if (is_ptr && end - text > 6 && tl_starts_with(text, "const ")) {
      is_const = true;
      text += 6;
   } else if (is_ptr && end - text > 2 && *text == 'k' && text[1] != ' ') {
      is_const = true; /* Triton's "*kfp32" */
      text++;
   }
   if (is_ptr && text < end && *text == '*') {
      const TlType *inner =
         depth < MAX_TYPE_DEPTH ? parse_type(s, text, (size_t)(end - text), depth + 1) : NULL;
      return inner ? tl_type_ptr(s->types, inner, is_const) : NULL;
   }
   if (tl_starts_with(text, "tl."))
      text += 3;
   if (text >= end || !tl_dtype_from_text(text, (size_t)(end - text), &dtype))
      return NULL;
   const TlType *t = tl_type_scalar(s->types, dtype);
   return is_ptr ? tl_type_ptr(s->types, t, is_const) : t;
}

const TlType *
tl_parse_type_text(TlSema *s, const char *text, size_t len)
{
   return parse_type(s, text, len, 1);
}

/* -D and signature words: a number, True, False, None, a dtype, else a string. */
TlSv
tl_read_value(TlSema *s, const char *text, TlRange range)
{
   char *end;
   size_t len = strlen(text);
   if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
      return tl_sv_bool(text[0] == 'T');
   if (strcmp(text, "None") == 0)
      return tl_sv_none();
   if (len >= 2 && (text[0] == '\'' || text[0] == '"') && text[len - 1] == text[0])
      return tl_make_str(s, text + 1, len - 2);
   if (isdigit((unsigned char)text[0]) || text[0] == '-' || text[0] == '+' || text[0] == '.') {
      errno = 0;
      long long i = strtoll(text, &end, 0);
      if (!*end && len && errno == ERANGE) {
         errno = 0;
         unsigned long long u = strtoull(text, &end, 0);
         if (text[0] == '-' || errno == ERANGE) {
            tl_report(s->diags, E0210, range);
            tl_help(s->diags, "the value given is %s", text);
            return tl_sv_none();
         }
         TlSv large = tl_sv_int((int64_t)u);
         large.is_large = true;
         return large;
      }
      if (!*end && len)
         return tl_sv_int(i);
      double f = strtod(text, &end);
      if (!*end && len)
         return tl_sv_float(f);
   }
   if (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0 || strcmp(text, "nan") == 0)
      return tl_sv_float(strtod(text, NULL));
   const TlType *t = tl_parse_type_text(s, text, len);
   if (t)
      return tl_sv_type(t);
   if (text[0] == '(' || text[0] == '[') {
      TlFrame *f = tl_module_frame(s, s->impl->main);
      return tl_eval_source(s, f, "<value>", text);
   }
   return tl_make_str(s, text, len);
}

static bool
is_type_entry(const char *text)
{
   return text[0] == '*' || tl_starts_with(text, "tensordesc");
}

/* "x, y, n" */
static const char *
param_names(TlSema *s, const Spec *p)
{
   TlSb names;
   tl_sb_init(&names, s->arena);
   for (unsigned i = 0; i < p->num; i++)
      tl_sb_printf(&names, "%s%s", i ? ", " : "", param(p, i)->name);
   return tl_sb_cstr(&names);
}

/* An entry with a name before it: x: *fp32, 'x': '*fp32', x=*fp32.  Reported; false: it has
 * none. */
static bool
has_name(TlSema *s, const Spec *p, const Entry *e)
{
   size_t n = strcspn(e->text, ":=");
   bool is_fact =
      !e->text[n] || isdigit((unsigned char)e->text[n + 1 + strspn(e->text + n + 1, " ")]);
   size_t begin = strspn(e->text, " {'\""), len = strcspn(e->text + begin, " '\":=");
   bool is_param = false;
   for (unsigned i = 0; i < p->num; i++)
      is_param |= tl_is_word(param(p, i)->name, e->text + begin, len);
   if (is_fact || !is_param || strchr(e->text, '[') || e->text[0] == '*')
      return false;
   tl_report(s->diags, E0268, e->range, e->text);
   tl_help(s->diags,
           "entries have no names: they stand in the order of the parameters %s, as in -s "
           "\"*fp32, i32\"",
           param_names(s, p));
   return true;
}

/* "type", "type:16", "type:1". */
static bool
read_typed_entry(TlSema *s, const Entry *e, TlSpecArg *a, bool *is_type)
{
   const char *colon = strrchr(e->text, ':');
   size_t len = colon ? (size_t)(colon - e->text) : strlen(e->text);
   while (len && e->text[len - 1] == ' ')
      len--;
   *a = (TlSpecArg){.is_given = true, .divisibility = 1};
   a->type = tl_parse_type_text(s, e->text, len);
   *is_type = a->type != NULL;
   if (!a->type || !colon)
      return true;
   const char *fact = colon + 1;
   while (*fact == ' ')
      fact++;
   char *end;
   long n = strtol(fact, &end, 10);
   if (*end == 'D' || *end == 'S') /* suffixes of newer notations */
      end++;
   if (*end || n < 1 || n > 1 << 20 || (n & (n - 1))) {
      tl_report(s->diags, E0264, e->range, fact);
      if (strchr(fact, ';'))
         tl_help(s->diags, "%s", tl_entry_separators);
      return false;
   }
   if (n == 1 && a->type->kind == TL_TYPE_SCALAR) {
      const TlType *type = a->type;
      tl_set_constant(a, tl_dtype_is_float(type->dtype) ? tl_sv_float(1.0) : tl_sv_int(1));
      a->type = type;
   } else {
      a->divisibility = (uint32_t)n;
   }
   return true;
}

static bool
read_entry(TlSema *s, Spec *p, unsigned i, const Entry *e)
{
   TlSpecArg *a = &p->args[i];
   const char *name = param(p, i)->name;
   bool is_word = is_constexpr(p, i) && strcmp(e->text, "constexpr") == 0; /* Triton writes it */
   if (!*e->text || is_word) /* left to annotation, define or default */
      return true;
   if (has_name(s, p, e))
      return false;
   bool is_type = tl_is_descriptor_text(e->text);
   if (is_type ? !tl_read_descriptor(s, e->text, e->range, a)
               : !read_typed_entry(s, e, a, &is_type))
      return false;
   if (is_type && is_constexpr(p, i)) {
      bool dtype_value = !a->is_constant && a->type->kind == TL_TYPE_SCALAR &&
                         !strchr(e->text, ':') && !strpbrk(e->text, "*");
      bool by_triton_name = tl_starts_with(e->text, "tl.");
      if (a->is_constant)
         return true;
      if (dtype_value && (by_triton_name || tl_dtype_is_float(a->type->dtype))) {
         tl_set_constant(a, tl_sv_type(a->type)); /* DTYPE: constexpr = fp16 */
         return true;
      }
      tl_report(s->diags, E0267, e->range, name, e->text);
      tl_note(s->diags, N0200, param(p, i)->node.range, "the parameter is declared here");
      tl_help(s->diags, "give a value, such as 64, True or tl.float16");
      return false;
   }
   if (!is_type) {
      if (is_type_entry(e->text)) {
         tl_report(s->diags, E0268, e->range, e->text);
         if (strchr(e->text, ';'))
            tl_help(s->diags, "%s", tl_entry_separators);
         else
            tl_help_type(s, e->text);
         return false;
      }
      tl_set_constant(a, tl_read_value(s, e->text, e->range));
      bool word = a->constant.kind == TL_SV_STR && e->text[0] != '\'' && e->text[0] != '"';
      bool is_named = word && strpbrk(e->text, "=;");
      if (word && (is_named || !is_constexpr(p, i))) {
         tl_report(s->diags, E0268, e->range, e->text);
         tl_note(s->diags, N0200, param(p, i)->node.range, "the parameter is declared here");
         if (is_named)
            tl_help(s->diags, "%s", tl_entry_separators);
         else
            tl_help_type(s, e->text);
         return false;
      }
      if (a->constant.kind == TL_SV_POISON)
         return false;
   }
   return true;
}

static int
define_index(const Spec *p, const char *name)
{
   for (size_t i = p->given->define_names.len; i-- > 0;)
      if (strcmp(p->given->define_names.data[i], name) == 0)
         return (int)i;
   return -1;
}

/* May the signature end before it? */
static bool
has_own_value(const Spec *p, unsigned i)
{
   return is_constexpr(p, i) || param(p, i)->default_value ||
          (p->fn->source->is_tile && param(p, i)->annotation) ||
          define_index(p, param(p, i)->name) >= 0;
}

/* "'m', 'k' have none; " of entries that are missing at the end. */
static const char *
missing_entries(TlSema *s, const Spec *p)
{
   TlSb sb;
   unsigned num = 0;
   tl_sb_init(&sb, s->arena);
   for (unsigned i = (unsigned)p->entries.len; i < p->num; i++)
      if (!has_own_value(p, i))
         tl_sb_printf(&sb, "%s'%s'", num++ ? ", " : "", param(p, i)->name);
   if (num)
      tl_sb_str(&sb, num == 1 ? " has none; " : " have none; ");
   return tl_sb_cstr(&sb);
}

static void
help_signature(TlSema *s, const Spec *p)
{
   bool has_comma = strchr(p->given->signature, ',');
   if (strchr("[{(", p->given->signature[0]) && p->given->signature[0]) {
      tl_help(s->diags,
              "entries stand in the order of the parameters %s, without brackets, quotes or names: "
              "*fp32, i32, 64",
              param_names(s, p));
      return;
   }
   if (strchr(p->given->signature, ';') || (!has_comma && strchr(p->given->signature, ' '))) {
      tl_help(s->diags, "%s", tl_entry_separators);
      return;
   }
   tl_help(s->diags,
           "%swrite an entry for each of: %s; such as -s '*fp32, i32, 64' for a pointer, "
           "an integer and a constexpr of 64",
           missing_entries(s, p), param_names(s, p));
}

/* How many parameters only a signature or a launch gives. */
static size_t
num_without_value(const Spec *p)
{
   size_t n = 0;
   for (unsigned i = 0; i < p->num; i++)
      n += !is_constexpr(p, i) && !param(p, i)->default_value &&
           define_index(p, param(p, i)->name) < 0;
   return n;
}

static bool
read_signature(TlSema *s, Spec *p)
{
   s->impl->short_signature = NULL;
   if (!p->given->signature)
      return true;
   split_signature(s, p, p->given->signature);
   size_t n = p->entries.len;
   unsigned open = 0; /* parameters that only the signature gives */
   for (unsigned i = 0; i < p->num; i++)
      open += !is_constexpr(p, i) && define_index(p, param(p, i)->name) < 0;
   bool by_position = n == p->num;
   bool run_time_only = !by_position && n == open;
   if (!by_position && !run_time_only) {
      bool prefix = n < p->num; /* the rest must have values of their own */
      for (unsigned i = (unsigned)n; prefix && i < p->num; i++)
         prefix = has_own_value(p, i);
      if (!prefix) {
         TlRange r = tl_range(p->sig_file, 0, (uint32_t)strlen(p->given->signature));
         tl_report(s->diags, E0269, r, n, p->fn->name, p->num, open);
         help_signature(s, p);
         tl_note(s->diags, N0200, p->fn->node->range, "the kernel is declared here");
         return false;
      }
   }
   if (n < num_without_value(p))
      s->impl->short_signature = tl_arena_printf(
         s->arena, "the signature has %zu entries, the parameters are %s: is one missing?", n,
         param_names(s, p));
   bool ok = true;
   size_t next = 0;
   for (unsigned i = 0; i < p->num && next < n; i++) {
      if (run_time_only && (is_constexpr(p, i) || define_index(p, param(p, i)->name) >= 0))
         continue;
      ok &= read_entry(s, p, i, &p->entries.data[next++]);
   }
   return ok;
}

/* ---- annotations and defaults ---- */
/* Does the signature's next entry have the type that this parameter declares, and the other way
 * round? */
static bool
is_next_exchanged(TlSema *s, const Spec *p, unsigned i, const TlType *declared)
{
   if (i + 1 >= p->num || i + 1 >= p->entries.len || !param(p, i + 1)->annotation)
      return false;
   const char *text = tl_node_text(s, param(p, i + 1)->annotation);
   const char *here = p->entries.data[i].text, *next = p->entries.data[i + 1].text;
   const TlType *other = tl_parse_type_text(s, text, strlen(text));
   return other && other == tl_parse_type_text(s, here, strlen(here)) &&
          declared == tl_parse_type_text(s, next, strlen(next));
}

/* By the signature where there is one, else by -D or the program. */
static void
report_declared(TlSema *s, Spec *p, unsigned i, const TlType *declared, const char *given)
{
   const TlAstParam *q = param(p, i);
   bool by_signature = p->sig_file && i < p->entries.len && define_index(p, q->name) < 0;
   TlRange r = by_signature ? p->entries.data[i].range : q->annotation->range;
   tl_report(s->diags, E0270, r, q->name, tl_type_cstr(s->arena, declared), given);
   if (by_signature && s->impl->short_signature)
      tl_help(s->diags, "%s", s->impl->short_signature);
   else if (by_signature && is_next_exchanged(s, p, i, declared))
      tl_help(s->diags, "the entries of '%s' and '%s' are exchanged: .., %s, %s", q->name,
              param(p, i + 1)->name, p->entries.data[i + 1].text, p->entries.data[i].text);
   if (by_signature)
      tl_note(s->diags, N0200, q->annotation->range, "the type is declared here");
   else
      tl_help(s->diags, "leave the value of '%s' out, or take the declaration out", q->name);
}

static bool
check_annotation(TlSema *s, Spec *p, unsigned i)
{
   const TlNode *a = param(p, i)->annotation;
   TlSpecArg *arg = &p->args[i];
   if (!a || is_constexpr(p, i))
      return true;
   TlSpecArg own;
   if (!tl_annotation_type(s, p->fn->source, a, &own))
      return false;
   if (!arg->is_given) {
      if (own.is_given)
         *arg = own;
      return true;
   }
   if (arg->type && arg->type->kind == TL_TYPE_PTR && tl_is_const_annotation(s, a))
      arg->type = tl_type_ptr(s->types, arg->type->elem, true);
   bool is_number = arg->is_constant && !arg->type && arg->constant.kind != TL_SV_NONE;
   if (is_number && own.type && own.type->kind == TL_TYPE_PTR &&
       arg->constant.kind != TL_SV_OPAQUE) {
      report_declared(s, p, i, own.type, tl_sv_describe(s, &arg->constant));
      return false;
   }
   if (is_number && own.type && own.type->kind == TL_TYPE_SCALAR)
      arg->type = own.type; /* of the folded value in the record */
   /* given by the signature: must fit what a .tile file says; own facts hold too */
   if (!arg->is_constant && own.type && !own.is_constant && p->fn->source->is_tile) {
      bool same = arg->type == own.type ||
                  (arg->type->kind == TL_TYPE_PTR && own.type->kind == TL_TYPE_PTR &&
                   arg->type->elem == own.type->elem);
      if (!same) {
         report_declared(s, p, i, own.type, tl_type_cstr(s->arena, arg->type));
         return false;
      }
      arg->type = own.type;
      if (own.divisibility > arg->divisibility)
         arg->divisibility = own.divisibility;
   }
   return true;
}

static TlSv
eval_default(TlSema *s, Spec *p, unsigned i)
{
   TlFrame *f = tl_module_frame(s, p->fn->source);
   f->parent = p->fn->closure;
   return tl_eval_expr(s, f, param(p, i)->default_value);
}

/* n: i32 = 4.5 */
static bool
check_default(TlSema *s, Spec *p, unsigned i)
{
   const TlAstParam *q = param(p, i);
   TlSpecArg own;
   if (!q->default_value || !q->annotation || is_constexpr(p, i) ||
       !tl_annotation_type(s, p->fn->source, q->annotation, &own) || !own.type ||
       own.type->kind != TL_TYPE_SCALAR)
      return true;
   TlSv v = eval_default(s, p, i);
   bool is_cut = tl_dtype_is_int(own.type->dtype) && v.kind == TL_SV_FLOAT;
   if (!is_cut && v.kind != TL_SV_STR)
      return true;
   tl_report(s->diags, E0270, q->default_value->range, q->name, tl_type_cstr(s->arena, own.type),
             tl_sv_describe(s, &v));
   tl_help(s->diags,
           is_cut ? "write a whole number, or declare it '%s: fp32'"
                  : "write a number without quotes, or declare it '%s: constexpr'",
           q->name);
   return false;
}

static void
apply_default(TlSema *s, Spec *p, unsigned i)
{
   TlSpecArg *a = &p->args[i];
   if (a->is_given || !param(p, i)->default_value)
      return;
   TlSv v = eval_default(s, p, i);
   if (is_constexpr(p, i) ||
       !(v.kind == TL_SV_INT || v.kind == TL_SV_FLOAT || v.kind == TL_SV_BOOL)) {
      tl_set_constant(a, v);
      return;
   }
   TlSv strong = tl_strengthen(s, v); /* a run-time parameter of the default's type */
   *a = (TlSpecArg){.is_given = true, .divisibility = 1};
   a->type = tl_type_scalar(s->types, strong.dtype);
}

/* BLOCK for BLOCK_SIZE, or the other way round: the one constexpr that is a part of the name. */
static const char *
longer_name(const Spec *p, const char *name)
{
   const char *found = NULL;
   for (unsigned i = 0; i < p->num; i++) {
      const char *own = param(p, i)->name;
      if (!is_constexpr(p, i) || strlen(own) < 2 || strlen(name) < 2 ||
          (!strstr(own, name) && !strstr(name, own)))
         continue;
      if (found)
         return NULL;
      found = own;
   }
   return found;
}

/* Which constants there are, and what a launch gives. */
static void
help_params(TlSema *s, const Spec *p)
{
   TlSb constants, others;
   tl_sb_init(&constants, s->arena);
   tl_sb_init(&others, s->arena);
   for (unsigned i = 0; i < p->num; i++) {
      TlSb *to = is_constexpr(p, i) ? &constants : &others;
      tl_sb_printf(to, "%s%s", to->len ? ", " : "", param(p, i)->name);
   }
   if (constants.len && others.len)
      tl_help(s->diags, "constexpr: %s; given by a launch: %s", tl_sb_cstr(&constants),
              tl_sb_cstr(&others));
   else
      tl_help(s->diags, "it has %s", param_names(s, p));
}

static bool
apply_defines(TlSema *s, Spec *p)
{
   bool ok = true;
   for (size_t k = 0; k < p->given->define_names.len; k++) {
      const char *name = p->given->define_names.data[k];
      TlNearest near = {.name = name};
      bool found = false;
      for (unsigned i = 0; i < p->num; i++) {
         tl_nearest_try(&near, param(p, i)->name);
         if (strcmp(param(p, i)->name, name) != 0)
            continue;
         found = true;
         bool from_signature = p->args[i].is_given;
         const char *value = p->given->define_values.data[k];
         if (!from_signature || p->args[i].is_constant) {
            tl_set_constant(&p->args[i], tl_read_value(s, value, param(p, i)->node.range));
            continue;
         }
         tl_report(s->diags, E0270, param(p, i)->node.range, name,
                   tl_type_cstr(s->arena, p->args[i].type),
                   tl_arena_printf(s->arena, "the value %s", value));
         tl_help(s->diags,
                 "the signature, or a launch's argument, gives '%s' its type: leave the value out, "
                 "-D %s=%s, or write it in place of the type",
                 name, name, value);
         ok = false;
      }
      bool is_warps = strcmp(name, "num_warps") == 0, is_stages = strcmp(name, "num_stages") == 0;
      if (!found) {
         tl_report(s->diags, E0271, tl_ast_name_range(s->sources, p->fn->node), p->fn->name, name);
         if (is_warps || is_stages)
            tl_help(s->diags, "it is an option of its own: --num-%s=%s",
                    is_warps ? "warps" : "stages", p->given->define_values.data[k]);
         else if (near.best || (near.best = longer_name(p, name)))
            tl_help(s->diags, "did you mean '%s'? -D %s=%.40s gives it a value", near.best,
                    near.best, p->given->define_values.data[k]);
         else
            help_params(s, p);
         ok = false;
      }
   }
   return ok;
}

/* ---- heuristics and autotune ---- */
typedef struct Heuristic {
   const TlSv *fn;
   TlSv args;
} Heuristic;

static TlSv
call_heuristic(TlSema *s, void *user)
{
   Heuristic *h = user;
   return tl_sema_call(s, h->fn, &h->args, 1, (TlRange){0});
}

static bool
has_key(TlSema *s, TlSv *dict, const TlSv *key)
{
   bool found;
   (void)tl_dict_get(s, dict, key, &found);
   return found;
}

static TlSv
run_time_argument(TlSema *s, const TlAstParam *p)
{
   TlLost *lost = tl_new(s->arena, TlLost);
   *lost = (TlLost){
      .why = tl_arena_printf(s->arena, "the value of '%s', which only the launch gives", p->name),
      .place = p->node.range,
      .is_argument = true};
   return (TlSv){.kind = TL_SV_OPAQUE, .opaque = lost};
}

/* What the kernel's heuristics are called with. */
static TlSv
known_arguments(TlSema *s, const Spec *p)
{
   TlSv d = tl_known_values(s, p->given);
   for (unsigned i = 0; i < p->num; i++) {
      TlSv key = tl_make_str(s, param(p, i)->name, strlen(param(p, i)->name));
      const TlSpecArg *a = &p->args[i];
      if (a->is_given && a->is_constant)
         tl_dict_set(s, &d, &key, a->constant);
      else if (a->is_given && a->type->kind == TL_TYPE_PTR)
         tl_dict_set(s, &d, &key, tl_pointer_argument(s, a->type->elem));
      else if (a->is_given && !has_key(s, &d, &key))
         tl_dict_set(s, &d, &key, run_time_argument(s, param(p, i)));
   }
   tl_add_defaults(s, p->fn, &d);
   return d;
}

static void
take_missing(TlSema *s, Spec *p, const char *name, TlSv v, TlRange range, const char *from)
{
   for (unsigned i = 0; i < p->num; i++)
      if (strcmp(param(p, i)->name, name) == 0 && !p->args[i].is_given && is_constexpr(p, i) &&
          v.kind != TL_SV_POISON && v.kind != TL_SV_OPAQUE) {
         tl_set_constant(&p->args[i], v);
         if (tl_wants_remarks(s->diags, "parameters"))
            tl_report(s->diags, R0201, range, name, tl_sv_constant_text(s, &v), from);
      }
}

/* Remembered for the error that the parameter lacks a value. */
static void
note_failure(Spec *p, const char *name, const TlSv *v, const TlDiag *why)
{
   for (unsigned i = 0; i < p->num; i++)
      if (strcmp(param(p, i)->name, name) == 0 &&
          (v->kind == TL_SV_POISON || v->kind == TL_SV_OPAQUE))
         p->heuristic_failed[i] = why                       ? why->text
                                  : v->kind == TL_SV_OPAQUE ? v->opaque->why
                                                            : "it cannot be evaluated";
}

/* A heuristic may give the launch its warps and stages. */
static void
take_launch(TlSema *s, const Spec *p, const char *name, const TlSv *v)
{
   if (v->kind != TL_SV_INT || v->i < 1 || v->i > 64)
      return;
   if (strcmp(name, "num_warps") == 0 && !p->given->num_warps)
      s->impl->num_warps = (int)v->i;
   if (strcmp(name, "num_stages") == 0 && !p->given->num_stages)
      s->impl->num_stages = (int)v->i;
}

static void
apply_autotune(TlSema *s, Spec *p)
{
   const TlSv *c = &p->meta.config;
   for (size_t i = 0; c->kind == TL_SV_DICT && i < c->fields->len; i++)
      if (c->fields->keys[i].kind == TL_SV_STR)
         take_missing(s, p, c->fields->keys[i].s.data, c->fields->values[i],
                      p->meta.autotune->range, "the first autotune configuration");
}

static void
apply_heuristics(TlSema *s, Spec *p)
{
   /* outer ones first: inner ones see theirs */
   for (size_t h = 0; h < p->meta.heuristics.len; h++) {
      const TlNode *node = p->meta.heuristics.data[h];
      TlSv d = tl_decorator_value(s, p->fn, node, NULL);
      for (size_t i = 0; d.kind == TL_SV_DICT && i < d.fields->len; i++) {
         if (d.fields->keys[i].kind != TL_SV_STR || d.fields->values[i].kind != TL_SV_FUNC)
            continue;
         TlActivation act = {
            .is_host = true, .errors = s->diags->num_errors, .caller = s->impl->act};
         s->impl->act = &act;
         Heuristic call = {&d.fields->values[i], known_arguments(s, p)};
         const TlDiag *why = NULL;
         TlSv v = tl_quietly(s, call_heuristic, &call, &why);
         s->impl->act = act.caller;
         note_failure(p, d.fields->keys[i].s.data, &v, why);
         take_missing(s, p, d.fields->keys[i].s.data, v, node->range, "its heuristic");
         take_launch(s, p, d.fields->keys[i].s.data, &v);
      }
   }
}

/* Kernels that declare num_warps, num_stages as parameters get the launch's. */
static void
apply_launch_names(TlSema *s, Spec *p)
{
   const struct {
      const char *name;
      int value;
   } launch[] = {{"num_warps", s->impl->num_warps},
                 {"num_stages", s->impl->num_stages},
                 {"num_ctas", s->impl->num_ctas}};
   for (unsigned i = 0; i < p->num; i++)
      for (unsigned k = 0; k < 3; k++)
         if (strcmp(param(p, i)->name, launch[k].name) == 0 && !p->args[i].is_given)
            tl_set_constant(&p->args[i], tl_sv_int(launch[k].value));
}

/* What is still open is what the caller takes it for. */
static void
apply_guesses(TlSema *s, Spec *p)
{
   for (unsigned i = 0; p->given->guesses && i < p->num; i++) {
      TlGuess *g = &p->given->guesses[i];
      const Entry e = {param(p, i)->node.range, g->entry};
      if (!p->args[i].is_given)
         g->is_used = read_entry(s, p, i, &e);
   }
}

static bool
check_complete(TlSema *s, Spec *p)
{
   bool ok = true;
   for (unsigned i = 0; i < p->num; i++) /* a value that a configuration gives to another name */
      if (!p->args[i].is_given && is_constexpr(p, i) &&
          tl_misnamed_value(s, p->meta.autotune, p->fn, param(p, i)->name))
         return false;
   if (!p->given->guesses && !tl_check_tuning(s, p->fn)) /* where types are guessed it is checked */
      return false;
   TlSb untyped;
   tl_sb_init(&untyped, s->arena);
   const TlAstParam *first = NULL;
   for (unsigned i = 0; i < p->num; i++) {
      const TlAstParam *q = param(p, i);
      TlSpecArg *a = &p->args[i];
      if (a->is_given && a->is_constant && a->constant.kind == TL_SV_OPAQUE) {
         tl_report_opaque(s, &a->constant, q->node.range);
         ok = false;
      } else if (a->is_given) {
         ok &= !(a->is_constant && a->constant.kind == TL_SV_POISON);
      } else if (is_constexpr(p, i)) {
         tl_report(s->diags, E0272, q->node.range, q->name);
         if (p->heuristic_failed[i])
            tl_note(s->diags, N0204, p->meta.heuristics.data[0]->range, p->heuristic_failed[i]);
         tl_help(s->diags,
                 "give it with -D %s=VALUE, in a program as %s=VALUE, in the signature, or as "
                 "a default",
                 q->name, q->name);
         ok = false;
      } else {
         if (!untyped.len)
            first = q;
         tl_sb_printf(&untyped, "%s'%s'", untyped.len ? ", " : "", q->name);
      }
   }
   if (!first)
      return ok;
   tl_report(s->diags, E0273, first->node.range, tl_sb_cstr(&untyped));
   if (p->fn->source->is_tile)
      tl_help(s->diags,
              "write it as '%s: *fp32' or '%s: i32', or give a signature: -s \"*fp32:16, i32, ..\"",
              first->name, first->name);
   else
      tl_help(s->diags,
              "give a signature with an entry for each parameter: -s \"*fp32:16, i32, ..\"");
   return false;
}

/* ---- building ---- */
/* The type of a parameter that is not constexpr but whose value is folded into the code. */
static const TlType *
folded_type(TlSema *s, const TlSpecArg *a)
{
   const TlSv *v = &a->constant;
   if (a->type)
      return a->type;
   bool is_small = v->kind != TL_SV_INT || (!v->is_large && v->i >= INT32_MIN && v->i <= INT32_MAX);
   TlDtype dtype = v->kind == TL_SV_FLOAT  ? TL_FP32
                   : v->kind == TL_SV_BOOL ? TL_I1
                   : is_small              ? TL_I32
                   : v->is_large           ? TL_U64
                                           : TL_I64;
   return tl_type_scalar(s->types, dtype);
}

static void
add_param(TlSema *s, Spec *p, TlFunc *f, TlFrame *frame, unsigned i, TlParam *out)
{
   assert(i < p->num);
   const TlAstParam *q = param(p, i);
   const TlSpecArg *a = &p->args[i];
   if (a->descriptor) {
      TlSv v = tl_add_descriptor(s, f, p->ast, q->name, a, out);
      tl_frame_set(s, frame, q->name, v, q->node.range);
      return;
   }
   out->name = q->name;
   out->divisibility = a->divisibility ? a->divisibility : 1;
   TlSv v;
   if (a->is_constant) {
      out->constant = tl_sv_constant_text(s, &a->constant);
      out->type = is_constexpr(p, i) ? NULL : folded_type(s, a);
      v = a->constant;
      if (v.kind == TL_SV_NONE) /* what is wrong with it is told of the parameter */
         v.s = (TlText){q->name, strlen(q->name)};
   } else {
      out->is_runtime = true;
      out->type = a->type;
      v = tl_sv_value(tl_block_add_arg(f->body->block, a->type, q->name));
      if (p->given->guesses)
         p->given->guesses[i].value = v.value;
   }
   tl_frame_set(s, frame, q->name, v, q->node.range);
}

static int
pick(int given, int own, int initial)
{
   return given ? given : own ? own : initial;
}

static bool
resolve(TlSema *s, Spec *p)
{
   p->ast = tl_ast_Function(p->fn->node);
   p->num = (unsigned)p->ast->params.len;
   for (unsigned i = 0; i < p->num; i++)
      if (param(p, i)->kind != TL_AST_OP_PLAIN) {
         if (param(p, i)->kind == TL_AST_OP_KW_MARK || param(p, i)->kind == TL_AST_OP_POS_MARK)
            continue;
         return tl_refuse(s->diags, E0274, param(p, i)->node.range, p->fn->name,
                          tl_range_text(s, param(p, i)->node.range));
      }
   /* marks are not parameters */
   TlAstFunction *copy = tl_new(s->arena, TlAstFunction);
   *copy = *p->ast;
   copy->params = (TlNodeList){0};
   for (size_t i = 0; i < p->ast->params.len; i++)
      if (tl_ast_Param(p->ast->params.data[i])->kind == TL_AST_OP_PLAIN)
         tl_vec_push(s->arena, &copy->params, p->ast->params.data[i]);
   p->ast = copy;
   p->num = (unsigned)copy->params.len;
   p->args = tl_new_array(s->arena, TlSpecArg, p->num);
   p->heuristic_failed = tl_new_array(s->arena, const char *, p->num);
   tl_read_decorators(s, p->fn, &p->meta);
   const TlMeta *meta = &p->meta;
   s->impl->num_warps = pick(p->given->num_warps, pick(meta->config_warps, meta->num_warps, 0), 4);
   s->impl->num_stages =
      pick(p->given->num_stages, pick(meta->config_stages, meta->num_stages, 0), 3);
   s->impl->num_ctas = pick(p->given->num_ctas, p->meta.num_ctas, 1);
   bool ok = read_signature(s, p) && apply_defines(s, p);
   for (unsigned i = 0; ok && i < p->num; i++)
      ok = check_annotation(s, p, i) && check_default(s, p, i);
   if (!ok)
      return false;
   apply_autotune(s, p);
   apply_heuristics(s, p);
   apply_launch_names(s, p);
   for (unsigned i = 0; i < p->num; i++)
      apply_default(s, p, i);
   apply_guesses(s, p);
   return check_complete(s, p);
}

typedef struct WarpsPlace {
   int warps;
   TlRange range;
} WarpsPlace;

/* num_warps=5 in a decorator, where that is what the kernel gets. */
static void
find_warps(void *user, TlNode *n)
{
   WarpsPlace *w = user;
   const TlAstKeyword *k = n->kind == TL_AST_KEYWORD ? tl_ast_Keyword(n) : NULL;
   bool is_it = k && k->name && strcmp(k->name, "num_warps") == 0 && k->value->kind == TL_AST_INT;
   if (is_it && (int)tl_ast_Int(k->value)->value == w->warps)
      w->range = k->value->range;
   tl_ast_children(n, find_warps, user);
}

/* The kernel with the types and values that were found; NULL: something was reported. */
static TlFunc *
build(TlSema *s, Spec *p, unsigned errors)
{
   const TlSpecialization *given = p->given;
   int warps = s->impl->num_warps;
   if (warps < 1 || warps > 32 || (warps & (warps - 1))) {
      WarpsPlace place = {.warps = warps, .range = tl_ast_name_range(s->sources, p->fn->node)};
      for (size_t i = 0; i < p->ast->decorators.len; i++)
         find_warps(&place, p->ast->decorators.data[i]);
      tl_report_warps(s, place.range, warps);
      return NULL;
   }
   TlFunc *f = tl_func_new(s->ir, tl_kernel_name(p->fn), p->fn->node->range);
   f->num_warps = (uint32_t)s->impl->num_warps;
   f->num_stages = (uint32_t)s->impl->num_stages;
   f->num_ctas = (uint32_t)s->impl->num_ctas;
   f->grid = given->grid ? tl_grid_from_text(s, p->fn, given->grid) : p->meta.grid;
   f->strict_fp = given->strict_fp;
   for (unsigned i = 0; i < p->num; i++)
      f->num_params += tl_descriptor_params(&p->args[i]);
   f->params = tl_new_array(s->arena, TlParam, f->num_params + 1);
   s->b = tl_builder_at_end(f, f->body->block);
   s->b.range = p->fn->node->range;
   TlActivation act = {
      .func = p->fn, .call_range = p->fn->node->range, .may_return = given->may_return};
   TlFrame *frame = tl_frame_new(s, p->fn->closure, p->fn->source, &act);
   TlParam *next = f->params;
   for (unsigned i = 0; i < p->num; i++) {
      f->needs_warps |= strcmp(param(p, i)->name, "num_warps") == 0;
      add_param(s, p, f, frame, i, next);
      next += tl_descriptor_params(&p->args[i]);
   }
   s->impl->act = &act;
   tl_stmt_block(s, frame, &p->ast->body, 0, NULL);
   s->impl->act = NULL;
   s->b = tl_builder_at_end(f, f->body->block);
   TlRange whole = p->fn->node->range;
   s->b.range = tl_range(whole.file, whole.end, whole.end);
   tl_build(&s->b, TL_OP_RETURN, NULL, 0, NULL, 0, NULL, 0, 0);
   s->b = (TlBuilder){0};
   if (!given->guesses) /* else who checks the kernel does it once for all trials */
      tl_check_decorators(s, p->fn);
   return s->diags->num_errors == errors ? f : NULL;
}

/* Is it right with what the two parameters are given exchanged? */
static bool
is_right_exchanged(TlSema *s, Spec *p, unsigned a, unsigned b)
{
   TlQuiet q;
   TlSpecArg kept = p->args[a];
   tl_quiet_begin(s, &q);
   p->args[a] = p->args[b];
   p->args[b] = kept;
   s->steps = 0;
   s->depth = 0;
   bool is_right = build(s, p, q.diags.num_errors) != NULL;
   p->args[b] = p->args[a];
   p->args[a] = kept;
   return !tl_quiet_end(s, &q) && is_right;
}

static bool
is_number(const TlSpecArg *a)
{
   return a->is_constant ? a->constant.kind == TL_SV_INT || a->constant.kind == TL_SV_FLOAT
                         : a->type->kind == TL_TYPE_SCALAR;
}

/* An array where the kernel has a number, and a number where it has an array: the one pair of them
 * without which nothing is wrong is told of in place of what the kernel makes of it. */
static void
blame_order(TlSema *s, Spec *p, TlDiag *last, unsigned errors)
{
   enum { MOST_TRIALS = 24 };
   const TlDiag *first = last ? last->next : s->diags->first;
   unsigned found = 0, number = 0, array = 0, trials = 0;
   if (!first || (!strstr(first->text, "ptr<") && !strstr(first->text, "pointer")))
      return;
   for (unsigned i = 0; i < p->num; i++)
      for (unsigned k = 0; k < p->num && found < 2; k++) {
         const TlSpecArg *a = &p->args[i], *b = &p->args[k];
         bool may_be = !is_constexpr(p, i) && !is_constexpr(p, k) && !param(p, i)->annotation &&
                       !param(p, k)->annotation && !a->descriptor && !b->descriptor &&
                       !a->is_constant && a->type->kind == TL_TYPE_PTR && is_number(b);
         if (!may_be || trials++ >= MOST_TRIALS || !is_right_exchanged(s, p, i, k))
            continue;
         found++;
         number = i;
         array = k;
      }
   if (found != 1)
      return;
   TlRange used = first->range;
   *(last ? &last->next : &s->diags->first) = NULL;
   s->diags->last = last;
   s->diags->num_errors = errors;
   TlSb names;
   tl_sb_init(&names, s->arena);
   for (unsigned i = 0; i < p->num; i++)
      tl_sb_printf(&names, "%s%s", i ? ", " : "", param(p, i)->name);
   tl_report(s->diags, E0236, param(p, array)->node.range, param(p, array)->name, p->fn->name,
             "a pointer to an array", "a number");
   tl_note(s->diags, N0200, param(p, number)->node.range,
           tl_arena_printf(s->arena, "'%s' is given an array", param(p, number)->name));
   tl_note(s->diags, N0200, used, "it is used here");
   tl_help(s->diags, "the order is %s: exchange what is given to '%s' and '%s'", tl_sb_cstr(&names),
           param(p, array)->name, param(p, number)->name);
}

TlFunc *
tl_sema_compile(TlSema *s, const TlSpecialization *given)
{
   unsigned errors = s->diags->num_errors;
   TlDiag *last = s->diags->last;
   Spec p = {.given = given, .fn = tl_choose_kernel(s, given->kernel)};
   s->debug = given->debug;
   s->keeps_asserts = given->keeps_asserts;
   s->cuts_tf32 = given->cuts_tf32 && !given->strict_fp;
   bool is_word = tl_dot_precision(given->fp32_dot ? given->fp32_dot : "tf32", &s->fp32_dot);
   assert(is_word); /* whoever takes options from outside has looked at it */
   (void)is_word;
   s->print_threads = given->print_threads;
   s->steps = 0;
   s->depth = 0;
   if (!p.fn || !resolve(s, &p) || s->diags->num_errors != errors)
      return NULL;
   TlFunc *f = build(s, &p, errors);
   if (!f && given->signature && !given->guesses)
      blame_order(s, &p, last, errors);
   return f;
}
