/* Parsing of inline PTX and its calling convention (PTX ISA 8.x; LLVM's operand constraints:
 * outputs first, "$n" is operand n, a digit ties an input to an output).  What instructions do is
 * in ptx_inst.c. */
#include "exec/ptx_impl.h"
#include "ir/inline_asm.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Name {
   const char *text;
   size_t len;
   uint32_t reg;
} Name;

typedef struct Parser {
   TlArena *arena;
   const char *p;
   TlPtx *out;
   TL_VEC(Name) names;
   TL_VEC(TlPtxInst) insts;
   uint32_t *operand; /* register of "$n" */
   unsigned num_operands;
   const char *error;
   const char *statement; /* begins here: errors quote it */
} Parser;

static bool
fail(Parser *s, const char *why)
{
   size_t len = strcspn(s->statement, ";\n");
   if (!s->error)
      s->error = tl_arena_printf(s->arena, "inline PTX '%.*s': %s", (int)(len < 60 ? len : 60),
                                 s->statement, why);
   return false;
}

static void
skip_space(Parser *s)
{
   for (;;) {
      s->p += strspn(s->p, " \t\r\n");
      if (s->p[0] == '/' && s->p[1] == '/') {
         s->p += strcspn(s->p, "\n");
      } else if (s->p[0] == '/' && s->p[1] == '*') {
         const char *end = strstr(s->p + 2, "*/");
         s->p = end ? end + 2 : s->p + strlen(s->p);
      } else {
         return;
      }
   }
}

static bool
accept(Parser *s, char c)
{
   skip_space(s);
   if (*s->p != c)
      return false;
   s->p++;
   return true;
}

static size_t
word_length(const char *p)
{
   size_t n = 0;
   while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '%')
      n++;
   return n;
}

static bool
new_reg(Parser *s, const char *text, size_t len)
{
   if (s->out->num_regs == TL_PTX_MAX_REGS)
      return fail(s, "too many registers");
   tl_vec_push(s->arena, &s->names, ((Name){text, len, s->out->num_regs}));
   s->out->num_regs++;
   return true;
}

/* ".reg .b32 a, b<4>" after the dot. */
static bool
parse_declaration(Parser *s)
{
   size_t len = word_length(s->p);
   if (len != 3 || !tl_starts_with(s->p, "reg"))
      return fail(s, "only .reg is declared on the CPU");
   s->p += len;
   if (!accept(s, '.'))
      return fail(s, "a type is expected after .reg");
   len = word_length(s->p);
   if (!tl_ptx_type(s->p, len))
      return fail(s, "this register type is not modelled on the CPU");
   s->p += len;
   do {
      skip_space(s);
      const char *name = s->p;
      len = word_length(name);
      if (len == 0)
         return fail(s, "a register name is expected");
      s->p += len;
      if (!accept(s, '<')) {
         if (!new_reg(s, name, len))
            return false;
         continue;
      }
      unsigned long count = strtoul(s->p, (char **)&s->p, 10);
      if (count > TL_PTX_MAX_REGS || !accept(s, '>'))
         return fail(s, "a register count is expected");
      for (unsigned long i = 0; i < count; i++) {
         const char *full = tl_arena_printf(s->arena, "%.*s%lu", (int)len, name, i);
         if (!new_reg(s, full, strlen(full)))
            return false;
      }
   } while (accept(s, ','));
   return true;
}

static bool
find_reg(Parser *s, const char *text, size_t len, uint32_t *reg)
{
   for (size_t i = s->names.len; i-- > 0;)
      if (s->names.data[i].len == len && memcmp(s->names.data[i].text, text, len) == 0) {
         *reg = s->names.data[i].reg;
         return true;
      }
   return fail(s, "a register is not declared here, or is a special register that the CPU lacks");
}

/* $n, ${n}, a name. */
static bool
parse_reg(Parser *s, uint32_t *reg)
{
   skip_space(s);
   if (*s->p == '$') {
      s->p++;
      bool braced = accept(s, '{');
      if (!isdigit((unsigned char)*s->p))
         return fail(s, "an operand number is expected after $");
      unsigned long n = strtoul(s->p, (char **)&s->p, 10);
      if (braced && !accept(s, '}'))
         return fail(s, "operand modifiers are not modelled on the CPU");
      if (n >= s->num_operands)
         return fail(s, "there is no such operand");
      *reg = s->operand[n];
      return true;
   }
   size_t len = word_length(s->p);
   const char *name = s->p;
   s->p += len;
   return len ? find_reg(s, name, len, reg) : fail(s, "an operand is expected");
}

