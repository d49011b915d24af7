/* Hints, assertions, printing, special registers and inline assembly. */
#include "ir/inline_asm.h"
#include "sema/builtin.h"
#include "sema/impl.h"

#include <string.h>

/* ---- hints: promised facts, one value for each dimension ---- */
TlValue *
tl_sema_hint(TlSema *s, TlValue *x, int64_t hint, const int64_t *values, unsigned num,
             TlRange range)
{
   const TlAttrInit attrs[] = {{TL_ATTR_HINT, {.i = hint}},
                               {TL_ATTR_VALUES, {.ints = tl_ints(s->arena, values, num)}},
                               {TL_ATTR_COUNT, {.i = 0}}};
   return tl_sema_build(s, TL_OP_HINT, &x, 1, NULL, attrs, range);
}

TlSv
tl_builtin_hint(TlSema *s, const TlCall *call)
{
   TlValue *x = tl_call_value(s, call, 0);
   const TlSv *items;
   unsigned num;
   int64_t values[TL_MAX_RANK];
   TlRange range = tl_call_arg_range(call, 1);
   tl_sv_items(&call->args[1], &items, &num);
   if (!x || !tl_call_ints(s, call, "values", items, num, TL_MAX_RANK, values, range))
      return tl_sv_poison();
   if (tl_sv_is_number(&call->args[0]))
      return call->args[0]; /* what is known needs no promise */
   unsigned rank = x->type->rank ? x->type->rank : 1;
   if (num != rank)
      return tl_sv_refuse(s, E0341, range, call->row->name, rank, tl_type_cstr(s->arena, x->type),
                          num);
   for (unsigned i = 0; i < num; i++)
      if (values[i] < 1)
         return tl_sv_refuse(s, E0345, range, "values", call->row->name, (long long)values[i],
                             "positive");
   return tl_sv_value(tl_sema_hint(s, x, tl_builtin_row(call)->which, values, num, call->range));
}

TlSv
tl_builtin_assume(TlSema *s, const TlCall *call)
{
   const TlSv *c = &call->args[0];
   int64_t known;
   bool is_const = tl_sv_const_int(c, &known);
   if (is_const && known)
      return tl_sv_none();
   if (is_const) /* "no program gets here", or the kernel is compiled for other values */
      tl_report(s->diags, W0212, call->range, tl_range_text(s, tl_call_arg_range(call, 0)));
   /* n % 16 promises that it is not 0.  What a guess made a number may be none. */
   const TlType *type = c->kind == TL_SV_VALUE ? c->value->type : NULL;
   bool is_number =
      type && (type->kind == TL_TYPE_PTR || (type->kind == TL_TYPE_SCALAR && type->dtype != TL_I1));
   if (is_number && (c->value->def || !tl_is_tried(s)))
      tl_report(s->diags, W0231, tl_call_arg_range(call, 0), call->row->name,
                tl_type_cstr(s->arena, type));
   TlValue *v = tl_sema_condition(s, c, tl_call_arg_range(call, 0));
   if (!v)
      return tl_sv_poison();
   tl_build(&s->b, TL_OP_ASSUME, &v, 1, NULL, 0, NULL, 0, 0);
   return tl_sv_none();
}

/* What combines values may be done in any order and as often as it likes, so that nothing in it has
 * an effect. */
static bool
is_left_out(TlSema *s, const TlCall *call, const char *instead)
{
   if (!tl_sema_in_combine(s))
      return false;
   tl_report(s->diags, W0251, call->range, call->row->name);
   if (instead)
      tl_help(s->diags, "%s it of the tile, before the reduction or scan", instead);
   return true;
}

/* An operation without operands or results. */
TlSv
tl_builtin_effect(TlSema *s, const TlCall *call)
{
   if (is_left_out(s, call, NULL))
      return tl_sv_none();
   tl_build(&s->b, (TlOpcode)tl_builtin_row(call)->which, NULL, 0, NULL, 0, NULL, 0, 0);
   return tl_sv_none();
}

