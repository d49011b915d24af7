/* Texts of syntax errors: what was found, what was expected, and a help line for the slips people
 * make.  Looks at the tokens around the error; keeps no state. */
#include "syntax/build.h"
#include "parser.h"

#include <stdio.h>
#include <string.h>

/* Words of other languages at the start of a statement. */
static const struct {
   const char *word, *help;
} foreign_word[] = {
   {"elseif", "write 'elif'"},
   {"elsif", "write 'elif'"},
   {"func", "functions are defined with 'def'"},
   {"function", "functions are defined with 'def'"},
   {"fn", "functions are defined with 'def'"},
   {"void", "functions are defined with 'def'"},
   {"__global__", "kernels are defined with '@kernel' and 'def'"},
   {"switch", "write 'match' with a 'case' for each constant, or 'if' and 'elif'"},
   {"match", "write 'match value:' and below it, further in, 'case pattern:'"},
   {"case", "a 'case' stands in the block of a 'match value:'"},
   {"foreach", "write 'for x in ...:'"},
   {"do", "write 'while test:'"},
   {"until", "write 'while not test:'"},
   {"print", "write print(...)"},
   {"exec", "'exec' is not part of the language"},
   {"using", "write 'import'"},
   {"type", "type aliases are not supported"},
   {"goto", "there is no 'goto': loops are 'for' and 'while', and 'if' skips what follows it"},
   {"struct", "there are no structures: give the parts names of their own, or write a tuple"},
   {"extern", "kernels need no linkage; write '@kernel' and 'def' alone"},
   {"static",
    "names need no storage class, and none outlives a run of the kernel: leave it out; what "
    "is to last is kept behind a pointer"},
   {"inline", "functions are inlined as they are: leave it out"},
   {"__device__", "functions are defined with 'def', and kernels call them"},
   {"template", "a size or type is a parameter annotated constexpr"},
   {"namespace", "each file is a module: take it out"},
   {"include", "write 'import'"},
   {"pub", "every function of a file can be imported: leave it out"},
   {"export", "every function of a file can be imported: leave it out"},
   {"end", "a block ends with its indentation: leave it out"},
   {"then", "a block follows ':'"},
   {"unless", "write 'if not'"},
   {"repeat", "write 'while' or 'for'"},
   {"throw", "nothing is raised on a GPU: write device_assert(condition, \"text\")"},
   {"loop", "write 'while condition:', or 'for i in range(start, end):'"},
   {"forever", "write 'while condition:', or 'for i in range(start, end):'"},
   {"begin", "a block is made by ':' and indentation"},
   {"mut", "every name can be assigned again: leave the word out"},
   {"unsafe", "there are no unsafe blocks: leave the word out"},
   {"impl", "functions are defined with 'def', outside of types"},
   {"use", "write 'import'"},
   {"enum", "write constants: NAME: constexpr = 0"},
   {"union", "the bits as another type are x.to(dtype, bitcast=True)"},
   {"volatile", "a load takes volatile=True: leave the word out"},
   {"register", "the compiler decides where values are kept: leave the word out"},
   {"restrict", "leave the word out"},
   {"__shared__", "the compiler decides where values are kept: a tile is made by a function, as in "
                  "buffer = zeros((64,), fp32)"},
   {"__constant__", "a constant is assigned at the top of the file: leave the word out"},
   {"kernel", "write '@kernel' in the line above 'def'"},
   {"call", "a function is called with parentheses"},
   {"typedef", "there are no type aliases: types are written out, as in 'x: fp32'"},
};

