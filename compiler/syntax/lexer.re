/* Raw tokens by re2c: words, numbers, strings, punctuation, line ends.  Invariant: the text ends
 * with a NUL at `limit`, no rule but the NUL rule takes a NUL byte, so no token runs past the end.
 * Layout (indentation, joining in brackets) is indent.c's; literals keep their text and are decoded
 * when the parser uses them (literal.c). */
#include "syntax/scan.h"
#include "parser.h"

#include <string.h>

/*!include:re2c "unicode_categories.re" */

static TlRaw
made(const TlScan *s, int kind, const char *begin)
{
   return (TlRaw){kind, (uint32_t)(begin - s->text), (uint32_t)(s->cur - s->text), TL_DIAG_COUNT};
}

static TlRaw
bad(const TlScan *s, TlDiagCode problem, const char *begin)
{
   TlRaw r = made(s, TL_TOK_ERROR, begin);
   r.problem = problem;
   return r;
}

static bool
is_word_byte(char c)
{
   unsigned char u = (unsigned char)c;
   return (u >= '0' && u <= '9') || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u == '_' ||
          u >= 0x80;
}

/* Python lets these words follow a number at once, as in `1if x else 2`. */
static bool
is_word_after_number(const char *p, size_t len)
{
   static const char *const words[] = {"and", "else", "for", "if", "in", "is", "or", "not"};
   for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
      if (strlen(words[i]) == len && memcmp(words[i], p, len) == 0)
         return true;
   return false;
}

/* A number's rule matched begin..cur; letters that touch it make it malformed. */
static TlRaw
number(TlScan *s, int kind, const char *begin, TlDiagCode problem)
{
   const char *p = s->cur;
   while (is_word_byte(*p))
      p++;
   if (p > s->cur && !is_word_after_number(s->cur, (size_t)(p - s->cur))) {
      s->cur = p;
      problem = TL_DIAG_E0120;
   }
   TlRaw r = made(s, kind, begin);
   r.problem = problem;
   return r;
}

/* `quote` is where the opening quotes are; the prefix, if any, is begin..quote. */
static TlRaw
string(TlScan *s, const char *begin, const char *quote)
{
   bool is_format = false, is_raw = false;
   for (const char *p = begin; p < quote; p++) {
      is_format |= (*p | 0x20) == 'f';
      is_raw |= (*p | 0x20) == 'r';
   }
   const char *end = NULL;
   if (is_format && s->look_bytes > 0) {
      size_t window = TL_MAX_TOKEN_BYTES + 8, left = (size_t)(s->limit - quote);
      const char *stop = quote + (left < window ? left : window);
      end = tl_string_end(quote, stop, true, is_raw, 0);
      if (!end)
         s->look_bytes -= s->look_bytes < window ? s->look_bytes : window;
   }
   if (!end)
      end = tl_string_end(quote, s->limit, false, is_raw, 0);
   if (!end) {
      bool is_triple = quote[1] == quote[0] && quote[2] == quote[0];
      const char *p = quote;
      while (p < s->limit && (is_triple || (*p != '\n' && *p != '\r')))
         p++;
      s->cur = p;
      return bad(s, TL_DIAG_E0111, begin);
   }
   s->cur = end;
   return made(s, is_format ? TL_TOK_FSTRING : TL_TOK_STRING, begin);
}

/* ---- rules ---- */
/*!re2c
re2c:define:YYCTYPE = "unsigned char";
re2c:define:YYPEEK = "(unsigned char)*s->cur";
re2c:define:YYSKIP = "s->cur++;";
re2c:define:YYBACKUP = "mark = s->cur;";
re2c:define:YYRESTORE = "s->cur = mark;";
re2c:api = custom;
re2c:api:style = free-form;
re2c:yyfill:enable = 0;
re2c:encoding:utf8 = 1;
re2c:encoding-policy = ignore;
re2c:indent:string = "   ";

id_start = L | Nl | "_";
id_cont = id_start | Mn | Mc | Nd | Pc;
digits = [0-9] ("_"? [0-9])*;
exponent = [eE] [+-]? digits;
any = [^\x00];
*/

