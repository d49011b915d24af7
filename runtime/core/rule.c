/* Expressions of the launch record: precedence climbing into postfix code for a stack machine.
 * Invariant: code never pops an empty stack nor exceeds TL_RULE_STACK, because every parse function
 * emits code that pushes exactly one value, and the parser tracks the depth.  Floats, strings and
 * power are left out: no record needs them. */
#include "core/rule.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
   TL_RULE_STACK = 64, /* values on the stack */
   TL_RULE_DEPTH = 64, /* nesting of the text */
   TL_RULE_CODE = 512, /* instructions */
};

enum { LEVEL_COMPARE = 1 };

typedef enum TlRuleOp {
   OP_CONST,
   OP_SLOT,
   OP_NEG,
   OP_INVERT,
   OP_NOT,
   OP_ADD,
   OP_SUB,
   OP_MUL,
   OP_DIV,
   OP_MOD,
   OP_SHL,
   OP_SHR,
   OP_AND,
   OP_OR,
   OP_XOR,
   OP_LT,
   OP_LE,
   OP_GT,
   OP_GE,
   OP_EQ,
   OP_NE,
   OP_CDIV,
   OP_MIN,
   OP_MAX,
   OP_POW2,
   OP_JUMP,       /* to imm */
   OP_JUMP_FALSE, /* pops; to imm when zero */
   OP_KEEP_FALSE, /* to imm when the top is zero, else pops it: `and` */
   OP_KEEP_TRUE,  /* `or` */
} TlRuleOp;

typedef struct TlRuleInst {
   TlRuleOp op;
   int64_t imm; /* constant, slot number or jump target */
} TlRuleInst;

struct TlRule {
   unsigned count;    /* instructions */
   TlRuleInst code[]; /* postfix */
};

typedef struct TlRuleParser {
   const char *at;     /* next character */
   TlRuleFindFn *find; /* names → slots */
   void *user;         /* of find */
   char *error;        /* where the first mistake is described */
   size_t error_bytes;
   bool failed;
   unsigned depth; /* of nesting now */
   unsigned stack; /* values on the machine's stack here */
   unsigned count;
   TlRuleInst code[TL_RULE_CODE];
} TlRuleParser;

/* Binary operators, loosest first; same level = left associative. */
static const struct {
   const char *text;
   int level;
   TlRuleOp op;
} binary_ops[] = {
   {"<=", 1, OP_LE},  {">=", 1, OP_GE},  {"==", 1, OP_EQ},  {"!=", 1, OP_NE},
   {"<<", 5, OP_SHL}, {">>", 5, OP_SHR}, {"<", 1, OP_LT},   {">", 1, OP_GT},
   {"|", 2, OP_OR},   {"^", 3, OP_XOR},  {"&", 4, OP_AND},  {"+", 6, OP_ADD},
   {"-", 6, OP_SUB},  {"*", 7, OP_MUL},  {"//", 7, OP_DIV}, {"%", 7, OP_MOD},
};

static const struct {
   const char *name;
   TlRuleOp op;
   int min_args, max_args; /* min, max fold over all of theirs */
} functions[] = {
   {"cdiv", OP_CDIV, 2, 2}, {"min", OP_MIN, 1, 16},
   {"max", OP_MAX, 1, 16},  {"next_power_of_2", OP_POW2, 1, 1},
   {"int", OP_CONST, 1, 1},
};

static void parse_choice(TlRuleParser *p);

static void
fail(TlRuleParser *p, const char *what)
{
   if (!p->failed && p->error_bytes)
      snprintf(p->error, p->error_bytes, "%s at '%.20s'", what, *p->at ? p->at : "end");
   p->failed = true;
}

static void
skip_space(TlRuleParser *p)
{
   while (isspace((unsigned char)*p->at))
      p->at++;
}

static bool
is_jump(TlRuleOp op)
{
   return op == OP_JUMP || op == OP_JUMP_FALSE || op == OP_KEEP_FALSE || op == OP_KEEP_TRUE;
}

static unsigned
emit(TlRuleParser *p, TlRuleOp op, int64_t imm)
{
   if (p->count == TL_RULE_CODE) {
      fail(p, "expression too long");
      return 0;
   }
   assert(p->count < TL_RULE_CODE);
   p->code[p->count] = (TlRuleInst){op, imm};
   return p->count++;
}

static void
emit_push(TlRuleParser *p, TlRuleOp op, int64_t imm)
{
   if (++p->stack > TL_RULE_STACK)
      fail(p, "expression too deep");
   emit(p, op, imm);
}

static void
emit_binary(TlRuleParser *p, TlRuleOp op)
{
   assert(p->failed || p->stack >= 2);
   p->stack--;
   emit(p, op, 0);
}

