/* Reading the bound arguments of a builtin call: each reader checks one argument and reports what
 * it is instead, naming parameter and function. */
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- small helpers ---- */
const TlType *
tl_scalar(TlSema *s, TlDtype dtype)
{
   assert(dtype < TL_DTYPE_COUNT);
   return tl_type_scalar(s->types, dtype);
}

TlDtype
tl_value_dtype(const TlValue *v)
{
   assert(tl_type_elem(v->type)->kind == TL_TYPE_SCALAR);
   return tl_type_elem(v->type)->dtype;
}

bool
tl_value_is_ptr(const TlValue *v)
{
   return tl_type_is_ptr_like(v->type);
}

TlSv
tl_sv_tuple(TlSema *s, const TlSv *items, size_t num)
{
   TlSvTuple *tuple = tl_new(s->arena, TlSvTuple);
   tuple->items = tl_new_array(s->arena, TlSv, num);
   if (num)
      memcpy(tuple->items, items, num * sizeof *items);
   tuple->len = num;
   return (TlSv){.kind = TL_SV_TUPLE, .tuple = tuple};
}

TlSv
tl_sv_str(TlSema *s, const char *text)
{
   size_t len = strlen(text);
   return (TlSv){.kind = TL_SV_STR, .s = {tl_arena_strndup(s->arena, text, len), len}};
}

bool
tl_text_is(TlText text, const char *s)
{
   return text.len == strlen(s) && memcmp(text.data, s, text.len) == 0;
}

const char *
tl_text_cstr(TlSema *s, TlText text)
{
   return tl_arena_strndup(s->arena, text.data, text.len);
}

bool
tl_sv_const_int(const TlSv *v, int64_t *out)
{
   if (v->kind == TL_SV_INT && !v->is_large)
      *out = v->i;
   else if (v->kind == TL_SV_BOOL)
      *out = v->b;
   else
      return false;
   return true;
}

bool
tl_sv_may_be_called(const TlSv *v)
{
   return v->kind == TL_SV_FUNC || v->kind == TL_SV_BUILTIN || v->kind == TL_SV_OBJECT ||
          v->kind == TL_SV_OPAQUE;
}

void
tl_sv_items(const TlSv *v, const TlSv **items, unsigned *num)
{
   if (v->kind == TL_SV_TUPLE) {
      *items = v->tuple->items;
      *num = (unsigned)v->tuple->len;
   } else {
      *items = v;
      *num = 1;
   }
}

void
tl_call_rest(const TlCall *call, const TlSv **items, unsigned *num)
{
   *items = call->rest;
   *num = call->num_rest;
   if (call->num_rest == 1)
      tl_sv_items(&call->rest[0], items, num);
}

TlRange
tl_call_rest_range(const TlCall *call)
{
   if (!call->num_rest)
      return call->range;
   TlRange range = call->rest_ranges[0], last = call->rest_ranges[call->num_rest - 1];
   if (range.file == last.file && range.end < last.end)
      range.end = last.end;
   return range;
}

TlRange
tl_call_arg_range(const TlCall *call, unsigned i)
{
   return i < call->num_args && call->arg_ranges && call->given[i] ? call->arg_ranges[i]
                                                                   : call->range;
}

/* The i-th name of the signature text, stars and defaults left out. */
const char *
tl_call_param(TlSema *s, const TlCall *call, unsigned i)
{
   const char *p = call->row->signature;
   while (*p) {
      p += strspn(p, " *");
      size_t len = strcspn(p, " =,");
      if (i-- == 0)
         return tl_arena_strndup(s->arena, p, len);
      char quote = 0; /* a comma inside a default string does not end the parameter */
      for (p += len; *p && (quote || *p != ','); p++)
         if (*p == '"')
            quote = quote ? 0 : '"';
      p += *p == ',';
   }
   return "?";
}

bool
tl_call_has(const TlCall *call, unsigned i)
{
   assert(i < call->num_args && "the row's signature has it");
   return call->args[i].kind != TL_SV_NONE;
}

/* tl.store(p, x, mask, ".wb"): the word of an option that has to be named. */
static const char *
help_word(TlSema *s, const TlCall *call, const TlSv *v)
{
   static const struct {
      const char *words, *option;
   } rows[] = {
      {".ca .cg .cv .wb .cs .wt", "cache_modifier"},
      {"evict_normal evict_first evict_last", "eviction_policy"},
      {"zero nan", "padding_option"},
      {"acquire release acq_rel relaxed", "sem"},
      {"gpu cta sys", "scope"},
      {"ieee tf32 tf32x3 bf16x3 bf16x6", "input_precision"},
      {"rtne rtz", "fp_downcast_rounding"},
   };
   const char *word = v->kind == TL_SV_STR ? tl_text_cstr(s, v->s) : "";
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (tl_word_is_listed(rows[i].words, word) && strstr(call->row->signature, rows[i].option)) {
         tl_help(s->diags, "it is given by name: %s=\"%s\"", rows[i].option, word);
         return rows[i].option;
      }
   return NULL;
}

const char *
tl_help_word(TlSema *s, const TlCall *call, unsigned i)
{
   return help_word(s, call, &call->args[i]);
}

/* ---- readers ---- */
/* v, which stands there, is no number, pointer or tile. */
static void
refuse_value(TlSema *s, const TlCall *call, const TlSv *v, const char *param, TlRange range)
{
   const TlDiag *d = s->diags->last;
   if (d && d->code == TL_DIAG_E0313 && d->range.file == call->range.file &&
       d->range.begin >= call->range.begin && d->range.end <= call->range.end)
      return; /* the same mistake in the argument before */
   if (v->kind == TL_SV_LONG) {
      tl_report(s->diags, E0210, range);
      return;
   }
   tl_report(s->diags, E0313, range, call->row->name, "a number, pointer or tile",
             tl_sv_describe(s, v));
   const char *help = v->kind == TL_SV_TUPLE || v->kind == TL_SV_STR
                         ? tl_slip_help(call->row, TL_SLIP_WRONG, param)
                         : NULL;
   if (help)
      tl_help(s->diags, "%s", help);
   else if (help_word(s, call, v))
      return;
   else if (v->kind == TL_SV_TYPE && strstr(call->row->signature, "out_dtype="))
      tl_help(s->diags, "the type of the result is given by name: out_dtype=dtype");
   else
      (void)tl_help_no_number(s, v);
}

bool
tl_call_is_value(TlSema *s, const TlCall *call, unsigned i)
{
   assert(i < call->num_args && "the row's signature has it");
   const TlSv *v = &call->args[i];
   if (v->kind == TL_SV_VALUE || tl_sv_is_number(v))
      return true;
   if (v->kind != TL_SV_POISON)
      refuse_value(s, call, v, tl_call_param(s, call, i), tl_call_arg_range(call, i));
   return false;
}

TlValue *
tl_call_value(TlSema *s, const TlCall *call, unsigned i)
{
   return tl_call_is_value(s, call, i)
             ? tl_sema_value(s, &call->args[i], tl_call_arg_range(call, i))
             : NULL;
}

