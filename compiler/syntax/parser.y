/* The grammar: Python's, as far as kernels and the host code around them need it, plus pointer
 * types and facts in .tile annotations.  Pure, no conflicts; each action makes one node or list
 * (build.h).  What is not taken here on purpose: yield as an expression, await, async, type
 * parameters.
 *
 * Recovery: an error drops its statement up to the end of the line; the block below it, if any, is
 * still parsed, so that its own errors are reported. */
%define api.pure full
%define api.prefix {tl_yy}
%define api.token.raw
%define api.token.prefix {TL_TOK_}
%define api.location.type {TlRange}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {TlParser *ps}

%code requires {
#include "syntax/build.h"
}

%code {
#include <string.h>

static int tl_yylex(YYSTYPE *value, TlRange *range, TlParser *ps);
static void tl_yyerror(const TlRange *range, TlParser *ps, const char *text);

/* All of the stack is in yyparse's frame: nothing to free when an allocation unwinds. */
#define YYINITDEPTH TL_PARSER_STACK
#define YYMAXDEPTH TL_PARSER_STACK
#define YYMALLOC(bytes) ((void)(bytes), (void *)0)
#define YYFREE(p) ((void)(p))
#define YYLLOC_DEFAULT(cur, rhs, n) ((cur) = rule_range(&YYRHSLOC(rhs, 0), (n)))

/* From the first symbol with text (an omitted part has none) to the last; rhs[0] is before them. */
static TlRange
rule_range(const TlRange *rhs, int n)
{
   if (!n)
      return tl_range(rhs[0].file, rhs[0].end, rhs[0].end);
   int first = 1;
   while (first < n && rhs[first].begin == rhs[first].end)
      first++;
   return tl_range(rhs[first].file, rhs[first].begin, rhs[n].end);
}
}

%initial-action {
   @$ = tl_range(ps->file, 0, 0);
   (void)yynerrs;
}

%union {
   const TlToken *tok;
   TlNode *node;
   TlListP list;
   TlAstOp op;
   unsigned count;
}

%token END 0 "end"
%token START_FILE START_EXPR
%token NEWLINE "newline" INDENT "indent" DEDENT "dedent"
%token <tok> NAME "name" INT "int" FLOAT "float" STRING "string" FSTRING "fstring" BODY "body"
%token FALSE "False" NONE "None" TRUE "True" AND "and" AS "as" ASSERT "assert" ASYNC "async"
%token AWAIT "await" BREAK "break" CLASS "class" CONTINUE "continue" DEF "def" DEL "del"
%token ELIF "elif" ELSE "else" EXCEPT "except" FINALLY "finally" FOR "for" FROM "from"
%token GLOBAL "global" IF "if" IMPORT "import" IN "in" IS "is" LAMBDA "lambda"
%token NONLOCAL "nonlocal" NOT "not" OR "or" PASS "pass" RAISE "raise" RETURN "return"
%token TRY "try" WHILE "while" WITH "with" YIELD "yield" CONST "const"
%token LPAREN "(" RPAREN ")" LBRACKET "[" RBRACKET "]" LBRACE "{" RBRACE "}"
%token WITH_LPAREN "( of with" MATCH "match" CASE "case"
%token COMMA "," COLON ":" SEMICOLON ";" DOT "." ELLIPSIS "..." ARROW "->" ASSIGN "="
%token WALRUS ":=" AT "@" PLUS "+" MINUS "-" STAR "*" SLASH "/" FLOORDIV "//" PERCENT "%"
%token POW "**" SHL "<<" SHR ">>" AMP "&" PIPE "|" CARET "^" TILDE "~"
%token EQ "==" NE "!=" LT "<" LE "<=" GT ">" GE ">="
%token ADD_EQ "+=" SUB_EQ "-=" MUL_EQ "*=" DIV_EQ "/=" FLOORDIV_EQ "//=" MOD_EQ "%=" POW_EQ "**="
%token SHL_EQ "<<=" SHR_EQ ">>=" AND_EQ "&=" OR_EQ "|=" XOR_EQ "^=" MATMUL_EQ "@="

%left "|"
%left "^"
%left "&"
%left "<<" ">>"
%left "+" "-"
%left "*" "/" "//" "%" "@"
%precedence UNARY
%right "**"

%type <node> test named disj conj inverse compare chain arith primary atom lambda entry ptr
%type <node> star_test elem ttarget targets exprs sub arg comp_clause opt_test
%type <node> annotation ann_fact opt_annotation opt_default opt_returns param lparam
%type <node> simple compound definition dotted alias name_node handler with_item import_module
%type <node> subject case_block pattern or_pattern closed_pattern sequence_item pattern_path
%type <node> pattern_number pattern_key class_item opt_guard patterns
%type <list> match_block cases or_patterns sequence_items pattern_items class_items class_list
%type <list> key_patterns
%type <list> block items simple_line simple_list suite seq elems elem_seq subs sub_seq arglist args
%type <list> comp_clauses conds dict_items strings params plist lparams lplist decorators
%type <list> orelse if_tail handlers finally aliases import_names assign_head names with_items
%type <list> for_else dotted_aliases ttarget_seq test_seq
%type <op> augop comp_op
%type <count> dots

%start start
%%
start:
  START_FILE file_items END
| START_EXPR entry END                  { ps->result = $entry; }
| START_EXPR entry NEWLINE END          { ps->result = $entry; }
;
entry: /* an expression or a signature entry: *fp16:16, i32:16 */
  test
