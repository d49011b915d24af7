/* The text form of IR.  One generic grammar serves every operation, in all three states:
 *    %a, %b = name %x, %y {key = value, ...} : type, type (%arg: type, ...) { ... } { ... }
 * but for constants, whose value stands in the place of operands, and loops, which name what they
 * carry beside what it begins with, of the types of the results:
 *    %c = constant 64 : i32
 *    %r = for %i = %lower to %upper step %step iter(%carried = %init) {key = value} : type { ... }
 *    %r = while iter(%carried = %init) : type { ... } do (%carried: type) { ... }
 * Invariant: reading the text gives a module that prints the same text.  Value names are therefore
 * made unique here (x, x_1, ...), attributes at their default are left out but for those that say
 * which operation it is, floats are written in the shortest decimal form that gives their bits
 * back, or else as the hexadecimal pattern. */
#include "ir/print.h"

#include "ir/walk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_RUN = 4 };

typedef struct Printer {
   TlArena *arena;
   TlStrings *strings;
   TlSources *sources; /* NULL: no locations */
   TlSb *out;
   TlMap layouts; /* const TlLinear * -> "#l0" */
   unsigned num_layouts;
   const char **names; /* by value id */
   uint32_t num_values;
   TlMap taken;          /* interned name -> next suffix to try, at least 1 */
   unsigned next_number; /* for values without a name */
   TlPrintIndex *index;  /* NULL: nobody asks for one */
} Printer;

static bool
is_name(const char *s)
{
   if (!s || !*s || (*s >= '0' && *s <= '9'))
      return false;
   for (; *s; s++)
      if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
            *s == '_'))
         return false;
   return true;
}

static void
print_string(const char *s, TlSb *out)
{
   tl_sb_char(out, '"');
   for (; *s; s++) {
      unsigned char ch = (unsigned char)*s;
      if (ch == '"' || ch == '\\')
         tl_sb_printf(out, "\\%c", ch);
      else if (ch == '\n')
         tl_sb_str(out, "\\n");
      else if (ch == '\t')
         tl_sb_str(out, "\\t");
      else if (ch < 32 || ch == 127)
         tl_sb_printf(out, "\\x%02x", ch);
      else
         tl_sb_char(out, *s);
   }
   tl_sb_char(out, '"');
}

/* ---- names ---- */
static const char *
unique_name(Printer *p, const char *wanted)
{
   if (!is_name(wanted))
      return tl_arena_printf(p->arena, "%u", p->next_number++);
   const char *base = tl_intern_cstr(p->strings, wanted);
   uintptr_t suffix = (uintptr_t)tl_map_get(&p->taken, base);
   const char *name = base;
   while (tl_map_has(&p->taken, name))
      name = tl_intern_cstr(p->strings, tl_arena_printf(p->arena, "%s_%zu", base, suffix++));
   tl_map_put(&p->taken, name, (void *)(uintptr_t)1);
   if (name != base)
      tl_map_put(&p->taken, base, (void *)suffix);
   return name;
}

static void
print_def(Printer *p, const TlValue *v)
{
   if (!v) {
      tl_sb_str(p->out, "%<none>");
      return;
   }
   p->names[v->id] = unique_name(p, v->name);
   tl_sb_printf(p->out, "%%%s", p->names[v->id]);
}

static void
print_use(Printer *p, const TlValue *v)
{
   if (!v)
      tl_sb_str(p->out, "%<null>");
   else if (v->id >= p->num_values || !p->names[v->id])
      tl_sb_printf(p->out, "%%<undefined %u>", v->id);
   else
      tl_sb_printf(p->out, "%%%s", p->names[v->id]);
}

static void
print_type(Printer *p, const TlType *t)
{
   tl_type_print_named(t, &p->layouts, p->out);
}