TlValue *
tl_call_rest_value(TlSema *s, const TlCall *call, unsigned i)
{
   assert(i < call->num_rest);
   const TlSv *v = &call->rest[i];
   if (v->kind == TL_SV_VALUE || v->kind == TL_SV_POISON || tl_sv_is_number(v))
      return tl_sema_value(s, v, call->rest_ranges[i]);
   refuse_value(s, call, v, "args", call->rest_ranges[i]);
   return NULL;
}

/* Of max(v, 1), which reduces. */
static const char *
of_two_values(const TlCall *call)
{
   bool is_max = strcmp(call->row->name, "max") == 0, is_min = strcmp(call->row->name, "min") == 0;
   return is_max   ? "of two values the larger is tl.maximum(a, b)"
          : is_min ? "of two values the smaller is tl.minimum(a, b)"
                   : NULL;
}

TlValue *
tl_call_tile(TlSema *s, const TlCall *call, unsigned i)
{
   TlValue *v = tl_call_value(s, call, i);
   if (v && !tl_type_is_tile(v->type)) {
      tl_report(s->diags, E0310, tl_call_arg_range(call, i), call->row->name,
                tl_sv_text(s, &call->args[i]));
      if (v->type->kind == TL_TYPE_PTR)
         tl_help(s->diags,
                 "'%s' takes values, and this is a pointer: tl.load(%.40s + offsets) reads them",
                 call->row->name, tl_range_text(s, tl_call_arg_range(call, i)));
      else if (tl_call_has(call, 1) && of_two_values(call))
         tl_help(s->diags, "'%s' takes a tile and an axis; %s", call->row->name,
                 of_two_values(call));
      else if (v->def && v->def->opcode == TL_OP_REDUCE)
         tl_help(s->diags, "it is one number already, of all elements: leave '%s' out",
                 call->row->name);
      return NULL;
   }
   return v;
}

TlValue *
tl_call_pointer(TlSema *s, const TlCall *call, unsigned i)
{
   assert(i < call->num_args && "the row's signature has it");
   const TlSv *p = &call->args[i];
   if (p->kind == TL_SV_VALUE && tl_value_is_ptr(p->value))
      return p->value;
   if (p->kind == TL_SV_POISON)
      return NULL;
   tl_report(s->diags, E0317, tl_call_arg_range(call, i), call->row->name, tl_sv_text(s, p));
   tl_blame_sv(s, p, TL_WANT_POINTER);
   /* store(value, x + i): the other is the address, and what cannot become one is the value */
   const TlSv *behind = i == 0 && call->num_args > 1 ? &call->args[1] : NULL;
   bool is_turned =
      behind && behind->kind == TL_SV_VALUE && p->kind == TL_SV_VALUE &&
      tl_type_elem(p->value->type)->kind == TL_TYPE_SCALAR &&
      tl_dtype_is_float(tl_type_elem(p->value->type)->dtype) &&
      (strcmp(call->row->name, "store") == 0 || tl_starts_with(call->row->name, "atomic_"));
   if (is_turned)
      tl_blame_sv(s, behind, TL_WANT_POINTER);
   const char *why = p->kind == TL_SV_VALUE   ? tl_help_parameter(s, p->value)
                     : p->kind == TL_SV_TUPLE ? tl_help_list(s, p->tuple)
                                              : NULL;
   if (p->kind == TL_SV_NONE && !p->s.len)
      tl_help(s->diags, "None is what store(..) gives, and a function without 'return': keep the "
                        "pointer, and give that no name");
   else if (p->kind == TL_SV_NONE)
      tl_help_given_none(s, p->s.data, "an array");
   else if (i + 1 < call->num_args && call->args[i + 1].kind == TL_SV_VALUE &&
            tl_value_is_ptr(call->args[i + 1].value))
      tl_help(s->diags, "the pointer comes first: %s", tl_call_form(s, call->row));
   else if (why)
      tl_help(s->diags, "%s", why);
   else if (p->kind == TL_SV_VALUE &&
            tl_help_loaded_address(s, p->value, tl_call_arg_range(call, i)))
      return NULL;
   else if (p->kind == TL_SV_VALUE && tl_dtype_is_float(tl_type_elem(p->value->type)->dtype))
      tl_help(s->diags, "an address is a pointer parameter plus offsets: tl.load(x + offsets), "
                        "tl.store(x + offsets, value)");
   else if (p->kind == TL_SV_TUPLE && p->tuple->len == 1)
      tl_help(s->diags, "a comma makes a tuple, (x + offsets,): without it the parentheses hold "
                        "the pointer itself");
   else if (tl_sv_is_number(p))
      tl_help(s->diags, "an address is a pointer parameter plus offsets: x + offsets");
   else if (p->kind == TL_SV_VALUE && tl_dtype_info[tl_type_elem(p->value->type)->dtype].bits < 64)
      tl_help(s->diags, "an address is a pointer parameter plus offsets: tl.load(x + offsets), "
                        "tl.store(x + offsets, value)");
   else if (p->kind == TL_SV_VALUE)
      tl_help(s->diags, "an address as a number becomes a pointer with "
                        ".to(tl.pointer_type(tl.float32))");
   return NULL;
}

void
tl_warn_wraps(TlSema *s, const TlCall *call, unsigned i, TlDtype to)
{
   const TlSv *v = &call->args[i];
   TlRange range = tl_call_arg_range(call, i);
   const char *text = tl_range_text(s, range), *becomes = NULL;
   bool is_decimal = strspn(text, "-0123456789_.e+") == strlen(text);
   if (!tl_sv_is_number(v) || v->is_strong || v->is_large || !is_decimal || to == TL_I1)
      return;
   if (tl_dtype_is_float(to)) {
      double x = tl_known_double(v);
      x = tl_bits_to_double(to, tl_double_to_bits(to, x, TL_ROUND_NEAREST_EVEN));
      if (isinf(x))
         becomes = x < 0 ? "-inf" : "inf";
   } else if (v->kind == TL_SV_INT) {
      int64_t n = tl_bits_to_int(to, tl_int_to_bits(to, v->i));
      if (n != v->i)
         becomes = tl_arena_printf(s->arena, "%lld", (long long)n);
   } else if (strcmp(call->row->name, "store") == 0 && v->f > -1e9 && v->f < 1e9 &&
              v->f != (double)(int64_t)v->f) {
      becomes = tl_arena_printf(s->arena, "%lld", (long long)v->f);
   }
   if (!becomes)
      return;
   tl_report(s->diags, W0218, range, text, tl_dtype_info[to].text, becomes);
   if (v->kind == TL_SV_FLOAT && tl_dtype_is_int(to))
      tl_help(s->diags, "fractions are kept behind pointers to tl.float32 and the like");
   else if (tl_dtype_is_float(to))
      tl_help(s->diags, "choose a wider type, tl.float32; infinity is written float(\"inf\")");
   else
      tl_help(s->diags, "tl.%s holds it; bits are written as a hexadecimal number",
              tl_dtype_info[tl_dtype_holding(v->i, tl_dtype_info[to].bits)].triton_name);
}