static bool
is_word(char c)
{
   return isalnum((unsigned char)c) || c == '_';
}

static bool
take(TlRuleParser *p, const char *text)
{
   size_t n = strlen(text);
   skip_space(p);
   if (strncmp(p->at, text, n) != 0 || (is_word(text[0]) && is_word(p->at[n])))
      return false;
   p->at += n;
   return true;
}

static void
parse_number(TlRuleParser *p)
{
   int64_t v = 0;
   while (isdigit((unsigned char)*p->at)) {
      if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p->at - '0', &v)) {
         fail(p, "number beyond 64 bits");
         return;
      }
      p->at++;
   }
   if (*p->at == '.' || is_word(*p->at))
      fail(p, "only whole decimal numbers are allowed");
   emit_push(p, OP_CONST, v);
}

static void
parse_call(TlRuleParser *p, const char *name, size_t len)
{
   size_t num = sizeof functions / sizeof functions[0], f = 0;
   while (f < num && (strlen(functions[f].name) != len || strncmp(functions[f].name, name, len)))
      f++;
   if (f == num) {
      fail(p, "unknown function before");
      return;
   }
   int args = 0;
   do {
      parse_choice(p);
      args++;
      if (args > 1 && !p->failed)
         emit_binary(p, functions[f].op);
   } while (!p->failed && take(p, ","));
   if (!take(p, ")"))
      fail(p, "')' expected");
   int most = functions[f].max_args;
   if (!p->failed && (args < functions[f].min_args || args > most)) {
      if (p->error_bytes)
         snprintf(p->error, p->error_bytes, "'%s' takes %s; it is given %d", functions[f].name,
                  most == 1   ? "one value"
                  : most == 2 ? "two values, as in cdiv(n, 64)"
                              : "1 to 16 values",
                  args);
      p->failed = true;
   }
   assert(p->failed || p->stack > 0);
   if (functions[f].op == OP_POW2)
      emit(p, OP_POW2, 0);
}

/* A name, a call, or a dotted path whose last part is meant (tl.cdiv, triton.cdiv). */
static void
parse_name(TlRuleParser *p)
{
   const char *name = p->at;
   while (is_word(*p->at) || (*p->at == '.' && is_word(p->at[1]))) {
      if (*p->at == '.')
         name = p->at + 1;
      p->at++;
   }
   size_t len = (size_t)(p->at - name);
   if (take(p, "(")) {
      parse_call(p, name, len);
      return;
   }
   static const char *const reserved[] = {"if", "else", "and", "or", "not"};
   bool is_reserved = false;
   for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
      is_reserved |= strlen(reserved[i]) == len && memcmp(reserved[i], name, len) == 0;
   int slot = p->find && !is_reserved ? p->find(p->user, name, len) : -1;
   if (slot < 0) {
      p->at = name;
      fail(p, "unknown name");
      return;
   }
   emit_push(p, OP_SLOT, slot);
}

static void
parse_unary(TlRuleParser *p)
{
   if (p->failed)
      return;
   if (++p->depth > TL_RULE_DEPTH) {
      fail(p, "expression nests too deeply");
      return;
   }
   if (take(p, "-")) {
      parse_unary(p);
      emit(p, OP_NEG, 0);
   } else if (take(p, "+")) {
      parse_unary(p);
   } else if (take(p, "~")) {
      parse_unary(p);
      emit(p, OP_INVERT, 0);
   } else if (take(p, "(")) {
      parse_choice(p);
      if (!take(p, ")"))
         fail(p, "')' expected");
   } else if (take(p, "True")) {
      emit_push(p, OP_CONST, 1);
   } else if (take(p, "False") || take(p, "None")) {
      emit_push(p, OP_CONST, 0);
   } else if (isdigit((unsigned char)*p->at)) {
      parse_number(p);
   } else if (is_word(*p->at)) {
      parse_name(p);
   } else {
      fail(p, "a value is expected");
   }
   assert(p->depth > 0 && (p->failed || p->stack > 0));
   p->depth--;
}

static bool
take_binary(TlRuleParser *p, int level, TlRuleOp *op, int *found)
{
   skip_space(p);
   for (size_t i = 0; i < sizeof binary_ops / sizeof binary_ops[0]; i++) {
      size_t n = strlen(binary_ops[i].text);
      if (strncmp(p->at, binary_ops[i].text, n) != 0)
         continue;
      if (binary_ops[i].level < level)
         return false;
      p->at += n;
      *op = binary_ops[i].op;
      *found = binary_ops[i].level;
      return true;
   }
   return false;
}

