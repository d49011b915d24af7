/* Values as text: for diagnostics, for str() and repr(), and for the metadata of a kernel. */
#include "base/utf8.h"
#include "sema/help.h"
#include "sema/impl.h"
#include "sema/text.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

enum { MAX_REPR_DEPTH = 64, MAX_REPR_BYTES = 1 << 16, MAX_MESSAGE_BYTES = 4000 };

typedef struct Repr {
   TlSema *s;
   size_t max_bytes;
   TlRange range;
   bool report_lost; /* lists that host code may have changed unseen */
   bool is_python;   /* its quotes, not those of options */
   bool is_cut;      /* parts are missing */
   bool is_unknown;  /* Python's text is not known */
} Repr;

static void repr(Repr *r, const TlSv *v, bool as_str, TlSb *out, unsigned depth);

/* Options take single quotes only, Python prefers double ones around a single one. */
static void
str_repr(Repr *r, TlSb *out, TlText t)
{
   bool has_single = memchr(t.data, '\'', t.len), has_double = memchr(t.data, '"', t.len);
   char quote = r->is_python && has_single && !has_double ? '"' : '\'';
   uint32_t c;
   tl_sb_char(out, quote);
   for (size_t at = 0, bytes; at < t.len; at += bytes) {
      bytes = tl_utf8_next(t.data + at, t.len - at, &c);
      const char *letter = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : NULL;
      TlAnswer shown = tl_is_printable(c);
      r->is_unknown |= shown == TL_UNKNOWN || (c >= 0x80 && bytes == 1);
      if (c == (unsigned char)quote || c == '\\')
         tl_sb_char(out, '\\'), tl_sb_char(out, (char)c);
      else if (letter)
         tl_sb_str(out, letter);
      else if (shown == TL_NO && (r->is_python || c < 0x80))
         tl_put_escape(out, c);
      else
         tl_sb_mem(out, t.data + at, bytes);
   }
   tl_sb_char(out, quote);
}

static void
repr_items(Repr *r, const TlSvTuple *t, TlSb *out, unsigned depth)
{
   r->is_unknown |= t->names != NULL;
   tl_sb_char(out, t->is_list ? '[' : '(');
   for (size_t i = 0; i < t->len; i++) {
      if (i)
         tl_sb_str(out, ", ");
      repr(r, &t->items[i], false, out, depth + 1);
   }
   if (!t->is_list && t->len == 1)
      tl_sb_char(out, ',');
   tl_sb_char(out, t->is_list ? ']' : ')');
}

static void
repr_set(Repr *r, const TlSvTuple *t, TlSb *out, unsigned depth)
{
   r->is_unknown |= t->len > 1; /* its order */
   tl_sb_str(out, !t->is_list ? "frozenset(" : t->len ? "" : "set(");
   tl_sb_str(out, t->len ? "{" : "");
   for (size_t i = 0; i < t->len; i++) {
      tl_sb_str(out, i ? ", " : "");
      repr(r, &t->items[i], false, out, depth + 1);
   }
   tl_sb_str(out, t->len ? "}" : "");
   tl_sb_str(out, !t->is_list || !t->len ? ")" : "");
}

static void
repr_dict(Repr *r, const TlSvFields *d, TlSb *out, unsigned depth)
{
   tl_sb_char(out, '{');
   for (size_t i = 0; i < d->len; i++) {
      if (i)
         tl_sb_str(out, ", ");
      repr(r, &d->keys[i], false, out, depth + 1);
      tl_sb_str(out, ": ");
      repr(r, &d->values[i], false, out, depth + 1);
   }
   tl_sb_char(out, '}');
}