bool
tl_refuse_const(TlSema *s, const TlCall *call, const TlType *pointer)
{
   TlRange range = tl_call_arg_range(call, 0);
   const TlType *elem = tl_type_elem(pointer)->elem;
   tl_report(s->diags, E0322, range, call->row->name, tl_type_cstr(s->arena, pointer));
   tl_help(s->diags,
           "'%.40s' comes of a parameter declared const: drop the const from its type, as "
           "in *%s",
           tl_range_text(s, range), tl_type_cstr(s->arena, elem));
   return false;
}

/* A comparison of tiles. */
static bool
is_mask(const TlSv *v)
{
   const TlType *elem = v->kind == TL_SV_VALUE ? tl_type_elem(v->value->type) : NULL;
   return elem && elem->kind == TL_TYPE_SCALAR && elem->dtype == TL_I1;
}

/* The text of an argument, of one that is given by its name without that. */
static const char *
argument_text(TlSema *s, const TlCall *call, unsigned i)
{
   const char *text = tl_range_text(s, tl_call_arg_range(call, i));
   const char *param = tl_call_param(s, call, i), *rest = tl_skip_prefix(text, param);
   const char *sign = rest ? rest + strspn(rest, " ") : "";
   return *sign == '=' && sign[1] != '=' ? sign + 1 + strspn(sign + 1, " ") : text;
}

/* The same where it is short, and a name for it where not. */
static const char *
operand_text(TlSema *s, const TlCall *call, unsigned i, const char *name)
{
   const char *text = argument_text(s, call, i);
   return strlen(text) <= 40 && !strchr(text, '\n') ? text : name;
}

/* What makes one value of the tile that an access takes; NULL: nothing that could be meant. */
static const char *
reduction_for(const char *builtin, const char *param)
{
   static const struct {
      const char *builtin, *reduction;
   } rows[] = {
      {"store", "sum"},      {"atomic_add", "sum"},     {"atomic_max", "max"},
      {"atomic_min", "min"}, {"atomic_xor", "xor_sum"},
   };
   for (size_t i = 0; strcmp(param, "mask") != 0 && i < sizeof rows / sizeof rows[0]; i++)
      if (strcmp(rows[i].builtin, builtin) == 0)
         return rows[i].reduction;
   return NULL;
}

/* The tile of integers with a name that a mask compares; NULL: none. */
static const TlValue *
compared_tile(const TlValue *mask, unsigned depth)
{
   enum { MAX_DEPTH = 6 };
   const TlOp *op = mask->def;
   const TlType *elem = tl_type_elem(mask->type);
   if (tl_type_is_tile(mask->type) && mask->name && elem->kind == TL_TYPE_SCALAR &&
       tl_dtype_is_int(elem->dtype) && elem->dtype != TL_I1)
      return mask;
   for (unsigned i = 0;
        op && !op->num_regions && op->opcode != TL_OP_LOAD && depth < MAX_DEPTH && i < op->num_args;
        i++) {
      const TlValue *found = compared_tile(tl_arg(op, i), depth + 1);
      if (found)
         return found;
   }
   return NULL;
}

/* load(x + j, mask=col >= 0): is x + col meant, or an element for each j + lane, or one mask? */
static void
help_tile_mask(TlSema *s, const TlCall *call, unsigned i, const char *pointer, const char *offsets)
{
   const TlValue *mask = call->args[i].kind == TL_SV_VALUE ? call->args[i].value : NULL;
   const TlValue *tile = mask ? compared_tile(mask, 0) : NULL;
   const TlValue *base = call->args[0].kind == TL_SV_VALUE ? call->args[0].value : NULL;
   while (base && base->def && base->def->opcode == TL_OP_ADDPTR)
      base = tl_arg(base->def, 0);
   if (tile && base && base->name)
      tl_help(s->diags,
              "give each element an address, %s + %s, or, as the mask has an element for each of "
              "'%.40s', %.40s + %.40s; or take one element, by a mask of one value",
              pointer, offsets, tile->name, base->name, tile->name);
   else
      tl_help(s->diags,
              "give each element an address, %s + %s, or the one element a mask of one "
              "value",
              pointer, offsets);
}

/* The load of a tile of the type's shape, from an address that is written as an argument of the
 * kernel and offsets, of which v is made; NULL: there is none. */
static const TlOp *
load_behind(const TlValue *v, const TlType *tile, unsigned depth)
{
   enum { MAX_DEPTH = 12 };
   const TlOp *op = v->def;
   if (!op || op->num_regions || depth > MAX_DEPTH)
      return NULL;
   if (op->opcode == TL_OP_LOAD) {
      const TlValue *at = tl_arg(op, 0);
      bool is_same = at->type->rank == tile->rank &&
                     memcmp(at->type->shape, tile->shape, tile->rank * sizeof *tile->shape) == 0;
      return is_same && at->def && at->def->opcode == TL_OP_ADDPTR ? op : NULL;
   }
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlOp *found = load_behind(tl_arg(op, i), tile, depth + 1);
      if (found)
         return found;
   }
   return NULL;
}

/* Are both one term of an index, "row * n" and "n * row" as well? */
static bool
is_same_term(const char *a, size_t a_len, const char *b, size_t b_len)
{
   if (a_len == b_len && memcmp(a, b, a_len) == 0)
      return true;
   const char *times = memchr(a, '*', a_len);
   if (!times || a_len != b_len || times == a || times[-1] != ' ' || times[1] != ' ')
      return false;
   size_t left = (size_t)(times - a) - 1, right = a_len - left - 3;
   return memcmp(b, times + 2, right) == 0 && memcmp(b + right, " * ", 3) == 0 &&
          memcmp(b + right + 3, a, left) == 0;
}

/* The length of the first term of a sum, brackets taken whole; *rest is behind " + ", or NULL. */
static size_t
first_term(const char *text, const char **rest)
{
   int depth = 0;
   for (const char *c = text; *c; c++) {
      depth += strchr("([{", *c) ? 1 : strchr(")]}", *c) ? -1 : 0;
      if (depth == 0 && strncmp(c, " + ", 3) == 0) {
         *rest = c + 3;
         return (size_t)(c - text);
      }
   }
   *rest = NULL;
   return strlen(text);
}

static bool
has_term(const char *sum, const char *term, size_t len)
{
   while (sum) {
      const char *rest;
      size_t here = first_term(sum, &rest);
      if (is_same_term(sum, here, term, len))
         return true;
      sum = rest;
   }
   return false;
}

/* "(row * n + cols)", and not "(row + 1) * (n + 1)" */
static bool
is_in_parentheses(const char *text, size_t len)
{
   int depth = 0;
   for (size_t i = 0; i < len; i++) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (depth == 0)
         return i > 0 && i + 1 == len;
   }
   return false;
}

/* The terms of the offsets that the pointer, as it is written, does not have yet. */
static const char *
terms_left(TlSema *s, const char *offsets, const char *pointer)
{
   TlSb left;
   tl_sb_init(&left, s->arena);
   for (const char *rest; offsets; offsets = rest) {
      size_t len = first_term(offsets, &rest);
      if (!rest && !left.len && is_in_parentheses(offsets, len)) /* x + (row * n + cols) */
         return terms_left(s, tl_arena_strndup(s->arena, offsets + 1, len - 2), pointer);
      if (!has_term(pointer, offsets, len))
         tl_sb_printf(&left, "%s%.*s", left.len ? " + " : "", (int)len, offsets);
   }
   return left.len ? tl_sb_cstr(&left) : NULL;
}