| test ","                              { $$ = tl_mk_tuple(ps, @$, tl_mk_list1(ps, $1)); }
| test_seq                              { $$ = tl_mk_tuple(ps, @$, $1); }
| test_seq ","                          { $$ = tl_mk_tuple(ps, @$, $1); }
| ptr
| ptr ":" test                          { $$ = tl_mk_fact_type(ps, @$, $1, $3); }
| test ":" test                         { $$ = tl_mk_fact_type(ps, @$, $1, $3); }
;
test_seq:
  test "," test                         { $$ = tl_mk_append(ps, tl_mk_list1(ps, $1), $3); }
| test_seq "," test                     { $$ = tl_mk_append(ps, $1, $3); }
;
file_items:
  %empty
| file_items simple_line                { tl_mk_top(ps, $2); }
| file_items compound                   { tl_mk_top(ps, tl_mk_list1(ps, $2)); }
| file_items bad
;
items:
  %empty                                { $$ = tl_mk_list(ps); }
| items simple_line                     { $$ = tl_mk_concat(ps, $1, $2); }
| items compound                        { $$ = tl_mk_append(ps, $1, $2); }
| items bad                             { $$ = $1; }
;
block: INDENT items DEDENT { $$ = $2; } /* one symbol: recovery never lands in a finished block */
;
bad: /* a statement with an error; what belongs to it is parsed and dropped */
  bad_line bad_tail
| bad_line block bad_tail
| bad_line match_block
;
bad_line: error NEWLINE                 { yyerrok; };
bad_tail:
  %empty
| bad_tail bad_clause suite
;
bad_clause:
  ELSE
| ELIF named
| EXCEPT
| EXCEPT exprs
| EXCEPT exprs AS NAME
| FINALLY
;

/* ---- simple statements ---- */
simple_line:
  simple_list NEWLINE
| simple_list ";" NEWLINE
;
simple_list:
  simple                                { $$ = tl_mk_list1(ps, $1); }
| simple_list ";" simple                { $$ = tl_mk_append(ps, $1, $3); }
;
simple:
  exprs                                 { $$ = tl_mk_expr_stmt(ps, @$, $1); }
| assign_head exprs                     { $$ = tl_mk_assign(ps, @$, $1, $2); }
| exprs augop exprs                     { $$ = tl_mk_aug_assign(ps, @$, $2, $1, $3); }
| exprs ":" ann_fact                    { $$ = tl_mk_ann_assign(ps, @$, $1, $3, NULL); }
| exprs ":" ann_fact "=" exprs          { $$ = tl_mk_ann_assign(ps, @$, $1, $3, $5); }
| RETURN                                { $$ = TL_MAKE(ps, @$, Return, .value = NULL); }
| RETURN exprs                          { $$ = TL_MAKE(ps, @$, Return, .value = $2); }
| PASS                                  { $$ = tl_mk_plain(ps, @$, TL_AST_PASS); }
| BREAK                                 { $$ = tl_mk_plain(ps, @$, TL_AST_BREAK); }
| CONTINUE                              { $$ = tl_mk_plain(ps, @$, TL_AST_CONTINUE); }
| ASSERT test                           { $$ = TL_MAKE(ps, @$, Assert, .test = $2); }
| ASSERT test "," test                  { $$ = TL_MAKE(ps, @$, Assert, .test = $2, .message = $4); }
| RAISE                                 { $$ = TL_MAKE(ps, @$, Raise, .value = NULL); }
| RAISE test                            { $$ = TL_MAKE(ps, @$, Raise, .value = $2); }
| RAISE test FROM test                  { $$ = TL_MAKE(ps, @$, Raise, .value = $2); }
| YIELD                                 { $$ = TL_MAKE(ps, @$, Yield, .value = NULL); }
| YIELD exprs                           { $$ = TL_MAKE(ps, @$, Yield, .value = $2); }
| YIELD FROM test                       { $$ = TL_MAKE(ps, @$, Yield, .value = $3,
                                                       .is_from = true); }
| GLOBAL names                          { $$ = TL_MAKE(ps, @$, Global, .names = *$2); }
| NONLOCAL names                        { $$ = TL_MAKE(ps, @$, Global, .names = *$2); }
| DEL exprs                             { $$ = tl_mk_del(ps, @$, $2); }
| IMPORT dotted_aliases                 { $$ = TL_MAKE(ps, @$, Import, .names = *$2); }
| FROM import_module IMPORT import_names
                                        { $$ = tl_mk_import_from(ps, @$, 0, $2, $4); }
| FROM dots IMPORT import_names         { $$ = tl_mk_import_from(ps, @$, $2, NULL, $4); }
| FROM dots import_module IMPORT import_names
                                        { $$ = tl_mk_import_from(ps, @$, $2, $3, $5); }
;
assign_head:
  exprs "="                             { $$ = tl_mk_list1(ps, $1); }
| assign_head exprs "="                 { $$ = tl_mk_append(ps, $1, $2); }
;
augop:
  "+="  { $$ = TL_AST_OP_ADD; }
| "-="  { $$ = TL_AST_OP_SUB; }
| "*="  { $$ = TL_AST_OP_MUL; }
| "/="  { $$ = TL_AST_OP_DIV; }
| "//=" { $$ = TL_AST_OP_FLOORDIV; }
| "%="  { $$ = TL_AST_OP_MOD; }
| "**=" { $$ = TL_AST_OP_POW; }
| "<<=" { $$ = TL_AST_OP_SHL; }
| ">>=" { $$ = TL_AST_OP_SHR; }
| "&="  { $$ = TL_AST_OP_BITAND; }
| "|="  { $$ = TL_AST_OP_BITOR; }
| "^="  { $$ = TL_AST_OP_BITXOR; }
| "@="  { $$ = TL_AST_OP_MATMUL; }
;
names:
  name_node                             { $$ = tl_mk_list1(ps, $1); }