static void
repr(Repr *r, const TlSv *v, bool as_str, TlSb *out, unsigned depth)
{
   if (depth > MAX_REPR_DEPTH || out->len > r->max_bytes) {
      if (!r->is_cut)
         tl_sb_str(out, "...");
      r->is_cut = true;
   }
   if (r->is_cut)
      return;
   r->is_unknown |= v->member_of != 0;
   if (r->report_lost && tl_report_lost(r->s, v, r->range))
      r->is_unknown = true;
   switch (v->kind) {
   case TL_SV_NONE:
      tl_sb_str(out, "None");
      break;
   case TL_SV_BOOL:
      tl_sb_str(out, v->b ? "True" : "False");
      break;
   case TL_SV_INT:
      if (v->is_large)
         tl_sb_printf(out, "%llu", (unsigned long long)(uint64_t)v->i);
      else
         tl_sb_printf(out, "%lld", (long long)v->i);
      break;
   case TL_SV_LONG:
      tl_sb_str(out, tl_long_text(r->s, v));
      break;
   case TL_SV_FLOAT:
      tl_float_repr(out, v->f);
      break;
   case TL_SV_STR:
      if (as_str)
         tl_sb_mem(out, v->s.data, v->s.len);
      else
         str_repr(r, out, v->s);
      break;
   case TL_SV_TYPE:
      tl_sb_str(out, tl_type_cstr(r->s->arena, v->type));
      break;
   case TL_SV_TUPLE:
      repr_items(r, v->tuple, out, depth);
      break;
   case TL_SV_DICT:
      repr_dict(r, v->fields, out, depth);
      break;
   case TL_SV_ELLIPSIS:
      tl_sb_str(out, "...");
      break;
   case TL_SV_FUNC:
      tl_sb_str(out, v->func->name);
      r->is_unknown = true;
      break;
   case TL_SV_BUILTIN:
      tl_sb_str(out, v->builtin.row->name);
      r->is_unknown = true;
      break;
   case TL_SV_MODULE:
      tl_sb_str(out, v->module->name);
      r->is_unknown = true;
      break;
   case TL_SV_OPAQUE:
      tl_sb_printf(out, "<%s>", v->opaque->why);
      r->is_unknown = true;
      break;
   case TL_SV_SET:
      repr_set(r, v->tuple, out, depth);
      break;
   case TL_SV_ITER:
   case TL_SV_POISON:
   case TL_SV_SLICE:
   case TL_SV_RANGE:
   case TL_SV_OBJECT:
   case TL_SV_VALUE:
   case TL_SV_BLOCKPTR:
      tl_sb_printf(out, "<%s>", tl_sv_describe(r->s, v));
      r->is_unknown = true;
      break;
   }
}

bool
tl_sv_repr(TlSema *s, const TlSv *v, bool as_str, TlRange range, TlSb *out)
{
   Repr r = {.s = s,
             .max_bytes = out->len + MAX_REPR_BYTES,
             .range = range,
             .report_lost = tl_in_host(s),
             .is_python = true};
   repr(&r, v, as_str, out, 0);
   if (r.is_cut)
      tl_report(s->diags, E0259, range, as_str ? "str" : "repr", "the text is too long");
   else if (r.is_unknown && tl_in_host(s))
      tl_report(s->diags, E0259, range, as_str ? "str" : "repr",
                "Python's text of this value is not known");
   return !r.is_cut && !(r.is_unknown && tl_in_host(s));
}

const char *
tl_sv_constant_text(TlSema *s, const TlSv *v)
{
   TlSb sb;
   Repr r = {.s = s, .max_bytes = MAX_MESSAGE_BYTES};
   tl_sb_init(&sb, s->arena);
   repr(&r, v, false, &sb, 0);
   return tl_sb_cstr(&sb);
}

static const char *
describe_number(TlSema *s, const TlSv *v, const char *type)
{
   assert(tl_sv_is_number(v));
   if (v->is_strong)
      return tl_arena_printf(s->arena, "%s %s", tl_dtype_info[v->dtype].text,
                             tl_sv_constant_text(s, v));
   return tl_arena_printf(s->arena, "constexpr %s %s", type, tl_sv_constant_text(s, v));
}