/* 12, -0x3f, 0b101, 0f3F800000, 0d..., 1.5 */
static bool
parse_immediate(Parser *s, TlPtxOperand *o)
{
   const char *p = s->p;
   o->kind = TL_PTX_IMM;
   if (p[0] == '0' && strchr("fFdD", p[1]) && p[1]) {
      bool wide = tolower((unsigned char)p[1]) == 'd';
      o->imm = strtoull(p + 2, (char **)&s->p, 16);
      o->imm_kind = wide ? TL_PTX_IMM_F64 : TL_PTX_IMM_F32;
      return s->p == p + (wide ? 18 : 10) || fail(s, "a floating-point constant is malformed");
   }
   size_t digits = strspn(p, "-0123456789");
   bool hex = digits && p[digits] == 'x';
   if (!hex && (p[digits] == '.' || p[digits] == 'e')) {
      union {
         double d;
         uint64_t u;
      } v = {strtod(p, (char **)&s->p)};
      o->imm = v.u;
      o->imm_kind = TL_PTX_IMM_F64;
      return true;
   }
   bool negative = *p == '-', binary = tl_starts_with(p + negative, "0b");
   o->imm = strtoull(p + negative + 2 * binary, (char **)&s->p, binary ? 2 : 0);
   if (negative)
      o->imm = 0 - o->imm;
   s->p += *s->p == 'U';
   o->imm_kind = TL_PTX_IMM_INT;
   return true;
}

static bool
parse_operand(Parser *s, TlPtxOperand *o)
{
   *o = (TlPtxOperand){.kind = TL_PTX_REG};
   skip_space(s);
   if (accept(s, '{')) {
      o->kind = TL_PTX_VECTOR;
      do {
         if (o->num == TL_PTX_MAX_VECTOR)
            return fail(s, "a vector has too many elements");
         skip_space(s);
         if (*s->p == '_' && word_length(s->p) == 1) {
            s->p++;
            o->reg[o->num++] = TL_PTX_SINK;
         } else if (!parse_reg(s, &o->reg[o->num++])) {
            return false;
         }
      } while (accept(s, ','));
      return accept(s, '}') || fail(s, "'}' is expected");
   }
   if (isdigit((unsigned char)*s->p) || *s->p == '-')
      return parse_immediate(s, o);
   if (*s->p == '[')
      return fail(s, "memory is not accessed by inline PTX on the CPU");
   if (*s->p == '_' && word_length(s->p) == 1) {
      s->p++;
      o->reg[0] = TL_PTX_SINK;
      o->num = 1;
      return true;
   }
   o->is_not = accept(s, '!');
   o->num = 1;
   if (!parse_reg(s, &o->reg[0]))
      return false;
   if (accept(s, '|')) {
      o->num = 2;
      return parse_reg(s, &o->reg[1]);
   }
   return true;
}

static bool
parse_instruction(Parser *s)
{
   TlPtxInst inst = {.guard = TL_PTX_SINK};
   if (accept(s, '@')) {
      inst.guard_not = accept(s, '!');
      if (!parse_reg(s, &inst.guard))
         return false;
      skip_space(s);
   }
   size_t len = 0;
   while (word_length(s->p + len) || s->p[len] == '.')
      len += s->p[len] == '.' ? 1 : word_length(s->p + len);
   const char *name = s->p, *why = tl_ptx_decode(name, len, &inst);
   s->p += len;
   if (why)
      return fail(s, why);
   skip_space(s);
   while (*s->p != ';' && *s->p && *s->p != '}') {
      if (inst.num_operands == TL_PTX_MAX_OPERANDS)
         return fail(s, "too many operands");
      if (!parse_operand(s, &inst.operand[inst.num_operands++]))
         return false;
      if (!accept(s, ','))
         break;
   }
   if ((why = tl_ptx_check(&inst)))
      return fail(s, why);
   tl_vec_push(s->arena, &s->insts, inst);
   return true;
}

static bool
parse_block(Parser *s, bool is_nested, unsigned depth)
{
   size_t scope = s->names.len;
   if (depth > 16)
      return fail(s, "blocks are nested too deeply");
   for (;;) {
      skip_space(s);
      s->statement = s->p;
      if (*s->p == 0 || *s->p == '}') {
         if ((*s->p == '}') != is_nested)
            return fail(s, is_nested ? "'}' is missing" : "'}' has no '{'");
         s->p += is_nested;
         s->names.len = scope;
         return true;
      }
      if (accept(s, ';'))
         continue;
      if (accept(s, '{')) {
         if (!parse_block(s, true, depth + 1))
            return false;
         continue;
      }
      if (!(accept(s, '.') ? parse_declaration(s) : parse_instruction(s)))
         return false;
      skip_space(s);
      if (*s->p && *s->p != '}' && !accept(s, ';'))
         return fail(s, "';' is expected");
   }
}