/* ---- the launch ---- */
enum { WARP_THREADS = 32 };

/* The launch's, which no pass may change from here on. */
static int
depend_on_warps(TlSema *s)
{
   s->b.func->needs_warps = true;
   return s->impl->num_warps;
}

/* num_warps, num_threads: so many for each warp. */
TlSv
tl_builtin_launch_size(TlSema *s, const TlCall *call)
{
   return tl_sv_int(depend_on_warps(s) * tl_builtin_row(call)->which);
}

/* ---- special registers ---- */
TlSv
tl_builtin_sreg(TlSema *s, const TlCall *call)
{
   int which = tl_builtin_row(call)->which;
   const TlType *type = tl_scalar(s, which == TL_SREG_SMID ? TL_I32 : TL_I64);
   return tl_sv_value(tl_b0(&s->b, TL_OP_SREG, type, {TL_ATTR_SREG, {.i = which}}));
}

/* ---- assertions ---- */
/* What the condition of an assertion is that holds whatever the sizes; NULL: it is none of that.
 * In (condition, "text") the parentheses make one tuple of both. */
static const char *
always_true(TlSema *s, const TlCall *call)
{
   const TlSv *c = &call->args[0], *msg = &call->args[1];
   switch (c->kind) {
   case TL_SV_FUNC:
   case TL_SV_BUILTIN:
      return "a function";
   case TL_SV_MODULE:
      return "a module";
   case TL_SV_STR:
      return tl_call_has(call, 1) && msg->kind == TL_SV_STR ? NULL : "a text";
   case TL_SV_TUPLE:
      return c->tuple->len && tl_range_text(s, tl_call_arg_range(call, 0))[0] == '(' ? "a tuple"
                                                                                     : NULL;
   default:
      return NULL;
   }
}

TlSv
tl_builtin_static_assert(TlSema *s, const TlCall *call)
{
   const TlSv *c = &call->args[0], *msg = &call->args[1];
   bool holds;
   if (c->kind == TL_SV_POISON)
      return *c;
   TlText text;
   const char *what = always_true(s, call);
   if (what) {
      tl_report(s->diags, E0216, tl_call_arg_range(call, 0), what, "true");
      tl_help(s->diags, "the condition comes first: tl.static_assert(condition, \"text\")");
      return tl_sv_poison();
   }
   if (c->kind == TL_SV_NONE)
      holds = false;
   else if (c->kind == TL_SV_FLOAT)
      holds = c->f != 0;
   else if (c->kind == TL_SV_STR || c->kind == TL_SV_TUPLE)
      holds = c->kind == TL_SV_STR ? c->s.len > 0 : c->tuple->len > 0;
   else if (c->kind == TL_SV_TYPE || c->kind == TL_SV_FUNC || c->kind == TL_SV_BUILTIN)
      holds = true;
   else if (!tl_call_bool(s, call, 0, &holds))
      return tl_sv_poison();
   if (tl_call_has(call, 1) && !tl_call_str(s, call, 1, &text))
      return tl_sv_poison();
   if (holds)
      return tl_sv_none();
   bool has_text = msg->kind == TL_SV_STR && msg->s.len > 0;
   tl_report(s->diags, E0342, call->range, has_text ? ": " : "",
             has_text ? tl_text_cstr(s, msg->s) : "");
   const TlActivation *act = s->impl->act; /* of what the user called */
   while (act && act->caller && tl_in_library(s->sources, act->call_range))
      act = act->caller;
   if (act && act->func && tl_in_library(s->sources, call->range))
      tl_help(s->diags, "it is said by '%s' of the library: `tilec doc %s` has an example",
              act->func->name, act->func->name);
   return tl_sv_poison();
}