/* ---- attributes ---- */
static void
print_float(TlDtype dtype, uint64_t bits, TlSb *out)
{
   double v = tl_bits_to_double(dtype, bits);
   for (int digits = 1; digits <= 17 && isfinite(v); digits++) {
      char buf[40];
      snprintf(buf, sizeof buf, "%.*g", digits, v);
      if (tl_double_to_bits(dtype, strtod(buf, NULL), TL_ROUND_NEAREST_EVEN) != bits)
         continue;
      tl_sb_str(out, buf);
      if (!strpbrk(buf, ".e"))
         tl_sb_str(out, ".0");
      return;
   }
   tl_sb_printf(out, "0x%llx", (unsigned long long)bits);
}

static void
print_bits(const TlOp *op, uint64_t bits, TlSb *out)
{
   TlDtype dtype = op->num_results ? tl_type_elem(op->results[0].type)->dtype : TL_I64;
   if (tl_dtype_is_float(dtype))
      print_float(dtype, bits, out);
   else if (dtype == TL_I1)
      tl_sb_str(out, bits ? "true" : "false");
   else if (tl_dtype_is_signed(dtype))
      tl_sb_printf(out, "%lld", (long long)tl_bits_to_int(dtype, bits));
   else
      tl_sb_printf(out, "%llu", (unsigned long long)bits);
}

/* How many numbers from `first` on have the step of its first two; at least 1. */
static size_t
run_length(const TlInts *ints, size_t first)
{
   size_t n = 1;
   int64_t step = 0;
   for (; first + n < ints->len; n++) {
      int64_t a = ints->data[first + n - 1], b = ints->data[first + n];
      if (a != (int32_t)a || b != (int32_t)b) /* of such numbers steps cannot overflow */
         break;
      if (n > 1 && b - a != step)
         break;
      step = b - a;
   }
   return n;
}

/* Runs of at least 4 in short: 0..7, 0..62 by 2, 5 x 8. */
static void
print_runs(const TlInts *ints, TlSb *out)
{
   for (size_t i = 0, n; i < ints->len; i += n) {
      n = run_length(ints, i);
      n = n < MIN_RUN ? 1 : n;
      long long first = ints->data[i], step = n > 1 ? ints->data[i + 1] - first : 0;
      tl_sb_printf(out, "%s%lld", i ? ", " : "", first);
      if (n > 1 && step == 0)
         tl_sb_printf(out, " x %zu", n);
      else if (n > 1)
         tl_sb_printf(out, "..%lld", first + (long long)(n - 1) * step);
      if (n > 1 && step != 0 && step != 1)
         tl_sb_printf(out, " by %lld", step);
   }
}

/* "bits 1, 4, 2": element i is the sum of the numbers whose bit is set in i.  False: it is not. */
static bool
print_bit_sums(const TlInts *ints, TlSb *out)
{
   const int64_t *data = ints->data;
   if (ints->len < 2 * MIN_RUN || (ints->len & (ints->len - 1)) || data[0] != 0)
      return false;
   for (size_t i = 1, top = 1; i < ints->len; i++) {
      top = i >= 2 * top ? 2 * top : top;
      if (data[i] != (int32_t)data[i] || data[i] != data[top] + data[i - top])
         return false;
   }
   for (size_t top = 1; top < ints->len; top *= 2)
      tl_sb_printf(out, "%s%lld", top == 1 ? "bits " : ", ", (long long)data[top]);
   return true;
}

/* In the shorter way. */
static void
print_ints(const TlInts *ints, TlSb *out)
{
   TlSb runs, bits;
   tl_sb_init(&runs, out->arena);
   tl_sb_init(&bits, out->arena);
   print_runs(ints, &runs);
   bool is_shorter = print_bit_sums(ints, &bits) && bits.len < runs.len;
   tl_sb_printf(out, "[%s]", tl_sb_cstr(is_shorter ? &bits : &runs));
}

static void
print_record(const TlAttrField *fields, unsigned num, const TlInts *values, TlSb *out)
{
   const char *before = "{";
   for (unsigned i = 0; i < num; i++) {
      if (!fields[i].is_always_shown && values->data[i] == fields[i].initial)
         continue;
      tl_sb_printf(out, "%s%s = %lld", before, fields[i].text, (long long)values->data[i]);
      before = ", ";
   }
   tl_sb_char(out, '}');
}