const char *
tl_other_type(const char *name, size_t len)
{
   static const struct {
      const char *name, *dtype;
   } rows[] = {
#define TL_OTHER_TYPE(name, dtype) {name, dtype},
#include "syntax/other_types.def"
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
         return rows[i].dtype;
   return NULL;
}

typedef struct Place {
   const TlParser *ps;
   const TlToken *t;     /* the tokens of the file */
   size_t at;            /* the offending one */
   size_t first;         /* the first of its logical line */
   size_t open;          /* innermost bracket around it, or SIZE_MAX */
   const bool *expected; /* by token kind */
} Place;

static int
kind_at(const Place *p, size_t back)
{
   return p->at >= p->first + back ? p->t[p->at - back].kind : TL_TOK_NEWLINE;
}

/* Token `back` places before the error touches the one after it. */
static bool
touches(const Place *p, size_t back)
{
   return p->at >= p->first + back && p->t[p->at - back].end == p->t[p->at - back + 1].begin;
}

static bool
is_text(const Place *p, size_t i, const char *text)
{
   size_t len = p->t[i].end - p->t[i].begin;
   return strlen(text) == len && memcmp(p->ps->text + p->t[i].begin, text, len) == 0;
}

static bool
is_keyword(int kind)
{
   return kind >= TL_TOK_FALSE && kind <= TL_TOK_YIELD;
}

static bool
starts_operand(int kind)
{
   return (kind >= TL_TOK_NAME && kind <= TL_TOK_FSTRING) || kind == TL_TOK_TRUE ||
          kind == TL_TOK_FALSE || kind == TL_TOK_NONE || kind == TL_TOK_LAMBDA;
}

static bool
ends_operand(int kind)
{
   return (kind >= TL_TOK_NAME && kind <= TL_TOK_FSTRING) || kind == TL_TOK_TRUE ||
          kind == TL_TOK_FALSE || kind == TL_TOK_NONE || kind == TL_TOK_RPAREN ||
          kind == TL_TOK_RBRACKET || kind == TL_TOK_RBRACE;
}

static size_t
innermost_open(const Place *p)
{
   for (size_t i = p->at; i-- > p->first;) {
      int k = p->t[i].kind;
      if (k == TL_TOK_RPAREN || k == TL_TOK_RBRACKET || k == TL_TOK_RBRACE)
         i = p->t[i].match;
      else if (k == TL_TOK_LPAREN || k == TL_TOK_LBRACKET || k == TL_TOK_LBRACE)
         return i;
   }
   return SIZE_MAX;
}

static Place
place_of(const TlParser *ps, const bool *expected)
{
   Place p = {.ps = ps, .t = ps->tokens, .at = ps->pos ? ps->pos - 1 : 0, .open = SIZE_MAX};
   p.expected = expected;
   p.first = p.at;
   while (p.first > 0 && !p.t[p.first].is_line_start)
      p.first--;
   p.open = innermost_open(&p);
   return p;
}

/* The second half of what is one operator elsewhere: of && || and of the comment sign. */
static bool
is_doubled(const Place *p)
{
   int found = kind_at(p, 0), before = kind_at(p, 1);
   return touches(p, 1) && ((found == TL_TOK_AMP && before == TL_TOK_AMP) ||
                            (found == TL_TOK_PIPE && before == TL_TOK_PIPE));
}

/* C's comment sign, at its first half. */
static bool
opens_comment(const Place *p)
{
   return kind_at(p, 0) == TL_TOK_SLASH && p->t[p->at + 1].kind == TL_TOK_STAR &&
          p->t[p->at].end == p->t[p->at + 1].begin;
}

static const char *
found_text(const Place *p, char *buf, size_t size)
{
   const TlToken *t = &p->t[p->at];
   int len = t->end - t->begin > 40 ? 40 : (int)(t->end - t->begin);
   const char *text = p->ps->text + t->begin;
   switch (t->kind) {
   case TL_TOK_END:
      return "the end";
   case TL_TOK_NEWLINE:
      return "the end of the line";
   case TL_TOK_INDENT:
   case TL_TOK_BODY:
      return "an indented block";
   case TL_TOK_DEDENT:
      return "the end of the block";
   case TL_TOK_STRING:
      return "a string";
   case TL_TOK_FSTRING:
      return "an f-string";
   case TL_TOK_NAME:
      snprintf(buf, size, "name '%.*s'", len, text);
      return buf;
   case TL_TOK_INT:
   case TL_TOK_FLOAT:
      snprintf(buf, size, "number '%.*s'", len, text);
      return buf;
   default:
      if (is_doubled(p))
         text--, len++;
      if (opens_comment(p))
         len++;
      snprintf(buf, size, is_keyword(t->kind) ? "keyword '%.*s'" : "'%.*s'", len, text);
      return buf;
   }
}

/* "a, b or c" of what could follow, at most four. */
static void
expected_text(const Place *p, char *buf, size_t size)
{
   static const struct {
      int kind;
      const char *text;
   } words[] = {
      {TL_TOK_COLON, "':'"},
      {TL_TOK_RPAREN, "')'"},
      {TL_TOK_RBRACKET, "']'"},
      {TL_TOK_RBRACE, "'}'"},
      {TL_TOK_COMMA, "','"},
      {TL_TOK_LPAREN, "'('"},
      {TL_TOK_ASSIGN, "'='"},
      {TL_TOK_ELSE, "'else'"},
      {TL_TOK_IN, "'in'"},
      {TL_TOK_IMPORT, "'import'"},
      {TL_TOK_DEF, "'def'"},
      {TL_TOK_NEWLINE, "the end of the line"},
      {TL_TOK_INDENT, "an indented block"},
      {TL_TOK_END, "the end"},
   };
   const bool *e = p->expected;
   const char *parts[4];
   size_t n = 0;
   bool is_operand = e[TL_TOK_INT];
   if (is_operand)
      parts[n++] = "an expression";
   else if (e[TL_TOK_NAME])
      parts[n++] = "a name";
   else if (e[TL_TOK_PLUS])
      parts[n++] = "an operator";
   for (size_t i = 0; i < sizeof words / sizeof words[0] && n < 4; i++) {
      int k = words[i].kind;
      bool is_noise =
         (is_operand && (k == TL_TOK_LPAREN || k == TL_TOK_DEF)) ||
         (e[TL_TOK_PLUS] && (k == TL_TOK_IN || k == TL_TOK_LPAREN || k == TL_TOK_ELSE));
      if (e[k] && !is_noise)
         parts[n++] = words[i].text;
   }
   if (!n)
      parts[n++] = "something else";
   buf[0] = '\0';
   for (size_t i = 0; i < n; i++) {
      size_t used = strlen(buf);
      snprintf(buf + used, size - used, "%s%s", !i ? "" : i + 1 == n ? " or " : ", ", parts[i]);
   }
}

const char tl_launch_help[] =
   "a kernel is launched by kernel[(programs,)](arguments); threads are the "
   "compiler's matter";

/* i =< n: the sign of equality comes last.  The error is at either half. */
static const char *
turned_comparison(const Place *p)
{
   for (size_t at = p->at > p->first ? p->at - 1 : p->at; at <= p->at; at++) {
      const TlToken *t = &p->t[at];
      if (t->kind != TL_TOK_ASSIGN || t[1].begin != t->end)
         continue;
      if (t[1].kind == TL_TOK_LT)
         return "write '<='";
      if (t[1].kind == TL_TOK_GT)
         return "write '>=' to compare; a function without a name is lambda a: a * 2";
   }
   return NULL;
}

/* Two operator characters of other languages: `a && b`, `i++`, `a <> b`. */
static const char *
operator_slip(const Place *p)
{
   int found = kind_at(p, 0), before = kind_at(p, 1);
   if (found == TL_TOK_LT && before == TL_TOK_SHL && touches(p, 1))
      return tl_launch_help;
   if (found == TL_TOK_ARROW && p->t[p->first].kind == TL_TOK_DEF)
      return "the type of the result stands behind the parameters: def name(x) -> type:";
   if (found == TL_TOK_COLON &&
       ((p->t[p->at + 1].kind == TL_TOK_COLON && p->t[p->at].end == p->t[p->at + 1].begin) ||
        (before == TL_TOK_COLON && touches(p, 1))))
      return "there is no '::': a name of a module follows a '.', as in tl.maximum";
   if ((found == TL_TOK_STAR || found == TL_TOK_POW) && before == TL_TOK_ASSIGN &&
       p->open != SIZE_MAX && p->t[p->open].kind == TL_TOK_LPAREN)
      return "an argument given by its name is one value; conditions are joined by '&'";
   if (found == TL_TOK_COLON && before == TL_TOK_NAME && p->expected[TL_TOK_ASSIGN] &&
       p->open != SIZE_MAX && p->t[p->open].kind == TL_TOK_LPAREN &&
       p->t[p->first].kind != TL_TOK_DEF)
      return "an argument is given by its name with '=': load(pointer, mask=inside)";
   if (found == TL_TOK_COLON && p->open != SIZE_MAX && p->t[p->open].kind == TL_TOK_LPAREN &&
       p->t[p->first].kind != TL_TOK_DEF && p->expected[TL_TOK_COMMA])
      return "arguments are separated by ',', as in range(0, n)";
   if (found == TL_TOK_DOT && p->t[p->first].kind == TL_TOK_FOR)
      return "write 'for i in range(start, end):'";
   if (found == TL_TOK_IF && p->expected[TL_TOK_INT] && p->at > p->first)
      return "a conditional expression has its condition in the middle: a if condition else b";
   if (found == TL_TOK_LBRACE && before == TL_TOK_RPAREN && !p->expected[TL_TOK_COLON])
      return "a block is made by ':' and indentation; a function without a name is lambda a: a * 2";
   if (found == TL_TOK_PIPE && p->expected[TL_TOK_INT])
      return "a function without a name is written lambda a: a * 2";
   if (before == TL_TOK_DOT && ends_operand(kind_at(p, 2)) &&
       (found == TL_TOK_CARET || found == TL_TOK_STAR || found == TL_TOK_SLASH ||
        found == TL_TOK_POW))
      return found == TL_TOK_CARET || found == TL_TOK_POW
                ? "operators work by element without a dot: a square is x * x, other powers are "
                  "libdevice.pow(x, y)"
                : "operators work by element without a dot: x * y, x / y";
   if (found == TL_TOK_AS && ends_operand(before) && p->t[p->first].kind != TL_TOK_WITH)
      return "to convert write .to(dtype) behind the value: x.to(fp16)";
   if (found == TL_TOK_AMP && p->open != SIZE_MAX && p->open > p->first &&
       p->t[p->open - 1].kind == TL_TOK_NAME &&
       strncmp(p->ps->text + p->t[p->open - 1].begin, "cuda", 4) == 0)
      return "CUDA's functions for memory, such as cudaMalloc and cudaMemcpy, are the host's: a "
             "kernel gets pointers as parameters";
   if (found == TL_TOK_AMP && before == TL_TOK_COLON && p->open != SIZE_MAX)
      return "there are no references: an array is a pointer to its elements, as in x: *fp32";
   if (found == TL_TOK_AMP && p->expected[TL_TOK_INT])
      return "there is no '&' for addresses: of a pointer x element i lies at x + i";
   if (found == TL_TOK_ARROW && before == TL_TOK_RPAREN)
      return "a function without a name is written lambda a: a * 2";
   if (found == TL_TOK_ARROW)
      return "attributes follow a '.', as in x.shape; pointers are read by tl.load(pointer)";
   if (found == TL_TOK_GT && before == TL_TOK_LT && touches(p, 1))
      return "write '!='";
   const char *comparison = turned_comparison(p);
   if (comparison)
      return comparison;
   if (found == TL_TOK_NAME && before == TL_TOK_NAME && is_text(p, p->at - 1, "new"))
      return "there is no 'new': tiles are made by functions, zeros(shape, dtype), and never freed";
   if (found == TL_TOK_NAME && before == TL_TOK_NAME && kind_at(p, 2) == TL_TOK_FLOORDIV)
      return "'//' divides; comments start with '#'";
   if ((found == TL_TOK_STAR || found == TL_TOK_POW) && before == TL_TOK_SLASH)
      return "comments start with '#'";
   if ((found == TL_TOK_FLOORDIV || found == TL_TOK_SLASH) && p->at == p->first)
      return "comments start with '#'";
   if (!starts_operand(found) && touches(p, 2) && before == kind_at(p, 2)) {
      if (before == TL_TOK_PLUS)
         return "there is no '++'; write '+= 1'";
      if (before == TL_TOK_MINUS)
         return "there is no '--'; write '-= 1'";
   }
   return NULL;
}

static bool
is_condition_word(int kind)
{
   return kind == TL_TOK_IF || kind == TL_TOK_ELIF || kind == TL_TOK_WHILE ||
          kind == TL_TOK_ASSERT || kind == TL_TOK_RETURN;
}

/* In a decorator, or where its function is to follow. */
static const char *
decorator_slip(const Place *p)
{
   int found = kind_at(p, 0), first = p->t[p->first].kind;
   if (p->at == p->first && (found == TL_TOK_FOR || found == TL_TOK_WHILE) &&
       p->expected[TL_TOK_DEF] && !p->expected[TL_TOK_INT])
      return "decorators stand above functions; loops are unrolled by tl.static_range(..), or by "
             "tl.range(.., loop_unroll_factor=4)";
   if (first == TL_TOK_AT && (found == TL_TOK_DEF || found == TL_TOK_CLASS))
      return "a decorator has a line of its own, above 'def'";
   if (first == TL_TOK_AT && found == TL_TOK_ASSIGN && p->open != SIZE_MAX &&
       p->t[p->open].kind == TL_TOK_LBRACKET)
      return "a decorator's options stand in parentheses: @kernel(num_warps=4)";
   bool is_def = p->at == p->first && found == TL_TOK_NAME && p->expected[TL_TOK_DEF] &&
                 !p->expected[TL_TOK_INT];
   if (is_def && is_text(p, p->at, "__launch_bounds__"))
      return "a block's threads are num_warps of 32 each: @kernel(num_warps=8)";
   if (is_def)
      return "below a decorator stands its function, which begins with 'def': def name(x):";
   return NULL;
}

/* a = v if n > 3 */
static bool
ends_conditional(const Place *p)
{
   int found = kind_at(p, 0);
   bool is_end = found == TL_TOK_NEWLINE || found == TL_TOK_RPAREN || found == TL_TOK_COMMA ||
                 found == TL_TOK_RBRACKET || found == TL_TOK_COLON;
   for (size_t i = p->at; is_end && p->expected[TL_TOK_ELSE] && i-- > p->first + 1;)
      if (p->t[i].kind == TL_TOK_IF)
         return true;
   return false;
}

static const char *
statement_slip(const Place *p)
{
   int found = kind_at(p, 0), before = kind_at(p, 1), first = p->t[p->first].kind;
   if (before == TL_TOK_ELSE && p->at == p->first + 1)
      return found == TL_TOK_IF ? "write 'elif'"
                                : "'else' takes no condition: write 'elif' for another one";
   if (found == TL_TOK_ASSIGN && first == TL_TOK_FOR)
      return "write 'for i in range(start, end):'";
   if (found == TL_TOK_NAME && p->expected[TL_TOK_COLON] && is_condition_word(first) &&
       first != TL_TOK_ASSERT && first != TL_TOK_RETURN)
      return "the condition ends with ':', and its block stands below it, further in";
   if (found == TL_TOK_ASSIGN && p->at == p->first + 1 && before != TL_TOK_NAME &&
       !is_condition_word(first))
      return "a keyword of the language is no name: choose another name";
   if (found == TL_TOK_ASSIGN && (is_condition_word(first) || before != TL_TOK_NAME))
      return "'==' compares, '=' assigns";
   if (found == TL_TOK_NAME && p->t[p->at + 1].kind == TL_TOK_ASSIGN && ends_operand(before) &&
       p->open == SIZE_MAX && p->expected[TL_TOK_NEWLINE] && p->at > p->first + 2)
      return "two statements stand in two lines, or have a ';' between them";
   if (found == TL_TOK_WALRUS)
      return p->open == SIZE_MAX ? "':=' needs parentheses; to assign in a statement write '='"
                                 : "put parentheses around the ':=' expression";
   if (found == TL_TOK_LBRACE && p->expected[TL_TOK_COLON] &&
       (p->at != p->first + 1 || before != TL_TOK_NAME))
      return "a block is made by ':' and indentation";
   if (p->at == p->first && (found == TL_TOK_ELSE || found == TL_TOK_ELIF ||
                             found == TL_TOK_EXCEPT || found == TL_TOK_FINALLY))
      return "it must be indented like the statement that it continues";
   if (first == TL_TOK_FOR && p->first + 1 <= p->at && p->t[p->first + 1].kind == TL_TOK_LPAREN)
      return "write 'for i in range(start, end):'";
   if (found == TL_TOK_SEMICOLON && p->open != SIZE_MAX)
      return "separate with ','";

   if (ends_conditional(p))
      return "a conditional expression has both sides: a if condition else b";
   if (p->t[p->first].kind == TL_TOK_DEF &&
       (is_text(p, p->at, "__restrict__") || is_text(p, p->at, "__restrict") ||
        is_text(p, p->at, "restrict")))
      return "leave the word out: a pointer's type is '*' and the type of its elements";
   if (p->t[p->first].kind == TL_TOK_DEF &&
       (is_text(p, p->at, "const") || is_text(p, p->at, "volatile")))
      return "a pointer that is only read from is declared x: *const fp32; leave other words out";
   const char *decorator = decorator_slip(p);
   bool is_inner = found == TL_TOK_ASSIGN && p->open != SIZE_MAX && first != TL_TOK_DEF;
   return !decorator && is_inner
             ? "'==' compares; '=' assigns, in a statement of its own, or names an argument"
             : decorator;
}

/* What is wrong in the block below comes of the header that was reported. */
static void
skip_block(TlParser *ps, const Place *p)
{
   size_t end = p->at;
   while (p->t[end].kind != TL_TOK_NEWLINE && p->t[end].kind != TL_TOK_END)
      end++;
   if (p->t[end].kind == TL_TOK_NEWLINE && p->t[end + 1].kind == TL_TOK_INDENT)
      ps->quiet_until = p->t[end + 1].match;
}

/* switch (n): its block is of that language as well, and not looked at. */
static bool
help_foreign_word(TlParser *ps, const Place *p)
{
   bool is_own = tl_is_match(ps, p->first) || ps->is_match_block[ps->block_depth];
   if (p->at == p->first || p->t[p->first].kind != TL_TOK_NAME || is_own)
      return false;
   size_t word = p->first; /* of `extern __shared__ float x[]` the second says more */
   if ((is_text(p, word, "extern") || is_text(p, word, "static")) &&
       p->t[word + 1].kind == TL_TOK_NAME &&
       strncmp(p->ps->text + p->t[word + 1].begin, "__", 2) == 0)
      word++;
   for (size_t i = 0; i < sizeof foreign_word / sizeof foreign_word[0]; i++) {
      if (!is_text(p, word, foreign_word[i].word))
         continue;
      tl_help(ps->diags, "'%s' begins no statement like this one: %s", foreign_word[i].word,
              foreign_word[i].help);
      skip_block(ps, p);
      return true;
   }
   return false;
}

static int
text_len(const TlToken *t)
{
   return t->end - t->begin > 40 ? 40 : (int)(t->end - t->begin);
}

/* The dtype for the name of a type of C, else that name itself. */
static const char *
dtype_of(const Place *p, size_t i, char *buf, size_t size)
{
   const char *dtype = tl_other_type(p->ps->text + p->t[i].begin, p->t[i].end - p->t[i].begin);
   if (dtype)
      return dtype;
   snprintf(buf, size, "%.*s", text_len(&p->t[i]), p->ps->text + p->t[i].begin);
   return buf;
}

const char *
tl_nearest_keyword(const char *word)
{
   size_t len = strlen(word);
   unsigned best = len > 3 ? 3 : 2;
   const char *near = NULL;
   for (unsigned i = 0; tl_keyword(i); i++) {
      unsigned d = tl_edit_distance(word, tl_keyword(i), best);
      size_t longest = len > strlen(tl_keyword(i)) ? len : strlen(tl_keyword(i));
      if (d < best && 2 * d < longest && (d < 2 || *word == *tl_keyword(i))) {
         best = d;
         near = tl_keyword(i);
      }
   }
   return near;
}

/* lambda x: return x * 2 */
static bool
help_lambda_return(TlParser *ps, const Place *p)
{
   if (p->t[p->at].kind != TL_TOK_RETURN)
      return false;
   size_t i = p->at;
   while (i > p->first && p->t[i].kind != TL_TOK_LAMBDA)
      i--;
   if (p->t[i].kind != TL_TOK_LAMBDA)
      return false;
   tl_help(ps->diags, "a lambda gives its expression: leave 'return' out");
   return true;
}

/* retrun x: a keyword with two letters in the wrong order, or one wrong. */
static bool
help_misspelled_keyword(TlParser *ps, const Place *p)
{
   char word[16];
   const TlToken *t = &p->t[p->first];
   size_t len = t->end - t->begin;
   if (t->kind != TL_TOK_NAME || p->at == p->first || len < 2 || len >= sizeof word)
      return false;
   memcpy(word, ps->text + t->begin, len);
   word[len] = '\0';
   bool is_assigned = t[1].kind == TL_TOK_ASSIGN; /* a name, then, whatever it looks like */
   const char *near = is_assigned ? NULL : tl_nearest_keyword(word);
   if (near)
      tl_help(ps->diags, "did you mean '%s' in place of '%s'?", near, word);
   return near != NULL;
}

/* The run of names and '*' around the error: `const float *x`, `unsigned int j`. */
typedef struct Run {
   size_t name;   /* the last name: what is declared */
   size_t type;   /* the one before it */
   bool has_star; /* between them, or an array's '[' behind */
   bool is_names; /* two names at least */
} Run;

/* Of C, and says nothing of the type. */
static bool
is_qualifier(const Place *p, size_t i)
{
   static const char *const words[] = {"const", "restrict", "__restrict__", "__restrict",
                                       "volatile"};
   for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
      if (is_text(p, i, words[k]))
         return true;
   return false;
}

static Run
run_from(const Place *p, size_t first)
{
   Run r = {.name = first, .type = first};
   size_t i = first, names = 0;
   for (; p->t[i].kind == TL_TOK_NAME || (p->t[i].kind == TL_TOK_STAR && i > first); i++) {
      if (p->t[i].kind == TL_TOK_STAR) {
         r.has_star = true;
      } else {
         r.type = r.name > first && is_qualifier(p, r.name) ? r.type : r.name;
         r.name = i;
         names++;
      }
   }
   r.has_star |= p->t[i].kind == TL_TOK_LBRACKET;
   r.is_names = names >= 2;
   return r;
}

/* def k(float *x, int n) */
static bool
help_c_parameter(TlParser *ps, const Place *p)
{
   char buf[48];
   size_t first = p->at;
   bool is_def = p->t[p->first].kind == TL_TOK_DEF && p->open != SIZE_MAX &&
                 p->t[p->open].kind == TL_TOK_LPAREN;
   while (is_def && first > p->open + 1 &&
          (p->t[first - 1].kind == TL_TOK_NAME || p->t[first - 1].kind == TL_TOK_STAR))
      first--;
   if (!is_def || first == p->at || p->t[first].kind != TL_TOK_NAME)
      return false;
   const TlToken *t = &p->t[p->at];
   if (t[0].kind == TL_TOK_DOT && t[1].kind == TL_TOK_NAME && t[2].kind == TL_TOK_NAME) {
      tl_help(ps->diags, "a parameter's type stands behind its name: %.*s: %.*s", text_len(&t[2]),
              ps->text + t[2].begin, (int)(t[1].end - p->t[first].begin),
              ps->text + p->t[first].begin);
      return true;
   }
   size_t word = p->at - 1; /* a: constexpr fp32 */
   if (text_len(&p->t[word]) == (int)strlen("constexpr") &&
       tl_starts_with(ps->text + p->t[word].begin, "constexpr") && t[0].kind == TL_TOK_NAME &&
       word > p->open + 1 && p->t[word - 1].kind == TL_TOK_COLON) {
      tl_help(ps->diags,
              "a constexpr has the type of its value, and no other is written: take '%.*s' out",
              text_len(t), ps->text + t->begin);
      return true;
   }
   Run r = run_from(p, first);
   const char *of_c = dtype_of(p, r.type, buf, sizeof buf);
   if (r.is_names && of_c == buf && !r.has_star)
      tl_help(ps->diags,
              "is a ',' missing between '%.*s' and '%.*s'? a parameter's type stands behind its "
              "name: x: i32",
              text_len(&p->t[r.type]), ps->text + p->t[r.type].begin, text_len(&p->t[r.name]),
              ps->text + p->t[r.name].begin);
   else if (r.is_names)
      tl_help(ps->diags, "a parameter's type stands behind its name: %.*s: %s%s",
              text_len(&p->t[r.name]), ps->text + p->t[r.name].begin, r.has_star ? "*" : "", of_c);
   return r.is_names;
}

/* bool mask = .., unsigned int j, float acc[16], float twice(float a) {, let w = .. */
static bool
help_declaration(TlParser *ps, const Place *p)
{
   char buf[48];
   for (size_t i = p->first; i <= p->at; i++)
      if (p->t[i].kind != TL_TOK_NAME)
         return false;
   Run r = run_from(p, p->first);
   if (!r.is_names || p->at == p->first)
      return false;
   const char *text = ps->text + p->t[r.name].begin, *words = ps->text + p->t[p->first].begin;
   int after = p->t[r.name + 1].kind, len = text_len(&p->t[r.name]);
   size_t bytes = p->t[r.name - 1].end - p->t[p->first].begin;
   int num = bytes > 60 ? 60 : (int)bytes;
   const char *type = dtype_of(p, r.type, buf, sizeof buf);
   bool is_c_type = type != buf, ends = after == TL_TOK_NEWLINE || after == TL_TOK_SEMICOLON;
   if (!is_c_type && after != TL_TOK_ASSIGN && after != TL_TOK_LBRACKET &&
       help_misspelled_keyword(ps, p))
      return true;
   if (!is_c_type && after == TL_TOK_LPAREN && p->t[p->at - 1].end < p->t[p->at].begin &&
       p->at == p->first + 1)
      tl_help(ps->diags,
              "an operator is missing between '%.*s' and '%.*s(..)', such as '=' or '+='; "
              "functions are defined with 'def'",
              num, words, len, text);
   else if (after == TL_TOK_LPAREN)
      tl_help(ps->diags, "functions are defined with 'def': def %.*s(..):", len, text);
   else if (after == TL_TOK_LBRACKET)
      tl_help(ps->diags,
              "'%.*s' declares nothing here: a tile is made by a function, as in %.*s = "
              "zeros((16,), %s), and the compiler decides where it is kept",
              num, words, len, text, is_c_type ? type : "fp32");
   else if ((after == TL_TOK_ASSIGN || ends) && is_c_type)
      tl_help(ps->diags,
              "'%.*s' declares nothing here: a name is made by assigning to it, %.*s = ..; a type "
              "follows the name: '%.*s: %s = %s'",
              num, words, len, text, len, text, type,
              strcmp(type, "i1") == 0 ? "False"
              : strstr(type, "fp")    ? "0.0"
                                      : "0");
   else if (ends && p->at == p->first + 1)
      tl_help(ps->diags, "an operator is missing between '%.*s' and '%.*s', such as '=' or '+='",
              num, words, len, text);
   else if (after == TL_TOK_ASSIGN || ends)
      tl_help(ps->diags,
              "'%.*s' declares nothing here: a name is made by assigning to it, %.*s = ..", num,
              words, len, text);
   else
      return help_misspelled_keyword(ps, p);
   return true;
}

/* (float) n, and x: float* */
static bool
help_c_type(TlParser *ps, const Place *p)
{
   char buf[48];
   const TlToken *t = &p->t[p->at];
   int found = t->kind, before = kind_at(p, 1);
   if (starts_operand(found) && before == TL_TOK_RPAREN && kind_at(p, 2) == TL_TOK_NAME &&
       kind_at(p, 3) == TL_TOK_LPAREN) {
      const TlToken *type = &p->t[p->at - 2];
      tl_help(ps->diags, "to convert '%.*s' to '%.*s' write x.to(dtype), as in n.to(tl.float32)",
              (int)(t->end - t->begin), ps->text + t->begin, (int)(type->end - type->begin),
              ps->text + type->begin);
      return true;
   }
   if (before == TL_TOK_GT && kind_at(p, 2) == TL_TOK_NAME && kind_at(p, 3) == TL_TOK_LT &&
       kind_at(p, 4) == TL_TOK_NAME && kind_at(p, 5) == TL_TOK_COLON) { /* x: ptr<fp32> */
      tl_help(ps->diags, "a pointer type is a '*' and the type of the elements: *%s for %.*s<%.*s>",
              dtype_of(p, p->at - 2, buf, sizeof buf), text_len(&p->t[p->at - 4]),
              ps->text + p->t[p->at - 4].begin, text_len(&p->t[p->at - 2]),
              ps->text + p->t[p->at - 2].begin);
      return true;
   }
   if (found == TL_TOK_RBRACKET && before == TL_TOK_LBRACKET && kind_at(p, 2) == TL_TOK_NAME &&
       kind_at(p, 3) == TL_TOK_COLON) { /* x: fp32[] */
      tl_help(ps->diags, "an array is a pointer to its elements: *%s for %.*s[]",
              dtype_of(p, p->at - 2, buf, sizeof buf), text_len(&p->t[p->at - 2]),
              ps->text + p->t[p->at - 2].begin);
      return true;
   }
   bool ends_type = found == TL_TOK_RPAREN || found == TL_TOK_COMMA || found == TL_TOK_ASSIGN;
   if (ends_type && before == TL_TOK_STAR && kind_at(p, 2) == TL_TOK_NAME &&
       kind_at(p, 3) == TL_TOK_COLON) {
      tl_help(ps->diags, "the '*' of a pointer type comes first: *%s for %.*s*",
              dtype_of(p, p->at - 2, buf, sizeof buf), text_len(&p->t[p->at - 2]),
              ps->text + p->t[p->at - 2].begin);
      return true;
   }
   return false;
}

/* def k(x: *fp32, BLOCK: constexpr 128) */
static bool
help_default(TlParser *ps, const Place *p)
{
   int found = kind_at(p, 0);
   bool is_def = p->t[p->first].kind == TL_TOK_DEF && p->open != SIZE_MAX &&
                 p->t[p->open].kind == TL_TOK_LPAREN;
   bool is_value = starts_operand(found) && found != TL_TOK_NAME;
   const TlToken *name = p->at > p->open + 3 ? &p->t[p->at - 3] : NULL;
   if (is_def && found == TL_TOK_COLON && name && kind_at(p, 2) == TL_TOK_ASSIGN &&
       name->kind == TL_TOK_NAME && p->t[p->at + 1].kind == TL_TOK_NAME) { /* N = 128: constexpr */
      tl_help(ps->diags, "a parameter's type comes before its default: %.*s: %.*s = %.*s",
              text_len(name), ps->text + name->begin, text_len(&p->t[p->at + 1]),
              ps->text + p->t[p->at + 1].begin, text_len(&p->t[p->at - 1]),
              ps->text + p->t[p->at - 1].begin);
      return true;
   }
   if (!is_def || !is_value || kind_at(p, 1) != TL_TOK_NAME)
      return false;
   const TlToken *t = &p->t[p->at];
   tl_help(ps->diags, "a parameter's default follows a '=': %.*s = %.*s", text_len(t - 1),
           ps->text + t[-1].begin, text_len(t), ps->text + t->begin);
   return true;
}

/* def k(x: tensordesc<fp16[32, 32]>) */
static bool
help_descriptor(TlParser *ps, const Place *p)
{
   if (p->t[p->first].kind != TL_TOK_DEF)
      return false;
   for (size_t i = p->at; i-- > p->first + 1;) {
      const TlToken *t = &p->t[i];
      if (t->kind != TL_TOK_NAME || p->t[i + 1].kind != TL_TOK_LT || !is_text(p, i, "tensordesc"))
         continue;
      const char *from = ps->text + t->begin, *end = strpbrk(from, ">\n");
      if (end && *end == '>')
         tl_help(ps->diags, "the type of a descriptor stands in quotes: \"%.*s\"",
                 (int)(end - from + 1), from);
      else
         tl_help(ps->diags, "the type of a descriptor stands in quotes: "
                            "\"tensordesc<fp16[32, 32]>\"");
      return true;
   }
   return false;
}

/* The word behind which something is missing, or that is one too much. */
static bool
is_sign(int kind)
{
   return !starts_operand(kind) && !ends_operand(kind) && kind != TL_TOK_NEWLINE &&
          kind != TL_TOK_LPAREN && kind != TL_TOK_LBRACKET && kind != TL_TOK_LBRACE &&
          kind != TL_TOK_END && kind != TL_TOK_INDENT && kind != TL_TOK_DEDENT &&
          kind != TL_TOK_BODY;
}

static bool
ends_line(int kind)
{
   return kind == TL_TOK_NEWLINE || kind == TL_TOK_END || kind == TL_TOK_DEDENT ||
          kind == TL_TOK_RPAREN || kind == TL_TOK_RBRACKET || kind == TL_TOK_RBRACE ||
          kind == TL_TOK_COMMA || kind == TL_TOK_COLON;
}

/* tl.store x, v: names and dots alone stand before the error, in a line of its own. */
static bool
is_plain_call(const Place *p)
{
   for (size_t i = p->first; i < p->at; i++)
      if (p->t[i].kind != (i % 2 == p->first % 2 ? TL_TOK_NAME : TL_TOK_DOT))
         return false;
   return (p->at - p->first) % 2 == 1 && p->at > p->first + 1;
}

static const char *
header_slip(const Place *p)
{
   int first = p->t[p->first].kind, found = kind_at(p, 0);
   if (first == TL_TOK_FOR && (p->expected[TL_TOK_IN] || found == TL_TOK_COLON))
      return "write 'for i in range(start, end):'";
   if (first == TL_TOK_DEF && p->at == p->first + 1)
      return "a function has a name: def name(parameters):";
   if (first == TL_TOK_DEF && p->at == p->first + 2)
      return "parameters stand in parentheses behind the name: def name(a, b):";
   if (first == TL_TOK_FROM || first == TL_TOK_IMPORT)
      return "write 'import module', or 'from module import name, name'";
   if (p->expected[TL_TOK_DEF] && !p->expected[TL_TOK_INT])
      return "below a decorator stands its function, which begins with 'def': def name(x):";
   return NULL;
}

/* Of no slip that has a name: what is missing, or too much, at this place. */
static void
help_in_general(TlParser *ps, const Place *p)
{
   int found = kind_at(p, 0), before = kind_at(p, 1);
   const char *header = header_slip(p), *text = ps->text;
   const TlToken *t = &p->t[p->at], *b = p->at > p->first ? t - 1 : t;
   bool wants_operand = p->expected[TL_TOK_INT] || p->expected[TL_TOK_NAME];
   if (header)
      tl_help(ps->diags, "%s", header);
   else if (p->at > p->first && found == before && is_sign(found))
      tl_help(ps->diags, "one '%.*s' is too much, or something is missing between the two",
              text_len(t), text + t->begin);
   else if (p->at > p->first && wants_operand && is_sign(before) && ends_line(found))
      tl_help(ps->diags,
              "something is missing behind '%.*s'; what goes on in the next line stands "
              "in parentheses",
              text_len(b), text + b->begin);
   else if (p->at > p->first && wants_operand && is_sign(before) && is_sign(found))
      tl_help(ps->diags, "something is missing between '%.*s' and '%.*s'", text_len(b),
              text + b->begin, text_len(t), text + t->begin);
   else if (starts_operand(found) && is_plain_call(p))
      tl_help(ps->diags, "a function is called with parentheses: %.*s(..)",
              (int)(b->end - p->t[p->first].begin > 60 ? 60 : b->end - p->t[p->first].begin),
              text + p->t[p->first].begin);
   else if (p->at > p->first && starts_operand(found) && before == TL_TOK_RPAREN)
      tl_help(ps->diags,
              "an operator is missing between ')' and '%.*s'; to convert write "
              "x.to(dtype), as in n.to(tl.float32)",
              text_len(t), text + t->begin);
   else if (p->at > p->first && starts_operand(found) && ends_operand(before))
      tl_help(ps->diags, "an operator, or a ',', is missing between '%.*s' and '%.*s'", text_len(b),
              text + b->begin, text_len(t), text + t->begin);
}

/* load(x + (at, mask=inside): only a call takes names, so the inner '(' was to be closed before. */
static bool
help_open_group(TlParser *ps, const Place *p)
{
   size_t open = p->open;
   if (kind_at(p, 0) != TL_TOK_ASSIGN || kind_at(p, 1) != TL_TOK_NAME || open == SIZE_MAX ||
       open <= p->first || p->t[open].kind != TL_TOK_LPAREN || ends_operand(p->t[open - 1].kind) ||
       kind_at(p, 2) != TL_TOK_COMMA)
      return false;
   const Place inner = {.ps = ps, .t = p->t, .at = open, .first = p->first, .open = SIZE_MAX};
   size_t call = innermost_open(&inner);
   if (call == SIZE_MAX || call == p->first || p->t[call].kind != TL_TOK_LPAREN ||
       !ends_operand(p->t[call - 1].kind))
      return false;
   const TlToken *name = &p->t[p->at - 1];
   tl_help(
      ps->diags,
      "'%.*s=' names an argument of a call, and a '(' within it is still open: close it before "
      "the ',', or leave it out",
      text_len(name), ps->text + name->begin);
   tl_note(ps->diags, N0112, tl_tok_range(ps, &p->t[open]), "the '(' that is still open");
   return true;
}

static bool
is_comparison(int kind)
{
   return kind == TL_TOK_LT || kind == TL_TOK_GT || kind == TL_TOK_LE || kind == TL_TOK_GE ||
          kind == TL_TOK_EQ || kind == TL_TOK_NE;
}

/* Does no operand of && or || reach beyond token i, outside of brackets? */
static bool
ends_side(const Place *p, size_t i)
{
   int kind = p->t[i].kind;
   return kind == TL_TOK_NEWLINE || kind == TL_TOK_END || kind == TL_TOK_COMMA ||
          kind == TL_TOK_COLON || kind == TL_TOK_ASSIGN || kind == TL_TOK_AMP ||
          kind == TL_TOK_PIPE || is_keyword(kind) || p->t[i].kind == TL_TOK_BODY;
}

/* The operand of && from its first token to behind its last, in parentheses where it compares. */
static void
side_text(const Place *p, size_t first, size_t end, char *buf, size_t size)
{
   bool compares = false;
   for (size_t i = first; i < end; i++) {
      int kind = p->t[i].kind;
      if (kind == TL_TOK_LPAREN || kind == TL_TOK_LBRACKET || kind == TL_TOK_LBRACE)
         i = p->t[i].match;
      else
         compares |= is_comparison(kind);
   }
   const char *text = p->ps->text + p->t[first].begin;
   size_t len = first < end ? p->t[end - 1].end - p->t[first].begin : 0;
   if (len == 0 || len > 60 || memchr(text, '\n', len))
      snprintf(buf, size, "%s", compares ? "(a < n)" : "a");
   else
      snprintf(buf, size, compares ? "(%.*s)" : "%.*s", (int)len, text);
}

/* && and || of C: '&' binds closer than comparisons, which for tiles are in parentheses. */
static bool
help_doubled(TlParser *ps, const Place *p)
{
   if (!is_doubled(p))
      return false;
   char left[80], right[80];
   size_t first = p->at - 1, end = p->at + 1;
   while (first > p->first && !ends_side(p, first - 1)) {
      int kind = p->t[first - 1].kind;
      if (kind == TL_TOK_LPAREN || kind == TL_TOK_LBRACKET || kind == TL_TOK_LBRACE)
         break;
      bool closes = kind == TL_TOK_RPAREN || kind == TL_TOK_RBRACKET || kind == TL_TOK_RBRACE;
      first = closes ? p->t[first - 1].match : first - 1;
   }
   while (!ends_side(p, end)) {
      int kind = p->t[end].kind;
      if (kind == TL_TOK_RPAREN || kind == TL_TOK_RBRACKET || kind == TL_TOK_RBRACE)
         break;
      bool opens = kind == TL_TOK_LPAREN || kind == TL_TOK_LBRACKET || kind == TL_TOK_LBRACE;
      if (opens && !p->t[end].match)
         break;
      end = opens ? p->t[end].match + 1u : end + 1;
   }
   side_text(p, first, p->at - 1, left, sizeof left);
   side_text(p, p->at + 1, end, right, sizeof right);
   bool is_and = kind_at(p, 0) == TL_TOK_AMP;
   tl_help(ps->diags, "write '%s'; for tiles '%c', with comparisons in parentheses: %s %c %s",
           is_and ? "and" : "or", is_and ? '&' : '|', left, is_and ? '&' : '|', right);
   return true;
}

static void
give_help(TlParser *ps, const Place *p)
{
   int found = kind_at(p, 0), before = kind_at(p, 1);
   if (help_open_group(ps, p) || help_doubled(ps, p))
      return;
   const char *help = operator_slip(p);
   if (found == TL_TOK_COMMA && before == TL_TOK_LBRACKET)
      help = "is a ':' missing before the ','? x[:, None] adds a dimension";
   if (!help)
      help = statement_slip(p);
   if (help) {
      tl_help(ps->diags, "%s", help);
   } else if (help_foreign_word(ps, p) || help_c_type(ps, p) || help_c_parameter(ps, p) ||
              help_descriptor(ps, p) || help_default(ps, p) || help_lambda_return(ps, p) ||
              help_declaration(ps, p) || help_misspelled_keyword(ps, p)) {
      return;
   } else if (is_keyword(found) && p->expected[TL_TOK_NAME] &&
              (!starts_operand(found) || !p->expected[TL_TOK_INT])) {
      tl_help(ps->diags, "'%s' is a keyword and cannot be a name: choose another",
              tl_token_kind_text(found));
      skip_block(ps, p);
   } else if (p->open != SIZE_MAX && p->expected[TL_TOK_COMMA] && ends_operand(before) &&
              starts_operand(found)) {
      const TlToken *b = &p->t[p->at - 1];
      int len = b->end - b->begin > 40 ? 40 : (int)(b->end - b->begin);
      tl_help(ps->diags, "is a ',' missing after '%.*s'?", len, ps->text + b->begin);
   } else {
      help_in_general(ps, p);
   }
}

/* A header without its ':'. */
static bool
is_missing_colon(const Place *p)
{
   switch (p->t[p->first].kind) {
   case TL_TOK_IF:
   case TL_TOK_ELIF:
   case TL_TOK_ELSE:
   case TL_TOK_FOR:
   case TL_TOK_WHILE:
   case TL_TOK_DEF:
   case TL_TOK_CLASS:
   case TL_TOK_WITH:
   case TL_TOK_TRY:
   case TL_TOK_EXCEPT:
   case TL_TOK_FINALLY:
      return p->expected[TL_TOK_COLON] && p->open == SIZE_MAX &&
             (kind_at(p, 0) == TL_TOK_NEWLINE || kind_at(p, 0) == TL_TOK_BODY ||
              kind_at(p, 0) == TL_TOK_PASS || kind_at(p, 0) == TL_TOK_RETURN);
   default:
      return false;
   }
}

void
tl_syntax_error(TlParser *ps, const bool *expected)
{
   Place p = place_of(ps, expected);
   const TlToken *t = &p.t[p.at];
   TlRange range = tl_tok_range(ps, t);
   char found[80], wanted[160], statement[24];
   bool is_of_tab = ps->diags->last && ps->diags->last->code == TL_DIAG_E0116 &&
                    ps->diags->last->range.file == ps->file;
   if (p.at < ps->quiet_until || is_of_tab) /* blocks are not what they seem to be then */
      return;
   if (p.open != SIZE_MAX && !p.t[p.open].match) {
      for (size_t i = p.at; p.t[i].kind != TL_TOK_END && !p.t[i].is_line_start; i++)
         if (p.t[i].error && p.t[i].error->code == TL_DIAG_E0111) {
            tl_report_lex_error(ps->diags, p.t[i].error); /* it has swallowed the bracket */
            return;
         }
      TlRange open = tl_tok_range(ps, &p.t[p.open]);
      tl_report(ps->diags, E0112, open, ps->text[open.begin]);
      return;
   }
   if (t->kind == TL_TOK_YIELD || t->kind == TL_TOK_AWAIT || t->kind == TL_TOK_ASYNC) {
      tl_report(ps->diags, E0132, range, tl_token_kind_text(t->kind));
      return;
   }
   const char *shown = found_text(&p, found, sizeof found);
   if (is_missing_colon(&p)) {
      snprintf(statement, sizeof statement, "'%s'", tl_token_kind_text(p.t[p.first].kind));
      tl_report(ps->diags, E0130, range, statement, "':' before its block", shown);
      tl_help(ps->diags, "end the line with ':'");
      return;
   }
   expected_text(&p, wanted, sizeof wanted);
   tl_report(ps->diags, E0131, range, wanted, shown);
   give_help(ps, &p);
}