| names "," name_node                   { $$ = tl_mk_append(ps, $1, $3); }
;
name_node: NAME                         { $$ = tl_mk_name(ps, $1); };
import_module: dotted;
dots:
  "."                                   { $$ = 1; }
| "..."                                 { $$ = 3; }
| dots "."                              { $$ = $1 + 1; }
| dots "..."                            { $$ = $1 + 3; }
;
dotted:
  NAME                                  { $$ = tl_mk_name(ps, $1); }
| dotted "." NAME                       { $$ = tl_mk_dotted(ps, @$, $1, $3); }
;
dotted_aliases:
  alias                                 { $$ = tl_mk_list1(ps, $1); }
| dotted_aliases "," alias              { $$ = tl_mk_append(ps, $1, $3); }
;
alias:
  dotted                                { $$ = tl_mk_alias(ps, @$, $1, NULL); }
| dotted AS NAME                        { $$ = tl_mk_alias(ps, @$, $1, $3); }
;
import_names:
  "*"                                   { $$ = NULL; }
| aliases
| "(" aliases ")"                       { $$ = $2; }
| "(" aliases "," ")"                   { $$ = $2; }
;
aliases:
  name_node                             { $$ = tl_mk_list1(ps, tl_mk_alias(ps, @$, $1, NULL)); }
| name_node AS NAME                     { $$ = tl_mk_list1(ps, tl_mk_alias(ps, @$, $1, $3)); }
| aliases "," name_node        { $$ = tl_mk_append(ps, $1, tl_mk_alias(ps, @3, $3, NULL)); }
| aliases "," name_node AS NAME { $$ = tl_mk_append(ps, $1, tl_mk_alias(ps, @3, $3, $5)); }
;

/* ---- compound statements ---- */
suite:
  ":" simple_line                       { $$ = $2; }
| ":" NEWLINE block                     { $$ = $3; }
| ":" BODY                              { $$ = $2->body; }
;
compound:
  IF named suite if_tail                { $$ = tl_mk_if(ps, @$, $2, $3, $4); }
| WHILE named suite orelse
      { $$ = TL_MAKE(ps, @$, While, .test = $2, .body = tl_list($3), .orelse = tl_list($4)); }
| FOR targets IN exprs suite for_else   { $$ = tl_mk_for(ps, @$, $2, $4, $5, $6); }
| WITH with_items suite
                    { $$ = TL_MAKE(ps, @$, With, .items = *$2, .body = tl_list($3)); }
| WITH WITH_LPAREN with_items ")" suite
                    { $$ = TL_MAKE(ps, @$, With, .items = *$3, .body = tl_list($5)); }
| WITH WITH_LPAREN with_items "," ")" suite
                    { $$ = TL_MAKE(ps, @$, With, .items = *$3, .body = tl_list($6)); }
| TRY suite handlers orelse finally     { $$ = tl_mk_try(ps, @$, $2, $3, $4, $5); }
| MATCH subject ":" NEWLINE match_block { $$ = tl_mk_match(ps, @$, $2, $5); }
| definition
| decorators definition                 { $$ = tl_mk_decorated(ps, @$, $1, $2); }
;
subject:
  named
| star_test ","                         { $$ = tl_mk_tuple(ps, @$, tl_mk_list1(ps, $1)); }
| seq                                   { $$ = tl_mk_tuple(ps, @$, $1); }
| seq ","                               { $$ = tl_mk_tuple(ps, @$, $1); }
;
match_block: INDENT cases DEDENT { $$ = $2; };
cases:
  case_block                            { $$ = tl_mk_list1(ps, $1); }
| cases case_block                      { $$ = tl_mk_append(ps, $1, $2); }
| cases bad                             { $$ = $1; }
;
case_block:
  CASE patterns opt_guard suite         { $$ = tl_mk_case(ps, @$, $2, $3, $4); }
| bad_case                              { $$ = NULL; }
| bad_case block                        { $$ = NULL; }
;
bad_case: CASE error NEWLINE { yyerrok; };
opt_guard:
  %empty                                { $$ = NULL; }
| IF named                              { $$ = $2; }
;
if_tail:
  orelse
| ELIF named suite if_tail              { $$ = tl_mk_list1(ps, tl_mk_if(ps, @$, $2, $3, $4)); }
;
orelse:
  %empty                                { $$ = NULL; }
| ELSE suite                            { $$ = $2; }
;
for_else: orelse;
finally:
  %empty                                { $$ = NULL; }
| FINALLY suite                         { $$ = $2; }
;
handlers:
  %empty                                { $$ = tl_mk_list(ps); }
| handlers handler                      { $$ = tl_mk_append(ps, $1, $2); }
;
handler:
  EXCEPT suite                          { $$ = TL_MAKE(ps, @$, Except, .body = tl_list($2)); }
| EXCEPT exprs suite
                    { $$ = TL_MAKE(ps, @$, Except, .type = $2, .body = tl_list($3)); }
| EXCEPT exprs AS NAME suite
      { $$ = TL_MAKE(ps, @$, Except, .type = $2, .name = tl_mk_word(ps, $4), .body = tl_list($5)); }