static void
print_attr(TlAttrKind kind, TlAttr a, TlSb *out)
{
   const char *word;
   unsigned num_fields;
   const TlAttrField *fields = tl_attr_fields(kind, &num_fields);
   if (fields) {
      print_record(fields, num_fields, a.ints, out);
      return;
   }
   switch (kind) {
   case TL_AK_INT:
      tl_sb_printf(out, "%lld", (long long)a.i);
      break;
   case TL_AK_BOOL:
      tl_sb_str(out, a.i ? "true" : "false");
      break;
   case TL_AK_STR:
      print_string(a.s, out);
      break;
   case TL_AK_INTS:
      print_ints(a.ints, out);
      break;
   case TL_AK_DTYPE:
      tl_sb_str(out, tl_dtype_info[a.i].text);
      break;
   case TL_AK_LAYOUT:
      tl_ll_print(a.layout, out);
      break;
   default: /* an enumeration */
      word = tl_attr_word(kind, a.i);
      if (word)
         tl_sb_str(out, word);
      else
         tl_sb_printf(out, "%lld", (long long)a.i);
      break;
   }
}

static bool
is_shown(const TlOp *op, unsigned i)
{
   const TlAttrInfo *info = &tl_attr_info[tl_info(op)->attr[i].key];
   TlAttr initial = tl_attr_default(tl_info(op)->attr[i].key, tl_info(op)->attr[i].initial);
   return info->kind != TL_AK_BITS && /* stands with the operands */
          (info->is_always_shown || op->attrs[i].bits != initial.bits);
}

static void
print_attrs(Printer *p, const TlOp *op)
{
   const TlOpInfo *info = tl_info(op);
   const char *sep = " {";
   for (unsigned i = 0; i < info->num_attrs; i++) {
      const TlAttrInfo *key = &tl_attr_info[info->attr[i].key];
      if (!is_shown(op, i))
         continue;
      tl_sb_printf(p->out, "%s%s", sep, key->text);
      if (key->kind != TL_AK_BOOL || !op->attrs[i].i) {
         tl_sb_str(p->out, " = ");
         print_attr(key->kind, op->attrs[i], p->out);
      }
      sep = ", ";
   }
   if (sep[0] == ',')
      tl_sb_char(p->out, '}');
}

/* ---- operations ---- */
static void print_block(Printer *p, const TlBlock *block, unsigned depth);

static void
indent(Printer *p, unsigned depth)
{
   for (unsigned i = 0; i < depth; i++)
      tl_sb_str(p->out, "   ");
}

static void
print_loc(Printer *p, TlRange r)
{
   const TlSource *src = p->sources ? tl_source(p->sources, r.file) : NULL;
   if (!src)
      return;
   TlLineCol at = tl_source_line_col(p->sources, r.file, r.begin);
   tl_sb_str(p->out, " loc(");
   print_string(src->name, p->out);
   tl_sb_printf(p->out, ":%u:%u+%u)", at.line, at.column, r.end - r.begin);
}

static void
print_operands(Printer *p, const TlOp *op)
{
   for (unsigned i = 0; i < op->num_args; i++) {
      tl_sb_str(p->out, i ? ", " : " ");
      print_use(p, op->args[i].value);
   }
   if (op->opcode == TL_OP_CONSTANT) {
      tl_sb_char(p->out, ' ');
      print_bits(op, tl_attr_bits(op, TL_ATTR_VALUE), p->out);
   }
}

static void
print_operand(Printer *p, const char *before, const TlOp *op, unsigned i)
{
   tl_sb_str(p->out, before);
   print_use(p, i < op->num_args ? op->args[i].value : NULL);
}