static void
parse_binary(TlRuleParser *p, int level)
{
   TlRuleOp op = OP_ADD;
   int found = 0;
   parse_unary(p);
   bool compared = false;
   while (!p->failed && take_binary(p, level, &op, &found)) {
      if (found == LEVEL_COMPARE && compared)
         fail(p, "comparisons do not chain"); /* Python's a < b < c means something else */
      compared |= found == LEVEL_COMPARE;
      parse_binary(p, found + 1);
      emit_binary(p, op);
   }
}

static void
parse_not(TlRuleParser *p)
{
   unsigned times = 0;
   while (take(p, "not"))
      times++;
   parse_binary(p, LEVEL_COMPARE);
   for (times = times > 2 ? 2 - times % 2 : times; times; times--)
      emit(p, OP_NOT, 0); /* twice makes a truth value too */
}

/* `a and b`: keep a when zero, else drop it and take b; the stack holds one value either way. */
static void
parse_and(TlRuleParser *p)
{
   parse_not(p);
   while (!p->failed && take(p, "and")) {
      unsigned jump = emit(p, OP_KEEP_FALSE, 0);
      p->stack--;
      parse_not(p);
      p->code[jump].imm = p->count;
   }
}

static void
parse_or(TlRuleParser *p)
{
   parse_and(p);
   while (!p->failed && take(p, "or")) {
      unsigned jump = emit(p, OP_KEEP_TRUE, 0);
      p->stack--;
      parse_and(p);
      p->code[jump].imm = p->count;
   }
}

/* `a if c else b` is written a first, so a's code is moved after c's test:
 *    c JUMP_FALSE(else) a JUMP(end) else: b end: */
static void
parse_choice(TlRuleParser *p)
{
   unsigned begin = p->count;
   if (++p->depth > TL_RULE_DEPTH)
      fail(p, "expression nests too deeply");
   parse_or(p);
   if (!p->failed && take(p, "if")) {
      unsigned len_a = p->count - begin, cond = p->count;
      p->stack--;
      parse_or(p);
      unsigned len_c = p->count - cond;
      emit(p, OP_JUMP_FALSE, 0);
      emit(p, OP_JUMP, 0);
      if (!p->failed) {
         TlRuleInst a[TL_RULE_CODE];
         assert(begin + len_a == cond && cond + len_c + 2 == p->count);
         memcpy(a, &p->code[begin], len_a * sizeof a[0]);
         memmove(&p->code[begin], &p->code[cond], len_c * sizeof a[0]);
         for (unsigned i = 0; i < len_c; i++)
            if (is_jump(p->code[begin + i].op))
               p->code[begin + i].imm -= len_a;
         unsigned test = begin + len_c;
         for (unsigned i = 0; i < len_a; i++) {
            if (is_jump(a[i].op))
               a[i].imm += len_c + 1;
            p->code[test + 1 + i] = a[i];
         }
         unsigned end = test + 1 + len_a;
         p->code[test] = (TlRuleInst){OP_JUMP_FALSE, end + 1};
         p->code[end] = (TlRuleInst){OP_JUMP, 0};
         p->stack--;
         if (!take(p, "else"))
            fail(p, "'else' expected");
         parse_choice(p);
         p->code[end].imm = p->count;
      }
   }
   assert(p->depth > 0);
   p->depth--;
}

/* The whole text; its code is then in p->code. */
static bool
parse_text(TlRuleParser *p, const char *text)
{
   p->at = text;
   parse_choice(p);
   skip_space(p);
   if (*p->at)
      fail(p, "unexpected text");
   assert(p->failed || (p->stack == 1 && p->depth == 0));
   return !p->failed;
}

TlRule *
tl_rule_parse(const char *text, TlRuleFindFn *find, void *user, char *error, size_t error_bytes)
{
   TlRuleParser p;
   memset(&p, 0, sizeof p);
   p.find = find;
   p.user = user;
   p.error = error;
   p.error_bytes = error_bytes;
   if (!parse_text(&p, text))
      return NULL;
   TlRule *rule = malloc(sizeof *rule + p.count * sizeof p.code[0]);
   if (!rule) {
      if (error_bytes)
         snprintf(error, error_bytes, "%s", TL_RULE_NO_MEMORY);
      return NULL;
   }
   rule->count = p.count;
   memcpy(rule->code, p.code, p.count * sizeof p.code[0]);
   return rule;
}

void
tl_rule_free(TlRule *rule)
{
   free(rule);
}