;
with_items:
  with_item                             { $$ = tl_mk_list1(ps, $1); }
| with_items "," with_item              { $$ = tl_mk_append(ps, $1, $3); }
;
with_item:
  test                                  { $$ = tl_mk_with_item(ps, @$, $1, NULL); }
| test AS ttarget                       { $$ = tl_mk_with_item(ps, @$, $1, $3); }
;
definition:
  DEF NAME "(" params ")" opt_returns suite
                                        { $$ = tl_mk_function(ps, @$, $2, $4, $6, $7); }
| CLASS NAME suite
                                        { $$ = tl_mk_class(ps, @$, $2, NULL, $3); }
| CLASS NAME "(" args ")" suite
                                        { $$ = tl_mk_class(ps, @$, $2, $4, $6); }
;
decorators:
  "@" named NEWLINE                     { $$ = tl_mk_list1(ps, $2); }
| decorators "@" named NEWLINE          { $$ = tl_mk_append(ps, $1, $3); }
;
opt_returns:
  %empty                                { $$ = NULL; }
| "->" annotation                       { $$ = $2; }
;
params:
  %empty                                { $$ = tl_mk_list(ps); }
| plist
| plist ","
;
plist:
  param                                 { $$ = tl_mk_list1(ps, $1); }
| plist "," param                       { $$ = tl_mk_append(ps, $1, $3); }
;
param:
  NAME opt_annotation opt_default
                           { $$ = tl_mk_param(ps, @$, TL_AST_OP_PLAIN, $1, $2, $3); }
| "*" NAME opt_annotation  { $$ = tl_mk_param(ps, @$, TL_AST_OP_STAR, $2, $3, NULL); }
| "**" NAME opt_annotation { $$ = tl_mk_param(ps, @$, TL_AST_OP_STAR_STAR, $2, $3, NULL); }
| "*"                      { $$ = tl_mk_param(ps, @$, TL_AST_OP_KW_MARK, NULL, NULL, NULL); }
| "/"                      { $$ = tl_mk_param(ps, @$, TL_AST_OP_POS_MARK, NULL, NULL, NULL); }
;
opt_annotation:
  %empty                                { $$ = NULL; }
| ":" ann_fact                          { $$ = $2; }
;
ann_fact:
  annotation
| annotation ":" test                   { $$ = tl_mk_fact_type(ps, @$, $1, $3); }
;
annotation:
  test
| ptr
;
ptr:
  "*" annotation                        { $$ = tl_mk_ptr_type(ps, @$, false, $2); }
| "*" CONST annotation                  { $$ = tl_mk_ptr_type(ps, @$, true, $3); }
| "**" annotation                       { $$ = tl_mk_ptr_ptr_type(ps, @$, false, $2); }
| "**" CONST annotation                 { $$ = tl_mk_ptr_ptr_type(ps, @$, true, $3); }
;
opt_default:
  %empty                                { $$ = NULL; }
| "=" test                              { $$ = $2; }
;

/* ---- patterns of case ---- */
patterns:
  pattern
| sequence_item "," { $$ = tl_mk_pat_sequence(ps, @$, tl_mk_list1(ps, $1)); }
| sequence_items    { $$ = tl_mk_pat_sequence(ps, @$, $1); }
| sequence_items "," { $$ = tl_mk_pat_sequence(ps, @$, $1); }
;
pattern:
  or_pattern
| or_pattern AS NAME                    { $$ = tl_mk_pat_capture(ps, @$, $1, $3); }
;
or_pattern:
  closed_pattern
| or_patterns                           { $$ = tl_mk_pat_or(ps, @$, $1); }
;
or_patterns:
  closed_pattern "|" closed_pattern     { $$ = tl_mk_append(ps, tl_mk_list1(ps, $1), $3); }
| or_patterns "|" closed_pattern        { $$ = tl_mk_append(ps, $1, $3); }
;
closed_pattern:
  pattern_key                           { $$ = TL_MAKE(ps, @$, PatValue, .value = $1); }
| NAME                                  { $$ = tl_mk_pat_capture(ps, @$, NULL, $1); }
| NAME "(" class_items ")"
                    { $$ = tl_mk_pat_class(ps, @$, tl_mk_name(ps, $1), $3); }
| pattern_path "(" class_items ")"      { $$ = tl_mk_pat_class(ps, @$, $1, $3); }
| "(" pattern ")"                       { $$ = $2; }
| "(" ")"                               { $$ = tl_mk_pat_sequence(ps, @$, tl_mk_list(ps)); }
| "(" sequence_item "," ")" { $$ = tl_mk_pat_sequence(ps, @$, tl_mk_list1(ps, $2)); }
| "(" sequence_items ")"                { $$ = tl_mk_pat_sequence(ps, @$, $2); }
| "(" sequence_items "," ")"            { $$ = tl_mk_pat_sequence(ps, @$, $2); }
| "[" pattern_items "]"                 { $$ = tl_mk_pat_sequence(ps, @$, $2); }
| "{" "}"                               { $$ = tl_mk_pat_mapping(ps, @$, tl_mk_list(ps), NULL); }
| "{" key_patterns "}"                  { $$ = tl_mk_pat_mapping(ps, @$, $2, NULL); }
| "{" key_patterns "," "}"              { $$ = tl_mk_pat_mapping(ps, @$, $2, NULL); }
| "{" "**" NAME "}"                { $$ = tl_mk_pat_mapping(ps, @$, tl_mk_list(ps), $3); }
| "{" "**" NAME "," "}"            { $$ = tl_mk_pat_mapping(ps, @$, tl_mk_list(ps), $3); }
| "{" key_patterns "," "**" NAME "}"     { $$ = tl_mk_pat_mapping(ps, @$, $2, $5); }
| "{" key_patterns "," "**" NAME "," "}" { $$ = tl_mk_pat_mapping(ps, @$, $2, $5); }
;
pattern_key: /* what is compared, not bound */
  pattern_number