const char *
tl_sv_describe(TlSema *s, const TlSv *v)
{
   switch (v->kind) {
   case TL_SV_POISON:
      return "a value with an error";
   case TL_SV_NONE:
      return "None";
   case TL_SV_BOOL:
      return describe_number(s, v, "bool");
   case TL_SV_INT:
      return describe_number(s, v, "int");
   case TL_SV_LONG:
      return tl_arena_printf(s->arena, "constexpr int %s", tl_long_text(s, v));
   case TL_SV_FLOAT:
      return describe_number(s, v, "float");
   case TL_SV_STR:
      return tl_arena_printf(s->arena, "string %.60s", tl_sv_constant_text(s, v));
   case TL_SV_TYPE:
      return tl_arena_printf(s->arena, "type %s", tl_type_cstr(s->arena, v->type));
   case TL_SV_TUPLE:
      return tl_arena_printf(s->arena, "%s of %zu", v->tuple->is_list ? "list" : "tuple",
                             v->tuple->len);
   case TL_SV_DICT:
      return tl_arena_printf(s->arena, "dict of %zu", v->fields->len);
   case TL_SV_SET:
      return tl_arena_printf(s->arena, "set of %zu", v->tuple->len);
   case TL_SV_ITER:
      return v->iter->type;
   case TL_SV_SLICE:
      return "slice";
   case TL_SV_ELLIPSIS:
      return "'...'";
   case TL_SV_RANGE:
      return "range";
   case TL_SV_FUNC:
      return tl_arena_printf(s->arena, "function '%s'", v->func->name);
   case TL_SV_BUILTIN:
      return tl_arena_printf(s->arena, "function '%s'", v->builtin.row->name);
   case TL_SV_MODULE:
      return tl_arena_printf(s->arena, "module '%s'", v->module->name);
   case TL_SV_OBJECT:
      return tl_arena_printf(s->arena, "object of '%s'", v->fields->type_name);
   case TL_SV_OPAQUE:
      return "a value of host code";
   case TL_SV_VALUE:
      return tl_type_cstr(s->arena, v->value->type);
   case TL_SV_BLOCKPTR: {
      TlSb sb;
      tl_sb_init(&sb, s->arena);
      tl_sb_str(&sb, v->block_ptr->is_descriptor ? "tensor descriptor of " : "block pointer of ");
      for (unsigned i = 0; i < v->block_ptr->rank; i++)
         tl_sb_printf(&sb, "%s%u", i ? "x" : "", v->block_ptr->block[i]);
      return tl_sb_cstr(&sb);
   }
   }
   return "?";
}

const char *
tl_sv_operand(TlSema *s, const TlSv *v)
{
   const char *text = tl_sv_describe(s, v);
   bool is_given = v->kind == TL_SV_NONE && v->s.len;
   return is_given ? tl_arena_printf(s->arena, "%s ('%s')", text, v->s.data) : text;
}

/* Where a module was looked for. */
static void
help_missing(TlSema *s, const char *module, TlRange place)
{
   const TlSource *file = tl_source(s->sources, place.file);
   const char *path = file ? file->name : "", *slash = strrchr(path, '/');
   const TlSemaOptions *o = &s->impl->options;
   const char *near = tl_nearest_module(module);
   TlSb sb;
   if (near) {
      tl_help(s->diags, "did you mean '%s'? No file is looked for with -I DIR under this name",
              near);
      return;
   }
   if (module[0] == '.') {
      tl_help(
         s->diags,
         "looked for its .tile or .py file by the leading dots: . is %.*s, .. the folder above",
         slash ? (int)(slash - path) : 1, slash ? path : ".");
      return;
   }
   tl_sb_init(&sb, s->arena);
   for (size_t i = 0; i < o->num_include_dirs; i++)
      tl_sb_printf(&sb, ", %s", o->include_dirs[i]);
   tl_help(s->diags,
           "looked for its .tile or .py file in %.*s, the folders above it%s; -I DIR adds another",
           slash ? (int)(slash - path) : 1, slash ? path : ".", sb.len ? tl_sb_cstr(&sb) : "");
}