static const char *
divide(TlRuleOp op, int64_t a, int64_t b, int64_t *out)
{
   if (b == 0)
      return "division by zero";
   if (a == INT64_MIN && b == -1)
      return "overflow of 64 bits";
   int64_t q = a / b, r = a % b;
   bool inexact = r != 0;
   if (op == OP_CDIV)
      q += inexact && (r < 0) == (b < 0);
   else if (inexact && (r < 0) != (b < 0))
      q--, r += b;
   assert(op != OP_MOD || r == 0 || (r < 0) == (b < 0));
   *out = op == OP_MOD ? r : q;
   return NULL;
}

static bool
holds(TlRuleOp op, int64_t a, int64_t b)
{
   switch ((int)op) {
   case OP_LT:
      return a < b;
   case OP_LE:
      return a <= b;
   case OP_GT:
      return a > b;
   case OP_GE:
      return a >= b;
   case OP_EQ:
      return a == b;
   default:
      assert(op == OP_NE);
      return a != b;
   }
}

/* What cannot fail. */
static int64_t
combine(TlRuleOp op, int64_t a, int64_t b)
{
   switch ((int)op) {
   case OP_AND:
      return a & b;
   case OP_OR:
      return a | b;
   case OP_XOR:
      return a ^ b;
   case OP_MIN:
      return a < b ? a : b;
   case OP_MAX:
      return a > b ? a : b;
   default:
      return holds(op, a, b);
   }
}

static const char *
apply(TlRuleOp op, int64_t a, int64_t b, int64_t *out)
{
   bool over = false;
   switch ((int)op) {
   case OP_ADD:
      over = __builtin_add_overflow(a, b, out);
      break;
   case OP_SUB:
      over = __builtin_sub_overflow(a, b, out);
      break;
   case OP_MUL:
      over = __builtin_mul_overflow(a, b, out);
      break;
   case OP_DIV:
   case OP_MOD:
   case OP_CDIV:
      return divide(op, a, b, out);
   case OP_SHL:
      if (b < 0 || b > 62)
         return "shift count outside 0 to 62";
      over = __builtin_mul_overflow(a, (int64_t)1 << b, out);
      break;
   case OP_SHR:
      if (b < 0)
         return "negative shift count";
      *out = a >> (b > 63 ? 63 : b);
      break;
   default:
      *out = combine(op, a, b);
   }
   return over ? "overflow of 64 bits" : NULL;
}

static const char *
apply_unary(TlRuleOp op, int64_t *v)
{
   if (op == OP_NOT)
      *v = !*v;
   else if (op == OP_INVERT)
      *v = ~*v;
   else if (op == OP_NEG && __builtin_sub_overflow((int64_t)0, *v, v))
      return "overflow of 64 bits";
   else if (op == OP_POW2) {
      int64_t n = 1;
      while (n < *v && n < (int64_t)1 << 62)
         n <<= 1;
      if (n < *v)
         return "overflow of 64 bits";
      *v = n;
   }
   return NULL;
}

static bool
run(const TlRuleInst *code, unsigned count, const int64_t *slots, int64_t *out, const char **why)
{
   int64_t stack[TL_RULE_STACK];
   unsigned top = 0, pc = 0;
   *why = NULL;
   while (pc < count && !*why) {
      TlRuleInst in = code[pc++];
      assert(top < TL_RULE_STACK || (in.op != OP_CONST && in.op != OP_SLOT));
      assert(!is_jump(in.op) || (in.imm >= pc && in.imm <= count)); /* forward: it ends */
      switch (in.op) {
      case OP_CONST:
         stack[top++] = in.imm;
         break;
      case OP_SLOT:
         stack[top++] = slots[in.imm];
         break;
      case OP_NEG:
      case OP_INVERT:
      case OP_NOT:
      case OP_POW2:
         *why = apply_unary(in.op, &stack[top - 1]);
         break;
      case OP_JUMP:
         pc = (unsigned)in.imm;
         break;
      case OP_JUMP_FALSE:
         if (!stack[--top])
            pc = (unsigned)in.imm;
         break;
      case OP_KEEP_FALSE:
      case OP_KEEP_TRUE:
         if ((stack[top - 1] != 0) == (in.op == OP_KEEP_TRUE))
            pc = (unsigned)in.imm;
         else
            top--;
         break;
      default:
         assert(top >= 2);
         top--;
         *why = apply(in.op, stack[top - 1], stack[top], &stack[top - 1]);
      }
   }
   assert(*why || top == 1);
   *out = top ? stack[0] : 0;
   return !*why;
}

bool
tl_rule_eval(const TlRule *rule, const int64_t *slots, int64_t *out, const char **why)
{
   return run(rule->code, rule->count, slots, out, why);
}

bool
tl_rule_int_of(const char *text, int64_t *out)
{
   const char *why;
   TlRuleParser p;
   memset(&p, 0, sizeof p);
   return parse_text(&p, text) && run(p.code, p.count, NULL, out, &why);
}