| "-" pattern_number                    { $$ = tl_mk_unary(ps, @$, TL_AST_OP_NEG, $2); }
| strings                               { $$ = tl_mk_pat_string(ps, @$, $1); }
| TRUE                                  { $$ = TL_MAKE(ps, @$, Const, .which = TL_AST_OP_TRUE); }
| FALSE                                 { $$ = TL_MAKE(ps, @$, Const, .which = TL_AST_OP_FALSE); }
| NONE                                  { $$ = TL_MAKE(ps, @$, Const, .which = TL_AST_OP_NONE); }
| pattern_path
;
pattern_number:
  INT                                   { $$ = tl_mk_int(ps, $1); }
| FLOAT                                 { $$ = tl_mk_float(ps, $1); }
;
pattern_path: /* with a dot: a name alone is bound */
  NAME "." NAME
      { $$ = TL_MAKE(ps, @$, Attribute, .value = tl_mk_name(ps, $1), .name = tl_mk_word(ps, $3)); }
| pattern_path "." NAME
      { $$ = TL_MAKE(ps, @$, Attribute, .value = $1, .name = tl_mk_word(ps, $3)); }
;
sequence_item:
  pattern
| "*" NAME                              { $$ = tl_mk_pat_star(ps, @$, $2); }
;
sequence_items:
  sequence_item "," sequence_item       { $$ = tl_mk_append(ps, tl_mk_list1(ps, $1), $3); }
| sequence_items "," sequence_item      { $$ = tl_mk_append(ps, $1, $3); }
;
pattern_items:
  %empty                                { $$ = tl_mk_list(ps); }
| sequence_item                         { $$ = tl_mk_list1(ps, $1); }
| sequence_item ","                     { $$ = tl_mk_list1(ps, $1); }
| sequence_items
| sequence_items ","
;
key_patterns:
  pattern_key ":" pattern               { $$ = tl_mk_pair(ps, tl_mk_list(ps), $1, $3); }
| key_patterns "," pattern_key ":" pattern { $$ = tl_mk_pair(ps, $1, $3, $5); }
;
class_items:
  %empty                                { $$ = tl_mk_list(ps); }
| class_list
| class_list ","
;
class_list:
  class_item                            { $$ = tl_mk_list1(ps, $1); }
| class_list "," class_item             { $$ = tl_mk_append(ps, $1, $3); }
;
class_item:
  pattern
| NAME "=" pattern
                    { $$ = TL_MAKE(ps, @$, Keyword, .name = tl_mk_word(ps, $1), .value = $3); }
;

/* ---- expressions ---- */
exprs:
  star_test
| star_test ","                         { $$ = tl_mk_tuple(ps, @$, tl_mk_list1(ps, $1)); }
| seq                                   { $$ = tl_mk_tuple(ps, @$, $1); }
| seq ","                               { $$ = tl_mk_tuple(ps, @$, $1); }
;
seq:
  star_test "," star_test               { $$ = tl_mk_append(ps, tl_mk_list1(ps, $1), $3); }
| seq "," star_test                     { $$ = tl_mk_append(ps, $1, $3); }
;
star_test:
  test
| "*" arith                             { $$ = TL_MAKE(ps, @$, Starred, .value = $2); }
;
named:
  test
| NAME ":=" test
                    { $$ = TL_MAKE(ps, @$, Walrus, .target = tl_mk_name(ps, $1), .value = $3); }
;
test:
  disj
| disj IF disj ELSE test
                    { $$ = TL_MAKE(ps, @$, Conditional, .test = $3, .then_value = $1,
                                                      .else_value = $5); }
| lambda
;
lambda:
  LAMBDA lparams ":" test               { $$ = tl_mk_lambda(ps, @$, $2, $4); }
;
lparams:
  %empty                                { $$ = tl_mk_list(ps); }
| lplist
| lplist ","
;
lplist:
  lparam                                { $$ = tl_mk_list1(ps, $1); }
| lplist "," lparam                     { $$ = tl_mk_append(ps, $1, $3); }
;
lparam:
  NAME opt_default { $$ = tl_mk_param(ps, @$, TL_AST_OP_PLAIN, $1, NULL, $2); }
| "*" NAME         { $$ = tl_mk_param(ps, @$, TL_AST_OP_STAR, $2, NULL, NULL); }
| "**" NAME        { $$ = tl_mk_param(ps, @$, TL_AST_OP_STAR_STAR, $2, NULL, NULL); }
| "*"              { $$ = tl_mk_param(ps, @$, TL_AST_OP_KW_MARK, NULL, NULL, NULL); }
| "/"              { $$ = tl_mk_param(ps, @$, TL_AST_OP_POS_MARK, NULL, NULL, NULL); }
;
disj:
  conj
| disj OR conj                          { $$ = tl_mk_boolop(ps, @$, TL_AST_OP_OR, $1, $3); }
;
conj:
  inverse
| conj AND inverse                      { $$ = tl_mk_boolop(ps, @$, TL_AST_OP_AND, $1, $3); }
;
inverse:
  compare