/* Also of a loop that the verifier will find unsound. */
static void
print_loop_operands(Printer *p, const TlOp *op)
{
   const TlBlock *body = op->num_regions ? op->regions[0]->block : NULL;
   unsigned num_args = body ? body->num_args : 0, arg = 0, operand = 0;
   if (op->opcode == TL_OP_FOR) {
      tl_sb_char(p->out, ' ');
      print_def(p, num_args ? body->args[arg] : NULL);
      print_operand(p, " = ", op, 0);
      print_operand(p, " to ", op, 1);
      print_operand(p, " step ", op, 2);
      arg = 1;
      operand = 3;
   }
   const char *before = " iter(";
   for (; arg < num_args || operand < op->num_args; arg++, operand++, before = ", ") {
      tl_sb_str(p->out, before);
      print_def(p, arg < num_args ? body->args[arg] : NULL);
      print_operand(p, " = ", op, operand);
   }
   if (before[0] == ',')
      tl_sb_char(p->out, ')');
}

static void
print_region_args(Printer *p, const TlBlock *block)
{
   for (unsigned i = 0; i < block->num_args; i++) {
      tl_sb_str(p->out, i ? ", " : " (");
      print_def(p, block->args[i]);
      tl_sb_str(p->out, ": ");
      print_type(p, block->args[i]->type);
   }
   if (block->num_args)
      tl_sb_char(p->out, ')');
}

static void
print_region(Printer *p, const TlBlock *block, unsigned depth)
{
   tl_sb_str(p->out, " {\n");
   print_block(p, block, depth + 1);
   indent(p, depth);
   tl_sb_char(p->out, '}');
}

static void
print_op(Printer *p, const TlOp *op, unsigned depth)
{
   if (p->index)
      tl_vec_push(p->arena, &p->index->ops, (TlPrintedOp){op, p->out->len});
   indent(p, depth);
   for (unsigned i = 0; i < op->num_results; i++) {
      if (i)
         tl_sb_str(p->out, ", ");
      print_def(p, &op->results[i]);
   }
   tl_sb_printf(p->out, "%s%s", op->num_results ? " = " : "", tl_info(op)->text);
   bool is_loop = op->opcode == TL_OP_FOR || op->opcode == TL_OP_WHILE;
   if (is_loop)
      print_loop_operands(p, op);
   else
      print_operands(p, op);
   print_attrs(p, op);
   for (unsigned i = 0; i < op->num_results; i++) {
      tl_sb_str(p->out, i ? ", " : " : ");
      print_type(p, op->results[i].type);
   }
   for (unsigned r = 0; r < op->num_regions; r++) {
      if (r)
         tl_sb_str(p->out, op->opcode == TL_OP_WHILE ? " do" : " else");
      if (!is_loop || r > 0)
         print_region_args(p, op->regions[r]->block);
      print_region(p, op->regions[r]->block, depth);
   }
   print_loc(p, op->range);
   tl_sb_char(p->out, '\n');
}

static void
print_block(Printer *p, const TlBlock *block, unsigned depth)
{
   for (const TlOp *op = block->first; op; op = op->next)
      print_op(p, op, depth);
}

/* ---- layouts get their names before the first function ---- */
static void
name_layout(void *user, const TlValue *v)
{
   Printer *p = user;
   const TlType *t = v->type;
   if (!t->layout || tl_map_has(&p->layouts, t->layout))
      return;
   char *name = tl_arena_printf(p->arena, "#l%u", p->num_layouts++);
   tl_map_put(&p->layouts, t->layout, name);
   tl_sb_printf(p->out, "%s = ", name);
   tl_ll_print(t->layout, p->out);
   tl_sb_char(p->out, '\n');
}

/* ---- functions ---- */
static void
print_params(Printer *p, const TlFunc *f)
{
   unsigned arg = 0;
   for (unsigned i = 0; i < f->num_params; i++) {
      const TlParam *param = &f->params[i];
      if (i)
         tl_sb_str(p->out, ", ");
      if (!param->is_runtime) {
         tl_sb_str(p->out, param->name);
         if (param->type) { /* folded: still an argument of the launch */
            tl_sb_str(p->out, ": ");
            print_type(p, param->type);
         }
         if (param->constant) {
            tl_sb_str(p->out, " = ");
            print_string(param->constant, p->out);
         }
         continue;
      }
      if (arg < f->body->block->num_args) {
         TlValue *v = f->body->block->args[arg++];
         p->names[v->id] = unique_name(p, param->name);
      }
      tl_sb_printf(p->out, "%%%s: ", param->name);
      print_type(p, param->type);
      if (param->divisibility > 1)
         tl_sb_printf(p->out, " {div = %u}", param->divisibility);
   }
}