/* For a run that looks at it and goes on: only what cannot be an error of the compilation. */
static bool
is_kept(TlSema *s, const TlCall *call)
{
   const TlSv *c = &call->args[0];
   const TlType *elem = c->kind == TL_SV_VALUE ? tl_type_elem(c->value->type) : NULL;
   return s->keeps_asserts && elem && elem->kind == TL_TYPE_SCALAR && elem->dtype == TL_I1 &&
          !tl_call_has(call, 2) && !tl_sema_in_combine(s);
}

TlSv
tl_builtin_device_assert(TlSema *s, const TlCall *call)
{
   const TlSv *c = &call->args[0];
   TlText said;
   if (c->kind == TL_SV_STR || c->kind == TL_SV_TUPLE) { /* what comes second comes first */
      (void)tl_call_is_value(s, call, 0);
      return tl_sv_poison();
   }
   if ((tl_call_has(call, 1) && !tl_call_str(s, call, 1, &said)) ||
       (tl_call_has(call, 2) && !tl_call_is_value(s, call, 2)))
      return tl_sv_poison();
   if (!s->debug && !is_kept(s, call) && (tl_sv_is_runtime(c) || tl_sv_is_number(c)))
      return tl_sv_none();
   if (is_left_out(s, call, "assert"))
      return tl_sv_none();
   const TlSv *msg = &call->args[1];
   TlValue *v[2] = {tl_call_value(s, call, 0), NULL};
   if (!v[0])
      return tl_sv_poison();
   v[0] = tl_sema_cast(s, v[0], tl_scalar(s, TL_I1), call->range);
   if (v[0] && tl_call_has(call, 2)) {
      v[1] = tl_call_value(s, call, 2);
      if (!v[1] || !(v[1] = tl_sema_cast(s, v[1], tl_scalar(s, TL_I1), call->range)) ||
          !tl_sema_broadcast(s, &v[0], &v[1], call->range))
         return tl_sv_poison();
   }
   if (!v[0])
      return tl_sv_poison();
   const char *text = msg->kind == TL_SV_STR ? tl_text_cstr(s, msg->s) : "";
   const TlAttrInit attrs[] = {{TL_ATTR_TEXT, {.s = text}}, {TL_ATTR_COUNT, {.i = 0}}};
   tl_sema_build_op(s, TL_OP_DEVICE_ASSERT, v, v[1] ? 2 : 1, NULL, 0, attrs, 0, call->range);
   return tl_sv_none();
}

/* ---- printing ---- */
/* A value of the run as Triton prints it: its type, int32[constexpr[128]]. */
static void
print_type(const TlType *t, TlSb *out)
{
   const TlType *elem = tl_type_elem(t);
   if (elem->kind == TL_TYPE_PTR && elem->elem->kind == TL_TYPE_SCALAR)
      tl_sb_printf(out, "pointer<%s>[", tl_dtype_info[elem->elem->dtype].text);
   else
      tl_sb_printf(out, "%s[",
                   elem->kind == TL_TYPE_PTR ? "pointer" : tl_dtype_info[elem->dtype].triton_name);
   for (unsigned d = 0; d < t->rank; d++)
      tl_sb_printf(out, "%sconstexpr[%u]", d ? ", " : "", t->shape[d]);
   tl_sb_char(out, ']');
}

TlSv
tl_builtin_static_print(TlSema *s, const TlCall *call)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   for (unsigned i = 0; i < call->num_rest; i++) {
      if (i)
         tl_sb_char(&sb, ' ');
      const TlSv *v = &call->rest[i];
      if (v->kind == TL_SV_STR)
         tl_sb_mem(&sb, v->s.data, v->s.len);
      else if (v->kind == TL_SV_VALUE)
         print_type(v->value->type, &sb);
      else
         tl_sb_str(&sb, tl_sv_text(s, v));
   }
   tl_report(s->diags, W0252, call->range, tl_sb_cstr(&sb));
   return tl_sv_none();
}

/* As Triton prints it: before values it ends with ": "; when it says something it begins with a
 * space. */