| NOT inverse                           { $$ = tl_mk_unary(ps, @$, TL_AST_OP_NOT, $2); }
;
compare:
  arith
| chain
;
chain:
  arith comp_op arith                   { $$ = tl_mk_compare(ps, @$, $1, $2, $3); }
| chain comp_op arith                   { $$ = tl_mk_compare_more(ps, @$, $1, $2, $3); }
;
comp_op:
  "=="   { $$ = TL_AST_OP_EQ; }
| "!="   { $$ = TL_AST_OP_NE; }
| "<"    { $$ = TL_AST_OP_LT; }
| "<="   { $$ = TL_AST_OP_LE; }
| ">"    { $$ = TL_AST_OP_GT; }
| ">="   { $$ = TL_AST_OP_GE; }
| IS     { $$ = TL_AST_OP_IS; }
| IS NOT { $$ = TL_AST_OP_IS_NOT; }
| IN     { $$ = TL_AST_OP_IN; }
| NOT IN { $$ = TL_AST_OP_NOT_IN; }
;
arith:
  primary
| arith "|" arith                       { $$ = tl_mk_binary(ps, @$, TL_AST_OP_BITOR, $1, $3); }
| arith "^" arith                       { $$ = tl_mk_binary(ps, @$, TL_AST_OP_BITXOR, $1, $3); }
| arith "&" arith                       { $$ = tl_mk_binary(ps, @$, TL_AST_OP_BITAND, $1, $3); }
| arith "<<" arith                      { $$ = tl_mk_binary(ps, @$, TL_AST_OP_SHL, $1, $3); }
| arith ">>" arith                      { $$ = tl_mk_binary(ps, @$, TL_AST_OP_SHR, $1, $3); }
| arith "+" arith                       { $$ = tl_mk_binary(ps, @$, TL_AST_OP_ADD, $1, $3); }
| arith "-" arith                       { $$ = tl_mk_binary(ps, @$, TL_AST_OP_SUB, $1, $3); }
| arith "*" arith                       { $$ = tl_mk_binary(ps, @$, TL_AST_OP_MUL, $1, $3); }
| arith "/" arith                       { $$ = tl_mk_binary(ps, @$, TL_AST_OP_DIV, $1, $3); }
| arith "//" arith                      { $$ = tl_mk_binary(ps, @$, TL_AST_OP_FLOORDIV, $1, $3); }
| arith "%" arith                       { $$ = tl_mk_binary(ps, @$, TL_AST_OP_MOD, $1, $3); }
| arith "@" arith                       { $$ = tl_mk_binary(ps, @$, TL_AST_OP_MATMUL, $1, $3); }
| arith "**" arith                      { $$ = tl_mk_binary(ps, @$, TL_AST_OP_POW, $1, $3); }
| "-" arith %prec UNARY                 { $$ = tl_mk_unary(ps, @$, TL_AST_OP_NEG, $2); }
| "+" arith %prec UNARY                 { $$ = tl_mk_unary(ps, @$, TL_AST_OP_POS, $2); }
| "~" arith %prec UNARY                 { $$ = tl_mk_unary(ps, @$, TL_AST_OP_INVERT, $2); }
;
primary:
  atom
| primary "." NAME
                    { $$ = TL_MAKE(ps, @$, Attribute, .value = $1, .name = tl_mk_word(ps, $3)); }
| primary "(" args ")"                  { $$ = tl_mk_call(ps, @$, $1, $3); }
| primary "[" sub "]"
      { $$ = TL_MAKE(ps, @$, Subscript, .value = $1, .indices = *tl_mk_list1(ps, $3)); }
| primary "[" subs "]"
      { $$ = TL_MAKE(ps, @$, Subscript, .value = $1, .indices = *$3, .is_tuple = true); }
;
args:
  %empty                                { $$ = tl_mk_list(ps); }
| arglist
| arglist ","
;
arglist:
  arg                                   { $$ = tl_mk_list1(ps, $1); }
| arglist "," arg                       { $$ = tl_mk_append(ps, $1, $3); }
;
arg:
  named
| named comp_clauses
                    { $$ = tl_mk_comprehension(ps, @$, TL_AST_OP_GENERATOR, NULL, $1, $2); }
| NAME "=" test
                    { $$ = TL_MAKE(ps, @$, Keyword, .name = tl_mk_word(ps, $1), .value = $3); }
| "*" test                              { $$ = TL_MAKE(ps, @$, Starred, .value = $2); }
| "**" test                             { $$ = TL_MAKE(ps, @$, Keyword, .value = $2); }
;
subs:
  sub ","                               { $$ = tl_mk_list1(ps, $1); }
| sub_seq
| sub_seq ","
;
sub_seq:
  sub "," sub                           { $$ = tl_mk_append(ps, tl_mk_list1(ps, $1), $3); }
| sub_seq "," sub                       { $$ = tl_mk_append(ps, $1, $3); }
;
sub:
  named
| "*" arith                             { $$ = TL_MAKE(ps, @$, Starred, .value = $2); }
| opt_test ":" opt_test                 { $$ = TL_MAKE(ps, @$, Slice, .lower = $1, .upper = $3); }
| opt_test ":" opt_test ":" opt_test
                    { $$ = TL_MAKE(ps, @$, Slice, .lower = $1, .upper = $3, .step = $5); }
;
opt_test:
  %empty                                { $$ = NULL; }
| test
;
atom:
  NAME                                  { $$ = tl_mk_name(ps, $1); }