/* Of the terms of an address that are one for each element, as they are written behind the others,
 * "cols" of x + row * n + cols; NULL: there are none, or it is written in another way. */
static const char *
tile_terms(TlSema *s, const TlValue *at)
{
   const char *all = tl_range_text(s, at->def->range);
   size_t end = strlen(all);
   while (at->def && at->def->opcode == TL_OP_ADDPTR) {
      const TlValue *offset = tl_arg(at->def, 1), *base = tl_arg(at->def, 0);
      const TlOp *op = offset->def;
      bool is_scalar = !tl_type_is_tile(offset->type) || (op && op->opcode == TL_OP_SPLAT);
      const char *here = tl_range_text(s, at->def->range);
      size_t len = strlen(here);
      if (len > end || memcmp(all, here, len) != 0)
         return NULL;
      if (is_scalar)
         return len + 3 < strlen(all) ? all + len + 3 : NULL;
      while (base->def &&
             (base->def->opcode == TL_OP_SPLAT || base->def->opcode == TL_OP_BROADCAST))
         base = tl_arg(base->def, 0);
      end = len;
      at = base;
   }
   return NULL;
}

/* What an access stores, or adds, where it is a tile; else NULL. */
static const TlValue *
stored_tile(const TlCall *call)
{
   bool is_stored = reduction_for(call->row->name, "") && call->num_args > 1 &&
                    call->args[1].kind == TL_SV_VALUE && tl_type_is_tile(call->args[1].value->type);
   return is_stored ? call->args[1].value : NULL;
}

enum { MOST_TERMS = 80 }; /* characters of what a help repeats of an address */

/* "row * n + cols", of the load from x + row * n + cols; NULL: it is written in another way. */
static const char *
terms_of_load(TlSema *s, const TlOp *load)
{
   const TlValue *base = tl_arg(load, 0);
   const char *text = tl_range_text(s, base->def->range);
   while (base->def && (base->def->opcode == TL_OP_ADDPTR || base->def->opcode == TL_OP_SPLAT ||
                        base->def->opcode == TL_OP_BROADCAST))
      base = tl_arg(base->def, 0);
   size_t len = base->name ? strlen(base->name) : 0;
   if (!len || base->def || strncmp(text, base->name, len) != 0 ||
       strncmp(text + len, " + ", 3) != 0 || strchr(text, '\n') ||
       strlen(text + len + 3) > MOST_TERMS)
      return NULL;
   return text + len + 3;
}

/* Of them the part that the pointer lacks; NULL: there is none. */
static const char *
offsets_of_load(TlSema *s, const TlOp *load, const char *pointer)
{
   const char *lanes = strstr(pointer, " + ") ? tile_terms(s, tl_arg(load, 0)) : NULL;
   const char *all = terms_of_load(s, load);
   if (lanes && !strchr(lanes, '\n') && strlen(lanes) <= MOST_TERMS)
      return terms_left(s, lanes, pointer);
   return all ? terms_left(s, all, pointer) : NULL;
}

/* Does an address with these terms have all that are behind the pointer's name? */
static bool
has_terms_of(TlSema *s, const char *terms, const char *pointer)
{
   size_t len = strlen(terms);
   if (is_in_parentheses(terms, len))
      terms = tl_arena_strndup(s->arena, terms + 1, len - 2);
   const char *rest = strstr(pointer, " + "), *sum = rest ? rest + 3 : NULL;
   for (; sum; sum = rest) {
      len = first_term(sum, &rest);
      if (!has_term(terms, sum, len))
         return false;
   }
   return true;
}

/* Is a part of the pointer, as it is written, a part of what the name in the offsets stands for? */
static bool
holds_a_term(TlSema *s, const char *offsets, const char *pointer)
{
   const TlValue *v = tl_value_named(s->b.block, offsets);
   const char *sum =
      v && v->def && v->def->opcode == TL_OP_ADD ? tl_range_text(s, v->def->range) : "";
   for (const char *rest; strstr(sum, " + "); sum = rest ? rest : "") {
      size_t len = first_term(sum, &rest);
      if (has_term(pointer, sum, len))
         return true;
   }
   return false;
}

/* The name of what the mask of a store compares, where it has the value's shape. */
static const char *
offsets_of_mask(const TlCall *call, const TlType *tile)
{
   enum { MASK = 2 };
   bool is_stored = reduction_for(call->row->name, "") && call->num_args > MASK &&
                    call->args[MASK].kind == TL_SV_VALUE;
   const TlValue *lanes = is_stored ? compared_tile(call->args[MASK].value, 0) : NULL;
   return lanes && lanes->type->rank == tile->rank &&
                memcmp(lanes->type->shape, tile->shape, tile->rank * sizeof *tile->shape) == 0
             ? lanes->name
             : NULL;
}

/* norm + row: one number of the tile is stored.  False: a tile may be meant as well. */
static bool
help_one_number(TlSema *s, const TlCall *call, const char *pointer, const char *reduction)
{
   enum { MASK = 2 };
   const TlValue *tile = stored_tile(call);
   if (!tile || call->args[0].kind != TL_SV_VALUE)
      return false;
   const TlValue *at = call->args[0].value;
   bool is_alone = true, is_of_it = true, is_one = tl_is_one_per_program(at);
   bool has_tile_mask = call->num_args > MASK && call->args[MASK].kind == TL_SV_VALUE &&
                        tl_type_is_tile(call->args[MASK].value->type);
   const TlValue *number = tl_help_reduced(s, tile, pointer, &is_alone, &is_of_it);
   if (has_tile_mask || (!is_one && (at->def || !number || number->uses)))
      return false;
   if (number)
      tl_help(s->diags, "one address takes one number%s '%s' is %s: tl.%s(%s, %s)",
              is_alone ? ", and" : ":", number->name, is_of_it ? "made of this tile" : "one",
              call->row->name, pointer, number->name);
   else
      tl_help(
         s->diags, "the address is one for each program: reduce the tile to one value, tl.%s(%s%s)",
         reduction, operand_text(s, call, 1, "value"), tile->type->rank == 1 ? ", axis=0" : "");
   return true;
}

/* Offsets that give a tile the addresses which the pointer lacks, and whose they are; cuts from the
 * pointer what they have in them. */