/*!rules:re2c:keywords
"False"    { return made(s, TL_TOK_FALSE, begin); }
"None"     { return made(s, TL_TOK_NONE, begin); }
"True"     { return made(s, TL_TOK_TRUE, begin); }
"and"      { return made(s, TL_TOK_AND, begin); }
"as"       { return made(s, TL_TOK_AS, begin); }
"assert"   { return made(s, TL_TOK_ASSERT, begin); }
"async"    { return made(s, TL_TOK_ASYNC, begin); }
"await"    { return made(s, TL_TOK_AWAIT, begin); }
"break"    { return made(s, TL_TOK_BREAK, begin); }
"class"    { return made(s, TL_TOK_CLASS, begin); }
"continue" { return made(s, TL_TOK_CONTINUE, begin); }
"def"      { return made(s, TL_TOK_DEF, begin); }
"del"      { return made(s, TL_TOK_DEL, begin); }
"elif"     { return made(s, TL_TOK_ELIF, begin); }
"else"     { return made(s, TL_TOK_ELSE, begin); }
"except"   { return made(s, TL_TOK_EXCEPT, begin); }
"finally"  { return made(s, TL_TOK_FINALLY, begin); }
"for"      { return made(s, TL_TOK_FOR, begin); }
"from"     { return made(s, TL_TOK_FROM, begin); }
"global"   { return made(s, TL_TOK_GLOBAL, begin); }
"if"       { return made(s, TL_TOK_IF, begin); }
"import"   { return made(s, TL_TOK_IMPORT, begin); }
"in"       { return made(s, TL_TOK_IN, begin); }
"is"       { return made(s, TL_TOK_IS, begin); }
"lambda"   { return made(s, TL_TOK_LAMBDA, begin); }
"nonlocal" { return made(s, TL_TOK_NONLOCAL, begin); }
"not"      { return made(s, TL_TOK_NOT, begin); }
"or"       { return made(s, TL_TOK_OR, begin); }
"pass"     { return made(s, TL_TOK_PASS, begin); }
"raise"    { return made(s, TL_TOK_RAISE, begin); }
"return"   { return made(s, TL_TOK_RETURN, begin); }
"try"      { return made(s, TL_TOK_TRY, begin); }
"while"    { return made(s, TL_TOK_WHILE, begin); }
"with"     { return made(s, TL_TOK_WITH, begin); }
"yield"    { return made(s, TL_TOK_YIELD, begin); }
*/

/*!rules:re2c:numbers
"0" ("_"? "0")* | [1-9] ("_"? [0-9])*  { return number(s, TL_TOK_INT, begin, TL_DIAG_COUNT); }
"0" ("_"? [0-9])*                      { return number(s, TL_TOK_INT, begin, TL_DIAG_E0123); }
"0" [xX] ("_"? [0-9a-fA-F])+           { return number(s, TL_TOK_INT, begin, TL_DIAG_COUNT); }
"0" [oO] ("_"? [0-7])+                 { return number(s, TL_TOK_INT, begin, TL_DIAG_COUNT); }
"0" [bB] ("_"? [01])+                  { return number(s, TL_TOK_INT, begin, TL_DIAG_COUNT); }
digits exponent | digits "." digits? exponent? | "." digits exponent?
                                       { return number(s, TL_TOK_FLOAT, begin, TL_DIAG_COUNT); }
(digits exponent? | digits "." digits? exponent? | "." digits exponent?) [jJ]
                                       { return number(s, TL_TOK_FLOAT, begin, TL_DIAG_E0121); }
*/