/* ---- operands of the call ---- */
/* Sound ones, as ir/inline_asm.h has them. */
static void
number_operands(Parser *s, const char *text)
{
   TlPtx *out = s->out;
   for (const char *p = text; *p; p += strcspn(p, ",")) {
      p += strspn(p, " ,");
      if (!*p || *p == '~')
         continue;
      bool is_tied = isdigit((unsigned char)*p);
      assert(s->num_operands < TL_PTX_MAX_REGS &&
             (!is_tied || strtoul(p, NULL, 10) < out->num_out));
      s->operand[s->num_operands++] = is_tied ? s->operand[strtoul(p, NULL, 10)] : out->num_regs++;
      *(*p == '=' ? &out->num_out : &out->num_in) += 1;
   }
}

const TlPtx *
tl_ptx_new(TlArena *arena, const TlOp *op, const char **error)
{
   TlPtx *out = tl_new(arena, TlPtx);
   const char *constraints = tl_attr_str(op, TL_ATTR_CONSTRAINTS);
   Parser s = {.arena = arena, .out = out, .p = tl_attr_str(op, TL_ATTR_TEXT)};
   s.operand = tl_new_array(arena, uint32_t, TL_PTX_MAX_REGS);
   *out = (TlPtx){.op = op, .pack = (unsigned)tl_attr_int(op, TL_ATTR_PACK)};
   s.statement = constraints;
   if (op->num_args > TL_PTX_MAX_OPERANDS_OF_CALL ||
       op->num_results > TL_PTX_MAX_OPERANDS_OF_CALL) {
      *error = "inline PTX: the call has more than 64 arguments or results";
      return NULL;
   }
   number_operands(&s, constraints);
   if (!parse_block(&s, false, 0)) {
      *error = s.error;
      return NULL;
   }
   out->inst = s.insts.data;
   out->num_insts = (unsigned)s.insts.len;
   out->operand = s.operand;
   return out;
}

/* ---- running ---- */
static uint64_t
element(const void *data, size_t num, size_t i, unsigned bytes)
{
   uint64_t v = 0;
   memcpy(&v, (const uint8_t *)data + (num == 1 ? 0 : i) * bytes, bytes);
   return v;
}

/* Words of elements first .. first + pack - 1; past the last element it is repeated. */
static unsigned
pack_operand(const TlPtx *p, const TlType *type, const void *data, size_t num, size_t first,
             size_t n, uint64_t *words)
{
   unsigned bits = tl_asm_elem_bits(type), count = tl_asm_words(type, p->pack), per = 32 / bits;
   for (unsigned i = 0; i < count; i++)
      words[i] = 0;
   for (unsigned i = 0; i < p->pack; i++) {
      size_t at = first + i < n ? first + i : n - 1;
      uint64_t v = element(data, num, at, bits / 8);
      if (bits >= 32)
         words[i] = v;
      else
         words[i / per] |= v << bits * (i % per);
   }
   return count;
}

static unsigned
unpack_result(const TlPtx *p, const TlType *type, const uint64_t *words, size_t first, size_t n,
              void *data)
{
   unsigned bits = tl_asm_elem_bits(type), per = 32 / bits;
   bool is_bool = tl_type_elem(type)->kind == TL_TYPE_SCALAR && tl_type_elem(type)->dtype == TL_I1;
   for (unsigned i = 0; i < p->pack && first + i < n; i++) {
      uint64_t v = bits >= 32 ? words[i] : words[i / per] >> bits * (i % per);
      v = is_bool ? v & 1 : v;
      memcpy((uint8_t *)data + (first + i) * (bits / 8), &v, bits / 8);
   }
   return tl_asm_words(type, p->pack);
}

void
tl_ptx_apply(const TlPtx *p, const void *const *arg, const size_t *num, void *const *result,
             size_t n)
{
   uint64_t reg[TL_PTX_MAX_REGS], words[TL_PTX_MAX_REGS];
   for (size_t first = 0; first < n; first += p->pack) {
      memset(reg, 0, p->num_regs * sizeof reg[0]);
      unsigned at = 0;
      for (unsigned k = 0; k < p->op->num_args; k++)
         at += pack_operand(p, tl_arg(p->op, k)->type, arg[k], num[k], first, n, words + at);
      for (unsigned i = 0; i < p->num_in; i++)
         reg[p->operand[p->num_out + i]] = words[i];
      for (unsigned i = 0; i < p->num_insts; i++)
         tl_ptx_step(&p->inst[i], reg);
      for (unsigned i = 0; i < p->num_out; i++)
         words[i] = reg[p->operand[i]];
      at = 0;
      for (unsigned k = 0; k < p->op->num_results; k++)
         at += unpack_result(p, tl_result(p->op, k)->type, words + at, first, n, result[k]);
   }
}