static void
print_func_attrs(const TlFunc *f, TlSb *out)
{
   static const char *const states[] = {"typed", "laid", "lowered"};
   tl_sb_printf(out, " {num_warps = %u, num_stages = %u, ", f->num_warps, f->num_stages);
   if (f->extra_warps)
      tl_sb_printf(out, "extra_warps = %u, ", f->extra_warps);
   if (f->blocks)
      tl_sb_printf(out, "blocks = %u, ", f->blocks);
   if (f->cluster)
      tl_sb_printf(out, "cluster = %u, ", f->cluster);
   if (f->num_ctas != 1)
      tl_sb_printf(out, "num_ctas = %u, ", f->num_ctas);
   tl_sb_printf(out, "state = %s", states[f->state]);
   if (f->grid) {
      tl_sb_str(out, ", grid = ");
      print_string(f->grid, out);
   }
   if (f->short_when) {
      tl_sb_str(out, ", short_when = ");
      print_string(f->short_when, out);
   }
   if (f->target) {
      tl_sb_str(out, ", target = ");
      print_string(f->target, out);
   }
   if (f->shared_bytes)
      tl_sb_printf(out, ", shared_bytes = %u", f->shared_bytes);
   if (f->needs_warps)
      tl_sb_str(out, ", needs_warps = true");
   if (f->strict_fp)
      tl_sb_str(out, ", strict_fp = true");
   tl_sb_str(out, "}");
}

static void
print_one(Printer *p, const TlFunc *f)
{
   p->num_values = f->next_value_id;
   p->names = tl_new_array(p->arena, const char *, f->next_value_id);
   p->next_number = 0;
   tl_map_init(&p->taken, p->arena);
   tl_sb_str(p->out, "func @");
   if (is_name(f->name))
      tl_sb_str(p->out, f->name);
   else
      print_string(f->name, p->out);
   tl_sb_char(p->out, '(');
   print_params(p, f);
   tl_sb_char(p->out, ')');
   print_func_attrs(f, p->out);
   tl_sb_str(p->out, " {\n");
   print_block(p, f->body->block, 1);
   tl_sb_str(p->out, "}");
   print_loc(p, f->range);
   tl_sb_char(p->out, '\n');
}

static Printer
new_printer(TlSources *sources, TlSb *out)
{
   Printer p = {.arena = out->arena, .sources = sources, .out = out};
   p.strings = tl_strings_new(out->arena);
   tl_map_init(&p.layouts, out->arena);
   return p;
}

void
tl_print_func(const TlFunc *f, TlSources *sources, TlSb *out)
{
   Printer p = new_printer(sources, out);
   tl_walk_values(f->body->block, name_layout, &p);
   print_one(&p, f);
}

void
tl_print_func_index(const TlFunc *f, TlSb *out, TlPrintIndex *index)
{
   *index = (TlPrintIndex){0};
   Printer p = new_printer(NULL, out);
   p.index = index;
   tl_walk_values(f->body->block, name_layout, &p);
   print_one(&p, f);
   index->names = p.names;
   index->layouts = p.layouts;
}

void
tl_print_module(const TlModule *m, TlSources *sources, TlSb *out)
{
   Printer p = new_printer(sources, out);
   for (const TlFunc *f = m->first_func; f; f = f->next)
      tl_walk_values(f->body->block, name_layout, &p);
   for (const TlFunc *f = m->first_func; f; f = f->next) {
      if (out->len)
         tl_sb_char(out, '\n');
      print_one(&p, f);
   }
}
