/* What a launch knows of a kernel's values: those computed from its arguments alone, as expressions
 * of the launch record (tilec/kernel_info.h), and the tensor maps that are made from such. */
#ifndef TL_IR_LAUNCH_EXPR_H
#define TL_IR_LAUNCH_EXPR_H

#include "ir/ir.h"

/* The expression of a scalar integer or pointer, with exactly the value that the kernel computes,
 * wrap-around included.  NULL: it depends on more than the arguments, or takes operations that the
 * record has not, or more than a launch should do. */
const char *tl_launch_expr(TlArena *arena, const TlFunc *f, const TlValue *v);

/* About as much in the middle of the grid: as an expression of the grid, too (grid_x, grid_y,
 * grid_z), wrap-around left out. */
const char *tl_launch_estimate(TlArena *arena, const TlFunc *f, const TlValue *v);

/* All `tensor_map` of a function in the order of its hidden parameters. */
const TlOp **tl_tensor_maps(TlArena *arena, const TlFunc *f, unsigned *count);

/* Does a block run many programs (persist_grid.c)?  Then the grid that the launch asks for comes as
 * three more hidden parameters, in front of the maps: i32, along x, y, z. */
bool tl_is_persistent(const TlFunc *f);

/* May two of its blocks share a program (share_last_round.c)?  Then launches of few programs have
 * two blocks for each. */
bool tl_shares_programs(const TlFunc *f);

#endif