static const char *
printed_prefix(TlSema *s, const char *text, unsigned num_values)
{
   size_t len = strlen(text);
   if (len && text[len - 1] == ' ')
      len--;
   if (len && text[len - 1] == ':')
      len--;
   if (num_values)
      text = tl_arena_printf(s->arena, "%.*s: ", (int)len, text);
   return strlen(text) > 2 && *text != ' ' ? tl_arena_printf(s->arena, " %s", text) : text;
}

const char *
tl_help_printed(TlSema *s, const TlAstFString *n)
{
   enum { MOST = 60 };
   TlSb text, values;
   tl_sb_init(&text, s->arena);
   tl_sb_init(&values, s->arena);
   for (size_t i = 0; i < n->parts.len; i++) {
      const TlNode *part = n->parts.data[i];
      const TlNode *value = part->kind == TL_AST_FORMAT ? tl_ast_Format(part)->value : part;
      const char *word = part->kind == TL_AST_STR ? tl_text_cstr(s, tl_ast_Str(part)->value)
                                                  : tl_node_text(s, value);
      if (strlen(word) > MOST || strpbrk(word, "\n\""))
         return "print(\"n\", n)";
      if (part->kind != TL_AST_STR) {
         tl_sb_printf(&values, ", %s", word);
         continue;
      }
      word += strspn(word, " ,;:=");
      size_t len = strlen(word);
      while (len && strchr(" ,;:=", word[len - 1]))
         len--;
      tl_sb_printf(&text, "%s%.*s", text.len && len ? ", " : "", (int)len, word);
   }
   const char *words = text.len ? tl_sb_cstr(&text) : tl_sb_cstr(&values) + 2;
   return tl_arena_printf(s->arena, "tl.device_print(\"%s\"%s)", words, tl_sb_cstr(&values));
}

/* device_print("pid", pid, "sum", s) */
static void
help_one_text(TlSema *s, const TlCall *call)
{
   TlSb text, values;
   tl_sb_init(&text, s->arena);
   tl_sb_init(&values, s->arena);
   if (call->args && call->num_args && call->args[0].kind == TL_SV_STR)
      tl_sb_printf(&text, "%.40s", tl_text_cstr(s, call->args[0].s));
   for (unsigned i = 0; i < call->num_rest; i++)
      if (call->rest[i].kind == TL_SV_STR)
         tl_sb_printf(&text, " %.40s", tl_text_cstr(s, call->rest[i].s));
      else
         tl_sb_printf(&values, ", %.60s", tl_range_text(s, call->rest_ranges[i]));
   const char *words = tl_sb_cstr(&text);
   tl_help(s->diags, "one text comes first, and the values behind it: %s%s(\"%s\"%s)",
           strcmp(call->row->name, "print") == 0 ? "" : "tl.", call->row->name,
           words + strspn(words, " "), tl_sb_cstr(&values));
}

static TlSv
print_values(TlSema *s, const TlCall *call, const char *prefix, const TlSv *items, unsigned num,
             bool hex)
{
   TlValue **v = tl_new_array(s->arena, TlValue *, num);
   if (is_left_out(s, call, "print"))
      return tl_sv_none();
   for (unsigned i = 0; i < num; i++) {
      TlRange range = items == call->rest ? call->rest_ranges[i] : call->range;
      v[i] = tl_sema_value(s, &items[i], range);
      if (!v[i] && items[i].kind == TL_SV_STR)
         help_one_text(s, call);
      if (!v[i])
         return tl_sv_poison();
   }
   int threads = s->print_threads ? depend_on_warps(s) * WARP_THREADS : 1;
   const TlAttrInit attrs[] = {{TL_ATTR_TEXT, {.s = printed_prefix(s, prefix, num)}},
                               {TL_ATTR_HEX, {.i = hex}},
                               {TL_ATTR_THREADS, {.i = threads}},
                               {TL_ATTR_COUNT, {.i = 0}}};
   tl_sema_build_op(s, TL_OP_DEVICE_PRINT, v, num, NULL, 0, attrs, 0, call->range);
   return tl_sv_none();
}