| INT                                   { $$ = tl_mk_int(ps, $1); }
| FLOAT                                 { $$ = tl_mk_float(ps, $1); }
| strings                               { $$ = tl_mk_strings(ps, @$, $1); }
| TRUE                                  { $$ = TL_MAKE(ps, @$, Const, .which = TL_AST_OP_TRUE); }
| FALSE                                 { $$ = TL_MAKE(ps, @$, Const, .which = TL_AST_OP_FALSE); }
| NONE                                  { $$ = TL_MAKE(ps, @$, Const, .which = TL_AST_OP_NONE); }
| "..."
                    { $$ = TL_MAKE(ps, @$, Const, .which = TL_AST_OP_ELLIPSIS); }
| "(" ")"                               { $$ = tl_mk_tuple(ps, @$, tl_mk_list(ps)); }
| "(" elem ")"                          { $$ = tl_mk_paren(ps, @$, $2); }
| "(" elem "," ")"                      { $$ = tl_mk_tuple(ps, @$, tl_mk_list1(ps, $2)); }
| "(" elem_seq ")"                      { $$ = tl_mk_tuple(ps, @$, $2); }
| "(" elem_seq "," ")"                  { $$ = tl_mk_tuple(ps, @$, $2); }
| "(" named comp_clauses ")"
                    { $$ = tl_mk_comprehension(ps, @$, TL_AST_OP_GENERATOR, NULL, $2, $3); }
| "[" "]"                               { $$ = TL_MAKE(ps, @$, List, .items = {0}); }
| "[" elems "]"                         { $$ = TL_MAKE(ps, @$, List, .items = *$2); }
| "[" named comp_clauses "]"
                    { $$ = tl_mk_comprehension(ps, @$, TL_AST_OP_LIST_COMP, NULL, $2, $3); }
| "{" "}"                               { $$ = tl_mk_dict(ps, @$, tl_mk_list(ps)); }
| "{" dict_items "}"                    { $$ = tl_mk_dict(ps, @$, $2); }
| "{" dict_items "," "}"                { $$ = tl_mk_dict(ps, @$, $2); }
| "{" test ":" test comp_clauses "}"
                    { $$ = tl_mk_comprehension(ps, @$, TL_AST_OP_DICT_COMP, $2, $4, $5); }
| "{" elems "}"                         { $$ = TL_MAKE(ps, @$, Set, .items = *$2); }
| "{" named comp_clauses "}"
                    { $$ = tl_mk_comprehension(ps, @$, TL_AST_OP_SET_COMP, NULL, $2, $3); }
;
strings:
  STRING                 { $$ = tl_mk_list1(ps, tl_mk_string_part(ps, $1)); }
| FSTRING                { $$ = tl_mk_list1(ps, tl_mk_string_part(ps, $1)); }
| strings STRING         { $$ = tl_mk_append(ps, $1, tl_mk_string_part(ps, $2)); }
| strings FSTRING        { $$ = tl_mk_append(ps, $1, tl_mk_string_part(ps, $2)); }
;
elem:
  named
| "*" arith                             { $$ = TL_MAKE(ps, @$, Starred, .value = $2); }
;
elem_seq:
  elem "," elem                         { $$ = tl_mk_append(ps, tl_mk_list1(ps, $1), $3); }
| elem_seq "," elem                     { $$ = tl_mk_append(ps, $1, $3); }
;
elems:
  elem                                  { $$ = tl_mk_list1(ps, $1); }
| elem ","                              { $$ = tl_mk_list1(ps, $1); }
| elem_seq
| elem_seq ","
;
dict_items:
  test ":" test                         { $$ = tl_mk_pair(ps, tl_mk_list(ps), $1, $3); }
| "**" arith                            { $$ = tl_mk_pair(ps, tl_mk_list(ps), NULL, $2); }
| dict_items "," test ":" test          { $$ = tl_mk_pair(ps, $1, $3, $5); }
| dict_items "," "**" arith             { $$ = tl_mk_pair(ps, $1, NULL, $4); }
;
comp_clauses:
  comp_clause                           { $$ = tl_mk_list1(ps, $1); }
| comp_clauses comp_clause              { $$ = tl_mk_append(ps, $1, $2); }
;
comp_clause:
  FOR targets IN disj conds             { $$ = tl_mk_comp_for(ps, @$, $2, $4, $5); }
;
conds:
  %empty                                { $$ = tl_mk_list(ps); }
| conds IF disj                         { $$ = tl_mk_append(ps, $1, $3); }
;
targets: /* of for: no comparison, so that `in` ends it */
  ttarget
| ttarget ","                           { $$ = tl_mk_tuple(ps, @$, tl_mk_list1(ps, $1)); }
| ttarget_seq                           { $$ = tl_mk_tuple(ps, @$, $1); }
| ttarget_seq ","                       { $$ = tl_mk_tuple(ps, @$, $1); }
;
ttarget:
  arith
| "*" arith                             { $$ = TL_MAKE(ps, @$, Starred, .value = $2); }
;
ttarget_seq:
  ttarget "," ttarget                   { $$ = tl_mk_append(ps, tl_mk_list1(ps, $1), $3); }
| ttarget_seq "," ttarget               { $$ = tl_mk_append(ps, $1, $3); }
;
%%

/* The grammar needs hints that one token of look-ahead cannot give: the parenthesis of
 * `with (a as b, c as d):`, `const` after the star of a .tile pointer type, and where `match` and
 * `case`, which may be names, are none. */