static const char *
offsets_for(TlSema *s, const TlCall *call, const TlType *tile, const char **pointer)
{
   const TlValue *stored = stored_tile(call);
   const TlOp *load = stored ? load_behind(stored, tile, 0) : NULL;
   const char *loaded = load ? offsets_of_load(s, load, *pointer) : NULL;
   const char *all = loaded ? terms_of_load(s, load) : NULL;
   size_t base = strcspn(*pointer, " ");
   bool has_terms = strncmp(*pointer + base, " + ", 3) == 0, is_same = true;
   if (loaded && has_terms && holds_a_term(s, loaded, *pointer))
      *pointer = tl_arena_strndup(s->arena, *pointer, base);
   else if (loaded && has_terms && !(all && has_terms_of(s, all, *pointer))) {
      bool is_one = all && tl_is_one_per_program(call->args[0].value);
      *pointer = is_one ? tl_arena_strndup(s->arena, *pointer, base) : *pointer;
      loaded = is_one ? all : loaded;
      is_same = is_one;
   }
   if (loaded)
      return is_same ? tl_arena_printf(s->arena, "%s, as the load has that it comes from", loaded)
                     : loaded;
   const char *compared = offsets_of_mask(call, tile);
   if (compared)
      return tl_arena_printf(s->arena, "%s, as the mask has", compared);
   return tile->rank == 1 ? tl_arena_printf(s->arena, "tl.arange(0, %u)", tile->shape[0])
                          : tl_arena_printf(s->arena, "offsets of the shape %s",
                                            tl_shape_text(s, tile->rank, tile->shape));
}

void
tl_refuse_tile(TlSema *s, const TlCall *call, unsigned i, const TlType *tile)
{
   const char *pointer = operand_text(s, call, 0, "pointer");
   const char *value = operand_text(s, call, i, "value"), *param = tl_call_param(s, call, i);
   const char *reduction = reduction_for(call->row->name, param);
   tl_report(s->diags, E0320, tl_call_arg_range(call, i), param, call->row->name,
             tl_type_cstr(s->arena, tile));
   if (i == 1 && reduction && help_one_number(s, call, pointer, reduction))
      return;
   const char *offsets = offsets_for(s, call, tile, &pointer);
   if (reduction)
      tl_help(s->diags,
              "give each element an address, %s + %s, or reduce the tile to one value: "
              "tl.%s(%s%s)",
              pointer, offsets, reduction, value, tile->rank == 1 ? ", axis=0" : "");
   else if (reduction_for(call->row->name, "") && i == 2 && stored_tile(call))
      tl_help(s->diags,
              "give each element an address, %s + %s, or reduce the tile to one value before: "
              "tl.%s(tl.where(%s, %s, 0)%s)",
              pointer, offsets, reduction_for(call->row->name, ""), value,
              operand_text(s, call, 1, "value"), tile->rank == 1 ? ", axis=0" : "");
   else if (strcmp(param, "mask") == 0)
      help_tile_mask(s, call, i, pointer, offsets);
   else
      tl_help(s->diags, "give each element an address, %s + %s", pointer, offsets);
}

/* store(x + i, v, m): the call with its argument `last` and the one before it exchanged. */
static const char *
exchanged(TlSema *s, const TlCall *call, unsigned last)
{
   TlSb text;
   tl_sb_init(&text, s->arena);
   tl_sb_printf(&text, "%s(", call->row->name);
   for (unsigned i = 0; i <= last; i++) {
      unsigned from = i == last ? last - 1 : i == last - 1 ? last : i;
      tl_sb_printf(&text, "%s%.60s", i ? ", " : "", argument_text(s, call, from));
   }
   tl_sb_char(&text, ')');
   return tl_sb_cstr(&text);
}

/* Behind an error: argument i is no mask of an access to `to`.  What it was meant for. */
static void
help_mask(TlSema *s, const TlCall *call, unsigned i, const TlValue *m, const TlType *to)
{
   const TlType *elem = tl_type_elem(m->type);
   uint64_t bits;
   bool is_count =
      elem->kind == TL_TYPE_SCALAR && !tl_type_is_tile(m->type) && !tl_is_const(m, &bits);
   bool is_after_mask = i > 1 && is_mask(&call->args[i - 1]);
   bool is_before_mask = i + 1 < call->num_args && is_mask(&call->args[i + 1]);
   bool is_offset = elem->kind == TL_TYPE_SCALAR && tl_dtype_is_int(elem->dtype) &&
                    tl_type_is_tile(m->type) && !tl_type_is_tile(to);
   const TlSv *before = i > 1 ? &call->args[i - 1] : NULL; /* store(x, i, v) */
   bool is_behind_offset = before && before->kind == TL_SV_VALUE && !tl_type_is_tile(to) &&
                           tl_type_is_tile(before->value->type) &&
                           tl_type_elem(before->value->type)->kind == TL_TYPE_SCALAR &&
                           tl_dtype_is_int(tl_type_elem(before->value->type)->dtype);
   if (is_behind_offset)
      tl_help(s->diags, "offsets are added to the pointer: tl.%s(%.40s + %.40s, %.40s)",
              call->row->name, argument_text(s, call, 0), argument_text(s, call, i - 1),
              argument_text(s, call, i));
   else if (i == 1 && !is_before_mask && tl_sv_is_number(&call->args[i]))
      tl_help(s->diags,
              "the mask comes before what stands for elements that it leaves out: tl.%s(%.60s, "
              "mask, other=%.20s)",
              call->row->name, argument_text(s, call, 0), argument_text(s, call, i));
   else if (is_after_mask)
      tl_help(s->diags, "the order is pointer, value, mask: tl.%s", exchanged(s, call, i));
   else if (is_before_mask && !is_offset)
      tl_help(s->diags, "the mask comes first: tl.%s", exchanged(s, call, i + 1));
   else if (is_offset)
      tl_help(s->diags,
              "offsets are added to the pointer: %s(x + offsets, ..); a mask is a "
              "comparison, offsets < n",
              call->row->name);
   else if (is_count)
      tl_help(s->diags,
              "a mask says for each element whether it is accessed: compare the offsets with the "
              "number, mask=offsets < %.40s",
              argument_text(s, call, i));
   else if (elem->kind == TL_TYPE_SCALAR)
      tl_help(s->diags, "compare: mask != 0, or .to(tl.int1)");
   else
      tl_help(s->diags, "the mask is a comparison, such as offsets < n; of a mask in memory "
                        "tl.load(pointer) != 0");
}

bool
tl_call_mask(TlSema *s, const TlCall *call, unsigned i, const TlType *to, TlValue **out)
{
   *out = NULL;
   if (!tl_call_has(call, i))
      return true;
   TlRange range = tl_call_arg_range(call, i);
   if (call->args[i].kind == TL_SV_TUPLE) {
      tl_report(s->diags, E0321, range, call->row->name, tl_sv_describe(s, &call->args[i]));
      tl_help(s->diags, "conditions are joined by '&' to one: (rows[:, None] < m) & (cols[None, :] "
                        "< n)");
      return false;
   }
   TlValue *m = tl_call_value(s, call, i);
   if (!m)
      return false;
   const TlType *elem = tl_type_elem(m->type);
   if (elem->kind != TL_TYPE_SCALAR || elem->dtype != TL_I1) {
      tl_report(s->diags, E0321, range, call->row->name, tl_type_cstr(s->arena, m->type));
      tl_blame(s, m, TL_WANT_BOOL);
      help_mask(s, call, i, m, to);
      return false;
   }
   if (!tl_type_is_tile(to) && tl_type_is_tile(m->type)) {
      tl_refuse_tile(s, call, i, m->type);
      return false;
   }
   *out = m;
   assert(!*out || tl_type_elem((*out)->type)->dtype == TL_I1);
   return true;
}