/* device_print("x = %d", x), device_print("x = {}", x) */
static void
report_format(TlSema *s, const TlCall *call, const char *prefix)
{
   const char *p = strchr(prefix, '%'), *open = strchr(prefix, '{');
   size_t len = p ? 1 + strspn(p + 1, "0123456789.-+# l") : 0;
   if (p && p[len] && strchr("diufgeExXsc", p[len]))
      tl_report(s->diags, W0256, tl_call_arg_range(call, 0), call->row->name,
                tl_arena_strndup(s->arena, p, len + 1));
   else if (open && strchr(open, '}'))
      tl_report(s->diags, W0256, tl_call_arg_range(call, 0), call->row->name,
                tl_arena_strndup(s->arena, open, (size_t)(strchr(open, '}') - open) + 1));
}

TlSv
tl_builtin_device_print(TlSema *s, const TlCall *call)
{
   TlText prefix;
   bool hex;
   if (!tl_call_str(s, call, 0, &prefix) || !tl_call_bool(s, call, 2, &hex))
      return tl_sv_poison();
   for (size_t i = 0; i < prefix.len; i++)
      if ((unsigned char)prefix.data[i] < 32 || (unsigned char)prefix.data[i] > 126)
         return tl_sv_refuse(
            s, E0302, tl_call_arg_range(call, 0), "prefix", "device_print", "printable ASCII",
            tl_arena_printf(s->arena, "the byte 0x%02x", (unsigned char)prefix.data[i]));
   report_format(s, call, tl_text_cstr(s, prefix));
   return print_values(s, call, tl_text_cstr(s, prefix), call->rest, call->num_rest, hex);
}

/* print(..) of a kernel: the leading strings are the prefix. */
TlSv
tl_builtin_print(TlSema *s, const TlCall *call)
{
   TlSb sb;
   unsigned first = 0;
   tl_sb_init(&sb, s->arena);
   for (; first < call->num_rest && call->rest[first].kind == TL_SV_STR; first++) {
      if (first)
         tl_sb_char(&sb, ' ');
      tl_sb_mem(&sb, call->rest[first].s.data, call->rest[first].s.len);
   }
   return print_values(s, call, tl_sb_cstr(&sb), call->rest + first, call->num_rest - first, false);
}

/* ---- inline assembly ---- */

/* Integers of constraint "n" are literals of the text: no instruction gets them in registers. */
static bool
put_literals(TlSema *s, const TlCall *call, TlText *text, TlText *constraints, TlValue **v,
             unsigned *num, const TlType *const *results, unsigned num_results, unsigned pack)
{
   TlAsmWord words[2 * TL_ASM_MAX_WORDS];
   unsigned num_words =
      tl_asm_split(s->arena, tl_text_cstr(s, *constraints), words, 2 * TL_ASM_MAX_WORDS);
   unsigned at = 0, kept = 0;
   for (unsigned i = 0; i < num_results; i++)
      at += tl_asm_words(results[i], pack);
   for (unsigned i = 0, first = at; i < *num; i++, first = at) {
      const TlType *elem = tl_type_elem(v[i]->type);
      at += tl_asm_words(elem, pack);
      if (first >= num_words || strcmp(words[first].constraint, "n") != 0) {
         v[kept++] = v[i];
         continue;
      }
      uint64_t bits;
      bool is_integer = elem->kind == TL_TYPE_SCALAR && tl_dtype_is_int(elem->dtype);
      if (at > num_words || !is_integer || tl_asm_elem_bits(elem) < 32 ||
          !tl_is_const(v[i], &bits)) {
         tl_report(s->diags, E0301, call->range, "args", call->row->name,
                   tl_type_cstr(s->arena, v[i]->type));
         tl_help(s->diags, "constraint 'n' is an integer literal of 32 bits or more; 'r' and 'f' "
                           "are registers");
         return false;
      }
      for (unsigned k = first; k < at; k++)
         words[k].literal = tl_arena_printf(s->arena, "%llu", (unsigned long long)bits);
   }
   if (kept == *num)
      return true;
   *num = kept;
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   for (unsigned i = 0; i < num_words; i++)
      if (!words[i].literal)
         tl_sb_printf(&sb, "%s%s", sb.len ? "," : "", words[i].constraint);
   const char *now = tl_sb_cstr(&sb);
   const char *body = tl_asm_with_literals(s->arena, tl_text_cstr(s, *text), words, num_words);
   *constraints = (TlText){now, strlen(now)};
   *text = (TlText){body, strlen(body)};
   return true;
}