/*!rules:re2c:punctuation
"("   { return made(s, TL_TOK_LPAREN, begin); }
")"   { return made(s, TL_TOK_RPAREN, begin); }
"["   { return made(s, TL_TOK_LBRACKET, begin); }
"]"   { return made(s, TL_TOK_RBRACKET, begin); }
"{"   { return made(s, TL_TOK_LBRACE, begin); }
"}"   { return made(s, TL_TOK_RBRACE, begin); }
","   { return made(s, TL_TOK_COMMA, begin); }
":"   { return made(s, TL_TOK_COLON, begin); }
";"   { return made(s, TL_TOK_SEMICOLON, begin); }
"."   { return made(s, TL_TOK_DOT, begin); }
"..." { return made(s, TL_TOK_ELLIPSIS, begin); }
"->"  { return made(s, TL_TOK_ARROW, begin); }
"="   { return made(s, TL_TOK_ASSIGN, begin); }
":="  { return made(s, TL_TOK_WALRUS, begin); }
"@"   { return made(s, TL_TOK_AT, begin); }
"+"   { return made(s, TL_TOK_PLUS, begin); }
"-"   { return made(s, TL_TOK_MINUS, begin); }
"*"   { return made(s, TL_TOK_STAR, begin); }
"/"   { return made(s, TL_TOK_SLASH, begin); }
"//"  { return made(s, TL_TOK_FLOORDIV, begin); }
"%"   { return made(s, TL_TOK_PERCENT, begin); }
"**"  { return made(s, TL_TOK_POW, begin); }
"<<"  { return made(s, TL_TOK_SHL, begin); }
">>"  { return made(s, TL_TOK_SHR, begin); }
"&"   { return made(s, TL_TOK_AMP, begin); }
"|"   { return made(s, TL_TOK_PIPE, begin); }
"^"   { return made(s, TL_TOK_CARET, begin); }
"~"   { return made(s, TL_TOK_TILDE, begin); }
"=="  { return made(s, TL_TOK_EQ, begin); }
"!="  { return made(s, TL_TOK_NE, begin); }
"<"   { return made(s, TL_TOK_LT, begin); }
"<="  { return made(s, TL_TOK_LE, begin); }
">"   { return made(s, TL_TOK_GT, begin); }
">="  { return made(s, TL_TOK_GE, begin); }
"+="  { return made(s, TL_TOK_ADD_EQ, begin); }
"-="  { return made(s, TL_TOK_SUB_EQ, begin); }
"*="  { return made(s, TL_TOK_MUL_EQ, begin); }
"/="  { return made(s, TL_TOK_DIV_EQ, begin); }
"//=" { return made(s, TL_TOK_FLOORDIV_EQ, begin); }
"%="  { return made(s, TL_TOK_MOD_EQ, begin); }
"**=" { return made(s, TL_TOK_POW_EQ, begin); }
"<<=" { return made(s, TL_TOK_SHL_EQ, begin); }
">>=" { return made(s, TL_TOK_SHR_EQ, begin); }
"&="  { return made(s, TL_TOK_AND_EQ, begin); }
"|="  { return made(s, TL_TOK_OR_EQ, begin); }
"^="  { return made(s, TL_TOK_XOR_EQ, begin); }
"@="  { return made(s, TL_TOK_MATMUL_EQ, begin); }
*/

TlRaw
tl_scan(TlScan *s)
{
   const char *begin, *mark = NULL;
again:
   begin = s->cur;
   /*!re2c
   [ \t\f]+                        { goto again; }
   "#" [^\x00\r\n]*                { goto again; }
   "\\" [ \t\f]* "\r"? "\n"        { if (begin[1] == '\n' || begin[1] == '\r') goto again;
                                     return bad(s, TL_DIAG_E0119, begin); }
   "\\"                            { return bad(s, TL_DIAG_E0119, begin); }
   "\r\n" | "\n" | "\r"            { return made(s, TL_RAW_EOL, begin); }
   "\x00"                          { if (begin >= s->limit) {
                                        s->cur = s->limit;
                                        return made(s, TL_TOK_END, s->limit);
                                     }
                                     return bad(s, TL_DIAG_E0102, begin); }
   !use:keywords;
   id_start id_cont*               { return made(s, TL_TOK_NAME, begin); }
   !use:numbers;
   ([rRbBuUfF] | [bB] [rR] | [rR] [bB] | [fF] [rR] | [rR] [fF])? ['"]
                                          { return string(s, begin, s->cur - 1); }
   !use:punctuation;
   any                             { return bad(s, TL_DIAG_E0110, begin); }
   *                               { return bad(s, TL_DIAG_E0101, begin); }
   */
}