static bool
is_with_paren(const TlParser *ps, size_t i)
{
   const TlToken *t = ps->tokens;
   size_t close = t[i].match;
   if (i == 0 || t[i - 1].kind != TL_TOK_WITH || !close || close + 1 >= ps->num_tokens ||
       t[close + 1].kind != TL_TOK_COLON)
      return false;
   for (size_t k = i + 1; k < close; k++) {
      if (t[k].kind == TL_TOK_AS)
         return true;
      if (t[k].kind != TL_TOK_RPAREN && t[k].match > k)
         k = t[k].match;
   }
   return false;
}

static bool
is_const_word(const TlParser *ps, size_t i)
{
   const TlToken *t = ps->tokens;
   if (!ps->is_tile || t[i].end - t[i].begin != 5 || memcmp(ps->text + t[i].begin, "const", 5) != 0)
      return false;
   int next = t[i + 1].kind;
   if (next != TL_TOK_NAME && next != TL_TOK_STAR && next != TL_TOK_POW)
      return false;
   if (i == 0 || (t[i - 1].kind != TL_TOK_STAR && t[i - 1].kind != TL_TOK_POW))
      return false;
   while (i > 0 && (t[i - 1].kind == TL_TOK_STAR || t[i - 1].kind == TL_TOK_POW))
      i--;
   return i == 0 || t[i - 1].kind == TL_TOK_COLON || t[i - 1].kind == TL_TOK_ARROW ||
          (t[i - 1].kind == TL_TOK_NAME && i >= 2 && is_const_word(ps, i - 1));
}

static bool
is_word(const TlParser *ps, size_t i, const char *word)
{
   const TlToken *t = &ps->tokens[i];
   return t->kind == TL_TOK_NAME && t->end - t->begin == strlen(word) &&
          memcmp(ps->text + t->begin, word, strlen(word)) == 0;
}

/* `match` begins a statement when its line ends with ':' and the block below it with `case`. */
bool
tl_is_match(const TlParser *ps, size_t i)
{
   if (!ps->tokens[i].is_line_start || !is_word(ps, i, "match"))
      return false;
   while (i + 1 < ps->num_tokens && ps->tokens[i].kind != TL_TOK_NEWLINE)
      i++;
   return i + 2 < ps->num_tokens && ps->tokens[i - 1].kind == TL_TOK_COLON &&
          ps->tokens[i + 1].kind == TL_TOK_INDENT && is_word(ps, i + 2, "case");
}

static int
name_token(TlParser *ps, size_t i)
{
   if (tl_is_match(ps, i)) {
      ps->is_match_line = true;
      return TL_TOK_MATCH;
   }
   bool is_case = ps->tokens[i].is_line_start && ps->is_match_block[ps->block_depth] &&
                  is_word(ps, i, "case");
   return is_case ? TL_TOK_CASE : is_const_word(ps, i) ? TL_TOK_CONST : TL_TOK_NAME;
}

static int
tl_yylex(YYSTYPE *value, TlRange *range, TlParser *ps)
{
   if (ps->start) {
      int start = ps->start;
      ps->start = 0;
      const TlToken *first = &ps->tokens[ps->pos];
      *range = tl_range(ps->file, first->begin, first->begin);
      return start;
   }
   size_t i = ps->pos < ps->num_tokens ? ps->pos : ps->num_tokens - 1;
   ps->pos = i + 1;
   const TlToken *t = &ps->tokens[i];
   *range = tl_tok_range(ps, t);
   value->tok = t;
   if (t->kind == TL_TOK_BODY)
      return t->kind;
   if (t->error && !ps->in_error) {
      tl_report_lex_error(ps->diags, t->error);
      ps->in_error = t->kind == TL_TOK_ERROR;
   }
   switch (t->kind) {
   case TL_TOK_NEWLINE:
      ps->in_error = false;
      break;
   case TL_TOK_INDENT:
      assert(ps->block_depth <= TL_MAX_BLOCKS);
      ps->is_match_block[++ps->block_depth] = ps->is_match_line;
      ps->is_match_line = false;
      break;
   case TL_TOK_DEDENT: /* a host statement out of a broken file may end more blocks than it began */
      ps->block_depth -= ps->block_depth > 0;
      break;
   case TL_TOK_LPAREN:
      return is_with_paren(ps, i) ? TL_TOK_WITH_LPAREN : TL_TOK_LPAREN;
   case TL_TOK_NAME:
      return name_token(ps, i);
   default:
      break;
   }
   return t->kind;
}

/* Called for an exhausted stack only; syntax errors go through yyreport_syntax_error. */
static void
tl_yyerror(const TlRange *range, TlParser *ps, const char *text)
{
   (void)range;
   (void)text;
   tl_parser_exhausted(ps);
}

static int
yyreport_syntax_error(const yypcontext_t *cx, TlParser *ps)
{
   if (ps->in_error)
      return 0;
   yysymbol_kind_t kinds[YYNTOKENS];
   bool expected[YYNTOKENS] = {false};
   int n = yypcontext_expected_tokens(cx, kinds, YYNTOKENS);
   for (int i = 0; i < n; i++)
      expected[kinds[i]] = true;
   tl_syntax_error(ps, expected);
   ps->in_error = ps->tokens[ps->pos - 1].kind != TL_TOK_NEWLINE;
   return 0;
}

const char *
tl_token_kind_text(int kind)
{
   return yysymbol_name((yysymbol_kind_t)kind);
}