/* ---- no numbers ---- */
/* Is `place` in the first argument of what takes an address: load(p + i)? */
static bool
is_in_address(TlSema *s, TlRange place)
{
   const char *text = tl_source(s->sources, place.file)->text, *p = text + place.begin;
   unsigned depth = 0;
   for (; p > text && p[-1] != '\n'; p--) {
      if (p[-1] == ')' || p[-1] == ']')
         depth++;
      else if (depth && (p[-1] == '(' || p[-1] == '['))
         depth--;
      else if (!depth && (p[-1] == ',' || p[-1] == '['))
         return false;
      else if (!depth && p[-1] == '(' && p - 1 > text && isalnum((unsigned char)p[-2]))
         break;
      else if (!depth && strchr("+-", p[-1]))
         return false; /* x + (n + i) */
   }
   const char *end = p - 1;
   while (p > text && (p[-1] == '(' || isalnum((unsigned char)p[-1]) || p[-1] == '_'))
      p--;
   size_t len = p < end ? (size_t)(end - p) : 0;
   return tl_is_word("load", p, len) || tl_is_word("store", p, len) ||
          (len > strlen("atomic_") && tl_starts_with(p, "atomic_"));
}

const char *
tl_first_assigned(TlSema *s, TlRange targets, size_t num)
{
   enum { MOST = 60 };
   const char *p = tl_source(s->sources, targets.file)->text + targets.end;
   p += strspn(p, " )]");
   if (*p != '=' || p[1] == '=')
      return "";
   p += 1 + strspn(p + 1, " ");
   size_t len = strcspn(p, "#\n\r;");
   int depth = 0;
   bool is_one = true; /* a name, a call, a subscript */
   while (len && p[len - 1] == ' ')
      len--;
   for (size_t i = 0; i < len; i++) {
      depth += strchr("([{", p[i]) ? 1 : strchr(")]}", p[i]) ? -1 : 0;
      is_one &= depth > 0 || isalnum((unsigned char)p[i]) || strchr("_.)]}", p[i]);
   }
   if (!len || len > MOST || depth || !is_one)
      return "";
   return tl_arena_printf(s->arena, ": '%.*s[:%zu]'", (int)len, p, num);
}

/* What the parameter may be that is given None, by what the kernel makes of it. */
static const char *
wanted_of_none(TlSema *s, const char *name)
{
   const TlDiag *d = s->diags->last;
   size_t len = strlen(name);
   if (!d || d->code == TL_DIAG_E0222 || d->code == TL_DIAG_E0202)
      return "a value";
   if (d->code != TL_DIAG_E0214 || !tl_source(s->sources, d->range.file))
      return "a number";
   const char *text = tl_range_text(s, d->range);
   bool is_sum = strncmp(text, name, len) == 0 && strchr("+- ", text[len]) &&
                 strstr(d->text, "'+'") && !strstr(d->text, "fp") && !strstr(d->text, "bf16");
   if (!is_sum)
      return "a number";
   return is_in_address(s, d->range) ? "an array" : "an array or a number";
}

void
tl_help_given_none(TlSema *s, const char *name, const char *what)
{
   tl_help(s->diags,
           "'%s' is given None: give it %s, or let the kernel ask '%s is not None' "
           "before it is used",
           name, what, name);
}