/* A helper's constexpr parameter that the call gives a number of the run: the call is wrong.
 * The argument is such a parameter, and E0301 is reported there. */
static bool
report_caller(TlSema *s, TlRange range, const char *param, const char *builtin, const char *got)
{
   const TlActivation *act = s->impl->act;
   const char *name = tl_range_text(s, range);
   const TlNode *fn =
      act && act->func && act->caller && act->call_range.file ? act->func->node : NULL;
   if (!fn || fn->kind != TL_AST_FUNCTION || tl_in_library(s->sources, act->call_range) ||
       tl_in_library(s->sources, range))
      return false;
   const TlNodeList *params = &tl_ast_Function(fn)->params;
   for (size_t i = 0; i < params->len; i++) {
      const TlAstParam *p = tl_ast_Param(params->data[i]);
      if (!p->name || strcmp(p->name, name) != 0 || !tl_is_constexpr_annotation(p->annotation))
         continue;
      uint32_t site = s->diags->site;
      s->diags->site = act->call_range.site;
      tl_report(s->diags, E0301, act->call_range, param, builtin, got);
      s->diags->site = site;
      tl_help(s->diags,
              "'%s' of '%s' is constexpr, and this call gives it a number of the run: give a "
              "constant, or a parameter annotated tl.constexpr",
              name, act->func->name);
      tl_note(s->diags, N0200, range, "it is needed here");
      return true;
   }
   return false;
}

const char *
tl_type_named(const char *text)
{
   TlDtype d;
   const char *own = tl_other_type(text, strlen(text));
   own = own ? own : text;
   return tl_dtype_from_text(own, strlen(own), &d) ? tl_dtype_info[d].triton_name : NULL;
}

static bool
report_kind(TlSema *s, const TlCall *call, unsigned i, const char *what)
{
   assert(i < call->num_args && "the row's signature has it");
   const TlSv *v = &call->args[i];
   TlRange range = tl_call_arg_range(call, i);
   const char *param = tl_call_param(s, call, i), *text = tl_sv_text(s, v);
   const char *help = tl_slip_help(call->row, TL_SLIP_WRONG, param);
   if (help && v->kind == TL_SV_TUPLE && strcmp(what, "an integer") == 0)
      help = NULL; /* tl.max(x, (0, 1)): several axes */
   bool is_behind_type =
      i == 1 && call->args[0].kind == TL_SV_TYPE && tl_starts_with(what, "a type");
   if (is_behind_type) /* tl.cast(tl.float16, x) */
      help = tl_arena_printf(s->arena,
                             "the value comes first, the type behind it: tl.%s(%.40s, "
                             "%.40s)",
                             call->row->name, tl_range_text(s, range),
                             tl_range_text(s, tl_call_arg_range(call, 0)));
   if (v->kind == TL_SV_POISON)
      return false;
   if (tl_sv_is_runtime(v)) {
      bool is_scalar = v->kind == TL_SV_VALUE && v->value->type->kind == TL_TYPE_SCALAR;
      if (is_scalar && report_caller(s, range, param, call->row->name, text))
         return false;
      tl_report(s->diags, E0301, range, param, call->row->name, text);
      bool is_pointer = v->kind == TL_SV_VALUE && tl_type_is_ptr_like(v->value->type);
      if (is_pointer && tl_starts_with(what, "a type"))
         tl_help(s->diags, "the type of what lies behind it is %.40s.dtype.element_ty",
                 tl_range_text(s, range));
      else if (is_scalar && tl_help_set_constexpr(s, range))
         tl_help(s->diags, "%s", tl_help_set_constexpr(s, range));
      else if (is_scalar && tl_help_loop_made(s, v))
         return false;
      else if (help)
         tl_help(s->diags, "%s", help);
      else if (is_scalar)
         tl_help(s->diags,
                 "%.40s is known in the run only: pass it as a parameter annotated "
                 "tl.constexpr",
                 tl_range_text(s, range));
      else if (strcmp(what, "a string") == 0 && tl_slip_help(call->row, TL_SLIP_MORE, ""))
         tl_help(s->diags, "%s", tl_slip_help(call->row, TL_SLIP_MORE, ""));
      else
         tl_help(s->diags,
                 "'%s' is %s, written out or a tl.constexpr parameter; it is called as %s", param,
                 what, tl_builtin_signature(s->arena, call->row, call->is_method));
   } else {
      tl_report(s->diags, E0302, range, param, call->row->name, what, text);
      bool is_bool = strcmp(what, "True or False") == 0;
      bool is_type = tl_starts_with(what, "a type") || strcmp(what, "a number type") == 0;
      bool is_size = tl_sv_is_number(v) || v->kind == TL_SV_TUPLE;
      bool is_pointer_type = v->kind == TL_SV_TYPE && v->type->kind == TL_TYPE_PTR;
      if (is_pointer_type && is_type)
         tl_help(s->diags, "that is the type of a pointer; its elements have %.40s.element_ty",
                 tl_range_text(s, range));
      else if (help_word(s, call, v))
         return false;
      else if (v->kind == TL_SV_NONE && v->s.len)
         (void)tl_help_no_number(s, v);
      else if (help && (v->kind != TL_SV_STR || call->row->fn == tl_builtin_stdlib) &&
               (!is_type || is_size))
         tl_help(s->diags, "%s", help);
      else if (is_type && v->kind == TL_SV_STR && tl_type_named(tl_text_cstr(s, v->s)))
         tl_help(s->diags, "write it without quotes: tl.%s", tl_type_named(tl_text_cstr(s, v->s)));
      else if (is_type)
         tl_help(s->diags, "types are tl's own: tl.float32, tl.int32, tl.float16");
      else if (v->kind == TL_SV_TUPLE && strcmp(call->row->name, "num_programs") != 0 &&
               strcmp(call->row->name, "program_id") != 0 &&
               (strcmp(param, "axis") == 0 || strcmp(param, "dim") == 0))
         tl_help(s->diags, "one axis at a time, the last first: tl.sum(tl.sum(x, 1), 0)");
      else if (is_bool)
         tl_help(s->diags, "write %s=True or %s=False", param, param);
      else if (v->kind == TL_SV_BUILTIN && strcmp(v->builtin.row->name, "constexpr") == 0)
         tl_help(s->diags, "it is an annotation and stands behind a colon: BLOCK: constexpr = 64");
      else if (strcmp(what, "an integer") == 0 && v->kind == TL_SV_STR)
         tl_help(s->diags,
                 "a number is meant, without quotes: such as 0, or for a size 64 with -D or "
                 "in the signature");
      else if (v->kind == TL_SV_FLOAT && strcmp(what, "an integer") == 0 &&
               tl_help_quotient(s, NULL, range))
         return false;
      else if (v->kind == TL_SV_FUNC) /* the axis stands behind it */
         tl_help(s->diags, "%s%s",
                 strcmp(param, "axis") == 0 ? "the axis comes before the function: "
                                            : "it is called as ",
                 tl_builtin_signature(s->arena, call->row, call->is_method));
      else if (strcmp(what, "an integer") == 0 && v->kind == TL_SV_FLOAT)
         tl_help(s->diags, "%s",
                 strchr(tl_range_text(s, tl_call_arg_range(call, i)), '/')
                    ? "'/' gives a fraction, '//' a whole number"
                    : "a whole number is meant: here, or as the value that a name gets by -D, the "
                      "signature or its default");
      else if (strcmp(what, "a string") == 0 && !tl_help_no_number(s, v))
         tl_help(s->diags, "write a word in quotes; `tilec doc %s` says which", call->row->name);
   }
   return false;
}