TlSv
tl_builtin_inline_asm(TlSema *s, const TlCall *call)
{
   enum { ASM, CONSTRAINTS, ARGS, DTYPE, IS_PURE, PACK };
   TlText text, constraints;
   bool pure;
   int64_t pack;
   const TlSv *items, *types;
   unsigned num, num_types;
   if (!tl_call_str(s, call, ASM, &text) || !tl_call_str(s, call, CONSTRAINTS, &constraints) ||
       !tl_call_bool(s, call, IS_PURE, &pure) || !tl_call_int(s, call, PACK, &pack))
      return tl_sv_poison();
   if (pack < 1 || pack > TL_ASM_MAX_PACK || (pack & (pack - 1)))
      return tl_sv_refuse(s, E0345, tl_call_arg_range(call, PACK), "pack", call->row->name,
                          (long long)pack, "1, 2, 4, 8 or 16");
   tl_sv_items(&call->args[ARGS], &items, &num);
   tl_sv_items(&call->args[DTYPE], &types, &num_types);
   TlValue **v = tl_new_array(s->arena, TlValue *, num + 1);
   TlValue *shape = NULL; /* operand of the common shape */
   for (unsigned i = 0; i < num; i++)
      if (!(v[i] = tl_sema_value(s, &items[i], tl_call_arg_range(call, ARGS))))
         return tl_sv_poison();
   for (unsigned round = 0; round < 2; round++)
      for (unsigned i = 0; i < num; i++) {
         shape = i ? v[0] : v[i];
         if (i && !tl_sema_broadcast(s, &v[0], &v[i], tl_call_arg_range(call, ARGS)))
            return tl_sv_poison();
      }
   const TlType **results = tl_new_array(s->arena, const TlType *, num_types + 1);
   for (unsigned i = 0; i < num_types; i++) {
      if (types[i].kind != TL_SV_TYPE)
         return tl_sv_refuse(s, E0302, tl_call_arg_range(call, DTYPE), "dtype", call->row->name,
                             "a type such as tl.float32", tl_sv_text(s, &types[i]));
      results[i] = shape ? tl_type_with_elem(s->types, v[0]->type, types[i].type) : types[i].type;
   }
   if (!put_literals(s, call, &text, &constraints, v, &num, results, num_types, (unsigned)pack))
      return tl_sv_poison();
   const TlAttrInit attrs[] = {{TL_ATTR_TEXT, {.s = tl_text_cstr(s, text)}},
                               {TL_ATTR_CONSTRAINTS, {.s = tl_text_cstr(s, constraints)}},
                               {TL_ATTR_PURE, {.i = pure || tl_sema_in_combine(s)}},
                               {TL_ATTR_PACK, {.i = pack}},
                               {TL_ATTR_COUNT, {.i = 0}}};
   TlOp *op =
      tl_sema_build_op(s, TL_OP_INLINE_ASM, v, num, results, num_types, attrs, 0, call->range);
   if (!op)
      return tl_sv_poison();
   if (call->args[DTYPE].kind != TL_SV_TUPLE)
      return tl_sv_value(tl_result(op, 0));
   TlSv *out = tl_new_array(s->arena, TlSv, num_types + 1);
   for (unsigned i = 0; i < num_types; i++)
      out[i] = tl_sv_value(tl_result(op, i));
   return tl_sv_tuple(s, out, num_types);
}