bool
tl_help_no_number(TlSema *s, const TlSv *v)
{
   switch (v->kind) {
   case TL_SV_RANGE:
      tl_help(s->diags, "range(..) is what 'for' counts through; a tile of indices is "
                        "tl.arange(0, n)");
      return true;
   case TL_SV_BUILTIN:
      if (strcmp(v->builtin.row->name, "constexpr") == 0)
         tl_help(s->diags, "constexpr is an annotation, behind a colon: BLOCK: tl.constexpr");
      else
         tl_help(s->diags,
                 strstr(tl_call_form(s, v->builtin.row), "(axis)")
                    ? "call it: %s, with an axis of the grid: %s(0)"
                    : "call it: %s",
                 tl_call_form(s, v->builtin.row), v->builtin.row->name);
      return true;
   case TL_SV_FUNC:
      if (v->func->node->kind == TL_AST_LAMBDA) {
         tl_help(s->diags, "a lambda is a function: call it with its arguments, f(a)");
         return true;
      }
      if (v->func->node->kind != TL_AST_FUNCTION)
         return false;
      tl_help(s->diags, "call it: %s(%s)", v->func->name,
              tl_parameter_names(s, &tl_ast_Function(v->func->node)->params));
      return true;
   case TL_SV_NONE:
      if (v->s.len) {
         tl_help_given_none(s, v->s.data, wanted_of_none(s, v->s.data));
         return true;
      }
      tl_help(s->diags, "None is what functions without 'return' give, store(..) among them, and "
                        "an argument that is left out: test that with 'is not None'");
      return true;
   case TL_SV_TUPLE:
      if (tl_help_list(s, v->tuple)) {
         tl_help(s->diags, "%s", tl_help_list(s, v->tuple));
         return true;
      }
      tl_help(s->diags,
              "one value is wanted: t[0] is an item of a %s t, and tl.join(a, b) makes one "
              "tile of two",
              v->tuple->is_list ? "list" : "tuple");
      return true;
   case TL_SV_STR:
      tl_help(s->diags, "\"quotes\" make a text: numbers, and names of tiles, are written "
                        "without them");
      return true;
   case TL_SV_TYPE:
      tl_help(s->diags, "a type is no value: tl.full(shape, 0, dtype) makes one of it, x.to(dtype) "
                        "converts to it");
      return true;
   case TL_SV_DICT:
      tl_help(s->diags, "one value is wanted: of a dict d take d[\"key\"]");
      return true;
   case TL_SV_SET:
      tl_help(s->diags, "{..} is a set, and no tile: tl.zeros(shape, dtype) and tl.full(shape, "
                        "value, dtype) make one");
      return true;
   case TL_SV_MODULE:
      tl_help(s->diags, "a module is no value: name what is in it, %s.name", v->module->name);
      return true;
   case TL_SV_BLOCKPTR:
      if (v->block_ptr->is_descriptor)
         tl_help(s->diags, "a descriptor is no value: its block is read by desc.load([i, j])");
      else
         tl_help(s->diags, "a block pointer is no value: its block is read by tl.load(pointer), "
                           "and tl.advance(pointer, offsets) moves it");
      return true;
   default:
      return false;
   }
}

/* Behind an error about self[..]. */
void
tl_help_no_items(TlSema *s, const TlSv *self, TlRange range)
{
   const char *text = tl_range_text(s, range), *open = strchr(text, '[');
   size_t len = strlen(text);
   if (self->kind == TL_SV_BUILTIN && open && len < 80 && text[len - 1] == ']') {
      TlSb form;
      tl_sb_init(&form, s->arena);
      tl_sb_mem(&form, text, (size_t)(open - text));
      tl_sb_char(&form, '(');
      for (const char *p = open + 1; p < text + len - 1; p++)
         if (*p == ':')
            tl_sb_str(&form, ", ");
         else
            tl_sb_char(&form, *p);
      tl_help(s->diags, "a function is called with parentheses: %s)", tl_sb_cstr(&form));
   } else
      (void)tl_help_no_number(s, self);
}

const char *
tl_line_of(TlSema *s, TlRange range, const char **begin)
{
   const TlSource *file = tl_source(s->sources, range.file);
   const char *line = *begin = file ? file->text + range.begin : "";
   while (file && line > file->text && line[-1] != '\n')
      line--;
   return line + strspn(line, " \t");
}

bool
tl_refuse_range(TlSema *s, TlRange range)
{
   const char *text = tl_range_text(s, range);
   const char *begin = NULL, *loop = strstr(tl_line_of(s, range, &begin), " for ");
   tl_report(s->diags, E0223, range);
   if (loop && loop < begin)
      tl_help(s->diags, "a comprehension is worked out at compile time: write a 'for' loop, or "
                        "take a tile of all indices at once: tl.arange(0, BLOCK) with a parameter "
                        "BLOCK: tl.constexpr, and a mask, offsets < n");
   else if (tl_starts_with(text, "reversed") || strstr(text, "-1]"))
      tl_help(s->diags, "to count down the step is -1: range(n - 1, -1, -1)");
   else if (strchr(text, '['))
      tl_help(s->diags,
              "a range of the run has no parts; write its bounds: range(start, end, step)");
   else if (tl_starts_with(text, "list") || tl_starts_with(text, "sorted") ||
            tl_starts_with(text, "tuple"))
      tl_help(s->diags, "a loop runs over the range itself: for i in range(start, end)");
   else if (tl_starts_with(text, "zip") || tl_starts_with(text, "enumerate"))
      tl_help(s->diags,
              "one range counts, 'for i in range(n)', and what else is needed is computed "
              "from i; tl.static_range(..) of constants is known");
   return false;
}