bool
tl_call_int(TlSema *s, const TlCall *call, unsigned i, int64_t *out)
{
   assert(i < call->num_args && "the row's signature has it");
   return tl_sv_const_int(&call->args[i], out) || report_kind(s, call, i, "an integer");
}

bool
tl_call_bool(TlSema *s, const TlCall *call, unsigned i, bool *out)
{
   assert(i < call->num_args && "the row's signature has it");
   int64_t v;
   if (!tl_sv_const_int(&call->args[i], &v))
      return report_kind(s, call, i, "True or False");
   *out = v != 0;
   return true;
}

bool
tl_call_str(TlSema *s, const TlCall *call, unsigned i, TlText *out)
{
   assert(i < call->num_args && "the row's signature has it");
   if (call->args[i].kind != TL_SV_STR)
      return report_kind(s, call, i, "a string");
   *out = call->args[i].s;
   return true;
}

bool
tl_call_type(TlSema *s, const TlCall *call, unsigned i, const TlType **out)
{
   assert(i < call->num_args && "the row's signature has it");
   if (call->args[i].kind != TL_SV_TYPE)
      return report_kind(s, call, i, "a type such as tl.float32");
   *out = call->args[i].type;
   return true;
}

bool
tl_call_dtype(TlSema *s, const TlCall *call, unsigned i, const TlType **out)
{
   if (!tl_call_type(s, call, i, out))
      return false;
   return (*out)->kind == TL_TYPE_SCALAR || report_kind(s, call, i, "a number type");
}

bool
tl_call_axis(TlSema *s, const TlCall *call, unsigned i, const TlType *of, unsigned rank,
             unsigned *out)
{
   int64_t axis = 0, limit = (int64_t)rank;
   if (!tl_call_int(s, call, i, &axis))
      return false;
   if (axis < -limit || axis >= limit) {
      tl_report(s->diags, E0311, tl_call_arg_range(call, i), call->row->name, -(long long)limit,
                (long long)limit - 1, tl_type_cstr(s->arena, of), (long long)axis);
      bool is_named = strncmp(tl_range_text(s, tl_call_arg_range(call, i)), "axis", 4) == 0;
      if (limit == 1 && (is_named || !of_two_values(call)))
         tl_help(s->diags, "axes count from 0, and a tile of one dimension has that one: axis=0");
      else if (of_two_values(call))
         tl_help(s->diags, "axes count from 0; %s", of_two_values(call));
      else if (limit > 1)
         tl_help(s->diags, "axes count from 0: the last of %s is axis=%lld, or -1",
                 tl_type_cstr(s->arena, of), (long long)limit - 1);
      return false;
   }
   *out = (unsigned)(axis < 0 ? axis + limit : axis);
   return true;
}

typedef struct Word {
   const char *param, *word, *meaning, *others;
} Word;

