/* Integer expressions of the launch record (grid, when, tensor-map dimensions): parsed once when an
 * image is loaded, evaluated at each launch.  The language is described in tilec/kernel_info.h.
 * A rule is one block of memory, immutable after parsing, usable from many threads. */
#ifndef TL_RT_RULE_H
#define TL_RT_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct TlRule TlRule;

/* Finds the slot of a name; negative = unknown. */
typedef int TlRuleFindFn(void *user, const char *name, size_t len);

/* NULL with a sentence in `error` when the text is not an expression, names something unknown,
 * nests deeper than 64, or memory ran out (then it is TL_RULE_NO_MEMORY).
 * Free with tl_rule_free. */
#define TL_RULE_NO_MEMORY "out of memory"
TlRule *tl_rule_parse(const char *text, TlRuleFindFn *find, void *user, char *error,
                      size_t error_bytes);
void tl_rule_free(TlRule *rule); /* NULL is fine */

/* slots[i] is the value of the name that `find` numbered i.  False with a sentence in *why (static
 * storage) on division by zero, overflow of 64 bits, or a bad shift. */
bool tl_rule_eval(const TlRule *rule, const int64_t *slots, int64_t *out, const char **why);

/* The integer that a parameter's `value` text stands for: "12", "True" = 1, "None" = 0.  False for
 * floats and strings. */
bool tl_rule_int_of(const char *text, int64_t *out);

#endif