/* x.shape = ..: self is what has no such field to assign to.  A variable that was to change so is
 * not looked at any more. */
void
tl_report_field(TlSema *s, TlFrame *f, const TlSv *self, const TlNode *target)
{
   const TlAstAttribute *t = tl_ast_Attribute(target);
   const char *of = tl_range_text(s, t->value->range);
   tl_report(s->diags, E0231, target->range, tl_sv_describe(s, self));
   if (self->kind != TL_SV_VALUE)
      return;
   if (tl_type_is_ptr_like(self->value->type))
      tl_help(s->diags, "a pointer has no sizes to set: those of its array are parameters");
   else if (strcmp(t->name, "shape") == 0)
      tl_help(s->diags, "a tile keeps its shape; write %.40s = tl.reshape(%.40s, shape)", of, of);
   else if (strcmp(t->name, "dtype") == 0)
      tl_help(s->diags, "a value keeps its type; write %.40s = %.40s.to(dtype)", of, of);
   if (t->value->kind == TL_AST_NAME && !tl_is_host(f))
      tl_frame_set(s, f, tl_ast_Name(t->value)->id, tl_sv_poison(), target->range);
}

const char *
tl_parameter_names(TlSema *s, const TlNodeList *params)
{
   TlSb names;
   tl_sb_init(&names, s->arena);
   for (size_t k = 0; k < params->len; k++) {
      const char *name = tl_ast_Param(params->data[k])->name;
      if (name)
         tl_sb_printf(&names, "%s%s", names.len ? ", " : "", name);
   }
   return tl_sb_cstr(&names);
}

/* name(a, b) with the parameters that have no default. */
const char *
tl_call_form(TlSema *s, const TlBuiltin *row)
{
   TlSb form;
   tl_sb_init(&form, s->arena);
   tl_sb_printf(&form, "%s(", row->name);
   bool is_first = true;
   for (const char *p = row->signature; p && *p;) {
      const char *end = tl_parameter_end(p);
      p += strspn(p, " ");
      size_t len = (size_t)(end - p);
      if (len && *p != '*' && !memchr(p, '=', len)) {
         tl_sb_printf(&form, "%s%.*s", is_first ? "" : ", ", (int)len, p);
         is_first = false;
      }
      p = *end ? end + 1 : end;
   }
   tl_sb_str(&form, ")");
   return tl_sb_cstr(&form);
}

/* from triton import arange, load: the newest error is of a name before it. */
static bool
is_told_of_import(const TlSema *s, TlRange place)
{
   const TlDiag *d = s->diags->last;
   return d && d->code == TL_DIAG_E0201 && d->range.file == place.file &&
          d->range.end < place.begin &&
          tl_source_line_col(s->sources, place.file, d->range.begin).line ==
             tl_source_line_col(s->sources, place.file, place.begin).line;
}

/* An import that finds no file (name is NULL) or no name in it, where it stands; `use` needs it. */
static void
report_missing(TlSema *s, const TlLost *lost, TlRange use)
{
   const char *module = lost->module, *name = lost->name, *near = NULL;
   TlRange place = lost->place;
   if (name && is_told_of_import(s, place))
      return;
   if (name) {
      tl_report(s->diags, E0201, place, module, name);
      bool is_tl = strncmp(module, "triton.language", 15) == 0;
      const char *other = is_tl ? tl_other_name(s, name) : NULL;
      near = is_tl ? tl_suggest_builtin(s, TL_NS_TL, name) : NULL;
      if (lost->source)
         tl_help_own_module(s, lost->source, name);
      else if (other)
         tl_help(s->diags, "%s", other);
      else if (near)
         tl_help(s->diags, "did you mean '%s'?", near);
      else if (strcmp(module, "triton") == 0 && tl_builtin_find(TL_NS_TL, name))
         tl_help(s->diags, "it is a name of triton.language");
   } else {
      tl_report(s->diags, E0304, place, module);
      help_missing(s, module, place);
   }
   if (place.file != use.file || place.begin != use.begin)
      tl_note(s->diags, N0200, use, "it is needed here");
}