static const Word *
find_word(const char *param, const char *given)
{
   static const Word rows[] = {
#define TL_WORD(param, word, meaning, others) {param, word, meaning, others},
#include "sema/slips.def"
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (strcmp(rows[i].param, param) == 0 &&
          (strcmp(rows[i].word, given) == 0 || tl_word_is_listed(rows[i].others, given)))
         return &rows[i];
   return NULL;
}

const char *
tl_word_of(const char *param, const char *given)
{
   const Word *w = find_word(param, given);
   return w ? w->word : NULL;
}

void
tl_refuse_word(TlSema *s, const TlCall *call, unsigned i, const char *words, const char *given)
{
   const char *param = tl_call_param(s, call, i);
   const Word *w = find_word(param, given);
   TlNearest near = {.name = given};
   for (const char *p = words; *p; p += strspn(p, " ")) {
      size_t len = strcspn(p, " ");
      tl_nearest_try(&near, tl_arena_strndup(s->arena, p, len));
      p += len;
   }
   tl_report(s->diags, E0307, tl_call_arg_range(call, i), param, call->row->name, words, given);
   if (w && tl_word_is_listed(words, w->word))
      tl_help(s->diags, "write %s=\"%s\"%s%s", param, w->word, *w->meaning ? ": " : "", w->meaning);
   else if (near.best && !w)
      tl_help(s->diags, "did you mean \"%s\"?", near.best);
}

bool
tl_call_word(TlSema *s, const TlCall *call, unsigned i, TlAttrKind kind, const char *words,
             int64_t initial, int64_t *out)
{
   *out = initial;
   if (!tl_call_has(call, i))
      return true;
   TlText text = {0};
   const TlSv *v = &call->args[i];
   if (tl_sv_is_number(v)) {
      const char *param = tl_call_param(s, call, i);
      const char *help = tl_slip_help(call->row, TL_SLIP_WRONG, param);
      tl_report(s->diags, E0307, tl_call_arg_range(call, i), param, call->row->name, words,
                tl_sv_constant_text(s, v));
      if (help)
         tl_help(s->diags, "%s", help);
      return false;
   }
   if (v->kind == TL_SV_TYPE && v->type->kind == TL_TYPE_SCALAR) { /* input_precision=tl.float32 */
      tl_refuse_word(s, call, i, words, tl_dtype_info[v->type->dtype].triton_name);
      return false;
   }
   if (!tl_call_str(s, call, i, &text))
      return false;
   if (text.len == 0 && kind != TL_AK_PRECISION)
      return true;
   char *word = tl_arena_printf(s->arena, "%.*s", (int)text.len, text.data);
   for (char *at = word; *at && kind == TL_AK_PRECISION; at++) /* TF32 too, as in Triton */
      *at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
   bool listed = tl_word_is_listed(words, word);
   const char *bare = word[0] == '.' ? word + 1 : word;
   if (tl_starts_with(bare, "evict_"))
      bare += 6;
   if (listed && tl_attr_word_value(kind, bare, strlen(bare), out))
      return true;
   tl_refuse_word(s, call, i, words, word);
   return false;
}

bool
tl_call_ints(TlSema *s, const TlCall *call, const char *what, const TlSv *items, unsigned num,
             unsigned max, int64_t *out, TlRange range)
{
   assert(items || !num);
   if (num > max)
      return tl_refuse(s->diags, E0298, range, (int)max, num);
   for (unsigned i = 0; i < num; i++) {
      if (tl_sv_const_int(&items[i], &out[i]))
         continue;
      if (items[i].kind == TL_SV_POISON)
         return false;
      if (tl_sv_is_runtime(&items[i])) {
         tl_report(s->diags, E0301, range, what, call->row->name, tl_sv_text(s, &items[i]));
         if (tl_help_loop_made(s, &items[i]))
            return false;
         const char *name = items[i].kind == TL_SV_VALUE ? items[i].value->name : NULL;
         tl_help(
            s->diags,
            "%.40s is known in the run only: sizes come from parameters annotated tl.constexpr, "
            "the count of a loop from tl.static_range",
            name ? name : tl_range_text(s, range));
      } else {
         tl_report(s->diags, E0306, range, what, call->row->name, tl_sv_text(s, &items[i]));
         const char *help =
            items[i].kind == TL_SV_TYPE ? tl_slip_help(call->row, TL_SLIP_WRONG, what) : NULL;
         const char *text = tl_range_text(s, range);
         bool is_exchanged = strcmp(what, "shape") == 0 && strcmp(call->row->name, "full") == 0 &&
                             call->num_args > 1 && call->args[1].kind == TL_SV_TUPLE;
         if (help)
            tl_help(s->diags, "%s", help);
         else if (is_exchanged)
            tl_help(s->diags, "the shape comes first: tl.full(%s, %s, dtype)",
                    operand_text(s, call, 1, "shape"), operand_text(s, call, 0, "value"));
         else if (items[i].kind == TL_SV_FLOAT && strchr(text, '/') && !strchr(text, '\n'))
            tl_help(s->diags,
                    "'/' gives a fraction, of whole numbers too: '//' in %.80s gives a whole one",
                    text);
         else
            (void)help_word(s, call, &items[i]);
      }
      return false;
   }
   return true;
}

static unsigned long long
next_power(int64_t v)
{
   unsigned long long p = 1;
   while (p < (unsigned long long)v)
      p *= 2;
   return p;
}

/* reshape(x, (-1, 2)) */
static void
help_left_open(TlSema *s, const TlCall *call, const TlSv *items, unsigned num)
{
   const TlSv *x = call->num_args ? &call->args[0] : NULL;
   uint64_t left = x && x->kind == TL_SV_VALUE ? tl_type_num_elems(x->value->type) : 0;
   bool is_reshape =
      num > 1 && (strcmp(call->row->name, "reshape") == 0 || strcmp(call->row->name, "view") == 0);
   unsigned open = 0;
   for (unsigned i = 0; i < num; i++) {
      int64_t dim;
      bool is_known = tl_sv_const_int(&items[i], &dim) && (dim == -1 || (dim > 0 && left));
      open += is_known && dim == -1;
      left = !is_known || (dim > 0 && left % (uint64_t)dim) ? 0
             : dim > 0                                      ? left / (uint64_t)dim
                                                            : left;
   }
   if (is_reshape && open == 1 && left)
      tl_help(s->diags,
              "no size is worked out: write %llu, or the quotient of the constants it is, such as "
              "BLOCK // 2",
              (unsigned long long)left);
   else
      tl_help(s->diags, "no size is worked out: write it, or use tl.ravel(x)");
}

bool
tl_call_shape(TlSema *s, const TlCall *call, const char *what, const TlSv *items, unsigned num,
              uint32_t *shape, TlRange range)
{
   int64_t dims[TL_MAX_RANK];
   unsigned long long elems = 1;
   if (!tl_call_ints(s, call, what, items, num, TL_MAX_RANK, dims, range))
      return false;
   for (unsigned i = 0; i < num; i++) {
      if (dims[i] < 1 || (dims[i] & (dims[i] - 1))) {
         tl_report(s->diags, E0308, range, i, (long long)dims[i]);
         if (dims[i] > 0 && dims[i] <= TL_MAX_TILE_ELEMS)
            tl_help(s->diags, "use %llu and mask what lies beyond %lld", next_power(dims[i]),
                    (long long)dims[i]);
         else if (dims[i] == -1)
            help_left_open(s, call, items, num);
         return false;
      }
      if (__builtin_mul_overflow(elems, (unsigned long long)dims[i], &elems))
         elems = UINT64_MAX;
      if (elems > TL_MAX_TILE_ELEMS)
         return tl_refuse(s->diags, E0309, range, TL_MAX_TILE_ELEMS, elems);
      shape[i] = (uint32_t)dims[i];
   }
   return true;
}

/* ---- element types ---- */
static uint32_t
takes_bit(TlDtype t)
{
   assert(t < TL_DTYPE_COUNT);
   unsigned bits = tl_dtype_info[t].bits;
   if (t == TL_I1)
      return TL_TAKES_BOOL;
   if (tl_dtype_is_float(t))
      return bits == 64   ? TL_TAKES_FP64
             : bits == 32 ? TL_TAKES_FP32
             : bits == 16 ? TL_TAKES_FP16
                          : TL_TAKES_FP8;
   return bits == 64 ? TL_TAKES_INT64 : bits == 32 ? TL_TAKES_INT32 : TL_TAKES_SHORT;
}

static const char *
takes_text(uint32_t takes)
{
   static const struct {
      uint32_t takes;
      const char *text;
   } names[] = {
      {TL_TAKES_FP32, "fp32"},
      {TL_TAKES_WIDE_FLOAT, "fp32 or fp64"},
      {TL_TAKES_FLOAT, "floating-point numbers"},
      {TL_TAKES_INT32, "32-bit integers"},
      {TL_TAKES_WIDE_INT, "32-bit or 64-bit integers"},
      {TL_TAKES_INT, "integers"},
      {TL_TAKES_INT | TL_TAKES_BOOL, "integers"},
   };
   for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
      if (names[i].takes == (takes & ~(uint32_t)TL_TAKES_MATH64))
         return names[i].text;
   return "numbers";
}

bool
tl_check_takes(TlSema *s, const TlCall *call, unsigned i, const TlValue *v, uint32_t takes)
{
   const TlType *elem = tl_type_elem(v->type);
   if (elem->kind == TL_TYPE_SCALAR && (takes_bit(elem->dtype) & takes))
      return true;
   tl_report(s->diags, E0313, tl_call_arg_range(call, i), call->row->name, takes_text(takes),
             tl_type_cstr(s->arena, v->type));
   tl_blame(s, v, takes & TL_TAKES_FLOAT ? TL_WANT_FLOAT : TL_WANT_INT);
   if (elem->kind != TL_TYPE_SCALAR)
      tl_help(s->diags, "load the values first: tl.load(pointer)");
   else if (takes & TL_TAKES_FP32)
      tl_help(s->diags, "convert the operand: .to(tl.float32)");
   return false;
}

TlValue *
tl_call_taken(TlSema *s, const TlCall *call, unsigned i, uint32_t takes)
{
   TlValue *v = tl_call_value(s, call, i);
   return v && tl_check_takes(s, call, i, v, takes) ? v : NULL;
}

TlValue *
tl_bf16_to_fp32(TlSema *s, TlValue *v, TlRange range)
{
   const TlType *elem = tl_type_elem(v->type);
   if (elem->kind == TL_TYPE_SCALAR && elem->dtype == TL_BF16)
      return tl_sema_cast(s, v, tl_scalar(s, TL_FP32), range);
   return v;
}
