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
   {"let", "a name is made by assigning to it"},
   {"var", "a name is made by assigning to it"},
   {"const", "a name is made by assigning to it"},
   {"auto", "a name is made by assigning to it"},
   {"int", "'int' declares nothing here: a name is made by assigning to it; a type follows the "
           "name: 'x: i32 = 0'"},
   {"float", "'float' declares nothing here: a name is made by assigning to it; a type follows the "
             "name: 'x: fp32 = 0.0'"},
   {"print", "write print(...)"},
   {"exec", "'exec' is not part of the language"},
   {"using", "write 'import'"},
   {"type", "type aliases are not supported"},
};

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

static Place
place_of(const TlParser *ps, const bool *expected)
{
   Place p = {.ps = ps, .t = ps->tokens, .at = ps->pos ? ps->pos - 1 : 0, .open = SIZE_MAX};
   p.expected = expected;
   p.first = p.at;
   while (p.first > 0 && !p.t[p.first].is_line_start)
      p.first--;
   for (size_t i = p.at; i-- > p.first;) {
      int k = p.t[i].kind;
      if (k == TL_TOK_RPAREN || k == TL_TOK_RBRACKET || k == TL_TOK_RBRACE) {
         i = p.t[i].match;
      } else if (k == TL_TOK_LPAREN || k == TL_TOK_LBRACKET || k == TL_TOK_LBRACE) {
         p.open = i;
         break;
      }
   }
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

/* Two operator characters of other languages: `a && b`, `i++`, `a <> b`. */
static const char *
operator_slip(const Place *p)
{
   int found = kind_at(p, 0), before = kind_at(p, 1);
   if (found == TL_TOK_AMP && before == TL_TOK_AMP && touches(p, 1))
      return "write 'and'; for tiles combine conditions with '&'";
   if (found == TL_TOK_PIPE && before == TL_TOK_PIPE && touches(p, 1))
      return "write 'or'; for tiles combine conditions with '|'";
   if (found == TL_TOK_LT && before == TL_TOK_SHL && touches(p, 1))
      return tl_launch_help;
   if (found == TL_TOK_ARROW)
      return "attributes follow a '.', as in x.shape; pointers are read by tl.load(pointer)";
   if (found == TL_TOK_GT && before == TL_TOK_LT && touches(p, 1))
      return "write '!='";
   if (found == TL_TOK_GT && before == TL_TOK_ASSIGN && touches(p, 1))
      return "write '>='";
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

static const char *
statement_slip(const Place *p)
{
   int found = kind_at(p, 0), before = kind_at(p, 1), first = p->t[p->first].kind;
   if (found == TL_TOK_IF && before == TL_TOK_ELSE)
      return "write 'elif'";
   if (found == TL_TOK_ASSIGN && p->at == p->first + 1 && before != TL_TOK_NAME &&
       !is_condition_word(first))
      return "a keyword of the language is no name: choose another name";
   if (found == TL_TOK_ASSIGN && (is_condition_word(first) || before != TL_TOK_NAME))
      return "'==' compares, '=' assigns";
   if (found == TL_TOK_WALRUS)
      return p->open == SIZE_MAX ? "':=' needs parentheses; to assign in a statement write '='"
                                 : "put parentheses around the ':=' expression";
   if (found == TL_TOK_LBRACE && p->expected[TL_TOK_COLON])
      return "a block is made by ':' and indentation";
   if (p->at == p->first && (found == TL_TOK_ELSE || found == TL_TOK_ELIF ||
                             found == TL_TOK_EXCEPT || found == TL_TOK_FINALLY))
      return "it must be indented like the statement that it continues";
   if (first == TL_TOK_FOR && p->first + 1 <= p->at && p->t[p->first + 1].kind == TL_TOK_LPAREN)
      return "write 'for i in range(start, end):'";
   if (found == TL_TOK_SEMICOLON && p->open != SIZE_MAX)
      return "separate with ','";
   bool is_own = tl_is_match(p->ps, p->first) || p->ps->is_match_block[p->ps->block_depth];
   if (p->at > p->first && first == TL_TOK_NAME && !is_own)
      for (size_t i = 0; i < sizeof foreign_word / sizeof foreign_word[0]; i++)
         if (is_text(p, p->first, foreign_word[i].word))
            return foreign_word[i].help;
   return NULL;
}

/* (float) n, and x: float* */
static bool
help_c_type(TlParser *ps, const Place *p)
{
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
   bool ends_type = found == TL_TOK_RPAREN || found == TL_TOK_COMMA || found == TL_TOK_ASSIGN;
   if (ends_type && before == TL_TOK_STAR && kind_at(p, 2) == TL_TOK_NAME &&
       kind_at(p, 3) == TL_TOK_COLON) {
      const TlToken *type = &p->t[p->at - 2];
      tl_help(ps->diags, "the '*' of a pointer type comes first: *%.*s",
              (int)(type->end - type->begin), ps->text + type->begin);
      return true;
   }
   return false;
}

static void
give_help(TlParser *ps, const Place *p)
{
   int found = kind_at(p, 0), before = kind_at(p, 1);
   const char *help = operator_slip(p);
   if (!help)
      help = statement_slip(p);
   if (help) {
      tl_help(ps->diags, "%s", help);
   } else if (help_c_type(ps, p)) {
      return;
   } else if (is_keyword(found) && p->expected[TL_TOK_NAME] && !starts_operand(found)) {
      tl_help(ps->diags, "'%s' is a keyword and cannot be a name", tl_token_kind_text(found));
   } else if (p->open != SIZE_MAX && p->expected[TL_TOK_COMMA] && ends_operand(before) &&
              starts_operand(found)) {
      const TlToken *b = &p->t[p->at - 1];
      int len = b->end - b->begin > 40 ? 40 : (int)(b->end - b->begin);
      tl_help(ps->diags, "is a ',' missing after '%.*s'?", len, ps->text + b->begin);
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
   if (p.open != SIZE_MAX && !p.t[p.open].match) {
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