/* How the name of tl is written: a function with what it has to be given. */
static const char *
tl_form(TlSema *s, const char *name)
{
   const TlBuiltin *row = tl_builtin_find(TL_NS_TL, name);
   return row && row->signature ? tl_call_form(s, row) : name;
}

/* A part of a module of Python's, or of one that is nowhere to be found. */
static void
report_module(TlSema *s, const TlSvModule *m, TlRange range)
{
   assert(m->kind == TL_MOD_HOST);
   const char *name = m->name, *dot = strrchr(name, '.');
   if (tl_is_host_module(name)) {
      TlSv dtype;
      tl_report(s->diags, E0208, range, name);
      const char *other = dot ? tl_other_name(s, dot + 1) : NULL;
      if (!other && dot)
         other = tl_name_of_library(s, strchr(name, '.') + 1, true);
      if (tl_host_may_have_source(name))
         tl_help(s->diags,
                 "it may be a function for kernels, but its file is not found: -I DIR "
                 "names the folder that holds '%.*s', such as site-packages",
                 (int)strcspn(name, "."), name);
      else if (dot && (tl_builtin_find(TL_NS_TL, dot + 1) || tl_dtype_constant(s, dot + 1, &dtype)))
         tl_help(s->diags, "did you mean 'tl.%s'?", tl_form(s, dot + 1));
      else if (other)
         tl_help(s->diags, "%s", other);
      return;
   }
   const char *module = dot ? tl_arena_strndup(s->arena, name, (size_t)(dot - name)) : name;
   if (m->import.file) { /* in its words, `import a.b as c` without the `as` */
      const char *words = tl_range_text(s, m->import);
      module = tl_arena_strndup(s->arena, words, strcspn(words, " \t"));
   }
   const TlLost lost = {.module = module, .place = m->import.file ? m->import : range};
   report_missing(s, &lost, range);
}

static bool
is_name(const char *text)
{
   size_t n = 0;
   while (isalnum((unsigned char)text[n]) || text[n] == '_')
      n++;
   return n && !text[n];
}

/* Is what is said of it what the program gives a name, as in `weights = torch.zeros(64)`? */
static bool
is_written_there(TlSema *s, const TlLost *lost)
{
   const char *text = tl_range_text(s, lost->place);
   const TlSource *file = tl_source(s->sources, lost->place.file);
   const char *p = file->text + lost->place.begin;
   while (p > file->text && p[-1] == ' ')
      p--;
   return *lost->why && strncmp(text, lost->why, strlen(lost->why)) == 0 && p > file->text + 1 &&
          p[-1] == '=' && p[-2] != '=';
}

void
tl_report_opaque(TlSema *s, const TlSv *v, TlRange range)
{
   if (v->kind == TL_SV_MODULE) {
      report_module(s, v->module, range);
      return;
   }
   const TlLost *lost = v->opaque;
   bool is_other_place =
      lost->place.file && (lost->place.file != range.file || lost->place.begin != range.begin);
   if (lost->is_undecided) {
      tl_report(s->diags, E0279, range, lost->name ? lost->name : "this value");
      tl_note(s->diags, N0205, lost->place, lost->why);
      const char *value =
         lost->name ? tl_arena_printf(s->arena, ", or '%s=VALUE'", lost->name) : "";
      tl_help(s->diags, "say what holds: --assume '%s=True' or '..=False'%s", lost->why, value);
   } else if (lost->module) {
      report_missing(s, lost, range);
   } else {
      bool is_bound =
         is_other_place && is_written_there(s, lost) && is_name(tl_range_text(s, range));
      tl_report(s->diags, E0207, range,
                is_bound ? tl_arena_printf(s->arena, "%s = %s", tl_range_text(s, range), lost->why)
                         : lost->why);
      const char *other = tl_name_instead(lost->why);
      if (other)
         tl_help(s->diags, "write %s", other);
      if (is_other_place)
         tl_note(s->diags, N0206, lost->place);
   }
   s->impl->lost_error = s->diags->last;
   s->impl->lost = lost;
}
